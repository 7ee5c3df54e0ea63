//! A notes file as a list of spans over its bytes. Parsing never fails and never changes the bytes; what it cannot
//! read, it reports as a problem.

use ralph_model::{NoteFileKind, NoteKind};

use crate::scanner::Scanner;
use crate::signs::SignPlace;
use crate::{Problem, Span};

#[derive(Debug)]
pub struct Document<'a> {
    pub(crate) file_kind: NoteFileKind,
    pub(crate) bytes: &'a [u8],
    pub(crate) sections: Vec<Section>,
    /// The end of the last line that is not blank.
    pub(crate) text_end: usize,
    pub(crate) entries: Vec<Entry>,
    pub(crate) signs: Vec<SignPlace>,
    pub(crate) problems: Vec<Problem>,
}

/// The spans of one entry. Missing parts are empty spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The kind of the section that the entry is in.
    pub kind: NoteKind,
    pub(crate) second: i64,
    pub(crate) heading: Span,
    pub(crate) id: Span,
    /// The quoted lines, first to last.
    pub(crate) content: Span,
    pub(crate) tags: Span,
    pub(crate) extra: Span,
}

/// A `##` section.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) kind: Option<NoteKind>,
    /// The end of its last line that is not blank.
    pub(crate) text_end: usize,
}

impl<'a> Document<'a> {
    #[must_use]
    pub fn parse(file_kind: NoteFileKind, bytes: &'a [u8]) -> Self {
        Scanner::new(file_kind, bytes).scan()
    }

    /// The entries in file order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The positions of Signs in file order.
    pub(crate) fn sign_places(&self) -> &[SignPlace] {
        &self.signs
    }

    /// The problems found while parsing, in file order.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    #[must_use]
    pub fn file_kind(&self) -> NoteFileKind {
        self.file_kind
    }

    /// The entries with this id. A file damaged by hand or by a merge may have more than one.
    pub fn find<'s>(&'s self, id: &str) -> impl Iterator<Item = &'s Entry> {
        self.entries
            .iter()
            .filter(move |entry| self.id_bytes(entry) == id.as_bytes())
    }

    /// The entries whose id starts with this prefix.
    pub fn find_prefix<'s>(&'s self, prefix: &str) -> impl Iterator<Item = &'s Entry> {
        self.entries
            .iter()
            .filter(move |entry| self.id_bytes(entry).starts_with(prefix.as_bytes()))
    }

    /// Whether the text occurs anywhere in the file, including parts that are not parsed.
    #[must_use]
    pub fn mentions(&self, text: &str) -> bool {
        memchr::memmem::find(self.bytes, text.as_bytes()).is_some()
    }

    /// The byte ranges between the parts of entries.
    pub(crate) fn outside_entries(&self) -> Vec<&'a [u8]> {
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

    /// The line number, from 1, where a span starts.
    #[must_use]
    pub fn line_number(&self, at: Span) -> usize {
        self.line_numbers([at]).next().unwrap_or(1)
    }

    /// The line numbers, from 1, where spans start. The spans must be in file order.
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

    /// The span of the entry's heading.
    #[must_use]
    pub fn place(&self, entry: &Entry) -> Span {
        entry.heading
    }

    pub(crate) fn id_bytes(&self, entry: &Entry) -> &'a [u8] {
        self.bytes.get(entry.id.start()..entry.id.end()).unwrap_or_default()
    }
}
