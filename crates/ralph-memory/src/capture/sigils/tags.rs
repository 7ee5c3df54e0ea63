//! Finds sigils in blocks of text: tags outside of inline code, and their pairs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use memchr::{memchr_iter, memchr2};

use super::{NAMES, Name};

/// The maximum number of attributes in a tag.
const MAX_ATTRIBUTES: usize = 20;

/// The sigils of an answer.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// Complete sigils, in order.
    pub(super) sigils: Vec<Sigil<'a>>,
    /// Incomplete ones: not closed, not opened or nested.
    pub(super) malformed: Vec<Malformed<'a>>,
}

#[derive(Debug)]
pub(super) struct Sigil<'a> {
    pub(super) name: Name,
    attributes: Vec<(&'a str, &'a str)>,
    /// The raw text between its tags.
    body: &'a str,
    /// From the start of the opening tag to the end of the closing tag.
    pub(super) range: Range<usize>,
}

#[derive(Debug)]
pub(super) struct Malformed<'a> {
    pub(super) name: Name,
    rest: &'a str,
}

impl<'a> Malformed<'a> {
    /// The trimmed text after its tag.
    pub(super) fn rest(&self) -> Cow<'a, str> {
        decoded(self.rest.trim())
    }
}

impl<'a> Sigil<'a> {
    /// The trimmed value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        let (_, value) = self.attributes.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(decoded(value.trim()))
    }

    /// The trimmed text between its tags.
    pub(super) fn body(&self) -> Cow<'a, str> {
        decoded(self.body.trim())
    }
}

#[derive(Debug)]
struct Tag<'a> {
    name: Name,
    form: Form,
    range: Range<usize>,
    attributes: Vec<(&'a str, &'a str)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Opening,
    Closing,
    /// `<verify-pass/>`.
    Empty,
    Broken,
}

/// Adds the sigils in these blocks of a text.
pub(super) fn find<'a>(text: &'a str, blocks: &[Range<usize>], found: &mut Found<'a>) {
    let mut tags = Vec::new();
    for block in blocks {
        read_block(text, block.clone(), &mut tags);
    }
    pair(text, tags, found);
}

/// Whether a line begins with a sigil tag.
pub(super) fn starts_with_sigil(line: &str) -> bool {
    line.starts_with('<') && name_at(line.as_bytes(), 0).is_some()
}

/// The name of the sigil if it is alone on the line.
pub(super) fn lone_sigil(line: &str) -> Option<Name> {
    let line = line.trim();
    let mut tags = Vec::new();
    read_block(line, 0..line.len(), &mut tags);
    let whole = match tags.as_slice() {
        [only] => only.form == Form::Empty && only.range == (0..line.len()),
        [first, last] => {
            (first.form, last.form) == (Form::Opening, Form::Closing)
                && first.name == last.name
                && (first.range.start, last.range.end) == (0, line.len())
        }
        _ => false,
    };
    whole.then(|| tags.first().map(|tag| tag.name))?
}

/// Pairs tags. A sigil extends from its opening tag to the next tag of the same name; tags in between are text.
fn pair<'a>(text: &'a str, tags: Vec<Tag<'a>>, found: &mut Found<'a>) {
    let mut next_of_name = vec![None; tags.len()];
    let mut seen: HashMap<Name, usize> = HashMap::new();
    for (index, tag) in tags
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, tag)| tag.form != Form::Broken)
    {
        if let Some(place) = next_of_name.get_mut(index) {
            *place = seen.insert(tag.name, index);
        }
    }
    let closing: Vec<Option<(usize, Range<usize>)>> = next_of_name
        .into_iter()
        .map(|next| {
            let next = next?;
            let tag = tags.get(next).filter(|tag| tag.form == Form::Closing)?;
            Some((next, tag.range.clone()))
        })
        .collect();
    let malformed = |tag: &Tag<'a>| Malformed {
        name: tag.name,
        rest: text.get(tag.range.end..).unwrap_or_default(),
    };
    let mut inside_until = None;
    for (index, (tag, closing)) in tags.into_iter().zip(closing).enumerate() {
        if let Some(end) = inside_until.filter(|end| index <= *end) {
            if index < end && tag.form != Form::Closing {
                found.malformed.push(malformed(&tag));
            }
            continue;
        }
        let whole = match (tag.form, closing) {
            (Form::Empty, _) => Some(("", tag.range.end)),
            (Form::Opening, Some((close, closing))) => {
                inside_until = Some(close);
                text.get(tag.range.end..closing.start).map(|body| (body, closing.end))
            }
            _ => None,
        };
        match whole {
            Some((body, end)) => found.sigils.push(Sigil {
                name: tag.name,
                attributes: tag.attributes,
                body,
                range: tag.range.start..end,
            }),
            None => found.malformed.push(malformed(&tag)),
        }
    }
}

/// Reads the tags of a block outside of inline code. What comes first wins: a backtick in a tag is part of it.
fn read_block<'a>(text: &'a str, block: Range<usize>, tags: &mut Vec<Tag<'a>>) {
    let bytes = text.as_bytes().get(..block.end).unwrap_or_default();
    let mut spans = code_spans(bytes, block.start).into_iter().peekable();
    let mut at = block.start;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'<', b'`', rest)) {
        at += found;
        if bytes.get(at) == Some(&b'<') {
            match TagReader::read(text, bytes, at) {
                Some(tag) => {
                    at = tag.range.end;
                    tags.push(tag);
                }
                None => at += 1,
            }
        } else {
            while spans.next_if(|span| span.start < at).is_some() {}
            at = spans.next_if(|span| span.start == at).map_or(at + 1, |span| span.end);
        }
    }
}

