//! `### Previous Attempts`: how earlier attempts at the task failed, so that they are not repeated.
//!
//! The newest is the most useful and is shortened before it is left out. Older ones are included whole or not at all.
//!
//! A done attempt ends the history of those before it. If a person accepts a task and then resets it, earlier failures
//! are included again.

mod entry;
mod same_way;

use std::collections::HashSet;

use ralph_model::{Attempt, Budget, EntryKind, InjectionReason, Outcome, Suggestion, TaskKind};

use super::markdown::in_item;
use super::section::{Considered, Section, visible};
use super::section_budgets::SectionBudgets;
use super::{OPENING, PromptRequest};
use crate::inject::origin::Origin;
use crate::inject::pack::{Item, Packed, Sizes, pack};
use crate::inject::prime::{PrimeFormat, left_out_note};
use entry::{Detail, covers_all, entry};
pub(super) use same_way::failed_the_same_way;

const HEADING: &str = "Previous Attempts";

/// The section, and what it makes redundant elsewhere.
pub(super) struct PreviousAttempts<'a> {
    pub(super) section: Section,
    /// The newest attempt's output, if the section contains it.
    pub(super) shown_output: Option<OutputAbove<'a>>,
    /// The journal entries that it fully covers.
    pub(super) covered: HashSet<i64>,
}

/// The output of an attempt's failing program.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputAbove<'a> {
    pub(super) attempt: u32,
    pub(super) text: &'a str,
}

/// A candidate.
struct Choice<'a> {
    attempt: &'a Attempt,
    text: String,
    reason: InjectionReason,
}

/// The section. Newer attempts take precedence; they are displayed in chronological order.
pub(super) fn section<'a>(request: &PromptRequest<'a>, room: &mut SectionBudgets) -> PreviousAttempts<'a> {
    let mut section = Section {
        heading: HEADING,
        ..Section::default()
    };
    let mut choices: Vec<Choice<'a>> = request.attempts.iter().rev().map(Choice::of).collect();
    let suggestion = visible(&suggestion(request));
    let budget = room.for_section(request.config.context.attempts);
    if choices.is_empty() {
        return PreviousAttempts {
            section: suggestion_alone(section, &suggestion, budget, room),
            shown_output: None,
            covered: HashSet::new(),
        };
    }
    let frame = format!("### {HEADING}\n\n{OPENING}\n{}", introduction(request));
    let earlier = request.earlier_attempts as usize;
    let note = left_out_note(choices.len() + earlier, PrimeFormat::Section).len();
    let fitted = fit(&mut choices, &frame, (&suggestion, note), budget);
    for position in &fitted.packed.chosen {
        if let Some(choice) = choices.get_mut(*position) {
            choice.reason = InjectionReason::Shown;
        }
    }
    if !fitted.packed.chosen.is_empty() {
        section.text = frame;
        for choice in choices.iter().rev().filter(|choice| choice.is_shown()) {
            section.text.push('\n');
            section.text.push_str(&choice.text);
        }
        let left_out = choices.len() - fitted.packed.chosen.len() + earlier;
        let left_out = match left_out {
            0 => String::new(),
            some => left_out_note(some, PrimeFormat::Section),
        };
        // No space is reserved for the note if all given attempts are included and only earlier ones are left out.
        let texts = [&section.text, &left_out, fitted.closing];
        let mut whole = budget;
        if whole.take(texts.iter().map(|text| text.chars().count()).sum()) {
            section.text.push_str(&left_out);
        }
        section.text.push_str(fitted.closing);
        section.fixed = OPENING.chars().count();
        room.spend(&section.text);
    }
    let ids: Vec<String> = choices.iter().map(|choice| choice.attempt.row.id.to_string()).collect();
    section.considered(choices.iter().zip(&ids).map(|(choice, id)| Considered {
        kind: EntryKind::Report,
        id,
        text: &choice.text,
        score: None,
        reason: choice.reason,
    }));
    let newest = choices
        .first()
        .filter(|choice| choice.is_shown() && fitted.newest == Detail::Whole);
    PreviousAttempts {
        section,
        shown_output: newest.and_then(|choice| output_of(choice.attempt)),
        covered: covered(&choices, fitted.newest),
    }
}

