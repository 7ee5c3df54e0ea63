//! Finds the entries, Signs, and sections of a notes file in one pass over its lines. It accepts any text.

use ralph_model::{NoteFileKind, NoteId, NoteKind};

use crate::block::{Block, Half, Taken};
use crate::decode::has_text;
use crate::document::Section;
use crate::lines::{BOM, EXTRA, Fences, Line, Marker, TAGS, conflict_marker, heading, is_blank};
use crate::signs::{self, SignPlace};
use crate::{Document, Entry, Problem, ProblemKind, Span};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first section; entries here are patterns.
    Top,
    Known(NoteKind),
    /// An unknown section, with the index of the problem that counts its entries.
    Unknown {
        problem: usize,
    },
}

pub(crate) struct Scanner<'a> {
    document: Document<'a>,
    place: Place,
    block: Option<Block>,
    fences: Fences,
    whole_file_is_utf8: bool,
    inside_orphan: bool,
    /// The side of a merge conflict that the scanner is in.
    conflict: Option<Half>,
    open_section: Option<usize>,
    /// The offset where the last comment ends.
    comment_end: usize,
}

const COMMENT: &[u8] = b"<!--";
const COMMENT_END: &[u8] = b"-->";

impl<'a> Scanner<'a> {
    pub(crate) fn new(file_kind: NoteFileKind, bytes: &'a [u8]) -> Self {
        Self {
            document: Document {
                file_kind,
                bytes,
                sections: Vec::new(),
                text_end: 0,
                // Entries take about 250 bytes; a low estimate only costs a reallocation.
                entries: Vec::with_capacity(bytes.len() / 256),
                signs: Vec::new(),
                problems: Vec::new(),
            },
            place: Place::Top,
            block: None,
            fences: Fences::default(),
            whole_file_is_utf8: std::str::from_utf8(bytes).is_ok(),
            inside_orphan: false,
            conflict: None,
            open_section: None,
            comment_end: 0,
        }
    }

