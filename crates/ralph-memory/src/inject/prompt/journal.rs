//! `## Run Journal`: the last iterations of this run, and those of other runs that fit the task. Attempts that stand among
//! the previous ones of the task are told there, and not again.

use std::collections::HashSet;

use ralph_model::{
    EntryKind, InjectionReason, JournalRow, NewJournalRow, Outcome, RunId, TaskId, Tokens, first_line, preview,
};

use super::markdown::{in_item, one_line};
use super::room::Room;
use super::section::{Considered, Section, visible};
use super::task::{led_up_to, shortened};
use super::{OPENING, PromptRequest};
use crate::inject::pack::{Item, Sizes, pack};
use crate::inject::prime::{PrimeFormat, left_out_note};

const HEADING: &str = "Run Journal";
/// So many files of an iteration are named.
const MOST_FILES: usize = 12;
/// The most of a row's reason that is shown.
const REASON: Tokens = Tokens(100);
/// The most columns of it where the row is of another task.
const REASON_ELSEWHERE: usize = 120;

/// A row that may stand in the section.
struct Choice<'a> {
    row: &'a JournalRow,
    score: Option<f64>,
    text: String,
    reason: InjectionReason,
}

/// The section. This run's rows go before others, and of them the last before the first; they are read in the order in
/// which they happened. What is told above does not stand here.
pub(super) fn section(request: &PromptRequest<'_>, room: &mut Room, told_above: &HashSet<i64>) -> Section {
    let mut section = Section {
        heading: HEADING,
        ..Section::default()
    };
    let mut choices = choices(request, told_above);
    let open = |choice: &Choice<'_>| choice.reason != InjectionReason::Duplicate;
    let places: Vec<usize> = (0..)
        .zip(&choices)
        .filter(|(_, choice)| open(choice))
        .map(|(place, _)| place)
        .collect();
    let frame = format!("## {HEADING}\n\n{OPENING}");
    let items: Vec<Item> = choices
        .iter()
        .filter(|choice| open(choice))
        .map(|choice| Item {
            group: 0,
            // With the empty line before it.
            size: choice.text.chars().count() + 1,
        })
        .collect();
    let sizes = Sizes {
        frame: frame.chars().count(),
        group: &[0],
        note: left_out_note(items.len(), PrimeFormat::Section).len(),
    };
    let packed = pack(&items, &sizes, room.for_section(request.config.context.journal));
    for position in &packed.chosen {
        let place = places.get(*position).copied();
        if let Some(choice) = place.and_then(|place| choices.get_mut(place)) {
            choice.reason = InjectionReason::Shown;
        }
    }
    let (recent, related): (Vec<&Choice<'_>>, Vec<&Choice<'_>>) = choices
        .iter()
        .filter(|choice| choice.reason == InjectionReason::Shown)
        .partition(|choice| choice.score.is_none());
    if !packed.chosen.is_empty() {
        section.text = frame;
        for choice in recent.into_iter().rev().chain(related) {
            section.text.push('\n');
            section.text.push_str(&choice.text);
        }
        let left_out = items.len() - packed.chosen.len();
        if left_out > 0 && packed.note_fits {
            section.text.push_str(&left_out_note(left_out, PrimeFormat::Section));
        }
        section.fixed = OPENING.chars().count();
        room.spend(&section.text);
    }
    let ids: Vec<String> = choices.iter().map(|choice| choice.row.id.to_string()).collect();
    section.considered(choices.iter().zip(&ids).map(|(choice, id)| Considered {
        kind: EntryKind::Journal,
        id,
        text: &choice.text,
        score: choice.score,
        reason: choice.reason,
    }));
    section
}

/// The rows in the order of preference.
fn choices<'a>(request: &PromptRequest<'a>, told_above: &HashSet<i64>) -> Vec<Choice<'a>> {
    let recent = request.recent.iter().rev().map(|row| (row, None));
    let related = request.related.iter().map(|(row, score)| (row, Some(*score)));
    let mut met = HashSet::new();
    recent
        .chain(related)
        .filter(|(row, _)| met.insert(row.id))
        .map(|(row, score)| Choice {
            text: visible(&entry(row, score.map(|_| &row.row.run), &request.task.id)),
            row,
            score,
            reason: if told_above.contains(&row.id) {
                InjectionReason::Duplicate
            } else {
                InjectionReason::OverBudget
            },
        })
        .collect()
}

/// A row as an entry of the section, in the form that the earlier tools gave it; what they did not tell stands below:
/// why it went as it did, what the task was about and, where it was another, the run. How other tasks failed is not this
/// task's to know in full: of their reasons the first line is told, and nothing of what a program printed.
fn entry(row: &JournalRow, run: Option<&RunId>, assigned: &TaskId) -> String {
    let JournalRow { row, .. } = row;
    let reason = match row.task.as_ref() {
        Some(task) if task == assigned => in_item(&shortened(&row.reason, REASON)),
        _ => preview(&one_line(&led_up_to(first_line(&row.reason))), REASON_ELSEWHERE),
    };
    let reason = match reason {
        reason if reason.is_empty() => reason,
        reason => format!("- **Reason**: {reason}\n"),
    };
    let title = match one_line(&row.task_title) {
        title if title.is_empty() => title,
        title => format!("- **Title**: {title}\n"),
    };
    let of_run = run.map(|run| format!("- **Run**: {run}\n")).unwrap_or_default();
    let cost = match row.usage.cost_usd {
        cost if cost > 0.0 => format!(" | **Cost**: ${cost:.4}"),
        _ => String::new(),
    };
    let notes = row.notes.as_deref().map(in_item).filter(|notes| !notes.is_empty());
    let notes = notes.map(|notes| format!("{} {notes}", noted_by(row)));
    format!(
        "### Iteration {} [{}]\n- **Task**: {}\n- **Model**: {}\n- **Duration**: {}{cost}\n- **Files**: {}\n- **Notes**: {}\n{reason}{title}{of_run}",
        row.iteration,
        row.outcome,
        row.task.as_ref().map_or("none", TaskId::as_str),
        or(&one_line(row.model.as_deref().unwrap_or_default()), "unknown"),
        seconds(row.duration_ms),
        or(&files(&row.files_modified), "none"),
        notes.as_deref().unwrap_or("No notes recorded"),
    )
}

/// Who wrote the notes of an iteration. Those of one that was interrupted may begin with a person's guidance.
pub(super) fn noted_by(row: &NewJournalRow) -> &'static str {
    match row.outcome {
        Outcome::Interrupted => "(by human or agent)",
        _ => "(by agent)",
    }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// `42.0s`: seconds with a tenth, rounded down.
fn seconds(milliseconds: u64) -> String {
    format!("{}.{}s", milliseconds / 1000, milliseconds % 1000 / 100)
}

/// Files by their names, not too many; empty where there are none.
pub(super) fn files(all: &[String]) -> String {
    let mut named: Vec<String> = all.iter().take(MOST_FILES).map(|file| one_line(file)).collect();
    if all.len() > MOST_FILES {
        named.push(format!("and {} more", all.len() - MOST_FILES));
    }
    named.join(", ")
}
