//! Private keys in PEM and PGP armor, from the BEGIN line to the END line.
//!
//! Keys occur in many forms: with escaped line breaks, indented, quoted, in a diff, after line numbers or log prefixes,
//! truncated. A key is a BEGIN line followed by base64; prose about such a line is not a key.

use std::sync::LazyLock;

use memchr::{memchr2, memmem};

use super::{Secret, SecretKind, run_length};

const BEGIN: &[u8] = b"-----BEGIN ";
/// Built once, because building takes longer than searching a short line.
static BEGIN_LINES: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(BEGIN));
const END: &[u8] = b"-----END ";
static END_LINES: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(END));
const DASHES: &[u8] = b"-----";

/// The maximum length of a title such as `ENCRYPTED PRIVATE KEY`.
const MAX_TITLE: usize = 48;

/// A base64 run of this length belongs to a key even without an END line; words are shorter.
const LONG_RUN: usize = 16;

/// The maximum number of shorter runs in a key: its last line and the PGP checksum.
const MAX_SHORT_RUNS: usize = 2;

/// The maximum number of header lines (`Proc-Type: 4,ENCRYPTED`) between the BEGIN line and the base64.
const MAX_HEADERS: usize = 5;

/// The maximum digits of a line number.
const MAX_LINE_DIGITS: usize = 6;

/// A base64 run of this length at the end of a line belongs to a key, whatever the prefix.
const BODY_RUN: usize = 40;

/// The maximum length of a prefix from a log, a test or a comment.
const MAX_PREFIX: usize = 120;

/// The maximum length of a suffix in code.
const MAX_SUFFIX: usize = 4;

/// The headers of encrypted keys and of PGP.
const HEADERS: [&[u8]; 4] = [b"Proc-Type: ", b"DEK-Info: ", b"Version: ", b"Comment: "];

/// The private keys in these bytes, in order.
pub(super) fn find(bytes: &[u8]) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut free_from = 0;
    for begin in BEGIN_LINES.find_iter(bytes) {
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
    found.extend(truncated_keys(bytes, &found));
    found
}

/// Keys without a beginning: the base64 lines before an END line.
fn truncated_keys(bytes: &[u8], whole: &[Secret]) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut free_from = 0;
    for end in END_LINES.find_iter(bytes) {
        let title = bytes.get(end + END.len()..).unwrap_or_default();
        let length = run_length(title, MAX_TITLE, in_title);
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

/// The length of a key's body at the end of these bytes: base64 lines, of which only the last may be short. Each line
/// may have a prefix, including the END line.
fn body_before(bytes: &[u8]) -> usize {
    let (mut start, mut is_last, mut is_long) = (bytes.len(), true, false);
    let own_line = line_start(bytes).filter(|at| {
        let prefix = without_separators(bytes.get(*at..).unwrap_or_default());
        prefix.iter().rev().take_while(|byte| is_base64(**byte)).count() < LONG_RUN
    });
    let mut line_end = own_line.unwrap_or(bytes.len());
    loop {
        let line = without_separators(bytes.get(..line_end).unwrap_or_default());
        let length = line.iter().rev().take_while(|byte| is_base64(**byte)).count();
        #[cfg(test)]
        super::tests::count_read(length);
        let (before, run) = line.split_at(line.len() - length);
        // The letter of an escaped line break does not belong to the next line.
        let escape =
            usize::from(before.ends_with(b"\\") && run.first().is_some_and(|first| matches!(first, b'n' | b'r')));
        let run = run.get(escape..).unwrap_or_default();
        if run.is_empty() || (run.len() < LONG_RUN && !is_last) {
            break;
        }
        is_last = false;
        is_long |= run.len() >= LONG_RUN;
        start = line.len() - run.len();
        // The line before a prefixed line may have a prefix too.
        line_end = match line_start(before) {
            Some(at) if run.len() < BODY_RUN || is_mixed(run) => at,
            _ => start,
        };
    }
    if is_long { bytes.len() - start } else { 0 }
}

/// The start of the last line, if it is short enough to be a prefix.
fn line_start(bytes: &[u8]) -> Option<usize> {
    let from = bytes.len().saturating_sub(MAX_PREFIX);
    let last = bytes.get(from..)?;
    let plain = last.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
    let escaped = last.windows(2).rposition(|pair| pair == b"\\n").map(|at| at + 2);
    plain.max(escaped).map(|at| from + at)
}

/// Whether the rest of a line is only what code puts after a line of a key.
pub(crate) fn is_rest_of_line(text: &str) -> bool {
    let without_escapes = text.replace("\\n", "").replace("\\r", "");
    !without_escapes.contains(|c: char| c.is_alphanumeric())
}

/// Whether a base64 run looks random, unlike paths, words and checksums.
fn is_mixed(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_uppercase)
        && run.iter().any(u8::is_ascii_lowercase)
        && run.iter().any(u8::is_ascii_digit)
}

