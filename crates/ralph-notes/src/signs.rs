//! Signs, the legacy form of guardrails without ids: a name, a trigger, and an instruction.
//!
//! ```markdown
//! ### Sign: Read Before Writing
//! - **Trigger**: Before a file is changed
//! - **Instruction**: Read it first
//! ```
//!
//! Signs are read as people write them and never changed in place; migration converts them to entries.

use std::collections::HashSet;

use ralph_model::{NoteKind, NoteOrSign, slug};

use crate::block::Half;
use crate::lines::{Fences, Line, Marker, conflict_marker, heading, is_blank, lines_in};
use crate::{Document, Span};

const ID_PREFIX: &str = "sign-";
/// The word that makes a heading a Sign.
const WORD: &[u8] = b"sign:";

/// Endings of sentences that need no full stop.
const ENDS: [char; 10] = ['.', '!', '?', ':', ';', ',', '…', '。', '！', '？'];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    /// `sign-` and the name in lower case, with a number if an earlier Sign has the same id.
    pub id: String,
    pub name: String,
    /// When it applies; may be empty.
    pub trigger: String,
    /// What to do; may be empty.
    pub instruction: String,
    /// All other items: a label, which may be empty, and a text.
    pub others: Vec<(String, String)>,
    /// The kind of its section; `None` outside of known sections.
    pub section: Option<NoteKind>,
    pub(crate) place: SignPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SignPlace {
    pub(crate) heading: Span,
    /// The heading line and all lines that belong to it.
    pub(crate) block: Span,
    pub(crate) section: Option<NoteKind>,
}

/// The format of a guardrails file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It has sections for entries, and maybe Signs.
    Structured,
    /// It has only Signs.
    Legacy,
    Empty,
}

impl Sign {
    /// The Sign in sentences: for prompts, for search, and as the text of a migrated entry.
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
    /// The Signs in file order.
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

    /// All notes and Signs of the file.
    pub fn items(&self) -> impl Iterator<Item = NoteOrSign> {
        let signs = self.signs().into_iter().map(|sign| self.item_of(sign));
        let notes = self.entries().iter().filter_map(|entry| self.note(entry));
        signs.chain(notes.map(NoteOrSign::Note))
    }

    #[must_use]
    pub fn item_of(&self, sign: Sign) -> NoteOrSign {
        NoteOrSign::Sign {
            text: sign.text(),
            lines: self.sign_lines(&sign),
            id: sign.id,
        }
    }

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

    /// The lines of a Sign as they are in the file.
    #[must_use]
    pub fn sign_lines(&self, sign: &Sign) -> String {
        String::from_utf8_lossy(sign.place.block.of(self.bytes)).into_owned()
    }
}

pub(crate) fn is_sign(words: &[u8]) -> bool {
    words
        .get(..WORD.len())
        .is_some_and(|word| word.eq_ignore_ascii_case(WORD))
}

/// The end of the Sign with this heading line: after its last bullet or the paragraph below its heading. Text after a
/// blank line belongs to the user. A conflict marker ends it too, because only the user can say which side is meant.
pub(crate) fn end_of_sign(bytes: &[u8], heading_line: Line, fences: &mut Fences, conflict: Option<Half>) -> usize {
    let mut end = heading_line.next;
    let mut offset = end;
    let mut after_blank = false;
    // A blank line may separate the paragraph from a name, but not from a heading without one.
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
            None if verbatim => append_line(&mut items, String::from_utf8_lossy(text).trim_end()),
            None => append_line(&mut items, &plain(text)),
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

fn heading_name(line: &[u8]) -> &[u8] {
    let words = heading(line).map(|(_, words)| words).unwrap_or_default();
    words.get(WORD.len()..).unwrap_or_default().trim_ascii()
}

/// Appends a line to the last item, or starts a paragraph.
fn append_line(items: &mut Vec<(String, String)>, line: &str) {
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

/// The label and text of a line that starts an item: a bullet, or a known label without one.
fn item(line: &[u8]) -> Option<(String, String)> {
    let indent = line.iter().take_while(|byte| **byte == b' ').count();
    let line = line.get(indent..)?;
    match line {
        [b'-' | b'*' | b'+', b' ' | b'\t', rest @ ..] if indent <= 1 => {
            Some(labelled(rest).unwrap_or_else(|| (String::new(), plain(rest))))
        }
        _ if indent > 3 => None,
        line => labelled(line).filter(|(label, _)| is_known_label(label)),
    }
}

fn is_known_label(label: &str) -> bool {
    ["trigger", "instruction"]
        .iter()
        .any(|part| label.eq_ignore_ascii_case(part))
}

/// The longest label in bytes; anything longer is a sentence with a colon.
const MAX_LABEL_BYTES: usize = 24;

/// Splits `**Label**: text`, `**Label:** text`, or `Label: text`.
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
            if !is_known_label(label.trim()) {
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
