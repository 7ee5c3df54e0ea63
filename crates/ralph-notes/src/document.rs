//! A notes file as a list of spans over its bytes. Parsing never fails and never changes anything: what it cannot read
//! it reports and leaves alone.

use ralph_model::{NoteKind, Shelf};

use crate::scanner::Scanner;
use crate::signs::SignPlace;
use crate::{Problem, Span};

/// A parsed notes file.
#[derive(Debug)]
pub struct Document<'a> {
    pub(crate) shelf: Shelf,
    pub(crate) bytes: &'a [u8],
    pub(crate) sections: Vec<Section>,
    /// Where the last line that is not blank ends.
    pub(crate) text_end: usize,
    pub(crate) entries: Vec<Entry>,
    pub(crate) signs: Vec<SignPlace>,
    pub(crate) problems: Vec<Problem>,
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

    /// The stretches of the file between the parts of entries.
    pub(crate) fn unread(&self) -> Vec<&'a [u8]> {
        let mut stretches = Vec::with_capacity(self.entries.len() + 1);
        let mut read_to = 0;
        for entry in &self.entries {
            let mut parts = [entry.heading, entry.content, entry.tags, entry.extra];
            parts.sort_unstable_by_key(|part| part.start());
            for part in parts.into_iter().filter(|part| !part.is_empty()) {
                stretches.push(Span::new(read_to, part.start()).of(self.bytes));
                read_to = part.end();
            }
        }
        stretches.push(Span::new(read_to, self.bytes.len()).of(self.bytes));
        stretches
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
