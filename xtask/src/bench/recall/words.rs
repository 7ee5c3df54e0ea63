//! Tokenizes text for the peer: stemmed, without stop words, with identifiers whole and in parts.

use rust_stemmers::{Algorithm, Stemmer};

/// English stop words, including the remains of contractions.
const STOP_WORDS: &str = "\
    a about above after again against all am an and any are aren as at be because been before being below between both \
    but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had hadn has \
    hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m me \
    more most mustn my myself no nor not now o of off on once only or other our ours ourselves out over own re s same \
    shan she should shouldn so some such t than that the their theirs them themselves then there these they this those \
    through to too under until up ve very was wasn we were weren what when where which while who whom why will with won \
    would wouldn y you your yours yourself yourselves";

pub(super) struct Words {
    stemmer: Stemmer,
    stop_words: std::collections::HashSet<&'static str>,
}

impl Words {
    pub(super) fn new() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            stop_words: STOP_WORDS.split_whitespace().collect(),
        }
    }

    /// Whether a lowercase word is a stop word.
    pub(super) fn is_stop_word(&self, word: &str) -> bool {
        self.stop_words.contains(word)
    }

    /// The terms of a text, in order.
    pub(super) fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        let in_identifier = |c: char| c.is_alphanumeric() || c == '_';
        for identifier in text.split(|c| !in_identifier(c)).filter(|part| !part.is_empty()) {
            let parts = parts(identifier);
            if parts.len() > 1 {
                terms.push(identifier.to_lowercase());
            }
            for part in parts {
                if !self.is_stop_word(&part) {
                    terms.push(self.stemmer.stem(&part).into_owned());
                }
            }
        }
        terms
    }
}

/// The lowercase words of a text, split at everything that is not alphanumeric.
pub(super) fn lowercase_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// The lowercase parts of an identifier, split at underscores, at case changes, before the last capital of a run, and
/// between letters and digits.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut characters = identifier.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(c) = characters.next() {
        let next_is_small = characters.peek().is_some_and(|next| next.is_lowercase());
        let boundary = before.is_some_and(|before| {
            before.is_numeric() != c.is_numeric()
                || (before.is_lowercase() && c.is_uppercase())
                || (before.is_uppercase() && c.is_uppercase() && next_is_small)
        });
        if (boundary || c == '_') && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if c == '_' {
            before = None;
        } else {
            part.extend(c.to_lowercase());
            before = Some(c);
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_indexed_whole_and_in_parts() {
        let check = |text: &str, expected: &str| assert_eq!(Words::new().terms(text).join(" "), expected);
        check("The daemon was listening.", "daemon listen");
        check("writeBoolean(self, n)", "writeboolean write boolean self n");
        check("DEFAULT_REPO_FORMAT", "default_repo_format default repo format");
        check("parseHTTPResponse2xx", "parsehttpresponse2xx pars http respons 2 xx");
        check("git-verify-pack(1) isn't", "git verifi pack 1");
        check("__init__ Übergrößen", "init übergrößen");
        check("?! _ __", "");
    }
}
