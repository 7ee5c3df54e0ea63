//! English stems by M. F. Porter's second algorithm ("Porter2"): "tests", "tested" and "testing" are one word. It is
//! implemented here because a stemmer crate initializes tables for eighteen languages at startup, which takes longer
//! than most commands.

/// Returns the stem of a lowercase word; a word with non-English letters is its own stem.
pub(super) fn stem(word: &str) -> String {
    if word.len() <= 2 || !word.is_ascii() {
        return word.to_owned();
    }
    if let Some((_, stem)) = EXCEPTIONS.iter().find(|(whole, _)| *whole == word) {
        return (*stem).to_owned();
    }
    let mut word = Word::new(word);
    word.without_apostrophe();
    word.plural();
    if !INVARIANT.iter().any(|whole| word.letters == whole.as_bytes()) {
        word.past_and_progressive();
        word.final_y();
        word.replace_ending(LONG_ENDINGS);
        word.replace_ending(SHORTER_ENDINGS);
        word.remove_ending();
        word.final_e_and_l();
    }
    word.into_string()
}

/// Exceptions to the rules.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];
/// Words that are stems once the plural is removed.
const INVARIANT: &[&str] = &[
    "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed",
];
/// Prefixes after which the rest of the word counts as a suffix.
const BEGINNINGS: &[&str] = &["gener", "commun", "arsen"];

/// Condition on the position of a suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    AfterL,
    /// After a letter that may precede `li`.
    AfterLiLetter,
    InSecondRegion,
}

type Ending = (&'static str, &'static str, When);

/// The longest match wins.
const LONG_ENDINGS: &[Ending] = &[
    ("ational", "ate", When::Always),
    ("fulness", "ful", When::Always),
    ("iveness", "ive", When::Always),
    ("ization", "ize", When::Always),
    ("ousness", "ous", When::Always),
    ("biliti", "ble", When::Always),
    ("lessli", "less", When::Always),
    ("tional", "tion", When::Always),
    ("alism", "al", When::Always),
    ("aliti", "al", When::Always),
    ("ation", "ate", When::Always),
    ("entli", "ent", When::Always),
    ("fulli", "ful", When::Always),
    ("iviti", "ive", When::Always),
    ("ousli", "ous", When::Always),
    ("abli", "able", When::Always),
    ("alli", "al", When::Always),
    ("anci", "ance", When::Always),
    ("ator", "ate", When::Always),
    ("enci", "ence", When::Always),
    ("izer", "ize", When::Always),
    ("bli", "ble", When::Always),
    ("ogi", "og", When::AfterL),
    ("li", "", When::AfterLiLetter),
];
const SHORTER_ENDINGS: &[Ending] = &[
    ("ational", "ate", When::Always),
    ("tional", "tion", When::Always),
    ("alize", "al", When::Always),
    ("ative", "", When::InSecondRegion),
    ("icate", "ic", When::Always),
    ("iciti", "ic", When::Always),
    ("ical", "ic", When::Always),
    ("ness", "", When::Always),
    ("ful", "", When::Always),
];
const REMOVED_ENDINGS: &[&str] = &[
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize", "ous",
    "al", "er", "ic",
];

/// A word with the regions where suffixes may begin.
struct Word {
    /// `Y` is a `y` that acts as a consonant.
    letters: Vec<u8>,
    /// Starts after the first consonant that follows a vowel.
    first_region: usize,
    /// Starts after the next consonant that follows a vowel.
    second_region: usize,
}

impl Word {
    fn new(word: &str) -> Self {
        let mut letters = word.strip_prefix('\'').unwrap_or(word).as_bytes().to_vec();
        for at in 0..letters.len() {
            let after_vowel = at == 0 || letters.get(at - 1).is_some_and(|letter| is_vowel(*letter));
            if let Some(letter @ b'y') = letters.get_mut(at)
                && after_vowel
            {
                *letter = b'Y';
            }
        }
        let beginning = BEGINNINGS
            .iter()
            .find(|beginning| letters.starts_with(beginning.as_bytes()));
        let first_region = beginning.map_or_else(|| region(&letters, 0), |beginning| beginning.len());
        Self {
            second_region: region(&letters, first_region),
            first_region,
            letters,
        }
    }

    fn ends(&self, ending: &str) -> bool {
        self.letters.ends_with(ending.as_bytes())
    }

    /// Start of a suffix that the word has.
    fn start_of(&self, ending: &str) -> usize {
        self.letters.len() - ending.len()
    }

    fn replace(&mut self, ending: &str, with: &str) {
        self.letters.truncate(self.letters.len() - ending.len());
        self.letters.extend_from_slice(with.as_bytes());
    }

    fn letter_before(&self, at: usize) -> Option<u8> {
        at.checked_sub(1).and_then(|before| self.letters.get(before)).copied()
    }

    fn has_vowel_before(&self, at: usize) -> bool {
        self.letters.iter().take(at).any(|letter| is_vowel(*letter))
    }

    fn without_apostrophe(&mut self) {
        if let Some(ending) = ["'s'", "'s", "'"].into_iter().find(|ending| self.ends(ending)) {
            self.replace(ending, "");
        }
    }

