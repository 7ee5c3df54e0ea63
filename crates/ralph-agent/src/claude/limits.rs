//! Recognizes the usage limit messages of Claude Code. Only complete messages of these forms count, and only in error
//! records, because a normal answer may also mention limits.
//!
//! - `You've hit your limit · resets 3:20am (Europe/Brussels)`, also `session limit`, `weekly limit`
//! - `You're out of extra usage · resets 3am (Europe/Brussels)`, also `usage credits`
//! - `You've hit your monthly spend limit · your session limit resets 3pm (Europe/Brussels)`; without a time this and
//!   `You've hit your team's shared budget` are about money
//! - `5-hour limit reached · resets 3pm (Europe/Brussels)`
//! - `API Error: Request rejected (429) · You've hit your usage limit`
//! - `Claude AI usage limit reached|1763272800`

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::timestamps;

/// The prefix of messages from the service.
const REJECTED: &str = "API Error: Request rejected (429) · ";

/// What is used up.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Spent {
    /// The usage limit, for now.
    Usage {
        /// The reset time, if the message has one.
        resets_at: Option<Timestamp>,
    },
    /// The budget, until more is paid.
    Money,
}

/// Parses a message; `None` if its form is unknown.
pub(super) fn read(message: &str, now: Timestamp) -> Option<Spent> {
    let line = ralph_model::first_line(message);
    let line = line.strip_prefix(REJECTED).unwrap_or(line);
    if let Some(epoch) = line.strip_prefix("Claude AI usage limit reached|") {
        let resets_at = epoch.trim().parse().ok().and_then(timestamps::from_epoch);
        return Some(Spent::Usage { resets_at });
    }
    let (what, rest) = match line.split_once(['·', '∙', '•']) {
        Some((what, rest)) => (what.trim(), rest.trim()),
        None => (line, ""),
    };
    let what = what.replace('’', "'");
    // `resets 3pm (Zone)`, or `your session limit resets 3pm (Zone)`.
    let (which, when) = rest.split_once("resets ").unwrap_or((rest, ""));
    let resets_at = next_time(when, now).filter(|_| which.is_empty() || which.starts_with("your "));
    if is_about_money(&what) {
        return Some(match resets_at {
            Some(_) => Spent::Usage { resets_at },
            None => Spent::Money,
        });
    }
    let what = what.trim_end_matches('.');
    let is_limit = what
        .strip_prefix("You've hit your ")
        .is_some_and(|which| which == "limit" || which.ends_with(" limit"))
        || what.ends_with(" limit reached");
    // A longer text is a sentence that happens to start the same way.
    let is_short = what.split_whitespace().count() <= 6;
    (is_limit && is_short).then_some(Spent::Usage { resets_at })
}

/// Whether the message is about pay-per-use. It may consist of several sentences.
fn is_about_money(what: &str) -> bool {
    let first = what
        .split_once(". ")
        .map_or(what, |(first, _)| first)
        .trim_end_matches('.');
    matches!(
        first,
        "You're out of extra usage"
            | "You're out of usage credits"
            | "You've hit your monthly spend limit"
            | "You've hit your channel's monthly spend limit"
            | "You've hit your team's shared budget"
    )
}

/// The next time that a clock in the zone shows `3:20am (Europe/Brussels)` or `Nov 20, 3pm (Zone)`. `None` without a
/// zone.
fn next_time(when: &str, now: Timestamp) -> Option<Timestamp> {
    let (clock, rest) = when.split_once('(')?;
    let zone = TimeZone::get(rest.split_once(')')?.0.trim()).ok()?;
    let here = now.to_zoned(zone);
    let (day, clock) = match clock.trim().rsplit_once(' ') {
        Some((day, clock)) => (Some(day.trim_end_matches(" at").trim_end_matches(',')), clock),
        None => (None, clock.trim()),
    };
    let time = timestamps::clock_time(clock)?;
    match day {
        Some(day) => timestamps::next_date(day, time, &here),
        None => timestamps::next_clock(time, &here),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the message at noon in Brussels on a winter day.
    fn check(message: &str, resets_at: Option<&str>) {
        let now: Timestamp = "2026-11-16T11:00:00Z".parse().unwrap();
        let resets_at = resets_at.map(|time| time.parse().unwrap());
        assert_eq!(read(message, now), Some(Spent::Usage { resets_at }), "{message}");
    }

    #[test]
    fn known_forms_are_parsed_with_times() {
        check(
            "You've hit your limit · resets 3:20am (Europe/Brussels)",
            Some("2026-11-17T02:20:00Z"),
        );
        check(
            "You've hit your session limit · resets 3pm (Europe/Brussels)",
            Some("2026-11-16T14:00:00Z"),
        );
        check(
            "You’ve hit your weekly limit ∙ resets Nov 20, 9am (America/New_York)",
            Some("2026-11-20T14:00:00Z"),
        );
        check(
            "5-hour limit reached · resets 12am (UTC)\nsee /upgrade",
            Some("2026-11-17T00:00:00Z"),
        );
        check("Claude AI usage limit reached|1763272800", Some("2025-11-16T06:00:00Z"));
        check(
            "You've hit your weekly limit · resets Jan 2 at 12:30pm (UTC)",
            Some("2027-01-02T12:30:00Z"),
        );
    }

    #[test]
    fn limit_without_reset_time_is_recognized() {
        check("You've hit your limit", None);
        check("API Error: Request rejected (429) · You've hit your usage limit", None);
        check("You've hit your limit · resets 3pm", None);
        check("You've hit your limit · resets 3pm (Nowhere/Atall)", None);
        check("You've hit your limit · resets 13pm (UTC)", None);
        check("Claude AI usage limit reached|soon", None);
    }

    #[test]
    fn pay_per_use_limits_reset_or_need_money() {
        check(
            "You're out of extra usage · resets 3am (Europe/Brussels)",
            Some("2026-11-17T02:00:00Z"),
        );
        check(
            "You've hit your monthly spend limit · your session limit resets 3pm (Europe/Brussels)",
            Some("2026-11-16T14:00:00Z"),
        );
        for text in [
            "You’re out of usage credits. Run /usage-credits to keep using Opus or /model to switch models.",
            "You've hit your monthly spend limit.",
            "You've hit your team's shared budget. /model to switch models.",
        ] {
            assert_eq!(read(text, Timestamp::UNIX_EPOCH), Some(Spent::Money), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_limits() {
        for text in [
            "",
            "API Error: 429 rate limit",
            "API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.",
            "The tests of the limit pass; I wrote that the 5-hour limit reached zero",
            "I fixed the message so that it says when the usage limit is reached",
            "You're out of extra usage of the word limit",
            "You've hit your head on the limit of what I can do",
        ] {
            assert_eq!(read(text, Timestamp::UNIX_EPOCH), None, "{text}");
        }
    }
}
