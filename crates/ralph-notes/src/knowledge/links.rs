//! Links between knowledge entries: `[[Title]]` in a text links to the entry with that title.

use std::collections::{HashMap, HashSet};

use super::title_key;
use crate::Fences;

const OPENS: &str = "[[";
const CLOSES: &str = "]]";
/// Separates the title from the displayed text.
const SEPARATOR: char = '|';

/// The titles that a text links to, in order and without duplicates; ignores case.
///
/// Ignores code blocks, inline code, and links that are not closed on the same line.
#[must_use]
pub fn links_in(body: &str) -> Vec<String> {
    let mut links = Links::default();
    let mut fences = Fences::in_lists();
    let mut start = 0;
    while let Some(rest) = body.get(start..).filter(|rest| !rest.is_empty()) {
        if let Some(after) = fences.after_fence(body, start).filter(|after| *after > start) {
            start = after;
            continue;
        }
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        links.read_line(line);
        start += line.len();
    }
    links.titles
}

#[derive(Default)]
struct Links {
    titles: Vec<String>,
    met: HashSet<String>,
}

impl Links {
    fn read_line(&mut self, line: &str) {
        if !line.contains(OPENS) {
            return;
        }
        let code = code_ends(line);
        let mut at = 0;
        while let Some(found) = line.get(at..).and_then(|rest| rest.find(['`', '['])) {
            at += found;
            let rest = line.get(at..).unwrap_or_default();
            if rest.starts_with('`') {
                // An unclosed run of backticks is plain text.
                let row = rest.len() - rest.trim_start_matches('`').len();
                at = code.get(&at).copied().unwrap_or(at + row);
            } else if let Some(inside) = rest.strip_prefix(OPENS) {
                let Some(end) = inside.find(CLOSES) else {
                    return;
                };
                let end = end + usize::from(closes_a_bracket(inside, end));
                self.take(line, at, inside.get(..end).unwrap_or_default());
                at += OPENS.len() + end + CLOSES.len();
            } else {
                at += 1;
            }
        }
    }

    /// Records the link found at an offset; of nested brackets, the innermost pair counts.
    fn take(&mut self, line: &str, at: usize, inside: &str) {
        let inner = inside.rfind(OPENS).map(|mark| mark + OPENS.len());
        let opened_at = inner.map_or(at, |inner| at + inner);
        if line.get(..opened_at).is_some_and(|before| before.ends_with('\\')) {
            return;
        }
        let inside = inside.get(inner.unwrap_or_default()..).unwrap_or_default();
        let title = inside.split(SEPARATOR).next().unwrap_or_default().trim();
        // A third opening bracket is stray.
        let title = match title.strip_prefix('[') {
            Some(rest) if !title.contains(']') => rest.trim_start(),
            _ => title,
        };
        if !title.is_empty() && self.met.insert(title_key(title)) {
            self.titles.push(title.to_owned());
        }
    }
}

/// Whether the first `]` at the end of a link belongs to its title, as in `[[list[0]]]`.
fn closes_a_bracket(inside: &str, end: usize) -> bool {
    let title = inside.get(..end).unwrap_or_default();
    let title = title.rsplit(OPENS).next().unwrap_or_default();
    let open = title.matches('[').count() > title.matches(']').count();
    open && !title.starts_with('[') && inside.get(end..).is_some_and(|rest| rest.starts_with("]]]"))
}

/// For each run of backticks that opens inline code, the end of the code: after the next run of the same length.
fn code_ends(line: &str) -> HashMap<usize, usize> {
    let mut rows: Vec<(usize, usize)> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match rows.last_mut() {
            Some((start, length)) if *start + *length == at => *length += 1,
            _ => rows.push((at, 1)),
        }
    }
    let mut ends = HashMap::new();
    let mut later: HashMap<usize, usize> = HashMap::new();
    for (start, length) in rows.into_iter().rev() {
        if let Some(next) = later.insert(length, start) {
            ends.insert(start, next + length);
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(body: &str, expected: &[&str]) {
        assert_eq!(links_in(body), expected, "{body:?}");
    }

    #[test]
    fn links_are_ordered_and_unique() {
        check("", &[]);
        check(
            "See [[B]], [[ A  ]] and [[b]].\n[[A|the other]] [[C|]]",
            &["B", "A", "C"],
        );
        check("größer: [[Zürich 🚀]][[שלום]]", &["Zürich 🚀", "שלום"]);
        check("[[a \"b\" --- c]]", &["a \"b\" --- c"]);
    }

    #[test]
    fn links_in_code_are_ignored() {
        check("```\n[[a]]\n```\n[[b]]\n- item\n    ~~~\n    [[c]]\n    ~~~\n", &["b"]);
        check("`[[a]]` [[b]] ``[[c]] ` [[d]]`` [[e]]", &["b", "e"]);
        check("```\n[[never closed]]\n", &["never closed"]);
        check("a ` stray [[a]]", &["a"]);
        check("[[Use `cargo bench`]]", &["Use `cargo bench`"]);
    }

    #[test]
    fn incomplete_links_are_ignored() {
        for text in [
            "[[a", "[[a\nb]]", "[[]]", "[[ ]]", "[[|a]]", "[a]", "a]]", "\\[[a]]", "[[a]\n]",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn nested_brackets() {
        check("[[a [[b]] c]]", &["b"]);
        check("[[[a]]]", &["a"]);
        check("[[list[0]]] and [[b]]", &["list[0]", "b"]);
        check("[[[[[[[[a]]]]]]]] [[b]]", &["a", "b"]);
    }

    /// A quadratic search for closing brackets would run for minutes here.
    #[test]
    fn many_brackets_parse_in_linear_time() {
        check(&"[[".repeat(1 << 20), &[]);
        let rows: String = (1..2_000).map(|length| format!("{} ", "`".repeat(length))).collect();
        check(&format!("{rows}[[a]]"), &["a"]);
        assert_eq!(links_in(&"[[a]]".repeat(1 << 18)), ["a"]);
        check(&"[[a".repeat(1 << 18), &[]);
    }

    proptest! {
        #[test]
        fn any_text_parses(body in "[\\[\\]|`a ß🚀\n~\\\\-]{0,60}") {
            for title in links_in(&body) {
                prop_assert!(!title.trim().is_empty() && !title.contains('\n') && body.contains(&title));
            }
        }
    }
}