/// Inline code: from a run of backticks to the next run of the same length. An unmatched run is text; its span is the
/// run itself. Spans may overlap; one that begins inside another is ignored.
fn code_spans(bytes: &[u8], start: usize) -> Vec<Range<usize>> {
    let mut rows: Vec<Range<usize>> = Vec::new();
    for found in memchr_iter(b'`', bytes.get(start..).unwrap_or_default()) {
        let at = start + found;
        match rows.last_mut() {
            Some(row) if row.end == at => row.end = at + 1,
            _ => rows.push(at..at + 1),
        }
    }
    let mut next_end: HashMap<usize, usize> = HashMap::new();
    for row in rows.iter_mut().rev() {
        if let Some(end) = next_end.insert(row.len(), row.end) {
            row.end = end;
        }
    }
    rows
}

/// The name of the tag at a `<`, its form and the end of the name.
fn name_at(bytes: &[u8], at: usize) -> Option<(Name, Form, usize)> {
    let mut name_start = at + 1 + blanks(bytes, at + 1);
    let mut form = Form::Opening;
    if bytes.get(name_start) == Some(&b'/') {
        form = Form::Closing;
        name_start += 1;
        name_start += blanks(bytes, name_start);
    }
    let longest = NAMES.iter().map(|(_, word)| word.len()).max().unwrap_or(0);
    let rest = bytes.get(name_start..)?;
    let length = rest
        .iter()
        .take(longest + 1)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        .count();
    let name = Name::parse(rest.get(..length)?)?;
    let ends = rest
        .get(length)
        .is_none_or(|next| next.is_ascii_whitespace() || matches!(next, b'>' | b'/' | b'<'));
    ends.then_some((name, form, name_start + length))
}

fn blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Reads a tag after its name. It stops where another sigil tag begins, so no bytes are read twice.
struct TagReader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> TagReader<'a> {
    /// The tag at a `<`; `None` if it is not a sigil.
    fn read(text: &'a str, bytes: &'a [u8], start: usize) -> Option<Tag<'a>> {
        let (name, form, name_end) = name_at(bytes, start)?;
        let mut reader = Self {
            text,
            bytes,
            at: name_end,
        };
        let mut tag = Tag {
            name,
            form: Form::Broken,
            range: start..name_end,
            attributes: Vec::new(),
        };
        if let Some(end) = reader.attributes(&mut tag.attributes) {
            tag.form = match (form, end) {
                (Form::Opening, Form::Empty) => Form::Empty,
                _ => form,
            };
            tag.range.end = reader.at;
        }
        Some(tag)
    }

    /// Reads attributes and the end of the tag, which reveals an empty tag.
    fn attributes(&mut self, attributes: &mut Vec<(&'a str, &'a str)>) -> Option<Form> {
        loop {
            self.skip_white();
            match self.peek()? {
                b'>' => {
                    self.at += 1;
                    return Some(Form::Opening);
                }
                b'/' => {
                    self.at += 1;
                    self.skip_white();
                    (self.peek()? == b'>').then_some(())?;
                    self.at += 1;
                    return Some(Form::Empty);
                }
                _ => {
                    let attribute = self.attribute()?;
                    (attributes.len() < MAX_ATTRIBUTES).then_some(())?;
                    attributes.push(attribute);
                }
            }
        }
    }

    fn attribute(&mut self) -> Option<(&'a str, &'a str)> {
        let name = self.take_while(|byte| !byte.is_ascii_whitespace() && !b"=<>/\"'`".contains(&byte))?;
        (!name.is_empty()).then_some(())?;
        self.skip_white();
        if self.peek()? != b'=' {
            return Some((name, ""));
        }
        self.at += 1;
        self.skip_white();
        let quote = self.peek()?;
        if !matches!(quote, b'"' | b'\'') {
            let value = self.take_while(|byte| !byte.is_ascii_whitespace() && !b"<>\"'`=".contains(&byte))?;
            return (!value.is_empty()).then_some((name, value));
        }
        self.at += 1;
        let start = self.at;
        while self.peek()? != quote {
            // `Vec<T>` may be in a title, but a sigil tag means that the quote was never closed.
            if self.peek()? == b'<' && name_at(self.bytes, self.at).is_some() {
                return None;
            }
            self.at += 1;
        }
        let value = self.text.get(start..self.at)?;
        self.at += 1;
        Some((name, value))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_white(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> Option<&'a str> {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.text.get(start..self.at)
    }
}

/// The longest entity, with some leading zeros: `&#x10FFFF;`.
const MAX_ENTITY: usize = 12;

/// Decodes entities; unknown ones are kept.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split('&');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let length = part.bytes().take(MAX_ENTITY).position(|byte| byte == b';');
        let entity = length.and_then(|length| Some((entity(part.get(..length)?)?, part.get(length + 1..)?)));
        match entity {
            Some((c, rest)) => {
                decoded.push(c);
                decoded.push_str(rest);
            }
            None => {
                decoded.push('&');
                decoded.push_str(part);
            }
        }
    }
    Cow::Owned(decoded)
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}
