//! Reads JSON as people write it, with comments and commas at the end, and tells where everything stands, so that a part
//! can be put in or taken out without touching anything else.

use ralph_notes::Span;

/// How deep values may stand in one another.
const MAX_DEPTH: usize = 128;

/// A text that was read.
#[derive(Debug)]
pub(super) struct Document {
    /// Its value; none where there is nothing but space.
    pub(super) root: Option<Value>,
    /// Where it first has what strict JSON has not: a comment or a comma at the end.
    pub(super) not_strict: Option<usize>,
}

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) span: Span,
    pub(super) kind: Kind,
}

/// What a value is.
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
    /// The name of a member.
    pub(super) name: Option<String>,
    /// Where it begins: at its name, if it has one.
    pub(super) start: usize,
    pub(super) value: Value,
    /// Where the comma after it stands.
    pub(super) comma: Option<usize>,
}

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) at: usize,
    pub(super) what: &'static str,
}

impl Value {
    /// The members of an object.
    pub(super) fn members(&self) -> Option<&[Item]> {
        match &self.kind {
            Kind::Object(items) => Some(items),
            Kind::Array(_) | Kind::Text(_) | Kind::Other => None,
        }
    }

    /// The elements of an array.
    pub(super) fn elements(&self) -> Option<&[Item]> {
        match &self.kind {
            Kind::Array(items) => Some(items),
            Kind::Object(_) | Kind::Text(_) | Kind::Other => None,
        }
    }

    /// The member of an object that counts: of several with one name the last.
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

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<Document, Broken> {
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
        Some(_) => Err(reader.broken("there is something after the end")),
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

    fn broken(&self, what: &'static str) -> Broken {
        Broken { at: self.at, what }
    }

    /// Skips space and comments.
    fn skip_space(&mut self) -> Result<(), Broken> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let rest = self.rest();
            let Some(length) = comment_length(rest) else {
                return if rest.starts_with("/*") {
                    Err(self.broken("a comment is not closed"))
                } else {
                    Ok(())
                };
            };
            self.not_strict.get_or_insert(self.at);
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Broken> {
        if depth > MAX_DEPTH {
            return Err(self.broken("values stand too deep in one another"));
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

    /// The items up to the closing bracket.
    fn items(&mut self, closing: u8, depth: usize) -> Result<Vec<Item>, Broken> {
        let mut items: Vec<Item> = Vec::new();
        self.at += 1;
        loop {
            self.skip_space()?;
            let last_comma = items.last().map(|item| item.comma);
            match self.peek() {
                None => return Err(self.broken("a bracket is not closed")),
                Some(byte) if byte == closing => {
                    if let Some(Some(comma)) = last_comma {
                        self.not_strict.get_or_insert(comma);
                    }
                    self.at += 1;
                    return Ok(items);
                }
                Some(_) if last_comma == Some(None) => return Err(self.broken("a comma is missing")),
                Some(_) => items.push(self.item(closing, depth)?),
            }
        }
    }

    fn item(&mut self, closing: u8, depth: usize) -> Result<Item, Broken> {
        let start = self.at;
        let mut name = None;
        if closing == b'}' {
            if self.peek() != Some(b'"') {
                return Err(self.broken("a name in quotes is missing"));
            }
            name = Some(self.string()?);
            self.skip_space()?;
            if self.peek() != Some(b':') {
                return Err(self.broken("a colon is missing"));
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

    fn string(&mut self) -> Result<String, Broken> {
        let bytes = self.rest().as_bytes();
        let mut end = 1;
        loop {
            match bytes.get(end) {
                None => return Err(self.broken("a text is not closed")),
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        let written = self.rest().get(..=end).unwrap_or_default();
        let Ok(text) = serde_json::from_str(written) else {
            return Err(self.broken("a text is malformed"));
        };
        self.at += end + 1;
        Ok(text)
    }

    fn other(&mut self) -> Result<Kind, Broken> {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))
            .unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        if serde_json::from_str::<serde_json::Value>(word).is_err() {
            return Err(self.broken("a value is missing or malformed"));
        }
        self.at += length;
        Ok(Kind::Other)
    }
}

/// How long the comment is that a text begins with, without the line break after it.
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
    fn broken_texts_are_told_with_their_place() {
        let check = |text: &str, expected: (usize, usize), what: &str| {
            let broken = parse(text).unwrap_err();
            assert_eq!((place(text, broken.at), broken.what), (expected, what), "{text}");
        };
        check("{\n  \"a\": 1\n  \"b\": 2\n}", (3, 3), "a comma is missing");
        check("\u{feff}{\"é\" 1}", (1, 6), "a colon is missing");
        check("{\"a\": }", (1, 7), "a value is missing or malformed");
        check("{\"a\": tru}", (1, 7), "a value is missing or malformed");
        check("{\"a\": 1", (1, 8), "a bracket is not closed");
        check("{a: 1}", (1, 2), "a name in quotes is missing");
        check("{,}", (1, 2), "a name in quotes is missing");
        check("[1, /* x", (1, 5), "a comment is not closed");
        check("{\"a", (1, 2), "a text is not closed");
        check("{\"a\\", (1, 2), "a text is not closed");
        check("\"\\x\"", (1, 1), "a text is malformed");
        check("{} {}", (1, 4), "there is something after the end");
        check(&"[".repeat(1_000_000), (1, 130), "values stand too deep in one another");
    }

    #[test]
    fn what_strict_json_has_not_is_seen() {
        let check =
            |text: &str, expected: Option<usize>| assert_eq!(parse(text).unwrap().not_strict, expected, "{text}");
        check(" {\"a\": [1, \"//\"]} ", None);
        check("{\"a\": 1,}", Some(7));
        check("[1 /* c */, 2,]", Some(3));
        check("// c", Some(0));
    }
}
