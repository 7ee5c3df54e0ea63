//! Interprets the last record of a turn. Its `success` is checked last, because the program also reports it when the
//! service refused.

use jiff::Timestamp;
use ralph_model::preview;

use super::events::{RateLimit, ResultRecord, ToolInput};
use super::exact_rule;
use super::limits::{self, Spent};
use crate::allowed::{FULL_PERMISSIONS, permitting_line};
use crate::timestamps;
use crate::{Denial, TurnEnd};

const MESSAGE_COLUMNS: usize = 500;

pub(super) fn end_of(result: &ResultRecord, rejected: Option<&RateLimit>, now: Timestamp) -> TurnEnd {
    let text = result.message();
    let message = preview(&text, MESSAGE_COLUMNS);
    match result.subtype.as_deref() {
        Some("error_max_turns") => return TurnEnd::TurnLimit,
        _ if result.is_error || hides_an_error(result) => {}
        // A record without an error is not an error, whatever its text says.
        Some("success") | None => return end_without_error(result, message),
        Some(_) => {}
    }
    if let Some(end) = end_by_reason(result, &message) {
        return end;
    }
    let reported = rejected.and_then(resets_at);
    match limits::read(&text, now) {
        Some(Spent::Money) if reported.is_none() => return TurnEnd::Billing(message),
        Some(Spent::Money) => return end_by_rate(rejected, message),
        Some(Spent::Usage { resets_at }) => {
            // The text may lack a date and may be read after its minute has passed.
            let resets_at = reported.or(resets_at);
            return TurnEnd::UsageLimit { resets_at, message };
        }
        None => {}
    }
    end_by_error(result, rejected, message)
}

/// Whether the service or the program aborted the turn although the record reports no error.
fn hides_an_error(result: &ResultRecord) -> bool {
    let broke_off = matches!(
        result.terminal_reason.as_deref(),
        Some(
            "api_error"
                | "model_error"
                | "image_error"
                | "prompt_too_long"
                | "blocking_limit"
                | "rapid_refill_breaker"
                | "malformed_tool_use_exhausted"
                | "turn_setup_failed"
        )
    );
    broke_off || result.error.is_some()
}

/// Classifies an error by the status of the service or the error names of the program and the service.
fn end_by_error(result: &ResultRecord, rejected: Option<&RateLimit>, message: String) -> TurnEnd {
    match (result.api_error_status, result.error.as_deref()) {
        (Some(401 | 403), _)
        | (
            _,
            Some(
                "authentication_failed"
                | "oauth_org_not_allowed"
                | "account_on_hold"
                | "verification_required"
                | "cloud_credential_error",
            ),
        ) => TurnEnd::Auth(message),
        (Some(402), _) | (_, Some("billing_error")) => TurnEnd::Billing(message),
        (Some(429), _) | (_, Some("rate_limit")) => end_by_rate(rejected, message),
        (Some(408 | 409 | 500..), _) | (_, Some("server_error" | "overloaded")) => TurnEnd::Transient(message),
        (Some(413), _) => TurnEnd::ContextOverflow(message),
        _ if rejected.is_some() => end_by_rate(rejected, message),
        // Without a status, the service was not reached or the stream was interrupted.
        (None, _) if result.terminal_reason.as_deref() == Some("api_error") => TurnEnd::Transient(message),
        _ => TurnEnd::Crash(described(result, message)),
    }
}

fn end_without_error(result: &ResultRecord, message: String) -> TurnEnd {
    match result.stop_reason.as_deref() {
        Some("refusal") => TurnEnd::Refusal(message),
        Some("max_tokens") => TurnEnd::TokenLimit,
        Some("model_context_window_exceeded") => TurnEnd::ContextOverflow(message),
        _ => TurnEnd::Finished,
    }
}

/// Classifies by the program's stop reason, if it has a known one.
fn end_by_reason(result: &ResultRecord, message: &str) -> Option<TurnEnd> {
    let words = [
        result.terminal_reason.as_deref(),
        result.error.as_deref(),
        result.stop_reason.as_deref(),
    ];
    words.into_iter().flatten().find_map(|word| match word {
        "prompt_too_long" | "model_context_window_exceeded" | "blocking_limit" | "rapid_refill_breaker" => {
            Some(TurnEnd::ContextOverflow(message.to_owned()))
        }
        "max_output_tokens" | "max_tokens" => Some(TurnEnd::TokenLimit),
        "max_turns" => Some(TurnEnd::TurnLimit),
        "refusal" => Some(TurnEnd::Refusal(message.to_owned())),
        _ => None,
    })
}

fn resets_at(limit: &RateLimit) -> Option<Timestamp> {
    limit.resets_at.and_then(timestamps::from_epoch)
}

/// Too many requests: a subscription limit if the program reported one, otherwise transient.
fn end_by_rate(rejected: Option<&RateLimit>, message: String) -> TurnEnd {
    match rejected {
        Some(limit) => TurnEnd::UsageLimit {
            resets_at: resets_at(limit),
            message: if message.is_empty() {
                let which = limit.rate_limit_type.as_deref().unwrap_or("usage");
                format!("the {which} limit is reached")
            } else {
                message
            },
        },
        None => TurnEnd::Transient(message),
    }
}

fn described(result: &ResultRecord, message: String) -> String {
    if message.is_empty() {
        let what = result.terminal_reason.as_deref().or(result.subtype.as_deref());
        format!("it ended with {}", what.unwrap_or("an error"))
    } else {
        message
    }
}

/// A denied tool call, with the line of `.claude/settings.json` that permits it.
pub(super) fn denial(tool: &str, input: &ToolInput) -> Denial {
    let rule = match tool {
        "Bash" => None,
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => input.path().and_then(file_rule),
        "WebFetch" => input
            .url()
            .and_then(host_of)
            .map(|host| format!("WebFetch(domain:{host})")),
        _ => Some(tool.to_owned()),
    };
    let permit = match (input.command(), rule) {
        (Some(command), None) if exact_rule(command).is_some() => permitting_line(command),
        (_, Some(rule)) => {
            let rule = serde_json::Value::from(rule);
            format!("\"permissions\": {{\"allow\": [{rule}]}} in .claude/settings.json, committed")
        }
        (_, None) => FULL_PERMISSIONS.to_owned(),
    };
    Denial {
        tool: tool.to_owned(),
        about: input.about(),
        permit: Some(permit),
    }
}

/// The rule that allows writing exactly this file.
fn file_rule(path: &str) -> Option<String> {
    (path.starts_with('/') && !path.contains(['*', '(', ')', '\\'])).then(|| format!("Edit(/{path})"))
}

fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split(['/', '?', '#', ':']).next().filter(|host| !host.is_empty())
}
