//! What a turn used, as agents tell it: most in their answer to the prompt, some on the way, gemini in a place of its own.

use ralph_model::Usage;
use serde_json::Value;

/// Whether an agent says in its answer what the turn used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// It does.
    Numbers,
    /// It says that there is nothing to say.
    Null,
    /// It says nothing of it.
    Nothing,
    /// It says that no model has come to the end of an answer.
    NoModel,
}

/// Takes what the answer to a prompt tells.
pub(crate) fn of_answer(result: &Value, usage: &mut Usage) -> Told {
    let of_gemini = || result.pointer("/_meta/quota/token_count");
    match result.get("usage") {
        Some(Value::Null) => return Told::Null,
        Some(told) => {
            let tokens = |key| told.get(key).and_then(Value::as_u64).unwrap_or_default();
            let output = tokens("outputTokens");
            // Some count what was read from a cache as input and some do not; the sum has it in any case.
            let rest = tokens("totalTokens").saturating_sub(output.saturating_add(tokens("thoughtTokens")));
            usage.input_tokens = tokens("inputTokens").max(rest);
            usage.output_tokens = output;
        }
        None => {
            let Some(told) = of_gemini() else {
                return Told::Nothing;
            };
            let tokens = |key| told.get(key).and_then(Value::as_u64).unwrap_or_default();
            usage.input_tokens = tokens("input_tokens");
            usage.output_tokens = tokens("output_tokens");
            let models = result.pointer("/_meta/quota/model_usage").and_then(Value::as_array);
            if models.is_some_and(Vec::is_empty) && usage.tokens() == 0 {
                return Told::NoModel;
            }
        }
    }
    Told::Numbers
}

/// The model that gemini says it used most.
pub(crate) fn model_of_answer(result: &Value) -> Option<&str> {
    result.pointer("/_meta/quota/model_usage/0/model")?.as_str()
}

/// Takes what is told on the way: what the session has cost so far. The tokens that are told beside it are those which the
/// model reads now, not those which it has read.
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
    fn check(result: &Value, told: Told, input_tokens: u64, output_tokens: u64) {
        let mut usage = Usage::default();
        assert_eq!(of_answer(result, &mut usage), told, "{result}");
        assert_eq!(
            (usage.input_tokens, usage.output_tokens),
            (input_tokens, output_tokens),
            "{result}"
        );
    }

    #[test]
    fn input_holds_what_was_read_from_a_cache_however_it_is_counted() {
        // claude-agent-acp
        let usage = json!({"inputTokens": 10, "outputTokens": 20, "cachedReadTokens": 300, "cachedWriteTokens": 40, "totalTokens": 370});
        check(&json!({ "usage": usage }), Told::Numbers, 350, 20);
        // codex-acp
        let usage = json!({"inputTokens": 310, "outputTokens": 20, "cachedReadTokens": 300, "thoughtTokens": 5, "totalTokens": 330});
        check(&json!({ "usage": usage }), Told::Numbers, 310, 20);
        check(&json!({"usage": {"inputTokens": 7}}), Told::Numbers, 7, 0);
    }

    #[test]
    fn gemini_tells_it_elsewhere_and_qwen_not_at_all() {
        let quota = json!({"token_count": {"input_tokens": 3, "output_tokens": 4}, "model_usage": [{"model": "gemini-2.5-pro"}]});
        let result = json!({"stopReason": "end_turn", "_meta": {"quota": quota}});
        check(&result, Told::Numbers, 3, 4);
        assert_eq!(model_of_answer(&result), Some("gemini-2.5-pro"));
        check(&json!({"stopReason": "end_turn"}), Told::Nothing, 0, 0);
        check(&json!({"stopReason": "end_turn", "usage": null}), Told::Null, 0, 0);
    }

    #[test]
    fn only_dollars_are_dollars() {
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
