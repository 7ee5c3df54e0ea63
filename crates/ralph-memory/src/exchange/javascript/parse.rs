//! Reads JSON as JavaScript does, within limits of size and depth.

use super::{JsObject, JsText, JsValue};

/// The largest text that is read.
const MOST_BYTES: usize = 256 << 20;
/// So many lists and objects may stand in one another.
const MOST_DEPTH: usize = 128;
/// Some programs put this in front of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why a text is not JSON, or not JSON that is read here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonProblem {
    /// It is too large.
    #[error("it has {bytes} bytes, and at most {MOST_BYTES} are read")]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// It is not text.
    #[error("it is not UTF-8 text (byte {at})")]
    NotText {
        /// From where on it is not.
        at: usize,
    },
    /// It does not follow the grammar.
    #[error("it is not JSON: line {line}, column {column}: {what}")]
    NotJson {
        /// On which line, from 1.
        line: usize,
        /// At which of its characters, from 1.
        column: usize,
        /// What is wrong there.
        what: &'static str,
    },
}

/// Reads a value.
///
/// # Errors
/// When it is too large or too deep, not text, or not JSON.
pub fn parse(bytes: &[u8]) -> Result<JsValue, JsonProblem> {
    if bytes.len() > MOST_BYTES {
        return Err(JsonProblem::TooLarge { bytes: bytes.len() });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| JsonProblem::NotText {
        at: error.valid_up_to(),
    })?;
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut parser = Parser { text, at: 0, depth: 0 };
    let value = parser.document();
    value.map_err(|what| {
        let before = text.get(..parser.at).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        JsonProblem::NotJson {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            what,
        }
    })
}

