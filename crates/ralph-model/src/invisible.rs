//! Characters that hide text or change its reading order: tag characters, bidirectional controls, zero-width characters
//! and variation selectors. A model reads them, a person does not see them.
//!
//! Emoji and several scripts need some of them, so each class has contexts in which it is kept.

use std::borrow::Cow;

/// The classes as inclusive ranges, each with the context in which it is kept.
const TABLE: &[(char, char, Stays)] = &[
    ('\u{ad}', '\u{ad}', Stays::Never),           // soft hyphen
    ('\u{34f}', '\u{34f}', Stays::InScripts),     // combining grapheme joiner
    ('\u{61c}', '\u{61c}', Stays::Never),         // Arabic letter mark
    ('\u{115f}', '\u{1160}', Stays::Never),       // Hangul fillers
    ('\u{180e}', '\u{180e}', Stays::Never),       // Mongolian vowel separator
    ('\u{200b}', '\u{200b}', Stays::Never),       // zero-width space
    ('\u{200c}', '\u{200c}', Stays::InScripts),   // zero-width non-joiner
    ('\u{200d}', '\u{200d}', Stays::AsJoiner),    // zero-width joiner
    ('\u{200e}', '\u{200f}', Stays::Never),       // left-to-right and right-to-left mark
    ('\u{202a}', '\u{202e}', Stays::Never),       // bidirectional embeddings and overrides
    ('\u{2060}', '\u{2064}', Stays::Never),       // word joiner, invisible operators
    ('\u{2066}', '\u{206f}', Stays::Never),       // bidirectional isolates, deprecated format characters
    ('\u{3164}', '\u{3164}', Stays::Never),       // Hangul filler
    ('\u{fe00}', '\u{fe0f}', Stays::AfterBase),   // variation selectors
    ('\u{feff}', '\u{feff}', Stays::Never),       // byte order mark
    ('\u{ffa0}', '\u{ffa0}', Stays::Never),       // halfwidth Hangul filler
    ('\u{e0000}', '\u{e007f}', Stays::InFlag),    // tag characters
    ('\u{e0100}', '\u{e01ef}', Stays::AfterBase), // variation selectors of ideographs
];

/// The context in which a character of the table is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stays {
    Never,
    /// Between two characters of scripts that join letters.
    InScripts,
    /// Between two characters of scripts that join letters, or between two emoji.
    AsJoiner,
    /// Directly after a character that has variants.
    AfterBase,
    /// In an emoji flag of a region: a black flag, the tags of its code, and the cancel tag.
    InFlag,
}

/// Blocks of scripts in which joiners decide how letters connect: Arabic and its relatives, and the Indic scripts.
const JOINING_SCRIPTS: &[(char, char)] = &[
    ('\u{600}', '\u{7ff}'),
    ('\u{840}', '\u{dff}'),
    ('\u{f00}', '\u{109f}'),
    ('\u{1780}', '\u{18af}'),
    ('\u{1900}', '\u{1cff}'),
    ('\u{a800}', '\u{aaff}'),
    ('\u{abc0}', '\u{abff}'),
    ('\u{fb50}', '\u{fdff}'),
    ('\u{fe70}', '\u{fefe}'),
    ('\u{10a00}', '\u{10fff}'),
    ('\u{11000}', '\u{11fff}'),
    ('\u{1e900}', '\u{1e95f}'),
];

/// Blocks that contain emoji. A joiner between two other symbols of these blocks is harmless, so characters are not
/// listed individually.
const EMOJI: &[(char, char)] = &[
    ('©', '©'),
    ('®', '®'),
    ('\u{203c}', '\u{203c}'),
    ('\u{2049}', '\u{2049}'),
    ('\u{20e3}', '\u{20e3}'),
    ('\u{2122}', '\u{2bff}'),
    ('\u{3030}', '\u{303d}'),
    ('\u{3297}', '\u{3299}'),
    ('\u{1f000}', '\u{1faff}'),
];

const BLACK_FLAG: char = '\u{1f3f4}';
const CANCEL_TAG: char = '\u{e007f}';
const EMOJI_SELECTOR: char = '\u{fe0f}';
/// The longest region code in a flag: a country of two letters and a subdivision of up to four.
const MAX_FLAG_TAGS: usize = 6;

/// The invisible characters outside their context, with byte offsets.
#[must_use]
pub fn invisible_characters(text: &str) -> Vec<(usize, char)> {
    let mut found = Vec::new();
    visit(text, |at, c, stays| {
        if !stays {
            found.push((at, c));
        }
    });
    found
}

