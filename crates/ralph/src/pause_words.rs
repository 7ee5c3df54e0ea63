//! What is said of an agent's pause: until when, for how long, and why.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_loop::state::PauseWait;
use ralph_model::{count, duration};
use ralph_store::{Pause, PauseReason};

/// From when on nobody wants to know the second.
const LONG: Duration = Duration::from_secs(300);

/// A wait for the end of a pause, as a person reads it who could stop it.
pub(crate) fn countdown(wait: &PauseWait, now: Timestamp) -> String {
    format!("{} Ctrl+C stops.", goes_on(wait, now))
}

/// When a run goes on that waits, and what it waits for.
pub(crate) fn goes_on(wait: &PauseWait, now: Timestamp) -> String {
    let agent = &wait.pause.agent;
    let why = match wait.pause.what.reason {
        PauseReason::UsageLimit => format!("usage limit of {agent}"),
        PauseReason::Transient => {
            let times = wait.pause.what.times as usize;
            format!(
                "the service of {agent} failed {}",
                count(times, "time", "times in a row")
            )
        }
    };
    let (moment, left) = (moment(wait.until, wait.left, now), rounded(wait.left));
    // A narrow terminal shows the beginning: what changes stands there.
    format!("Goes on in {left}, at {moment}: {why}.")
}

/// A pause that is not over, as the status tells it; none of one that is.
pub(crate) fn standing(pause: &Pause, now: Timestamp) -> Option<String> {
    let left = pause.left(now)?;
    let why = match pause.what.reason {
        PauseReason::UsageLimit => "usage limit",
        PauseReason::Transient => "its service fails, no try",
    };
    let until = now.checked_add(left).unwrap_or(pause.what.until);
    Some(format!(
        "{}: {why} until {}, in {}",
        pause.agent,
        moment(until, left, now),
        rounded(left)
    ))
}

/// A moment on the clock here: with the day where it is not today, with the second where it is near.
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

/// A time in whole seconds, and in whole minutes where it is long.
fn rounded(left: Duration) -> String {
    let seconds = match left.as_secs() {
        long if left >= LONG => long - long % 60,
        // Never shorter than it is: what is left of the last second is one.
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
    fn a_wait_says_why_until_when_and_how_long() {
        let said = |reason, left| {
            let (wait, now) = wait(reason, left);
            // The zone of the machine decides on the hour; here it is left out.
            let line = countdown(&wait, now);
            let (left, rest) = line.split_once(", at ").unwrap();
            let (_, why) = rest.split_once(": ").unwrap();
            format!("{left}: {why}")
        };
        assert_eq!(
            said(PauseReason::UsageLimit, 3899),
            "Goes on in 1 h 04 min: usage limit of claude. Ctrl+C stops."
        );
        assert_eq!(
            said(PauseReason::Transient, 7),
            "Goes on in 7 s: the service of claude failed 3 times in a row. Ctrl+C stops."
        );
        assert_eq!(
            said(PauseReason::Transient, 299),
            "Goes on in 4 min 59 s: the service of claude failed 3 times in a row. Ctrl+C stops."
        );
    }

    #[test]
    fn a_pause_that_is_over_is_not_told() {
        let (wait, now) = wait(PauseReason::UsageLimit, 7800);
        let said = standing(&wait.pause, now).unwrap();
        assert!(said.starts_with("claude: usage limit until "), "{said}");
        assert!(said.ends_with(", in 2 h 10 min"), "{said}");
        assert_eq!(standing(&wait.pause, wait.until), None);
    }
}
