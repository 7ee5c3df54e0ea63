//! Text for display: cutting by width, slugs, counts, durations and sizes.

use std::time::Duration;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The number of terminal columns; control characters take none.
#[must_use]
pub fn display_width(text: &str) -> usize {
    if is_plain(text) { text.len() } else { text.width() }
}

/// Fast path: every byte takes one column.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The first line that is not blank, trimmed.
#[must_use]
pub fn first_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

/// The text on one line of at most `columns`, with an ellipsis if it was cut.
///
/// Control characters become spaces, so a stored escape sequence cannot move the cursor. Grapheme clusters are never
/// split.
#[must_use]
pub fn preview(text: &str, columns: usize) -> String {
    if text.len() <= columns && is_plain(text) {
        return text.to_owned();
    }
    // A limit on what is measured, for huge texts in table cells.
    let most = columns.saturating_mul(16).saturating_add(64);
    let line: String = text
        .chars()
        .take(most)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let cut_already = text.chars().nth(most).is_some();
    if !cut_already && display_width(&line) <= columns {
        return line;
    }
    let mut room = columns.saturating_sub(1);
    let mut cut = String::new();
    for cluster in line.graphemes(true) {
        let width = display_width(cluster);
        if width > room {
            break;
        }
        room -= width;
        cut.push_str(cluster);
    }
    cut.truncate(cut.trim_end().len());
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// Splits a text into pieces of at most `columns`, never inside a grapheme cluster. A wider cluster is a piece of its
/// own.
#[must_use]
pub fn pieces(text: &str, columns: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut room = 0;
    for cluster in text.graphemes(true) {
        let width = display_width(cluster);
        match pieces.last_mut().filter(|_| width <= room) {
            Some(piece) => piece.push_str(cluster),
            None => {
                pieces.push(cluster.to_owned());
                room = columns;
            }
        }
        room = room.saturating_sub(width);
    }
    pieces
}

/// The limits of a slug; it becomes part of a file name or an id.
const MAX_SLUG_CHARACTERS: usize = 80;
const MAX_SLUG_BYTES: usize = 200;

/// A slug: lower case, with a dash for each run of other characters. Empty if the text has no letter or digit.
#[must_use]
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    let mut characters = 0;
    for word in text
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        if !slug.is_empty() {
            slug.push('-');
            characters += 1;
        }
        for c in word.chars() {
            characters += 1;
            if characters > MAX_SLUG_CHARACTERS || slug.len() + c.len_utf8() > MAX_SLUG_BYTES {
                slug.truncate(slug.trim_end_matches('-').len());
                return slug;
            }
            slug.push(c);
        }
    }
    slug
}

/// A count with its noun: `1 file`, `2 files`.
#[must_use]
pub fn count(n: usize, one: &str, many: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {many}")
    }
}