/// These bytes without the separators between two lines of a key at their end.
fn without_separators(mut bytes: &[u8]) -> &[u8] {
    loop {
        bytes = match bytes {
            [before @ .., b'\\', b'n' | b'r'] => before,
            // String concatenation in code.
            [before @ .., last, b'+'] if separates(*last) => before,
            [before @ .., last] if separates(*last) => before,
            _ => return bytes,
        };
    }
}

/// Whether the title of a BEGIN or END line is that of a private key.
fn is_private(title: &[u8]) -> bool {
    title.ends_with(b"PRIVATE KEY") || title.ends_with(b"PRIVATE KEY BLOCK")
}

/// Reads a key piece by piece. It never reads past five dashes, so no bytes are read twice.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// There is no prefix before this position.
    without_prefix_until: usize,
}

impl<'a> Reader<'a> {
    /// A reader after the BEGIN line of a private key.
    fn after_begin_line(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(BEGIN)?;
        let title = rest.get(..run_length(rest, MAX_TITLE, in_title))?;
        let private = is_private(title);
        let closed = rest.get(title.len()..)?.starts_with(DASHES);
        (private && closed).then_some(Self {
            bytes,
            at: BEGIN.len() + title.len() + DASHES.len(),
            without_prefix_until: 0,
        })
    }

    /// Where the key ends; `None` if it is not a key.
    fn key_end(mut self) -> Option<usize> {
        let mut end = None;
        let (mut short_runs, mut headers) = (0, 0);
        loop {
            self.skip_separators();
            if let Some(end_line) = self.end_line() {
                return end.and(Some(end_line));
            }
            if short_runs == 0
                && let Some(prefix) = self.prefix_length(end.is_some())
            {
                self.at += prefix;
            }
            let run = self.rest().get(..run_length(self.rest(), usize::MAX, is_base64))?;
            if end.is_some()
                && run.len() < LONG_RUN
                && let Some(end_line) = self.end_line_nearby()
            {
                return Some(end_line);
            }
            if run.is_empty() {
                return end;
            } else if is_decoration(run) {
                self.at += run.len();
            } else if run.len() >= LONG_RUN && short_runs == 0 {
                self.at += run.len();
                end = Some(self.at);
            } else if end.is_none() {
                let blank = self.blank_length().filter(|_| headers > 0);
                headers += 1;
                self.at += blank
                    .or_else(|| self.header_length())
                    .filter(|_| headers <= MAX_HEADERS)?;
            } else if run.len() < LONG_RUN && short_runs < MAX_SHORT_RUNS {
                self.at += run.len();
                short_runs += 1;
                // Without an END line, what follows distinguishes the rest of a key from prose.
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
                // The mark of a removed line in a diff, but not a line of dashes.
                [b'-', next, ..] if *next != b'-' => 1,
                rest if rest.starts_with("→".as_bytes()) => "→".len(),
                [first, ..] if separates(*first) => 1,
                _ => return,
            };
        }
    }