/// Removes invisible characters that are outside their context.
#[must_use]
pub fn without_invisible(text: &str) -> Cow<'_, str> {
    rewritten(text, |_, _| {})
}

/// Replaces each invisible character outside its context by its code point, like `<U+202E>`.
#[must_use]
pub fn show_invisible(text: &str) -> Cow<'_, str> {
    rewritten(text, |shown, c| shown.push_str(&code_point(c)))
}

#[must_use]
pub fn code_point(c: char) -> String {
    format!("<U+{:04X}>", u32::from(c))
}

fn rewritten(text: &str, instead: impl Fn(&mut String, char)) -> Cow<'_, str> {
    // Fast path: most text is ASCII.
    if text.is_ascii() || invisible_characters(text).is_empty() {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len());
    visit(text, |_, c, stays| match stays {
        true => result.push(c),
        false => instead(&mut result, c),
    });
    Cow::Owned(result)
}

/// Calls `each` with every character and whether it is kept.
///
/// A dropped character is no context for the next one, so removing and displaying agree.
fn visit(text: &str, mut each: impl FnMut(usize, char, bool)) {
    let mut before = Before::default();
    let mut flag_until = 0;
    for (at, c) in text.char_indices() {
        if c == BLACK_FLAG {
            flag_until = flag_end(text, at);
        }
        let stays = match class(c) {
            None => true,
            Some(Stays::Never) => false,
            Some(Stays::InFlag) => at < flag_until,
            Some(Stays::AfterBase) => before.has_variants(c),
            Some(Stays::InScripts) => before.is_script() && next(text, at, c).is_some_and(is_script),
            Some(Stays::AsJoiner) => {
                let next = next(text, at, c);
                before.is_script() && next.is_some_and(is_script) || before.is_emoji() && next.is_some_and(is_emoji)
            }
        };
        each(at, c, stays);
        match stays {
            true => before.push(c),
            false => before = Before::default(),
        }
    }
}

/// The last two characters, if they were kept.
#[derive(Default)]
struct Before {
    last: Option<char>,
    last_but_one: Option<char>,
}

impl Before {
    fn push(&mut self, c: char) {
        self.last_but_one = self.last.replace(c);
    }

    fn is_script(&self) -> bool {
        self.last.is_some_and(is_script)
    }

    /// The last character is an emoji or an emoji with its selector.
    fn is_emoji(&self) -> bool {
        self.last.is_some_and(is_emoji) || self.last == Some(EMOJI_SELECTOR) && self.last_but_one.is_some_and(is_emoji)
    }

    /// Whether a selector is meaningful here: after an emoji, a keycap base or a non-ASCII character.
    fn has_variants(&self, selector: char) -> bool {
        self.last.is_some_and(|base| match base {
            '0'..='9' | '#' | '*' => matches!(selector, '\u{fe0e}' | EMOJI_SELECTOR),
            _ => !base.is_ascii() && !base.is_whitespace() && class(base).is_none(),
        })
    }
}

fn next(text: &str, at: usize, c: char) -> Option<char> {
    text.get(at + c.len_utf8()..)?.chars().next()
}

/// The end of the flag's tags, if it is complete.
fn flag_end(text: &str, at: usize) -> usize {
    let rest = text.get(at + BLACK_FLAG.len_utf8()..).unwrap_or_default();
    let code = rest.chars().take_while(|c| is_region_tag(*c)).count();
    let ends = rest.chars().nth(code) == Some(CANCEL_TAG);
    match (1..=MAX_FLAG_TAGS).contains(&code) && ends {
        // Each tag has as many bytes as the flag.
        true => at + (code + 2) * BLACK_FLAG.len_utf8(),
        false => 0,
    }
}

/// The tags of digits and small letters used in region codes.
fn is_region_tag(c: char) -> bool {
    matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}')
}

fn class(c: char) -> Option<Stays> {
    if c.is_ascii() {
        return None;
    }
    let row = TABLE.iter().find(|(first, last, _)| (*first..=*last).contains(&c));
    row.map(|(_, _, stays)| *stays)
}

fn is_script(c: char) -> bool {
    is_in(JOINING_SCRIPTS, c) && class(c).is_none()
}

fn is_emoji(c: char) -> bool {
    is_in(EMOJI, c)
}

