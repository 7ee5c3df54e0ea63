//! Ids of notes: `mem-1737372000-a1b2`, in guardrails `fix-1737372000-a1b2`.

use std::fmt;

use serde::{Serialize, Serializer};

/// The id of a note: a prefix, the Unix time of creation and four characters for uniqueness.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NoteId(String);

/// The maximum number of digits of the time.
const MAX_SECOND_DIGITS: usize = 11;

impl NoteId {
    /// The id prefixes of all note files.
    pub const PREFIXES: [&'static str; 4] = ["mem", "fix", "decision", "pattern"];

    /// An id with this time and a suffix of four hex digits.
    #[must_use]
    pub fn new(prefix: &str, unix_second: i64, suffix: u16) -> Self {
        Self(format!("{prefix}-{}-{suffix:04x}", unix_second.max(0)))
    }

    /// Parses an id with one of these prefixes.
    ///
    /// The suffix may contain any lower-case letter, because earlier tools wrote those.
    #[must_use]
    pub fn parse(text: &str, prefixes: &[&str]) -> Option<Self> {
        Self::second_of(text.as_bytes(), prefixes).map(|_| Self(text.to_owned()))
    }

    /// The time in the bytes of an id with one of these prefixes; `None` if they are not an id.
    #[must_use]
    pub fn second_of(bytes: &[u8], prefixes: &[&str]) -> Option<i64> {
        let rest = prefixes
            .iter()
            .find_map(|prefix| bytes.strip_prefix(prefix.as_bytes())?.strip_prefix(b"-"))?;
        let [digits @ .., b'-', a, b, c, d] = rest else {
            return None;
        };
        let is_suffix_char = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        if digits.is_empty() || digits.len() > MAX_SECOND_DIGITS || ![a, b, c, d].into_iter().all(is_suffix_char) {
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

    /// The id at the start of these bytes, whatever follows it.
    #[must_use]
    pub fn at_start_of(bytes: &[u8]) -> Option<&[u8]> {
        let rest = Self::PREFIXES
            .iter()
            .find_map(|prefix| bytes.strip_prefix(prefix.as_bytes())?.strip_prefix(b"-"))?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let before = bytes.len() - rest.len();
        let id = bytes.get(..before + digits + "-0000".len())?;
        Self::second_of(id, &Self::PREFIXES).map(|_| id)
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The time of creation.
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
    fn id_is_found_before_other_text() {
        let check = |bytes: &[u8], id: Option<&[u8]>| assert_eq!(NoteId::at_start_of(bytes), id, "{bytes:?}");
        check(b"mem-12-a1b2", Some(b"mem-12-a1b2"));
        check(b"decision-12-a1b2c and on", Some(b"decision-12-a1b2"));
        check(b"mem-12-a1b", None);
        check(b"mem-12-A1B2", None);
        check(b"mem-123456789012-a1b2", None);
        check(b" mem-12-a1b2", None);
    }

    #[test]
    fn id_contains_its_time() {
        let id = NoteId::new("mem", 1_737_372_000, 0xa1);
        assert_eq!(id.as_str(), "mem-1737372000-00a1");
        assert_eq!(id.unix_second(), 1_737_372_000);
        assert_eq!(NoteId::second_of(b"mem-1737372000-00a1", &["mem"]), Some(1_737_372_000));
    }
}
