//! The log of a file of notes: what is changed through ralph is written down after the file, what happened without ralph
//! is found by comparing.

use std::path::Path;

use ralph_model::{FileStamp, Note};
use ralph_notes::{Document, LockedFile, Patches, Updated, read_file, read_mark, resolve};
use ralph_store::index::Change;
use ralph_store::{FileRecord, NoteAction, NoteChange, RunProcess, Store, StoreError, Wait};

use super::compare::{Head, compare};
use crate::catalogue::{Made, follow};

use super::{Findings, History, Notebook, NotebookError, Stored};

/// An edit of a document: the patches, and what they do to which notes.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) patches: Patches,
    pub(super) action: NoteAction,
    pub(super) notes: Vec<Note>,
    /// The same for the index, where single entries say it all.
    pub(super) entries: Option<Vec<Change>>,
}

impl Edit {
    /// An edit of one note. What changes nothing is no version of its own.
    pub(super) fn of_one(patches: Patches, action: NoteAction, note: Note) -> Self {
        Self {
            entries: None,
            notes: if patches.is_empty() { Vec::new() } else { vec![note] },
            patches,
            action,
        }
    }
}

impl Default for Edit {
    fn default() -> Self {
        Self {
            patches: Patches::none(),
            action: NoteAction::Edited,
            notes: Vec::new(),
            entries: None,
        }
    }
}

