//! Writes YAML that every parser reads back: strings that need it are double-quoted, on one line.

/// A double-quoted string. Non-printable characters are escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if is_printable(c) => quoted.push(c),
            c => match u32::from(c) {
                number @ ..=0xff => quoted.push_str(&format!("\\x{number:02x}")),
                number @ ..=0xffff => quoted.push_str(&format!("\\u{number:04x}")),
                number => quoted.push_str(&format!("\\U{number:08x}")),
            },
        }
    }
    quoted.push('"');
    quoted
}

pub(super) fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|word| item(word)).collect();
    format!("[{}]", items.join(", "))
}

pub(super) fn item(word: &str) -> String {
    if is_plain(word) { word.to_owned() } else { quoted(word) }
}

/// Whether a word needs no quotes: not a number, boolean, or YAML syntax.
fn is_plain(word: &str) -> bool {
    let is_word = word.starts_with(|c: char| c.is_ascii_lowercase())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'));
    is_word
        && !matches!(
            word,
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        )
}

/// Characters that YAML allows unescaped and that do not break the line.
fn is_printable(c: char) -> bool {
    let number = u32::from(c);
    !c.is_control() && !matches!(number, 0x2028 | 0x2029 | 0xfeff | 0xfffe | 0xffff) && number & 0xfffe != 0xfffe
}
