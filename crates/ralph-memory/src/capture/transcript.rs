//! Transcripts: every line that an agent prints, cleaned before it reaches the disk.
//!
//! A line of JSON stays one: its strings are read, cleaned and written again, everything else stays byte for byte. A private
//! key over several lines of text, or over several pieces of a message, is masked piece by piece. Of any other secret that
//! comes in two pieces the second is masked; the first was written before anybody could know.

use std::collections::HashMap;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::clean::{visible_without, visible_without_secrets};
use super::secrets::{SecretKind, find};

/// The keys under which agents send their messages in pieces.
const PIECE_KEYS: [&str; 8] = [
    "text",
    "delta",
    "content",
    "thinking",
    "partial_json",
    "chunk",
    "output",
    "data",
];

/// The end of a piece that may be the beginning of a secret, in bytes.
const MOST_TAIL: usize = 256;

/// The most bytes between the line that begins a key and the key itself.
const MOST_BEGINNING: usize = 2048;

/// How a key looks that goes on: a line that begins it, and base64.
fn key_so_far(pieces: Pieces) -> String {
    let end = match pieces {
        Pieces::AreJoined => "",
        Pieces::AreLines => "\n",
    };
    format!("{0}BEGIN PRIVATE KEY{0}\n{1}{end}", "-".repeat(5), "A".repeat(64))
}

/// Cleans the lines of one transcript, in order.
#[derive(Debug, Default)]
pub struct TranscriptCleaner {
    lines: Stream,
    pieces: HashMap<&'static str, Stream>,
}

impl TranscriptCleaner {
    /// A line without control characters and secrets. A line that is JSON stays JSON.
    pub fn clean_line(&mut self, line: &str) -> String {
        let line = line.trim_end_matches(['\n', '\r']);
        if serde_json::from_str::<IgnoredAny>(line).is_ok() {
            // Between its strings a line break means nothing, and inside there is none.
            let cleaned = self.clean_strings(&line.replace(['\n', '\r'], " "));
            mask_in_strings(&cleaned)
        } else {
            // A line break inside would make two lines of one.
            let cleaned = self.lines.clean(&format!("{line}\n"), Pieces::AreLines);
            cleaned.trim_end_matches('\n').replace('\n', " ")
        }
    }

    /// A line of JSON with each of its strings cleaned by itself.
    fn clean_strings(&mut self, line: &str) -> String {
        let mut cleaned = String::with_capacity(line.len());
        let mut at = 0;
        let mut key = None;
        for range in strings(line) {
            let literal = line.get(range.clone()).unwrap_or_default();
            let is_key = line
                .get(range.end..)
                .is_some_and(|rest| rest.trim_start().starts_with(':'));
            let stream = if is_key { None } else { key.take() };
            if is_key {
                key = PIECE_KEYS.into_iter().find(|name| literal.trim_matches('"') == *name);
            }
            if let Some(new) = self.clean_string(literal, stream) {
                cleaned.push_str(line.get(at..range.start).unwrap_or_default());
                cleaned.push_str(&new);
                at = range.end;
            }
        }
        cleaned.push_str(line.get(at..).unwrap_or_default());
        cleaned
    }

    /// A string of JSON, cleaned; none when it is clean already.
    fn clean_string(&mut self, literal: &str, stream: Option<&'static str>) -> Option<String> {
        // Half of a pair of surrogates is no text. What is written in ASCII around it still is.
        let text = serde_json::from_str::<String>(literal).unwrap_or_else(|_| literal.trim_matches('"').to_owned());
        let cleaned = match stream {
            Some(name) => self.pieces.entry(name).or_default().clean(&text, Pieces::AreJoined),
            None => visible_without_secrets(&text),
        };
        if cleaned == text {
            return None;
        }
        serde_json::to_string(&cleaned).ok()
    }
}

/// How the pieces of a stream stand to one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pieces {
    /// One after the other, with nothing between.
    AreJoined,
    /// Each is a line, and only a key goes over several.
    AreLines,
}

/// A text that comes in pieces: what of the pieces so far matters for the next one.
#[derive(Debug, Default)]
struct Stream {
    before: String,
}

