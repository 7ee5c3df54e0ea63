//! Guidance in the description of a task: what a person said when they stopped an agent, below what the task is about. It
//! stands in the description so that whoever reads the task reads it, too; each piece begins with a line of its own, by
//! which it is told from the rest.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;

const BEGINNING: &str = "Guidance (";
const END: &str = " UTC):";
const MOMENT: &str = "%Y-%m-%d %H:%M";

/// Something that a person said about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guidance<'a> {
    /// When, as it stands in the description.
    pub at: &'a str,
    /// What.
    pub text: &'a str,
}

/// A description with guidance at its end. What stood there stays as it is.
#[must_use]
pub fn with_guidance(description: &str, text: &str, at: Timestamp) -> String {
    let at = strtime::format(MOMENT, at).unwrap_or_else(|_| at.to_string());
    below(description, &format!("{BEGINNING}{at}{END}\n{}", text.trim()))
}

/// A new description of a task, with the guidance of its old one.
#[must_use]
pub fn keep_guidance(new: &str, old: &str) -> String {
    let (description, _) = split_guidance(old);
    match old.get(description.len()..).unwrap_or_default() {
        "" => new.to_owned(),
        guidance => below(new, guidance),
    }
}

/// A text below another, with an empty line between them.
fn below(above: &str, text: &str) -> String {
    let gap = match above.trim_end_matches(['\n', '\r']) {
        "" => "",
        same if same.len() == above.len() => "\n\n",
        _ if above.ends_with("\n\n") => "",
        _ => "\n",
    };
    format!("{above}{gap}{text}")
}

/// A description without guidance, and the guidance in it, the oldest first.
#[must_use]
pub fn split_guidance(description: &str) -> (&str, Vec<Guidance<'_>>) {
    let mut heads: Vec<(usize, usize, &str)> = Vec::new();
    let mut start = 0;
    for line in description.split_inclusive('\n') {
        let end = start + line.len();
        if let Some(at) = moment_of(line) {
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

/// The moment that the first line of guidance names; none for any other line.
fn moment_of(line: &str) -> Option<&str> {
    let at = line.trim_end().strip_prefix(BEGINNING)?.strip_suffix(END)?;
    DateTime::strptime(MOMENT, at).is_ok().then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_750_000_000 + second).unwrap()
    }

    #[test]
    fn guidance_stands_below_the_description_in_its_order() {
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
    fn a_description_of_nothing_or_with_line_breaks_at_its_end_is_kept_as_it_is() {
        for (before, gap) in [("", ""), ("a", "\n\n"), ("a\n", "\n"), ("a\n\n", "")] {
            let after = with_guidance(before, "b", at(0));
            assert_eq!(after, format!("{before}{gap}Guidance (2025-06-15 15:06 UTC):\nb"));
            assert_eq!(split_guidance(&after).0.trim_end(), before.trim_end());
            assert_eq!(split_guidance(&after).1.len(), 1);
        }
    }

    #[test]
    fn a_description_that_is_written_anew_keeps_its_guidance() {
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
    fn what_only_looks_like_guidance_is_description() {
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
