//! `## Scratchpad`: the end of the working notes. A part of the budget is reserved for it, and it gets what is left.

use ralph_model::{Budget, EntryKind, InjectionReason, Tokens};

use super::markdown::{quote, without_controls};
use super::section::{Considered, Section, visible};
use super::section_budgets::SectionBudgets;
use super::{OPENING, PromptRequest};
use crate::inject::origin::Origin;
use crate::inject::tail::quoted_tail;

const HEADING: &str = "Scratchpad";
/// The size reserved for it in any case.
const RESERVED: Tokens = Tokens(1000);

/// The reserved characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reserved(usize);

/// Reserves space for the scratchpad, but no more than it needs.
pub(super) fn reserve(request: &PromptRequest<'_>, room: &mut SectionBudgets) -> Reserved {
    let text = text(request);
    if text.is_empty() {
        return Reserved(0);
    }
    let needed = frame().chars().count() + quote(&text).chars().count();
    let own = room.for_section(request.config.scratchpad.budget);
    let most = own.within(Budget::of(RESERVED)).take_up_to(needed);
    Reserved(room.reserve(most))
}

/// The section, within the reserved and the remaining budget.
pub(super) fn section(request: &PromptRequest<'_>, room: &mut SectionBudgets, reserved: Reserved) -> Section {
    let mut section = Section {
        heading: HEADING,
        ..Section::default()
    };
    room.release(reserved.0);
    let text = text(request);
    if text.is_empty() {
        return section;
    }
    let frame = frame();
    let mut budget = room.for_section(request.config.scratchpad.budget);
    let shown = if budget.take(frame.chars().count()) {
        quoted_tail(&text, budget)
    } else {
        String::new()
    };
    let reason = if shown.is_empty() {
        InjectionReason::OverBudget
    } else {
        section.text = format!("{frame}{shown}");
        section.fixed = OPENING.chars().count();
        InjectionReason::Shown
    };
    room.spend(&section.text);
    section.considered([Considered {
        kind: EntryKind::Scratchpad,
        id: EntryKind::Scratchpad.word(),
        text: if shown.is_empty() { &text } else { &shown },
        score: None,
        reason,
    }]);
    section
}

/// The working notes with a final line break; empty if blank.
fn text(request: &PromptRequest<'_>) -> String {
    match without_controls(&visible(request.scratchpad)).trim_end() {
        "" => String::new(),
        text => format!("{text}\n"),
    }
}

fn frame() -> String {
    format!("## {HEADING}\n\n{} {}\n\n", OPENING.trim_end(), Origin::Agent)
}
