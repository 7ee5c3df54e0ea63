//! Whether two lessons say nearly the same.

use std::collections::{BTreeSet, HashMap};

use super::reading::{Reading, Value};

/// They share more than so many in a hundred of their words.
const NEAR_PERCENT: usize = 80;
/// Without their reasons they have at least so many words: of fewer nobody can say that they are about the same.
const LEAST_WORDS: usize = 3;
/// With how many of many that share its rarest words one is compared: where more do, these tell next to nothing.
const MOST_COMPARED: usize = 128;

impl Reading {
    /// Whether it says nearly what another one of its kind says: the same about nearly the same words, with the same values and
    /// about the same files. Two that say the same may give different reasons for it, or one of them none.
    #[must_use]
    pub fn says_nearly(&self, other: &Self) -> bool {
        if self.says_nearly_as_it_stands(other) {
            return true;
        }
        let (own, others) = (self.bare(), other.bare());
        (self.has_reasons() || other.has_reasons())
            && own.stems.len().min(others.stems.len()) >= LEAST_WORDS
            && own.says_nearly_as_it_stands(others)
            && self.contradicts_as_it_stands(other).is_none()
    }

    fn says_nearly_as_it_stands(&self, other: &Self) -> bool {
        let shared = self.stems.keys().filter(|stem| other.stems.contains_key(*stem)).count();
        let most = self.stems.len().max(other.stems.len());
        shared * 100 > most * NEAR_PERCENT
            && self.kind == other.kind
            && self.files == other.files
            && self.ids == other.ids
            && !self.is_tagged_otherwise(other)
            && self.answers_otherwise(other).is_none()
            && self.is_of_one_mind_with(other)
            && self.names_nothing_else_than(other)
    }

    /// Whether both say yes and no to the same, and name the same values.
    fn is_of_one_mind_with(&self, other: &Self) -> bool {
        let same_signs = self
            .stems
            .iter()
            .all(|(stem, sign)| other.stems.get(stem).is_none_or(|another| another == sign));
        let sides = |reading: &Self| -> Vec<(usize, bool)> {
            let sides = reading.sides.iter();
            sides.map(|(pair, (side, _))| (*pair, *side)).collect()
        };
        same_signs && sides(self) == sides(other) && texts(&self.values) == texts(&other.values)
    }

    /// Whether what only one of them says is no name, where the other says something else instead.
    fn names_nothing_else_than(&self, other: &Self) -> bool {
        let (own, others) = (self.words_beside(other), other.words_beside(self));
        own.is_empty() || others.is_empty() || !(self.refers_to_any(&own) || other.refers_to_any(&others))
    }
}

/// Lessons by their words, so that one that says nearly the same as another is found among many.
#[derive(Debug)]
pub(crate) struct Nearby<K> {
    known: Vec<(K, Reading)>,
    /// By each word, the places of those that hold it.
    by_word: HashMap<String, Vec<usize>>,
}

impl<K> Default for Nearby<K> {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            by_word: HashMap::new(),
        }
    }
}

impl<K> Nearby<K> {
    /// The first of those that say nearly the same and fit, among the [`MOST_COMPARED`] that share its rarest words.
    pub(crate) fn find(&self, reading: &Reading, fits: impl Fn(&K) -> bool) -> Option<&K> {
        let places = self.sharing_rare_words(reading);
        let mut found = places.into_iter().filter_map(|place| self.known.get(place));
        let found = found.find(|(key, known)| fits(key) && known.says_nearly(reading));
        found.map(|(key, _)| key)
    }

    /// Adds one.
    pub(crate) fn add(&mut self, key: K, reading: Reading) {
        let place = self.known.len();
        for word in reading.stems() {
            match self.by_word.get_mut(word) {
                Some(places) => places.push(place),
                None => drop(self.by_word.insert(word.to_owned(), vec![place])),
            }
        }
        self.known.push((key, reading));
    }

    fn sharing_rare_words(&self, reading: &Reading) -> BTreeSet<usize> {
        let words: BTreeSet<&str> = reading.compared().flat_map(|compared| self.rarest(compared)).collect();
        let mut lists: Vec<&Vec<usize>> = words.into_iter().filter_map(|word| self.by_word.get(word)).collect();
        lists.sort_by_key(|places| places.len());
        let mut sharing = BTreeSet::new();
        for place in lists.into_iter().flat_map(|places| places.iter().rev()) {
            if sharing.len() >= MOST_COMPARED {
                break;
            }
            sharing.insert(*place);
        }
        sharing
    }

    /// The rarest of its words, as many as another one that says nearly the same may lack, and one more.
    fn rarest<'r>(&self, reading: &'r Reading) -> Vec<&'r str> {
        let mut words: Vec<&str> = reading.stems().collect();
        words.sort_by_key(|word| (self.by_word.get(*word).map_or(0, Vec::len), *word));
        words.truncate(words.len() - words.len() * NEAR_PERCENT / 100);
        words
    }
}

fn texts(values: &[Value]) -> BTreeSet<&str> {
    values.iter().map(|value| value.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use ralph_model::LearningKind;

    use super::*;

    fn reading(content: &str) -> Reading {
        Reading::new(LearningKind::Strategy, &[], content)
    }

    /// Adds what none of those before says, and returns how many comparisons that took.
    fn add_all(contents: impl IntoIterator<Item = String>) -> (Nearby<usize>, usize) {
        let mut nearby = Nearby::default();
        let compared = Cell::new(0);
        for (place, content) in contents.into_iter().enumerate() {
            let reading = reading(&content);
            let count = |_: &usize| {
                compared.set(compared.get() + 1);
                true
            };
            if nearby.find(&reading, count).is_none() {
                nearby.add(place, reading);
            }
        }
        (nearby, compared.get())
    }

    /// A note with two words that no other one has.
    fn note(number: usize) -> String {
        let syllable = |place: usize| ["ba", "do", "fe", "gu", "ki", "lo", "mu", "ne", "pi", "ro"][number / place % 10];
        let word: String = [100, 10, 1].map(syllable).concat();
        format!("Added an api for account balances to the {word}x parser, with {word}k")
    }

    #[test]
    fn those_that_begin_alike_are_hardly_compared() {
        let (nearby, compared) = add_all((0..1_000).map(note));
        assert_eq!(nearby.known.len(), 1_000);
        assert!(compared <= 1_000, "{compared} comparisons of a thousand notes");
        let otherwise = note(421).replace(
            "Added an api for account balances",
            "An api for balances of an account was added",
        );
        assert_eq!(nearby.find(&reading(&otherwise), |_| true), Some(&421), "{otherwise}");
    }

    #[test]
    fn however_many_share_all_words_few_are_compared() {
        // Numbers are no words, and tell these apart.
        let same = (0..500).map(|number| format!("Wait {number} seconds for the emulator of the suite"));
        let (nearby, compared) = add_all(same);
        assert_eq!(nearby.known.len(), 500);
        assert!(compared <= 500 * MOST_COMPARED, "{compared}");
        let latest = reading("For the emulator of the suite, wait 499 seconds");
        assert_eq!(nearby.find(&latest, |_| true), Some(&499));
    }

    #[test]
    fn one_is_found_by_what_it_says_without_its_reasons() {
        let (nearby, _) = add_all(["Start the emulator before the suite".to_owned()]);
        let with_reasons = "Start the emulator before the suite, or every websocket handshake of playwright hangs";
        assert_eq!(nearby.find(&reading(with_reasons), |_| true), Some(&0));
    }
}
