//! Derives how a turn ended from the agent's stop reason or error. Each agent has its own error codes and data.
//! Messages are parsed only if nothing else helps, and only in complete, known forms.

use std::time::Duration;

use jiff::Timestamp;
use ralph_agent::{TurnEnd, claude_usage_limit, codex_error};
use ralph_model::preview;
use serde_json::Value;

use crate::schema::StopReason;
use crate::wire::RpcError;

const MESSAGE_COLUMNS: usize = 500;
/// The error code of an agent that is not logged in.
const AUTH_REQUIRED: i64 = -32000;
/// The error code of a canceled request.
const REQUEST_CANCELLED: i64 = -32800;

/// The end of a turn with a stop reason.
pub(crate) fn of_reason(reason: StopReason, last_text: &str) -> TurnEnd {
    match reason {
        StopReason::MaxTokens => TurnEnd::TokenLimit,
        StopReason::MaxTurnRequests => TurnEnd::TurnLimit,
        StopReason::Refusal => TurnEnd::Refusal(preview(last_text, MESSAGE_COLUMNS)),
        StopReason::Cancelled => TurnEnd::Stopped,
        // An unknown stop reason is still an end.
        _ => TurnEnd::Finished,
    }
}

/// The end of a codex turn that reports no usage: the service failed, and only the last text has the error.
pub(crate) fn of_silent_failure([last_chunk, last_text]: [&str; 2], now: Timestamp) -> TurnEnd {
    codex_error(last_chunk, now)
        .or_else(|| codex_error(last_text, now))
        .unwrap_or_else(|| TurnEnd::Transient(preview(last_chunk, MESSAGE_COLUMNS)))
}

/// Whether the error message is this text, up to the kept length.
pub(crate) fn is_message(end: &TurnEnd, text: &str) -> bool {
    let message = match end {
        TurnEnd::Auth(message)
        | TurnEnd::Billing(message)
        | TurnEnd::Transient(message)
        | TurnEnd::ContextOverflow(message) => message,
        TurnEnd::UsageLimit { message, .. } => message,
        _ => return false,
    };
    let shown = |text: &str| preview(&sentence(text), MESSAGE_COLUMNS).replace('’', "'");
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    !text.is_empty() && (shown(text) == shown(message) || preview(text, MESSAGE_COLUMNS) == *message)
}

pub(crate) fn contains_text(error: &RpcError, text: &str) -> bool {
    !text.is_empty() && messages(error).any(|message| message == text || message.ends_with(text))
}

/// The end of a copilot turn that reports no usage: the last text chunk has the error.
pub(crate) fn of_copilot_failure(last_chunk: &str) -> Option<TurnEnd> {
    let error = last_chunk.trim().strip_prefix("Error: ")?;
    let shown = preview(error, MESSAGE_COLUMNS);
    let (first, _) = error.split_once('\n').unwrap_or((error, ""));
    let status = first
        .trim_end_matches('.')
        .rsplit_once("(HTTP ")
        .and_then(|(_, end)| end.strip_suffix(')'));
    let in_front = error.split_once(' ').map(|(word, _)| word);
    let by_status = status
        .or(in_front)
        .and_then(|status| by_plain_status(status.parse().ok()?, &shown));
    Some(if let Some(end) = by_status {
        end
    } else if error.starts_with("The provider rejected the prompt as too long") {
        TurnEnd::ContextOverflow(shown)
    } else {
        TurnEnd::Transient(shown)
    })
}

/// Classifies an error; `None` if its form is unknown.
pub(crate) fn of_error(error: &RpcError, now: Timestamp) -> Option<TurnEnd> {
    let shown = describe(error);
    by_kind(error, &shown, now)
        .or_else(|| by_codex_info(error, &shown, now))
        .or_else(|| by_name(error, &shown))
        .or_else(|| by_status(status(error)?, error, &shown, now))
        .or_else(|| by_code(error.code, &shown))
        .or_else(|| usage_limit(error, &shown, now))
        .or_else(|| connection_lost(error, &shown))
}

