//! Counts of notes by file, and of missing notes.

use std::fs;
use std::io::ErrorKind;

use ralph_memory::capture::NoteRepository;
use ralph_model::{NoteFileKind, count};
use ralph_notes::Document;
use ralph_search::Problems;
use ralph_store::{KnownNote, NoteAction};

use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{self, Spelling};

pub(super) struct NoteCounts {
    /// A line for each kind of notes that has any.
    pub(super) counted: Vec<String>,
    /// A line for each file with missing notes.
    pub(super) missing: Vec<String>,
    /// The name and number of each kind of notes.
    pub(super) numbers: Vec<(&'static str, usize)>,
}

impl NoteCounts {
    /// Counts all notes, and reports problems with their files.
    pub(super) fn read(context: &Context<'_>) -> Result<Self, CommandError> {
        let mut counts = Self {
            counted: Vec::new(),
            missing: Vec::new(),
            numbers: Vec::new(),
        };
        for kind in [NoteFileKind::Memories, NoteFileKind::Guardrails] {
            let note_repository = context.note_repository(kind, Spelling::Own);
            let reading = note_repository.read()?;
            let document = reading.document();
            context.report_problems(&note_repository, &Problems::of(&document));
            context.report_findings(&note_repository, &note_repository.detect_changes(reading.stamp()));
            counts.counted.extend(counted(context, &note_repository, &document));
            counts.missing.extend(missing(&note_repository));
            let notes = document.entries().len() + document.signs().len();
            counts.numbers.push((kind.words().many, notes));
        }
        let knowledge = knowledge_entries(context);
        if knowledge > 0 {
            let entries = count(knowledge, "knowledge entry", "knowledge entries");
            counts.counted.push(format!("{entries} in {}", paths::KNOWLEDGE));
        }
        counts.numbers.push(("knowledge", knowledge));
        Ok(counts)
    }
}

/// The number of notes in a file, by type; none if it has no notes.
fn counted(context: &Context<'_>, note_repository: &NoteRepository<'_>, document: &Document<'_>) -> Option<String> {
    let (entries, signs) = (document.entries(), document.signs().len());
    if entries.is_empty() && signs == 0 {
        return None;
    }
    let kinds = note_repository.file_kind.kinds().iter().map(|kind| {
        let of_kind = entries.iter().filter(|entry| entry.kind == *kind).count();
        (of_kind, kind.word(), kind.section().to_lowercase())
    });
    let kinds: Vec<String> = kinds
        .chain([(signs, "Sign", "Signs".to_owned())])
        .filter(|(of_kind, ..)| *of_kind > 0)
        .map(|(of_kind, one, many)| count(of_kind, one, &many))
        .collect();
    let words = note_repository.file_kind.words();
    let notes = count(entries.len() + signs, words.one, words.many);
    let shown = context.project.shown(&note_repository.path);
    Some(format!("{notes} in {shown} ({})", kinds.join(", ")))
}

/// The number of knowledge files. Warns if their folder cannot be read.
fn knowledge_entries(context: &Context<'_>) -> usize {
    let entries = match fs::read_dir(context.project.root.join(paths::KNOWLEDGE)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return 0,
        Err(error) => {
            let folder = paths::KNOWLEDGE;
            context.ui.warning(&format!("Cannot read {folder}: {error}."));
            return 0;
        }
    };
    let names = entries.filter_map(|entry| entry.ok().filter(|entry| entry.path().is_file()));
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.ends_with(".md") && !name.starts_with('.'))
        .count()
}

/// A line about notes that disappeared from a file without being deleted.
fn missing(note_repository: &NoteRepository<'_>) -> Option<String> {
    let is_missing = |known: &&KnownNote| known.action == NoteAction::Vanished;
    let gone = note_repository
        .missing()
        .map_or(0, |gone| gone.iter().filter(is_missing).count());
    let command = note_repository.file_kind.words().command;
    let notes = count(gone, "note", "notes");
    (gone > 0).then(|| format!("{notes} missing but recoverable: {command} restore --list"))
}
