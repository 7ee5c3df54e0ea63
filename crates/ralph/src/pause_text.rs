//! Formats an agent's pause: until when, how long, and why.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_loop::state::PauseWait;
use ralph_model::{count, duration};
use ralph_store::{Pause, PauseReason};

/// Waits longer than this are shown without seconds.
const LONG: Duration = Duration::from_secs(300);

/// The countdown of a pause for a person at the terminal.
pub(crate) fn countdown(wait: &PauseWait, now: Timestamp) -> String {
    format!("{} Ctrl+C stops.", resume_line(wait, now))
}

/// When a paused run resumes, and why it waits.
pub(crate) fn resume_line(wait: &PauseWait, now: Timestamp) -> String {
    let agent = &wait.pause.agent;
    let why = match wait.pause.what.reason {
        PauseReason::UsageLimit => format!("usage limit of {agent}"),
        PauseReason::Transient => {
            let times = wait.pause.what.times as usize;
            format!("service of {agent} failed {}", count(times, "time", "times in a row"))
        }
    };
    let (moment, left) = (moment(wait.until, wait.left, now), rounded(wait.left));
    // Narrow terminals show only the beginning, so the countdown comes first.
    format!("Resuming in {left}, at {moment}: {why}.")
}

/// A line for `status`; none if the pause is over.
pub(crate) fn status_line(pause: &Pause, now: Timestamp) -> Option<String> {
    let left = pause.left(now)?;
    let why = match pause.what.reason {
        PauseReason::UsageLimit => "usage limit",
        PauseReason::Transient => "service fails, no attempts",
    };
    let until = now.checked_add(left).unwrap_or(pause.what.until);
    Some(format!(
        "{}: {why} until {}, in {}",
        pause.agent,
        moment(until, left, now),
        rounded(left)
    ))
}

/// Local time: with the date if it is not today, with seconds if it is near.
fn moment(moment: Timestamp, left: Duration, now: Timestamp) -> String {
    let zone = TimeZone::system();
    let (moment, now) = (moment.to_zoned(zone.clone()), now.to_zoned(zone));
    let form = match moment.date() == now.date() {
        true if left < LONG => "%H:%M:%S",
        true => "%H:%M",
        false => "%b %-d, %H:%M",
    };
    moment.strftime(form).to_string()
}

/// A duration in whole seconds, or in whole minutes if it is long.
fn rounded(left: Duration) -> String {
    let seconds = match left.as_secs() {
        long if left >= LONG => long - long % 60,
        // Round up, so that the countdown never reaches zero early.
        short => short + u64::from(left.subsec_nanos() > 0),
    };
    match seconds {
        short @ 0..10 => format!("{short} s"),
        seconds => duration(Duration::from_secs(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_model::RunId;
    use ralph_store::NewPause;

    fn wait(reason: PauseReason, left: u64) -> (PauseWait, Timestamp) {
        let now: Timestamp = "2026-11-16T23:00:00Z".parse().unwrap();
        let until = now + Duration::from_secs(left);
        let pause = Box::new(Pause {
            agent: "claude".to_owned(),
            what: NewPause {
                reason,
                until,
                times: 3,
                said: String::new(),
            },
            run: RunId::new(1),
            created_at: now,
        });
        let left = Duration::from_secs(left);
        (PauseWait { pause, until, left }, now)
    }

    #[test]
    fn countdown_shows_duration_and_reason() {
        let said = |reason, left| {
            let (wait, now) = wait(reason, left);
            // The hour depends on the time zone of the machine, so leave it out.
            let line = countdown(&wait, now);
            let (left, rest) = line.split_once(", at ").unwrap();
            let (_, why) = rest.split_once(": ").unwrap();
            format!("{left}: {why}")
        };
        assert_eq!(
            said(PauseReason::UsageLimit, 3899),
            "Resuming in 1 h 04 min: usage limit of claude. Ctrl+C stops."
        );
        assert_eq!(
            said(PauseReason::Transient, 7),
            "Resuming in 7 s: service of claude failed 3 times in a row. Ctrl+C stops."
        );
        assert_eq!(
            said(PauseReason::Transient, 299),
            "Resuming in 4 min 59 s: service of claude failed 3 times in a row. Ctrl+C stops."
        );
    }

    #[test]
    fn ended_pause_has_no_status_line() {
        let (wait, now) = wait(PauseReason::UsageLimit, 7800);
        let said = status_line(&wait.pause, now).unwrap();
        assert!(said.starts_with("claude: usage limit until "), "{said}");
        assert!(said.ends_with(", in 2 h 10 min"), "{said}");
        assert_eq!(status_line(&wait.pause, wait.until), None);
    }
}
