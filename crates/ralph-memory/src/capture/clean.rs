//! Cleans what comes from agents before it is kept: no control characters, nothing invisible that hides text, no secrets,
//! no more than there is room for.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use ralph_model::without_invisible;
use unicode_segmentation::GraphemeCursor;

use crate::secrets::{Secret, find, mask};

/// The longest approach, reason or suggestion, in characters.
pub const MOST_REASON: usize = 600;

/// The longest output of a failing program, in characters of whole lines.
pub const MOST_ERROR_OUTPUT: usize = 500;

/// The longest title of a long note, in characters.
pub(super) const MOST_TITLE: usize = 200;

/// The longest body of a long note, in characters. How many words of it are kept is decided where it is written.
pub(super) const MOST_KNOWLEDGE: usize = 64 << 10;

/// The most tags, and the longest one or the longest category, in characters.
pub(super) const MOST_TAGS: usize = 20;
pub(super) const MOST_TAG: usize = 50;

/// What stands at the end of a text that was cut.
const CUT: &str = " […cut]";

/// A text as it may be kept, in at most `cap` characters: control characters but line breaks and tabs are gone, escape
/// sequences and what hides or turns text around as well; secrets are masked; where it was cut, it says so.
#[must_use]
pub fn clean(text: &str, cap: usize) -> String {
    capped(visible_without_secrets(text).trim(), cap)
}

/// The same on one line with single spaces.
pub(super) fn clean_line_of(text: &str, cap: usize) -> String {
    let text = clean(text, usize::MAX);
    capped(&text.split_whitespace().collect::<Vec<_>>().join(" "), cap)
}

/// A text in at most so many characters. Signs that belong together, as an emoji with its joiners, stay together.
fn capped(text: &str, cap: usize) -> String {
    if text.len() <= cap || text.chars().nth(cap).is_none() {
        return text.to_owned();
    }
    let mark_length = CUT.chars().count();
    let (room, mark) = if cap > mark_length {
        (cap - mark_length, CUT)
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
    // A joiner at the cut has lost what it joined.
    format!("{}{mark}", without_invisible(kept).trim_end())
}

/// What a person would see of a text, with secrets masked: those that stand in it, and those that only show when what is
/// invisible is gone.
pub(super) fn visible_without_secrets(text: &str) -> Cow<'_, str> {
    visible_without(&find(text), text, 0)
}

/// The same from `start` on, when the secrets in the text are known.
pub(super) fn visible_without<'a>(secrets: &[Secret], text: &'a str, start: usize) -> Cow<'a, str> {
    if start == 0 && secrets.is_empty() && is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut seen = String::with_capacity(text.len());
    let mut at = start;
    // Each part by itself: an escape character before a secret must not take its first sign along.
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

/// Whether all of a text is visible and nothing but ASCII, as most of what agents print is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

/// The characters of a text that a person would see, and its line breaks.
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

/// Skips a string for the terminal, such as a title or a link, with its end. One without an end is text: it must not take
/// the rest along.
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
            // Such a string holds none of these; and no two searches read the same characters.
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
    fn control_characters_and_escape_sequences_are_gone() {
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
    fn an_escape_sequence_without_an_end_does_not_take_the_rest_along() {
        check("\u{1b}]0;title\nnext line", "0;title\nnext line");
        check("\u{1b}]0;title \u{1b}[1mbold", "0;title bold");
        check("\u{1b}[12", "");
        check("\u{1b}[12é", "é");
    }

    #[test]
    fn what_hides_or_turns_text_is_gone_and_what_scripts_and_emoji_need_stays() {
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
    fn secrets_are_masked_also_when_something_invisible_splits_them() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        check(&format!("it is {token}."), "it is [secret: github].");
        let (start, end) = token.split_at(10);
        check(&format!("it is {start}\u{200b}{end}."), "it is [secret: github].");
        check(&format!("it is {start}\u{1b}[0m{end}."), "it is [secret: github].");
        check(&format!("it is \u{1b}[{token}."), "it is [secret: github].");
    }

    #[test]
    fn fault_3_texts_are_cut_at_whole_characters_and_say_so() {
        assert_eq!(clean("0123456789abcdef", 16), "0123456789abcdef");
        assert_eq!(clean("0123456789abcdefg", 16), "012345678 […cut]");
        assert_eq!(clean("日本語日本語日本語日", 9), "日本 […cut]");
        assert_eq!(clean("ab", 1), "a");
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(clean(&family.repeat(4), 15), format!("{family} […cut]"));
        // A secret at the edge is masked before the text is cut.
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert_eq!(clean(&format!("the token {token}"), 30), "the token [secret: github]");
    }

    proptest! {
        #[test]
        fn anything_is_cleaned_once_and_for_all_within_its_cap(text in "(\\p{Any}|\u{1b}[\\[\\]P]|\u{200d}){0,80}", cap in 0usize..100) {
            let cleaned = clean(&text, cap);
            prop_assert!(cleaned.chars().count() <= cap);
            prop_assert!(!cleaned.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert_eq!(ralph_model::invisible_characters(&cleaned), vec![]);
            prop_assert_eq!(clean(&cleaned, cap), cleaned);
        }
    }
}
