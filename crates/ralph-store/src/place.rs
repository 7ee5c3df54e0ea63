//! Paths of a fact store and of its backups.

use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::backup::Backups;

/// Paths of a fact store and of its backups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabasePlace {
    pub path: PathBuf,
    /// The folder of its backups, if there is one yet.
    pub backups: Option<PathBuf>,
}

/// A borrowed [`DatabasePlace`]. A bare path has no backups.
#[derive(Debug, Clone, Copy)]
pub struct PlaceRef<'a> {
    pub(crate) path: &'a Path,
    pub(crate) backups: Option<&'a Path>,
}

impl<'a> From<&'a DatabasePlace> for PlaceRef<'a> {
    fn from(place: &'a DatabasePlace) -> Self {
        Self {
            path: &place.path,
            backups: place.backups.as_deref(),
        }
    }
}

impl<'a> From<&'a Path> for PlaceRef<'a> {
    fn from(path: &'a Path) -> Self {
        Self { path, backups: None }
    }
}

impl<'a> From<&'a PathBuf> for PlaceRef<'a> {
    fn from(path: &'a PathBuf) -> Self {
        Self { path, backups: None }
    }
}

impl PlaceRef<'_> {
    /// Refuses a missing database that has a backup: a new one in its place would hide that the history is lost. An
    /// empty file counts as missing.
    pub(crate) fn refuse_lost(&self) -> Result<(), StoreError> {
        let is_there = std::fs::metadata(self.path).is_ok_and(|file| file.len() > 0);
        let Some(folder) = self.backups.filter(|_| !is_there) else {
            return Ok(());
        };
        match Backups::in_folder(folder).newest()? {
            Some(backup) => Err(StoreError::Lost {
                path: self.path.to_owned(),
                backup: backup.path,
            }),
            None => Ok(()),
        }
    }
}
