//! Transcripts: cleans every line of an agent's output before it is written to disk.
//!
//! A JSON line stays valid: its strings are decoded, cleaned and encoded again, and all other bytes are kept. A private
//! key over several lines or message pieces is masked piece by piece. A piece that ends with the start of a token loses
//! that part, because the piece is written before the next one arrives.

use std::borrow::Cow;
use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::FinderRev;
use serde::de::IgnoredAny;

use super::clean::{visible_without, visible_without_secrets};
use crate::secrets::{Secret, SecretKind, find, is_rest_of_line, open_token};

/// The keys under which agents send message pieces.
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

static KEY_HEADERS: LazyLock<FinderRev<'static>> = LazyLock::new(|| FinderRev::new("-----BEGIN "));

/// The maximum length of a piece's end that may start a secret, in bytes.
const MAX_TAIL: usize = 2048;

/// The maximum distance between a key's BEGIN line and the key itself, in bytes.
const MAX_HEADER: usize = 2048;

/// A stand-in for an unfinished key: a BEGIN line and base64.
fn key_so_far(pieces: Pieces) -> String {
    let end = match pieces {
        Pieces::AreJoined => "",
        Pieces::AreLines => "\n",
    };
    format!("{0}BEGIN PRIVATE KEY{0}\n{1}{end}", "-".repeat(5), "A".repeat(64))
}

/// Cleans the lines of a transcript, in order.
#[derive(Debug, Default)]
pub struct TranscriptCleaner {
    lines: Stream,
    pieces: HashMap<&'static str, Stream>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanLine<'a> {
    /// Still valid JSON.
    Json(Cow<'a, str>),
    Text(Cow<'a, str>),
}

impl TranscriptCleaner {
    /// Cleans a line. JSON stays JSON, and clean lines are not copied.
    pub fn clean_line<'a>(&mut self, line: &'a str) -> CleanLine<'a> {
        let line = line.trim_end_matches(['\n', '\r']);
        if serde_json::from_str::<IgnoredAny>(line).is_ok() {
            // A line break is only white space between strings and cannot occur inside them.
            let line = replaced(Cow::Borrowed(line), ['\n', '\r']);
            let cleaned = match self.clean_strings(&line) {
                Some(cleaned) => Cow::Owned(cleaned),
                None => line,
            };
            CleanLine::Json(match mask_in_strings(&cleaned) {
                Some(masked) => Cow::Owned(masked),
                None => cleaned,
            })
        } else {
            // A line break would split the line.
            let cleaned = self.lines.clean_line(line);
            CleanLine::Text(replaced(cleaned, ['\n', '\n']))
        }
    }

    /// The same for the next piece of a streamed text.
    pub fn clean_text<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        let stream = self.pieces.entry("text").or_default();
        stream.clean(piece, Pieces::AreJoined)
    }

    /// A JSON line with its strings cleaned; `None` if all are clean.
    fn clean_strings(&mut self, line: &str) -> Option<String> {
        let mut cleaned: Option<String> = None;
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
                let cleaned = cleaned.get_or_insert_with(|| String::with_capacity(line.len()));
                cleaned.push_str(line.get(at..range.start).unwrap_or_default());
                cleaned.push_str(&new);
                at = range.end;
            }
        }
        if let Some(cleaned) = &mut cleaned {
            cleaned.push_str(line.get(at..).unwrap_or_default());
        }
        cleaned
    }

    /// A cleaned JSON string; `None` if it is clean.
    fn clean_string(&mut self, literal: &str, stream: Option<&'static str>) -> Option<String> {
        let inside = literal.trim_matches('"');
        let text = if literal.contains('\\') {
            // An unpaired surrogate cannot be decoded; its ASCII surroundings are still cleaned.
            let text = serde_json::from_str::<String>(literal);
            Cow::Owned(text.unwrap_or_else(|_| inside.to_owned()))
        } else {
            Cow::Borrowed(inside)
        };
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

/// Replaces these characters with spaces.
fn replaced(text: Cow<'_, str>, chars: [char; 2]) -> Cow<'_, str> {
    if text.contains(chars) {
        Cow::Owned(text.replace(chars, " "))
    } else {
        text
    }
}

/// How the pieces of a stream are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pieces {
    /// Consecutive parts of one text.
    AreJoined,
    /// Lines without their ends; only a key extends over several.
    AreLines,
}

/// A streamed text: keeps what is needed to clean the next piece.
#[derive(Debug, Default)]
pub(super) struct Stream {
    before: String,
}

impl Stream {
    /// Cleans the next line, including secrets that began in earlier lines.
    pub(super) fn clean_line<'a>(&mut self, line: &'a str) -> Cow<'a, str> {
        self.clean(line, Pieces::AreLines)
    }

    /// Cleans the next piece, including secrets that began in earlier pieces.
    fn clean<'a>(&mut self, piece: &'a str, pieces: Pieces) -> Cow<'a, str> {
        let start = self.before.len();
        if start == 0 {
            let found = self.find(piece, pieces);
            return visible_without(&found, piece, 0);
        }
        let joined = std::mem::take(&mut self.before) + piece;
        let found = self.find(&joined, pieces);
        Cow::Owned(visible_without(&found, &joined, start).into_owned())
    }

    /// The secrets in a text, including one that may continue in the next piece. Updates what is kept for that piece.
    fn find(&mut self, text: &str, pieces: Pieces) -> Vec<Secret> {
        let mut found = find(text);
        self.before = next_before(text, &found, pieces);
        if pieces == Pieces::AreJoined
            && let Some(open) = open_token(text)
            && found.last().is_none_or(|last| last.range.end <= open.range.start)
        {
            found.push(open);
        }
        found
    }
}

