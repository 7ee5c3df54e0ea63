//! From text to terms: what the index stores of a note, and what a query asks for.
//!
//! A word is split at case changes, at digits and at the characters that join names. Each part counts by its stem, and
//! the whole counts as a name. So `parseConfig`, `parse_config` and `parse-config` are one name, and "parsing" finds
//! all of them. Parts that are split only by case also count as one word, since people search for "github" and
//! "postgresql"; so do parts that a hyphen joins.

mod phrase;
mod stem;
mod stop_words;

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

pub use phrase::{Phrase, Phrases};
use stem::stem;
use stop_words::is_stop_word;

/// Longer parts are hashes or noise; they are truncated to this many characters.
const MAX_TERM_CHARACTERS: usize = 64;
/// Joins the parts of a name. No part contains it.
const JOINT: char = '_';

/// Whether a term is a whole name rather than one of its parts.
#[must_use]
pub fn is_name(term: &str) -> bool {
    term.contains(JOINT)
}

/// Returns the terms of a text in order, without stop words.
#[must_use]
pub fn terms_of(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for range in runs(text) {
        terms_of_run(text.get(range).unwrap_or_default(), &mut terms);
    }
    terms
}

/// Returns the stems of a text in order, including stop words but no whole names; phrases are compared by them.
fn words_of(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for range in runs(text) {
        let run = normalised(text.get(range).unwrap_or_default());
        for word in run.split(|c: char| !is_word(c) || c == JOINT) {
            for part in word_parts(word) {
                let mut stems = Vec::new();
                term_of_part(part, &mut stems);
                if stems.is_empty() {
                    words.push(Word::StopWord(part.to_lowercase()));
                }
                words.extend(stems.into_iter().map(Word::Content));
            }
        }
    }
    words
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Word {
    StopWord(String),
    Content(String),
}

/// Returns the stretches of a text that may be one name, each as the word that remains without its joining characters.
fn joined_words(text: &str) -> Vec<String> {
    let joined = |range: Range<usize>| {
        let run = normalised(text.get(range).unwrap_or_default());
        let letters = run.chars().filter(|c| c.is_alphanumeric());
        let word: String = letters.take(MAX_TERM_CHARACTERS).collect();
        stem(&word.to_lowercase())
    };
    runs(text).map(joined).collect()
}

/// Returns the ranges of the words whose terms satisfy `looked_for`.
pub fn places_of(text: &str, looked_for: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut terms = Vec::new();
    runs(text)
        .filter(|range| {
            terms.clear();
            terms_of_run(text.get(range.clone()).unwrap_or_default(), &mut terms);
            terms.iter().any(|term| looked_for(term))
        })
        .collect()
}

fn terms_of_run(run: &str, terms: &mut Vec<String>) {
    if is_plain_word(run) {
        return term_of_part(run, terms);
    }
    let run = normalised(run);
    let mut name = Name::default();
    let mut segments = 0;
    for segment in run.split(['/', ':']).filter(|segment| !segment.is_empty()) {
        segments += 1;
        let mut own = Name::default();
        for word in segment.split(|c: char| !is_word(c) || c == JOINT) {
            for part in word_parts(word) {
                term_of_part(part, terms);
                own.join(part);
            }
            for letters in word.split(|c: char| c.is_numeric() || is_unspaced(c)) {
                if part_end(letters) < letters.len() {
                    term_of_part(letters, terms);
                }
            }
        }
        if let Some(word) = without_hyphen(segment) {
            term_of_part(&word, terms);
        }
        if own.parts > 1 {
            terms.push(own.text.clone());
        }
        name.join_all(&own);
    }
    if segments > 1 && name.parts > 1 {
        terms.push(name.text);
    }
}

/// Fast path: a word of ASCII lowercase letters, possibly capitalized, needs no splitting or joining.
fn is_plain_word(run: &str) -> bool {
    let bytes = run.as_bytes();
    bytes
        .split_first()
        .is_some_and(|(first, rest)| first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase))
}

/// "front-end" also counts as "frontend".
fn without_hyphen(segment: &str) -> Option<String> {
    let (one, other) = segment.split_once('-')?;
    let is_plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphabetic() && !is_unspaced(c));
    (is_plain(one) && is_plain(other)).then(|| format!("{one}{other}"))
}

