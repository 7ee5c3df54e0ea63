//! Splits one of the three files of a merge into pieces: lines of prose, section headings, and whole entries.

use std::collections::{HashMap, HashSet};

use ralph_model::{Note, NoteFileKind, NoteKind};

use crate::lines::{BOM, Fences, Line, conflict_marker, heading, is_blank, is_part_of_entry, lines_in};
use crate::{Document, Entry, Span};

#[derive(Debug)]
pub(super) struct Side<'a> {
    pub(super) document: Document<'a>,
    pub(super) has_bom: bool,
    /// The whole file except its byte order mark, in order.
    pub(super) pieces: Vec<Piece<'a>>,
    /// The entries by id, except ids that occur more than once in any of the three files.
    pub(super) units: HashMap<&'a str, Unit<'a>>,
    /// The ids of `units` in file order.
    pub(super) order: Vec<&'a str>,
}

/// A part of a file that is merged as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A line of prose. An entry with a duplicate id counts as prose, because the id does not identify it.
    Line(&'a [u8]),
    /// The heading of a known section, with the blank lines before it.
    Section { kind: NoteKind, bytes: &'a [u8] },
    /// An entry, with the blank lines before it.
    Entry { id: &'a str, lead: &'a [u8] },
}

impl<'a> Piece<'a> {
    /// The comparison key: ignores line breaks and the content of entries.
    pub(super) fn key(self) -> PieceKey<'a> {
        match self {
            Self::Line(bytes) => {
                let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                PieceKey::Line(text.strip_suffix(b"\r").unwrap_or(text))
            }
            Self::Section { kind, .. } => PieceKey::Section(kind),
            Self::Entry { id, .. } => PieceKey::Entry(id),
        }
    }

    /// The bytes of the piece; for an entry, only the blank lines before it.
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Line(bytes) | Self::Section { bytes, .. } => bytes,
            Self::Entry { lead, .. } => lead,
        }
    }

    pub(super) fn is_entry(self) -> bool {
        matches!(self, Self::Entry { .. })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PieceKey<'a> {
    Line(&'a [u8]),
    Section(NoteKind),
    Entry(&'a str),
}

/// An entry with its trailing parts: from its heading to the last quote or comment line before the next heading.
#[derive(Debug, Clone)]
pub(super) struct Unit<'a> {
    pub(super) note: Note,
    pub(super) body: &'a [u8],
    /// Whether the unit consists only of the note's lines, and all of them are readable.
    pub(super) plain: bool,
}

impl Unit<'_> {
    /// Whether two versions of an entry are equal.
    pub(super) fn same(&self, other: &Self) -> bool {
        if self.plain && other.plain {
            self.note == other.note
        } else {
            self.note.kind == other.note.kind && plain_breaks(self.body) == plain_breaks(other.body)
        }
    }
}

/// The bytes with LF line breaks, including a final one.
pub(super) fn plain_breaks(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len() + 1);
    for line in lines_in(bytes, Span::new(0, bytes.len())) {
        plain.extend(line.text.of(bytes));
        plain.push(b'\n');
    }
    plain
}

/// The ids that occur more than once in a file.
pub(super) fn repeated_ids<'a>(document: &Document<'a>) -> HashSet<&'a str> {
    let mut seen = HashSet::new();
    document
        .entries()
        .iter()
        .map(|entry| document.id(entry))
        .filter(|id| !seen.insert(*id))
        .collect()
}

impl<'a> Side<'a> {
    /// Splits a file into pieces; `repeated` are the ids that do not identify an entry.
    pub(super) fn new(document: Document<'a>, repeated: &HashSet<&str>) -> Self {
        let has_bom = document.bytes().starts_with(BOM);
        let cutter = Cutter {
            bytes: document.bytes(),
            file_kind: document.file_kind(),
            fences: Fences::default(),
            fences_ahead: Fences::default(),
            blank_from: None,
            pieces: Vec::new(),
        };
        let (pieces, bodies) = cutter.cut(&document, repeated);
        let mut units = HashMap::new();
        let mut order = Vec::new();
        for (entry, span) in bodies {
            if let Some(note) = document.note(entry) {
                let plain = is_plain(&document, entry, span);
                let body = document.bytes().get(span.start()..span.end()).unwrap_or_default();
                order.push(document.id(entry));
                units.insert(document.id(entry), Unit { note, body, plain });
            }
        }
        Self {
            has_bom,
            pieces,
            units,
            order,
            document,
        }
    }
}

