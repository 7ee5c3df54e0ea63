//! Ids for new notes: none that the file or the log has seen, however many are made for one second.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use ralph_model::{Entropy, NoteId};
use ralph_notes::Lookup;
use ralph_store::Store;

/// How many random suffixes are tried before the id's second is moved on.
const SUFFIX_TRIES: usize = 64;
/// The last second for an id, in the year 4821: it has the most digits that an id may have, and room to move on.
const LAST_SECOND: i64 = 90_000_000_000;

/// The moment itself, or the nearest one that an id can hold.
pub(super) fn within_ids(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second().clamp(0, LAST_SECOND)).unwrap_or(moment)
}

/// Makes the ids of the notes that are added together.
pub(super) struct NewIds<'n> {
    file: &'n Lookup<'n, 'n>,
    log: Option<&'n Store>,
    entropy: &'n mut dyn Entropy,
    given: HashSet<NoteId>,
    /// Where to go on from a second that has hardly any suffix left, for each prefix.
    moved_on: HashMap<(&'static str, i64), i64>,
}

impl<'n> NewIds<'n> {
    /// Ids for notes that go into this file.
    pub(super) fn new(file: &'n Lookup<'n, 'n>, log: Option<&'n Store>, entropy: &'n mut dyn Entropy) -> Self {
        Self {
            file,
            log,
            entropy,
            given: HashSet::new(),
            moved_on: HashMap::new(),
        }
    }

    /// An id of this second, or of the next one that has one left.
    pub(super) fn next(&mut self, prefix: &'static str, mut second: i64) -> NoteId {
        loop {
            while let Some(later) = self.moved_on.get(&(prefix, second)) {
                second = *later;
            }
            for _ in 0..SUFFIX_TRIES {
                let suffix = u16::try_from(self.entropy.next_bits() >> 48).unwrap_or_default();
                let id = NoteId::new(prefix, second, suffix);
                if self.is_new(&id) {
                    self.given.insert(id.clone());
                    return id;
                }
            }
            self.moved_on.insert((prefix, second), second + 1);
        }
    }

    fn is_new(&self, id: &NoteId) -> bool {
        let on_record = || self.log.is_some_and(|log| log.knows_note(id).unwrap_or(false));
        !self.given.contains(id) && !self.file.mentions(id) && !on_record()
    }
}
