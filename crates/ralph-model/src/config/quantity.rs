//! Durations and sizes in the configuration: `1h30m`, `256 MiB`.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl Bytes {
    #[must_use]
    pub const fn mebi(count: u32) -> Self {
        Self((count as u64) << 20)
    }

    #[must_use]
    pub const fn gibi(count: u32) -> Self {
        Self((count as u64) << 30)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
            if self.0 != 0 && self.0.trailing_zeros() >= shift {
                return write!(f, "{} {unit}", self.0 >> shift);
            }
        }
        write!(f, "{} B", self.0)
    }
}

/// The longest duration that can be set; adding it to a timestamp cannot overflow.
pub(super) const MAX_DAYS: u64 = 3650;

const SECONDS_OF_UNIT: [(&str, u64); 4] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];
/// Weeks are read but not written: ten days are easier to read than a week and three days.
const WEEK: (&str, u64) = ("w", 7 * 86_400);

const BYTES_OF_UNIT: [(&str, u64); 10] = [
    ("", 1),
    ("b", 1),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
];

/// Parses a duration such as `2h`, `1h30m` or `2w`, or plain seconds. `None` if it is invalid or above [`MAX_DAYS`].
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    match split_number(text.trim()) {
        Some((plain, "")) => duration_of_seconds(plain),
        _ => parse_time_with_unit(text),
    }
}

/// Parses a duration on a command line, where plain seconds are rejected because the user may mean days. Units must
/// descend without repetition.
#[must_use]
pub fn parse_time_with_unit(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut seconds = 0u64;
    let mut smaller_than = u64::MAX;
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let mut units = std::iter::once(WEEK).chain(SECONDS_OF_UNIT);
        let (_, factor) = units.find(|(name, _)| *name == unit)?;
        if factor >= smaller_than {
            return None;
        }
        smaller_than = factor;
        seconds = seconds.checked_add(number.checked_mul(factor)?)?;
        rest = after.trim_start();
    }
    (smaller_than != u64::MAX).then_some(())?;
    duration_of_seconds(seconds)
}

/// Formats a duration as in the configuration: `1h30m`. Fractions of a second are milliseconds.
#[must_use]
pub fn duration_text(time: Duration) -> String {
    let mut rest = time.as_secs();
    let mut text = String::new();
    for (unit, seconds) in SECONDS_OF_UNIT {
        if rest >= seconds {
            text.push_str(&format!("{}{unit}", rest / seconds));
            rest %= seconds;
        }
    }
    if time.subsec_millis() > 0 || text.is_empty() {
        text.push_str(&format!("{}ms", time.subsec_millis()));
    }
    text
}

/// Seconds as a duration, up to [`MAX_DAYS`].
pub(super) fn duration_of_seconds(seconds: u64) -> Option<Duration> {
    (seconds <= MAX_DAYS * 86_400).then(|| Duration::from_secs(seconds))
}

/// Parses a size such as `256 MiB`, `64KiB` or `1 GB`, or plain bytes.
pub(super) fn parse_bytes(text: &str) -> Option<Bytes> {
    let (number, unit) = split_number(text.trim())?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let (_, factor) = BYTES_OF_UNIT.into_iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(factor).map(Bytes)
}

/// The leading digits as a number, and the rest.
fn split_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_durations_need_a_unit() {
        for text in ["90", " 90 ", "0", "2025"] {
            assert!(parse_duration(text).is_some(), "{text:?}");
            assert_eq!(parse_time_with_unit(text), None, "{text:?}");
        }
        assert_eq!(parse_time_with_unit("90d"), parse_duration("90d"));
    }

    #[test]
    fn duration_text_round_trips() {
        for text in ["2s", "15m", "2h", "1h30m", "1d1s"] {
            assert_eq!(duration_text(parse_duration(text).unwrap()), text);
        }
        assert_eq!(duration_text(Duration::from_millis(1200)), "1s200ms");
    }
    use proptest::prelude::*;

    #[test]
    fn durations_are_parsed() {
        for (text, seconds) in [
            ("2h", 7200),
            ("15m", 900),
            ("120s", 120),
            ("1h30m", 5400),
            ("1d 2h 3m 4s", 93_784),
            ("90m", 5400),
            ("2w", 1_209_600),
            ("1w1d", 691_200),
            ("45", 45),
            ("0", 0),
            (" 1h ", 3600),
            ("3650d", 315_360_000),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_secs(seconds)), "{text:?}");
        }
        for text in [
            "",
            " ",
            "h",
            "2 h",
            "2H",
            "2x",
            "30m1h",
            "1d1w",
            "1h1h",
            "1h30",
            "-1h",
            "+1h",
            "1.5h",
            "1h,30m",
            "3651d",
            "3650d1s",
            "99999999999999999999s",
            "18446744073709551615",
            "９h",
        ] {
            assert_eq!(parse_duration(text), None, "{text:?}");
        }
    }

    #[test]
    fn sizes_are_parsed() {
        for (text, bytes) in [
            ("256 MiB", Bytes::mebi(256)),
            ("2 GiB", Bytes::gibi(2)),
            ("64KiB", Bytes(65_536)),
            ("1 gib", Bytes(1 << 30)),
            ("3MB", Bytes(3_000_000)),
            ("512", Bytes(512)),
            ("512 B", Bytes(512)),
        ] {
            assert_eq!(parse_bytes(text), Some(bytes), "{text:?}");
        }
        for text in [
            "",
            "MiB",
            "1.5 GiB",
            "-1",
            "2 G",
            "2 GiB x",
            "2 GiB 3 MiB",
            "18446744073709551615 KiB",
        ] {
            assert_eq!(parse_bytes(text), None, "{text:?}");
        }
    }

    #[test]
    fn sizes_use_the_largest_exact_unit() {
        for (bytes, shown) in [
            (Bytes::gibi(2), "2 GiB"),
            (Bytes::mebi(1536), "1536 MiB"),
            (Bytes(1025), "1025 B"),
            (Bytes(0), "0 B"),
        ] {
            assert_eq!(bytes.to_string(), shown);
            assert_eq!(parse_bytes(shown), Some(bytes));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(text in "\\PC*|[0-9dhms ]{0,12}|[0-9]{1,20} ?[kKmMgGtT]i?[bB]") {
            if let Some(time) = parse_duration(&text) {
                prop_assert!(time.as_secs() <= MAX_DAYS * 86_400);
            }
            if let Some(size) = parse_bytes(&text) {
                prop_assert_eq!(parse_bytes(&size.to_string()), Some(size));
            }
        }
    }
}
