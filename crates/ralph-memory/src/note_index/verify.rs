//! Verifies the index on disk by building another one from the files and comparing.

use std::collections::HashMap;

use ralph_model::NoteFileKind;
use ralph_store::index::{Index, IndexError};

use super::knowledge::Extent;
use super::{NoteIndex, NoteIndexError, NoteIndexPlace, source_name};

/// The result of verifying the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verified {
    /// The index matches the files.
    Same,
    /// The files have changed since; the next query brings the index up to date.
    Behind,
    /// Built from the same files but different; the first difference.
    Differs(String),
}

impl NoteIndex {
    /// Compares the index on disk with the files. Changes nothing.
    ///
    /// # Errors
    /// When a file of notes, or the folder of the long ones, cannot be read.
    pub fn verify(place: &NoteIndexPlace<'_>) -> Result<Verified, NoteIndexError> {
        let Some(on_disk) = Index::open(&place.database) else {
            return Ok(Verified::Behind);
        };
        let file_kinds: Vec<NoteFileKind> = place.file_kinds.iter().map(|(file_kind, _)| *file_kind).collect();
        let made = Self::in_memory(place, Extent::WithKnowledge, None)?.refuse_unreadable(&file_kinds)?;
        let compared = (|| {
            for (file_kind, _) in &place.file_kinds {
                let digest = |index: &Index| Ok(index.source(source_name(*file_kind))?.map(|state| state.digest));
                if digest(&on_disk)? != digest(&made.index)? {
                    return Ok(Verified::Behind);
                }
            }
            let digests = |index: &Index| -> Result<HashMap<String, u128>, IndexError> {
                let mut digests = HashMap::new();
                index.knowledge_files(&mut |file| {
                    digests.insert(file.name.to_owned(), file.digest);
                })?;
                Ok(digests)
            };
            if digests(&on_disk)? != digests(&made.index)? {
                return Ok(Verified::Behind);
            }
            let difference = on_disk.first_difference(&made.index)?;
            Ok(difference.map_or(Verified::Same, Verified::Differs))
        })();
        // An unreadable index counts as different.
        Ok(compared.unwrap_or_else(|error: IndexError| Verified::Differs(error.to_string())))
    }

    /// Discards the index on disk and rebuilds it.
    ///
    /// # Errors
    /// When a file of notes cannot be read, or the index belongs to another tool or cannot be written.
    pub fn remake(place: &NoteIndexPlace<'_>) -> Result<(), NoteIndexError> {
        Index::invalidate(&place.database);
        Ok(Self::updated(place, Extent::WithKnowledge).map(drop)?)
    }
}
