//! The searchable collections: notes, learnings and the journal are ranked alike.

use ralph_store::index::{DocFeatures, KnownTerm, Totals};

/// A collection of entries that contain terms.
pub(super) trait Corpus {
    type Error;

    /// How many tied entries (same shared terms) are fetched together. Where entry numbers carry no meaning that is all
    /// of them; where later entries have higher numbers, later ones go first.
    const TIE_BATCH: usize;

    /// Limits on the postings read and the candidates scored when only the best are wanted.
    const MAX_POSTINGS: u64 = 8_000;
    const MAX_CANDIDATES: usize = 128;

    fn totals(&self) -> Result<Totals, Self::Error>;

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, Self::Error>;

    /// Visits the numbers of the entries that contain a term.
    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), Self::Error>;

    /// The outlines of these entries, without those that may not be found.
    fn outlines(&self, numbers: &[i64]) -> Result<Vec<DocFeatures>, Self::Error>;

    /// Whether two entries that say the same may be collapsed into one.
    fn may_collapse(&self, _one: i64, _other: i64) -> Result<bool, Self::Error> {
        Ok(true)
    }

    fn text(&self, number: i64) -> Result<String, Self::Error>;
}

/// A corpus that can list its terms, so that typos in a question can be corrected.
pub(super) trait FuzzyCorpus: Corpus {
    /// Visits each term of a findable entry with the number of entries that contain it, always in the same order.
    fn all_terms(&self, visit: &mut dyn FnMut(&str, u64)) -> Result<(), Self::Error>;
}
