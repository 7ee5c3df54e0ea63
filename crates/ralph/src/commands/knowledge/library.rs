//! All long notes as a command sees them: what there is, what is none, and which one is meant by a name.

use std::collections::HashMap;

use ralph_memory::catalogue::KnowledgeOutline;
use ralph_model::config::nearest;
use ralph_model::{count, preview};
use ralph_notes::title_key;

use crate::context::Context;
use crate::error::CommandError;
use crate::paths;

/// How many names are offered where none is meant, and how many columns a name gets that was asked for.
const OFFERED: usize = 3;
const SHOWN_COLUMNS: usize = 80;

/// How many files are named that are no notes.
const MOST_SKIPPED: usize = 20;

/// What the files of long notes end with.
const ENDING: &str = ".md";

/// All long notes.
pub(super) struct Library {
    /// In the order of their files' names.
    pub(super) notes: Vec<KnowledgeOutline>,
    /// Files that are no notes, and why not.
    pub(super) skipped: Vec<(String, String)>,
    /// Which of the notes a title means, as titles are compared.
    titles: HashMap<String, usize>,
}

impl Library {
    pub(super) fn read(context: &Context<'_>) -> Result<Self, CommandError> {
        let (notes, skipped) = context.ask_knowledge(&[], |catalogue| {
            Ok((catalogue.knowledge_outlines()?, catalogue.knowledge_problems()?))
        })?;
        Ok(Self::of(notes, skipped))
    }

    pub(super) fn of(notes: Vec<KnowledgeOutline>, skipped: Vec<(String, String)>) -> Self {
        let mut titles = HashMap::with_capacity(notes.len());
        for (place, note) in notes.iter().enumerate() {
            // Of two notes with the same title links mean the first one.
            titles.entry(title_key(&note.title)).or_insert(place);
        }
        Self { notes, skipped, titles }
    }

    /// The note that a name means: that of its file, with or without its folder and its ending, of its title, or of the
    /// beginning of either where only one begins so.
    pub(super) fn find(&self, name: &str) -> Result<&KnowledgeOutline, CommandError> {
        if let Some(note) = self.exact(name)? {
            return Ok(note);
        }
        let key = title_key(without_folder(name));
        let begins = |note: &&KnowledgeOutline| {
            note.file.to_lowercase().starts_with(&key) || title_key(&note.title).starts_with(&key)
        };
        let found: Vec<&KnowledgeOutline> = self.notes.iter().filter(|_| !key.is_empty()).filter(begins).collect();
        only(name, &found)?.ok_or_else(|| self.not_found(name))
    }

    /// The same without beginnings.
    pub(super) fn exact(&self, name: &str) -> Result<Option<&KnowledgeOutline>, CommandError> {
        let wanted = without_folder(name);
        let by_file = |note: &&KnowledgeOutline| note.file == wanted || stem(&note.file) == wanted;
        if let Some(note) = self.notes.iter().find(by_file) {
            return Ok(Some(note));
        }
        let key = title_key(wanted);
        let same: Vec<&KnowledgeOutline> = self.notes.iter().filter(|note| title_key(&note.title) == key).collect();
        only(name, &same)
    }

    /// The place of the note that a link leads to.
    pub(super) fn place_of(&self, title: &str) -> Option<usize> {
        self.titles.get(&title_key(title)).copied()
    }

    /// The note that a link leads to.
    pub(super) fn linked(&self, title: &str) -> Option<&KnowledgeOutline> {
        self.notes.get(self.place_of(title)?)
    }

    /// The notes that link to a note, in the order of their files.
    pub(super) fn linking_to(&self, note: &KnowledgeOutline) -> Vec<&KnowledgeOutline> {
        let leads_here = |title: &String| self.linked(title).is_some_and(|target| target.file == note.file);
        let links = |other: &&KnowledgeOutline| other.links.iter().any(leads_here);
        self.notes.iter().filter(links).collect()
    }

    /// Says which files are no notes, and of very many only how many they are.
    pub(super) fn say_skipped(&self, context: &Context<'_>) {
        for (file, why) in self.skipped.iter().take(MOST_SKIPPED) {
            context
                .ui
                .warning(&format!("{}/{file} is skipped: {why}.", paths::KNOWLEDGE));
        }
        let more = self.skipped.len().saturating_sub(MOST_SKIPPED);
        if more > 0 {
            let are = count(more, "more file is", "more files are");
            context.ui.warning(&format!("{are} skipped in {}.", paths::KNOWLEDGE));
        }
    }

    /// The error for a name that means no note, with what may have been meant.
    pub(super) fn not_found(&self, name: &str) -> CommandError {
        let error = CommandError::new(format!("Knowledge not found: {}", preview(name, SHOWN_COLUMNS)));
        let wanted = without_folder(name);
        let is_it = |file: &str| file == wanted || stem(file) == wanted;
        if let Some((file, why)) = self.skipped.iter().find(|(file, _)| is_it(file)) {
            return error.hint(format!(
                "{}/{file} is there, but it is no note: {why}",
                paths::KNOWLEDGE
            ));
        }
        let key = wanted.to_lowercase();
        let holds = |note: &&KnowledgeOutline| {
            !key.is_empty() && (note.file.to_lowercase().contains(&key) || title_key(&note.title).contains(&key))
        };
        let mut near: Vec<&str> = self.notes.iter().filter(holds).map(|note| note.file.as_str()).collect();
        if near.is_empty() {
            let stems = || self.notes.iter().map(|note| stem(&note.file));
            near.extend(nearest(&ralph_model::slug(wanted), stems()));
        }
        near.truncate(OFFERED);
        if near.is_empty() {
            error.hint("`ralph knowledge list` shows what there is")
        } else {
            error.hint(format!("{} may have been meant", near.join(" or ")))
        }
    }
}

/// A name without the folder in front of it.
pub(crate) fn without_folder(name: &str) -> &str {
    let inside = name
        .strip_prefix(paths::KNOWLEDGE)
        .and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(name).trim()
}

/// The one that was found; several are an error.
fn only<'k>(name: &str, found: &[&'k KnowledgeOutline]) -> Result<Option<&'k KnowledgeOutline>, CommandError> {
    match found {
        [] => Ok(None),
        [note] => Ok(Some(note)),
        several => Err(ambiguous(name, several)),
    }
}

fn stem(file: &str) -> &str {
    file.strip_suffix(ENDING).unwrap_or(file)
}

fn ambiguous(name: &str, several: &[&KnowledgeOutline]) -> CommandError {
    let files: Vec<&str> = several.iter().take(OFFERED).map(|note| note.file.as_str()).collect();
    let more = if several.len() > OFFERED { ", …" } else { "" };
    let name = preview(name, SHOWN_COLUMNS);
    CommandError::new(format!("{name:?} names several notes: {}{more}", files.join(", "))).hint("give the file's name")
}
