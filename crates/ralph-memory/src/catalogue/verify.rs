//! Whether the index on disk answers what the files say, told by making another one from the files and comparing.

use std::collections::HashMap;

use ralph_model::Shelf;
use ralph_store::index::{Index, IndexError};

use super::knowledge::Extent;
use super::{Catalogue, CatalogueError, CataloguePlace, source_name};

/// What a comparison of the index with the files came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verified {
    /// It answers what the files say.
    Same,
    /// The files have changed since; the next question brings it up to date.
    Behind,
    /// It was made from these very files and answers otherwise, for the first time here.
    Differs(String),
}

impl Catalogue {
    /// Compares the index on disk with the files. Nothing is changed.
    ///
    /// # Errors
    /// When a file of notes, or the folder of the long ones, cannot be read.
    pub fn verify(place: &CataloguePlace<'_>) -> Result<Verified, CatalogueError> {
        let Some(on_disk) = Index::open(&place.database) else {
            return Ok(Verified::Behind);
        };
        let shelves: Vec<Shelf> = place.shelves.iter().map(|(shelf, _)| *shelf).collect();
        let made = Self::in_memory(place, Extent::Everything, None)?.refuse_unreadable(&shelves)?;
        let compared = (|| {
            for (shelf, _) in &place.shelves {
                let digest = |index: &Index| Ok(index.source(source_name(*shelf))?.map(|state| state.digest));
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
        // What cannot even be read differs.
        Ok(compared.unwrap_or_else(|error: IndexError| Verified::Differs(error.to_string())))
    }

    /// Throws the index on disk away and makes it anew.
    ///
    /// # Errors
    /// When a file of notes cannot be read, or the index belongs to another tool or cannot be written.
    pub fn remake(place: &CataloguePlace<'_>) -> Result<(), CatalogueError> {
        Index::distrust(&place.database);
        Ok(Self::brought_up_to_date(place, Extent::Everything).map(drop)?)
    }
}
