//! Reads child output within limits: it may be endless, a single line, or in any encoding.

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use crate::sys::{Cancelled, Readiness, bytes_waiting, wait_until};

/// The longest line that is kept whole. Agents print answers of several megabytes as one line.
pub(crate) const MAX_LINE: usize = 8 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;
/// How often output without a line break is reported as activity.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// Reads until the end of the stream or until canceled, and passes on every chunk. A read error counts as the end.
/// After cancellation, only what is already in the pipe is read, because another process may print forever.
pub(crate) fn read_chunks(mut stream: impl Read + AsFd, cancelled: &PipeReader, mut take: impl FnMut(&[u8])) {
    let mut buffer = vec![0; CHUNK];
    while wait_until(&stream, Readiness::Readable, cancelled) == Cancelled::No {
        if read_once(&mut stream, &mut buffer, &mut take) == 0 {
            return;
        }
    }
    let mut left = bytes_waiting(&stream);
    while left > 0 {
        let room = buffer.len().min(left);
        match read_once(&mut stream, buffer.get_mut(..room).unwrap_or_default(), &mut take) {
            0 => return,
            length => left -= length,
        }
    }
}

/// Reads once, passes the chunk on, and returns its length; 0 is the end.
fn read_once(stream: &mut impl Read, buffer: &mut [u8], take: &mut impl FnMut(&[u8])) -> usize {
    let length = loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read.unwrap_or(0),
        }
    };
    if length > 0 {
        take(buffer.get(..length).unwrap_or_default());
    }
    length
}

/// Joins chunks into lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    line: Vec<u8>,
    skipped: usize,
    is_open: bool,
}

impl Lines {
    /// Adds a chunk and passes on the completed lines, without line breaks.
    pub(crate) fn take(&mut self, chunk: &[u8], mut hand_on: impl FnMut(String)) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let content = piece.strip_suffix(b"\n").unwrap_or(piece);
            self.is_open = true;
            let room = MAX_LINE.saturating_sub(self.line.len()).min(content.len());
            let (kept, skipped) = content.split_at(room);
            self.line.extend_from_slice(kept);
            self.skipped += skipped.len();
            if content.len() < piece.len() {
                hand_on(self.finish());
            }
        }
    }

    /// The last line, if it has no line break.
    pub(crate) fn rest(&mut self) -> Option<String> {
        self.is_open.then(|| self.finish())
    }

    fn finish(&mut self) -> String {
        let Self { mut line, skipped, .. } = std::mem::take(self);
        line.pop_if(|last| *last == b'\r');
        // A line may be long, so copy it only if needed.
        let mut text =
            String::from_utf8(line).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        if skipped > 0 {
            text.push_str(&format!(" [{skipped} more bytes of this line were left out]"));
        }
        text
    }
}

/// Rate limit for activity reports.
#[derive(Debug, Default)]
pub(crate) struct Pulse(Option<Instant>);

impl Pulse {
    pub(crate) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = self.0.is_none_or(|last| now.duration_since(last) >= ALIVE_EVERY);
        if due {
            self.0 = Some(now);
        }
        due
    }
}

/// The head and tail of a text of any length.
#[derive(Debug)]
pub(crate) struct HeadAndTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    left_out: u64,
}

impl HeadAndTail {
    pub(crate) fn new(head_limit: usize, tail_limit: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_limit,
            tail_limit,
            left_out: 0,
        }
    }

    pub(crate) fn take(&mut self, chunk: &[u8]) {
        let room = self.head_limit.saturating_sub(self.head.len()).min(chunk.len());
        let (head, rest) = chunk.split_at(room);
        self.head.extend_from_slice(head);
        // A chunk longer than the tail replaces it.
        let (skipped, kept) = rest.split_at(rest.len().saturating_sub(self.tail_limit));
        let over = (self.tail.len() + kept.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..over);
        self.tail.extend(kept);
        self.left_out += u64::try_from(skipped.len() + over).unwrap_or(u64::MAX);
    }

    /// The kept text. A line marks what was left out; no character is cut.
    pub(crate) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.left_out == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let tail = String::from_utf8_lossy(&tail).into_owned();
        // A cut character decodes to at most three of these.
        let tail = tail.trim_start_matches(char::REPLACEMENT_CHARACTER);
        // Part of a token cannot be recognized as a secret, so start at a whole line if there are several.
        let lines = tail.split_once('\n').map(|(_, lines)| lines);
        let tail = lines.filter(|lines| !lines.is_empty()).unwrap_or(tail);
        if self.head_limit == 0 {
            return tail.to_owned();
        }
        let head = String::from_utf8_lossy(&self.head).into_owned();
        let head = head.trim_end_matches(char::REPLACEMENT_CHARACTER);
        let head = head.rsplit_once('\n').map_or(head, |(lines, _)| lines);
        format!("{head}\n[{} bytes were left out here]\n{tail}", self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for chunk in chunks {
            lines.take(chunk, |line| found.push(line));
        }
        found.extend(lines.rest());
        found
    }

    #[test]
    fn lines_are_joined_from_any_chunks() {
        assert_eq!(lines(&[b"one\ntw", b"o\n", b"\nlast"]), ["one", "two", "", "last"]);
        assert_eq!(lines(&[b"one\r", b"\ntwo\r\n"]), ["one", "two"]);
        assert_eq!(lines(&[b""]), [""; 0]);
        assert_eq!(lines(&["gr".as_bytes(), b"\xc3", b"\xbcn\n"]), ["grün"]);
        assert_eq!(lines(&[b"a\0b\xff\n"]), ["a\0b\u{fffd}"]);
    }

    #[test]
    fn endless_line_is_cut_and_marked() {
        let long = vec![b'x'; MAX_LINE - 1];
        let found = lines(&[&long, b"yzz", b"zz\nnext\n"]);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].len(),
            MAX_LINE + " [4 more bytes of this line were left out]".len()
        );
        assert!(found[0].ends_with("xy [4 more bytes of this line were left out]"));
        assert_eq!(found[1], "next");
    }

    fn kept(head: usize, tail: usize, chunks: &[&str]) -> String {
        let mut kept = HeadAndTail::new(head, tail);
        for chunk in chunks {
            kept.take(chunk.as_bytes());
        }
        kept.text()
    }

    #[test]
    fn head_and_tail_of_a_text_are_kept() {
        assert_eq!(kept(4, 4, &["abcdefgh"]), "abcdefgh");
        assert_eq!(
            kept(4, 4, &["ab", "cdefghi"]),
            "abcd\n[1 bytes were left out here]\nfghi"
        );
        assert_eq!(
            kept(4, 4, &["abcd", "efgh", "ij"]),
            "abcd\n[2 bytes were left out here]\nghij"
        );
        assert_eq!(kept(0, 4, &["abcdefgh"]), "efgh");
        assert_eq!(kept(2, 3, &["aüüü"]), "a\n[2 bytes were left out here]\nü");
    }
}
