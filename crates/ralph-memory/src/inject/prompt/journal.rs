//! `## Run Journal`: the last iterations of this run and relevant ones of other runs. Attempts that are among the
//! task's previous attempts are not repeated here.

use std::collections::HashSet;

use ralph_model::{
    EntryKind, InjectionReason, JournalRow, NewJournalRow, Outcome, RunId, TaskId, Tokens, first_line, preview,
};

use super::markdown::{in_item, one_line};
use super::section::{Considered, Section, visible};
use super::section_budgets::SectionBudgets;
use super::task::{shortened, without_colon};
use super::{OPENING, PromptRequest};
use crate::inject::pack::{Item, Sizes, pack};
use crate::inject::prime::{PrimeFormat, left_out_note};

const HEADING: &str = "Run Journal";
/// The maximum number of files per iteration.
const MAX_FILES: usize = 12;
/// The maximum size of a reason.
const REASON: Tokens = Tokens(100);
/// Maximum width of a reason in an entry of another task.
const REASON_ELSEWHERE: usize = 120;

struct Choice<'a> {
    row: &'a JournalRow,
    score: Option<f64>,
    text: String,
    reason: InjectionReason,
}

/// The section. Entries of this run take precedence, newest first; they are displayed in chronological order. What is
/// included above is omitted.
pub(super) fn section(request: &PromptRequest<'_>, room: &mut SectionBudgets, covered_above: &HashSet<i64>) -> Section {
    let mut section = Section {
        heading: HEADING,
        ..Section::default()
    };
    let mut choices = choices(request, covered_above);
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
            // Includes the blank line before it.
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

/// The entries in order of preference.
fn choices<'a>(request: &PromptRequest<'a>, covered_above: &HashSet<i64>) -> Vec<Choice<'a>> {
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
            reason: if covered_above.contains(&row.id) {
                InjectionReason::Duplicate
            } else {
                InjectionReason::OverBudget
            },
        })
        .collect()
}

/// An entry in the format of earlier tools, followed by fields they did not have: the reason, the title and, for other
/// runs, the run. Of another task's reason only the first line is included, and no program output.
fn entry(row: &JournalRow, run: Option<&RunId>, assigned: &TaskId) -> String {
    let JournalRow { row, .. } = row;
    let reason = match row.task.as_ref() {
        Some(task) if task == assigned => in_item(&shortened(&row.reason, REASON)),
        _ => preview(&one_line(&without_colon(first_line(&row.reason))), REASON_ELSEWHERE),
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

/// The author of an iteration's notes. Those of an interrupted one may begin with the user's guidance.
pub(super) fn noted_by(row: &NewJournalRow) -> &'static str {
    match row.outcome {
        Outcome::Interrupted => "(by human or agent)",
        _ => "(by agent)",
    }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// `42.0s`: seconds with one decimal, rounded down.
fn seconds(milliseconds: u64) -> String {
    format!("{}.{}s", milliseconds / 1000, milliseconds % 1000 / 100)
}

/// A limited list of files; empty if there are none.
pub(super) fn files(all: &[String]) -> String {
    let mut named: Vec<String> = all.iter().take(MAX_FILES).map(|file| one_line(file)).collect();
    if all.len() > MAX_FILES {
        named.push(format!("and {} more", all.len() - MAX_FILES));
    }
    named.join(", ")
}
