//! The terms of the journal as its full-text table stores them. They are tokenized like notes, and encoded so that
//! neither the tokenizer of the table nor the query grammar changes them.

use crate::index::terms_of;

/// Prefix of hex-encoded terms. Terms are split between digits and letters, so no plain term starts with it; one that
/// did would be hex-encoded too.
const HEX: &str = "0x";

/// The terms of a text as the table stores them, separated by spaces.
#[must_use]
pub fn journal_terms(text: &str) -> String {
    let words: Vec<String> = terms_of(text).iter().map(|term| encode_term(term)).collect();
    words.join(" ")
}

/// Encodes a term as one plain word: itself if it consists of lowercase ASCII letters and digits, else its bytes in
/// hex. The encoding is injective.
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
        fn encoding_is_injective(one in "\\PC{0,6}|0x[0-9a-f]{0,4}", other in "\\PC{0,6}|0x[0-9a-f]{0,4}") {
            let word = encode_term(&one);
            prop_assert!(!word.is_empty());
            prop_assert!(word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "{word}");
            prop_assert_eq!(word == encode_term(&other), one == other);
        }
    }
}
