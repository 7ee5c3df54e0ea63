//! Converts legacy Signs to entries.

use std::path::PathBuf;

use jiff::civil::Date;
use ralph_model::{Entropy, Extra, Note, NoteId, NoteKind, Tags};
use ralph_notes::{Sign, normalise_line_breaks};
use ralph_store::NoteAction;

use super::log::Edit;
use super::new_ids::{NewIds, within_ids};
use super::operations::day_of;
use super::{Findings, History, NoteRepository, NoteRepositoryError, Stored};
use crate::capture::keep_backup;

impl NoteRepository<'_> {
    /// Converts every Sign to an entry, in one change, and keeps the original file, whose path is returned. A Sign in a
    /// known section gets that section's type, any other the given type.
    ///
    /// # Errors
    /// If the file cannot be read, kept or written; it is then unchanged.
    pub fn migrate(
        &self,
        kind: NoteKind,
        entropy: &mut dyn Entropy,
    ) -> Result<(Stored, Option<PathBuf>), NoteRepositoryError> {
        let nothing = Stored {
            notes: Vec::new(),
            history: History::Recorded,
            findings: Findings::default(),
        };
        if self.read()?.document().signs().is_empty() {
            return Ok((nothing, None));
        }
        let mut kept = None;
        let stored = self.change(|document, log| {
            let now = within_ids(self.clock.now());
            let found = document.signs();
            let lookup = document.lookup(found.len());
            let mut new_ids = NewIds::new(&lookup, log, entropy);
            let mut signs: Vec<(Sign, Note)> = Vec::new();
            for sign in found {
                let kind = sign.section.unwrap_or(kind);
                let id = new_ids.next(self.file_kind.id_prefix(kind), now.as_second());
                let note = note_from(&sign, kind, id, day_of(now));
                signs.push((sign, note));
            }
            if !signs.is_empty() {
                kept = Some(keep_backup(&self.path, document.bytes())?);
            }
            Ok(Edit {
                patches: document.migrate(&signs),
                action: NoteAction::Added,
                entries: None,
                notes: signs.into_iter().map(|(_, note)| note).collect(),
            })
        })?;
        Ok((stored, kept))
    }
}

fn note_from(sign: &Sign, kind: NoteKind, id: NoteId, created: Date) -> Note {
    let mut extra = Extra::default();
    extra.set(Extra::SOURCE, &sign.id);
    Note {
        id,
        kind,
        content: normalise_line_breaks(&sign.text()).into_owned(),
        tags: Tags::default(),
        created,
        extra,
    }
}