/// A duration for people: `0.5 s`, `42 s`, `1 min 05 s`, `2 h`.
#[must_use]
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ if seconds % 3600 < 60 => format!("{} h", seconds / 3600),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A size for people: `512 B`, `1.5 KiB`, `40 MiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        let tenths = (u128::from(bytes) * 10) >> shift;
        match tenths {
            0..10 => {}
            10..100 => return format!("{}.{} {unit}", tenths / 10, tenths % 10),
            _ => return format!("{} {unit}", tenths / 10),
        }
    }
    format!("{bytes} B")
}

/// A number in about three digits: `950`, `51k`, `1.2M`.
#[must_use]
pub fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// The longest word that is kept whole, in bytes.
const MAX_WORD_BYTES: usize = 4096;

/// Truncates a text to this many bytes, at the end of a word if possible. A partly cut token would not be recognised as
/// a secret.
#[must_use]
pub fn truncate_at_word(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let cut = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    match cut.rfind(char::is_whitespace) {
        Some(end) if cut.len() - end <= MAX_WORD_BYTES => cut.get(..end).unwrap_or(cut),
        _ => cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn truncation_keeps_whole_words() {
        assert_eq!(truncate_at_word("one two three", 13), "one two three");
        assert_eq!(truncate_at_word("one two three", 11), "one two");
        assert_eq!(truncate_at_word("ééééé", 5), "éé");
        let long = "x".repeat(10_000);
        assert_eq!(truncate_at_word(&format!("a {long}"), 9000).len(), 9000);
    }

    #[test]
    fn pieces_are_full_and_never_split_clusters() {
        assert_eq!(pieces("abcdefg", 3), ["abc", "def", "g"]);
        assert_eq!(pieces("a語語e\u{301}", 3), ["a語", "語e\u{301}"]);
        assert_eq!(pieces("語a", 1), ["語", "a"]);
        assert_eq!(pieces("", 3), [""; 0]);
    }

    #[test]
    fn sizes_are_readable() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (10 << 10, "10 KiB"),
            ((1 << 20) - 1, "1023 KiB"),
            (40 << 20, "40 MiB"),
            (u64::MAX, "17179869183 GiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn numbers_are_short() {
        let said = [999, 1_000, 51_999, 1_250_000].map(short_number);
        assert_eq!(said, ["999", "1k", "51k", "1.2M"]);
    }

    #[test]
    fn durations_are_readable() {
        for (milliseconds, expected) in [
            (0, "0.0 s"),
            (9_940, "9.9 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (65_000, "1 min 05 s"),
            (3_659_000, "1 h"),
            (7_260_000, "2 h 01 min"),
        ] {
            assert_eq!(duration(Duration::from_millis(milliseconds)), expected);
        }
    }

    #[test]
    fn previews_are_cut_by_display_width() {
        for (text, columns, expected) in [
            ("short", 10, "short"),
            ("exactly ten", 11, "exactly ten"),
            ("a longer text", 8, "a longe…"),
            ("日本語テキスト", 7, "日本語…"),
            ("日本語テキスト", 6, "日本…"),
            ("two\nlines\there", 20, "two lines here"),
            ("مرحبا بالعالم", 6, "مرحبا…"),
            ("e\u{301}e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}…"),
            ("", 5, ""),
            ("anything", 1, "…"),
            ("anything", 0, ""),
        ] {
            assert_eq!(preview(text, columns), expected, "{text:?} in {columns}");
        }
    }

    #[test]
    fn fault_3_a_family_emoji_is_kept_whole_or_left_out() {
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(
            preview(&format!("{family}{family}{family}"), 5),
            format!("{family}{family}…")
        );
        assert_eq!(preview(&format!("a{family}b"), 2), "a…");
        assert_eq!(preview("🇩🇪🇫🇷🇯🇵", 5), "🇩🇪🇫🇷…");
        assert_eq!(preview("🇩🇪🇫🇷🇯🇵", 4), "🇩🇪…");
    }

    #[test]
    fn fault_3_slugs_are_short_names_of_any_text() {
        for (text, expected) in [
            ("Read Before Writing", "read-before-writing"),
            ("  -- What's new?! ", "what-s-new"),
            ("Größe ÄNDERN", "größe-ändern"),
            ("日本語 テキスト", "日本語-テキスト"),
            ("🚧", ""),
            ("", ""),
        ] {
            assert_eq!(slug(text), expected, "{text:?}");
        }
        assert_eq!(slug(&"x".repeat(200)), "x".repeat(80));
        assert_eq!(slug(&format!("{} y", "x".repeat(79))), "x".repeat(79));
        assert_eq!(slug(&"語".repeat(100)), "語".repeat(66));
    }

    proptest! {
        #[test]
        fn slugs_never_exceed_their_limits(text in "(\\p{Any}){0,120}") {
            let name = slug(&text);
            prop_assert!(name.chars().count() <= MAX_SLUG_CHARACTERS && name.len() <= MAX_SLUG_BYTES);
            prop_assert!(!name.starts_with('-') && !name.ends_with('-') && !name.contains("--"));
        }

        #[test]
        fn fault_3_previews_never_exceed_their_width_or_split_a_character(text in "\\PC*|(\\p{Any}){0,80}", columns in 0usize..40) {
            let shown = preview(&text, columns);
            prop_assert!(display_width(&shown) <= columns, "{shown:?}");
            prop_assert!(!shown.chars().any(char::is_control));
            let kept = shown.trim_end_matches('…').trim_end();
            let whole: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let mut clusters = whole.graphemes(true);
            let mut again = String::new();
            while again.trim_end() != kept && again.len() <= kept.len() {
                again.push_str(clusters.next().unwrap_or("none is left"));
            }
            prop_assert_eq!(again.trim_end(), kept, "a cluster was split");
        }
    }
}
