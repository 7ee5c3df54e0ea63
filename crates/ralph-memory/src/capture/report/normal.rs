//! The one normal form of a line that a program prints: the same again when only numbers differ.

/// How long a line in its normal form may be, in characters.
const MAX_CHARACTERS: usize = 300;

/// A line without what differs from run to run: numbers, spaces, rulers that fill a line up.
#[must_use]
pub fn normalised(line: &str) -> String {
    normalised_within(line, MAX_CHARACTERS)
}

/// The same with at most so many characters.
pub(super) fn normalised_within(line: &str, characters: usize) -> String {
    let mut text = String::new();
    let mut length = 0;
    let mut before = None;
    let mut in_number = false;
    let mut in_space = true;
    for sign in line.chars() {
        // Addresses and digests: letters that follow a digit belong to its number.
        let numeric = sign.is_ascii_digit() || (in_number && (sign.is_ascii_hexdigit() || sign == '.' || sign == 'x'));
        let space = sign.is_whitespace();
        let goes_on = matches!(sign, '=' | '-' | '_' | '*' | '~') && before == Some(sign);
        let shown = match (numeric, space) {
            (true, _) => (!in_number).then_some('#'),
            (false, true) => (!in_space).then_some(' '),
            (false, false) => (!goes_on).then_some(sign),
        };
        text.extend(shown);
        length += usize::from(shown.is_some());
        (in_number, in_space, before) = (numeric, space, Some(sign));
        if length >= characters {
            break;
        }
    }
    text.trim_end().to_owned()
}
