//! The text of a lesson as tokens: what stands between white space, without the signs around it.

/// Signs that are no part of a word at its beginning, and at its end.
const OPENING: &[char] = &['(', '[', '{', '"', '\'', '`', '*', '“', '‘', '«', '<', '_', '#'];
const CLOSING: &[char] = &[
    ')', ']', '}', '"', '\'', '`', '*', '”', '’', '»', '>', '_', '.', ',', ';', ':', '!', '?', '…',
];
/// Where a sentence ends.
const SENTENCE_ENDS: &[char] = &['.', ';', '!', '?', '…'];
/// Where a part of it does.
const CLAUSE_ENDS: &[char] = &[',', ':', ')', '.', ';', '!', '?', '…'];

/// What ends behind a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// Nothing.
    Nothing,
    /// A part of a sentence.
    Clause,
    /// A sentence.
    Sentence,
}

/// A word, or what is written like one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'t> {
    /// As it stands there.
    pub(super) text: &'t str,
    /// In lower case, with plain apostrophes.
    pub(super) lower: String,
    /// Whether it stands in code.
    pub(super) in_code: bool,
    /// What ends behind it.
    pub(super) end: End,
}

/// The tokens of a text. A dash by itself is none: it ends what stands before it.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut in_code = false;
    for raw in text.split_whitespace() {
        let ticks = raw.matches('`').count();
        let is_code = in_code || ticks > 0;
        in_code ^= ticks % 2 == 1;
        let word = raw.trim_start_matches(OPENING).trim_end_matches(CLOSING);
        if word.is_empty() || matches!(word, "-" | "–" | "—" | "--") {
            if let Some(last) = tokens.last_mut() {
                last.end = last.end.max(End::Clause);
            }
            continue;
        }
        tokens.push(Token {
            text: word,
            lower: word.to_lowercase().replace('’', "'"),
            in_code: is_code,
            end: end_of(raw),
        });
    }
    tokens
}

fn end_of(raw: &str) -> End {
    let behind: &str = raw.trim_end_matches(|sign: char| CLOSING.contains(&sign) && !CLAUSE_ENDS.contains(&sign));
    match behind.chars().next_back() {
        Some(last) if SENTENCE_ENDS.contains(&last) => End::Sentence,
        Some(last) if CLAUSE_ENDS.contains(&last) => End::Clause,
        _ => End::Nothing,
    }
}

impl Token<'_> {
    /// Whether it is written like the name of something: in capitals, or with one behind its first letter or inside a
    /// sentence.
    pub(super) fn is_like_a_name(&self, is_first: bool) -> bool {
        let mut capitals = self.text.char_indices().filter(|(_, sign)| sign.is_uppercase());
        capitals.any(|(at, _)| at > 0 || !is_first)
    }

    /// Whether it is the path of a file, or its name.
    pub(super) fn is_file(&self) -> bool {
        let is_word =
            |part: &str| !part.is_empty() && part.chars().all(|sign| sign.is_alphanumeric() || "_-".contains(sign));
        let path = self.text.split_once(':').map_or(self.text, |(path, _)| path);
        if self.text.contains("://") || path.starts_with('-') || path.contains('=') {
            return false;
        }
        if path.contains('/') {
            return path.chars().any(char::is_alphabetic);
        }
        path.rsplit_once('.').is_some_and(|(name, extension)| {
            let is_extension =
                (1..=5).contains(&extension.len()) && extension.chars().all(|sign| sign.is_ascii_lowercase());
            is_extension && name.chars().count() > 1 && name.split('.').all(is_word)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_around_words_are_no_part_of_them() {
        let words: Vec<(&str, End, bool)> = tokens("Use `cargo test -j 4` (always), never “make”. Done — now")
            .iter()
            .map(|token| (token.text, token.end, token.in_code))
            .collect();
        assert_eq!(
            words,
            [
                ("Use", End::Nothing, false),
                ("cargo", End::Nothing, true),
                ("test", End::Nothing, true),
                ("-j", End::Nothing, true),
                ("4", End::Nothing, true),
                ("always", End::Clause, false),
                ("never", End::Nothing, false),
                ("make", End::Sentence, false),
                ("Done", End::Clause, false),
                ("now", End::Nothing, false),
            ]
        );
    }

    #[test]
    fn files_are_told_from_words_and_numbers() {
        for (text, expected) in [
            ("src/lib.rs", true),
            ("Cargo.toml", true),
            ("src/lib.rs:40", true),
            ("a.b", false),
            ("1.2.3", false),
            ("e.g", false),
            ("https://a.b/c", false),
            ("--path=src/lib.rs", false),
            ("1/2", false),
            ("tests", false),
        ] {
            let token = Token {
                text,
                lower: text.to_owned(),
                in_code: false,
                end: End::Nothing,
            };
            assert_eq!(token.is_file(), expected, "{text}");
        }
    }
}