    /// The end of the END line, if the reader is at one.
    fn end_line(&self) -> Option<usize> {
        let dashes = run_length(self.rest(), usize::MAX, is_dash);
        let title = self.rest().get(dashes..)?;
        if dashes < DASHES.len() || !title.starts_with(b"END ") {
            return None;
        }
        let title_length = run_length(title, MAX_TITLE, in_title);
        let closing = run_length(title.get(title_length..)?, DASHES.len(), is_dash);
        Some(self.at + dashes + title_length + closing)
    }

    /// The length of the prefix on this line, from a log, a test or a comment. Only the last line of a key may be
    /// short.
    fn prefix_length(&mut self, has_body: bool) -> Option<usize> {
        if self.at < self.without_prefix_until {
            return None;
        }
        let rest = self.rest();
        let mut at = 0;
        while at < rest.len().min(MAX_PREFIX) {
            let line = rest.get(at..)?;
            if line.starts_with(b"\n") || line.starts_with(b"\\n") || line.starts_with(DASHES) {
                break;
            }
            let length = run_length(line, usize::MAX, is_base64);
            let (run, after) = line.split_at(length);
            let is_last =
                has_body && length >= 4 && (run.ends_with(b"=") || (is_mixed(run) && length.is_multiple_of(2)));
            if ((length >= BODY_RUN && is_mixed(run)) || is_last) && ends_line(after) {
                return Some(at);
            }
            at += length.max(1);
        }
        self.without_prefix_until = self.at + at;
        None
    }

    /// The end of the END line, if at most one line, the last of the key, precedes it.
    fn end_line_nearby(&self) -> Option<usize> {
        let near = self.rest().get(..self.rest().len().min(2 * MAX_PREFIX))?;
        let dashes = memmem::find(near, DASHES)?;
        let line_breaks = memmem::find_iter(near.get(..dashes)?, b"\n").count();
        let reader = Self {
            at: self.at + dashes,
            ..*self
        };
        reader.end_line().filter(|_| line_breaks <= 1)
    }

    /// The length of a line with only a prefix, such as the one between a key's headers and its base64.
    fn blank_length(&self) -> Option<usize> {
        let beginning = self.rest().get(..self.rest().len().min(MAX_PREFIX))?;
        let length = memchr::memchr(b'\n', beginning)?;
        let words = run_length(beginning, length, in_header_name);
        beginning
            .get(words..length)?
            .iter()
            .all(|byte| separates(*byte))
            .then_some(length)
    }

    /// The length of the header line at the reader's position.
    fn header_length(&self) -> Option<usize> {
        let name = run_length(self.rest(), usize::MAX, in_header_name);
        let beginning = self.rest().get(..self.rest().len().min(MAX_PREFIX))?;
        let line = beginning.split(|byte| *byte == b'\n').next()?;
        let has_prefix = HEADERS.iter().any(|header| memmem::find(line, header).is_some());
        if !has_prefix && !self.rest().get(name..)?.starts_with(b": ") {
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

/// Whether a line ends here, except for what code puts after a line of a key.
fn ends_line(after: &[u8]) -> bool {
    let closing = run_length(after, MAX_SUFFIX, |byte| {
        matches!(
            byte,
            b'"' | b'\'' | b'`' | b',' | b';' | b')' | b']' | b'|' | b' ' | b'\t'
        )
    });
    let rest = after.get(closing..).unwrap_or_default();
    rest.is_empty() || rest.starts_with(b"\n") || rest.starts_with(b"\r") || rest.starts_with(b"\\")
}

/// A line number or a string concatenation.
fn is_decoration(run: &[u8]) -> bool {
    run.len() <= MAX_LINE_DIGITS && (run == b"+" || run.iter().all(u8::is_ascii_digit))
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
