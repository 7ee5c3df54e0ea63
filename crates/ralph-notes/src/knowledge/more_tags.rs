//! Adds tags to those that stand in front of a long note. People write lists in many ways, with comments in between, so
//! nothing is written anew: the new tags are put in at each place that may be the end of the list, until a parser reads
//! what is wanted. Every byte that was there stays.

use super::frontmatter::Frontmatter;
use super::yaml;

/// How many places are tried. Each is parsed, and what stands in front of a note is short.
const MOST_PLACES: usize = 200;

/// A frontmatter with more tags; none where their form leaves no place for them.
pub(super) fn with_more_tags(text: &str, added: &[String], ending: &str) -> Option<String> {
    let mut wanted = Frontmatter::parse(text).ok()?;
    wanted.tags.extend_from_slice(added);
    let from = text.find("tags")?;
    let lists = in_lists(text, from, added);
    let lines = in_lines(text, from, &Added { tags: added, ending });
    lists.into_iter().chain(lines).take(MOST_PLACES).find_map(|place| {
        let (before, after) = text.split_at_checked(place.at)?;
        let new = format!("{before}{}{after}", place.text);
        Frontmatter::parse(&new).is_ok_and(|now| now == wanted).then_some(new)
    })
}

/// A text, and where it may be put in.
struct Place {
    at: usize,
    text: String,
}

struct Added<'a> {
    tags: &'a [String],
    ending: &'a str,
}

/// Before what may be the end of a list in brackets: after its last item, or, where a comment stands between, right before
/// the bracket.
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

/// After a line that may be the last item of a list; or within a line with one text, at its end.
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

/// Where a text may end that stands on a line: there, before a comment, or before a quote.
fn ends_of_text(line: &str) -> impl Iterator<Item = usize> {
    let before_comment = line.match_indices(" #").map(|(at, _)| at);
    let quotes = line.match_indices(['"', '\'']).map(|(at, _)| at);
    let bare = std::iter::once(line.len()).chain(before_comment);
    let bare = bare.map(|at| line.get(..at).unwrap_or_default().trim_end().len());
    bare.chain(quotes)
}
