//! Normalises output lines so that lines that differ only in numbers are equal.

/// The maximum length of a normalised line, in characters.
const MAX_CHARACTERS: usize = 300;

/// A line without numbers, repeated spaces and rulers.
#[must_use]
pub fn normalised(line: &str) -> String {
    normalised_within(line, MAX_CHARACTERS)
}

/// The same with a maximum length.
pub(super) fn normalised_within(line: &str, characters: usize) -> String {
    let mut text = String::new();
    let mut length = 0;
    let mut before = None;
    let mut in_number = false;
    let mut in_space = true;
    for c in line.chars() {
        // In addresses and digests, letters after a digit belong to the number.
        let numeric = c.is_ascii_digit() || (in_number && (c.is_ascii_hexdigit() || c == '.' || c == 'x'));
        let space = c.is_whitespace();
        let goes_on = matches!(c, '=' | '-' | '_' | '*' | '~') && before == Some(c);
        let shown = match (numeric, space) {
            (true, _) => (!in_number).then_some('#'),
            (false, true) => (!in_space).then_some(' '),
            (false, false) => (!goes_on).then_some(c),
        };
        text.extend(shown);
        length += usize::from(shown.is_some());
        (in_number, in_space, before) = (numeric, space, Some(c));
        if length >= characters {
            break;
        }
    }
    text.trim_end().to_owned()
}
