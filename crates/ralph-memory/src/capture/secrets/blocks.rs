//! Private keys in PEM and PGP armor, from the line that begins them to the line that ends them.
//!
//! A key reaches us in many dresses: with line breaks escaped, indented, quoted, in a diff, behind line numbers, cut off
//! before its end. What makes a key is the line that begins it and base64 after it; prose about such a line is no key.

use std::sync::LazyLock;

use memchr::{memchr2, memmem};

use super::{Secret, SecretKind, run_length};

const BEGIN: &[u8] = b"-----BEGIN ";
/// Made once: most texts are short lines, and making it takes longer than looking through one.
static BEGINNINGS: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(BEGIN));
const END: &[u8] = b"-----END ";
static ENDS: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(END));
const DASHES: &[u8] = b"-----";

/// The most bytes of a title such as `ENCRYPTED PRIVATE KEY`.
const MOST_TITLE: usize = 48;

/// A run of base64 this long is part of a key even when no end line follows; words are shorter.
const LONG_RUN: usize = 16;

/// The most shorter runs in a key: its last line and the checksum of PGP.
const MOST_SHORT_RUNS: usize = 2;

/// The most header lines (`Proc-Type: 4,ENCRYPTED`) between the line that begins a key and its base64.
const MOST_HEADERS: usize = 5;

/// The most digits of a line number.
const MOST_LINE_DIGITS: usize = 6;

/// The private keys in these bytes, in order.
pub(super) fn find(bytes: &[u8]) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut free_from = 0;
    for begin in BEGINNINGS.find_iter(bytes) {
        let key = bytes
            .get(begin..)
            .filter(|_| begin >= free_from)
            .and_then(|rest| Reader::after_begin_line(rest)?.key_end());
        if let Some(length) = key {
            free_from = begin + length;
            found.push(Secret {
                range: begin..free_from,
                kind: SecretKind::PRIVATE_KEY,
            });
        }
    }
    found.extend(ends_of_keys(bytes, &found));
    found
}

/// The keys whose beginning was cut off: the lines of base64 before a line that ends a key.
fn ends_of_keys(bytes: &[u8], whole: &[Secret]) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut free_from = 0;
    for end in ENDS.find_iter(bytes) {
        let title = bytes.get(end + END.len()..).unwrap_or_default();
        let length = run_length(title, MOST_TITLE, in_title);
        let private = title.get(..length).is_some_and(is_private);
        let before = bytes.get(free_from..end).unwrap_or_default();
        let inside = whole.iter().any(|key| key.range.contains(&end));
        if private && !inside {
            let start = end - body_before(before);
            let stop =
                end + END.len() + length + run_length(title.get(length..).unwrap_or_default(), DASHES.len(), is_dash);
            if start < end {
                found.push(Secret {
                    range: start..stop,
                    kind: SecretKind::PRIVATE_KEY,
                });
            }
        }
        free_from = end + END.len();
    }
    found
}

/// The length of the body of a key at the end of these bytes: lines of base64, of which only the last may be short.
fn body_before(bytes: &[u8]) -> usize {
    let (mut start, mut is_last, mut is_long) = (bytes.len(), true, false);
    loop {
        let line_end = without_separators(bytes.get(..start).unwrap_or_default());
        let length = line_end.iter().rev().take_while(|byte| is_base64(**byte)).count();
        #[cfg(test)]
        super::tests::count_read(length);
        let (before, line) = line_end.split_at(line_end.len() - length);
        // The letter of an escaped line break does not belong to the line behind it.
        let escape =
            usize::from(before.ends_with(b"\\") && line.first().is_some_and(|first| matches!(first, b'n' | b'r')));
        let length = length - escape;
        if length == 0 || (length < LONG_RUN && !is_last) {
            break;
        }
        is_last = false;
        is_long |= length >= LONG_RUN;
        start = line_end.len() - length;
    }
    if is_long { bytes.len() - start } else { 0 }
}

/// These bytes without what is between two lines of a key, at their end.
fn without_separators(mut bytes: &[u8]) -> &[u8] {
    while let [before @ .., b'\\', b'n' | b'r'] = bytes {
        bytes = before;
    }
    while let [before @ .., last] = bytes
        && separates(*last)
    {
        bytes = before;
        while let [before @ .., b'\\', b'n' | b'r'] = bytes {
            bytes = before;
        }
    }
    bytes
}

