//! `# Memories` and `## Guardrails`: standing notes. All of them stand while they fit; over the budget those first that fit
//! the task, then the newest, with a share for each kind.

use ralph_model::config::Inject;
use ralph_model::{EntryKind, InjectionReason, Shelf, Tokens};
use ralph_store::index::IndexError;

use super::room::Room;
use super::section::{Considered, MOST_LEFT_OUT, Section};
use super::{OPENING, PromptRequest};
use crate::catalogue::Catalogue;
use crate::inject::origin::Origins;
use crate::inject::prime::{Decision, Occasion, PrimeFormat, Repetitions, replaced, select};
use crate::inject::said::{Fact, Said};
use crate::recall::Wanted;

pub(super) fn memories(
    catalogue: &Catalogue,
    request: &PromptRequest<'_>,
    about: &str,
    room: &mut Room,
    said: &mut Said,
) -> Result<Section, IndexError> {
    let config = &request.config.memories;
    if !config.enabled || config.inject != Inject::Auto {
        return Ok(Section::default());
    }
    let standing = Standing {
        shelf: Shelf::Memories,
        wanted: Wanted::configured(&config.filter, request.today),
        budget: config.budget,
        about,
        origins: request.origins,
    };
    standing.section(catalogue, room, said)
}

pub(super) fn guardrails(
    catalogue: &Catalogue,
    request: &PromptRequest<'_>,
    about: &str,
    room: &mut Room,
    said: &mut Said,
) -> Result<Section, IndexError> {
    let config = &request.config.guardrails;
    if !config.enabled {
        return Ok(Section::default());
    }
    let standing = Standing {
        shelf: Shelf::Guardrails,
        wanted: Wanted::default(),
        budget: config.budget,
        about,
        origins: request.origins,
    };
    standing.section(catalogue, room, said)
}

/// What is wanted of a shelf.
struct Standing<'a> {
    shelf: Shelf,
    wanted: Wanted,
    budget: Tokens,
    about: &'a str,
    origins: &'a Origins,
}

impl Standing<'_> {
    fn section(&self, catalogue: &Catalogue, room: &mut Room, said: &mut Said) -> Result<Section, IndexError> {
        let occasion = Occasion {
            shelf: self.shelf,
            wanted: &self.wanted,
            about: Some(self.about),
            budget: room.for_section(self.budget),
            format: PrimeFormat::Section,
            origins: self.origins,
        };
        let selected = select(catalogue, &occasion, Repetitions::StandOnce(said))?;
        let replaced = replaced(catalogue, &occasion, MOST_LEFT_OUT)?;
        let mut section = Section {
            heading: self.shelf.title(),
            ..Section::default()
        };
        for shown in selected.decisions.iter().filter(|decision| is_shown(decision)) {
            said.add(Fact::of(shown.item.content()));
        }
        if selected.primed.shown > 0 {
            room.spend(&selected.primed.text);
            section.text = selected.primed.text;
            section.fixed = OPENING.chars().count();
        }
        let kind = match self.shelf {
            Shelf::Memories => EntryKind::Memory,
            Shelf::Guardrails => EntryKind::Guardrail,
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