fn is_in(blocks: &[(char, char)], c: char) -> bool {
    blocks.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, removed: &str, shown: &str) {
        assert_eq!(without_invisible(text), removed, "{text:?}");
        assert_eq!(show_invisible(text), shown, "{text:?}");
    }

    #[test]
    fn hidden_characters_are_removed_or_displayed() {
        check("user\u{202e}nimda", "usernimda", "user<U+202E>nimda");
        check("a\u{2066}b\u{2069}", "ab", "a<U+2066>b<U+2069>");
        check("a\u{200e}b\u{200f}c\u{61c}", "abc", "a<U+200E>b<U+200F>c<U+061C>");
        check("pass\u{200b}word", "password", "pass<U+200B>word");
        check("a\u{2060}b\u{feff}c\u{180e}d", "abcd", "a<U+2060>b<U+FEFF>c<U+180E>d");
        check("co\u{ad}operate", "cooperate", "co<U+00AD>operate");
        check("ok\u{e0069}\u{e0067}", "ok", "ok<U+E0069><U+E0067>");
        check("a\u{3164}b\u{ffa0}c\u{34f}d", "abcd", "a<U+3164>b<U+FFA0>c<U+034F>d");
        check("\u{115f}\u{1160}", "", "<U+115F><U+1160>");
        check("a\u{200d}b c\u{200c}d", "ab cd", "a<U+200D>b c<U+200C>d");
    }

    #[test]
    fn emoji_and_scripts_keep_their_characters() {
        for text in [
            "plain ASCII, grün, שלום, 日本語",
            "👨\u{200d}👩\u{200d}👧",
            "👩🏽\u{200d}💻 🐦\u{200d}⬛ ❤\u{fe0f}\u{200d}🔥 🏳\u{fe0f}\u{200d}🌈 🏴\u{200d}☠\u{fe0f}",
            "می\u{200c}خواهم क्\u{200d}ष ශ්\u{200d}රී",
            "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} ☎\u{fe0e}",
            "葛\u{e0100} ≨\u{fe00}",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        ] {
            check(text, text, text);
        }
    }

    #[test]
    fn incomplete_context_does_not_count() {
        let black_flag = "🏴";
        check(
            "🏴\u{e0067}\u{e0062} no end",
            "🏴 no end",
            "🏴<U+E0067><U+E0062> no end",
        );
        let long: String = ['\u{e0061}'; 7].iter().collect();
        let text = format!("{black_flag}{long}\u{e007f}");
        assert_eq!(without_invisible(&text), black_flag);
        check("👨\u{200d} 👩", "👨 👩", "👨<U+200D> 👩");
        check("👨\u{200d}\u{200d}👩", "👨👩", "👨<U+200D><U+200D>👩");
        check("❤\u{fe0f}\u{fe0f}", "❤\u{fe0f}", "❤\u{fe0f}<U+FE0F>");
        check("a\u{fe0f}", "a", "a<U+FE0F>");
        check("م\u{200c}a", "مa", "م<U+200C>a");
        check("ی\u{200c}\u{200b}ی", "یی", "ی<U+200C><U+200B>ی");
    }

    /// Text made of characters with special contexts.
    fn tricky() -> impl Strategy<Value = String> {
        "[a1#é語میक्👨🏴❤☠ \u{ad}\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{206f}\u{feff}\u{fe00}-\u{fe0f}\u{e0060}-\u{e007f}\u{e0100}]{0,40}"
    }

    proptest! {
        #[test]
        fn nothing_invisible_remains_outside_its_context(text in tricky()) {
            let kept = without_invisible(&text).into_owned();
            prop_assert_eq!(invisible_characters(&kept), vec![]);
            for (at, c) in kept.char_indices() {
                prop_assert_ne!(class(c), Some(Stays::Never));
                let before = kept.get(..at).unwrap_or_default().chars().next_back();
                let after = next(&kept, at, c);
                match class(c) {
                    Some(Stays::InScripts) => prop_assert!(before.is_some_and(is_script) && after.is_some_and(is_script)),
                    Some(Stays::AsJoiner) => prop_assert!(before.is_some() && after.is_some_and(|c| is_script(c) || is_emoji(c))),
                    Some(Stays::AfterBase) => prop_assert!(before.is_some_and(|base| class(base).is_none())),
                    Some(Stays::InFlag) => prop_assert!(before.is_some_and(|c| c == BLACK_FLAG || class(c) == Some(Stays::InFlag))),
                    Some(Stays::Never) | None => {}
                }
            }
        }

        #[test]
        fn visible_characters_are_all_kept_in_order(text in tricky()) {
            let visible = |text: &str| text.chars().filter(|c| class(*c).is_none()).collect::<String>();
            prop_assert_eq!(visible(&without_invisible(&text)), visible(&text));
            prop_assert_eq!(invisible_characters(&show_invisible(&text)), vec![]);
        }
    }
}
