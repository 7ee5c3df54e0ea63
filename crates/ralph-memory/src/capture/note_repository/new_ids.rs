//! Creates ids for new notes that neither the file nor the log has seen.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use ralph_model::{Entropy, NoteId};
use ralph_notes::Lookup;
use ralph_store::Store;

/// How many random suffixes are tried before the time is advanced.
const SUFFIX_TRIES: usize = 64;
/// The latest time of an id, in the year 4821. It has the maximum number of digits and can still be advanced.
const LAST_SECOND: i64 = 90_000_000_000;

/// The time, clamped to what an id can contain.
pub(super) fn within_ids(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second().clamp(0, LAST_SECOND)).unwrap_or(moment)
}

/// Creates the ids of notes that are added together.
pub(super) struct NewIds<'n> {
    file: &'n Lookup<'n, 'n>,
    log: Option<&'n Store>,
    entropy: &'n mut dyn Entropy,
    given: HashSet<NoteId>,
    /// For each prefix, where to continue after a second whose suffixes are used up.
    next_free_second: HashMap<(&'static str, i64), i64>,
}

impl<'n> NewIds<'n> {
    /// Ids for notes in this file.
    pub(super) fn new(file: &'n Lookup<'n, 'n>, log: Option<&'n Store>, entropy: &'n mut dyn Entropy) -> Self {
        Self {
            file,
            log,
            entropy,
            given: HashSet::new(),
            next_free_second: HashMap::new(),
        }
    }

    /// An id with this second or, if its suffixes are used up, a later one.
    pub(super) fn next(&mut self, prefix: &'static str, mut second: i64) -> NoteId {
        loop {
            while let Some(later) = self.next_free_second.get(&(prefix, second)) {
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
            self.next_free_second.insert((prefix, second), second + 1);
        }
    }

    fn is_new(&self, id: &NoteId) -> bool {
        let on_record = || self.log.is_some_and(|log| log.knows_note(id).unwrap_or(false));
        !self.given.contains(id) && !self.file.mentions(id) && !on_record()
    }
}