impl Stream {
    /// The next piece, cleaned, with its secrets masked, also those that began before it.
    fn clean(&mut self, piece: &str, pieces: Pieces) -> String {
        let start = self.before.len();
        let joined = std::mem::take(&mut self.before) + piece;
        let found = find(&joined);
        let cleaned = visible_without(&found, &joined, start);
        let open_key = joined.rfind("-----BEGIN ").filter(|begin| {
            let after = joined.get(*begin..).unwrap_or_default();
            !after.contains("-----END ")
        });
        let key_end = open_key.and_then(|begin| {
            let key = found
                .iter()
                .find(|secret| secret.kind == SecretKind::PrivateKey && secret.range.start == begin)?;
            Some(key.range.end)
        });
        let rest = |at: usize| joined.get(at..).unwrap_or_default();
        self.before = match (open_key, key_end) {
            (Some(_), Some(end)) if rest(end).trim().is_empty() => key_so_far(pieces),
            (Some(begin), None) if joined.len() - begin <= MOST_BEGINNING => rest(begin).to_owned(),
            _ if pieces == Pieces::AreJoined => tail(&joined).to_owned(),
            _ => String::new(),
        };
        cleaned
    }
}

/// The last word of a text, if it is not too long to be a part of a secret.
fn tail(text: &str) -> &str {
    let last = text
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\''))
        .next()
        .unwrap_or_default();
    if last.len() <= MOST_TAIL { last } else { "" }
}

/// Where the strings of a line of JSON stand, with their quotes.
fn strings(line: &str) -> Vec<Range<usize>> {
    let mut strings = Vec::new();
    let mut start = None;
    let mut bytes = line.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (byte, start) {
            (b'"', None) => start = Some(at),
            (b'"', Some(from)) => {
                strings.push(from..at + 1);
                start = None;
            }
            (b'\\', Some(_)) => {
                bytes.next();
            }
            _ => {}
        }
    }
    strings
}

/// Masks what only the key before a string gives away, as in `"SecretAccessKey": "…"`. Escapes are masked whole or not
/// at all, so that JSON stays JSON.
fn mask_in_strings(line: &str) -> String {
    let plain = Unescaped::of(line);
    let found = find(&plain.text);
    if found.is_empty() {
        return line.to_owned();
    }
    let strings = strings(line);
    let mut masked = String::with_capacity(line.len());
    let mut at = 0;
    for secret in found {
        let range = plain.place_in_line(&secret.range);
        let following = strings.partition_point(|string| string.end <= range.end);
        let inside = strings
            .get(following)
            .is_some_and(|string| string.start < range.start && range.end < string.end);
        if inside && range.start >= at {
            masked.push_str(line.get(at..range.start).unwrap_or_default());
            masked.push_str(&secret.kind.mask());
            at = range.end;
        }
    }
    masked.push_str(line.get(at..).unwrap_or_default());
    masked
}

/// A line of JSON in which characters that need no escape have none: a secret may hold a slash, which some programs write
/// as `\/`, or a plus, which others write as `\u002B`.
struct Unescaped {
    text: String,
    /// Every escape of the line: where it stands in the text and in the line.
    escapes: Vec<(Range<usize>, Range<usize>)>,
}

impl Unescaped {
    fn of(line: &str) -> Self {
        let mut text = String::with_capacity(line.len());
        let mut escapes = Vec::new();
        let mut at = 0;
        while let Some(found) = line.get(at..).and_then(|rest| rest.find('\\')) {
            let start = at + found;
            text.push_str(line.get(at..start).unwrap_or_default());
            let escape = escape_at(line, start);
            let from = text.len();
            match needless(escape) {
                Some(c) => text.push(c),
                None => text.push_str(escape),
            }
            at = start + escape.len();
            escapes.push((from..text.len(), start..at));
        }
        text.push_str(line.get(at..).unwrap_or_default());
        Self { text, escapes }
    }

