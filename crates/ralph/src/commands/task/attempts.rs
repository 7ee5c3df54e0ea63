//! How attempts at a task are shown: all of them on one screen.

use std::time::Duration;

use ralph_model::{Attempt, JournalRow, KeptReport, Signature, Task, TaskStatus, duration, preview};
use ralph_store::Store;

use crate::error::CommandError;
use crate::ui::{Line, Style, commands, text_columns};

/// How many attempts are shown, the last of them.
const MOST_SHOWN: u32 = 8;
/// How many lines all of them have: with the rest of a task they stand on a screen of forty.
const MOST_LINES: usize = 18;
/// How many lines of why one failed are shown.
const WHY_LINES: usize = 2;
/// What stands before a text: this, and then a label of so many columns.
const INDENT: &str = "     ";
const LABEL: usize = 7;

/// The attempts at a task that are shown.
pub(super) struct Attempts {
    /// The oldest first.
    shown: Vec<Attempt>,
    /// How many there were before them.
    earlier: u32,
    /// What is suggested for the next, as its prompt tells it.
    suggestion: String,
}

/// How much is told of an attempt below its headline, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Why it failed, on a line.
    Why,
    /// And what was tried.
    Tried,
    /// All that is known.
    Whole,
}

impl Attempts {
    /// Reads the attempts at a task, those that were done or interrupted among them.
    pub(super) fn read(store: &Store, task: &Task) -> Result<Self, CommandError> {
        let (rows, earlier) = store.journal_last_of_task(&task.id, MOST_SHOWN)?;
        let with_report = |row: JournalRow| -> Result<Attempt, CommandError> {
            let failed = row.row.outcome.is_failure() == Some(true);
            let report = if failed { store.report_of(row.id)? } else { None };
            Ok(Attempt { row, report })
        };
        let suggestion = store.last_suggestion(&task.id)?;
        Ok(Self {
            shown: rows.into_iter().map(with_report).collect::<Result<_, _>>()?,
            earlier,
            suggestion: suggestion.map(|suggestion| suggestion.text).unwrap_or_default(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// All that is shown of them within a width; nothing where there are none.
    pub(super) fn lines(&self, task: &Task, width: usize) -> Vec<Line> {
        if self.is_empty() {
            return Vec::new();
        }
        let columns = text_columns(width, INDENT.len() + LABEL);
        let mut lines = vec![(None, String::new()), (Some(Style::Strong), "Attempts".to_owned())];
        if self.earlier > 0 {
            let all = format!("  {} earlier: ralph journal list --task {}", self.earlier, task.id);
            lines.push((Some(Style::Faint), all));
        }
        let next: Vec<String> = labelled("next", &self.suggestion, (1, columns)).collect();
        let others = usize::from(self.earlier > 0) + next.len();
        for (attempt, details) in self.shown.iter().zip(self.details(columns, others)) {
            lines.push((None, format!("  {}", preview(&headline(attempt), columns + LABEL))));
            lines.extend(details.into_iter().map(|line| (None, line)));
        }
        lines.extend(next.into_iter().map(|line| (None, line)));
        lines
    }

    /// What is told below the headline of each attempt, beside so many other lines: first why each failed, then more, of the
    /// newest before the older ones, as far as the screen goes.
    fn details(&self, columns: usize, others: usize) -> Vec<Vec<String>> {
        let mut room = MOST_LINES.saturating_sub(self.shown.len() + others);
        let mut told = vec![Vec::new(); self.shown.len()];
        for detail in [Detail::Why, Detail::Tried, Detail::Whole] {
            for (place, attempt) in self.shown.iter().enumerate().rev() {
                let before = self.shown.get(..place).unwrap_or_default();
                let lines = details(attempt, before, (detail, columns));
                let Some(told) = told.get_mut(place) else { continue };
                let more = lines.len().saturating_sub(told.len());
                if more <= room {
                    room -= more;
                    *told = lines;
                }
            }
        }
        told
    }

    /// The commands that help with a task that has failed.
    pub(super) fn help(&self, task: &Task, width: usize) -> Vec<Line> {
        let Some(last) = self.shown.last().filter(|_| task.status == TaskStatus::Failed) else {
            return Vec::new();
        };
        let (id, iteration) = (&task.id, format!("{}/{}", last.row.row.run, last.row.row.iteration));
        let help = [
            (format!("ralph task reset {id}"), "let it be tried again"),
            (format!("ralph why {iteration}"), "what stood in the last prompt"),
            (format!("ralph journal show {iteration}"), "all of the last attempt"),
        ];
        let lines = commands(&help, width);
        let lines = lines.into_iter().map(|line| (None, line));
        let title = [(None, String::new()), (Some(Style::Strong), "Next".to_owned())];
        title.into_iter().chain(lines).collect()
    }
}

/// Which attempt it was, with what, and how it ended.
fn headline(attempt: &Attempt) -> String {
    let row = &attempt.row.row;
    let mut parts = vec![row.outcome.to_string()];
    parts.extend(row.model.clone());
    parts.push(duration(Duration::from_millis(row.duration_ms)));
    if row.usage.cost_usd > 0.0 {
        parts.push(format!("${:.2}", row.usage.cost_usd));
    }
    let (number, run, iteration) = (row.attempt, &row.run, row.iteration);
    format!("{number}. {} ({run}/{iteration})", parts.join(", "))
}

fn details(attempt: &Attempt, before: &[Attempt], (detail, columns): (Detail, usize)) -> Vec<String> {
    let row = &attempt.row.row;
    let why_lines = if detail == Detail::Whole { WHY_LINES } else { 1 };
    let Some(report) = &attempt.report else {
        return labelled("why", &row.reason, (why_lines, columns)).collect();
    };
    let tried = match detail {
        Detail::Why => "",
        Detail::Tried | Detail::Whole => report.report.what_tried.as_str(),
    };
    let tried = labelled("tried", tried, (1, columns));
    if let Some(first) = same_as(report, before) {
        let same = format!("the same failure as in attempt {first}");
        return tried.chain(labelled("why", &same, (1, columns))).collect();
    }
    let kind = report.report.category.word().replace('_', " ");
    let why = format!("{kind}: {}", report.report.gist().trim());
    let gate = report.report.gate.as_ref().filter(|_| detail == Detail::Whole);
    let gate = gate.map(|gate| format!("{} ({})", gate.command, gate.end));
    tried
        .chain(labelled("why", &why, (why_lines, columns)))
        .chain(labelled("gate", &gate.unwrap_or_default(), (1, columns)))
        .collect()
}

/// The number of the first attempt that failed in the same way.
fn same_as(report: &KeptReport, before: &[Attempt]) -> Option<u32> {
    let signature: &Signature = report.signature.as_ref()?;
    let is_same =
        |other: &&Attempt| other.report.as_ref().and_then(|other| other.signature.as_ref()) == Some(signature);
    before.iter().find(is_same).map(|first| first.row.row.attempt)
}

/// The first lines of a text that are not blank, with a label before the first.
fn labelled(label: &str, text: &str, (lines, columns): (usize, usize)) -> impl Iterator<Item = String> {
    let text = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let text: Vec<String> = text.take(lines).map(|line| preview(line, columns)).collect();
    let labels = std::iter::once(label.to_owned()).chain(std::iter::repeat(String::new()));
    let line = |(label, text): (String, String)| format!("{INDENT}{label:<LABEL$}{text}");
    labels.zip(text).map(line)
}

/// What a reason says, on a line: where the first only leads up to the next, both.
pub(crate) fn in_short(reason: &str) -> String {
    let mut lines = reason.lines().map(str::trim).filter(|line| !line.is_empty());
    match (lines.next().unwrap_or_default(), lines.next()) {
        (first, Some(next)) if first.ends_with(':') => format!("{first} {next}"),
        (first, _) => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_leads_up_to_another_line_takes_it_along() {
        let said = ["a\nb", "\n a:\n\n b\nc", "a:", ""].map(in_short);
        assert_eq!(said, ["a", "a: b", "a:", ""]);
    }
}