/// Whether a span consists only of the entry's parts, and all of them are readable.
fn is_plain(document: &Document<'_>, entry: &Entry, stretch: Span) -> bool {
    let bytes = document.bytes();
    let mut parts = [entry.heading, entry.content, entry.tags, entry.extra];
    parts.sort_by_key(|part| part.start());
    let mut covered = stretch.start();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !is_blank(Span::new(covered, part.start()).of(bytes)) {
            return false;
        }
        covered = part.end();
    }
    let title = entry.heading.of(bytes).trim_ascii();
    let marked = lines_in(bytes, entry.content).any(|line| conflict_marker(line.text.of(bytes)).is_some());
    covered == stretch.end()
        && title.ends_with(document.id(entry).as_bytes())
        && !marked
        && document.comments_are_readable(entry)
}

/// The entries with the spans of their units, in file order.
type Bodies<'d> = Vec<(&'d Entry, Span)>;

struct Cutter<'a> {
    bytes: &'a [u8],
    file_kind: NoteFileKind,
    fences: Fences,
    /// Fence state for the lookahead, which revisits lines; fences must be queried in order.
    fences_ahead: Fences,
    /// The start of the blank lines before the current line.
    blank_from: Option<usize>,
    pieces: Vec<Piece<'a>>,
}

impl<'a> Cutter<'a> {
    fn cut<'d>(mut self, document: &'d Document<'a>, repeated: &HashSet<&str>) -> (Vec<Piece<'a>>, Bodies<'d>) {
        let mut bodies = Vec::new();
        let mut entries = document.entries().iter().peekable();
        let mut offset = if self.bytes.starts_with(BOM) { BOM.len() } else { 0 };
        while let Some(line) = Line::at(self.bytes, offset) {
            let text = line.text.of(self.bytes);
            let end = if let Some(entry) = entries.next_if(|entry| document.place(entry).start() == offset) {
                let (id, end) = (document.id(entry), self.end_of_unit(line));
                if repeated.contains(id) {
                    self.push_blank_lines(offset);
                    self.pieces.push(Piece::Line(self.stretch(offset, end)));
                } else {
                    let lead = self.lead(offset, offset);
                    self.pieces.push(Piece::Entry { id, lead });
                    bodies.push((entry, Span::new(offset, end)));
                }
                end
            } else if let Some(kind) = self.section(text) {
                let bytes = self.lead(offset, line.next);
                self.pieces.push(Piece::Section { kind, bytes });
                line.next
            } else if is_blank(text) {
                self.blank_from.get_or_insert(offset);
                line.next
            } else {
                self.push_blank_lines(offset);
                let end = self.fences.end_of_fence(self.bytes, line).unwrap_or(line.next);
                self.push_lines(offset, end);
                end
            };
            offset = end;
        }
        self.push_blank_lines(offset);
        (self.pieces, bodies)
    }

    /// The end of the entry under this heading, including stray quotes and comments that would otherwise attach to the
    /// preceding text.
    fn end_of_unit(&mut self, title: Line) -> usize {
        let mut end = title.next;
        let mut offset = title.next;
        while let Some(line) = Line::at(self.bytes, offset) {
            let text = line.text.of(self.bytes);
            if heading(text).is_some() {
                break;
            }
            offset = self.fences_ahead.end_of_fence(self.bytes, line).unwrap_or(line.next);
            if is_part_of_entry(text) && conflict_marker(text).is_none() {
                end = offset;
            }
        }
        end
    }

    fn section(&self, text: &[u8]) -> Option<NoteKind> {
        match heading(text)? {
            (2, name) => self.file_kind.kind_of_section(name),
            _ => None,
        }
    }

    fn stretch(&self, from: usize, to: usize) -> &'a [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// The bytes up to an offset, starting with the blank lines before the current line.
    fn lead(&mut self, line: usize, to: usize) -> &'a [u8] {
        let from = self.blank_from.take().unwrap_or(line);
        self.stretch(from, to)
    }

    fn push_blank_lines(&mut self, to: usize) {
        if let Some(from) = self.blank_from.take() {
            self.push_lines(from, to);
        }
    }

    fn push_lines(&mut self, from: usize, to: usize) {
        let bytes = self.bytes;
        let lines = lines_in(bytes, Span::new(from, to)).map(|line| Piece::Line(line.whole().of(bytes)));
        self.pieces.extend(lines);
    }
}
