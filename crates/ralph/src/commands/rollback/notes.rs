//! The notes of a rollback, written to their files.

use ralph_memory::capture::{Notebook, PutBack, SecretPolicy};
use ralph_model::Shelf;
use ralph_store::{Kept, LoggedEntry, NoteStep, ScratchpadChange, Store};

use super::Direction;
use crate::commands::scratchpad;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

pub(crate) fn notebooks<'a>(context: &'a Context<'_>) -> [Notebook<'a>; 2] {
    [Shelf::Memories, Shelf::Guardrails].map(|shelf| context.notebook(shelf, Spelling::Own))
}

/// What people changed by hand is found before anything is planned.
pub(super) fn take_stock(context: &Context<'_>, store: &mut Store) -> Result<(), CommandError> {
    for notebook in notebooks(context) {
        notebook.take_stock()?;
    }
    Ok(context.knowledge().take_stock(store, context.clock().now())?)
}

/// Writes the notes of a plan. Those that are in another state than the plan expects stay, and are returned.
pub(super) fn write_notes(
    context: &Context<'_>,
    store: &mut Store,
    steps: &[NoteStep],
    direction: Direction,
) -> Result<Vec<Kept>, CommandError> {
    let notebooks = notebooks(context);
    let knowledge = context.knowledge();
    let mut kept = Vec::new();
    for step in steps {
        let (mut from, mut to) = (store.logged_entry(Some(step.from))?, store.logged_entry(step.to)?);
        if direction == Direction::Forth {
            std::mem::swap(&mut from, &mut to);
        }
        let outcome = match (&from, &to) {
            (LoggedEntry::Scratchpad(_), _) | (_, LoggedEntry::Scratchpad(_)) => {
                put_back_text(context, &step.id, (&from, &to), direction)?
            }
            (LoggedEntry::Knowledge(_), _) | (_, LoggedEntry::Knowledge(_)) => {
                let states = (text(&from), text(&to));
                knowledge.put_back(store, &step.id, states, context.clock().now())?
            }
            _ => {
                let here = notebooks.iter().find(|notebook| notebook.log.file.path == step.path);
                match here {
                    Some(notebook) => {
                        let (outcome, stored) = notebook.put_back(&step.id, (note(&from), note(&to)))?;
                        context.report_stored(notebook, &stored);
                        outcome
                    }
                    None => PutBack::Kept,
                }
            }
        };
        if outcome == PutBack::Kept {
            kept.push(Kept {
                id: step.id.clone(),
                reason: "changed in the meantime".to_owned(),
            });
        }
    }
    Ok(kept)
}

/// Removes a text of the scratchpad, or puts it back: at the end where it was appended, in front where it was cleared.
fn put_back_text(
    context: &Context<'_>,
    note: &str,
    states: (&LoggedEntry, &LoggedEntry),
    direction: Direction,
) -> Result<PutBack, CommandError> {
    let scratchpad = context.scratchpad();
    let change = match states {
        (LoggedEntry::Scratchpad(text), _) => {
            scratchpad.remove(text)?;
            ScratchpadChange::Removed { note, text }
        }
        (_, LoggedEntry::Scratchpad(text)) => {
            match direction {
                Direction::Back => scratchpad.put_in_front(text)?,
                Direction::Forth => {
                    // One that was interrupted may have appended it already.
                    scratchpad.remove(text)?;
                    scratchpad.append(text, SecretPolicy::Allow)?;
                }
            }
            ScratchpadChange::Restored { note, text }
        }
        _ => return Ok(PutBack::Before),
    };
    scratchpad::record(context, &scratchpad, change);
    Ok(PutBack::Done)
}

fn note(entry: &LoggedEntry) -> Option<&ralph_model::Note> {
    match entry {
        LoggedEntry::Note(note) => Some(note),
        LoggedEntry::Absent | LoggedEntry::Knowledge(_) | LoggedEntry::Scratchpad(_) => None,
    }
}

fn text(entry: &LoggedEntry) -> Option<&str> {
    match entry {
        LoggedEntry::Knowledge(text) => Some(text),
        LoggedEntry::Absent | LoggedEntry::Note(_) | LoggedEntry::Scratchpad(_) => None,
    }
}
