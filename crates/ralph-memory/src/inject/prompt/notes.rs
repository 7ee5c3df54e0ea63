//! `# Memories` and `## Guardrails`. All are included if they fit; otherwise the relevant ones first, then the newest,
//! with a share for each type.

use ralph_model::config::Inject;
use ralph_model::{EntryKind, InjectionReason, NoteFileKind, Tokens};
use ralph_search::IndexError;

use super::section::{Considered, MAX_LEFT_OUT, Section};
use super::section_budgets::SectionBudgets;
use super::{OPENING, PromptRequest};
use crate::inject::origin::Origins;
use crate::inject::prime::{Decision, Duplicates, PrimeFormat, PrimeRequest, replaced, select};
use crate::inject::seen_texts::{Fact, SeenTexts};
use crate::recall::NoteFilter;
use ralph_search::SearchIndex;

pub(super) fn memories(
    index: &SearchIndex,
    request: &PromptRequest<'_>,
    about: &str,
    room: &mut SectionBudgets,
    seen: &mut SeenTexts,
) -> Result<Section, IndexError> {
    let config = &request.config.memories;
    if !config.enabled || config.inject != Inject::Auto {
        return Ok(Section::default());
    }
    let selection = NoteSelection {
        file_kind: NoteFileKind::Memories,
        wanted: NoteFilter::configured(&config.filter, request.today),
        budget: config.budget,
        about,
        origins: request.origins,
    };
    selection.section(index, room, seen)
}

pub(super) fn guardrails(
    index: &SearchIndex,
    request: &PromptRequest<'_>,
    about: &str,
    room: &mut SectionBudgets,
    seen: &mut SeenTexts,
) -> Result<Section, IndexError> {
    let config = &request.config.guardrails;
    if !config.enabled {
        return Ok(Section::default());
    }
    let selection = NoteSelection {
        file_kind: NoteFileKind::Guardrails,
        wanted: NoteFilter::default(),
        budget: config.budget,
        about,
        origins: request.origins,
    };
    selection.section(index, room, seen)
}

/// The selection from a note file.
struct NoteSelection<'a> {
    file_kind: NoteFileKind,
    wanted: NoteFilter,
    budget: Tokens,
    about: &'a str,
    origins: &'a Origins,
}

impl NoteSelection<'_> {
    fn section(
        &self,
        index: &SearchIndex,
        room: &mut SectionBudgets,
        seen: &mut SeenTexts,
    ) -> Result<Section, IndexError> {
        let occasion = PrimeRequest {
            file_kind: self.file_kind,
            wanted: &self.wanted,
            about: Some(self.about),
            budget: room.for_section(self.budget),
            format: PrimeFormat::Section,
            origins: self.origins,
        };
        let selected = select(index, &occasion, Duplicates::KeepFirst(seen))?;
        let replaced = replaced(index, &occasion, MAX_LEFT_OUT)?;
        let mut section = Section {
            heading: self.file_kind.title(),
            ..Section::default()
        };
        for shown in selected.decisions.iter().filter(|decision| is_shown(decision)) {
            seen.add(Fact::of(shown.item.content()));
        }
        if selected.primed.shown > 0 {
            room.spend(&selected.primed.text);
            section.text = selected.primed.text;
            section.fixed = OPENING.chars().count();
        }
        let kind = match self.file_kind {
            NoteFileKind::Memories => EntryKind::Memory,
            NoteFileKind::Guardrails => EntryKind::Guardrail,
        };
        let considered = |decision| Considered::of_note(kind, decision);
        section.considered(selected.decisions.iter().chain(&replaced).map(considered));
        Ok(section)
    }
}

fn is_shown(decision: &Decision) -> bool {
    decision.reason == InjectionReason::Shown
}

impl<'a> Considered<'a> {
    fn of_note(kind: EntryKind, decision: &'a Decision) -> Self {
        Self {
            kind,
            id: decision.item.id(),
            text: &decision.text,
            score: decision.score,
            reason: decision.reason,
        }
    }
}
