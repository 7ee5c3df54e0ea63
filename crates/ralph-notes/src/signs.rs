//! Signs, the form that guardrails had before they had ids: a name, when it applies, and what to do then.
//!
//! ```markdown
//! ### Sign: Read Before Writing
//! - **Trigger**: Before a file is changed
//! - **Instruction**: Read it first
//! ```
//!
//! They are read as people write them, and never changed where they stand: migrating makes entries of them.

use std::collections::HashSet;

use ralph_model::{NoteKind, NoteOrSign, slug};

use crate::block::Half;
use crate::lines::{Fences, Line, Marker, conflict_marker, heading, is_blank, lines_in};
use crate::{Document, Span};

/// What the ids of Signs begin with.
const ID_PREFIX: &str = "sign-";
/// The word that makes a heading a Sign.
const WORD: &[u8] = b"sign:";

/// What a sentence ends with that needs no full stop.
const ENDS: [char; 10] = ['.', '!', '?', ':', ';', ',', '…', '。', '！', '？'];

/// A guardrail in the old form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    /// `sign-` and the name in lower case; with a number where an earlier Sign has the same.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it applies; empty where nothing says so.
    pub trigger: String,
    /// What to do then; empty where nothing says so.
    pub instruction: String,
    /// Everything else in it: a label, which may be empty, and a text.
    pub others: Vec<(String, String)>,
    /// The kind of the section it stands in; none outside of every section of ours.
    pub section: Option<NoteKind>,
    pub(crate) place: SignPlace,
}

/// Where a Sign stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SignPlace {
    /// The heading line.
    pub(crate) heading: Span,
    /// The heading line and all lines that belong to it.
    pub(crate) block: Span,
    pub(crate) section: Option<NoteKind>,
}

/// Which of the forms of guardrails a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It has sections for entries; there may be Signs too.
    Structured,
    /// It has nothing but Signs.
    Legacy,
    /// It has neither.
    Empty,
}

impl Sign {
    /// What it says, in sentences: for a prompt, for a search, and as the text of the entry that it becomes.
    #[must_use]
    pub fn text(&self) -> String {
        let rule = match (self.trigger.trim_end_matches(['.', ':']), self.instruction.as_str()) {
            ("", instruction) => instruction.to_owned(),
            (trigger, "") => trigger.to_owned(),
            (trigger, instruction) => format!("{trigger}: {instruction}"),
        };
        let others = self.others.iter().map(|(label, text)| match label.as_str() {
            "" => text.clone(),
            label => format!("{label}: {text}"),
        });
        let parts: Vec<String> = [self.name.clone(), rule].into_iter().chain(others).collect();
        let has_lines = parts.iter().any(|part| part.contains('\n'));
        let mut text = String::new();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            if !text.is_empty() {
                text.push_str(match (has_lines, text.ends_with(ENDS)) {
                    (true, _) => "\n",
                    (false, true) => " ",
                    (false, false) => ". ",
                });
            }
            text.push_str(part);
        }
        text
    }
}

impl Document<'_> {
    /// The Signs in the order of the file; none on another shelf.
    #[must_use]
    pub fn signs(&self) -> Vec<Sign> {
        let mut taken = HashSet::new();
        self.sign_places()
            .iter()
            .map(|place| {
                let mut sign = read(self.bytes, *place);
                let mut number = 1;
                let first = sign.id.clone();
                while !taken.insert(sign.id.clone()) {
                    number += 1;
                    sign.id = format!("{first}-{number}");
                }
                sign
            })
            .collect()
    }

    /// Everything that stands in the file, notes and Signs.
    pub fn items(&self) -> impl Iterator<Item = NoteOrSign> {
        let signs = self.signs().into_iter().map(|sign| self.item_of(sign));
        let notes = self.entries().iter().filter_map(|entry| self.note(entry));
        signs.chain(notes.map(NoteOrSign::Note))
    }

    /// A Sign as something that stands on the shelf.
    #[must_use]
    pub fn item_of(&self, sign: Sign) -> NoteOrSign {
        NoteOrSign::Sign {
            text: sign.text(),
            lines: self.sign_lines(&sign),
            id: sign.id,
        }
    }

    /// Which of the forms of guardrails the file has.
    #[must_use]
    pub fn form(&self) -> Form {
        if self.sections.iter().any(|section| section.kind.is_some()) || !self.entries().is_empty() {
            Form::Structured
        } else if self.sign_places().is_empty() {
            Form::Empty
        } else {
            Form::Legacy
        }
    }

    /// The lines of a Sign as they stand in the file.
    #[must_use]
    pub fn sign_lines(&self, sign: &Sign) -> String {
        String::from_utf8_lossy(sign.place.block.of(self.bytes)).into_owned()
    }
}

/// Whether the words of a heading make it a Sign.
pub(crate) fn is_sign(words: &[u8]) -> bool {
    words
        .get(..WORD.len())
        .is_some_and(|word| word.eq_ignore_ascii_case(WORD))
}

