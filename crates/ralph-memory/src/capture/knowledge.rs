//! Writes the long notes that wait in the outbox: each once, none lost, none back after a person has deleted or edited it,
//! wherever ralph is killed.
//!
//! The text is written whole beside its place, under a name with the outbox's number (`.ralph-outbox-7`). Then the database
//! notes that it stands ready there. Then it is renamed into its place, and that name is gone in the same step. Then it is
//! ticked off. Whoever finds it noted as ready later looks for that name: it is there, so the note has not been put in
//! place, and all is done again; or it is gone, so the note was put in place, and whatever a person did to it since stays.
//! The one name tells, so nothing of ralph's has to stand in the note itself.

use std::collections::HashMap;
use std::path::PathBuf;

use ralph_notes::{
    FileError, FileText, Knowledge, KnowledgeProblem, LockedFolder, Patience, knowledge_file_name, knowledge_text,
    title_key, updated_knowledge,
};
use ralph_store::{OutboxFile, Store, StoreError};

use super::notebook::Surroundings;

/// How often a note gives way to somebody who saves the same file.
const MAX_TRIES: usize = 20;
/// How many files may have the same name but for their number.
const MAX_NAMESAKES: usize = 1000;

/// The folder of long notes.
pub struct KnowledgeFolder<'a> {
    /// The folder.
    pub path: PathBuf,
    /// The project around it.
    pub surroundings: &'a dyn Surroundings,
    /// How long to wait for others who write.
    pub patience: Patience<'a>,
}

/// Why a note could not be written. It stays in the outbox.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// The file system said no.
    #[error(transparent)]
    File(#[from] FileError),
    /// The database said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The note that has the title now cannot be changed.
    #[error("{name} cannot be changed: {problem}")]
    Unchangeable {
        /// Its file.
        name: String,
        /// Why.
        problem: KnowledgeProblem,
    },
    /// Somebody saves the file again and again, or every name is taken.
    #[error("no place was found for {title:?}: its file keeps changing, or too many have its name")]
    NoPlace {
        /// The title.
        title: String,
    },
}

/// What became of the outbox.
#[derive(Debug, Default)]
pub struct Outboxed {
    /// The notes that are written.
    pub written: Vec<Written>,
    /// The titles of those that could not be written, and why. They are tried again the next time.
    pub failed: Vec<(String, OutboxError)>,
}

/// A note of the outbox that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its title.
    pub title: String,
    /// How it came to its place.
    pub placement: Placement,
}

/// How a note came to its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// A file was made.
    Made(PathBuf),
    /// The file that had its title has its text now.
    Changed(PathBuf),
    /// The file that has its title says all of it already.
    Known(PathBuf),
    /// It had been put in its place before ralph was killed.
    Before,
}

