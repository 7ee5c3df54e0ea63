//! Cleans text from agents before it is stored: removes control and hiding characters, masks secrets and caps the
//! length.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use ralph_model::without_invisible;
use unicode_segmentation::GraphemeCursor;

use crate::secrets::{Secret, find, mask};

/// The maximum length of an approach, reason or suggestion, in characters.
pub const MAX_REASON: usize = 600;

/// The maximum length of a failing program's output, in characters of whole lines.
pub const MAX_ERROR_OUTPUT: usize = 500;

/// The maximum length of a knowledge entry's title, in characters.
pub(super) const MAX_TITLE: usize = 200;

/// The maximum length of a knowledge entry's body, in characters. The writer applies the limit in words.
pub(super) const MAX_KNOWLEDGE: usize = 64 << 10;

/// The maximum number of tags, and the maximum length of a tag or category in characters.
pub(super) const MAX_TAGS: usize = 20;
pub(super) const MAX_TAG: usize = 50;

/// Marks the end of a text that was cut.
const CUT_MARK: &str = " […cut]";

/// Cleans a text and caps it at `cap` characters. Control characters except line breaks and tabs, escape sequences and
/// hiding characters are removed, secrets are masked, and a cut is marked.
#[must_use]
pub fn clean(text: &str, cap: usize) -> String {
    capped(visible_without_secrets(text).trim(), cap)
}

/// Like [`clean`], on one line with single spaces.
pub(super) fn clean_line_of(text: &str, cap: usize) -> String {
    let text = clean(text, usize::MAX);
    capped(&text.split_whitespace().collect::<Vec<_>>().join(" "), cap)
}

/// Caps a text at this many characters without splitting a grapheme cluster.
fn capped(text: &str, cap: usize) -> String {
    if text.len() <= cap || text.chars().nth(cap).is_none() {
        return text.to_owned();
    }
    let mark_length = CUT_MARK.chars().count();
    let (room, mark) = if cap > mark_length {
        (cap - mark_length, CUT_MARK)
    } else {
        (cap, "")
    };
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let mut cursor = GraphemeCursor::new(end, text.len(), true);
    let whole = match cursor.is_boundary(text, 0) {
        Ok(false) => cursor.prev_boundary(text, 0).ok().flatten().filter(|at| *at > 0),
        _ => None,
    };
    let kept = text.get(..whole.unwrap_or(end)).unwrap_or_default();
    // A joiner at the cut has nothing to join.
    format!("{}{mark}", without_invisible(kept).trim_end())
}

/// The visible text with secrets masked, including secrets that only appear once invisible characters are removed.
pub(super) fn visible_without_secrets(text: &str) -> Cow<'_, str> {
    visible_without(&find(text), text, 0)
}

/// The same from `start` on, given the secrets in the text.
pub(super) fn visible_without<'a>(secrets: &[Secret], text: &'a str, start: usize) -> Cow<'a, str> {
    if start == 0 && secrets.is_empty() && is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut seen = String::with_capacity(text.len());
    let mut at = start;
    // Each part by itself: an escape character before a secret must not swallow its first character.
    for secret in secrets.iter().filter(|secret| secret.range.end > start) {
        seen.push_str(&visible(text.get(at..secret.range.start.max(at)).unwrap_or_default()));
        seen.push_str(&secret.kind.mask());
        at = secret.range.end;
    }
    seen.push_str(&visible(text.get(at..).unwrap_or_default()));
    match mask(&seen) {
        Cow::Borrowed(_) => Cow::Owned(seen),
        Cow::Owned(masked) => Cow::Owned(masked),
    }
}

/// Fast path for most agent output: visible ASCII only.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

/// The visible characters and line breaks of a text.
fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' => {
                rest.next_if_eq(&'\n');
                visible.push('\n');
            }
            '\u{2028}' | '\u{2029}' => visible.push('\n'),
            '\n' | '\t' => visible.push(c),
            ESCAPE => skip_sequence(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
            _ if c.is_control() => {}
            _ => visible.push(c),
        }
    }
    without_invisible(&visible).into_owned()
}

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// Skips what follows an escape character.
fn skip_sequence(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        _ => {
            while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            rest.next_if(|c| matches!(c, '0'..='~'));
        }
    }
}

fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| matches!(c, '0'..='?')).is_some() {}
    while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
    rest.next_if(|c| matches!(c, '@'..='~'));
}

/// Skips a terminal string such as a title or a link. An unterminated one is treated as text, so that it cannot swallow
/// the rest.
fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        match c {
            BELL | '\u{9c}' => {
                *rest = ahead;
                return;
            }
            ESCAPE => {
                if ahead.next_if_eq(&'\\').is_some() {
                    *rest = ahead;
                }
                return;
            }
            // A string contains none of these, which also bounds the search.
            _ if c.is_control() => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(clean(text, 1000), expected, "of {text:?}");
    }

    #[test]
    fn control_characters_and_escape_sequences_are_removed() {
        check("a\tb\nc", "a\tb\nc");
        check("a\r\nb\rc\u{2028}d", "a\nb\nc\nd");
        check("a\0b\u{8}c\u{7f}d\u{85}e", "abcde");
        check("\u{1b}[1;31mred\u{1b}[0m plain\u{1b}(B", "red plain");
        check("\u{9b}2Jcleared", "cleared");
        check("\u{1b}]8;;https://a.b\u{1b}\\link\u{1b}]8;;\u{7}", "link");
        check("\u{1b}P1$r0m\u{1b}\\after", "after");
        check("a\u{1b}", "a");
    }

    #[test]
    fn unterminated_escape_sequence_keeps_the_rest() {
        check("\u{1b}]0;title\nnext line", "0;title\nnext line");
        check("\u{1b}]0;title \u{1b}[1mbold", "0;title bold");
        check("\u{1b}[12", "");
        check("\u{1b}[12é", "é");
    }

    #[test]
    fn hiding_characters_are_removed_unless_scripts_need_them() {
        check("user\u{202e}nimda\u{2066}x\u{2069}", "usernimdax");
        check("pass\u{200b}word\u{feff} a\u{200d}b c\u{200c}d", "password ab cd");
        check(
            "👨\u{200d}👩\u{200d}👧 می\u{200c}خواهم क्\u{200d}ष",
            "👨\u{200d}👩\u{200d}👧 می\u{200c}خواهم क्\u{200d}ष",
        );
        check("é\u{200d}\u{200c}\u{200d}é", "éé");
        check("ok\u{e0069}\u{e0067}\u{e006e}", "ok");
        let scotland = "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";
        check(scotland, scotland);
        check("❤\u{fe0f} ❤\u{fe0f}\u{e0101}\u{e0102}", "❤\u{fe0f} ❤\u{fe0f}");
    }

    #[test]
    fn secrets_split_by_invisible_characters_are_masked() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        check(&format!("it is {token}."), "it is [secret: github].");
        let (start, end) = token.split_at(10);
        check(&format!("it is {start}\u{200b}{end}."), "it is [secret: github].");
        check(&format!("it is {start}\u{1b}[0m{end}."), "it is [secret: github].");
        check(&format!("it is \u{1b}[{token}."), "it is [secret: github].");
    }

    #[test]
    fn fault_3_texts_are_cut_at_whole_characters_and_marked() {
        assert_eq!(clean("0123456789abcdef", 16), "0123456789abcdef");
        assert_eq!(clean("0123456789abcdefg", 16), "012345678 […cut]");
        assert_eq!(clean("日本語日本語日本語日", 9), "日本 […cut]");
        assert_eq!(clean("ab", 1), "a");
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(clean(&family.repeat(4), 15), format!("{family} […cut]"));
        // A secret at the edge is masked before the cut.
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert_eq!(clean(&format!("the token {token}"), 30), "the token [secret: github]");
    }

    proptest! {
        #[test]
        fn cleaning_is_idempotent_and_capped(text in "(\\p{Any}|\u{1b}[\\[\\]P]|\u{200d}){0,80}", cap in 0usize..100) {
            let cleaned = clean(&text, cap);
            prop_assert!(cleaned.chars().count() <= cap);
            prop_assert!(!cleaned.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert_eq!(ralph_model::invisible_characters(&cleaned), vec![]);
            prop_assert_eq!(clean(&cleaned, cap), cleaned);
        }
    }
}
