//! Parses times as agents write them: `3:20am`, `Nov 20`, seconds since the epoch.

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

/// Converts seconds since the Unix epoch; detects milliseconds.
pub(crate) fn from_epoch(seconds: f64) -> Option<Timestamp> {
    const LATEST_SECONDS: f64 = 1e11;
    let seconds = if seconds > LATEST_SECONDS {
        seconds / 1000.0
    } else {
        seconds
    };
    let is_whole = seconds.is_finite() && (0.0..LATEST_SECONDS).contains(&seconds);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is within the range that was just checked"
    )]
    is_whole.then(|| Timestamp::from_second(seconds as i64).ok()).flatten()
}

/// A time this far in the past is still accepted: times are rounded to minutes or hours and read a little later.
const JUST_PAST: SignedDuration = SignedDuration::from_mins(10);
/// How long to wait if the time is just past.
const JUST_PAST_WAIT: SignedDuration = SignedDuration::from_mins(1);

/// The next time that the local clock shows this. A time just past is not taken as tomorrow's.
pub(crate) fn next_clock(time: Time, here: &Zoned) -> Option<Timestamp> {
    let today = here.with().time(time).build().ok()?;
    let now = here.timestamp();
    if today.timestamp() > now {
        return Some(today.timestamp());
    }
    if now.duration_since(today.timestamp()) < JUST_PAST {
        return now.checked_add(JUST_PAST_WAIT).ok();
    }
    Some(today.checked_add(1.day()).ok()?.timestamp())
}

/// `Nov 20` of this year, or of the next if it is past.
pub(crate) fn next_date(day: &str, time: Time, here: &Zoned) -> Option<Timestamp> {
    let (month, day) = day.split_once(' ')?;
    let day: i8 = day.trim().trim_end_matches(',').parse().ok()?;
    let of_year = |year: i16| at(Date::new(year, month_number(month)?, day).ok()?, time, here);
    of_year(here.year())
        .filter(|at| *at > here.timestamp())
        .or_else(|| of_year(here.year() + 1))
}

/// `Nov 20th, 2026`.
pub(crate) fn whole_date(day: &str, time: Time, here: &Zoned) -> Option<Timestamp> {
    let (month_and_day, year) = day.split_once(',')?;
    let (month, day) = month_and_day.trim().split_once(' ')?;
    let day = day.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
    let date = Date::new(year.trim().parse().ok()?, month_number(month)?, day.parse().ok()?).ok()?;
    at(date, time, here)
}

fn at(date: Date, time: Time, here: &Zoned) -> Option<Timestamp> {
    let at = date.to_datetime(time).to_zoned(here.time_zone().clone()).ok()?;
    Some(at.timestamp())
}

fn month_number(month: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let beginning: String = month.to_lowercase().chars().take(3).collect();
    let place = MONTHS.iter().position(|name| *name == beginning)?;
    i8::try_from(place + 1).ok()
}

/// `3pm`, `3:20am`, `7:07 PM`, `15:20`.
pub(crate) fn clock_time(clock: &str) -> Option<Time> {
    let lower = clock.to_lowercase();
    let (digits, half) = if let Some(digits) = lower.strip_suffix("am") {
        (digits, Some(0))
    } else if let Some(digits) = lower.strip_suffix("pm") {
        (digits, Some(12))
    } else {
        (lower.as_str(), None)
    };
    let (hour, minute) = digits.trim().split_once(':').unwrap_or((digits.trim(), "0"));
    let hour: i8 = hour.parse().ok()?;
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    Time::new(hour, minute.parse().ok()?, 0, 0).ok()
}