fn term_of_part(part: &str, terms: &mut Vec<String>) {
    if part.chars().next().is_some_and(is_unspaced) {
        return bigrams(part, terms);
    }
    let lower = if part.bytes().all(|byte| byte.is_ascii_lowercase()) {
        Cow::Borrowed(part)
    } else {
        Cow::Owned(part.to_lowercase())
    };
    if is_stop_word(&lower) {
        return;
    }
    let kept = match lower.char_indices().nth(MAX_TERM_CHARACTERS) {
        Some((end, _)) => lower.get(..end).unwrap_or_default(),
        None => &lower,
    };
    terms.push(stem(kept));
}

#[derive(Default)]
struct Name {
    text: String,
    parts: usize,
}

impl Name {
    fn join(&mut self, part: &str) {
        // Truncates long parts, like everywhere.
        let part: String = part.to_lowercase().chars().take(MAX_TERM_CHARACTERS).collect();
        self.push(&part, 1);
    }

    fn join_all(&mut self, other: &Self) {
        if other.parts > 0 {
            self.push(&other.text, other.parts);
        }
    }

    /// Names have a length limit.
    fn push(&mut self, text: &str, parts: usize) {
        if self.text.chars().count() <= MAX_TERM_CHARACTERS {
            if self.parts > 0 {
                self.text.push(JOINT);
            }
            self.text.push_str(text);
            self.parts += parts;
        }
    }
}

/// Stretches of a text that may be one name: letters and digits, joined by single characters.
fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut signs = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = signs.find(|(_, c)| is_word(*c))?;
        let mut end = start + first.len_utf8();
        while let Some((at, c)) = signs.peek().copied() {
            let inside = is_word(c) || is_combining_mark(c);
            if !inside && !joins(text.get(at..).unwrap_or_default()) {
                break;
            }
            end = at + c.len_utf8();
            signs.next();
        }
        Some(start..end)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == JOINT
}

/// Whether a text starts with a joining character that is followed by a word.
fn joins(text: &str) -> bool {
    let after = text
        .strip_prefix("::")
        .or_else(|| text.strip_prefix(['.', '/', ':', '-', '\'', '’', '@', '+', '#']));
    after.is_some_and(|after| after.starts_with(is_word))
}

/// Scripts that are written without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0e00..=0x0eff       // Thai, Lao
        | 0x1000..=0x109f     // Burmese
        | 0x1780..=0x17ff     // Khmer
        | 0x3040..=0x30ff     // Kana
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff // Han
        | 0xac00..=0xd7af) // Hangul, whose words carry their particles with them
}

/// Normalizes case, full-width letters, ligatures and accents, and removes a trailing `'s`.
fn normalised(run: &str) -> Cow<'_, str> {
    let plain = if run.is_ascii() {
        Cow::Borrowed(run)
    } else {
        let plain: String = run.nfkd().filter(|c| !is_combining_mark(*c)).nfc().collect();
        Cow::Owned(plain.replace(['ß', 'ẞ'], "ss"))
    };
    match plain.rfind(['\'', '’']) {
        Some(at) if plain.len() - at <= "’ll".len() => Cow::Owned(plain.get(..at).unwrap_or_default().to_owned()),
        _ => plain,
    }
}

/// Splits a word at rising case, between letters and digits, and around scripts without spaces.
fn word_parts(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (part, after) = rest.split_at_checked(part_end(rest))?;
        rest = after;
        Some(part)
    })
}

fn part_end(word: &str) -> usize {
    let mut signs = word.char_indices().peekable();
    let Some((_, mut last)) = signs.next() else { return 0 };
    while let Some((at, c)) = signs.next() {
        let next = signs.peek().map(|(_, c)| *c);
        let case_goes_up = c.is_uppercase() && (last.is_lowercase() || next.is_some_and(char::is_lowercase));
        if c.is_numeric() != last.is_numeric() || is_unspaced(c) != is_unspaced(last) || case_goes_up {
            return at;
        }
        last = c;
    }
    word.len()
}