    pub(crate) fn scan(mut self) -> Document<'a> {
        let bytes = self.document.bytes;
        let mut offset = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        self.document.text_end = offset;
        while let Some(line) = Line::at(bytes, offset) {
            offset = self.line(line);
        }
        self.close_section();
        // A user's own section is not a problem unless it contains entries.
        self.document
            .problems
            .retain(|problem| !matches!(problem.kind, ProblemKind::UnknownSection { entries: 0, .. }));
        self.document
    }

    /// Consumes a line or a whole fence; returns the offset to continue at.
    fn line(&mut self, line: Line) -> usize {
        let text = line.text.of(self.document.bytes);
        let mut next = line.next;
        let was_orphan = std::mem::take(&mut self.inside_orphan);
        if let Some(marker) = conflict_marker(text)
            && self.marker(line, marker)
        {
            self.document.text_end = next;
            return next;
        }
        match text.first() {
            Some(b'#') if self.heading(line, text) => return self.document.text_end,
            Some(b'>') => self.quote(line, was_orphan),
            Some(b'<') if text.starts_with(TAGS) => self.tags(line),
            Some(b'<') if text.starts_with(EXTRA) => self.extra(line),
            Some(b'<') if text.starts_with(COMMENT) => {
                self.comment(line);
                self.prose();
            }
            Some(b' ' | b'`' | b'~') => match self.fences.end_of_fence(self.document.bytes, line) {
                Some(end) => {
                    next = end;
                    self.prose();
                }
                None if is_blank(text) => return next,
                None => self.prose(),
            },
            _ if is_blank(text) => return next,
            _ => self.prose(),
        }
        self.document.text_end = next;
        next
    }

    /// Consumes a conflict marker, if the line is one. Markers are never part of a text.
    fn marker(&mut self, line: Line, marker: Marker) -> bool {
        let was_open = self.conflict.is_some();
        if marker == Marker::EndOfOurs && !was_open {
            return false;
        }
        self.conflict = match marker {
            Marker::Ours => Some(Half::Ours),
            Marker::EndOfOurs => Some(Half::Theirs),
            Marker::EndOfTheirs => None,
        };
        if marker == Marker::Ours || !was_open {
            self.problem(line.text, ProblemKind::ConflictMarkers);
        }
        if let Some(block) = &mut self.block {
            block.marker(marker);
        }
        true
    }

    /// Consumes a heading, if the line is one.
    fn heading(&mut self, line: Line, text: &[u8]) -> bool {
        let Some((level, words)) = heading(text) else {
            return false;
        };
        let mut end = line.next;
        let is_sign = level == 3 && self.document.file_kind == NoteFileKind::Guardrails && signs::is_sign(words);
        if is_sign && line.text.start() < self.comment_end {
            return false;
        }
        match level {
            3 if is_sign => end = self.sign(line),
            3 => self.entry_heading(line, words),
            2 => self.section_heading(line, words),
            _ => self.close_section(),
        }
        self.document.text_end = end;
        true
    }

    /// Records where a comment of several lines ends. A Sign inside it is an example.
    fn comment(&mut self, line: Line) {
        let start = line.text.start();
        let rest = self.document.bytes.get(start..).unwrap_or_default();
        let end = rest.windows(COMMENT_END.len()).position(|window| window == COMMENT_END);
        self.comment_end = end.map_or(self.comment_end, |end| start + end);
    }

    /// Consumes a whole Sign, in any section; returns the offset where it ends.
    fn sign(&mut self, line: Line) -> usize {
        self.close_block();
        let bytes = self.document.bytes;
        let end = signs::end_of_sign(bytes, line, &mut self.fences, self.conflict);
        let section = match self.place {
            Place::Known(kind) => Some(kind),
            Place::Top | Place::Unknown { .. } => None,
        };
        let place = SignPlace {
            heading: line.whole(),
            block: Span::new(line.text.start(), end),
            section,
        };
        let sign = signs::read(bytes, place);
        if !self.whole_file_is_utf8 && std::str::from_utf8(place.block.of(bytes)).is_err() {
            self.problem(place.heading, ProblemKind::NotUtf8 { id: sign.id });
        } else if !sign.text().is_empty() {
            self.document.signs.push(place);
        }
        end
    }

    fn section_heading(&mut self, line: Line, name: &[u8]) {
        self.close_section();
        let kind = self.document.file_kind.kind_of_section(name);
        self.place = match kind {
            Some(kind) => Place::Known(kind),
            None => {
                let heading = String::from_utf8_lossy(name).into_owned();
                self.problem(line.text, ProblemKind::UnknownSection { heading, entries: 0 });
                Place::Unknown {
                    problem: self.document.problems.len() - 1,
                }
            }
        };
        self.open_section = Some(self.document.sections.len());
        self.document.sections.push(Section {
            kind,
            text_end: line.next,
        });
    }

    fn entry_heading(&mut self, line: Line, words: &[u8]) {
        self.close_block();
        let prefixes = self.document.file_kind.id_prefixes();
        let id = words.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let meant_as_id = prefixes.iter().any(|prefix| {
            id.strip_prefix(prefix.as_bytes())
                .is_some_and(|rest| rest.starts_with(b"-"))
        });
        if !meant_as_id {
            return;
        }
        let second = NoteId::second_of(id, prefixes);
        let text = line.text.of(self.document.bytes);
        let indent = text.iter().skip(3).take_while(|b| b.is_ascii_whitespace()).count();
        let start = line.text.start() + 3 + indent;
        let entry = Entry {
            kind: NoteKind::Pattern,
            second: second.unwrap_or_default(),
            heading: line.whole(),
            id: Span::new(start, start + id.len()),
            content: Span::default(),
            tags: Span::default(),
            extra: Span::default(),
        };
        self.block = Some(Block::new(entry, second.is_some(), self.conflict));
    }

    fn quote(&mut self, line: Line, was_orphan: bool) {
        if self.block.as_mut().map(|block| block.quote(line)) == Some(Taken::Yes) {
            return;
        }
        if !was_orphan {
            self.problem(line.text, ProblemKind::OrphanedQuote);
        }
        self.inside_orphan = true;
    }

    fn tags(&mut self, line: Line) {
        if self.block.as_mut().map(|block| block.tags(line)) == Some(Taken::No) {
            self.second_comment(line, "tags");
        }
    }

    fn extra(&mut self, line: Line) {
        if self.block.as_mut().map(|block| block.extra(line)) == Some(Taken::No) {
            self.second_comment(line, "ralph:");
        }
    }

    fn second_comment(&mut self, line: Line, word: &'static str) {
        if let Some(block) = &self.block {
            let id = String::from_utf8_lossy(block.entry.id.of(self.document.bytes)).into_owned();
            self.problem(line.text, ProblemKind::SecondComment { id, word });
        }
    }

    fn prose(&mut self) {
        if let Some(block) = &mut self.block {
            block.prose();
        }
    }

    /// Ends the text of the current section, so that new entries are inserted before what follows. A title ends it too,
    /// but entries below the title still belong to the section.
    fn close_section(&mut self) {
        self.close_block();
        let end = self.document.text_end;
        if let Some(section) = self
            .open_section
            .take()
            .and_then(|open| self.document.sections.get_mut(open))
        {
            section.text_end = end;
        }
    }

    fn close_block(&mut self) {
        let Some(Block {
            mut entry, valid_id, ..
        }) = self.block.take()
        else {
            return;
        };
        let bytes = self.document.bytes;
        let id = || String::from_utf8_lossy(entry.id.of(bytes)).into_owned();
        if let Place::Unknown { problem } = self.place {
            if let Some(ProblemKind::UnknownSection { entries, .. }) =
                self.document.problems.get_mut(problem).map(|problem| &mut problem.kind)
            {
                *entries += 1;
            }
            return;
        }
        if !valid_id {
            let heading = id();
            self.problem(entry.heading, ProblemKind::BadId { heading });
        } else if !has_text(bytes, entry.content) {
            let id = id();
            self.problem(entry.heading, ProblemKind::NoText { id });
        } else if !self.whole_file_is_utf8 && std::str::from_utf8(entry.content.of(bytes)).is_err() {
            let id = id();
            self.problem(entry.heading, ProblemKind::NotUtf8 { id });
        } else {
            entry.kind = match self.place {
                Place::Known(kind) => kind,
                Place::Top | Place::Unknown { .. } => NoteKind::Pattern,
            };
            self.document.entries.push(entry);
        }
    }

    fn problem(&mut self, at: Span, kind: ProblemKind) {
        self.document.problems.push(Problem { at, kind });
    }
}
