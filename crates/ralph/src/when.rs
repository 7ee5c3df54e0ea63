//! Parses times on the command line: a day, a timestamp, or how long ago.

use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use ralph_model::config::parse_time_with_unit;

/// A time as given on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    At(Timestamp),
    /// This long before now.
    Ago(Duration),
}

impl When {
    /// The timestamp, to the second for relative times.
    pub(crate) fn moment(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(moment) => moment,
            Self::Ago(time) => {
                let moment = now.checked_sub(time).unwrap_or(Timestamp::MIN);
                Timestamp::from_second(moment.as_second()).unwrap_or(moment)
            }
        }
    }
}

/// Parses the start of a range; a day counts from its beginning.
pub(crate) fn beginning(text: &str) -> Result<When, String> {
    parse(text, 0)
}

/// Parses the end of a range; a day counts until its end.
pub(crate) fn end(text: &str) -> Result<When, String> {
    parse(text, 1)
}

/// Parses a time; a day is shifted by `days_later`.
fn parse(text: &str, days_later: i32) -> Result<When, String> {
    let text = text.trim();
    let of_day = || {
        let day = text.parse::<Date>().ok()?.checked_add(days_later.days()).ok()?;
        Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    if let Some(time) = parse_time_with_unit(text) {
        return Ok(When::Ago(time));
    }
    text.parse::<Timestamp>()
        .ok()
        .or_else(of_day)
        .map(When::At)
        .ok_or_else(|| {
            "expected a day like 2025-01-20, a time like 2025-01-20T10:30:00Z, or an age like 12h, 7d or 2w".to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_timestamps_and_ages_are_parsed() {
        let now: Timestamp = "2025-01-22T10:00:00.123456789Z".parse().unwrap();
        for (text, from, until) in [
            ("2025-01-20", "2025-01-20T00:00:00Z", "2025-01-21T00:00:00Z"),
            ("2025-01-20T10:30:00Z", "2025-01-20T10:30:00Z", "2025-01-20T10:30:00Z"),
            ("12h", "2025-01-21T22:00:00Z", "2025-01-21T22:00:00Z"),
            ("7d", "2025-01-15T10:00:00Z", "2025-01-15T10:00:00Z"),
            ("2w", "2025-01-08T10:00:00Z", "2025-01-08T10:00:00Z"),
            (" 1h30m ", "2025-01-22T08:30:00Z", "2025-01-22T08:30:00Z"),
        ] {
            assert_eq!(beginning(text).unwrap().moment(now).to_string(), from, "{text}");
            assert_eq!(end(text).unwrap().moment(now).to_string(), until, "{text}");
        }
        for text in [
            "",
            "yesterday",
            "7",
            "2025",
            "d",
            "7 d",
            "-7d",
            "7y",
            "9999999d",
            "2025-13-01",
            "9999-12-31x",
        ] {
            assert!(beginning(text).is_err(), "{text}");
        }
        assert_eq!(When::Ago(Duration::MAX).moment(now), Timestamp::MIN);
    }
}
