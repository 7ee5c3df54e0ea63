//! Errors in the forms that real agents send.

use serde_json::json;

use super::*;

fn noon() -> Timestamp {
    "2026-11-16T11:00:00Z".parse().unwrap()
}

fn read(error: Value) -> Option<TurnEnd> {
    of_error(&RpcError::from(error), noon())
}

/// The kind of an end, without its message.
fn word(end: Option<&TurnEnd>) -> &'static str {
    match end {
        None => "nothing",
        Some(TurnEnd::Auth(_)) => "auth",
        Some(TurnEnd::Billing(_)) => "billing",
        Some(TurnEnd::Transient(_)) => "transient",
        Some(TurnEnd::ContextOverflow(_)) => "overflow",
        Some(TurnEnd::TokenLimit) => "token limit",
        Some(TurnEnd::Stopped) => "stopped",
        Some(TurnEnd::UsageLimit { resets_at: None, .. }) => "usage limit",
        Some(TurnEnd::UsageLimit { resets_at: Some(_), .. }) => "usage limit until",
        Some(_) => "other",
    }
}

#[track_caller]
fn check(error: &Value, expected: &str) {
    assert_eq!(word(read(error.clone()).as_ref()), expected, "{error}");
}

#[test]
fn claude_agent_acp_errors_by_kind() {
    let check = |kind: &str, message: &str, expected: &str| {
        check(
            &json!({"code": -32603, "message": message, "data": {"errorKind": kind}}),
            expected,
        );
    };
    check(
        "rate_limit",
        "Internal error: API Error: Request rejected (429)",
        "transient",
    );
    check(
        "rate_limit",
        "Internal error: You've hit your limit · resets 3pm (Europe/Brussels)",
        "usage limit until",
    );
    check("authentication_failed", "x", "auth");
    check("billing_error", "Internal error: Credit balance is too low", "billing");
    check("overloaded", "x", "transient");
    check("server_error", "x", "transient");
    check("prompt_too_long", "x", "overflow");
    check("invalid_request", "Internal error: Prompt is too long", "overflow");
    check(
        "invalid_request",
        "Internal error: API Error: 400 prompt is too long: 250000 tokens > 200000 maximum",
        "overflow",
    );
    check(
        "invalid_request",
        "Internal error: the name of a tool is wrong",
        "nothing",
    );
    check("max_output_tokens", "x", "token limit");
}

#[test]
fn codex_acp_errors_by_info() {
    let check = |info: Value, expected: &str| {
        check(
            &json!({"code": -32603, "message": "Internal error", "data": {"message": "m", "codexErrorInfo": info}}),
            expected,
        );
    };
    check(json!("usageLimitExceeded"), "usage limit");
    check(json!("usage_limit_exceeded"), "usage limit");
    check(json!("contextWindowExceeded"), "overflow");
    check(json!("unauthorized"), "auth");
    check(json!("internalServerError"), "transient");
    check(
        json!({"responseStreamDisconnected": {"httpStatusCode": null}}),
        "transient",
    );
    check(json!({"httpConnectionFailed": {"httpStatusCode": 503}}), "transient");
    check(
        json!({"responseTooManyFailedAttempts": {"httpStatusCode": 401}}),
        "auth",
    );
    check(json!("somethingNew"), "nothing");
    check(json!(7), "nothing");
}

#[test]
fn auth_required_code_is_recognized() {
    check(&json!({"code": -32000, "message": "Authentication required"}), "auth");
    check(&json!({"code": -32800, "message": "Request cancelled"}), "stopped");
}

#[test]
fn gemini_errors_by_status_code() {
    let check = |code: u64, message: &str, expected: &str| {
        check(&json!({"code": code, "message": message}), expected);
    };
    check(401, "x", "auth");
    check(403, "x", "auth");
    check(402, "x", "billing");
    check(429, "Too many requests", "transient");
    check(
        429,
        "You have exhausted your capacity on this model. Your quota will reset after 5h3m2s.",
        "usage limit until",
    );
    check(500, "x", "transient");
    check(503, "x", "transient");
    check(413, "x", "overflow");
    check(
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "overflow",
    );
    let inner = r#"{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576.","status":"INVALID_ARGUMENT"}}"#;
    check(400, inner, "overflow");
    check(400, "API key not valid", "nothing");
}

#[test]
fn quota_with_reset_time_is_a_usage_limit() {
    let details = json!([
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600.5s"},
    ]);
    let end = read(json!({"code": 429, "message": "Quota exceeded", "data": {"error": {"details": details}}}));
    let expected = TurnEnd::UsageLimit {
        resets_at: Some("2026-11-16T12:00:00.5Z".parse().unwrap()),
        message: "Quota exceeded".to_owned(),
    };
    assert_eq!(end, Some(expected));
    let of_the_day = "You have exhausted your daily quota on this model.";
    check(&json!({"code": 429, "message": of_the_day}), "usage limit");
    let only_a_time = json!({"error": {"details": [{"@type": "google.rpc.RetryInfo", "retryDelay": "3s"}]}});
    check(&json!({"code": 429, "message": "x", "data": only_a_time}), "transient");
}

