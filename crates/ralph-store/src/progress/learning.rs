//! Normalization of learnings: the words and code operators by which duplicates are recognized.

/// Operators that are significant anywhere: "a == b" is not "a != b", and C++ is not C.
const OPERATORS: &str = "=<>+#&|%^@$≠≤≥≈→←×÷±";
/// Operators between two words; decoration at their ends.
const BETWEEN_WORDS: &str = "*~";
/// Prefixes that change a word: negations, options, negative numbers.
const BEFORE_WORDS: [&str; 4] = ["!", "!!", "-", "--"];
/// Punctuation and delimiters, also directly next to an operator.
const ENDS: &str = ".,:;!?-/\\\"'`";
/// A longer run of one character is a horizontal rule.
const LONGEST_OPERATOR: usize = 3;

/// Words without case and punctuation, with operators as words. Learnings with the same result are duplicates.
#[must_use]
pub fn normalized(content: &str) -> String {
    let mut words = Vec::new();
    let mut has_letters = false;
    for line in content.lines() {
        for (at, token) in tokens(line).enumerate() {
            // Markers of headings, list items and quotations.
            let is_markup = at == 0 && matches!(token, "#" | "##" | "###" | "*" | "+" | ">");
            if is_markup {
                continue;
            }
            let parts = parts(token);
            for (at, part) in parts.iter().enumerate() {
                if part.starts_with(char::is_alphanumeric) {
                    has_letters = true;
                    words.push(part.to_lowercase());
                } else {
                    let is_inside = (at > 0, at + 1 < parts.len());
                    words.extend(operator(part, is_inside).map(str::to_owned));
                }
            }
        }
    }
    if has_letters { words.join(" ") } else { String::new() }
}

/// Splits at white space, brackets and quotation marks.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let ends = |sign: char| sign.is_whitespace() || "()[]{}`\"'“”‘’«»,;".contains(sign);
    line.split(ends).filter(|token| !token.is_empty())
}

/// Splits a token into words and the text between them.
fn parts(token: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = token;
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_alphanumeric();
        let end = rest.find(|sign: char| sign.is_alphanumeric() != is_word);
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        parts.push(part);
        rest = after;
    }
    parts
}

/// Returns the operator that these characters are, if any. Whether words surround them matters for some.
fn operator(signs: &str, (is_behind_word, is_before_word): (bool, bool)) -> Option<&str> {
    if !is_behind_word && is_before_word && BEFORE_WORDS.contains(&signs) {
        return Some(signs);
    }
    let is_decoration = is_behind_word != is_before_word;
    let means = |sign: char| OPERATORS.contains(sign) || (!is_decoration && BETWEEN_WORDS.contains(sign));
    let signs = if is_before_word {
        signs
    } else {
        signs.trim_end_matches(|sign| ENDS.contains(sign))
    };
    let first = signs.chars().next()?;
    let is_line = signs.chars().count() > LONGEST_OPERATOR && signs.chars().all(|sign| sign == first);
    (signs.contains(means) && !is_line).then_some(signs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn same(one: &str, other: &str) {
        assert_eq!(normalized(one), normalized(other), "{one:?} and {other:?}");
    }

    #[track_caller]
    fn different(one: &str, other: &str) {
        assert_ne!(normalized(one), normalized(other), "{one:?} and {other:?}");
    }

    #[test]
    fn case_punctuation_and_decoration_do_not_matter() {
        for other in [
            "run cargo-test FIRST",
            "Run `cargo test` first!",
            "**Run** _cargo_ *test* first…",
            "- Run cargo test — first?",
            "# Run \"cargo test\", first.",
            "* (Run) 'cargo/test': first!!!",
            "> Run cargo test\n> first\n======\n-----",
        ] {
            same("Run cargo test first", other);
        }
        assert_eq!(normalized("Größe ZÄHLT!"), "größe zählt");
    }

    #[test]
    fn operators_make_another_learning() {
        for (one, other) in [
            ("Check that a == b", "Check that a != b"),
            ("Check that a==b", "Check that a b"),
            ("Check a < b", "Check a <= b"),
            ("Check a ≤ b", "Check a ≥ b"),
            ("Use C++ here", "Use C here"),
            ("Use C#.", "Use C."),
            ("Return a && b", "Return a || b"),
            ("Return !ready", "Return ready"),
            ("It gives -1", "It gives 1"),
            ("Pass --all", "Pass all"),
            ("Use 0..5", "Use 0..=5"),
            ("Use a * b", "Use a + b"),
            ("Keep 50% free", "Keep 50 free"),
            ("fn a -> b", "fn a => b"),
        ] {
            different(one, other);
        }
    }

    #[test]
    fn operators_match_with_and_without_spaces() {
        same("Check that a == b", "check that `a==b`.");
        same("Use C++ here", "use \"C++\", here");
        same("Prefer C++", "prefer C++!");
        same("Pass --all", "pass `--all`");
    }

    #[test]
    fn punctuation_alone_is_empty() {
        for text in ["", "!!!", "→", "== !=", "?!"] {
            assert_eq!(normalized(text), "", "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn normalization_is_idempotent(text in "([a-cA-C]|[=!<>+#*.,`\\- \n]|ä|→){0,20}") {
            prop_assert_eq!(normalized(&text.to_uppercase()), normalized(&text));
            prop_assert_eq!(normalized(&format!(" ({text})\n")), normalized(&text));
        }
    }
}
