//! What can be asked: entries that hold terms. Notes are one such body of texts, the journal is another; both are ranked
//! alike.

use ralph_store::index::{KnownTerm, Outline, Totals};

/// A body of entries that hold terms.
pub(super) trait Corpus {
    /// Why it cannot be read.
    type Error;

    /// How many entries that share the same terms are looked at together. Where the numbers of entries are an accident of
    /// history that is all of them; where later entries have higher numbers, the later go first.
    const ALIKE: usize;

    /// How many places in the lists of words are looked at, and how many candidates are weighed, when only the best are
    /// wanted.
    const MOST_PLACES: u64 = 8_000;
    const MOST_CANDIDATES: usize = 128;

    /// How much there is.
    fn totals(&self) -> Result<Totals, Self::Error>;

    /// A term, if any entry holds it.
    fn term(&self, term: &str) -> Result<Option<KnownTerm>, Self::Error>;

    /// The numbers of the entries that hold a term.
    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), Self::Error>;

    /// The outlines of those of these entries that may be found.
    fn outlines(&self, numbers: &[i64]) -> Result<Vec<Outline>, Self::Error>;

    /// Whether one of two entries may stand for both when they say the same.
    fn may_stand_for_both(&self, _one: i64, _other: i64) -> Result<bool, Self::Error> {
        Ok(true)
    }

    /// The text of an entry.
    fn text(&self, number: i64) -> Result<String, Self::Error>;
}

/// A body of entries that can tell all of its terms, so that a typo in a question can be forgiven.
pub(super) trait Forgiving: Corpus {
    /// Every term that is held by something that may be found, in the same order each time, with how many entries hold it.
    fn all_terms(&self, visit: &mut dyn FnMut(&str, u64)) -> Result<(), Self::Error>;
}
