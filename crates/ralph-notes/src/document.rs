//! A notes file as a list of spans over its bytes. Parsing never fails and never changes anything: what it cannot read
//! it reports and leaves alone.

use ralph_model::{NoteId, NoteKind, Shelf};

use crate::decode::has_text;
use crate::lines::{Fences, Line, heading, is_blank};
use crate::signs::{self, SignPlace};
use crate::{Problem, ProblemKind, Span};

/// A parsed notes file.
#[derive(Debug)]
pub struct Document<'a> {
    pub(crate) shelf: Shelf,
    pub(crate) bytes: &'a [u8],
    pub(crate) sections: Vec<Section>,
    /// Where the last line that is not blank ends.
    pub(crate) text_end: usize,
    entries: Vec<Entry>,
    signs: Vec<SignPlace>,
    problems: Vec<Problem>,
}

/// One entry: where its parts stand. Parts that it does not have are empty spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is about, by its section.
    pub kind: NoteKind,
    pub(crate) second: i64,
    /// The heading line.
    pub(crate) heading: Span,
    pub(crate) id: Span,
    /// The quoted lines, from the first to the last.
    pub(crate) content: Span,
    pub(crate) tags: Span,
    pub(crate) extra: Span,
}

/// A section with a heading of its own.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) kind: Option<NoteKind>,
    /// Where the last line of it that is not blank ends.
    pub(crate) text_end: usize,
}

impl<'a> Document<'a> {
    /// Reads a file of this shelf, whatever its bytes are.
    #[must_use]
    pub fn parse(shelf: Shelf, bytes: &'a [u8]) -> Self {
        Scanner::new(shelf, bytes).scan()
    }

    /// The entries in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Where Signs stand, in the order of the file.
    pub(crate) fn sign_places(&self) -> &[SignPlace] {
        &self.signs
    }

    /// What parsing could not read, in the order of the file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The file's bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The shelf it was read as.
    #[must_use]
    pub fn shelf(&self) -> Shelf {
        self.shelf
    }

    /// The entries with this id: more than one only in a file that was damaged by hand or by a merge.
    pub fn find<'s>(&'s self, id: &str) -> impl Iterator<Item = &'s Entry> {
        self.entries
            .iter()
            .filter(move |entry| self.id_bytes(entry) == id.as_bytes())
    }

    /// The entries whose id begins with this text.
    pub fn find_prefix<'s>(&'s self, prefix: &str) -> impl Iterator<Item = &'s Entry> {
        self.entries
            .iter()
            .filter(move |entry| self.id_bytes(entry).starts_with(prefix.as_bytes()))
    }

    /// Whether a text stands anywhere in the file, also where nothing is read.
    #[must_use]
    pub fn mentions(&self, text: &str) -> bool {
        memchr::memmem::find(self.bytes, text.as_bytes()).is_some()
    }

    /// The number of the line, from 1, on which a span begins.
    #[must_use]
    pub fn line_number(&self, at: Span) -> usize {
        self.line_numbers([at]).next().unwrap_or(1)
    }

    /// The numbers of the lines, from 1, on which spans begin that are in the order of the file.
    pub fn line_numbers(&self, spans: impl IntoIterator<Item = Span>) -> impl Iterator<Item = usize> {
        let mut line = 1;
        let mut counted = 0;
        spans.into_iter().map(move |at| {
            let between = self.bytes.get(counted..at.start()).unwrap_or_default();
            line += memchr::memchr_iter(b'\n', between).count();
            counted = counted.max(at.start());
            line
        })
    }

    /// Where an entry's heading stands.
    #[must_use]
    pub fn place(&self, entry: &Entry) -> Span {
        entry.heading
    }

    pub(crate) fn id_bytes(&self, entry: &Entry) -> &'a [u8] {
        self.bytes.get(entry.id.start()..entry.id.end()).unwrap_or_default()
    }
}

/// Which section the scanner is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before any section: entries are patterns.
    Top,
    Known(NoteKind),
    /// In a section that is none of ours; the problem that counts its entries.
    Unknown {
        problem: usize,
    },
}

/// How far the block under the scanner has come. Later parts are never taken for earlier ones, so that stray text after
/// an entry cannot leak into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Heading,
    Quote,
    /// Prose followed: later quotes are not the entry's.
    Prose,
    /// A comment line of ours was seen: the text is complete.
    Tagged,
}

#[derive(Debug)]
struct Block {
    entry: Entry,
    valid_id: bool,
    phase: Phase,
}

