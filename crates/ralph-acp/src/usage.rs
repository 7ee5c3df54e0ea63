//! Usage of a turn: most agents report it in the prompt response, some also during the turn, and gemini in its own
//! field.

use ralph_model::Usage;
use serde_json::Value;

/// What the prompt response contains about usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageReport {
    Numbers,
    /// An explicit null.
    Null,
    /// No field at all.
    Nothing,
    /// The response reports that no model completed an answer.
    NoModel,
}

/// Reads the usage from the response to a prompt.
pub(crate) fn of_answer(result: &Value, usage: &mut Usage) -> UsageReport {
    let of_gemini = || result.pointer("/_meta/quota/token_count");
    match result.get("usage") {
        Some(Value::Null) => return UsageReport::Null,
        Some(counts) => {
            let tokens = |key| counts.get(key).and_then(Value::as_u64).unwrap_or_default();
            let output = tokens("outputTokens");
            // Agents differ in whether input includes cached tokens; the total always does.
            let rest = tokens("totalTokens").saturating_sub(output.saturating_add(tokens("thoughtTokens")));
            usage.input_tokens = tokens("inputTokens").max(rest);
            usage.output_tokens = output;
        }
        None => {
            let Some(counts) = of_gemini() else {
                return UsageReport::Nothing;
            };
            let tokens = |key| counts.get(key).and_then(Value::as_u64).unwrap_or_default();
            usage.input_tokens = tokens("input_tokens");
            usage.output_tokens = tokens("output_tokens");
            let models = result.pointer("/_meta/quota/model_usage").and_then(Value::as_array);
            if models.is_some_and(Vec::is_empty) && usage.tokens() == 0 {
                return UsageReport::NoModel;
            }
        }
    }
    UsageReport::Numbers
}

/// The model that gemini reports as used most.
pub(crate) fn model_of_answer(result: &Value) -> Option<&str> {
    result.pointer("/_meta/quota/model_usage/0/model")?.as_str()
}

/// Reads the session cost from an update. Its token count is the current context size, not the usage.
pub(crate) fn of_update(update: &Value, usage: &mut Usage) {
    let currency = update.pointer("/cost/currency").and_then(Value::as_str);
    let amount = update.pointer("/cost/amount").and_then(Value::as_f64);
    if let Some(amount) = amount.filter(|amount| currency == Some("USD") && amount.is_finite() && *amount >= 0.0) {
        usage.cost_usd = amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(result: &Value, report: UsageReport, input_tokens: u64, output_tokens: u64) {
        let mut usage = Usage::default();
        assert_eq!(of_answer(result, &mut usage), report, "{result}");
        assert_eq!(
            (usage.input_tokens, usage.output_tokens),
            (input_tokens, output_tokens),
            "{result}"
        );
    }

    #[test]
    fn input_tokens_include_cached_tokens() {
        // claude-agent-acp
        let usage = json!({"inputTokens": 10, "outputTokens": 20, "cachedReadTokens": 300, "cachedWriteTokens": 40, "totalTokens": 370});
        check(&json!({ "usage": usage }), UsageReport::Numbers, 350, 20);
        // codex-acp
        let usage = json!({"inputTokens": 310, "outputTokens": 20, "cachedReadTokens": 300, "thoughtTokens": 5, "totalTokens": 330});
        check(&json!({ "usage": usage }), UsageReport::Numbers, 310, 20);
        check(&json!({"usage": {"inputTokens": 7}}), UsageReport::Numbers, 7, 0);
    }

    #[test]
    fn gemini_and_qwen_usage() {
        let quota = json!({"token_count": {"input_tokens": 3, "output_tokens": 4}, "model_usage": [{"model": "gemini-2.5-pro"}]});
        let result = json!({"stopReason": "end_turn", "_meta": {"quota": quota}});
        check(&result, UsageReport::Numbers, 3, 4);
        assert_eq!(model_of_answer(&result), Some("gemini-2.5-pro"));
        check(&json!({"stopReason": "end_turn"}), UsageReport::Nothing, 0, 0);
        check(
            &json!({"stopReason": "end_turn", "usage": null}),
            UsageReport::Null,
            0,
            0,
        );
    }

    #[test]
    fn only_dollar_costs_are_counted() {
        let mut usage = Usage::default();
        of_update(
            &json!({"used": 5, "size": 9, "cost": {"amount": 0.5, "currency": "USD"}}),
            &mut usage,
        );
        of_update(&json!({"cost": {"amount": 70.0, "currency": "EUR"}}), &mut usage);
        of_update(&json!({"cost": {"amount": -1.0, "currency": "USD"}}), &mut usage);
        of_update(&json!({"cost": "much"}), &mut usage);
        assert!((usage.cost_usd - 0.5).abs() < f64::EPSILON, "{usage:?}");
    }
}