/// What is wrong at the place where the parser stands.
type Parsed<T> = Result<T, &'static str>;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn document(&mut self) -> Parsed<JsValue> {
        self.skip_blanks();
        let value = self.value()?;
        self.skip_blanks();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err("something follows the end"),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes a byte if it is this one.
    fn takes(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn value(&mut self) -> Parsed<JsValue> {
        match self.peek() {
            Some(b'{') => self.within(Self::object),
            Some(b'[') => self.within(Self::list),
            Some(b'"') => Ok(JsValue::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", JsValue::Bool(true)),
            Some(b'f') => self.word("false", JsValue::Bool(false)),
            Some(b'n') => self.word("null", JsValue::Null),
            Some(_) => Err("no value begins so"),
            None => Err("it ends before a value"),
        }
    }

    /// Reads what stands one deeper.
    fn within(&mut self, read: fn(&mut Self) -> Parsed<JsValue>) -> Parsed<JsValue> {
        if self.depth == MOST_DEPTH {
            return Err("lists and objects stand too deep in one another");
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blanks();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn word(&mut self, word: &str, value: JsValue) -> Parsed<JsValue> {
        if !self.rest().starts_with(word) {
            return Err("no value begins so");
        }
        self.at += word.len();
        Ok(value)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn list(&mut self) -> Parsed<JsValue> {
        let mut values = Vec::new();
        if self.takes(b']') {
            return Ok(JsValue::List(values));
        }
        loop {
            self.skip_blanks();
            values.push(self.value()?);
            self.skip_blanks();
            if self.takes(b']') {
                return Ok(JsValue::List(values));
            }
            if !self.takes(b',') {
                return Err("a comma or the end of the list is missing");
            }
        }
    }

    fn object(&mut self) -> Parsed<JsValue> {
        let mut members = Vec::new();
        if self.takes(b'}') {
            return Ok(JsObject::default().into());
        }
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'"') {
                return Err("a name in quotation marks is missing");
            }
            let name = self.string()?;
            self.skip_blanks();
            if !self.takes(b':') {
                return Err("a colon is missing");
            }
            self.skip_blanks();
            members.push((name, self.value()?));
            self.skip_blanks();
            if self.takes(b'}') {
                return Ok(JsObject::of(members).into());
            }
            if !self.takes(b',') {
                return Err("a comma or the end of the object is missing");
            }
        }
    }

    fn string(&mut self) -> Parsed<JsText> {
        self.at += 1;
        let mut units = Vec::new();
        loop {
            let rest = self.rest();
            let plain = rest.bytes().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20));
            let plain = rest.get(..plain.count()).unwrap_or_default();
            units.extend(plain.encode_utf16());
            self.at += plain.len();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(JsText(units));
                }
                Some(b'\\') => units.push(self.escape()?),
                Some(_) => return Err("a control character stands in a text without an escape"),
                None => return Err("it ends within a text"),
            }
        }
    }

    fn escape(&mut self) -> Parsed<u16> {
        let unknown = "there is no such escape";
        let unit = match self.text.as_bytes().get(self.at + 1) {
            Some(b'b') => 0x8,
            Some(b't') => 0x9,
            Some(b'n') => 0xa,
            Some(b'f') => 0xc,
            Some(b'r') => 0xd,
            Some(plain @ (b'"' | b'\\' | b'/')) => u16::from(*plain),
            Some(b'u') => {
                let digits = self.text.get(self.at + 2..self.at + 6).ok_or(unknown)?;
                // A sign in front would be read as a part of the number.
                let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                let unit = u16::from_str_radix(digits, 16).ok().filter(|_| is_hex).ok_or(unknown)?;
                self.at += 4;
                unit
            }
            _ => return Err(unknown),
        };
        self.at += 2;
        Ok(unit)
    }

    fn number(&mut self) -> Parsed<JsValue> {
        let start = self.at;
        self.takes(b'-');
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if !self.takes(b'+') {
                self.takes(b'-');
            }
            self.digits()?;
        }
        let number = self.text.get(start..self.at).unwrap_or_default().parse();
        number.map(JsValue::Number).map_err(|_unreachable| "this is no number")
    }

    /// Takes digits, of which there must be one.
    fn digits(&mut self) -> Parsed<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            Err("a digit is missing")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{compact, indented};
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = match parse(text.as_bytes()) {
            Ok(value) => compact(&value),
            Err(problem) => problem.to_string(),
        };
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn values_are_read() {
        check(" [ ] ", "[]");
        check("\u{feff}{\r\n\t}", "{}");
        check(r#"["\u00e9\ud83d\ude00\/\ud83d"]"#, "[\"é😀/\\ud83d\"]");
        check("[1.0,-0,1E2,1e+2,0.1e-6,1e400,-1e-400]", "[1,0,100,100,1e-7,null,0]");
        check(
            r#"{"a":{"a":1,"b":[null,true,false]}}"#,
            r#"{"a":{"a":1,"b":[null,true,false]}}"#,
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, expected) in [
            ("", "line 1, column 1: it ends before a value"),
            ("[1,]", "line 1, column 4: no value begins so"),
            ("[1", "line 1, column 3: a comma or the end of the list is missing"),
            (
                "{\n  \"ä\": 01}",
                "line 2, column 9: a comma or the end of the object is missing",
            ),
            ("{a:1}", "line 1, column 2: a name in quotation marks is missing"),
            ("{\"a\" 1}", "line 1, column 6: a colon is missing"),
            ("\"a", "line 1, column 3: it ends within a text"),
            (
                "\"a\tb\"",
                "line 1, column 3: a control character stands in a text without an escape",
            ),
            ("\"\\x\"", "line 1, column 2: there is no such escape"),
            ("\"\\u+123\"", "line 1, column 2: there is no such escape"),
            ("\"\\u12é\"", "line 1, column 2: there is no such escape"),
            ("-", "line 1, column 2: a digit is missing"),
            ("1.", "line 1, column 3: a digit is missing"),
            ("nul", "line 1, column 1: no value begins so"),
            ("1 2", "line 1, column 3: something follows the end"),
            ("\n\n?", "line 3, column 1: no value begins so"),
        ] {
            check(text, &format!("it is not JSON: {expected}"));
        }
        assert_eq!(parse(b"\"\xff\""), Err(JsonProblem::NotText { at: 1 }));
    }

    #[test]
    fn what_stands_too_deep_is_refused_without_harm() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        check(&nested(MOST_DEPTH), &nested(MOST_DEPTH));
        let at = MOST_DEPTH + 1;
        check(
            &nested(at),
            &format!("it is not JSON: line 1, column {at}: lists and objects stand too deep in one another"),
        );
        assert!(parse("[".repeat(1 << 20).as_bytes()).is_err());
    }

    fn values() -> impl Strategy<Value = JsValue> {
        let text =
            || prop::collection::vec(prop_oneof![0u16..0x80, any::<u16>(), 0xd7f0u16..0xe010], 0..6).prop_map(JsText);
        let key = prop_oneof![text(), "[0-9]{1,11}".prop_map(|digits| digits.as_str().into())];
        let leaf = prop_oneof![
            Just(JsValue::Null),
            any::<bool>().prop_map(JsValue::Bool),
            // Nothing is smaller than nothing: a zero loses its sign.
            prop::num::f64::NORMAL.prop_map(JsValue::Number),
            text().prop_map(JsValue::Text),
        ];
        leaf.prop_recursive(4, 24, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(JsValue::List),
                prop::collection::vec((key.clone(), inner), 0..5).prop_map(|members| JsObject::of(members).into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was(value in values()) {
            prop_assert_eq!(parse(compact(&value).as_bytes()), Ok(value.clone()));
            prop_assert_eq!(parse(indented(&value).as_bytes()), Ok(value));
        }

        #[test]
        fn nothing_makes_it_panic(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\",:\\u0e-1. tfn".to_vec())], 0..40)) {
            if let Ok(value) = parse(&bytes) {
                let written = compact(&value);
                prop_assert_eq!(parse(written.as_bytes()).map(|again| compact(&again)), Ok(written));
            }
        }
    }
}
