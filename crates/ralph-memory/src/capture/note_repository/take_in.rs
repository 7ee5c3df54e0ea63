//! Imports the notes of another file. Idempotent, even if an imported note was changed or deleted since.

use std::collections::{HashMap, HashSet};

use ralph_model::{Entropy, Extra, Note, NoteId};
use ralph_notes::Document;
use ralph_store::{NoteAction, Store};

use super::log::Edit;
use super::new_ids::NewIds;
use super::operations::validate_draft;
use super::{Draft, NoteRepository, NoteRepositoryError, Stored};
use crate::capture::SecretPolicy;

/// Outcome of an import, or of its dry run.
#[derive(Debug, Default)]
pub struct ImportedNotes {
    /// New notes, with their original ids.
    pub added: Vec<NoteId>,
    /// The number that existed already.
    pub known: usize,
    /// New notes whose id is taken by another note, with their new id; `None` in a dry run.
    pub renamed: Vec<(NoteId, Option<NoteId>)>,
    /// Refused notes with the reason.
    pub refused: Vec<(NoteId, NoteRepositoryError)>,
    /// The change of the file; `None` if there was nothing to do.
    pub stored: Option<Stored>,
}

/// How the notes of another file will be imported.
#[derive(Default)]
struct Sorted {
    /// Added unchanged.
    kept: Vec<Note>,
    /// Added under another id.
    renamed: Vec<Note>,
    known: usize,
    refused: Vec<(NoteId, NoteRepositoryError)>,
}

impl NoteRepository<'_> {
    /// A dry run of [`Self::take_in`].
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn preview_import(&self, notes: &[Note], secrets: SecretPolicy) -> Result<ImportedNotes, NoteRepositoryError> {
        let reading = self.read()?;
        let document = reading.document();
        // Without the log, notes deleted here cannot be recognised; the dry run still works.
        let log = Store::open_read_only(&self.log.database).ok().flatten();
        let sorted = sort(&document, log.as_ref(), notes, secrets);
        Ok(ImportedNotes {
            added: sorted
                .kept
                .iter()
                .chain(&sorted.renamed)
                .map(|note| note.id.clone())
                .collect(),
            known: sorted.known,
            renamed: sorted.renamed.into_iter().map(|note| (note.id, None)).collect(),
            refused: sorted.refused,
            stored: None,
        })
    }

    /// Imports the notes that are not here yet. They keep their ids; a note whose id is taken gets a new one and
    /// records the old one as its source.
    ///
    /// # Errors
    /// If the file cannot be written; then nothing has changed.
    pub fn take_in(
        &self,
        notes: &[Note],
        (secrets, entropy): (SecretPolicy, &mut dyn Entropy),
    ) -> Result<ImportedNotes, NoteRepositoryError> {
        let foreseen = self.preview_import(notes, secrets)?;
        if foreseen.added.is_empty() {
            return Ok(foreseen);
        }
        let mut taken = ImportedNotes::default();
        let stored = self.change(|document, log| {
            let sorted = sort(document, log, notes, secrets);
            taken = ImportedNotes {
                known: sorted.known,
                refused: sorted.refused,
                ..ImportedNotes::default()
            };
            let lookup = document.lookup(sorted.renamed.len());
            let mut new_ids = NewIds::new(&lookup, log, &mut *entropy);
            let mut added = sorted.kept;
            taken.added = added.iter().map(|note| note.id.clone()).collect();
            for mut note in sorted.renamed {
                let new = new_ids.next(self.file_kind.id_prefix(note.kind), note.id.unix_second());
                note.extra.set(Extra::SOURCE, note.id.as_str());
                taken.added.push(note.id.clone());
                taken.renamed.push((note.id.clone(), Some(new.clone())));
                note.id = new;
                added.push(note);
            }
            Ok(Edit {
                patches: document.add(&added),
                action: NoteAction::Added,
                entries: None,
                notes: added,
            })
        })?;
        taken.stored = Some(stored);
        Ok(taken)
    }
}

fn sort(document: &Document<'_>, log: Option<&Store>, notes: &[Note], secrets: SecretPolicy) -> Sorted {
    let lookup = document.lookup(notes.len());
    let sources: HashSet<String> = document
        .entries()
        .iter()
        .filter_map(|entry| document.extra(entry).get(Extra::SOURCE).map(str::to_owned))
        .collect();
    let mut sorted = Sorted::default();
    let mut taken: HashMap<&NoteId, &str> = HashMap::new();
    for note in notes {
        let is_same = |text: &str| text == note.content;
        let existing = lookup.find(note.id.as_str());
        let is_known = existing.iter().any(|entry| is_same(&document.content(entry)))
            || taken.get(&note.id).is_some_and(|text| is_same(text))
            || sources.contains(note.id.as_str())
            || log.is_some_and(|log| was_here_before(log, note));
        if is_known {
            sorted.known += 1;
            continue;
        }
        let passed = match validate_draft(&draft(note, secrets)) {
            Ok(passed) => passed,
            Err(refusal) => {
                sorted.refused.push((note.id.clone(), refusal));
                continue;
            }
        };
        let note_here = Note {
            content: passed.content,
            extra: passed.extra,
            ..note.clone()
        };
        if existing.is_empty() && !lookup.is_outside_entries(&note.id) && !taken.contains_key(&note.id) {
            sorted.kept.push(note_here);
        } else {
            sorted.renamed.push(note_here);
        }
        taken.insert(&note.id, &note.content);
    }
    sorted
}

/// Whether a note with this id and text was ever here.
fn was_here_before(log: &Store, note: &Note) -> bool {
    let versions = log.note_history(note.id.as_str()).unwrap_or_default();
    versions
        .iter()
        .any(|version| version.note.id == note.id && version.note.content == note.content)
}

fn draft(note: &Note, secrets: SecretPolicy) -> Draft {
    Draft {
        kind: note.kind,
        content: note.content.clone(),
        tags: note.tags.clone(),
        extra: note.extra.clone(),
        secrets,
        at: None,
    }
}
