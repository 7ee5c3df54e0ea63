//! Writes values as JavaScript does: without any blanks, or with an indent of two.

use super::{JsObject, JsText, JsValue};

/// A value without blanks.
#[must_use]
pub fn compact(value: &JsValue) -> String {
    written(value, Layout::Compact)
}

/// A value with every member on a line of its own, without a line break at the end.
#[must_use]
pub fn indented(value: &JsValue) -> String {
    written(value, Layout::Indented { depth: 0 })
}

/// How it is laid out.
#[derive(Debug, Clone, Copy)]
enum Layout {
    Compact,
    Indented { depth: usize },
}

impl Layout {
    fn deeper(self) -> Self {
        match self {
            Self::Compact => Self::Compact,
            Self::Indented { depth } => Self::Indented { depth: depth + 1 },
        }
    }

    /// Begins a line.
    fn line(self, out: &mut String) {
        if let Self::Indented { depth } = self {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        }
    }

    fn colon(self) -> &'static str {
        match self {
            Self::Compact => ":",
            Self::Indented { .. } => ": ",
        }
    }
}

fn written(value: &JsValue, layout: Layout) -> String {
    let mut out = String::new();
    write_value(&mut out, value, layout);
    out
}

fn write_value(out: &mut String, value: &JsValue, layout: Layout) {
    match value {
        JsValue::Null => out.push_str("null"),
        JsValue::Bool(true) => out.push_str("true"),
        JsValue::Bool(false) => out.push_str("false"),
        JsValue::Number(number) => write_number(out, *number),
        JsValue::Text(text) => write_text(out, text),
        JsValue::List(values) => write_list(out, values, layout),
        JsValue::Object(object) => write_object(out, object, layout),
    }
}

/// Nothing stands for numbers that JSON has no words for.
fn write_number(out: &mut String, number: f64) {
    if number.is_finite() {
        out.push_str(ryu_js::Buffer::new().format_finite(number));
    } else {
        out.push_str("null");
    }
}

fn write_text(out: &mut String, text: &JsText) {
    out.push('"');
    for unit in char::decode_utf16(text.0.iter().copied()) {
        match unit {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\u{8}') => out.push_str("\\b"),
            Ok('\t') => out.push_str("\\t"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\u{c}') => out.push_str("\\f"),
            Ok('\r') => out.push_str("\\r"),
            Ok(control @ '\0'..'\u{20}') => escape(out, u32::from(control)),
            Ok(character) => out.push(character),
            Err(half) => escape(out, half.unpaired_surrogate().into()),
        }
    }
    out.push('"');
}

fn escape(out: &mut String, unit: u32) {
    out.push_str(&format!("\\u{unit:04x}"));
}

fn write_list(out: &mut String, values: &[JsValue], layout: Layout) {
    out.push('[');
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        layout.deeper().line(out);
        write_value(out, value, layout.deeper());
    }
    if !values.is_empty() {
        layout.line(out);
    }
    out.push(']');
}

fn write_object(out: &mut String, object: &JsObject, layout: Layout) {
    out.push('{');
    for (at, (name, value)) in object.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        layout.deeper().line(out);
        write_text(out, name);
        out.push_str(layout.colon());
        write_value(out, value, layout.deeper());
    }
    if !object.0.is_empty() {
        layout.line(out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_javascript_writes_them() {
        for (number, expected) in [
            (1.0, "1"),
            (-0.0, "0"),
            (0.85, "0.85"),
            (1e-7, "1e-7"),
            (1e-6, "0.000001"),
            (1e21, "1e+21"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (-1.5e300, "-1.5e+300"),
            (f64::INFINITY, "null"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(compact(&number.into()), expected);
        }
    }

    #[test]
    fn texts_are_escaped_where_they_must_be() {
        let text = JsText(vec![
            0x22, 0x5c, 0x8, 0x9, 0xa, 0xc, 0xd, 0x0, 0x1f, 0x7f, 0x2028, 0xd83d, 0xde00, 0xde00, 0xd83d,
        ]);
        assert_eq!(
            compact(&JsValue::Text(text)),
            "\"\\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u001f\u{7f}\u{2028}😀\\ude00\\ud83d\""
        );
    }

    #[test]
    fn an_indent_is_two_blanks_and_empty_ones_have_none() {
        let value = JsObject::from_pairs([
            ("a", JsValue::List(vec![1.0.into(), JsObject::default().into()])),
            ("b", JsValue::List(Vec::new())),
            ("c", JsObject::from_pairs([("d", JsValue::Null)]).into()),
        ]);
        insta::assert_snapshot!(indented(&value.into()), @r#"
        {
          "a": [
            1,
            {}
          ],
          "b": [],
          "c": {
            "d": null
          }
        }
        "#);
    }
}
