//! The agent's last words without sigils, used as a report if it wrote none.

use super::NAMES;
use super::plain_text::{PromptLines, own_blocks};
use super::tags::{Found, find};
use crate::capture::clean::{MAX_REASON, clean};

/// How many messages are searched.
const MAX_MESSAGES: usize = 20;
/// How much of a message is read from its end, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// The end of the last message with text other than sigils, cleaned: whole sentences or lines, up to the maximum length
/// of a reason. Empty if there is none.
#[must_use]
pub fn last_words(messages: &[impl AsRef<str>], prompt: &str) -> String {
    let prompt = PromptLines::of(prompt);
    let mut said = messages.iter().rev().take(MAX_MESSAGES).map(|message| {
        let text = message.as_ref();
        let own = text.get(prompt.echo_end(text)..).unwrap_or_default();
        last_sentences(&clean(&without_sigils(end_of(own)), usize::MAX), MAX_REASON)
    });
    said.find(|words| words.contains(char::is_alphanumeric))
        .unwrap_or_default()
}

/// The end of a text, from the start of a line if there is one.
fn end_of(text: &str) -> &str {
    if text.len() <= MAX_BYTES {
        return text;
    }
    let from = text.ceil_char_boundary(text.len() - MAX_BYTES);
    let end = text.get(from..).unwrap_or_default();
    end.split_once('\n').map_or(end, |(_, rest)| rest)
}

/// A text without sigils and without tags of incomplete ones.
fn without_sigils(text: &str) -> String {
    let mut found = Found::default();
    find(text, &own_blocks(text, 0), &mut found);
    let mut rest = String::new();
    let mut at = 0;
    for sigil in &found.sigils {
        rest.push_str(text.get(at..sigil.range.start).unwrap_or_default());
        rest.push(' ');
        at = at.max(sigil.range.end);
    }
    rest.push_str(text.get(at..).unwrap_or_default());
    without_tags(&rest)
}

/// A text without sigil tags anywhere, so that it can be quoted safely.
fn without_tags(text: &str) -> String {
    let mut rest = String::new();
    for (number, part) in text.split('<').enumerate() {
        let word = part.strip_prefix('/').unwrap_or(part);
        let is_tag = number > 0 && NAMES.iter().any(|(_, name)| begins_with(word, name));
        if is_tag {
            // An unterminated tag removes the rest of its line only. The text around it must not form a new tag.
            rest.push(' ');
            let end = part.find(['>', '\n']).map_or(part.len(), |at| at);
            rest.push_str(part.get(end..).unwrap_or_default().trim_start_matches('>'));
        } else {
            rest.push_str(if number > 0 { "<" } else { "" });
            rest.push_str(part);
        }
    }
    rest
}

fn begins_with(text: &str, name: &str) -> bool {
    let is_it = text
        .get(..name.len())
        .is_some_and(|word| word.eq_ignore_ascii_case(name));
    let next = text.get(name.len()..).and_then(|rest| rest.chars().next());
    is_it && next.is_none_or(|c| !c.is_alphanumeric() && c != '-')
}

/// The end of a text within this many characters, from the start of a line or sentence. If the last sentence is longer,
/// its beginning.
fn last_sentences(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let mut last = 0;
    let mut before = ['\n', '\n'];
    for (number, (at, c)) in text.char_indices().enumerate() {
        let is_sentence = matches!(before[0], '.' | '!' | '?') && before[1].is_whitespace();
        let begins = before[1] == '\n' || matches!(before[1], '。' | '！' | '？') || is_sentence;
        if begins && !c.is_whitespace() {
            if length - number <= most {
                return text.get(at..).unwrap_or_default().to_owned();
            }
            last = at;
        }
        before = [before[1], c];
    }
    clean(text.get(last..).unwrap_or_default(), most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(messages: &[&str], expected: &str) {
        assert_eq!(last_words(messages, "the prompt"), expected, "of {messages:?}");
    }

    #[test]
    fn sigils_are_removed() {
        check(
            &["I changed the parser.\n<journal>noted</journal>\n<task-done>t-1</task-done>\n"],
            "I changed the parser.",
        );
        check(&["First.", "<task-done>t-1</task-done>"], "First.");
        check(&["Stuck. <failure-report>what_tried: it"], "Stuck.  what_tried: it");
        check(&["a < b </learning> c"], "a < b   c");
        check(&["<<task-done>task-done>"], "< task-done>");
        check(&["<task-done", "  "], "");
        check(&[], "");
    }

    #[test]
    fn echo_of_the_prompt_is_ignored() {
        let prompt = "line one\nline two of the prompt\nline three\nline four";
        let said = format!("{prompt}\nThe tests are red.");
        assert_eq!(last_words(&[said], prompt), "The tests are red.");
    }

    #[test]
    fn end_is_kept_in_whole_sentences_or_lines() {
        assert_eq!(last_sentences("One two. Three four! Five", 17), "Three four! Five");
        assert_eq!(last_sentences("One two. Three four! Five", 8), "Five");
        assert_eq!(last_sentences("one\ntwo\nthree", 10), "two\nthree");
        assert_eq!(last_sentences("一二三。四五。", 3), "四五。");
        assert_eq!(
            last_sentences("A long sentence that does not end", 16),
            "A long se […cut]"
        );
        assert_eq!(last_sentences("version 1.2 is v1.3.4 now", 8), "v […cut]");
    }

    proptest! {
        #[test]
        fn no_sigil_is_left_and_the_limit_holds(
            parts in proptest::collection::vec("<|>|/|task-done|failure-report|learning| category=\"x\"|[a-z. \n]{0,9}|日本", 0..60)
        ) {
            let said = last_words(&[parts.concat()], "");
            prop_assert!(said.chars().count() <= MAX_REASON);
            for (_, name) in NAMES {
                let tag = format!("<{name}>");
                prop_assert!(!said.contains(&tag), "{said:?}");
            }
        }
    }
}