    fn plural(&mut self) {
        if self.ends("sses") {
            self.replace("es", "");
        } else if self.ends("ied") || self.ends("ies") {
            let long = self.letters.len() > 4;
            self.replace("ied", if long { "i" } else { "ie" });
        } else if self.ends("s") && !self.ends("us") && !self.ends("ss") {
            // A vowel directly before the `s` does not count: "gas" is unchanged.
            if self.has_vowel_before(self.letters.len().saturating_sub(2)) {
                self.replace("s", "");
            }
        }
    }

    fn past_and_progressive(&mut self) {
        let endings = ["eedly", "ingly", "edly", "eed", "ing", "ed"];
        let Some(ending) = endings.into_iter().find(|ending| self.ends(ending)) else {
            return;
        };
        let start = self.start_of(ending);
        if ending.starts_with("ee") {
            if start >= self.first_region {
                self.replace(ending, "ee");
            }
        } else if self.has_vowel_before(start) {
            self.replace(ending, "");
            if ["at", "bl", "iz"].into_iter().any(|end| self.ends(end)) {
                self.letters.push(b'e');
            } else if self.ends_double() {
                self.letters.pop();
            } else if self.first_region >= self.letters.len() && self.is_short_at(self.letters.len()) {
                self.letters.push(b'e');
            }
        }
    }

    fn final_y(&mut self) {
        let at = self.letters.len().saturating_sub(1);
        let before = self.letter_before(at);
        if at > 1
            && matches!(self.letters.last(), Some(b'y' | b'Y'))
            && before.is_some_and(|before| !is_vowel(before))
            && let Some(last) = self.letters.last_mut()
        {
            *last = b'i';
        }
    }

    fn replace_ending(&mut self, endings: &[Ending]) {
        let Some((ending, with, when)) = endings.iter().find(|(ending, ..)| self.ends(ending)) else {
            return;
        };
        let start = self.start_of(ending);
        let before = self.letter_before(start);
        let fits = match when {
            When::Always => true,
            When::AfterL => before == Some(b'l'),
            When::AfterLiLetter => before.is_some_and(|before| b"cdeghkmnrt".contains(&before)),
            When::InSecondRegion => start >= self.second_region,
        };
        if fits && start >= self.first_region {
            self.replace(ending, with);
        }
    }

    fn remove_ending(&mut self) {
        let Some(ending) = REMOVED_ENDINGS.iter().find(|ending| self.ends(ending)) else {
            return;
        };
        let start = self.start_of(ending);
        let fits = *ending != "ion" || matches!(self.letter_before(start), Some(b's' | b't'));
        if fits && start >= self.second_region {
            self.replace(ending, "");
        }
    }

    fn final_e_and_l(&mut self) {
        let at = self.letters.len().saturating_sub(1);
        let goes = match self.letters.last() {
            Some(b'e') => at >= self.second_region || (at >= self.first_region && !self.is_short_at(at)),
            Some(b'l') => at >= self.second_region && self.letter_before(at) == Some(b'l'),
            _ => false,
        };
        if goes {
            self.letters.pop();
        }
    }

    fn ends_double(&self) -> bool {
        matches!(self.letters.as_slice(), [.., one, other] if one == other && b"bdfgmnprt".contains(one))
    }

    /// Whether the letters before `end` end in a short syllable.
    fn is_short_at(&self, end: usize) -> bool {
        match self.letters.get(..end) {
            Some([first, second]) => is_vowel(*first) && !is_vowel(*second),
            Some([.., before, vowel, last]) => {
                !is_vowel(*before) && is_vowel(*vowel) && !is_vowel(*last) && !b"wxY".contains(last)
            }
            _ => false,
        }
    }

    fn into_string(self) -> String {
        String::from_utf8_lossy(&self.letters).to_lowercase()
    }
}

fn is_vowel(letter: u8) -> bool {
    b"aeiouy".contains(&letter)
}

/// Start of the region after the first consonant that follows a vowel, searched from `from` on.
fn region(letters: &[u8], from: usize) -> usize {
    let rest = letters.get(from..).unwrap_or_default();
    let turn = rest
        .windows(2)
        .position(|pair| matches!(pair, [one, other] if is_vowel(*one) && !is_vowel(*other)));
    turn.map_or(letters.len(), |turn| from + turn + 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rust_stemmers::{Algorithm, Stemmer};

    use super::*;

    #[track_caller]
    fn check(word: &str) {
        let expected = Stemmer::create(Algorithm::English).stem(word).into_owned();
        assert_eq!(stem(word), expected, "{word}");
    }

    #[test]
    fn stems_match_snowball() {
        let words = "tests testing tested failing running hopping hoping databases migration rational generalizations \
             communism arsenal happy say cry by ties dies gas this kiwis caresses agreed feed luxuriating \
             hopefully relationally conditional sensibility analogously apologies electricity replacement \
             adjustment adoption controlling roll cease bee yellow youth boyish skis inning proceeds succeeding \
             being outing shed bed fed 'quoted' dog's dogs' a is e ee oed ing sing owed utf8 ative national \
             activate relatively fully badly only early";
        for word in words.split_whitespace() {
            check(word);
        }
    }

    proptest! {
        #[test]
        fn any_stem_matches_snowball(
            beginning in "[a-z]{0,8}",
            ending in "(ation|ational|ness|fulness|ing|ingly|ed|edly|eed|ies|s|sses|y|li|ogi|e|le|ll|ement|ion|ive|ative|ize|'s)?"
        ) {
            check(&format!("{beginning}{ending}"));
        }
    }
}