/// The error as readable text.
pub(crate) fn describe(error: &RpcError) -> String {
    let message = error.message.trim();
    let details = texts_of_data(&error.data).find(|text| *text != message);
    let shown = match (message, details) {
        ("", None) => format!("error {}", error.code),
        (message, None) => message.to_owned(),
        ("", Some(details)) => details.to_owned(),
        (message, Some(details)) => format!("{message}: {details}"),
    };
    preview(&shown, MESSAGE_COLUMNS)
}

/// Classifies by the error kind of claude-agent-acp and similar agents.
fn by_kind(error: &RpcError, shown: &str, now: Timestamp) -> Option<TurnEnd> {
    let shown = || shown.to_owned();
    Some(match error.data.get("errorKind")?.as_str()? {
        "authentication_failed" | "authentication_error" | "authentication" | "oauth_org_not_allowed" => {
            TurnEnd::Auth(shown())
        }
        "billing_error" | "billing" => TurnEnd::Billing(shown()),
        "rate_limit" | "rate_limit_error" => {
            usage_limit(error, &shown(), now).unwrap_or_else(|| TurnEnd::Transient(shown()))
        }
        "overloaded" | "overloaded_error" | "server_error" | "api_error" | "timeout" => TurnEnd::Transient(shown()),
        "prompt_too_long" | "model_context_window_exceeded" => TurnEnd::ContextOverflow(shown()),
        "max_output_tokens" => TurnEnd::TokenLimit,
        "max_turns" => TurnEnd::TurnLimit,
        "refusal" => TurnEnd::Refusal(shown()),
        // This kind covers both prompts that are too long and invalid requests.
        "invalid_request" if messages(error).any(is_too_long_message) => TurnEnd::ContextOverflow(shown()),
        _ => return None,
    })
}

/// Whether this is a service's message about a prompt that is too long, possibly after its status: Anthropic, `OpenAI`
/// in two forms, Google.
fn is_too_long_message(text: &str) -> bool {
    const BEGINNINGS: [&str; 4] = [
        "Prompt is too long",
        "Your input exceeds the context window",
        "This model's maximum context length is",
        "The input token count",
    ];
    let text = text.strip_prefix("API Error: ").unwrap_or(text);
    let text = text.strip_prefix("400 ").unwrap_or(text);
    BEGINNINGS.iter().any(|beginning| {
        let start = text.get(..beginning.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(beginning))
    })
}

/// The complete messages of the agents' HTTP libraries when a connection fails or breaks.
fn connection_lost(error: &RpcError, shown: &str) -> Option<TurnEnd> {
    const WHOLE: [&str; 5] = [
        "terminated",
        "fetch failed",
        "Connection error",
        "Premature close",
        "socket hang up",
    ];
    let is_lost = messages(error).any(|text| WHOLE.contains(&text.trim_end_matches('.')));
    is_lost.then(|| TurnEnd::Transient(shown.to_owned()))
}

/// Classifies by the error info of codex: a string, or an object with one key.
fn by_codex_info(error: &RpcError, shown: &str, now: Timestamp) -> Option<TurnEnd> {
    let info = error.data.get("codexErrorInfo")?;
    let object = info.as_object().and_then(|object| object.iter().next());
    let word = info.as_str().or(object.map(|(word, _)| word.as_str()))?;
    let status = object.and_then(|(_, more)| more.get("httpStatusCode").or(more.get("http_status_code"))?.as_u64());
    // Both spellings occur.
    let word: String = word
        .chars()
        .filter(|sign| *sign != '_')
        .collect::<String>()
        .to_lowercase();
    let by_text = messages(error).find_map(|text| codex_error(text, now));
    let shown = shown.to_owned();
    Some(match word.as_str() {
        "usagelimitexceeded" => {
            let resets_at = match by_text {
                Some(TurnEnd::UsageLimit { resets_at, .. }) => resets_at,
                _ => None,
            };
            TurnEnd::UsageLimit {
                resets_at,
                message: shown,
            }
        }
        "contextwindowexceeded" => TurnEnd::ContextOverflow(shown),
        "unauthorized" => TurnEnd::Auth(shown),
        "internalservererror"
        | "serveroverloaded"
        | "httpconnectionfailed"
        | "responsestreamconnectionfailed"
        | "responsestreamdisconnected"
        | "responsetoomanyfailedattempts" => match status.and_then(|status| by_plain_status(status, &shown)) {
            Some(end) => end,
            None => TurnEnd::Transient(shown),
        },
        _ => return by_text,
    })
}