/// Bigrams, because word boundaries are unknown in scripts without spaces.
fn bigrams(text: &str, terms: &mut Vec<String>) {
    let signs: Vec<char> = text.chars().collect();
    match signs.as_slice() {
        [one] => terms.push(one.to_string()),
        several => terms.extend(several.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(terms_of(text), expected, "{text:?}");
    }

    #[test]
    fn words_are_stemmed_and_stop_words_dropped() {
        check("The tests are failing, run them again", &["test", "fail", "run"]);
        check("database, (database) \"database\"", &["databas"; 3]);
        check("it's Caroline's, isn't it", &["carolin"]);
        check("how to do it", &[]);
        check("", &[]);
    }

    #[test]
    fn names_are_kept_whole_and_split() {
        check("parse-config", &["pars", "config", "parseconfig", "parse_config"]);
        for spelling in ["parse_config", "PARSE_CONFIG"] {
            check(spelling, &["pars", "config", "parse_config"]);
        }
        for spelling in ["parseConfig", "ParseConfig"] {
            check(spelling, &["pars", "config", "parseconfig", "parse_config"]);
        }
        check("src/lib.rs", &["src", "lib", "rs", "lib_rs", "src_lib_rs"]);
        check("std::fs::write.", &["std", "fs", "write", "std_fs_write"]);
        check(
            "ECONNREFUSED 127.0.0.1:5432",
            &[
                "econnrefus",
                "127",
                "0",
                "0",
                "1",
                "127_0_0_1",
                "5432",
                "127_0_0_1_5432",
            ],
        );
        check("utf8 utf-8", &["utf", "8", "utf_8", "utf", "8", "utf_8"]);
        assert!(is_name("parse_config") && !is_name("pars"));
    }

    #[test]
    fn parts_split_by_case_are_one_word_too() {
        check("HTTPServer2", &["http", "server", "2", "httpserver", "http_server_2"]);
        check("IPv6", &["pv", "6", "ipv", "i_pv_6"]);
        for name in ["GitHub", "SQLite", "PostgreSQL", "APIs", "XMLHttpRequest", "iOS"] {
            for typed in [name.to_lowercase(), name.to_uppercase()] {
                let [typed] = terms_of(&typed).try_into().unwrap();
                assert!(terms_of(name).contains(&typed), "{typed} finds {name}");
            }
        }
    }

    #[test]
    fn hyphenated_words_are_one_word_too() {
        assert!(terms_of("front-end").contains(&terms_of("frontend")[0]));
        assert!(terms_of("E-Mail").contains(&"email".to_owned()));
        check("a-b-c 2-way", &["b", "c", "a_b_c", "2", "way", "2_way"]);
        assert_eq!(terms_of("GRÖSSE"), terms_of("Größe"));
    }

    #[test]
    fn long_words_are_truncated() {
        let long = "x".repeat(1 << 16);
        let terms = terms_of(&format!("{long}_{long}/{long}.{long}"));
        assert!(terms.iter().all(|term| term.chars().count() <= 4 * MAX_TERM_CHARACTERS));
        assert_eq!(terms[0], "x".repeat(MAX_TERM_CHARACTERS));
    }

    #[test]
    fn other_scripts_are_tokenized() {
        check("Größe café cafe\u{301} ＡＰＩ", &["gross", "cafe", "cafe", "api"]);
        check("数据库连接", &["数据", "据库", "库连", "连接"]);
        check("пароль", &["пароль"]);
        check("テスト2回", &["テス", "スト", "2", "回", "テスト_2_回"]);
    }

    #[test]
    fn places_are_whole_words() {
        let text = "Run parseConfig — the größte config!";
        let places = places_of(text, |term| term == "config");
        let found: Vec<&str> = places.into_iter().filter_map(|range| text.get(range)).collect();
        assert_eq!(found, ["parseConfig", "config"]);
    }

    proptest! {
        #[test]
        fn plain_word_fast_path_gives_the_same_terms(word in "[A-Za-z][a-z]{0,80}") {
            // A joint at the end of a run has no effect, and words with one are not plain.
            prop_assert_eq!(terms_of(&word), terms_of(&format!("{word}_")));
        }

        #[test]
        fn terms_of_any_text_have_no_punctuation(text in "\\PC*|(\\p{Any}){0,60}") {
            for term in terms_of(&text) {
                prop_assert!(!term.is_empty() && term.chars().count() <= 4 * MAX_TERM_CHARACTERS);
                prop_assert!(term.chars().all(|c| c.is_alphanumeric() || c == '_'), "{term:?}");
            }
            for range in places_of(&text, |_| true) {
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
