//! Taking in the notes of another file. Doing so again changes nothing, also when a note was changed or deleted here since.

use std::collections::{HashMap, HashSet};

use ralph_model::{Entropy, Extra, Note, NoteId};
use ralph_notes::Document;
use ralph_store::{NoteAction, Store};

use super::log::Edit;
use super::new_ids::NewIds;
use super::operations::pass_draft;
use super::{Draft, Notebook, NotebookError, Stored};
use crate::capture::SecretPolicy;

/// What became of the notes of another file, or would.
#[derive(Debug, Default)]
pub struct TakenIn {
    /// Those that are new here, with the ids that they have there.
    pub added: Vec<NoteId>,
    /// How many were here already.
    pub known: usize,
    /// Those of the new ones whose id says something else here, with the id that they got instead; none before they got one.
    pub renamed: Vec<(NoteId, Option<NoteId>)>,
    /// Those that the gate refused, and why.
    pub refused: Vec<(NoteId, NotebookError)>,
    /// What was done to the file; nothing where there was nothing to do.
    pub stored: Option<Stored>,
}

/// What is to become of the notes of another file.
#[derive(Default)]
struct Sorted {
    /// To be added as they are.
    kept: Vec<Note>,
    /// To be added under another id.
    renamed: Vec<Note>,
    known: usize,
    refused: Vec<(NoteId, NotebookError)>,
}

impl Notebook<'_> {
    /// Says what taking notes in would do, and changes nothing.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn would_take_in(&self, notes: &[Note], secrets: SecretPolicy) -> Result<TakenIn, NotebookError> {
        let reading = self.read()?;
        let document = reading.document();
        // Without the log it cannot be told what was deleted here, which is no reason to say nothing.
        let log = Store::open_to_look(&self.log.database).ok().flatten();
        let sorted = sort(&document, log.as_ref(), notes, secrets);
        Ok(TakenIn {
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

    /// Takes in the notes that are not here yet. They keep their ids; one whose id says something else here gets another,
    /// and names its own as its source.
    ///
    /// # Errors
    /// When the file cannot be written; then nothing has changed.
    pub fn take_in(
        &self,
        notes: &[Note],
        (secrets, entropy): (SecretPolicy, &mut dyn Entropy),
    ) -> Result<TakenIn, NotebookError> {
        let foreseen = self.would_take_in(notes, secrets)?;
        if foreseen.added.is_empty() {
            return Ok(foreseen);
        }
        let mut taken = TakenIn::default();
        let stored = self.change(|document, log| {
            let sorted = sort(document, log, notes, secrets);
            taken = TakenIn {
                known: sorted.known,
                refused: sorted.refused,
                ..TakenIn::default()
            };
            let lookup = document.lookup(sorted.renamed.len());
            let mut new_ids = NewIds::new(&lookup, log, &mut *entropy);
            let mut added = sorted.kept;
            taken.added = added.iter().map(|note| note.id.clone()).collect();
            for mut note in sorted.renamed {
                let new = new_ids.next(self.shelf.id_prefix(note.kind), note.id.unix_second());
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
        let stands = lookup.find(note.id.as_str());
        let is_known = stands.iter().any(|entry| is_same(&document.content(entry)))
            || taken.get(&note.id).is_some_and(|text| is_same(text))
            || sources.contains(note.id.as_str())
            || log.is_some_and(|log| said_before(log, note));
        if is_known {
            sorted.known += 1;
            continue;
        }
        let passed = match pass_draft(&draft(note, secrets)) {
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
        if stands.is_empty() && !lookup.stands_unread(&note.id) && !taken.contains_key(&note.id) {
            sorted.kept.push(note_here);
        } else {
            sorted.renamed.push(note_here);
        }
        taken.insert(&note.id, &note.content);
    }
    sorted
}

/// Whether a note of this id has said so here once.
fn said_before(log: &Store, note: &Note) -> bool {
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