    /// Where a part of the text stands in the line, with the whole of every escape that it holds a part of.
    fn place_in_line(&self, range: &Range<usize>) -> Range<usize> {
        let start = match self.escapes.get(..self.first_after(range.start)).and_then(<[_]>::last) {
            Some((text, line)) if text.end > range.start => line.start,
            Some((text, line)) => line.end + (range.start - text.end),
            None => range.start,
        };
        let end = match self
            .escapes
            .get(..self.escapes.partition_point(|(text, _)| text.start < range.end))
        {
            Some([.., (text, line)]) => line.end + range.end.saturating_sub(text.end),
            _ => range.end,
        };
        start..end
    }

    /// How many escapes begin at a place of the text, or before it.
    fn first_after(&self, place: usize) -> usize {
        self.escapes.partition_point(|(text, _)| text.start <= place)
    }
}

/// The escape that begins at a backslash.
fn escape_at(line: &str, start: usize) -> &str {
    let rest = line.get(start..).unwrap_or_default();
    let length = match rest.chars().nth(1) {
        Some('u') => rest
            .char_indices()
            .skip(2)
            .take(4)
            .take_while(|(_, c)| c.is_ascii_hexdigit())
            .last()
            .map_or(2, |(at, _)| at + 1),
        Some(c) => 1 + c.len_utf8(),
        None => 1,
    };
    rest.get(..length).unwrap_or(rest)
}

