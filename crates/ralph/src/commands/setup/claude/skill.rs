//! The skill that explains ralph to Claude Code. Its last line has a checksum, which tells whether the user has changed
//! the file.

use super::Part;

/// The text without the checksum line.
const TEXT: &str = include_str!("skill.md");
/// The text around the checksum in the last line. Existing copies are matched by it.
const CHECKSUM_LINE: (&str, &str) = (
    "<!-- Written by `ralph setup claude`, checksum ",
    ". A copy that you change is yours: ralph leaves it alone. -->\n",
);

/// The file as this version writes it.
pub(super) fn text() -> String {
    with_checksum(TEXT)
}

/// The state of the skill; `None` means that the file is missing. Line endings do not count, because git may change
/// them.
pub(super) fn setup_state(text: Option<&str>) -> Part {
    let Some(text) = text else { return Part::Missing };
    let text = text.replace("\r\n", "\n");
    if text == with_checksum(TEXT) {
        return Part::InPlace;
    }
    let is_as_written = text
        .rfind(CHECKSUM_LINE.0)
        .and_then(|at| text.get(..at))
        .is_some_and(|above| text == with_checksum(above));
    if is_as_written { Part::Outdated } else { Part::Changed }
}

fn with_checksum(text: &str) -> String {
    format!("{text}{}{:016x}{}", CHECKSUM_LINE.0, checksum(text), CHECKSUM_LINE.1)
}

/// FNV-1a is enough: it only has to detect edits.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_and_outdated_copies_are_distinguished() {
        let earlier = with_checksum("---\nname: ralph\n---\nAn earlier text.\n");
        assert_eq!(setup_state(None), Part::Missing);
        assert_eq!(setup_state(Some(&text())), Part::InPlace);
        assert_eq!(setup_state(Some(&text().replace('\n', "\r\n"))), Part::InPlace);
        assert_eq!(setup_state(Some(&earlier)), Part::Outdated);
        for changed in [
            earlier.replace("earlier", "better"),
            format!("{earlier}\nOne more line.\n"),
            "A skill of the user's own.\n".to_owned(),
            String::new(),
        ] {
            assert_eq!(setup_state(Some(&changed)), Part::Changed, "{changed}");
        }
    }

    #[test]
    fn the_skill_is_valid_and_short() {
        assert!(TEXT.starts_with("---\nname: ralph\ndescription: "));
        assert!(TEXT.lines().count() <= 60);
    }
}
