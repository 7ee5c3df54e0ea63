//! The log of a note file. Changes through ralph are logged after the file is written; other changes are found by
//! comparing.

use std::path::Path;

use ralph_model::{FileStamp, Note};
use ralph_notes::{Document, LockedFile, Patches, Updated, read_file, read_mark, resolve};
use ralph_search::Change;
use ralph_store::{FileRecord, NoteAction, NoteChange, Store, StoreError, Wait};

use super::compare::{Head, compare};
use ralph_search::{FileChange, follow};

use super::{Findings, History, NoteRepository, NoteRepositoryError, Stored};

/// An edit of a document: the patches and their effect on notes.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) patches: Patches,
    pub(super) action: NoteAction,
    pub(super) notes: Vec<Note>,
    /// The changes for the index, if they can be expressed by single entries.
    pub(super) entries: Option<Vec<Change>>,
}

impl Edit {
    /// An edit of one note. An edit without changes creates no version.
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

impl NoteRepository<'_> {
    /// Finds and logs changes made without ralph since the last comparison.
    ///
    /// Readers call it, so it waits briefly and creates at most the lock file. If the log is missing, busy or
    /// unreadable it returns nothing, and the next change compares again.
    #[must_use]
    pub fn detect_changes(&self, stamp: Option<FileStamp>) -> Findings {
        self.try_detect_changes(stamp).unwrap_or_default()
    }

    fn try_detect_changes(&self, found: Option<FileStamp>) -> Option<Findings> {
        let file = resolve(&self.path).ok()?;
        let head = self.project_env.head();
        // The usual case: nothing changed since the last writer, and the database is not opened.
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
        // A writer that holds the lock may be between the file and the log; it compares by itself. If even the folder
        // is missing there is no writer, and no reason to create the folder.
        let folder_is_there = file.parent().is_some_and(Path::exists);
        let lock = folder_is_there.then(|| LockedFile::lock(&self.path, &self.patience.none()));
        let mut lock = lock.transpose().ok()?;
        let text = read_file(&self.path).ok()?;
        let stamp = text.as_ref().map_or(record.stamp, |text| text.stamp);
        // If only the commit is new, record it, so that later deletions are attributed to it.
        let changes = if text.is_some() && stamp == record.stamp {
            Vec::new()
        } else {
            let bytes = text.map(|text| text.bytes).unwrap_or_default();
            let document = Document::parse(self.file_kind, &bytes);
            self.changes_since_last_comparison(&store, &document, head.as_deref())
                .ok()?
        };
        let current_record = FileRecord { stamp, head };
        store
            .record_notes(&self.log.file, &current_record, &changes, self.clock.now())
            .ok()?;
        if let Some(lock) = &mut lock {
            self.write_mark(lock, &current_record);
        }
        Some(findings(&changes))
    }

    /// Compares the file with the log and records changes, even if the log has never seen the file. A run does this
    /// before and after each iteration, so that changes are attributed correctly.
    ///
    /// # Errors
    /// If the file cannot be read or the log cannot be written.
    pub fn sync_log(&self) -> Result<(), NoteRepositoryError> {
        if !self.path.exists() && !Store::exists(&self.log.database.path) {
            return Ok(());
        }
        let head = self.project_env.head();
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
        let document = Document::parse(self.file_kind, &bytes);
        let changes = self.changes_since_last_comparison(&store, &document, head.as_deref())?;
        let current_record = FileRecord { stamp, head };
        store.record_notes(&self.log.file, &current_record, &changes, self.clock.now())?;
        if let Some(lock) = &mut lock {
            self.write_mark(lock, &current_record);
        }
        Ok(())
    }

    /// Applies an edit to the file and records it, under the file's lock.
    pub(super) fn change(
        &self,
        mut edit: impl FnMut(&Document<'_>, Option<&Store>) -> Result<Edit, NoteRepositoryError>,
    ) -> Result<Stored, NoteRepositoryError> {
        self.project_env.prepare_note_folder(&self.path)?;
        let mut locked = LockedFile::lock(&self.path, &self.patience)?;
        // The log is created after the file was changed: a refused edit leaves nothing behind.
        let log = Store::open_existing(&self.log.database, Wait::Long);
        let mut last: Option<Edit> = None;
        let template = self.file_kind.template();
        let updated = locked.update(template.as_bytes(), |bytes| {
            let document = Document::parse(self.file_kind, bytes);
            let made = edit(&document, log.as_ref().ok().and_then(Option::as_ref))?;
            let patches = made.patches.clone();
            last = Some(made);
            Ok::<Patches, NoteRepositoryError>(patches)
        })?;
        let made = last.unwrap_or_default();
        let recorded = log
            .and_then(|log| log.map_or_else(|| self.log.open_or_create(&self.project_env), Ok))
            .and_then(|mut store| self.record(&mut store, &updated, &made));
        let (history, findings) = match recorded {
            Ok((findings, current_record)) => {
                if let Some(record) = current_record {
                    self.write_mark(&mut locked, &record);
                }
                (History::Recorded, findings)
            }
            Err(error) => (History::NotRecorded(error), Findings::default()),
        };
        self.update_index(&updated, &made);
        Ok(Stored {
            notes: made.notes,
            history,
            findings,
        })
    }

    fn update_index(&self, updated: &Updated, made: &Edit) {
        let Some(written) = updated.written else { return };
        follow(
            &self.index,
            &FileChange {
                file_kind: self.file_kind,
                read: updated.read.filter(|_| !updated.overtaken),
                written,
                before: &updated.before,
                patches: &made.patches,
                changes: made.entries.as_deref(),
            },
        );
    }

    /// Logs an edit, preceded by changes the log had missed. Returns the record of the file's current state.
    fn record(
        &self,
        store: &mut Store,
        updated: &Updated,
        made: &Edit,
    ) -> Result<(Findings, Option<FileRecord>), StoreError> {
        let last = store.note_file(&self.log.file)?;
        let up_to_date = !updated.overtaken && last.as_ref().map(|record| record.stamp) == updated.read;
        let head = self.project_env.head();
        let mut changes = if up_to_date {
            Vec::new()
        } else {
            let document = Document::parse(self.file_kind, &updated.before);
            self.changes_since_last_comparison(store, &document, head.as_deref())?
        };
        let found = findings(&changes);
        changes.extend(made.notes.iter().map(|note| NoteChange {
            action: made.action,
            note: note.clone(),
            author: self.author.clone(),
        }));
        let stamp = updated.written.or(updated.read);
        // If the whole file is missing, only the last comparison is left to compare with.
        let recorded = stamp.or(last.map(|record| record.stamp));
        let record = |stamp| FileRecord {
            stamp,
            head: head.clone(),
        };
        if let Some(stamp) = recorded {
            store.record_notes(&self.log.file, &record(stamp), &changes, self.clock.now())?;
        }
        let current_record = stamp.map(record);
        Ok((found, current_record))
    }

    /// Marks the log as up to date with the file. Without the mark, readers consult the log.
    fn write_mark(&self, locked: &mut LockedFile<'_>, record: &FileRecord) {
        drop(locked.write_mark(&self.mark(&record.stamp, record.head.as_deref())));
    }

    /// The content of a mark: which log is up to date with which state. Two projects may share a file through a link.
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

    pub(super) fn changes_since_last_comparison(
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
        let author = store.author_of_found(&self.log.file.worktree)?;
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