/// The character of an escape that could have done without.
fn needless(escape: &str) -> Option<char> {
    if escape == "\\/" {
        return Some('/');
    }
    let digits = escape.strip_prefix("\\u").filter(|digits| digits.len() == 4)?;
    let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    (c.is_ascii_graphic() && !matches!(c, '"' | '\\')).then_some(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn token() -> String {
        format!("ghp_{}", "a1B2".repeat(9))
    }

    fn base64() -> String {
        "q7Zr2mKx9TbVw4LcHs8Ny3Gd".chars().cycle().take(64).collect()
    }

    fn private_key() -> String {
        let dashes = "-".repeat(5);
        format!(
            "{dashes}BEGIN RSA PRIVATE KEY{dashes}\n{}\n{}\nAb4=\n{dashes}END RSA PRIVATE KEY{dashes}",
            base64(),
            base64()
        )
    }

    fn clean_lines(lines: &[String]) -> Vec<String> {
        let mut cleaner = TranscriptCleaner::default();
        lines.iter().map(|line| cleaner.clean_line(line)).collect()
    }

    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(clean_lines(&[line.to_owned()]), [expected], "of {line}");
    }

    #[test]
    fn lines_of_json_keep_every_byte_that_is_no_secret() {
        let clean = r#" { "a" : [1.0, 1e400, "\u00e9\/x", "b\\"], "z":"\ud83d\ude00", "n": 12345678901234567890123 } "#;
        check(clean, clean);
        let token = token();
        check(
            &format!(r#"{{"b": 1.50, "a":"it is {token}\n", "c":"\/"}}"#),
            r#"{"b": 1.50, "a":"it is [secret: github]\n", "c":"\/"}"#,
        );
        check(
            &format!(r#"{{"{token}":"\u0067{}"}}"#, token.trim_start_matches('g')),
            r#"{"[secret: github]":"[secret: github]"}"#,
        );
        check(
            &format!(r#"{{"a":"\ud800 {token}"}}"#),
            r#"{"a":"\\ud800 [secret: github]"}"#,
        );
    }

    #[test]
    fn keys_in_json_are_masked_however_often_they_are_escaped() {
        let mut line = json!({"content": [{"text": format!("see\n{}\nthere \"quoted\"", private_key())}]}).to_string();
        for _ in 0..3 {
            let cleaned = clean_lines(&[line.clone()]).concat();
            assert!(serde_json::from_str::<Value>(&cleaned).is_ok(), "{cleaned}");
            assert!(
                !cleaned.contains("q7Zr2mKx9T") && cleaned.contains("[secret: private-key]"),
                "{cleaned}"
            );
            assert!(cleaned.contains("there"), "{cleaned}");
            line = json!({ "input": line }).to_string();
        }
    }

    #[test]
    fn a_key_that_is_cut_off_does_not_take_the_next_string_along() {
        let key = private_key();
        let (begin, _) = key.split_at(120);
        let line = json!({"a": begin, "b": base64(), "c": 1}).to_string();
        check(
            &line,
            &json!({"a": "[secret: private-key]", "b": base64(), "c": 1}).to_string(),
        );
    }

    #[test]
    fn secrets_that_only_their_key_gives_away_are_masked() {
        let secret: String = base64().chars().take(40).collect();
        check(
            &format!(r#"{{"SecretAccessKey": "{secret}", "x": true}}"#),
            r#"{"SecretAccessKey": "[secret: aws]", "x": true}"#,
        );
        let slashes = secret.replace('T', "/").replace('L', "+");
        for escaped in [
            slashes.replace('/', "\\/"),
            slashes.replace('/', "\\u002f").replace('+', "\\u002B"),
        ] {
            check(
                &format!(r#"{{"a": "\n\/", "SecretAccessKey": "{escaped}", "x": "\/"}}"#),
                r#"{"a": "\n\/", "SecretAccessKey": "[secret: aws]", "x": "\/"}"#,
            );
        }
    }

    #[test]
    fn lines_of_text_lose_control_characters_and_secrets() {
        check(
            &format!("\u{1b}[1mtoken\u{1b}[0m: {}\u{7}", token()),
            "token: [secret: github]",
        );
        check(
            &format!("data: {{\"a\": \"{}\"", token()),
            "data: {\"a\": \"[secret: github]\"",
        );
        check("", "");
        check("a\rb", "a b");
    }

    #[test]
    fn a_key_over_several_lines_of_text_is_masked_and_what_follows_is_not() {
        let lines: Vec<String> = format!("$ cat key\n{}\nand then some prose", private_key())
            .lines()
            .map(str::to_owned)
            .collect();
        let cleaned = clean_lines(&lines);
        assert_eq!(cleaned.first().map(String::as_str), Some("$ cat key"));
        assert_eq!(cleaned.last().map(String::as_str), Some("and then some prose"));
        assert!(
            !cleaned.concat().contains("q7Zr") && !cleaned.concat().contains("Ab4="),
            "{cleaned:#?}"
        );
        let cut: Vec<String> = lines
            .iter()
            .take(3)
            .cloned()
            .chain(["Then it broke off.".to_owned()])
            .collect();
        assert_eq!(clean_lines(&cut).last().map(String::as_str), Some("Then it broke off."));
    }

    #[test]
    fn secrets_over_two_pieces_of_a_message_are_masked_as_far_as_they_can_be() {
        let line = |text: &str| json!({"type": "delta", "delta": {"text": text}}).to_string();
        let token = token();
        let (first, second) = token.split_at(12);
        assert_eq!(
            clean_lines(&[line(&format!("it is {first}")), line(&format!("{second} you see"))]),
            [line(&format!("it is {first}")), line("[secret: github] you see")]
        );
        for at in 30..private_key().len() {
            let key = private_key();
            let (first, second) = key.split_at(at);
            let cleaned = clean_lines(&[line(first), line(second), line(" and more")]).concat();
            assert!(
                !cleaned.contains("q7Zr2mKx9TbVw4LcHs8Ny3Gdq7Zr"),
                "cut at {at}: {cleaned}"
            );
            assert!(cleaned.contains(" and more"));
        }
    }

    proptest! {
        #[test]
        fn json_stays_json_and_one_line_stays_one(
            texts in prop::collection::vec("(\\p{Any}|[\"\\\\]){0,30}", 0..4), plain in "\\p{Any}{0,40}"
        ) {
            let key = private_key();
            let value = json!({"text": texts, "content": format!("{}{key}", texts.concat()), key.clone(): token()});
            let cleaned = clean_lines(&[value.to_string(), plain, value.to_string()]);
            prop_assert_eq!(cleaned.len(), 3);
            for line in [cleaned.first(), cleaned.last()] {
                let line = line.map(String::as_str).unwrap_or_default();
                prop_assert!(serde_json::from_str::<Value>(line).is_ok());
                prop_assert!(!line.contains("q7Zr2mKx9T") && !line.contains("ghp_a1B2"));
            }
            prop_assert!(cleaned.iter().all(|line| !line.contains('\n')));
        }
    }
}
