//! Ids of notes: `mem-1737372000-a1b2`, in guardrails `fix-1737372000-a1b2`.

use std::fmt;

use serde::{Serialize, Serializer};

/// The id of a note: a word, the second it was made, four signs that set it apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NoteId(String);

/// The longest run of digits that still fits the time of an id.
const MAX_SECOND_DIGITS: usize = 11;

impl NoteId {
    /// How the ids of any shelf may begin.
    pub const PREFIXES: [&'static str; 4] = ["mem", "fix", "decision", "pattern"];

    /// The id of a note made at this second, with four hex digits.
    #[must_use]
    pub fn new(prefix: &str, unix_second: i64, suffix: u16) -> Self {
        Self(format!("{prefix}-{}-{suffix:04x}", unix_second.max(0)))
    }

    /// Reads an id with one of these prefixes; `None` when it is not one.
    ///
    /// Writers make hex digits; earlier tools wrote any lower-case letter, so readers accept those too.
    #[must_use]
    pub fn parse(text: &str, prefixes: &[&str]) -> Option<Self> {
        Self::second_of(text.as_bytes(), prefixes).map(|_| Self(text.to_owned()))
    }

    /// The second in the bytes of an id with one of these prefixes; `None` when they are not one.
    #[must_use]
    pub fn second_of(bytes: &[u8], prefixes: &[&str]) -> Option<i64> {
        let rest = prefixes
            .iter()
            .find_map(|prefix| bytes.strip_prefix(prefix.as_bytes())?.strip_prefix(b"-"))?;
        let [digits @ .., b'-', a, b, c, d] = rest else {
            return None;
        };
        let is_sign = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        if digits.is_empty() || digits.len() > MAX_SECOND_DIGITS || ![a, b, c, d].into_iter().all(is_sign) {
            return None;
        }
        let mut second = 0;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            second = second * 10 + i64::from(digit - b'0');
        }
        Some(second)
    }

    /// The id with any of the prefixes that these bytes begin with, whatever follows it.
    #[must_use]
    pub fn at_start_of(bytes: &[u8]) -> Option<&[u8]> {
        let begun = Self::PREFIXES
            .iter()
            .find_map(|prefix| bytes.strip_prefix(prefix.as_bytes())?.strip_prefix(b"-"))?;
        let digits = begun.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let before = bytes.len() - begun.len();
        let id = bytes.get(..before + digits + "-0000".len())?;
        Self::second_of(id, &Self::PREFIXES).map(|_| id)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The second at which the note was made.
    #[must_use]
    pub fn unix_second(&self) -> i64 {
        self.0
            .rsplit('-')
            .nth(1)
            .and_then(|digits| digits.parse().ok())
            .unwrap_or_default()
    }
}

impl fmt::Display for NoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for NoteId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_earlier_tools_wrote_them() {
        for good in ["mem-1737372000-a1b2", "mem-1737390000-g7h8", "mem-0-0000"] {
            assert_eq!(NoteId::parse(good, &["mem"]).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "mem",
            "mem-",
            "mem--a1b2",
            "mem-12",
            "mem-12-a1b",
            "mem-12-a1b22",
            "mem-12-A1B2",
            "mem-1x-a1b2",
            "mem-123456789012-a1b2",
            "fix-12-a1b2",
            "mem-12-a1é",
            "mem_12_a1b2",
            " mem-12-a1b2",
        ] {
            assert_eq!(NoteId::parse(bad, &["mem"]), None, "{bad:?}");
        }
        assert!(NoteId::parse("fix-12-a1b2", &["fix", "decision"]).is_some());
    }

    #[test]
    fn an_id_is_found_where_text_follows() {
        let check = |bytes: &[u8], id: Option<&[u8]>| assert_eq!(NoteId::at_start_of(bytes), id, "{bytes:?}");
        check(b"mem-12-a1b2", Some(b"mem-12-a1b2"));
        check(b"decision-12-a1b2c and on", Some(b"decision-12-a1b2"));
        check(b"mem-12-a1b", None);
        check(b"mem-12-A1B2", None);
        check(b"mem-123456789012-a1b2", None);
        check(b" mem-12-a1b2", None);
    }

    #[test]
    fn an_id_tells_its_second() {
        let id = NoteId::new("mem", 1_737_372_000, 0xa1);
        assert_eq!(id.as_str(), "mem-1737372000-00a1");
        assert_eq!(id.unix_second(), 1_737_372_000);
        assert_eq!(NoteId::second_of(b"mem-1737372000-00a1", &["mem"]), Some(1_737_372_000));
    }
}
