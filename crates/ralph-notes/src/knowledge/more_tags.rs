//! Adds tags to the frontmatter of a knowledge entry. People write lists in many ways, with comments in between, so the
//! list is not rewritten: the new tags are inserted at each possible end of the list, until the parser reads the
//! expected result. Every existing byte stays.

use super::frontmatter::Frontmatter;
use super::yaml;

/// Maximum number of insertion points to try; each is parsed, and frontmatter is short.
const MAX_PLACES: usize = 200;

/// Returns the frontmatter with the added tags; `None` if their form does not allow it.
pub(super) fn with_more_tags(text: &str, added: &[String], ending: &str) -> Option<String> {
    let mut wanted = Frontmatter::parse(text).ok()?;
    wanted.tags.extend_from_slice(added);
    let from = text.find("tags")?;
    let lists = in_lists(text, from, added);
    let lines = in_lines(text, from, &Added { tags: added, ending });
    lists.into_iter().chain(lines).take(MAX_PLACES).find_map(|place| {
        let (before, after) = text.split_at_checked(place.at)?;
        let new = format!("{before}{}{after}", place.text);
        Frontmatter::parse(&new).is_ok_and(|now| now == wanted).then_some(new)
    })
}

/// A candidate insertion: a text and its offset.
struct Place {
    at: usize,
    text: String,
}

struct Added<'a> {
    tags: &'a [String],
    ending: &'a str,
}

/// Candidates at the end of a bracketed list: after its last item, or before the bracket if a comment is in between.
fn in_lists(text: &str, from: usize, added: &[String]) -> Vec<Place> {
    let items: Vec<String> = added.iter().map(|tag| yaml::item(tag)).collect();
    let items = items.join(", ");
    let mut places = Vec::new();
    for (at, _) in text.match_indices(']').filter(|(at, _)| *at > from) {
        let before = text.get(..at).unwrap_or_default().trim_end();
        let joint = if before.ends_with(',') { " " } else { ", " };
        let text = format!("{joint}{items}");
        places.extend([before.len(), at].map(|at| Place { at, text: text.clone() }));
    }
    places
}

/// Candidates after a line that may be the last list item, or at the end of a one-line value.
fn in_lines(text: &str, from: usize, added: &Added<'_>) -> Vec<Place> {
    let mut places = Vec::new();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let begin = end;
        end += line.len();
        let item = line.trim_start();
        if end <= from {
            continue;
        }
        if item.starts_with('-') {
            let indent = line.strip_suffix(item).unwrap_or_default();
            let lines = added.tags.iter();
            let lines = lines.map(|tag| format!("{indent}- {}{}", yaml::item(tag), added.ending));
            let text = lines.collect();
            places.push(Place { at: end, text });
        } else {
            let text = format!(", {}", added.tags.join(", "));
            let ends = ends_of_text(line);
            places.extend(ends.map(|at| Place {
                at: begin + at,
                text: text.clone(),
            }));
        }
    }
    places
}

/// Where a value may end on a line: at the end, before a comment, or before a quote.
fn ends_of_text(line: &str) -> impl Iterator<Item = usize> {
    let before_comment = line.match_indices(" #").map(|(at, _)| at);
    let quotes = line.match_indices(['"', '\'']).map(|(at, _)| at);
    let bare = std::iter::once(line.len()).chain(before_comment);
    let bare = bare.map(|at| line.get(..at).unwrap_or_default().trim_end().len());
    bare.chain(quotes)
}
