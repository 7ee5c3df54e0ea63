//! The words of the journal as its full-text table holds them. They are cut as those of notes are, and each is written so
//! that neither the table's own way of cutting nor the grammar of its queries finds anything in it but one word.

use crate::index::terms_of;

/// What a word begins with that is written in hex digits. Words are cut between digits and letters, so none begins so by
/// itself; one that did would be written in hex digits too.
const HEX: &str = "0x";

/// The words of a text, as the journal's table holds them: a space between each two.
#[must_use]
pub fn journal_terms(text: &str) -> String {
    let words: Vec<String> = terms_of(text).iter().map(|term| encode_term(term)).collect();
    words.join(" ")
}

/// A term as one plain word: as it is when it is all lower-case letters and digits of ASCII, else its bytes in hex digits.
/// No two terms make the same word.
#[must_use]
pub fn encode_term(term: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if !term.is_empty() && term.bytes().all(is_plain) && !term.starts_with(HEX) {
        return term.to_owned();
    }
    let mut word = String::from(HEX);
    for byte in term.bytes() {
        word.push_str(&format!("{byte:02x}"));
    }
    word
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_plain_or_in_hex_digits() {
        assert_eq!(journal_terms("The tests are failing"), "test fail");
        assert_eq!(journal_terms("AND NOT \"(*: OR"), "");
        assert_eq!(journal_terms("ä_b"), "b 0x615f62");
        assert_eq!(journal_terms("пар"), "0xd0bfd0b0d180");
        assert_eq!(encode_term("0x61"), "0x30783631");
    }

    proptest! {
        #[test]
        fn a_word_is_one_word_and_says_which_term_it_was(one in "\\PC{0,6}|0x[0-9a-f]{0,4}", other in "\\PC{0,6}|0x[0-9a-f]{0,4}") {
            let word = encode_term(&one);
            prop_assert!(!word.is_empty());
            prop_assert!(word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "{word}");
            prop_assert_eq!(word == encode_term(&other), one == other);
        }
    }
}
