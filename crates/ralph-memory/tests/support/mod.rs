//! A project of files in a temporary folder, with its catalogue.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_memory::catalogue::{Catalogue, CatalogueHome, CataloguePlace};
use ralph_model::{Clock, Shelf};

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
            database: self.folder.path().join("ralph/index.db"),
            shelves: [Shelf::Memories, Shelf::Guardrails]
                .map(|shelf| (shelf, self.path(shelf)))
                .to_vec(),
            home: self,
            file_clock: &self.clock,
        }
    }

    /// The catalogue.
    pub(crate) fn catalogue(&self) -> Catalogue {
        Catalogue::open(&self.place()).unwrap()
    }
}

impl CatalogueHome for Files {
    fn prepare_index(&self) -> bool {
        self.folder.path().join("ralph").is_dir()
    }
}
