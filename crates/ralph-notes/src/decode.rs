//! Decodes the spans of an entry into a note: content, tags, and creation date.

use std::borrow::Cow;
use std::collections::HashSet;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ralph_model::{Extra, Note, NoteId, Tags, code_point, invisible_characters};

use crate::lines::{conflict_marker, is_blank, lines_in};
use crate::{Document, Entry, Problem, ProblemKind, Span};

impl<'a> Document<'a> {
    #[must_use]
    pub fn id(&self, entry: &Entry) -> &'a str {
        // An id that parsed is ASCII.
        std::str::from_utf8(self.id_bytes(entry)).unwrap_or_default()
    }

    /// The content of an entry, with lines separated by LF.
    #[must_use]
    pub fn content(&self, entry: &Entry) -> String {
        let quoted = entry.content.of(self.bytes);
        let mut content = String::with_capacity(quoted.len());
        for (index, line) in text_lines(self.bytes, entry.content).enumerate() {
            if index > 0 {
                content.push('\n');
            }
            content.push_str(&String::from_utf8_lossy(line));
        }
        content
    }

    /// The tags of an entry; empty if its tags line is missing or malformed.
    #[must_use]
    pub fn tags(&self, entry: &Entry) -> Tags {
        self.tags_line(entry).map(|line| line.0).unwrap_or_default()
    }

    /// The creation date from the tags line, or else the UTC date of the id.
    #[must_use]
    pub fn created(&self, entry: &Entry) -> Date {
        parse_day(entry.tags.of(self.bytes)).unwrap_or_else(|| utc_day(entry.second))
    }

    /// The key-value pairs of the `ralph:` line.
    #[must_use]
    pub fn extra(&self, entry: &Entry) -> Extra {
        parse_extra(entry.extra.of(self.bytes)).unwrap_or_default()
    }

    #[must_use]
    pub fn note(&self, entry: &Entry) -> Option<Note> {
        Some(Note {
            id: NoteId::parse(self.id(entry), self.file_kind.id_prefixes())?,
            kind: entry.kind,
            content: self.content(entry),
            tags: self.tags(entry),
            created: self.created(entry),
            extra: self.extra(entry),
        })
    }

    /// All problems in file order: parse problems, malformed comment lines, duplicate ids, and unresolved conflicts.
    #[must_use]
    pub fn validate(&self) -> Vec<Problem> {
        let mut problems = self.problems().to_vec();
        let mut seen = HashSet::new();
        for entry in self.entries() {
            let id = self.id(entry);
            let mut report = |at: Span, kind| problems.push(Problem { at, kind });
            if !seen.insert(id) {
                report(entry.heading, ProblemKind::DuplicateId { id: id.to_owned() });
            }
            if !self.tags_are_readable(entry) {
                report(entry.tags, ProblemKind::BadTags { id: id.to_owned() });
            }
            if !self.extra_is_readable(entry) {
                report(entry.extra, ProblemKind::BadExtra { id: id.to_owned() });
            }
        }
        problems.extend(self.conflict_problems());
        problems.extend(self.invisible_problems());
        problems.sort_by_key(|problem| problem.at.start());
        problems
    }

    /// Lines with invisible characters. A byte order mark at the start of the file does not count.
    fn invisible_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut start = 0;
        for bytes in self.bytes().split_inclusive(|byte| *byte == b'\n') {
            let line = std::str::from_utf8(bytes).unwrap_or_default();
            let text = match start {
                0 => line.strip_prefix('\u{feff}').unwrap_or(line),
                _ => line,
            };
            let found = invisible_characters(text);
            if !found.is_empty() {
                let characters = found.iter().map(|(_, c)| code_point(*c)).collect();
                problems.push(Problem {
                    at: Span::new(start, start + bytes.len()),
                    kind: ProblemKind::Invisible { characters },
                });
            }
            start += bytes.len();
        }
        problems
    }

    /// Whether the tags and `ralph:` lines that are present can be parsed.
    pub(crate) fn comments_are_readable(&self, entry: &Entry) -> bool {
        self.tags_are_readable(entry) && self.extra_is_readable(entry)
    }

    fn tags_are_readable(&self, entry: &Entry) -> bool {
        entry.tags.is_empty() || self.tags_line(entry).is_some()
    }

    fn extra_is_readable(&self, entry: &Entry) -> bool {
        entry.extra.is_empty() || parse_extra(entry.extra.of(self.bytes)).is_some()
    }

    fn tags_line(&self, entry: &Entry) -> Option<(Tags, Date)> {
        parse_tags(entry.tags.of(self.bytes))
    }
}

pub(crate) fn has_text(bytes: &[u8], quoted: Span) -> bool {
    text_lines(bytes, quoted).any(|line| !is_blank(line))
}

/// The text lines without their quote marks. Skips conflict markers between them.
fn text_lines(bytes: &[u8], quoted: Span) -> impl Iterator<Item = &[u8]> {
    lines_in(bytes, quoted)
        .map(|line| line.text.of(bytes))
        .filter(|line| conflict_marker(line).is_none())
        .map(unquote)
}

pub(crate) fn utc_day(second: i64) -> Date {
    Timestamp::from_second(second)
        .unwrap_or(Timestamp::MAX)
        .to_zoned(TimeZone::UTC)
        .date()
}

/// Removes the quote mark and one space after it.
fn unquote(line: &[u8]) -> &[u8] {
    match line {
        [b'>', b' ', rest @ ..] | [b'>', rest @ ..] => rest,
        // A blank line between two quoted ones.
        _ => &[],
    }
}

/// Reads `<!-- tags: a, b | created: 2025-01-20 -->`.
fn parse_tags(line: &[u8]) -> Option<(Tags, Date)> {
    let day = parse_day(line)?;
    let list = inside_comment(line, "tags:")?;
    let (list, _) = list.rsplit_once('|')?;
    Some((Tags::parse(list).ok()?, day))
}

/// Reads only the date of a tags line. Sorting thousands of notes calls this, so it reads from the end and does not
/// allocate.
fn parse_day(line: &[u8]) -> Option<Date> {
    let before = line.trim_ascii_end().strip_suffix(b"-->")?.trim_ascii_end();
    let [head @ .., y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = before else {
        return None;
    };
    let head = head.trim_ascii_end().strip_suffix(b"created:")?;
    if !head.trim_ascii_end().ends_with(b"|") {
        return None;
    }
    let number = |digits: &[&u8]| {
        let mut number = 0i16;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            number = number * 10 + i16::from(*digit - b'0');
        }
        Some(number)
    };
    let month = i8::try_from(number(&[m1, m2])?).ok()?;
    let day = i8::try_from(number(&[d1, d2])?).ok()?;
    Date::new(number(&[y1, y2, y3, y4])?, month, day).ok()
}

/// Reads `<!-- ralph: key=value; other=value -->` with percent-encoded values.
fn parse_extra(line: &[u8]) -> Option<Extra> {
    let mut extra = Extra::default();
    for pair in inside_comment(line, "ralph:")?.split(';') {
        let pair = pair.trim();
        if pair.is_empty() {
            continue;
        }
        let (key, value) = pair.split_once('=')?;
        extra.set(key.trim(), &percent_decode(value.trim())?);
    }
    Some(extra)
}

fn inside_comment<'a>(line: &'a [u8], word: &str) -> Option<&'a str> {
    let inside = line
        .trim_ascii()
        .strip_prefix(b"<!-- ")?
        .strip_prefix(word.as_bytes())?
        .strip_suffix(b"-->")?;
    std::str::from_utf8(inside).ok()
}

fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            decoded.push(*first);
            rest = after;
        }
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}
