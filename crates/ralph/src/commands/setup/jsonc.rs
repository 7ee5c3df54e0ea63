//! Parses JSON with comments and trailing commas, and keeps the position of everything, so that a part can be added or
//! removed without touching the rest.

use ralph_notes::Span;

/// The deepest nesting of values.
const MAX_DEPTH: usize = 128;

/// A parsed text.
#[derive(Debug)]
pub(super) struct Document {
    /// The value; `None` if the text is blank.
    pub(super) root: Option<Value>,
    /// The first comment or trailing comma, which strict JSON does not allow.
    pub(super) not_strict: Option<usize>,
}

/// A value and its position.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) span: Span,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Item>),
    Array(Vec<Item>),
    Text(String),
    /// A number, true, false or null.
    Other,
}

/// A member of an object or an element of an array.
#[derive(Debug)]
pub(super) struct Item {
    /// The name of an object member.
    pub(super) name: Option<String>,
    /// The start: at its name, if it has one.
    pub(super) start: usize,
    pub(super) value: Value,
    /// The position of the comma after it.
    pub(super) comma: Option<usize>,
}

/// A syntax error and its position.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) at: usize,
    pub(super) what: &'static str,
}

impl Value {
    pub(super) fn members(&self) -> Option<&[Item]> {
        match &self.kind {
            Kind::Object(items) => Some(items),
            Kind::Array(_) | Kind::Text(_) | Kind::Other => None,
        }
    }

    pub(super) fn elements(&self) -> Option<&[Item]> {
        match &self.kind {
            Kind::Array(items) => Some(items),
            Kind::Object(_) | Kind::Text(_) | Kind::Other => None,
        }
    }

    /// The member with this name; of duplicates the last, which counts.
    pub(super) fn member(&self, name: &str) -> Option<(usize, &Item)> {
        let mut members = self.members()?.iter().enumerate();
        members.rfind(|(_, item)| item.name.as_deref() == Some(name))
    }
}

/// The line and column of an offset, both from 1.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text).trim_start_matches('\u{feff}');
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

pub(super) fn parse(text: &str) -> Result<Document, SyntaxError> {
    let mut reader = Reader {
        text,
        at: if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        },
        not_strict: None,
    };
    reader.skip_space()?;
    let root = match reader.peek() {
        None => None,
        Some(_) => Some(reader.value(0)?),
    };
    reader.skip_space()?;
    match reader.peek() {
        None => Ok(Document {
            root,
            not_strict: reader.not_strict,
        }),
        Some(_) => Err(reader.error("there is text after the end")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    not_strict: Option<usize>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, what: &'static str) -> SyntaxError {
        SyntaxError { at: self.at, what }
    }

    fn skip_space(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let rest = self.rest();
            let Some(length) = comment_length(rest) else {
                return if rest.starts_with("/*") {
                    Err(self.error("a comment is not closed"))
                } else {
                    Ok(())
                };
            };
            self.not_strict.get_or_insert(self.at);
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        if depth > MAX_DEPTH {
            return Err(self.error("values are nested too deeply"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.items(b'}', depth)?),
            Some(b'[') => Kind::Array(self.items(b']', depth)?),
            Some(b'"') => Kind::Text(self.string()?),
            _ => self.other()?,
        };
        Ok(Value {
            span: Span::new(start, self.at),
            kind,
        })
    }

    /// Parses items up to the closing bracket.
    fn items(&mut self, closing: u8, depth: usize) -> Result<Vec<Item>, SyntaxError> {
        let mut items: Vec<Item> = Vec::new();
        self.at += 1;
        loop {
            self.skip_space()?;
            let last_comma = items.last().map(|item| item.comma);
            match self.peek() {
                None => return Err(self.error("a bracket is not closed")),
                Some(byte) if byte == closing => {
                    if let Some(Some(comma)) = last_comma {
                        self.not_strict.get_or_insert(comma);
                    }
                    self.at += 1;
                    return Ok(items);
                }
                Some(_) if last_comma == Some(None) => return Err(self.error("a comma is missing")),
                Some(_) => items.push(self.item(closing, depth)?),
            }
        }
    }

    fn item(&mut self, closing: u8, depth: usize) -> Result<Item, SyntaxError> {
        let start = self.at;
        let mut name = None;
        if closing == b'}' {
            if self.peek() != Some(b'"') {
                return Err(self.error("a name in quotes is missing"));
            }
            name = Some(self.string()?);
            self.skip_space()?;
            if self.peek() != Some(b':') {
                return Err(self.error("a colon is missing"));
            }
            self.at += 1;
            self.skip_space()?;
        }
        let value = self.value(depth + 1)?;
        self.skip_space()?;
        let comma = (self.peek() == Some(b',')).then_some(self.at);
        self.at += usize::from(comma.is_some());
        Ok(Item {
            name,
            start,
            value,
            comma,
        })
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let bytes = self.rest().as_bytes();
        let mut end = 1;
        loop {
            match bytes.get(end) {
                None => return Err(self.error("a string is not closed")),
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        let written = self.rest().get(..=end).unwrap_or_default();
        let Ok(text) = serde_json::from_str(written) else {
            return Err(self.error("a string is malformed"));
        };
        self.at += end + 1;
        Ok(text)
    }

    fn other(&mut self) -> Result<Kind, SyntaxError> {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))
            .unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        if serde_json::from_str::<serde_json::Value>(word).is_err() {
            return Err(self.error("a value is missing or malformed"));
        }
        self.at += length;
        Ok(Kind::Other)
    }
}

/// The length of the comment at the start of a text, without the line break after it.
pub(super) fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        Some(text.find(['\n', '\r']).unwrap_or(text.len()))
    } else if text.starts_with("/*") {
        let inside = text.get(2..)?;
        Some(inside.find("*/")? + 4)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_errors_have_a_position() {
        let check = |text: &str, expected: (usize, usize), what: &str| {
            let error = parse(text).unwrap_err();
            assert_eq!((place(text, error.at), error.what), (expected, what), "{text}");
        };
        check("{\n  \"a\": 1\n  \"b\": 2\n}", (3, 3), "a comma is missing");
        check("\u{feff}{\"é\" 1}", (1, 6), "a colon is missing");
        check("{\"a\": }", (1, 7), "a value is missing or malformed");
        check("{\"a\": tru}", (1, 7), "a value is missing or malformed");
        check("{\"a\": 1", (1, 8), "a bracket is not closed");
        check("{a: 1}", (1, 2), "a name in quotes is missing");
        check("{,}", (1, 2), "a name in quotes is missing");
        check("[1, /* x", (1, 5), "a comment is not closed");
        check("{\"a", (1, 2), "a string is not closed");
        check("{\"a\\", (1, 2), "a string is not closed");
        check("\"\\x\"", (1, 1), "a string is malformed");
        check("{} {}", (1, 4), "there is text after the end");
        check(&"[".repeat(1_000_000), (1, 130), "values are nested too deeply");
    }

    #[test]
    fn comments_and_trailing_commas_are_detected() {
        let check =
            |text: &str, expected: Option<usize>| assert_eq!(parse(text).unwrap().not_strict, expected, "{text}");
        check(" {\"a\": [1, \"//\"]} ", None);
        check("{\"a\": 1,}", Some(7));
        check("[1 /* c */, 2,]", Some(3));
        check("// c", Some(0));
    }
}
