//! Writes the notes of a rollback to their files.

use ralph_memory::capture::{NoteRepository, RestoreOutcome, SecretPolicy};
use ralph_model::NoteFileKind;
use ralph_store::{Kept, LoggedEntry, NoteStep, ScratchpadChange, Store};

use super::Direction;
use crate::commands::scratchpad;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

pub(crate) fn note_repositories<'a>(context: &'a Context<'_>) -> [NoteRepository<'a>; 2] {
    [NoteFileKind::Memories, NoteFileKind::Guardrails].map(|kind| context.note_repository(kind, Spelling::Own))
}

/// Records edits made by hand before a rollback is planned.
pub(super) fn record_edits(context: &Context<'_>, store: &mut Store) -> Result<(), CommandError> {
    for note_repository in note_repositories(context) {
        note_repository.sync_log()?;
    }
    Ok(context.knowledge().sync_log(store, context.clock().now())?)
}

/// Writes the notes of a plan. Notes in an unexpected state are kept and returned.
pub(super) fn write_notes(
    context: &Context<'_>,
    store: &mut Store,
    steps: &[NoteStep],
    direction: Direction,
) -> Result<Vec<Kept>, CommandError> {
    let note_repositories = note_repositories(context);
    let knowledge = context.knowledge();
    let mut kept = Vec::new();
    for step in steps {
        let (mut from, mut to) = (store.logged_entry(Some(step.from))?, store.logged_entry(step.to)?);
        if direction == Direction::Reapply {
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
                let here = note_repositories
                    .iter()
                    .find(|note_repository| note_repository.log.file.path == step.path);
                match here {
                    Some(note_repository) => {
                        let (outcome, stored) = note_repository.put_back(&step.id, (note(&from), note(&to)))?;
                        context.report_stored(note_repository, &stored);
                        outcome
                    }
                    None => RestoreOutcome::Kept,
                }
            }
        };
        if outcome == RestoreOutcome::Kept {
            kept.push(Kept {
                id: step.id.clone(),
                reason: "changed in the meantime".to_owned(),
            });
        }
    }
    Ok(kept)
}

/// Removes a text from the scratchpad or puts it back: at the end if it was appended, at the front if it was cleared.
fn put_back_text(
    context: &Context<'_>,
    note: &str,
    states: (&LoggedEntry, &LoggedEntry),
    direction: Direction,
) -> Result<RestoreOutcome, CommandError> {
    let scratchpad = context.scratchpad();
    let change = match states {
        (LoggedEntry::Scratchpad(text), _) => {
            scratchpad.remove(text)?;
            ScratchpadChange::Removed { note, text }
        }
        (_, LoggedEntry::Scratchpad(text)) => {
            match direction {
                Direction::Revert => scratchpad.put_in_front(text)?,
                Direction::Reapply => {
                    // An interrupted undo may have appended it already.
                    scratchpad.remove(text)?;
                    scratchpad.append(text, SecretPolicy::Allow)?;
                }
            }
            ScratchpadChange::Restored { note, text }
        }
        _ => return Ok(RestoreOutcome::Unchanged),
    };
    scratchpad::record(context, &scratchpad, change);
    Ok(RestoreOutcome::Done)
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