/// Where the Sign with this heading line ends: with its last bullet or the paragraph below its heading. What people
/// wrote after it, set apart by a blank line, is theirs. A marker of a conflict ends it too: which of the lines around it
/// are meant is for a person to say.
pub(crate) fn end_of_sign(bytes: &[u8], heading_line: Line, fences: &mut Fences, conflict: Option<Half>) -> usize {
    let mut end = heading_line.next;
    let mut offset = end;
    let mut after_blank = false;
    // A paragraph may stand apart from a name, but not from nothing.
    let mut has_text = heading_name(heading_line.text.of(bytes)).is_empty();
    while let Some(line) = Line::at(bytes, offset) {
        let text = line.text.of(bytes);
        offset = line.next;
        if is_blank(text) {
            after_blank = true;
            continue;
        }
        let fence = fences.end_of_fence(bytes, line);
        let indented = text.starts_with(b" ") || text.starts_with(b"\t");
        let marker = conflict_marker(text).filter(|marker| *marker != Marker::EndOfOurs || conflict.is_some());
        let ends = text.starts_with(b">") || text.starts_with(b"<!--") || heading(text).is_some() || marker.is_some();
        let opens = fence.is_none() && item(text).is_some();
        if ends || (after_blank && has_text && !opens && !indented) {
            break;
        }
        offset = fence.unwrap_or(offset);
        end = offset;
        after_blank = false;
        has_text = true;
    }
    end
}

/// Reads the Sign that stands at a place.
pub(crate) fn read(bytes: &[u8], place: SignPlace) -> Sign {
    let mut lines = lines_in(bytes, place.block);
    let head = lines.next().map(|line| line.text.of(bytes)).unwrap_or_default();
    let name = plain(heading_name(head));
    let mut sign = Sign {
        id: format!("{ID_PREFIX}{}", slug(&name)).trim_end_matches('-').to_owned(),
        name,
        trigger: String::new(),
        instruction: String::new(),
        others: Vec::new(),
        section: place.section,
        place,
    };
    let mut items: Vec<(String, String)> = Vec::new();
    let mut fences = Fences::default();
    let mut fenced_until = 0;
    for line in lines {
        let text = line.text.of(bytes);
        let inside_fence = line.text.start() < fenced_until;
        if !inside_fence && let Some(end) = fences.end_of_fence(bytes, line) {
            fenced_until = end;
        }
        let verbatim = line.text.start() < fenced_until;
        match item(text).filter(|_| !verbatim) {
            Some(item) => items.push(item),
            None if verbatim => go_on(&mut items, String::from_utf8_lossy(text).trim_end()),
            None => go_on(&mut items, &plain(text)),
        }
    }
    for (label, text) in items {
        let text = text.trim_end().to_owned();
        match label.to_lowercase().as_str() {
            "trigger" if sign.trigger.is_empty() => sign.trigger = text,
            "instruction" if sign.instruction.is_empty() => sign.instruction = text,
            _ if text.is_empty() => {}
            _ => sign.others.push((label, text)),
        }
    }
    sign
}

/// The name in the heading line of a Sign.
fn heading_name(line: &[u8]) -> &[u8] {
    let words = heading(line).map(|(_, words)| words).unwrap_or_default();
    words.get(WORD.len()..).unwrap_or_default().trim_ascii()
}

/// Adds a line to the item above it; before the first one it begins a paragraph.
fn go_on(items: &mut Vec<(String, String)>, line: &str) {
    match items.last_mut() {
        Some((_, text)) => {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(line);
        }
        None if line.is_empty() => {}
        None => items.push((String::new(), line.to_owned())),
    }
}

/// The label and the text of a line that begins an item: a bullet, or a label of a Sign without one.
fn item(line: &[u8]) -> Option<(String, String)> {
    let indent = line.iter().take_while(|byte| **byte == b' ').count();
    let line = line.get(indent..)?;
    match line {
        [b'-' | b'*' | b'+', b' ' | b'\t', rest @ ..] if indent <= 1 => {
            Some(labelled(rest).unwrap_or_else(|| (String::new(), plain(rest))))
        }
        _ if indent > 3 => None,
        line => labelled(line).filter(|(label, _)| is_part(label)),
    }
}

/// Whether a label is one of those that every Sign has.
fn is_part(label: &str) -> bool {
    ["trigger", "instruction"]
        .iter()
        .any(|part| label.eq_ignore_ascii_case(part))
}

/// The longest label, in bytes; what is longer is a sentence with a colon in it.
const MAX_LABEL_BYTES: usize = 24;

/// Splits `**Label**: text`, `**Label:** text` or `Label: text`.
fn labelled(line: &[u8]) -> Option<(String, String)> {
    let line = plain(line);
    let bold = ["**", "__"]
        .into_iter()
        .find_map(|mark| line.strip_prefix(mark).and_then(|rest| rest.split_once(mark)));
    let (label, text) = match bold {
        Some((label, text)) => match label.trim_end().strip_suffix(':') {
            Some(label) => (label, text),
            None => (label, text.trim_start().strip_prefix(':')?),
        },
        None => {
            let (label, text) = line.split_once(':')?;
            if !is_part(label.trim()) {
                return None;
            }
            (label, text)
        }
    };
    let label = label.trim();
    (!label.is_empty() && label.len() <= MAX_LABEL_BYTES).then(|| (label.to_owned(), text.trim().to_owned()))
}

fn plain(text: &[u8]) -> String {
    String::from_utf8_lossy(text).trim().to_owned()
}
