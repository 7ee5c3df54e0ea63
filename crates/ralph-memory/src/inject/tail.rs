//! The end of a growing text, whose latest part matters most.

use ralph_model::Budget;

/// The end of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// The whole text, or its end after a line that says so.
    pub text: String,
    /// The number of characters left out.
    pub left_out: usize,
}

/// The end of a text within a budget, starting with a whole line. Only a last line that is too long by itself is cut,
/// between characters. If nothing fits beside the note, the text is empty.
#[must_use]
pub fn tail(text: &str, budget: Budget) -> Tail {
    marked_tail(text, "", budget)
}

/// The same as a block quote.
pub(super) fn quoted_tail(text: &str, budget: Budget) -> String {
    marked_tail(text, "> ", budget).text
}

fn marked_tail(text: &str, mark: &str, mut budget: Budget) -> Tail {
    let total = text.chars().count();
    let whole: String = text.split_inclusive('\n').map(|line| marked(mark, line)).collect();
    if budget.take(whole.chars().count()) {
        return Tail {
            text: whole,
            left_out: 0,
        };
    }
    if !budget.take(note(total).len()) {
        return Tail {
            text: String::new(),
            left_out: total,
        };
    }
    let mut kept: Vec<String> = Vec::new();
    let mut left_out = total;
    for line in text.split_inclusive('\n').rev() {
        let whole = marked(mark, line);
        if budget.take(whole.chars().count()) {
            left_out -= line.chars().count();
            kept.push(whole);
            continue;
        }
        if kept.is_empty() && budget.take(mark.len()) {
            let end = end_of_line(line, &mut budget);
            if !end.trim().is_empty() {
                left_out -= end.chars().count();
                kept.push(marked(mark, end));
            }
        }
        break;
    }
    if kept.is_empty() {
        return Tail {
            text: String::new(),
            left_out: total,
        };
    }
    kept.reverse();
    let kept = kept.concat();
    Tail {
        text: format!("{}{kept}", note(left_out)),
        left_out,
    }
}

/// A line with a mark; a blank line gets the mark without its space.
fn marked(mark: &str, line: &str) -> String {
    match line {
        "\n" => format!("{}\n", mark.trim_end()),
        line => format!("{mark}{line}"),
    }
}

/// As many characters from the end of a line as fit.
fn end_of_line<'a>(line: &'a str, budget: &mut Budget) -> &'a str {
    let fitting = line.char_indices().rev().take_while(|_| budget.take(1)).last();
    fitting.and_then(|(start, _)| line.get(start..)).unwrap_or_default()
}

fn note(left_out: usize) -> String {
    format!("<!-- earlier content truncated ({left_out} characters) -->\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ralph_model::Tokens;

    use super::*;

    #[track_caller]
    fn check(text: &str, tokens: u32, expected: &str) {
        assert_eq!(
            tail(text, Budget::of(Tokens(tokens))).text,
            expected,
            "{text:?} in {tokens}"
        );
    }

    #[test]
    fn end_is_kept_by_whole_lines() {
        check("", 1, "");
        check("all of it\n", 0, "all of it\n");
        check("fits", 1, "fits");
        let long = "first line\n".repeat(20) + "the last\n";
        check(&long, 14, "<!-- earlier content truncated (225 characters) -->\nast\n");
        check(
            &long,
            16,
            "<!-- earlier content truncated (220 characters) -->\nthe last\n",
        );
        check(
            &long,
            18,
            "<!-- earlier content truncated (209 characters) -->\nfirst line\nthe last\n",
        );
        check(&long, 12, "");
    }

    #[test]
    fn fault_3_long_last_line_is_cut_between_characters() {
        check(
            &"日本語".repeat(100),
            15,
            "<!-- earlier content truncated (292 characters) -->\n本語日本語日本語",
        );
    }

    proptest! {
        #[test]
        fn fault_3_tail_fits_and_is_the_end(text in "(\\PC|\n){0,300}", tokens in 0u32..60) {
            let shown = tail(&text, Budget::of(Tokens(tokens)));
            let most = if tokens == 0 { usize::MAX } else { tokens as usize * 4 };
            prop_assert!(shown.text.chars().count() <= most);
            let kept = match shown.text.strip_prefix(note(shown.left_out).as_str()) {
                Some(kept) => kept,
                None => shown.text.as_str(),
            };
            prop_assert!(text.ends_with(kept), "{kept:?}");
            prop_assert_eq!(kept.chars().count() + shown.left_out, text.chars().count());
        }
    }
}