#[test]
fn opencode_errors_by_name_and_status() {
    let check = |data: Value, expected: &str| check(&json!({"code": -32603, "message": "x", "data": data}), expected);
    check(
        json!({"name": "ContextOverflowError", "data": {"message": "too long"}}),
        "overflow",
    );
    check(
        json!({"name": "APIError", "data": {"message": "no", "statusCode": 429, "isRetryable": true}}),
        "transient",
    );
    check(
        json!({"name": "APIError", "data": {"message": "no", "statusCode": 401, "isRetryable": false}}),
        "auth",
    );
}

#[test]
fn qwen_errors_by_status_prefix() {
    let check = |text: &str, expected: &str| {
        check(
            &json!({"code": -32603, "message": "Internal error", "data": {"details": text}}),
            expected,
        );
    };
    check("401 Incorrect API key provided", "auth");
    check("429 slow down", "transient");
    check("404 no such model", "nothing");
    check("4011 things went wrong", "nothing");
    check("the service said 401 or 429", "nothing");
}

#[test]
fn error_is_shown_with_its_data() {
    let shown = |error: Value| describe(&RpcError::from(error));
    assert_eq!(shown(json!({"code": 7})), "error 7");
    assert_eq!(shown(json!({"code": 7, "message": "a", "data": "a"})), "a");
    assert_eq!(
        shown(json!({"code": 7, "message": "a", "data": {"details": "b"}})),
        "a: b"
    );
    assert_eq!(shown(json!({"code": 7, "data": {"error": {"message": "b"}}})), "b");
}

#[test]
fn durations_are_parsed_completely_or_rejected() {
    let check = |text: &str, seconds: Option<u64>| assert_eq!(span(text).map(|span| span.as_secs()), seconds, "{text}");
    check("5h3m2s", Some(18_182));
    check("34.07s", Some(34));
    check("1d", Some(86_400));
    for odd in ["", "5", "s", "5x", "1h5", "0s", "1.2.3s"] {
        check(odd, None);
    }
}

#[test]
fn opencode_errors_by_name_without_status() {
    let check = |name: &str, expected: &str| {
        let data = json!({"service": "session", "errorName": name});
        check(
            &json!({"code": -32603, "message": "Internal error: The key is not valid.", "data": data}),
            expected,
        );
    };
    check("APIError", "transient");
    check("ContextOverflowError", "overflow");
    check("UnknownError", "nothing");
}

#[test]
fn copilot_errors_by_last_chunk() {
    let check = |text: &str, expected: &str| assert_eq!(word(of_copilot_failure(text).as_ref()), expected, "{text}");
    check(
        "Error: Authentication failed with provider at \
         http://127.0.0.1:1/v1 (HTTP 401).\n  Check your COPILOT_PROVIDER_API_KEY.",
        "auth",
    );
    check(
        "Error: Failed to get response from the AI model; retried 5 times Last error: 429 Too many requests.",
        "transient",
    );
    check(
        "Error: The provider rejected the prompt as too long, but automatic recovery could not reduce it.",
        "overflow",
    );
    check("Error: 402 Your credit balance is too low", "billing");
    check("I have read it.", "nothing");
    check("I mended the Error: it was a typo.", "nothing");
}

#[test]
fn status_takes_precedence_over_generic_code() {
    check(
        &json!({"code": -32000, "message": "x", "data": {"status": 429}}),
        "transient",
    );
    check(&json!({"code": -32000, "message": "Authentication required"}), "auth");
}

#[test]
fn spent_budget_is_not_transient() {
    let data = json!({"errorKind": "rate_limit"});
    let message = "Internal error: You've hit your monthly spend limit.";
    check(&json!({"code": -32603, "message": message, "data": data}), "billing");
}

#[test]
fn qwen_errors_by_service_message() {
    let check = |details: &str, expected: &str| {
        let data = json!({ "details": details });
        check(
            &json!({"code": -32603, "message": "Internal error", "data": data}),
            expected,
        );
    };
    check("400 prompt is too long: 210000 tokens > 200000 maximum", "overflow");
    check("400 Your input exceeds the context window of this model.", "overflow");
    check("400 This model's maximum context length is 128000 tokens.", "overflow");
    check("400 The field `x` is too long", "nothing");
    check("terminated", "transient");
    check("Connection error.", "transient");
    check("The work was terminated", "nothing");
}
