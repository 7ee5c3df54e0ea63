//! JSON with numbers formatted as in JavaScript: the checksums of AIWG's files cover such text.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

pub type JsonObject = Map<String, Value>;

const MAX_BYTES: usize = 256 << 20;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonProblem {
    #[error("it is too large: {bytes} bytes; the limit is {MAX_BYTES}")]
    TooLarge { bytes: usize },
    #[error("it is not JSON: {0}")]
    NotJson(String),
}

///
/// # Errors
/// When the text is too large, too deep or not JSON.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonProblem> {
    if bytes.len() > MAX_BYTES {
        return Err(JsonProblem::TooLarge { bytes: bytes.len() });
    }
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    serde_json::from_slice(text).map_err(|error| JsonProblem::NotJson(error.to_string()))
}

#[must_use]
pub fn compact(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, None);
    out
}

/// With every member on its own line, indented by two.
#[must_use]
pub fn indented(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, Some(0));
    out
}

/// The SHA-256 in hex digits.
#[must_use]
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let digits = Sha256::digest(bytes);
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn object_of<const N: usize>(members: [(&str, Value); N]) -> JsonObject {
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The kind of a value, for messages.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn write(out: &mut String, value: &Value, depth: Option<usize>) {
    let deeper = depth.map(|depth| depth + 1);
    match value {
        Value::Number(number) => match number.as_f64().filter(|number| number.is_finite()) {
            Some(number) => out.push_str(ryu_js::Buffer::new().format_finite(number)),
            None => out.push_str("null"),
        },
        Value::Array(values) => write_all(out, "[]", depth, values.iter(), |out, value| write(out, value, deeper)),
        Value::Object(members) => write_all(out, "{}", depth, members.iter(), |out, (name, value)| {
            out.push_str(&Value::from(name.as_str()).to_string());
            out.push_str(if depth.is_some() { ": " } else { ":" });
            write(out, value, deeper);
        }),
        other => out.push_str(&other.to_string()),
    }
}

fn write_all<T>(
    out: &mut String,
    brackets: &str,
    depth: Option<usize>,
    items: impl ExactSizeIterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    let line = |out: &mut String, depth: Option<usize>| {
        if let Some(depth) = depth {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        }
    };
    if items.len() == 0 {
        out.push_str(brackets);
        return;
    }
    let (open, close) = brackets.split_at(1);
    out.push_str(open);
    for (number, item) in items.enumerate() {
        if number > 0 {
            out.push(',');
        }
        line(out, depth.map(|depth| depth + 1));
        write(out, item);
    }
    line(out, depth);
    out.push_str(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_in_javascript() {
        for (text, expected) in [
            ("1.0", "1"),
            ("1e21", "1e+21"),
            ("0.000001", "0.000001"),
            ("1e-7", "1e-7"),
            ("12345678901234567890", "12345678901234567000"),
            ("-0.0", "0"),
            ("0.1", "0.1"),
        ] {
            assert_eq!(compact(&parse(text.as_bytes()).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn layout_is_that_of_json_stringify() {
        let value = parse(br#"{"b":[1,{}],"a":"\u2028\u0001\"","b":[],"c":{"d":[true,null]}}"#).unwrap();
        assert_eq!(
            compact(&value),
            "{\"b\":[],\"a\":\"\u{2028}\\u0001\\\"\",\"c\":{\"d\":[true,null]}}"
        );
        let expected = "{\n  \"b\": [],\n  \"a\": \"\u{2028}\\u0001\\\"\",\n  \"c\": {\n    \"d\": [\n      true,\n      null\n    ]\n  }\n}";
        assert_eq!(indented(&value), expected);
    }
}