impl Notebook<'_> {
    /// Notices what happened to the file without ralph since the last look, and writes it down.
    ///
    /// Readers call it, so it does not wait for long and makes at most the lock file: where the log is missing, busy or
    /// unreadable there are no findings, and the next change looks again.
    #[must_use]
    pub fn look(&self, stamp: Option<FileStamp>) -> Findings {
        self.try_look(stamp).unwrap_or_default()
    }

    fn try_look(&self, found: Option<FileStamp>) -> Option<Findings> {
        let file = resolve(&self.path).ok()?;
        let head = self.surroundings.head();
        // The usual case: everything is as the last writer left it, and the database need not be opened.
        if let Some(stamp) = found
            && read_mark(&file) == Some(self.mark(&stamp, head.as_deref()))
        {
            return None;
        }
        let mut store = Store::open_existing(&self.log.database, Wait::Brief).ok()??;
        let record = store.note_file(&self.log.file).ok()??;
        if found == Some(record.stamp) && head == record.head {
            return None;
        }
        // A writer that holds the lock may be between the file and the log; it looks for itself.
        // Where even the folder is gone there is none, and no reason to make it again.
        let folder_is_there = file.parent().is_some_and(Path::exists);
        let lock = folder_is_there.then(|| LockedFile::lock(&self.path, &self.patience.none()));
        let mut lock = lock.transpose().ok()?;
        let text = read_file(&self.path).ok()?;
        let stamp = text.as_ref().map_or(record.stamp, |text| text.stamp);
        // With the file as it was, only the commit is new: whatever goes missing from now on goes missing from there.
        let changes = if text.is_some() && stamp == record.stamp {
            Vec::new()
        } else {
            let bytes = text.map(|text| text.bytes).unwrap_or_default();
            let document = Document::parse(self.shelf, &bytes);
            self.since_last_look(&store, &document, head.as_deref()).ok()?
        };
        let now_true = FileRecord { stamp, head };
        store
            .record_notes(&self.log.file, &now_true, &changes, self.clock.now())
            .ok()?;
        if let Some(lock) = &mut lock {
            self.leave_mark(lock, &now_true);
        }
        Some(findings(&changes))
    }

    /// Compares the file with the log and records what is new, also where the log has never seen the file. A run does so before
    /// and after each iteration, so that what is found is credited to the right time.
    ///
    /// # Errors
    /// When the file cannot be read or the log not be written.
    pub fn take_stock(&self) -> Result<(), NotebookError> {
        if !self.path.exists() && !Store::is_there(&self.log.database.path) {
            return Ok(());
        }
        let head = self.surroundings.head();
        let file = resolve(&self.path)?;
        let text = read_file(&self.path)?;
        if let Some(text) = &text
            && read_mark(&file) == Some(self.mark(&text.stamp, head.as_deref()))
        {
            return Ok(());
        }
        let mut store = Store::open_or_create(&self.log.database)?;
        let last = store.note_file(&self.log.file)?;
        if text.is_none() && last.is_none() {
            return Ok(());
        }
        let mut lock = match file.parent().is_some_and(Path::exists) {
            true => Some(LockedFile::lock(&self.path, &self.patience)?),
            false => None,
        };
        let text = read_file(&self.path)?;
        let Some(stamp) = text.as_ref().map(|text| text.stamp).or(last.map(|last| last.stamp)) else {
            return Ok(());
        };
        let bytes = text.map(|text| text.bytes).unwrap_or_default();
        let document = Document::parse(self.shelf, &bytes);
        let changes = self.since_last_look(&store, &document, head.as_deref())?;
        let now_true = FileRecord { stamp, head };
        store.record_notes(&self.log.file, &now_true, &changes, self.clock.now())?;
        if let Some(lock) = &mut lock {
            self.leave_mark(lock, &now_true);
        }
        Ok(())
    }

    /// Applies an edit to the file, then records it, under the file's lock.
    pub(super) fn change(
        &self,
        mut edit: impl FnMut(&Document<'_>, Option<&Store>) -> Result<Edit, NotebookError>,
    ) -> Result<Stored, NotebookError> {
        self.surroundings.prepare_note_folder(&self.path)?;
        let mut locked = LockedFile::lock(&self.path, &self.patience)?;
        // It is made after the file was changed: an edit that is refused leaves nothing behind.
        let log = Store::open_existing(&self.log.database, Wait::Long);
        let mut last: Option<Edit> = None;
        let template = self.shelf.template();
        let updated = locked.update(template.as_bytes(), |bytes| {
            let document = Document::parse(self.shelf, bytes);
            let made = edit(&document, log.as_ref().ok().and_then(Option::as_ref))?;
            let patches = made.patches.clone();
            last = Some(made);
            Ok::<Patches, NotebookError>(patches)
        })?;
        let made = last.unwrap_or_default();
        let recorded = log
            .and_then(|log| log.map_or_else(|| self.log.open_or_create(self.surroundings), Ok))
            .and_then(|mut store| self.record(&mut store, &updated, &made));
        let (history, findings) = match recorded {
            Ok((findings, now_true)) => {
                if let Some(record) = now_true {
                    self.leave_mark(&mut locked, &record);
                }
                (History::Recorded, findings)
            }
            Err(error) => (History::NotRecorded(error), Findings::default()),
        };
        self.catalogue_follows(&updated, &made);
        Ok(Stored {
            notes: made.notes,
            history,
            findings,
        })
    }

    fn catalogue_follows(&self, updated: &Updated, made: &Edit) {
        let Some(written) = updated.written else { return };
        follow(
            &self.catalogue,
            &Made {
                shelf: self.shelf,
                read: updated.read.filter(|_| !updated.overtaken),
                written,
                before: &updated.before,
                patches: &made.patches,
                changes: made.entries.as_deref(),
            },
        );
    }

    /// Writes down an edit, and before it whatever the log had missed. Returns what is now true of the file.
    fn record(
        &self,
        store: &mut Store,
        updated: &Updated,
        made: &Edit,
    ) -> Result<(Findings, Option<FileRecord>), StoreError> {
        let last = store.note_file(&self.log.file)?;
        let up_to_date = !updated.overtaken && last.as_ref().map(|record| record.stamp) == updated.read;
        let head = self.surroundings.head();
        let mut changes = if up_to_date {
            Vec::new()
        } else {
            let document = Document::parse(self.shelf, &updated.before);
            self.since_last_look(store, &document, head.as_deref())?
        };
        let found = findings(&changes);
        changes.extend(made.notes.iter().map(|note| NoteChange {
            action: made.action,
            note: note.clone(),
            author: self.author.clone(),
        }));
        let stamp = updated.written.or(updated.read);
        // Of a file that is gone as a whole the last look is all that there is to compare with.
        let recorded = stamp.or(last.map(|record| record.stamp));
        let record = |stamp| FileRecord {
            stamp,
            head: head.clone(),
        };
        if let Some(stamp) = recorded {
            store.record_notes(&self.log.file, &record(stamp), &changes, self.clock.now())?;
        }
        let now_true = stamp.map(record);
        Ok((found, now_true))
    }

    /// Tells readers that the log is up to date with the file. Where that cannot be written they ask the log itself.
    fn leave_mark(&self, locked: &mut LockedFile<'_>, record: &FileRecord) {
        drop(locked.leave_mark(&self.mark(&record.stamp, record.head.as_deref())));
    }

    /// What a mark says: whose log is up to date with which state. Two projects may share a file through a link.
    fn mark(&self, stamp: &FileStamp, head: Option<&str>) -> String {
        let FileStamp {
            inode,
            size,
            mtime_ns,
            ctime_ns,
        } = stamp;
        let log = &self.log;
        let head = head.unwrap_or_default();
        format!(
            "{inode} {size} {mtime_ns} {ctime_ns} {head} {} {:?} {:?}",
            log.database.path.display(),
            log.file.worktree,
            log.file.path
        )
    }

    pub(super) fn since_last_look(
        &self,
        store: &Store,
        document: &Document<'_>,
        head: Option<&str>,
    ) -> Result<Vec<NoteChange>, StoreError> {
        let last = store.note_file(&self.log.file)?;
        let head = match last {
            Some(record) if record.head.as_deref() != head => Head::Moved,
            Some(_) | None => Head::Same,
        };
        let is_alive = |process: &RunProcess| self.surroundings.is_alive(process);
        let author = store.author_of_found(&self.log.file.worktree, &is_alive)?;
        Ok(compare(store.known_notes(&self.log.file)?, document, head, &author))
    }
}

pub(super) fn findings(changes: &[NoteChange]) -> Findings {
    Findings {
        vanished: changes
            .iter()
            .filter(|change| change.action == NoteAction::Vanished)
            .map(|change| change.note.clone())
            .collect(),
    }
}
