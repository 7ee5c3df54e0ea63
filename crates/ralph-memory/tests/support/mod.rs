//! A project of files in a temporary folder, with its note index.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use ralph_memory::capture::{LogPlace, NoteRepository, ProjectEnv};
use ralph_model::{Clock, NoteFileKind};
use ralph_notes::{Boundary, Patience};
use ralph_search::{IndexPlace, SearchIndex, Sources};
use ralph_store::{DatabasePlace, NoteFile};

/// A fixed clock.
#[derive(Debug)]
pub(crate) struct Fixed(pub(crate) Timestamp);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Note files in a temporary folder, which is deleted on drop.
pub(crate) struct Files {
    folder: tempfile::TempDir,
    boundary: Boundary,
    clock: Fixed,
}

impl Files {
    /// No files, and an index in memory.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            boundary: Boundary::new(folder.path(), &[]),
            folder,
            // Long after all files are written, so that their times can be trusted.
            clock: Fixed("2100-01-01T00:00:00Z".parse().unwrap()),
        }
    }

    /// No files, and an index on disk. The clock makes all file times untrustworthy, so files are always read.
    pub(crate) fn with_index() -> Self {
        let mut files = Self::new();
        files.clock = Fixed("2024-01-01T00:00:00Z".parse().unwrap());
        std::fs::create_dir(files.folder.path().join("ralph")).unwrap();
        files
    }

    /// The same with trusted file times.
    pub(crate) fn trusting_times(mut self) -> Self {
        self.clock = Self::new().clock;
        self
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.folder.path().join("ralph/index.db")
    }

    /// The repository of a note file.
    pub(crate) fn note_repository(&self, file_kind: NoteFileKind) -> NoteRepository<'_> {
        NoteRepository {
            author: ralph_model::Author::HUMAN,
            file_kind,
            path: self.path(file_kind),
            log: LogPlace {
                database: DatabasePlace {
                    path: self.folder.path().join("progress.db"),
                    backups: None,
                },
                file: NoteFile {
                    worktree: String::new(),
                    path: file_kind.file_name().to_owned(),
                },
            },
            index: self.place(),
            project_env: ProjectEnv::default(),
            clock: &self.clock,
            patience: Patience {
                notice_after: Duration::from_secs(60),
                limit: Duration::from_secs(60),
                notice: &|_| {},
            },
        }
    }

    /// A new index in memory, built from the current files.
    pub(crate) fn new_index(&self) -> SearchIndex {
        let place = IndexPlace {
            database: self.folder.path().join("nowhere/index.db"),
            may_create: false,
            ..self.place()
        };
        SearchIndex::open(&place, Sources::NOTES).unwrap()
    }

    pub(crate) fn path(&self, file_kind: NoteFileKind) -> PathBuf {
        self.folder.path().join(file_kind.file_name())
    }

    pub(crate) fn write(&self, file_kind: NoteFileKind, bytes: &[u8]) -> &Self {
        #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
        std::fs::write(self.path(file_kind), bytes).unwrap();
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn place(&self) -> IndexPlace<'_> {
        IndexPlace {
            database: self.index(),
            file_kinds: [NoteFileKind::Memories, NoteFileKind::Guardrails]
                .map(|file_kind| (file_kind, self.path(file_kind)))
                .to_vec(),
            knowledge: self.folder.path().join("knowledge"),
            may_create: self.folder.path().join("ralph").is_dir(),
            boundary: &self.boundary,
            file_clock: &self.clock,
        }
    }

    pub(crate) fn search_index(&self) -> SearchIndex {
        SearchIndex::open(&self.place(), Sources::NOTES).unwrap()
    }

    /// The same with knowledge entries.
    pub(crate) fn note_index_with_knowledge(&self) -> SearchIndex {
        SearchIndex::open(&self.place(), Sources::KNOWLEDGE).unwrap()
    }

    /// Writes a knowledge file.
    pub(crate) fn write_knowledge(&self, name: &str, bytes: &[u8]) -> &Self {
        let folder = self.place().knowledge;
        std::fs::create_dir_all(&folder).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
        std::fs::write(folder.join(name), bytes).unwrap();
        self
    }
}