/// The journal entries that the section fully covers.
fn covered(choices: &[Choice<'_>], newest: Detail) -> HashSet<i64> {
    let details = std::iter::once(newest).chain(std::iter::repeat(Detail::Whole));
    let covered = choices.iter().zip(details).filter(|(choice, _)| choice.is_shown());
    let covered = covered.filter(|(choice, detail)| covers_all(choice.attempt, *detail));
    covered.map(|(choice, _)| choice.attempt.row.id).collect()
}

impl<'a> Choice<'a> {
    fn of(attempt: &'a Attempt) -> Self {
        Self {
            attempt,
            text: visible(&entry(attempt, Detail::Whole)),
            reason: InjectionReason::OverBudget,
        }
    }

    fn is_shown(&self) -> bool {
        self.reason == InjectionReason::Shown
    }
}

/// What fits the budget.
struct Fitted<'a> {
    packed: Packed,
    /// The detail of the newest attempt.
    newest: Detail,
    /// The text at the end.
    closing: &'a str,
}

/// Finds what fits. To keep the newest attempt, its output is dropped first, then everything but the reason, then the
/// suggestion, then the reason.
fn fit<'s>(
    choices: &mut [Choice<'_>],
    frame: &str,
    (suggestion, note): (&'s str, usize),
    budget: Budget,
) -> Fitted<'s> {
    let mut fitted = Fitted {
        packed: Packed::default(),
        newest: Detail::Whole,
        closing: "",
    };
    let details = [Detail::Whole, Detail::WithoutOutput, Detail::Short];
    let with_suggestion = details.iter().map(|detail| (*detail, suggestion));
    let without = details
        .iter()
        .chain(&[Detail::HeadingAlone])
        .map(|detail| (*detail, ""));
    for (detail, closing) in with_suggestion.chain(without) {
        if let Some(newest) = choices.first_mut() {
            newest.text = visible(&entry(newest.attempt, detail));
        }
        let sizes = Sizes {
            frame: frame.chars().count() + closing.chars().count(),
            group: &[0],
            note,
        };
        fitted = Fitted {
            packed: pack(&items(choices), &sizes, budget),
            newest: detail,
            closing,
        };
        if fitted.packed.chosen.first() == Some(&0) {
            break;
        }
    }
    fitted
}

fn items(choices: &[Choice<'_>]) -> Vec<Item> {
    let item = |choice: &Choice<'_>| Item {
        group: 0,
        // Includes the blank line before it.
        size: choice.text.chars().count() + 1,
    };
    choices.iter().map(item).collect()
}

/// The number of attempts, and which of them failed the same way.
fn introduction(request: &PromptRequest<'_>) -> String {
    let (attempts, earlier) = (request.attempts, request.earlier_attempts);
    let all = attempts.len() + earlier as usize;
    let times = match all {
        1 => "once".to_owned(),
        many => format!("{many} times"),
    };
    let mut text = match request.task.kind {
        TaskKind::Once => format!("This task was tried {times} and is not done."),
        TaskKind::PromptLoop => format!("This assignment has failed {times} since its last progress."),
    };
    let last = attempts.last().map_or(0, |attempt| attempt.row.row.attempt);
    if request.task.kind == TaskKind::Once && last as usize > all {
        text.push_str(" Attempts with missing numbers did not count or came before the task was last done.");
    }
    if let Some(same) = failed_the_same_way(attempts, earlier) {
        text.push(' ');
        text.push_str(&same);
    }
    text.push('\n');
    text
}

/// The newest attempt's suggestion; empty without one.
fn suggestion(request: &PromptRequest<'_>) -> String {
    let Some(Suggestion { attempt, outcome, text }) = request.suggestion else {
        return String::new();
    };
    // An interrupted attempt does not count, so this attempt may have its number.
    let source = match outcome {
        Outcome::Interrupted => "an interrupted attempt".to_owned(),
        _ => format!("attempt {attempt}"),
    };
    let text = in_item(text);
    format!("\n- **Suggested after {source}**: {} {text}\n", Origin::Agent)
}

/// The section without failed attempts, with the suggestion of an interrupted one.
fn suggestion_alone(mut section: Section, suggestion: &str, budget: Budget, room: &mut SectionBudgets) -> Section {
    let text = format!("### {HEADING}\n\n{OPENING}\n{suggestion}");
    let mut room_left = budget;
    if !suggestion.is_empty() && room_left.take(text.chars().count()) {
        section.text = text;
        section.fixed = OPENING.chars().count();
        room.spend(&section.text);
    }
    section
}

fn output_of(attempt: &Attempt) -> Option<OutputAbove<'_>> {
    let output = attempt.report.as_ref()?.report.error_output.as_deref()?;
    (!output.trim().is_empty()).then_some(OutputAbove {
        attempt: attempt.row.row.attempt,
        text: output,
    })
}
