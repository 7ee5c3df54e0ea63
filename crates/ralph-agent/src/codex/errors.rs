//! Recognizes the error messages of Codex: sentences with a known prefix, or the service's JSON. Texts are matched from
//! their start, never searched for words.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use ralph_model::preview;
use serde::Deserialize;

use crate::lenient::lenient;
use crate::{TurnEnd, timestamps};

const MESSAGE_COLUMNS: usize = 500;

/// Transient service errors.
const TRANSIENT: &[&str] = &[
    "We're currently experiencing high demand",
    "Selected model is at capacity.",
    "Policy-restricted capacity is unavailable.",
    "stream disconnected before completion: ",
    "stream closed before response.completed",
    "remote compaction v2 stream closed before response.completed",
    "Connection failed: ",
    "Error while reading the server response: ",
    "request timed out",
];
/// The account cannot pay.
const BILLING: &[&str] = &[
    "Quota exceeded. Check your plan and billing details.",
    "Your workspace is out of credits.",
    "You hit your spend cap set ",
    "To use Codex with your ChatGPT plan, upgrade to Plus",
];
/// Missing or invalid credentials.
const AUTH: &[&str] = &[
    "Your access token could not be refreshed",
    "Missing environment variable: `",
    "Access blocked by Cloudflare.",
];
/// Refused by a safety filter of the service.
const REFUSAL: &[&str] = &[
    "This content was flagged for possible ",
    "This request has been flagged for possible ",
    "This request was blocked due to a misalignment policy violation.",
];
/// The prompt is too long.
const OVERFLOW: &[&str] = &["Codex ran out of room in the model's context window."];
/// Prefixes in front of another message, which has the actual cause.
const WRAPPING_PREFIXES: &[&str] = &[
    "Error running remote compact task: ",
    "stream disconnected before completion: ",
];

/// How a Codex turn with this error message ended; `None` if its form is unknown. Times of day are in this machine's
/// time zone, like in Codex.
#[must_use]
pub fn codex_error(text: &str, now: Timestamp) -> Option<TurnEnd> {
    read(text, &now.to_zoned(TimeZone::system()))
}

/// Like [`codex_error`], with the time zone.
pub(super) fn read(text: &str, now: &Zoned) -> Option<TurnEnd> {
    // Both kinds of apostrophes occur.
    let text = text.trim().replace('’', "'");
    let message = preview(&text, MESSAGE_COLUMNS);
    WRAPPING_PREFIXES
        .iter()
        .find_map(|before| read_one(text.strip_prefix(before)?, &message, now))
        .or_else(|| read_one(&text, &message, now))
}

fn read_one(text: &str, message: &str, now: &Zoned) -> Option<TurnEnd> {
    by_usage_limit(text, message, now)
        .or_else(|| by_incomplete_answer(text, message))
        .or_else(|| by_status(text, message))
        .or_else(|| by_sentence(text, message))
        .or_else(|| by_json(text, message))
}

/// `You've hit your usage limit…`, followed by advice and `try again at 7:07 PM.`
fn by_usage_limit(text: &str, message: &str, now: &Zoned) -> Option<TurnEnd> {
    let rest = text.strip_prefix("You've hit your usage limit")?;
    if !(rest.starts_with('.') || rest.starts_with(" for ")) {
        return None;
    }
    let when = rest
        .rsplit_once(" try again at ")
        .or_else(|| rest.rsplit_once(" Try again at "));
    Some(TurnEnd::UsageLimit {
        resets_at: when.and_then(|(_, when)| reset_time(when.trim_end_matches('.'), now)),
        message: message.to_owned(),
    })
}

/// `7:07 PM`, today or just past, or `Nov 18th, 2026 11:06 AM`.
fn reset_time(when: &str, now: &Zoned) -> Option<Timestamp> {
    let mut parts = when.rsplitn(3, ' ');
    let (half, clock, day) = (parts.next()?, parts.next()?, parts.next());
    let time = timestamps::clock_time(&format!("{clock} {half}"))?;
    match day {
        Some(day) => timestamps::whole_date(day, time, now),
        None => timestamps::next_clock(time, now),
    }
}

/// `Incomplete response returned, reason: max_output_tokens`.
fn by_incomplete_answer(text: &str, message: &str) -> Option<TurnEnd> {
    match text.strip_prefix("Incomplete response returned, reason: ")? {
        "max_output_tokens" => Some(TurnEnd::TokenLimit),
        "content_filter" => Some(TurnEnd::Refusal(message.to_owned())),
        _ => None,
    }
}

/// `unexpected status 401 Unauthorized: …`, `exceeded retry limit, last status: 429 Too Many Requests`.
fn by_status(text: &str, message: &str) -> Option<TurnEnd> {
    let status = ["unexpected status ", "exceeded retry limit, last status: "]
        .iter()
        .find_map(|before| text.strip_prefix(before))?;
    let status: u16 = status.split_whitespace().next()?.trim_end_matches(':').parse().ok()?;
    let message = message.to_owned();
    match status {
        401 | 403 => Some(TurnEnd::Auth(message)),
        402 => Some(TurnEnd::Billing(message)),
        408 | 409 | 425 | 429 | 500..=599 => Some(TurnEnd::Transient(message)),
        413 => Some(TurnEnd::ContextOverflow(message)),
        _ => None,
    }
}

fn by_sentence(text: &str, message: &str) -> Option<TurnEnd> {
    let begins = |sentences: &[&str]| sentences.iter().any(|sentence| text.starts_with(sentence));
    let message = message.to_owned();
    if begins(TRANSIENT) {
        Some(TurnEnd::Transient(message))
    } else if begins(BILLING) {
        Some(TurnEnd::Billing(message))
    } else if begins(AUTH) {
        Some(TurnEnd::Auth(message))
    } else if begins(REFUSAL) {
        Some(TurnEnd::Refusal(message))
    } else if begins(OVERFLOW) {
        Some(TurnEnd::ContextOverflow(message))
    } else {
        None
    }
}

/// The JSON error of the service, passed through by the program.
#[derive(Debug, Deserialize)]
struct Answer {
    error: ServiceError,
}

#[derive(Debug, Deserialize)]
struct ServiceError {
    #[serde(default, deserialize_with = "lenient")]
    code: Option<String>,
    #[serde(default, rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    resets_at: Option<f64>,
}

fn by_json(text: &str, message: &str) -> Option<TurnEnd> {
    let Answer { error } = serde_json::from_str(text).ok()?;
    let message = message.to_owned();
    let words = [error.code.as_deref(), error.kind.as_deref()];
    words.into_iter().flatten().find_map(|word| {
        let message = message.clone();
        match word {
            "context_length_exceeded" => Some(TurnEnd::ContextOverflow(message)),
            "usage_limit_reached" => Some(TurnEnd::UsageLimit {
                resets_at: error.resets_at.and_then(timestamps::from_epoch),
                message,
            }),
            "insufficient_quota" | "billing_hard_limit_reached" => Some(TurnEnd::Billing(message)),
            "invalid_api_key" => Some(TurnEnd::Auth(message)),
            "rate_limit_exceeded" | "server_is_overloaded" | "slow_down" | "server_error" => {
                Some(TurnEnd::Transient(message))
            }
            "invalid_prompt" | "content_filter" | "cyber_policy" => Some(TurnEnd::Refusal(message)),
            _ => None,
        }
    })
}
