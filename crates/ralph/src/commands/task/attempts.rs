//! How attempts at a task are shown: all of them on one screen.

use std::time::Duration;

use ralph_memory::capture::tells_of_failure;
use ralph_model::{
    Attempt, ErrorCategory, JournalRow, KeptReport, Signature, Suggestion, Task, TaskStatus, display_width, duration,
    gist_of, preview,
};
use ralph_store::{FailedTask, Store};

use crate::error::CommandError;
use crate::ui::{Line, Style, commands, text_columns};

/// How many attempts are shown, the last of them.
const MOST_SHOWN: u32 = 8;
/// How many lines all of them have: with the rest of a task they stand on a screen of forty.
const MOST_LINES: usize = 18;
/// How many attempts are told shortly; of more the last ones, and a line that counts the others.
const MOST_IN_SHORT: usize = 5;
/// How many lines of why one failed are shown.
const WHY_LINES: usize = 2;
/// What stands before a text: this, and then a label of so many columns.
const INDENT: &str = "     ";
const LABEL: usize = 7;

/// The attempts at a failed task within a width, shortly: how each ended and why, of the last also what was tried and what is
/// suggested for the next.
pub(crate) fn attempts_in_short(task: &FailedTask, width: usize) -> Vec<Line> {
    let all = &task.failed_attempts;
    let earlier = match all.len() {
        0..=MOST_IN_SHORT => 0,
        more => more - (MOST_IN_SHORT - 1),
    };
    let shown = all.get(earlier..).unwrap_or_default();
    let columns = text_columns(width, INDENT.len() + LABEL);
    let mut lines = Vec::new();
    if earlier > 0 {
        lines.push((
            Some(Style::Faint),
            format!("  {earlier} earlier: ralph task show {}", task.id),
        ));
    }
    for (place, attempt) in shown.iter().enumerate() {
        let is_last = place + 1 == shown.len();
        let detail = if is_last { Detail::Tried } else { Detail::Why };
        let before = shown.get(..place).unwrap_or_default();
        lines.push((None, format!("  {}", headline(attempt, columns + LABEL))));
        let details = details(attempt, before, (detail, columns));
        lines.extend(details.into_iter().map(|line| (None, line)));
    }
    let last = all.last().and_then(|last| last.report.as_ref());
    let suggestion = last.and_then(|kept| kept.suggestion.as_deref()).unwrap_or_default();
    let next = labelled("next", suggestion, (1, columns));
    lines.extend(next.into_iter().map(|line| (None, line)));
    lines
}

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Detail {
    /// Why it failed, on a line.
    Why,
    /// And what was tried.
    Tried,
    /// And what refused it, in more words.
    Cause,
    /// All that is known.
    Whole,
}