struct Scanner<'a> {
    document: Document<'a>,
    place: Place,
    block: Option<Block>,
    fences: Fences,
    whole_file_is_utf8: bool,
    inside_orphan: bool,
    open_section: Option<usize>,
}

impl<'a> Scanner<'a> {
    fn new(shelf: Shelf, bytes: &'a [u8]) -> Self {
        Self {
            document: Document {
                shelf,
                bytes,
                sections: Vec::new(),
                text_end: 0,
                // An entry takes some 250 bytes; a guess that is too low only costs a copy.
                entries: Vec::with_capacity(bytes.len() / 256),
                signs: Vec::new(),
                problems: Vec::new(),
            },
            place: Place::Top,
            block: None,
            fences: Fences::default(),
            whole_file_is_utf8: std::str::from_utf8(bytes).is_ok(),
            inside_orphan: false,
            open_section: None,
        }
    }

    fn scan(mut self) -> Document<'a> {
        let bytes = self.document.bytes;
        let mut offset = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        self.document.text_end = offset;
        while let Some(line) = Line::at(bytes, offset) {
            offset = self.line(line);
        }
        self.close_section();
        // A person's own section is nobody's business, unless entries got lost in it.
        self.document
            .problems
            .retain(|problem| !matches!(problem.kind, ProblemKind::UnknownSection { entries: 0, .. }));
        self.document
    }

    /// Takes one line, or a whole fence, and says where to go on.
    fn line(&mut self, line: Line) -> usize {
        let text = line.text.of(self.document.bytes);
        let mut next = line.next;
        let was_orphan = std::mem::take(&mut self.inside_orphan);
        match text.first() {
            Some(b'#') if self.heading(line, text) => return self.document.text_end,
            Some(b'>') => self.quote(line, was_orphan),
            Some(b'<') if text.starts_with(b"<!-- tags:") => self.tags(line),
            Some(b'<') if text.starts_with(b"<!-- ralph:") => self.extra(line),
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

    /// Takes a heading, if the line is one.
    fn heading(&mut self, line: Line, text: &[u8]) -> bool {
        let Some((level, words)) = heading(text) else {
            return false;
        };
        let mut end = line.next;
        match level {
            3 if self.document.shelf == Shelf::Guardrails && signs::is_sign(words) => end = self.sign(line),
            3 => self.entry_heading(line, words),
            2 => self.section_heading(line, words),
            _ => self.close_section(),
        }
        self.document.text_end = end;
        true
    }

    /// Takes a whole Sign, and says where it ends. It is read in any section.
    fn sign(&mut self, line: Line) -> usize {
        self.close_block();
        let bytes = self.document.bytes;
        let end = signs::end_of_sign(bytes, line, &mut self.fences);
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
        let kind = self.document.shelf.kind_of_section(name);
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
        let prefixes = self.document.shelf.id_prefixes();
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
        self.block = Some(Block {
            entry: Entry {
                kind: NoteKind::Pattern,
                second: second.unwrap_or_default(),
                heading: line.whole(),
                id: Span::new(start, start + id.len()),
                content: Span::default(),
                tags: Span::default(),
                extra: Span::default(),
            },
            valid_id: second.is_some(),
            phase: Phase::Heading,
        });
    }

    fn quote(&mut self, line: Line, was_orphan: bool) {
        if let Some(Block { entry, phase, .. }) = &mut self.block {
            match phase {
                Phase::Heading => {
                    entry.content = line.whole();
                    *phase = Phase::Quote;
                    return;
                }
                Phase::Quote => {
                    entry.content = entry.content.to(line.whole());
                    return;
                }
                Phase::Prose | Phase::Tagged => {}
            }
        }
        if !was_orphan {
            self.problem(line.text, ProblemKind::OrphanedQuote);
        }
        self.inside_orphan = true;
    }

    fn tags(&mut self, line: Line) {
        if let Some(block) = &mut self.block
            && block.entry.tags.is_empty()
        {
            block.entry.tags = line.whole();
            block.phase = Phase::Tagged;
        }
    }

    fn extra(&mut self, line: Line) {
        if let Some(block) = &mut self.block
            && block.entry.extra.is_empty()
        {
            block.entry.extra = line.whole();
            if block.phase == Phase::Quote {
                block.phase = Phase::Tagged;
            }
        }
    }

    fn prose(&mut self) {
        if let Some(block) = &mut self.block
            && matches!(block.phase, Phase::Heading | Phase::Quote)
        {
            block.phase = Phase::Prose;
        }
    }

    /// Ends the text of the section under way, so that new entries go before what follows. A title does that too, but
    /// entries below it still count for the section, as they always did.
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
