//! What codex says when the service fails, where it says so in a text alone.

use jiff::Timestamp;
use ralph_agent::TurnEnd;
use serde_json::Value;

/// What a text of codex's about an error means; none when it is not of a known form.
pub(crate) fn codex_error(text: &str, _now: Timestamp) -> Option<TurnEnd> {
    let shown = text.to_owned();
    if text.starts_with("You've hit your usage limit") {
        return Some(TurnEnd::UsageLimit {
            resets_at: None,
            message: shown,
        });
    }
    if text.starts_with("exceeded retry limit, last status: ") {
        return Some(TurnEnd::Transient(shown));
    }
    let json: Value = serde_json::from_str(text).ok()?;
    let code = json.pointer("/error/code").and_then(Value::as_str);
    (code == Some("context_length_exceeded")).then_some(TurnEnd::ContextOverflow(shown))
}
