//! All knowledge entries, and how a name given on the command line is resolved.

use std::collections::HashMap;

use ralph_model::config::nearest;
use ralph_model::{count, preview};
use ralph_notes::title_key;
use ralph_search::KnowledgeMetadata;

use crate::context::Context;
use crate::error::CommandError;
use crate::paths;

/// How many similar names are suggested, and the columns of a name in an error.
const SUGGESTED: usize = 3;
const SHOWN_COLUMNS: usize = 80;

/// How many skipped files are listed.
const SKIPPED_LISTED: usize = 20;

const ENDING: &str = ".md";

pub(super) struct Library {
    /// Sorted by file name.
    pub(super) notes: Vec<KnowledgeMetadata>,
    /// Files that are not valid entries, with the reason.
    pub(super) skipped: Vec<(String, String)>,
    /// Positions in `notes` by normalised title.
    titles: HashMap<String, usize>,
}

impl Library {
    pub(super) fn read(context: &Context<'_>) -> Result<Self, CommandError> {
        let (notes, skipped) =
            context.ask_knowledge(&[], |index| Ok((index.all_knowledge()?, index.knowledge_problems()?)))?;
        Ok(Self::of(notes, skipped))
    }

    pub(super) fn of(notes: Vec<KnowledgeMetadata>, skipped: Vec<(String, String)>) -> Self {
        let mut titles = HashMap::with_capacity(notes.len());
        for (place, note) in notes.iter().enumerate() {
            // If two entries have the same title, links refer to the first.
            titles.entry(title_key(&note.title)).or_insert(place);
        }
        Self { notes, skipped, titles }
    }

    /// Finds an entry by file name, with or without folder and extension, by title, or by a unique prefix of either.
    pub(super) fn find(&self, name: &str) -> Result<&KnowledgeMetadata, CommandError> {
        if let Some(note) = self.exact(name)? {
            return Ok(note);
        }
        let key = title_key(without_folder(name));
        let begins = |note: &&KnowledgeMetadata| {
            note.file.to_lowercase().starts_with(&key) || title_key(&note.title).starts_with(&key)
        };
        let found: Vec<&KnowledgeMetadata> = self.notes.iter().filter(|_| !key.is_empty()).filter(begins).collect();
        only(name, &found)?.ok_or_else(|| self.not_found(name))
    }

    pub(super) fn exact(&self, name: &str) -> Result<Option<&KnowledgeMetadata>, CommandError> {
        let wanted = without_folder(name);
        let by_file = |note: &&KnowledgeMetadata| note.file == wanted || stem(&note.file) == wanted;
        if let Some(note) = self.notes.iter().find(by_file) {
            return Ok(Some(note));
        }
        let key = title_key(wanted);
        let same: Vec<&KnowledgeMetadata> = self.notes.iter().filter(|note| title_key(&note.title) == key).collect();
        only(name, &same)
    }

    /// The position of a link's target.
    pub(super) fn place_of(&self, title: &str) -> Option<usize> {
        self.titles.get(&title_key(title)).copied()
    }

    /// The target of a link.
    pub(super) fn linked(&self, title: &str) -> Option<&KnowledgeMetadata> {
        self.notes.get(self.place_of(title)?)
    }

    /// The entries that link to an entry, sorted by file.
    pub(super) fn linking_to(&self, note: &KnowledgeMetadata) -> Vec<&KnowledgeMetadata> {
        let leads_here = |title: &String| self.linked(title).is_some_and(|target| target.file == note.file);
        let links = |other: &&KnowledgeMetadata| other.links.iter().any(leads_here);
        self.notes.iter().filter(links).collect()
    }

    /// Warns about skipped files.
    pub(super) fn report_skipped(&self, context: &Context<'_>) {
        for (file, why) in self.skipped.iter().take(SKIPPED_LISTED) {
            context
                .ui
                .warning(&format!("Skipped {}/{file}: {why}.", paths::KNOWLEDGE));
        }
        let more = self.skipped.len().saturating_sub(SKIPPED_LISTED);
        if more > 0 {
            let files = count(more, "more file", "more files");
            context.ui.warning(&format!("Skipped {files} in {}.", paths::KNOWLEDGE));
        }
    }

    /// The error for an unknown name, with suggestions.
    pub(super) fn not_found(&self, name: &str) -> CommandError {
        let error = CommandError::new(format!("Knowledge not found: {}", preview(name, SHOWN_COLUMNS)));
        let wanted = without_folder(name);
        let is_it = |file: &str| file == wanted || stem(file) == wanted;
        if let Some((file, why)) = self.skipped.iter().find(|(file, _)| is_it(file)) {
            return error.hint(format!(
                "{}/{file} exists but is not a valid entry: {why}",
                paths::KNOWLEDGE
            ));
        }
        let key = wanted.to_lowercase();
        let holds = |note: &&KnowledgeMetadata| {
            !key.is_empty() && (note.file.to_lowercase().contains(&key) || title_key(&note.title).contains(&key))
        };
        let mut near: Vec<&str> = self.notes.iter().filter(holds).map(|note| note.file.as_str()).collect();
        if near.is_empty() {
            let stems = || self.notes.iter().map(|note| stem(&note.file));
            near.extend(nearest(&ralph_model::slug(wanted), stems()));
        }
        near.truncate(SUGGESTED);
        if near.is_empty() {
            error.hint("list entries with `ralph knowledge list`")
        } else {
            error.hint(format!("did you mean {}?", near.join(" or ")))
        }
    }
}

/// Strips the knowledge folder from a name.
pub(crate) fn without_folder(name: &str) -> &str {
    let inside = name
        .strip_prefix(paths::KNOWLEDGE)
        .and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(name).trim()
}

/// The only match; several are an error.
fn only<'k>(name: &str, found: &[&'k KnowledgeMetadata]) -> Result<Option<&'k KnowledgeMetadata>, CommandError> {
    match found {
        [] => Ok(None),
        [note] => Ok(Some(note)),
        several => Err(ambiguous(name, several)),
    }
}

fn stem(file: &str) -> &str {
    file.strip_suffix(ENDING).unwrap_or(file)
}

fn ambiguous(name: &str, several: &[&KnowledgeMetadata]) -> CommandError {
    let files: Vec<&str> = several.iter().take(SUGGESTED).map(|note| note.file.as_str()).collect();
    let more = if several.len() > SUGGESTED { ", …" } else { "" };
    let name = preview(name, SHOWN_COLUMNS);
    CommandError::new(format!("{name:?} matches several entries: {}{more}", files.join(", "))).hint("use the file name")
}
