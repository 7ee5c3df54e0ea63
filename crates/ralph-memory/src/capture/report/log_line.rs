//! Log lines: finds the level after the time and other fields.

use super::failure_lines::reports_failure;
use super::message::DAYS_AND_MONTHS;

/// The number of words at the start of a line that are searched.
const MAX_HEAD: usize = 12;
const ERRORS: [&str; 9] = [
    "error", "err", "fatal", "critical", "crit", "severe", "panic", "emerg", "alert",
];
const WARNINGS: [&str; 2] = ["warn", "warning"];
const ROUTINE: [&str; 6] = ["info", "debug", "trace", "notice", "verbose", "fine"];
/// Names of the level in key-value lines.
const NAMES: [&str; 3] = ["level", "lvl", "severity"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Error,
    Warning,
    Routine,
}

/// The level of a log line; `None` for a line without a timestamp or a level in brackets.
pub(super) fn level_of(line: &str) -> Option<Level> {
    let mut is_timed = false;
    // Whether only timestamp words precede.
    let mut is_next = true;
    for (place, word) in line.split_whitespace().take(MAX_HEAD).enumerate() {
        let word = without_priority(word);
        let (name, value) = word.split_once('=').unwrap_or(("", word));
        let value = bare(value);
        if is_time(value) {
            is_timed = true;
        } else if !is_part_of_date(value) {
            let is_bracketed = word.starts_with('[') && word.trim_end_matches(':').ends_with(']');
            let is_marked = word != value || value.chars().all(char::is_uppercase);
            let may_be = (is_timed && (is_marked || is_next)) || (place == 0 && is_bracketed) || NAMES.contains(&name);
            // Some loggers prefix a channel: `shop.ERROR:`.
            let level = value.rsplit('.').next().and_then(named_level);
            if let Some(level) = level.filter(|_| may_be) {
                return Some(level);
            }
            if !is_timed && name.is_empty() {
                return None;
            }
            is_next &= is_bracketed;
        }
    }
    None
}

/// Whether it is a routine log line that reports no failure.
pub(super) fn is_chatter(line: &str) -> bool {
    level_of(line) == Some(Level::Routine) && !reports_failure(line)
}

fn named_level(word: &str) -> Option<Level> {
    let lower = word.to_lowercase();
    let is_among = |words: &[&str]| words.contains(&lower.as_str());
    if is_among(&ERRORS) {
        Some(Level::Error)
    } else if is_among(&WARNINGS) {
        Some(Level::Warning)
    } else {
        is_among(&ROUTINE).then_some(Level::Routine)
    }
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// `<13>Nov`: syslog lines begin with a priority.
fn without_priority(word: &str) -> &str {
    let after = word.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    match after {
        Some((number, rest)) if is_number(number) => rest,
        _ => word,
    }
}

/// `Mon`, `Nov`, `16`, `2026`, `UTC`.
fn is_part_of_date(word: &str) -> bool {
    let is_zone = || matches!(word, "UTC" | "GMT" | "CET" | "CEST" | "AM" | "PM");
    word.is_empty() || DAYS_AND_MONTHS.contains(&word) || (is_number(word) && word.len() <= 4) || is_zone()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `2026-11-16`, `16/Nov/2026`, `12:00:03.123`, or both: `2026-11-16T12:00:03Z`.
fn is_time(word: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let parts = |separators: [char; 2]| {
        let mut parts = word.splitn(3, separators);
        Some((parts.next()?, parts.next()?, parts.next()?))
    };
    let is_date = parts(['-', '/']).is_some_and(|(one, month, other)| {
        let is_month = (is_number(month) && month.len() <= 2) || DAYS_AND_MONTHS.contains(&month);
        let years = (one.len() == 4, digits(other) == 4);
        is_number(one) && is_month && digits(other) > 0 && (years.0 || years.1)
    });
    let is_clock = parts([':', ':']).is_some_and(|(hours, minutes, seconds)| {
        is_number(hours) && hours.len() <= 2 && is_number(minutes) && minutes.len() == 2 && digits(seconds) == 2
    });
    is_date || is_clock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<Level>) {
        assert_eq!(level_of(line), expected, "{line}");
    }

    #[test]
    fn level_is_found_after_any_time_format() {
        for line in [
            "2026-11-16 12:00:03 ERROR cart: no price",
            "2026-11-16T12:00:03.123Z ERROR cart: no price",
            "2026-11-16 12:00:03,123 [main] ERROR shop.Cart - no price",
            "2026-11-16 12:00:03,123 - shop.cart - CRITICAL - no price",
            "[2026-11-16 12:00:03] shop.ERROR: no price",
            "[2026-11-16T12:00:03+01:00] [error] no price",
            "2026/11/16 12:00:03 [emerg] 77#77: no price",
            "2026/11/16 12:00:03 panic: no price",
            "12:00:03.123 [main] ERROR shop.Cart - no price",
            "[16/Nov/2026:12:00:03 +0000] error no price",
            "Mon Nov 16 12:00:03 UTC 2026 FATAL no price",
            "<13>Nov 16 12:00:03 host shop[77]: CRITICAL no price",
            "Nov  6 12:00:03 host shop[77]: fatal: no price",
            "2026-11-16 12:00:03.123 UTC [77] FATAL:  no price",
            "time=2026-11-16T12:00:03Z level=error msg=\"no price\"",
            "level=ERROR msg=\"no price\"",
            "[ERROR] no price",
        ] {
            check(line, Some(Level::Error));
        }
        check("2026-11-16 12:00:03 WARN low on cups", Some(Level::Warning));
        check(
            "2026-11-16 12:00:03 INFO an ERROR page was served",
            Some(Level::Routine),
        );
        check("[INFO] built", Some(Level::Routine));
    }

    #[test]
    fn other_lines_are_not_log_lines() {
        for line in [
            "",
            "error: no price",
            "cart.c:4:20: error: no price",
            "3:10  error  'x' is not defined",
            "127.0.0.1 - - [16/Nov/2026 13:36:49] code 404, message Not Found",
            "2026-11-16 12:00:03 the price has an error",
            "1 of 3 INFO lines",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn only_routine_lines_are_chatter() {
        assert!(is_chatter("2026-11-16 12:00:03 INFO shutting down"));
        assert!(!is_chatter("2026-11-16 12:00:03 INFO check failed"));
        assert!(!is_chatter("2026-11-16 12:00:03 ERROR shutting down"));
        assert!(!is_chatter("shutting down"));
    }
}