impl KnowledgeFolder<'_> {
    /// Writes what waits in the outbox of a worktree. One note that cannot be written keeps no other from it.
    ///
    /// # Errors
    /// When the folder or the database cannot be had.
    pub fn write_outbox(&self, store: &mut Store, worktree: &str) -> Result<Outboxed, OutboxError> {
        self.write_step_by_step(store, worktree, &mut || {})
    }

    /// The same; `step` is called between each two steps.
    fn write_step_by_step(
        &self,
        store: &mut Store,
        worktree: &str,
        step: &mut dyn FnMut(),
    ) -> Result<Outboxed, OutboxError> {
        let mut outboxed = Outboxed::default();
        if store.outbox(worktree)?.is_empty() {
            return Ok(outboxed);
        }
        self.surroundings.prepare_knowledge_folder(&self.path)?;
        let mut folder = LockedFolder::lock(&self.path, &self.patience)?;
        let mut titles = Titles::default();
        // Only now: another process may have written them while this one waited.
        for file in store.outbox(worktree)? {
            let title = file.knowledge.title.clone();
            match self.put(store, (&mut folder, &mut titles), &file, step) {
                Ok(placement) => outboxed.written.push(Written { title, placement }),
                Err(error) => outboxed.failed.push((title, error)),
            }
        }
        Ok(outboxed)
    }

    fn put(
        &self,
        store: &mut Store,
        (folder, titles): (&mut LockedFolder<'_>, &mut Titles),
        file: &OutboxFile,
        step: &mut dyn FnMut(),
    ) -> Result<Placement, OutboxError> {
        let staged = format!(".ralph-outbox-{}", file.id);
        if file.staged && !folder.has(&staged) {
            store.outbox_done(file.id)?;
            return Ok(Placement::Before);
        }
        for _ in 0..MAX_TRIES {
            let namesake = titles.namesake(folder, &file.knowledge.title)?;
            let text = text_of(file, namesake.as_ref())?;
            if let Some((name, old)) = &namesake
                && old.bytes == text.as_bytes()
            {
                folder.unstage(&staged)?;
                step();
                store.outbox_done(file.id)?;
                return Ok(Placement::Known(self.path.join(name)));
            }
            folder.stage(&staged, text.as_bytes(), namesake.as_ref().map(|(_, old)| old))?;
            step();
            store.outbox_staged(file.id)?;
            step();
            if let Some(placement) = self.place(folder, &staged, &file.knowledge.title, namesake)? {
                titles.placed(&file.knowledge.title, &placement);
                step();
                store.outbox_done(file.id)?;
                step();
                return Ok(placement);
            }
            titles.forget();
        }
        Err(OutboxError::NoPlace {
            title: file.knowledge.title.clone(),
        })
    }

    /// Puts a staged note in its place; none when somebody came first.
    fn place(
        &self,
        folder: &mut LockedFolder<'_>,
        staged: &str,
        title: &str,
        namesake: Option<(String, FileText)>,
    ) -> Result<Option<Placement>, OutboxError> {
        if let Some((name, old)) = namesake {
            let placed = folder.place_over(staged, &name, &old)?;
            return Ok(placed.then(|| Placement::Changed(self.path.join(name))));
        }
        for number in 1..=MAX_NAMESAKES {
            let name = knowledge_file_name(title, number);
            if folder.place_new(staged, &name)? {
                return Ok(Some(Placement::Made(self.path.join(name))));
            }
        }
        Ok(None)
    }
}

/// What the file is to say: a new note, or the old one with the new text.
fn text_of(file: &OutboxFile, namesake: Option<&(String, FileText)>) -> Result<String, OutboxError> {
    let knowledge = &file.knowledge;
    let Some((name, old)) = namesake else {
        return Ok(knowledge_text(
            &knowledge.title,
            &knowledge.tags,
            &knowledge.body,
            file.created_at,
        ));
    };
    updated_knowledge(&old.bytes, &knowledge.tags, &knowledge.body).map_err(|problem| OutboxError::Unchangeable {
        name: name.clone(),
        problem,
    })
}

/// Which file has which title. The files are read once for all notes that are written together.
#[derive(Debug, Default)]
struct Titles(Option<HashMap<String, String>>);

impl Titles {
    /// The file whose note has a title, the first by its name. What cannot be read as a note is none; what cannot be read
    /// at all could be any.
    fn namesake(&mut self, folder: &LockedFolder<'_>, title: &str) -> Result<Option<(String, FileText)>, FileError> {
        let names = match &mut self.0 {
            Some(names) => names,
            unknown => unknown.insert(read_titles(folder)?),
        };
        let key = title_key(title);
        let Some(name) = names.get(&key) else { return Ok(None) };
        if let Some(file) = folder.read(name)?
            && title_of(&file) == Some(key)
        {
            return Ok(Some((name.clone(), file)));
        }
        // Somebody has given it another title since.
        self.forget();
        let names = self.0.insert(read_titles(folder)?);
        let Some(name) = names.get(&title_key(title)) else {
            return Ok(None);
        };
        Ok(folder.read(name)?.map(|file| (name.clone(), file)))
    }

    fn placed(&mut self, title: &str, placement: &Placement) {
        if let (Some(names), Placement::Made(path)) = (&mut self.0, placement)
            && let Some(name) = path.file_name()
        {
            names.insert(title_key(title), name.to_string_lossy().into_owned());
        }
    }

    /// Somebody else changes the files too, so they are to be read again.
    fn forget(&mut self) {
        self.0 = None;
    }
}

fn read_titles(folder: &LockedFolder<'_>) -> Result<HashMap<String, String>, FileError> {
    let mut names = HashMap::new();
    for name in folder.names()? {
        if name.starts_with('.') || !name.ends_with(".md") {
            continue;
        }
        if let Some(title) = folder.read(&name)?.as_ref().and_then(title_of) {
            names.entry(title).or_insert(name);
        }
    }
    Ok(names)
}

fn title_of(file: &FileText) -> Option<String> {
    Knowledge::parse(&file.bytes).ok().map(|note| title_key(&note.title))
}

#[cfg(test)]
mod tests;