fn by_code(code: i64, shown: &str) -> Option<TurnEnd> {
    match code {
        AUTH_REQUIRED => Some(TurnEnd::Auth(shown.to_owned())),
        REQUEST_CANCELLED => Some(TurnEnd::Stopped),
        _ => None,
    }
}

/// Classifies by the error name of opencode.
fn by_name(error: &RpcError, shown: &str) -> Option<TurnEnd> {
    let places = ["/name", "/errorName", "/error/name"];
    let name = places.iter().find_map(|place| error.data.pointer(place)?.as_str())?;
    let shown = shown.to_owned();
    match name {
        "ContextOverflowError" => Some(TurnEnd::ContextOverflow(shown)),
        "ProviderAuthError" => Some(TurnEnd::Auth(shown)),
        "MessageOutputLengthError" => Some(TurnEnd::TokenLimit),
        "MessageAbortedError" => Some(TurnEnd::Stopped),
        // opencode uses this name for every failed request, here without a status.
        "APIError" if status(error).is_none() => Some(TurnEnd::Transient(shown)),
        _ => None,
    }
}

/// The HTTP status: gemini uses it as the error code; others put it into the data or in front of the message.
fn status(error: &RpcError) -> Option<u64> {
    let is_status = |number: &u64| (400..600).contains(number);
    let places = [
        "/status",
        "/statusCode",
        "/data/statusCode",
        "/error/code",
        "/error/data/statusCode",
    ];
    let of_data = || {
        places
            .iter()
            .find_map(|place| error.data.pointer(place)?.as_u64().filter(is_status))
    };
    let of_text = |text: &str| {
        let (status, _) = text.split_once(' ')?;
        (status.len() == 3)
            .then(|| status.parse().ok())
            .flatten()
            .filter(is_status)
    };
    let code = u64::try_from(error.code).ok().filter(is_status);
    code.or_else(of_data).or_else(|| messages(error).find_map(of_text))
}

fn by_status(status: u64, error: &RpcError, shown: &str, now: Timestamp) -> Option<TurnEnd> {
    match status {
        429 => usage_limit(error, shown, now).or_else(|| quota(error, shown, now)),
        400 if is_too_long(error) => Some(TurnEnd::ContextOverflow(shown.to_owned())),
        _ => None,
    }
    .or_else(|| by_plain_status(status, shown))
}

fn by_plain_status(status: u64, shown: &str) -> Option<TurnEnd> {
    let shown = shown.to_owned();
    match status {
        401 | 403 => Some(TurnEnd::Auth(shown)),
        402 => Some(TurnEnd::Billing(shown)),
        413 => Some(TurnEnd::ContextOverflow(shown)),
        408 | 409 | 429 | 500.. => Some(TurnEnd::Transient(shown)),
        _ => None,
    }
}

/// Whether a refused request was too long, by the service's error code or else its message.
fn is_too_long(error: &RpcError) -> bool {
    let words = ["/error/code", "/code", "/error/status", "/reason"];
    let has_error_code = |value: &Value| {
        words
            .iter()
            .any(|place| value.pointer(place).and_then(Value::as_str) == Some("context_length_exceeded"))
    };
    has_error_code(&error.data)
        || messages(error).any(|text| {
            inner_json(text).is_some_and(|inner| has_error_code(&inner)) || is_too_long_message(&sentence(text))
        })
}

