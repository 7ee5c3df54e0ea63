//! Shows the attempts at a task on one screen.

use std::time::Duration;

use ralph_memory::capture::reports_failure;
use ralph_model::{
    Attempt, ErrorCategory, JournalRow, Signature, StoredReport, Suggestion, Task, TaskStatus, display_width, duration,
    headline_of, preview,
};
use ralph_store::{FailedTask, Store};

use crate::error::CommandError;
use crate::ui::{Line, Style, commands, text_columns};

/// How many of the latest attempts are shown.
const MAX_SHOWN: u32 = 8;
/// Lines for all attempts: with the rest of a task they fit on a screen of forty.
const MAX_LINES: usize = 18;
/// Attempts in a summary; earlier ones are only counted.
const MAX_SUMMARIZED: usize = 5;
/// Lines of the reason why an attempt failed.
const WHY_LINES: usize = 2;
/// Each detail is indented by this and a label of this width.
const INDENT: &str = "     ";
const LABEL: usize = 7;

/// A summary of the attempts at a failed task: how each ended and why, what the last one tried, and the suggestion for
/// the next.
pub(crate) fn attempts_in_short(task: &FailedTask, width: usize) -> Vec<Line> {
    let all = &task.failed_attempts;
    let earlier = match all.len() {
        0..=MAX_SUMMARIZED => 0,
        more => more - (MAX_SUMMARIZED - 1),
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

/// The attempts to show for a task.
pub(super) struct Attempts {
    shown: Vec<Attempt>,
    /// Number of attempts before the shown ones.
    earlier: u32,
    /// Suggestion for the next attempt, as in its prompt.
    suggestion: String,
}

/// How much detail an attempt gets below its headline, in increasing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Detail {
    /// Why it failed, on one line.
    Why,
    Tried,
    /// Also the gate that failed, and more of the reason.
    Cause,
    Whole,
}

/// Lines below an attempt's headline.
#[derive(Debug, Clone, Default)]
struct Details {
    /// None if there is no space.
    detail: Option<Detail>,
    lines: Vec<String>,
}

impl Attempts {
    /// Reads the attempts at a task, including successful and interrupted ones.
    pub(super) fn read(store: &Store, task: &Task) -> Result<Self, CommandError> {
        let (rows, earlier) = store.journal_last_of_task(&task.id, MAX_SHOWN)?;
        let with_report = |row: JournalRow| -> Result<Attempt, CommandError> {
            let failed = row.row.outcome.is_failure() == Some(true);
            let report = if failed { store.report_of(row.id)? } else { None };
            Ok(Attempt { row, report })
        };
        let newest = rows.last().map(|row| row.row.attempt);
        let labelled_by_attempt = |suggestion: Suggestion| match suggestion.attempt {
            attempt if Some(attempt) == newest => suggestion.text,
            attempt => format!("after attempt {attempt}: {}", suggestion.text),
        };
        let suggestion = store.last_suggestion(&task.id)?;
        Ok(Self {
            shown: rows.into_iter().map(with_report).collect::<Result<_, _>>()?,
            earlier,
            suggestion: suggestion.map(labelled_by_attempt).unwrap_or_default(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// The lines for all attempts; empty if there are none.
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
        let mut details = self.fit_details(columns, others);
        if self.without_tried(&details) > 0 {
            // The line about omitted attempts takes space too.
            details = self.fit_details(columns, others + 1);
            let tried = format!(
                "  what {} tried: ralph journal show RUN/ITERATION",
                self.without_tried(&details)
            );
            lines.push((Some(Style::Faint), tried));
        }
        for (attempt, details) in self.shown.iter().zip(details) {
            lines.push((None, format!("  {}", headline(attempt, columns + LABEL))));
            lines.extend(details.lines.into_iter().map(|line| (None, line)));
        }
        lines.extend(next.into_iter().map(|line| (None, line)));
        lines
    }

    /// Distributes the available lines: first why each attempt failed, then more detail level by level, newest attempt
    /// first.
    fn fit_details(&self, columns: usize, others: usize) -> Vec<Details> {
        let mut budget = MAX_LINES.saturating_sub(self.shown.len() + others);
        let mut all = vec![Details::default(); self.shown.len()];
        for detail in [Detail::Why, Detail::Tried, Detail::Cause, Detail::Whole] {
            for (place, attempt) in self.shown.iter().enumerate().rev() {
                let before = self.shown.get(..place).unwrap_or_default();
                let lines = details(attempt, before, (detail, columns));
                let Some(current) = all.get_mut(place) else { continue };
                let more = lines.len().saturating_sub(current.lines.len());
                if more <= budget {
                    budget -= more;
                    *current = Details {
                        detail: Some(detail),
                        lines,
                    };
                }
            }
        }
        all
    }

    /// How many attempts have a report of what they tried that is not shown.
    fn without_tried(&self, details: &[Details]) -> usize {
        let is_omitted = |(attempt, details): &(&Attempt, &Details)| {
            let report = attempt.report.as_ref();
            let is_known = report.is_some_and(|kept| !kept.report.what_tried.trim().is_empty());
            is_known && matches!(details.detail, None | Some(Detail::Why))
        };
        self.shown.iter().zip(details).filter(is_omitted).count()
    }

    /// Useful commands for a failed task.
    pub(super) fn help(&self, task: &Task, width: usize) -> Vec<Line> {
        let Some(last) = self.shown.last().filter(|_| task.status == TaskStatus::Failed) else {
            return Vec::new();
        };
        let (id, iteration) = (&task.id, format!("{}/{}", last.row.row.run, last.row.row.iteration));
        let help = [
            (format!("ralph task reset {id}"), "try again"),
            (format!("ralph why {iteration}"), "show what was in the last prompt"),
            (
                format!("ralph journal show {iteration}"),
                "show the last attempt in full",
            ),
        ];
        let lines = commands(&help, width);
        let lines = lines.into_iter().map(|line| (None, line));
        let title = [(None, String::new()), (Some(Style::Strong), "Next".to_owned())];
        title.into_iter().chain(lines).collect()
    }
}

/// Number, outcome, model and journal position of an attempt. Details are dropped until it fits the width; the journal
/// position is kept longest.
fn headline(attempt: &Attempt, columns: usize) -> String {
    let row = &attempt.row.row;
    let mut parts = vec![row.outcome.to_string()];
    parts.extend(row.model.clone());
    parts.push(duration(Duration::from_millis(row.duration_ms)));
    parts.extend(row.usage.known_cost().map(|cost| format!("${cost:.2}")));
    parts.extend(row.difficulty.map(|difficulty| format!("rated {difficulty}")));
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
    let is_shown = |from: Detail| detail >= from;
    let line = |label, from, text: &str| labelled(label, if is_shown(from) { text } else { "" }, (1, columns));
    let why_lines = if is_shown(Detail::Cause) { WHY_LINES } else { 1 };
    let files = line("files", Detail::Whole, &row.files_modified.join(", "));
    let Some(report) = &attempt.report else {
        let why = labelled("why", &row.reason, (why_lines, columns));
        return [why, files].concat();
    };
    let tried = line("tried", Detail::Tried, &report.report.what_tried);
    if let Some(first) = same_as(report, before) {
        let same = format!("same as attempt {first}");
        let why = labelled("why", &same, (1, columns));
        return [tried, why, files].concat();
    }
    let headline = headline_first(report.report.headline());
    let why = match report.report.category {
        ErrorCategory::Unknown => headline,
        known => format!("{}: {headline}", known.word().replace('_', " ")),
    };
    let gate = report.report.gate.as_ref();
    let gate = gate.map(|gate| format!("{} ({})", gate.command, gate.end));
    let why = labelled("why", &why, (why_lines, columns));
    let gate = line("gate", Detail::Cause, &gate.unwrap_or_default());
    [tried, why, gate, files].concat()
}

/// The first attempt with the same failure signature.
fn same_as(report: &StoredReport, before: &[Attempt]) -> Option<u32> {
    let signature: &Signature = report.signature.as_ref()?;
    let is_same =
        |other: &&Attempt| other.report.as_ref().and_then(|other| other.signature.as_ref()) == Some(signature);
    before.iter().find(is_same).map(|first| first.row.row.attempt)
}

/// The most informative lines of a text with a label, marked with an ellipsis if lines were left out.
fn labelled(label: &str, text: &str, (limit, columns): (usize, usize)) -> Vec<String> {
    let all: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut ranked: Vec<(usize, &str)> = all.iter().copied().enumerate().collect();
    ranked.sort_by_key(|(place, line)| rank(*place, line));
    ranked.truncate(limit);
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

/// A text with its most informative line first.
fn headline_first(text: &str) -> String {
    let headline = headline_of(text);
    let others: Vec<&str> = text.lines().filter(|line| !headline.contains(line.trim())).collect();
    [&[headline.as_str()], others.as_slice()].concat().join("\n")
}

/// Ranks a line, most informative first: the first line, failure messages, other lines, source positions.
fn rank(place: usize, line: &str) -> u8 {
    let is_place = ["File \"", "at ", "--> ", "Traceback"];
    match place {
        0 => 0,
        _ if is_place.iter().any(|beginning| line.starts_with(beginning)) => 3,
        _ if reports_failure(line) => 1,
        _ => 2,
    }
}

/// A line with an ellipsis, because others follow.
fn with_more(line: &str, columns: usize) -> String {
    const MORE: &str = " …";
    let shown = preview(line, columns.saturating_sub(MORE.chars().count()));
    match shown.ends_with('…') {
        true => shown,
        false => shown + MORE,
    }
}

/// A reason on one line: the first line, joined with the headline of the rest if it ends with a colon.
pub(crate) fn in_short(reason: &str) -> String {
    let (first, others) = reason.trim_start().split_once('\n').unwrap_or((reason, ""));
    let first = first.trim();
    match headline_of(others) {
        headline if first.ends_with(':') && !headline.is_empty() => format!("{first} {headline}"),
        _ => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of `python3 -m unittest` for a failing test.
    const UNITTEST: &str = "FAIL: test_cents (test_totals.Totals.test_cents)
  File \"/srv/tests/test_error.py\", line 5, in test_cents
    self.assertEqual(total([1.25, 2.5]), 3.75)
AssertionError: 3.8 != 3.75
";
    /// Output of a failing Rust test.
    const PANIC: &str = "thread 'cents' panicked at src/totals.rs:5:9:
assertion `left == right` failed
  left: 380
 right: 375
";

    #[test]
    fn most_informative_lines_are_shown_with_an_ellipsis() {
        let shown = |text: &str, most| {
            let lines = labelled("", &headline_first(text), (most, 60)).into_iter();
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
    fn reason_ending_in_colon_is_joined_with_headline() {
        let said = ["a\nb", "\n a:\n\n b\nc", "a:", ""].map(in_short);
        assert_eq!(said, ["a", "a: b", "a:", ""]);
        let refused = format!("The gate `make` failed:\n{PANIC}");
        assert_eq!(
            in_short(&refused),
            "The gate `make` failed: assertion `left == right` failed (left: 380, right: 375)"
        );
    }
}