/// What the next piece needs to know about this text.
fn next_before(joined: &str, found: &[Secret], pieces: Pieces) -> String {
    let end_of_line = match pieces {
        Pieces::AreJoined => "",
        Pieces::AreLines => "\n",
    };
    let begin = KEY_HEADERS.rfind(joined.as_bytes());
    let open_key = begin.filter(|begin| {
        let after = joined.get(*begin..).unwrap_or_default();
        !after.contains("-----END ")
    });
    let key_end = open_key.and_then(|begin| {
        let key = found
            .iter()
            .find(|secret| secret.kind == SecretKind::PRIVATE_KEY && secret.range.start == begin)?;
        Some(key.range.end)
    });
    let rest = |at: usize| joined.get(at..).unwrap_or_default();
    match (open_key, key_end) {
        (Some(_), Some(end)) if is_rest_of_line(rest(end)) => key_so_far(pieces),
        (Some(begin), None) if joined.len() - begin <= MAX_HEADER => format!("{}{end_of_line}", rest(begin)),
        _ if pieces == Pieces::AreJoined => tail(joined).to_owned(),
        _ => String::new(),
    }
}

/// The last word of a text, if it may be a part of a secret.
fn tail(text: &str) -> &str {
    let last = text
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\''))
        .next()
        .unwrap_or_default();
    if last.len() <= MAX_TAIL { last } else { "" }
}

/// The ranges of a JSON line's strings, including quotes.
fn strings(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut bytes = line.bytes().enumerate();
    std::iter::from_fn(move || {
        let (start, _) = bytes.find(|(_, byte)| *byte == b'"')?;
        loop {
            match bytes.next()? {
                (end, b'"') => return Some(start..end + 1),
                (_, b'\\') => drop(bytes.next()),
                _ => {}
            }
        }
    })
}

/// Masks secrets that only the key reveals, as in `"SecretAccessKey": "…"`; `None` if there are none. An escape is
/// masked as a whole, so the JSON stays valid.
fn mask_in_strings(line: &str) -> Option<String> {
    let plain = unescaped(line);
    let found = find(&plain);
    if found.is_empty() {
        return None;
    }
    let mut strings = strings(line).peekable();
    let mut places = Places::of(line);
    let mut masked = String::with_capacity(line.len());
    let mut at = 0;
    for secret in found {
        let range = places.in_line(&secret.range);
        while strings.next_if(|string| string.end <= range.end).is_some() {}
        let inside = strings
            .peek()
            .is_some_and(|string| string.start < range.start && range.end < string.end);
        if inside && range.start >= at {
            masked.push_str(line.get(at..range.start).unwrap_or_default());
            masked.push_str(&secret.kind.mask());
            at = range.end;
        }
    }
    masked.push_str(line.get(at..).unwrap_or_default());
    Some(masked)
}

/// A JSON line without unnecessary escapes: some programs write a slash as `\/` or a plus as `\u002B`, and a secret may
/// contain both.
fn unescaped(line: &str) -> Cow<'_, str> {
    let mut text: Option<String> = None;
    let mut at = 0;
    for (_, place) in escapes(line) {
        let Some(c) = needless(line.get(place.clone()).unwrap_or_default()) else {
            continue;
        };
        let text = text.get_or_insert_with(|| String::with_capacity(line.len()));
        text.push_str(line.get(at..place.start).unwrap_or_default());
        text.push(c);
        at = place.end;
    }
    match text {
        Some(mut text) => {
            text.push_str(line.get(at..).unwrap_or_default());
            Cow::Owned(text)
        }
        None => Cow::Borrowed(line),
    }
}

/// The escapes of a line: their ranges in the unescaped text and in the line.
fn escapes(line: &str) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let mut at = 0;
    let mut saved = 0;
    std::iter::from_fn(move || {
        let start = at + memchr::memchr(b'\\', line.as_bytes().get(at..)?)?;
        let escape = escape_at(line, start);
        at = start + escape.len();
        let from = start - saved;
        let length = needless(escape).map_or(escape.len(), char::len_utf8);
        saved += escape.len() - length;
        Some((from..from + length, start..at))
    })
}

/// Maps ranges of the unescaped text to the line, in order.
struct Places<I: Iterator<Item = (Range<usize>, Range<usize>)>> {
    escapes: Peekable<I>,
    last: Option<(Range<usize>, Range<usize>)>,
}