/// What is told of an attempt below its headline.
#[derive(Debug, Clone, Default)]
struct Told {
    /// None where there is room for nothing.
    detail: Option<Detail>,
    lines: Vec<String>,
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
        let newest = rows.last().map(|row| row.row.attempt);
        let told = |suggestion: Suggestion| match suggestion.attempt {
            attempt if Some(attempt) == newest => suggestion.text,
            attempt => format!("after attempt {attempt}: {}", suggestion.text),
        };
        let suggestion = store.last_suggestion(&task.id)?;
        Ok(Self {
            shown: rows.into_iter().map(with_report).collect::<Result<_, _>>()?,
            earlier,
            suggestion: suggestion.map(told).unwrap_or_default(),
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
        let next = labelled("next", &self.suggestion, (1, columns));
        let others = usize::from(self.earlier > 0) + next.len();
        let mut told = self.told(columns, others);
        if self.untold(&told) > 0 {
            // Saying so takes a line.
            told = self.told(columns, others + 1);
            let tried = format!("  what {} tried: ralph journal show RUN/ITERATION", self.untold(&told));
            lines.push((Some(Style::Faint), tried));
        }
        for (attempt, told) in self.shown.iter().zip(told) {
            lines.push((None, format!("  {}", headline(attempt, columns + LABEL))));
            lines.extend(told.lines.into_iter().map(|line| (None, line)));
        }
        lines.extend(next.into_iter().map(|line| (None, line)));
        lines
    }

    /// What is told below the headline of each attempt, beside so many other lines: first why each failed, then more, of the
    /// newest before the older ones, as far as the screen goes.
    fn told(&self, columns: usize, others: usize) -> Vec<Told> {
        let mut room = MOST_LINES.saturating_sub(self.shown.len() + others);
        let mut told = vec![Told::default(); self.shown.len()];
        for detail in [Detail::Why, Detail::Tried, Detail::Cause, Detail::Whole] {
            for (place, attempt) in self.shown.iter().enumerate().rev() {
                let before = self.shown.get(..place).unwrap_or_default();
                let lines = details(attempt, before, (detail, columns));
                let Some(told) = told.get_mut(place) else { continue };
                let more = lines.len().saturating_sub(told.lines.len());
                if more <= room {
                    room -= more;
                    *told = Told {
                        detail: Some(detail),
                        lines,
                    };
                }
            }
        }
        told
    }

    /// Of how many attempts it is known what they tried, and not told.
    fn untold(&self, told: &[Told]) -> usize {
        let is_untold = |(attempt, told): &(&Attempt, &Told)| {
            let report = attempt.report.as_ref();
            let is_known = report.is_some_and(|kept| !kept.report.what_tried.trim().is_empty());
            is_known && matches!(told.detail, None | Some(Detail::Why))
        };
        self.shown.iter().zip(told).filter(is_untold).count()
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

/// Which attempt it was, with what, and how it ended, within so many columns. Rather than where it stands in the journal,
/// the rest is left out.
fn headline(attempt: &Attempt, columns: usize) -> String {
    let row = &attempt.row.row;
    let mut parts = vec![row.outcome.to_string()];
    parts.extend(row.model.clone());
    parts.push(duration(Duration::from_millis(row.duration_ms)));
    parts.extend(row.usage.told_cost().map(|cost| format!("${cost:.2}")));
    parts.extend(row.difficulty.map(|difficulty| format!("called {difficulty}")));
    let (number, run, iteration) = (row.attempt, &row.run, row.iteration);
    loop {
        let line = format!("{number}. {} ({run}/{iteration})", parts.join(", "));
        if display_width(&line) <= columns || parts.len() <= 1 {
            return preview(&line, columns);
        }
        parts.pop();
    }
}

fn details(attempt: &Attempt, before: &[Attempt], (detail, columns): (Detail, usize)) -> Vec<String> {
    let row = &attempt.row.row;
    let is_told = |from: Detail| detail >= from;
    let line = |label, from, text: &str| labelled(label, if is_told(from) { text } else { "" }, (1, columns));
    let why_lines = if is_told(Detail::Cause) { WHY_LINES } else { 1 };
    let files = line("files", Detail::Whole, &row.files_modified.join(", "));
    let Some(report) = &attempt.report else {
        let why = labelled("why", &row.reason, (why_lines, columns));
        return [why, files].concat();
    };
    let tried = line("tried", Detail::Tried, &report.report.what_tried);
    if let Some(first) = same_as(report, before) {
        let same = format!("the same as in attempt {first}");
        let why = labelled("why", &same, (1, columns));
        return [tried, why, files].concat();
    }
    let gist = gist_first(report.report.gist());
    let why = match report.report.category {
        ErrorCategory::Unknown => gist,
        known => format!("{}: {gist}", known.word().replace('_', " ")),
    };
    let gate = report.report.gate.as_ref();
    let gate = gate.map(|gate| format!("{} ({})", gate.command, gate.end));
    let why = labelled("why", &why, (why_lines, columns));
    let gate = line("gate", Detail::Cause, &gate.unwrap_or_default());
    [tried, why, gate, files].concat()
}

/// The number of the first attempt that failed in the same way.
fn same_as(report: &KeptReport, before: &[Attempt]) -> Option<u32> {
    let signature: &Signature = report.signature.as_ref()?;
    let is_same =
        |other: &&Attempt| other.report.as_ref().and_then(|other| other.signature.as_ref()) == Some(signature);
    before.iter().find(is_same).map(|first| first.row.row.attempt)
}

/// The lines of a text that say most, with a label before the first. Where there are more, the last of them tells.
fn labelled(label: &str, text: &str, (most, columns): (usize, usize)) -> Vec<String> {
    let all: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut ranked: Vec<(usize, &str)> = all.iter().copied().enumerate().collect();
    ranked.sort_by_key(|(place, line)| rank(*place, line));
    ranked.truncate(most);
    ranked.sort_unstable_by_key(|(place, _)| *place);
    let last = ranked.len().saturating_sub(1);
    let is_cut = all.len() > ranked.len();
    let text = ranked
        .into_iter()
        .enumerate()
        .map(|(place, (_, line))| match is_cut && place == last {
            true => with_more(line, columns),
            false => preview(line, columns),
        });
    let labels = std::iter::once(label.to_owned()).chain(std::iter::repeat(String::new()));
    let line = |(label, text): (String, String)| format!("{INDENT}{label:<LABEL$}{text}");
    labels.zip(text).map(line).collect()
}

/// A text with what says most in its first line.
fn gist_first(text: &str) -> String {
    let gist = gist_of(text);
    let others: Vec<&str> = text.lines().filter(|line| !gist.contains(line.trim())).collect();
    [&[gist.as_str()], others.as_slice()].concat().join("\n")
}

/// How much a line of a text says, the most first: what it begins with, what tells of a failure, all else, a place in a file.
fn rank(place: usize, line: &str) -> u8 {
    let is_place = ["File \"", "at ", "--> ", "Traceback"];
    match place {
        0 => 0,
        _ if is_place.iter().any(|beginning| line.starts_with(beginning)) => 3,
        _ if tells_of_failure(line) => 1,
        _ => 2,
    }
}

/// A line after which there are others.
fn with_more(line: &str, columns: usize) -> String {
    const MORE: &str = " …";
    let shown = preview(line, columns.saturating_sub(MORE.chars().count()));
    match shown.ends_with('…') {
        true => shown,
        false => shown + MORE,
    }
}

/// What a reason says, on a line: where the first only leads up to others, with what they say most of all.
pub(crate) fn in_short(reason: &str) -> String {
    let (first, others) = reason.trim_start().split_once('\n').unwrap_or((reason, ""));
    let first = first.trim();
    match gist_of(others) {
        gist if first.ends_with(':') && !gist.is_empty() => format!("{first} {gist}"),
        _ => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `python3 -m unittest` prints of a test that fails.
    const UNITTEST: &str = "FAIL: test_cents (test_totals.Totals.test_cents)
  File \"/srv/tests/test_error.py\", line 5, in test_cents
    self.assertEqual(total([1.25, 2.5]), 3.75)
AssertionError: 3.8 != 3.75
";
    /// What a test in Rust does.
    const PANIC: &str = "thread 'cents' panicked at src/totals.rs:5:9:
assertion `left == right` failed
  left: 380
 right: 375
";

    #[test]
    fn of_many_lines_the_message_and_the_assertion_are_shown_and_that_there_are_more() {
        let shown = |text: &str, most| {
            let lines = labelled("", &gist_first(text), (most, 60)).into_iter();
            lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
        };
        let (fails, asserts) = (
            "FAIL: test_cents (test_totals.Totals.test_cents)",
            "AssertionError: 3.8 != 3.75",
        );
        assert_eq!(shown(UNITTEST, 2), [asserts.to_owned(), format!("{fails} …")]);
        assert_eq!(shown(UNITTEST, 1), [format!("{asserts} …")]);
        let [failed, at] = [
            "assertion `left == right` failed (left: 380, right: 375)",
            "thread 'cents' panicked at src/totals.rs:5:9:",
        ];
        assert_eq!(shown(PANIC, 2), [failed, at]);
        assert_eq!(shown("a\n\nb\n", 2), ["a", "b"]);
        let cut = shown(&format!("{}\nb", "a".repeat(99)), 1);
        assert_eq!(cut, [format!("{}…", "a".repeat(57))]);
    }

    #[test]
    fn a_reason_that_leads_up_to_another_line_takes_it_along() {
        let said = ["a\nb", "\n a:\n\n b\nc", "a:", ""].map(in_short);
        assert_eq!(said, ["a", "a: b", "a:", ""]);
        let refused = format!("The gate `make` failed:\n{PANIC}");
        assert_eq!(
            in_short(&refused),
            "The gate `make` failed: assertion `left == right` failed (left: 380, right: 375)"
        );
    }
}