/// Whether the title of a line that begins or ends something is that of a private key.
fn is_private(title: &[u8]) -> bool {
    title.ends_with(b"PRIVATE KEY") || title.ends_with(b"PRIVATE KEY BLOCK")
}

/// Reads a key piece by piece. It never reads past five dashes, so no two readers read the same bytes.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader of bytes that start with the line that begins a private key.
    fn after_begin_line(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(BEGIN)?;
        let title = rest.get(..run_length(rest, MOST_TITLE, in_title))?;
        let private = is_private(title);
        let closed = rest.get(title.len()..)?.starts_with(DASHES);
        (private && closed).then_some(Self {
            bytes,
            at: BEGIN.len() + title.len() + DASHES.len(),
        })
    }

    /// Where the key ends; `None` when there is none.
    fn key_end(mut self) -> Option<usize> {
        let mut end = None;
        let (mut short_runs, mut headers) = (0, 0);
        loop {
            self.skip_separators();
            if let Some(end_line) = self.end_line() {
                return end.and(Some(end_line));
            }
            let run = self.rest().get(..run_length(self.rest(), usize::MAX, is_base64))?;
            if run.is_empty() {
                return end;
            } else if is_decoration(run) {
                self.at += run.len();
            } else if run.len() >= LONG_RUN && short_runs == 0 {
                self.at += run.len();
                end = Some(self.at);
            } else if end.is_none() {
                headers += 1;
                self.at += self.header_length().filter(|_| headers <= MOST_HEADERS)?;
            } else if run.len() < LONG_RUN && short_runs < MOST_SHORT_RUNS {
                self.at += run.len();
                short_runs += 1;
                // Without an end line, the rest of a key and the first word of prose differ in what follows.
                if short_runs == 1 && self.ends_line() {
                    end = Some(self.at);
                }
            } else {
                return end;
            }
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn skip_separators(&mut self) {
        loop {
            self.at += match self.rest() {
                [b'\\', b'n' | b'r' | b't', ..] => 2,
                // What a diff puts before a removed line, but not a line of dashes.
                [b'-', next, ..] if *next != b'-' => 1,
                rest if rest.starts_with("→".as_bytes()) => "→".len(),
                [first, ..] if separates(*first) => 1,
                _ => return,
            };
        }
    }

    /// Where the line that ends the key ends, if the reader stands before it.
    fn end_line(&self) -> Option<usize> {
        let dashes = run_length(self.rest(), usize::MAX, is_dash);
        let title = self.rest().get(dashes..)?;
        if dashes < DASHES.len() || !title.starts_with(b"END ") {
            return None;
        }
        let title_length = run_length(title, MOST_TITLE, in_title);
        let closing = run_length(title.get(title_length..)?, DASHES.len(), is_dash);
        Some(self.at + dashes + title_length + closing)
    }

    /// The length of the header line at which the reader stands.
    fn header_length(&self) -> Option<usize> {
        let name = run_length(self.rest(), usize::MAX, in_header_name);
        if !self.rest().get(name..)?.starts_with(b": ") {
            return None;
        }
        let dashes = memmem::find(self.rest(), DASHES).unwrap_or(self.rest().len());
        let line = self.rest().get(..dashes)?;
        Some(memchr2(b'\n', b'\\', line).unwrap_or(line.len()))
    }

    fn ends_line(&self) -> bool {
        self.rest()
            .first()
            .is_none_or(|next| matches!(next, b'\n' | b'\r' | b'\\' | b'"' | b'\''))
    }
}

/// A line number, or the sign that joins strings in code.
fn is_decoration(run: &[u8]) -> bool {
    run.len() <= MOST_LINE_DIGITS && (run == b"+" || run.iter().all(u8::is_ascii_digit))
}

fn separates(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b',' | b'>' | b'|' | b'#' | b'*' | b':' | b'\\')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn is_dash(byte: u8) -> bool {
    byte == b'-'
}

fn in_title(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
}

fn in_header_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}
