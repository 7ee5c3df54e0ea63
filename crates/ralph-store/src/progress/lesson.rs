//! What is the same in every telling of a lesson: its words, and those signs that are words of code.

/// Signs of code that mean something wherever they stand: "a == b" is not "a != b", and C++ is not C.
const OPERATORS: &str = "=<>+#&|%^@$≠≤≥≈→←×÷±";
/// Signs that mean something between two words, and are decoration at their ends.
const BETWEEN_WORDS: &str = "*~";
/// What stands before a word that it changes: a negation, an option, a number below zero.
const BEFORE_WORDS: [&str; 4] = ["!", "!!", "-", "--"];
/// Signs that end or enclose something, also right beside an operator.
const ENDS: &str = ".,:;!?-/\\\"'`";
/// A row of one sign that is longer is a line across the page.
const LONGEST_OPERATOR: usize = 3;

/// The words of a lesson without case and punctuation: two that have the same are one lesson. Operators are words.
#[must_use]
pub fn lesson_of(content: &str) -> String {
    let mut words = Vec::new();
    let mut has_letters = false;
    for line in content.lines() {
        for (at, token) in tokens(line).enumerate() {
            // A heading, an item of a list, a quotation.
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

/// What stands between white space, brackets and quotation marks.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let ends = |sign: char| sign.is_whitespace() || "()[]{}`\"'“”‘’«»,;".contains(sign);
    line.split(ends).filter(|token| !token.is_empty())
}

/// A token as words and what stands between them.
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

/// The operator that signs are, if they are one. Before and behind them a word may stand, or not.
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
        assert_eq!(lesson_of(one), lesson_of(other), "{one:?} and {other:?}");
    }

    #[track_caller]
    fn different(one: &str, other: &str) {
        assert_ne!(lesson_of(one), lesson_of(other), "{one:?} and {other:?}");
    }

    #[test]
    fn case_punctuation_and_decoration_make_no_other_lesson() {
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
        assert_eq!(lesson_of("Größe ZÄHLT!"), "größe zählt");
    }

    #[test]
    fn operators_make_another_lesson() {
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
    fn an_operator_is_the_same_however_it_is_set() {
        same("Check that a == b", "check that `a==b`.");
        same("Use C++ here", "use \"C++\", here");
        same("Prefer C++", "prefer C++!");
        same("Pass --all", "pass `--all`");
    }

    #[test]
    fn signs_alone_say_nothing() {
        for text in ["", "!!!", "→", "== !=", "?!"] {
            assert_eq!(lesson_of(text), "", "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_the_same_stays_the_same(text in "([a-cA-C]|[=!<>+#*.,`\\- \n]|ä|→){0,20}") {
            prop_assert_eq!(lesson_of(&text.to_uppercase()), lesson_of(&text));
            prop_assert_eq!(lesson_of(&format!(" ({text})\n")), lesson_of(&text));
        }
    }
}