/// An exhausted gemini quota, if the error has a reset time or is about the daily quota.
fn quota(error: &RpcError, shown: &str, now: Timestamp) -> Option<TurnEnd> {
    const RESETS: &str = "Your quota will reset after ";
    const DAILY: &str = "You have exhausted your daily quota on this model";
    let inner = messages(error).find_map(inner_json);
    let delay = [Some(&error.data), inner.as_ref()]
        .into_iter()
        .flatten()
        .find_map(retry_delay);
    let by_text = || {
        messages(error).find_map(|text| {
            let (_, rest) = text.split_once(RESETS)?;
            span(rest.split([' ', '\n']).next()?.trim_end_matches('.'))
        })
    };
    let delay = delay.or_else(by_text);
    let is_daily = || messages(error).any(|text| text.starts_with(DAILY));
    (delay.is_some() || is_daily()).then(|| TurnEnd::UsageLimit {
        resets_at: delay.and_then(|delay| now.checked_add(delay).ok()),
        message: shown.to_owned(),
    })
}

/// The delay in the details of a quota error: one detail names the quota, another the time.
fn retry_delay(value: &Value) -> Option<Duration> {
    let details = value.pointer("/error/details").or(value.get("details"))?.as_array()?;
    let of_type = |name: &str| {
        details.iter().find(|detail| {
            let kind = detail.get("@type").and_then(Value::as_str);
            kind.is_some_and(|kind| kind.ends_with(name))
        })
    };
    of_type("google.rpc.QuotaFailure")?;
    span(of_type("google.rpc.RetryInfo")?.get("retryDelay")?.as_str()?)
}

/// Parses `5h3m2s` or `34.07s`.
fn span(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    let mut number = String::new();
    for sign in text.chars() {
        if sign.is_ascii_digit() || sign == '.' {
            number.push(sign);
            continue;
        }
        let unit = match sign {
            'd' => 86_400.0,
            'h' => 3_600.0,
            'm' => 60.0,
            's' => 1.0,
            _ => return None,
        };
        seconds += std::mem::take(&mut number).parse::<f64>().ok()? * unit;
    }
    let is_whole = number.is_empty() && seconds > 0.0;
    is_whole.then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

/// A subscription limit in the words of claude or codex.
fn usage_limit(error: &RpcError, shown: &str, now: Timestamp) -> Option<TurnEnd> {
    messages(error).find_map(|text| {
        let read = [claude_usage_limit(text, now), codex_error(text, now)];
        let message = shown.to_owned();
        read.into_iter().flatten().find_map(|end| match end {
            TurnEnd::UsageLimit { resets_at, .. } => Some(TurnEnd::UsageLimit {
                resets_at,
                message: message.clone(),
            }),
            TurnEnd::Billing(_) => Some(TurnEnd::Billing(message.clone())),
            _ => None,
        })
    })
}

/// All texts of an error, without the prefixes of adapters.
fn messages(error: &RpcError) -> impl Iterator<Item = &str> {
    std::iter::once(error.message.trim())
        .chain(texts_of_data(&error.data))
        .map(|text| text.strip_prefix("Internal error: ").unwrap_or(text))
}

fn texts_of_data(data: &Value) -> impl Iterator<Item = &str> {
    let places = ["", "/details", "/message", "/data/message", "/error/message", "/error"];
    let texts = places.into_iter().filter_map(|place| data.pointer(place)?.as_str());
    texts.map(str::trim).filter(|text| !text.is_empty())
}

/// The JSON that a text consists of or ends with, such as a passed-on service response.
fn inner_json(text: &str) -> Option<Value> {
    let start = text.find('{')?;
    serde_json::from_str(text.split_at(start).1.trim_end()).ok()
}

/// The message in a JSON text, or else the text itself.
fn sentence(text: &str) -> String {
    let inner = inner_json(text);
    let message = inner
        .as_ref()
        .and_then(|inner| inner.pointer("/error/message")?.as_str());
    message.unwrap_or(text).to_owned()
}

#[cfg(test)]
#[path = "ends_tests.rs"]
mod tests;
