//! Renders notes as the lines of a file.

use std::borrow::Cow;

use jiff::civil::Date;
use ralph_model::{Extra, Note, NoteOrSign, Tags};

/// The lines of a note, with LF line breaks.
#[must_use]
pub fn entry_text(note: &Note) -> String {
    let mut text = format!("### {}\n", note.id);
    text.push_str(&quoted(&note.content));
    text.push_str(&tags_line(&note.tags, note.created));
    text.push_str(&extra_line(&note.extra));
    text
}

/// The lines of a note in a prompt: like in its file, plus the author in the tags line, and its rules in plain words.
#[must_use]
pub fn entry_text_by(note: &Note, origin: &str) -> String {
    let tags = tags_line(&note.tags, note.created);
    let tags = tags.trim_end().trim_end_matches("-->");
    let mut rest = Extra::default();
    let mut rules = String::new();
    for (key, value) in note.extra.iter() {
        let value_on_a_line = value.replace(['\n', '\r', '`'], " ");
        match key {
            Extra::DENY_PATH => rules.push_str(&format!(
                "Enforced: work that changes `{value_on_a_line}` is refused.\n"
            )),
            Extra::CHECK => rules.push_str(&format!("Enforced: `{value_on_a_line}` must pass.\n")),
            _ => rest.set(key, value),
        }
    }
    format!(
        "### {}\n{}{rules}{tags}| by: {origin} -->\n{}",
        note.id,
        quoted(&note.content),
        extra_line(&rest)
    )
}

/// The lines of an item, always ending with a line break. A Sign keeps the lines of its file.
#[must_use]
pub fn item_text(item: &NoteOrSign) -> String {
    match item {
        NoteOrSign::Note(note) => entry_text(note),
        NoteOrSign::Sign { lines, .. } if lines.ends_with('\n') => lines.clone(),
        NoteOrSign::Sign { lines, .. } => format!("{lines}\n"),
    }
}

/// Converts CRLF and lone CR to LF; borrows if there is nothing to convert.
#[must_use]
pub fn normalise_line_breaks(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Prefixes every line with a quote mark. A blank line gets no trailing space, because editors trim it.
#[must_use]
pub fn quoted(content: &str) -> String {
    let mut text = String::with_capacity(content.len() + 16);
    for line in content.split('\n') {
        text.push('>');
        if !line.is_empty() {
            text.push(' ');
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

/// The tags line. Without tags it keeps two spaces after the colon, because earlier tools require them.
pub(crate) fn tags_line(tags: &Tags, created: Date) -> String {
    format!("<!-- tags: {tags} | created: {created} -->\n")
}

/// The `ralph:` line; empty if there is nothing to record.
pub(crate) fn extra_line(extra: &Extra) -> String {
    if extra.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = extra
        .iter()
        .map(|(key, value)| format!("{key}={}", percent_encode(value)))
        .collect();
    format!("<!-- ralph: {} -->\n", pairs.join("; "))
}

/// Encodes what would end the value, the comment, or the line. Letters of all languages stay readable.
fn percent_encode(value: &str) -> String {
    let last = value.len();
    let mut encoded = String::with_capacity(value.len());
    for (index, c) in value.char_indices() {
        let at_edge = index == 0 || index + c.len_utf8() == last;
        let plain = match c {
            '%' | ';' | '<' | '>' => false,
            ' ' => !at_edge,
            _ => !c.is_control() && !c.is_whitespace(),
        };
        if plain {
            encoded.push(c);
        } else {
            let mut buffer = [0; 4];
            encoded.extend(c.encode_utf8(&mut buffer).bytes().map(|byte| format!("%{byte:02X}")));
        }
    }
    encoded
}
