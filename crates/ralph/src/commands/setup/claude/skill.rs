//! The skill that explains ralph to Claude Code. Its last line is a mark from which one can tell whether a person has
//! changed it since we wrote it.

use super::Part;

/// The text, without its mark.
const TEXT: &str = include_str!("skill.md");
/// How the mark begins and ends; between stands the checksum of the text above.
const MARK: (&str, &str) = (
    "<!-- Written by `ralph setup claude`, checksum ",
    ". A copy that you change is yours: ralph leaves it alone. -->\n",
);

/// The file as this version writes it.
pub(super) fn text() -> String {
    marked(TEXT)
}

/// How the skill stands; none for a file that is not there. Line breaks do not count: git may have changed them.
pub(super) fn standing(text: Option<&str>) -> Part {
    let Some(text) = text else { return Part::Missing };
    let text = text.replace("\r\n", "\n");
    if text == marked(TEXT) {
        return Part::InPlace;
    }
    let is_as_written = text
        .rfind(MARK.0)
        .and_then(|at| text.get(..at))
        .is_some_and(|above| text == marked(above));
    if is_as_written { Part::Outdated } else { Part::Changed }
}

fn marked(text: &str) -> String {
    format!("{text}{}{:016x}{}", MARK.0, checksum(text), MARK.1)
}

/// FNV-1a: it need not withstand an attack, only tell that somebody has changed something.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_copy_is_told_from_an_old_one() {
        let earlier = marked("---\nname: ralph\n---\nAn earlier text.\n");
        assert_eq!(standing(None), Part::Missing);
        assert_eq!(standing(Some(&text())), Part::InPlace);
        assert_eq!(standing(Some(&text().replace('\n', "\r\n"))), Part::InPlace);
        assert_eq!(standing(Some(&earlier)), Part::Outdated);
        for changed in [
            earlier.replace("earlier", "better"),
            format!("{earlier}\nOne more line.\n"),
            "A skill of somebody's own.\n".to_owned(),
            String::new(),
        ] {
            assert_eq!(standing(Some(&changed)), Part::Changed, "{changed}");
        }
    }

    #[test]
    fn it_is_a_skill_and_short() {
        assert!(TEXT.starts_with("---\nname: ralph\ndescription: "));
        assert!(TEXT.lines().count() <= 60);
    }
}
