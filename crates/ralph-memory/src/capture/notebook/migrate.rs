//! Making entries of Signs.

use std::cell::RefCell;
use std::path::PathBuf;

use ralph_model::{Entropy, Extra, Note, NoteId, NoteKind, Tags};
use ralph_notes::{Document, Sign, link_beside, normalise_line_breaks, read_file, resolve};
use ralph_store::NoteAction;

use super::log::Edit;
use super::{Findings, History, Notebook, NotebookError, Stored};

/// What the original file is kept as.
const BACKUP: &str = ".bak";

impl Notebook<'_> {
    /// Makes an entry of every Sign, in one change; the original file is kept beside, and returned. A Sign in a section
    /// of ours becomes an entry of that section, any other one an entry of the kind that is given.
    ///
    /// # Errors
    /// When the file cannot be read, kept or written; it is then as it was.
    pub fn migrate(
        &self,
        kind: NoteKind,
        entropy: &mut dyn Entropy,
    ) -> Result<(Stored, Option<PathBuf>), NotebookError> {
        let nothing = Stored {
            notes: Vec::new(),
            history: History::Recorded,
            findings: Findings::default(),
        };
        if self.read()?.document().signs().is_empty() {
            return Ok((nothing, None));
        }
        let entropy = RefCell::new(entropy);
        let mut kept = None;
        let stored = self.change(|document, log| {
            let mut ids: Vec<NoteId> = Vec::new();
            let mut signs: Vec<(Sign, Note)> = Vec::new();
            for sign in document.signs() {
                let kind = sign.section.unwrap_or(kind);
                let id = self.new_id(document, log, kind, (&ids, &entropy));
                ids.push(id.clone());
                let note = self.note_from(&sign, kind, id);
                signs.push((sign, note));
            }
            if !signs.is_empty() {
                kept = Some(self.keep_beside(document)?);
            }
            Ok(Edit {
                patches: document.migrate(&signs),
                action: NoteAction::Added,
                notes: signs.into_iter().map(|(_, note)| note).collect(),
            })
        })?;
        Ok((stored, kept))
    }

    fn note_from(&self, sign: &Sign, kind: NoteKind, id: NoteId) -> Note {
        let mut extra = Extra::default();
        extra.set(Extra::SOURCE, &sign.id);
        Note {
            id,
            kind,
            content: normalise_line_breaks(&sign.text()).into_owned(),
            tags: Tags::default(),
            created: self.today(),
            extra,
        }
    }

    /// Keeps the file as it is beside it, unless an earlier try that did not come to its end has done so.
    fn keep_beside(&self, document: &Document<'_>) -> Result<PathBuf, NotebookError> {
        let file = resolve(&self.path)?;
        let mut name = file.clone().into_os_string();
        name.push(BACKUP);
        let backup = PathBuf::from(name);
        let kept_before = read_file(&backup)?.is_some_and(|text| text.bytes == document.bytes());
        if kept_before {
            Ok(backup)
        } else {
            Ok(link_beside(&file, BACKUP)?)
        }
    }
}
