//! User guidance in a task's description. It is part of the description so that every reader of the task sees it; each
//! piece starts with a heading line.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;

const HEADING_PREFIX: &str = "Guidance (";
const HEADING_SUFFIX: &str = " UTC):";
const TIME_FORMAT: &str = "%Y-%m-%d %H:%M";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guidance<'a> {
    /// The time, as written in the description.
    pub at: &'a str,
    pub text: &'a str,
}

/// Appends guidance to a description without changing the existing text.
#[must_use]
pub fn with_guidance(description: &str, text: &str, at: Timestamp) -> String {
    let at = strtime::format(TIME_FORMAT, at).unwrap_or_else(|_| at.to_string());
    append_paragraph(
        description,
        &format!("{HEADING_PREFIX}{at}{HEADING_SUFFIX}\n{}", text.trim()),
    )
}

/// Replaces the description and keeps the guidance of the old one.
#[must_use]
pub fn keep_guidance(new: &str, old: &str) -> String {
    let (description, _) = split_guidance(old);
    match old.get(description.len()..).unwrap_or_default() {
        "" => new.to_owned(),
        guidance => append_paragraph(new, guidance),
    }
}

/// Appends text after an empty line.
fn append_paragraph(above: &str, text: &str) -> String {
    let gap = match above.trim_end_matches(['\n', '\r']) {
        "" => "",
        same if same.len() == above.len() => "\n\n",
        _ if above.ends_with("\n\n") => "",
        _ => "\n",
    };
    format!("{above}{gap}{text}")
}

/// Splits a description into the part without guidance and the guidance, oldest first.
#[must_use]
pub fn split_guidance(description: &str) -> (&str, Vec<Guidance<'_>>) {
    let mut heads: Vec<(usize, usize, &str)> = Vec::new();
    let mut start = 0;
    for line in description.split_inclusive('\n') {
        let end = start + line.len();
        if let Some(at) = heading_time(line) {
            heads.push((start, end, at));
        }
        start = end;
    }
    let ends = heads
        .iter()
        .skip(1)
        .map(|(start, ..)| *start)
        .chain([description.len()]);
    let guidance = heads.iter().zip(ends).map(|((_, from, at), to)| Guidance {
        at,
        text: description.get(*from..to).unwrap_or_default().trim(),
    });
    let guidance = guidance.filter(|guidance| !guidance.text.is_empty()).collect();
    let first = heads.first().map_or(description.len(), |(start, ..)| *start);
    (description.get(..first).unwrap_or_default(), guidance)
}

/// The time in a guidance heading; `None` for any other line.
fn heading_time(line: &str) -> Option<&str> {
    let at = line
        .trim_end()
        .strip_prefix(HEADING_PREFIX)?
        .strip_suffix(HEADING_SUFFIX)?;
    DateTime::strptime(TIME_FORMAT, at).is_ok().then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_750_000_000 + second).unwrap()
    }

    #[test]
    fn guidance_follows_the_description_in_order() {
        let once = with_guidance("Do it.\nAll of it.", " use the other parser\nand no tabs \n", at(0));
        let twice = with_guidance(&once, "faster", at(60));
        assert_eq!(
            twice,
            "Do it.\nAll of it.\n\nGuidance (2025-06-15 15:06 UTC):\nuse the other parser\nand no tabs\n\n\
             Guidance (2025-06-15 15:07 UTC):\nfaster"
        );
        let (description, guidance) = split_guidance(&twice);
        assert_eq!(description.trim_end(), "Do it.\nAll of it.");
        let (first, second) = ("use the other parser\nand no tabs", "faster");
        let said: Vec<(&str, &str)> = guidance.iter().map(|guidance| (guidance.at, guidance.text)).collect();
        assert_eq!(said, [("2025-06-15 15:06", first), ("2025-06-15 15:07", second)]);
    }

    #[test]
    fn adding_guidance_keeps_the_description_unchanged() {
        for (before, gap) in [("", ""), ("a", "\n\n"), ("a\n", "\n"), ("a\n\n", "")] {
            let after = with_guidance(before, "b", at(0));
            assert_eq!(after, format!("{before}{gap}Guidance (2025-06-15 15:06 UTC):\nb"));
            assert_eq!(split_guidance(&after).0.trim_end(), before.trim_end());
            assert_eq!(split_guidance(&after).1.len(), 1);
        }
    }

    #[test]
    fn replaced_description_keeps_its_guidance() {
        let old = with_guidance(&with_guidance("old", "a", at(0)), "b", at(60));
        let new = keep_guidance("new\n", &old);
        assert_eq!(
            new,
            "new\n\nGuidance (2025-06-15 15:06 UTC):\na\n\nGuidance (2025-06-15 15:07 UTC):\nb"
        );
        assert_eq!(keep_guidance("new\n", &new), new);
        assert_eq!(keep_guidance("new\n", "old"), "new\n");
    }

    #[test]
    fn lookalike_headings_are_description() {
        for text in [
            "Guidance (soon UTC):\nx",
            "Guidance (2025-06-15 15:06 UTC): x",
            " Guidance (2025-06-15 15:06 UTC):\nx",
            "Guidance (2025-13-15 15:06 UTC):\nx",
            "Guidance",
            "",
        ] {
            assert_eq!(split_guidance(text), (text, Vec::new()), "{text}");
        }
    }
}
