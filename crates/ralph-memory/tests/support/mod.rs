//! A project of files in a temporary folder, with its catalogue.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use ralph_memory::capture::{LogPlace, Notebook, Surroundings};
use ralph_memory::catalogue::{Catalogue, CatalogueHome, CataloguePlace};
use ralph_model::{Clock, Shelf};
use ralph_notes::Patience;
use ralph_store::{DatabasePlace, NoteFile};

/// A clock that stands still.
#[derive(Debug)]
pub(crate) struct Fixed(pub(crate) Timestamp);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Files of notes in a temporary folder, which goes with this value.
pub(crate) struct Files {
    folder: tempfile::TempDir,
    clock: Fixed,
}

impl Files {
    /// No files yet, and no folder for an index: it is made in memory.
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            // Long after every file that the test writes, so that times can be trusted at once.
            clock: Fixed("2100-01-01T00:00:00Z".parse().unwrap()),
        }
    }

    /// No files yet, and an index on disk. By this clock no time of a file can be trusted, so files are always read.
    pub(crate) fn with_index() -> Self {
        let mut files = Self::new();
        files.clock = Fixed("2024-01-01T00:00:00Z".parse().unwrap());
        std::fs::create_dir(files.folder.path().join("ralph")).unwrap();
        files
    }

    /// The same with a clock by which the times of all files can be trusted.
    pub(crate) fn trusting_times(mut self) -> Self {
        self.clock = Self::new().clock;
        self
    }

    /// The index.
    pub(crate) fn index(&self) -> PathBuf {
        self.folder.path().join("ralph/index.db")
    }

    /// The notes of a shelf with their log.
    pub(crate) fn notebook(&self, shelf: Shelf) -> Notebook<'_> {
        Notebook {
            author: ralph_model::Author::HUMAN,
            shelf,
            path: self.path(shelf),
            log: LogPlace {
                database: DatabasePlace {
                    path: self.folder.path().join("progress.db"),
                    backups: None,
                },
                file: NoteFile {
                    worktree: String::new(),
                    path: shelf.file_name().to_owned(),
                },
            },
            catalogue: self.place(),
            surroundings: self,
            clock: &self.clock,
            patience: Patience {
                notice_after: Duration::from_secs(60),
                limit: Duration::from_secs(60),
                notice: &|_| {},
            },
        }
    }

    /// A catalogue that is made from the files as they are now, in memory.
    pub(crate) fn made_anew(&self) -> Catalogue {
        let place = CataloguePlace {
            database: self.folder.path().join("nowhere/index.db"),
            home: &Nowhere,
            ..self.place()
        };
        Catalogue::open(&place).unwrap()
    }

    /// The file of a shelf.
    pub(crate) fn path(&self, shelf: Shelf) -> PathBuf {
        self.folder.path().join(shelf.file_name())
    }

    /// Writes the file of a shelf.
    pub(crate) fn write(&self, shelf: Shelf, bytes: &[u8]) -> &Self {
        #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
        std::fs::write(self.path(shelf), bytes).unwrap();
        self
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the catalogue is.
    pub(crate) fn place(&self) -> CataloguePlace<'_> {
        CataloguePlace {
            database: self.index(),
            shelves: [Shelf::Memories, Shelf::Guardrails]
                .map(|shelf| (shelf, self.path(shelf)))
                .to_vec(),
            knowledge: self.folder.path().join("knowledge"),
            home: self,
            file_clock: &self.clock,
        }
    }

    /// The catalogue.
    pub(crate) fn catalogue(&self) -> Catalogue {
        Catalogue::open(&self.place()).unwrap()
    }

    /// The same with the long notes.
    pub(crate) fn catalogue_with_knowledge(&self) -> Catalogue {
        Catalogue::open_with_knowledge(&self.place()).unwrap()
    }

    /// Writes a file into the folder of long notes.
    pub(crate) fn write_knowledge(&self, name: &str, bytes: &[u8]) -> &Self {
        let folder = self.place().knowledge;
        std::fs::create_dir_all(&folder).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
        std::fs::write(folder.join(name), bytes).unwrap();
        self
    }
}

impl CatalogueHome for Files {
    fn prepare_index(&self) -> bool {
        self.folder.path().join("ralph").is_dir()
    }
}

impl Surroundings for Files {}

/// A project in which no index may be.
struct Nowhere;

impl CatalogueHome for Nowhere {
    fn prepare_index(&self) -> bool {
        false
    }
}