impl Places<std::iter::Empty<(Range<usize>, Range<usize>)>> {
    fn of(line: &str) -> Places<impl Iterator<Item = (Range<usize>, Range<usize>)>> {
        Places {
            escapes: escapes(line).peekable(),
            last: None,
        }
    }
}

impl<I: Iterator<Item = (Range<usize>, Range<usize>)>> Places<I> {
    /// The range in the line, extended to whole escapes. Ranges must be requested in order.
    fn in_line(&mut self, range: &Range<usize>) -> Range<usize> {
        while let Some(next) = self.escapes.next_if(|(text, _)| text.start <= range.start) {
            self.last = Some(next);
        }
        let start = match &self.last {
            Some((text, line)) if text.end > range.start => line.start,
            Some((text, line)) => line.end + (range.start - text.end),
            None => range.start,
        };
        while let Some(next) = self.escapes.next_if(|(text, _)| text.start < range.end) {
            self.last = Some(next);
        }
        let end = match &self.last {
            Some((text, line)) => line.end + range.end.saturating_sub(text.end),
            None => range.end,
        };
        start..end
    }
}

/// The escape at a backslash.
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

/// The character of an unnecessary escape.
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
        let clean = |line| match cleaner.clean_line(line) {
            CleanLine::Json(line) | CleanLine::Text(line) => line.into_owned(),
        };
        lines.iter().map(String::as_str).map(clean).collect()
    }

    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(clean_lines(&[line.to_owned()]), [expected], "of {line}");
    }

    #[test]
    fn json_lines_keep_every_other_byte() {
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
    fn keys_in_repeatedly_escaped_json_are_masked() {
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
    fn truncated_key_does_not_affect_the_next_string() {
        let key = private_key();
        let (begin, _) = key.split_at(120);
        let line = json!({"a": begin, "b": base64(), "c": 1}).to_string();
        check(
            &line,
            &json!({"a": "[secret: private-key]", "b": base64(), "c": 1}).to_string(),
        );
    }

    #[test]
    fn secrets_revealed_by_their_key_are_masked() {
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
    fn text_lines_are_cleaned() {
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
    fn only_the_key_in_several_lines_is_masked() {
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
    fn prefixed_key_lines_are_masked() {
        for (before, after) in [
            ("E   ", ""),
            ("E     + ", ""),
            ("  left: ", ""),
            ("2026-11-18T04:16:23.123Z INFO app: ", ""),
            ("2026-11-18 04:16:23,123 ERROR ", ""),
            ("// ", ""),
            ("web-1  | ", ""),
            ("[web] ", ""),
            ("src/authentication/keys_test.go:12: ", ""),
            ("\"", "\\n\" +"),
            ("  + '", "\\n'"),
        ] {
            let lines: Vec<String> = private_key()
                .lines()
                .map(|line| format!("{before}{line}{after}"))
                .collect();
            let follows = format!("{before}and then some prose");
            let all = [lines.clone(), vec![follows.clone()]].concat();
            let cleaned = clean_lines(&all);
            assert_eq!(cleaned.last(), Some(&follows));
            let whole = visible_without_secrets(&all.join("\n")).into_owned();
            assert!(whole.ends_with(&follows), "{whole}");
            let end_only = visible_without_secrets(&lines[2..].join("\n")).into_owned();
            for text in [cleaned.concat(), whole, end_only] {
                assert!(!text.contains("q7Zr") && !text.contains("Ab4="), "{text}");
            }
        }
    }

    #[test]
    fn secret_in_many_pieces_is_masked() {
        let line = |text: &str| json!({"type": "delta", "delta": {"text": text}}).to_string();
        let token = token();
        let (first, second) = token.split_at(12);
        assert_eq!(
            clean_lines(&[line(&format!("it is {first}")), line(&format!("{second} you see"))]),
            [line("it is [secret: github]"), line("[secret: github] you see")]
        );
        for size in 1..token.len() {
            let text = format!("it is {token} you see, and npm_config_registry is none");
            let pieces: Vec<char> = text.chars().collect();
            let lines: Vec<String> = pieces
                .chunks(size)
                .map(|piece| line(&piece.iter().collect::<String>()))
                .collect();
            let cleaned = clean_lines(&lines);
            let texts = cleaned.iter().filter_map(|line| {
                let value: Value = serde_json::from_str(line).ok()?;
                Some(value.pointer("/delta/text")?.as_str()?.to_owned())
            });
            let joined = texts.collect::<String>().replace("[secret: github]", "");
            let survives = (0..=token.len() - 10).find(|at| joined.contains(token.get(*at..at + 10).unwrap()));
            assert_eq!(survives, None, "in pieces of {size}: {joined}");
            assert!(
                joined.ends_with("you see, and npm_config_registry is none"),
                "in pieces of {size}: {joined}"
            );
        }
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
        fn json_stays_valid_on_one_line(
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
