//! All ways a turn of Claude Code can end. The fields were recorded from Claude Code 2.1.325 with a scripted model,
//! unless a comment says otherwise.

use ralph_process::ExitReason;
use serde_json::{Value, json};

use super::tests::{INIT, SUCCESS, end_of, exited, on_line, text};
use crate::TurnEnd;
use crate::launch::Listener;

/// The output of a failed turn: a retry, a generated message with the error name, and the last record, which reports
/// `success` and has its type in the middle.
struct Failure {
    error: &'static str,
    fields: Value,
    result: &'static str,
}

impl Failure {
    fn lines(&self) -> Vec<String> {
        let retry = json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 1,
            "retry_delay_ms": 120_000, "error_status": 429, "error": self.error, "session_id": "s-1"});
        let message = json!({"type": "assistant", "parent_tool_use_id": null, "session_id": "s-1", "error": self.error,
            "is_api_error_message": true, "message": {"id": "m-1", "model": "<synthetic>", "role": "assistant",
                "content": [{"type": "text", "text": self.result}]}});
        let mut record = json!({"duration_api_ms": 0, "stop_reason": "stop_sequence", "session_id": "s-1",
            "total_cost_usd": 0, "modelUsage": {}, "permission_denials": [], "terminal_reason": "api_error",
            "is_error": true, "num_turns": 1, "subtype": "success", "api_error_status": null,
            "result": self.result, "type": "result", "duration_ms": 938});
        let (Value::Object(record), Value::Object(fields)) = (&mut record, self.fields.clone()) else {
            unreachable!("both are objects");
        };
        record.extend(fields);
        let record = Value::Object(record.clone());
        [
            INIT.to_owned(),
            retry.to_string(),
            message.to_string(),
            record.to_string(),
        ]
        .to_vec()
    }
}

#[track_caller]
fn check(error: &'static str, fields: Value, result: &'static str, expected: impl Fn(String) -> TurnEnd) {
    let lines = Failure { error, fields, result }.lines();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    // The exit code does not matter.
    for code in [0, 1] {
        let end = end_of(code, &lines);
        assert_eq!(end.end, expected(result.to_owned()), "{error}");
        assert!(end.messages.is_empty(), "a service error is not an answer");
    }
}

#[test]
fn auth_errors_despite_success() {
    let status = json!({"api_error_status": 401, "api_error_type": "authentication_error"});
    check(
        "authentication_failed",
        status,
        "Invalid API key · Fix external API key",
        TurnEnd::Auth,
    );
    // From strings in the program.
    for word in [
        "oauth_org_not_allowed",
        "account_on_hold",
        "verification_required",
        "cloud_credential_error",
    ] {
        check(word, json!({}), "Please run /login", TurnEnd::Auth);
    }
}

#[test]
fn billing_error_despite_status_400() {
    let status = json!({"api_error_status": 400, "api_error_type": "invalid_request_error"});
    check("billing_error", status, "Credit balance is too low", TurnEnd::Billing);
    let status = json!({"api_error_status": 429});
    check(
        "rate_limit",
        status,
        "You're out of usage credits. See Usage in Settings",
        TurnEnd::Billing,
    );
}

#[test]
fn overload_and_lost_connections_are_transient() {
    let limit = "API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.";
    let status = |status: u16| json!({"api_error_status": status});
    check("rate_limit", status(429), limit, TurnEnd::Transient);
    let broken =
        "API Error: 500 Internal server error. This is a server-side issue, usually temporary — try again in a moment.";
    check("server_error", status(500), broken, TurnEnd::Transient);
    check(
        "server_error",
        status(529),
        "API Error: 529 Overloaded.",
        TurnEnd::Transient,
    );
    check("unknown", json!({}), "API Error: Connection error.", TurnEnd::Transient);
}

#[test]
fn invalid_request_is_a_crash() {
    let status = |status: u16| json!({"api_error_status": status});
    check(
        "invalid_request",
        status(400),
        "API Error: 400 tools.0: bad name",
        TurnEnd::Crash,
    );
    check(
        "model_not_found",
        status(404),
        "There's an issue with the selected model",
        TurnEnd::Crash,
    );
}

#[test]
fn usage_limit_from_event_or_text() {
    let status = || json!({"api_error_status": 429, "api_error_type": "rate_limit_error"});
    let text = "API Error: Request rejected (429) · You've hit your usage limit";
    let without = |message| TurnEnd::UsageLimit {
        resets_at: None,
        message,
    };
    check("rate_limit", status(), text, without);
    let at = |time: &'static str| {
        move |message| TurnEnd::UsageLimit {
            resets_at: Some(time.parse().unwrap()),
            message,
        }
    };
    let with_zone = "You've hit your weekly limit · resets Nov 20, 9am (Europe/Brussels)";
    check("rate_limit", status(), with_zone, at("2026-11-20T08:00:00Z"));
    let old = "Claude AI usage limit reached|1794826800";
    check("rate_limit", status(), old, at("2026-11-16T11:00:00Z"));

    // From types in the program.
    let event = json!({"type": "rate_limit_event", "session_id": "s-1", "rate_limit_info":
        {"status": "rejected", "resetsAt": 1_794_834_000, "rateLimitType": "five_hour"}});
    // The time in the text has no date, or is missing.
    for text in [text, "You've hit your limit · resets 3:20am (Europe/Brussels)"] {
        let mut lines = Failure {
            error: "rate_limit",
            fields: status(),
            result: text,
        }
        .lines();
        lines.insert(1, event.to_string());
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(end_of(1, &lines).end, at("2026-11-16T13:00:00Z")(text.to_owned()));
    }
}

#[test]
fn too_long_prompt_by_terminal_reason() {
    let long = "Prompt is too long · the request is ~210000 tokens (limit 200000)";
    let fields = |reason: &str| json!({"api_error_status": 400, "terminal_reason": reason});
    check(
        "invalid_request",
        fields("prompt_too_long"),
        long,
        TurnEnd::ContextOverflow,
    );
    // From strings in the program.
    check(
        "invalid_request",
        fields("blocking_limit"),
        long,
        TurnEnd::ContextOverflow,
    );
    check(
        "invalid_request",
        json!({"api_error_status": 413}),
        long,
        TurnEnd::ContextOverflow,
    );
}

#[test]
fn token_limit_after_three_continuations() {
    let partial = |id: &str| {
        json!({"type": "assistant", "session_id": "s-1", "parent_tool_use_id": null,
            "message": {"id": id, "content": [{"type": "text", "text": "partial"}], "stop_reason": null}})
        .to_string()
    };
    let again = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Output token limit hit. Resume directly"}]},"isSynthetic":true,"session_id":"s-1"}"#;
    let failure = Failure {
        error: "max_output_tokens",
        fields: json!({"api_error": "max_output_tokens"}),
        result: "API Error: Claude's response exceeded the 128000 output token maximum.",
    };
    let mut lines = failure.lines();
    for (place, line) in [
        partial("a"),
        again.to_owned(),
        partial("b"),
        again.to_owned(),
        partial("c"),
    ]
    .into_iter()
    .enumerate()
    {
        lines.insert(1 + place, line);
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let end = end_of(1, &lines);
    assert_eq!(
        (end.end, end.messages),
        (TurnEnd::TokenLimit, vec!["partial".to_owned(); 3])
    );
}

#[test]
fn refusal_by_stop_reason() {
    let refused = "API Error: Opus 5.5's safeguards flagged this message";
    check(
        "invalid_request",
        json!({"stop_reason": "refusal"}),
        refused,
        TurnEnd::Refusal,
    );
}

#[test]
fn hidden_error_in_normal_end_is_detected() {
    let hidden = |fields: Value| {
        let mut fields = fields;
        fields["is_error"] = json!(false);
        fields
    };
    // The message before it is a service error.
    let fields = hidden(json!({"terminal_reason": "completed", "api_error_status": 529}));
    check("server_error", fields, "API Error: 529 Overloaded.", TurnEnd::Transient);
    // The record's own reason reports it.
    let record = SUCCESS.replace("\"completed\"", "\"api_error\"");
    assert_eq!(end_of(0, &[INIT, &record]).end, TurnEnd::Transient("done".into()));
    let record = SUCCESS.replace("\"completed\"", "\"prompt_too_long\"");
    assert_eq!(end_of(0, &[INIT, &record]).end, TurnEnd::ContextOverflow("done".into()));
}

#[test]
fn empty_answer_is_silent() {
    let end = end_of(0, &[INIT, &SUCCESS.replace("\"done\"", "\"\"")]);
    assert_eq!(end.end, TurnEnd::Finished);
    assert!(!end.spoke(), "the answer is empty");
}

#[test]
fn turn_with_denied_tool_is_finished() {
    let denied = r#""permission_denials":[{"tool_name":"Write","tool_use_id":"t","tool_input":{"file_path":"/p/a"}}]"#;
    let record = SUCCESS.replace(r#""permission_denials":[]"#, denied);
    let end = end_of(0, &[INIT, &text("I wrote it"), &record]);
    assert_eq!(end.end, TurnEnd::Finished);
    assert_eq!(end.denials.len(), 1);
}

#[test]
fn externally_ended_turn_reports_the_cause() {
    for (how, expected) in [
        (ExitReason::Stopped, TurnEnd::Stopped),
        (ExitReason::TimedOut, TurnEnd::Stopped),
        (ExitReason::OutputLimit, TurnEnd::OutputLimit),
        (
            ExitReason::Signalled(9),
            TurnEnd::Crash("killed by signal 9: fatal: broken".into()),
        ),
    ] {
        let ended = || ralph_process::Ended { how, ..exited(0) };
        assert_eq!(on_line(&[INIT, &text("half")]).0.conclude(ended()).end, expected);
        assert_eq!(on_line(&[INIT, SUCCESS]).0.conclude(ended()).end, TurnEnd::Finished);
    }
}

#[test]
fn fault_28_text_about_errors_is_not_an_error() {
    for answer in [
        r#""is_error": false"#,
        r#""is_error": true, "subtype": "error_during_execution""#,
        "rate limit",
        "usage limit reached",
        "Claude AI usage limit reached|1794826800",
        "You've hit your limit · resets 3pm (UTC)",
        "API Error: 401 authentication_failed",
    ] {
        let quoted = Value::from(answer).to_string();
        let output = format!(
            r#"{{"type":"user","session_id":"s-1","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":{quoted},"is_error":true}}]}}}}"#
        );
        let record = SUCCESS.replace("\"done\"", &quoted);
        let end = end_of(0, &[INIT, &output, &text(answer), &record]);
        assert_eq!(end.end, TurnEnd::Finished, "{answer}");
        assert_eq!(end.messages, [answer]);
    }
}

#[test]
fn calls_of_a_turn_are_bounded() {
    let mut records = on_line(&[INIT]).0;
    for number in 0..20_000 {
        let call = format!(
            r#"{{"type":"assistant","session_id":"s-1","message":{{"content":[{{"type":"tool_use","id":"t{number}","name":"Write","input":{{"file_path":"/p/{number}"}}}}]}}}}"#
        );
        drop(records.on_line(&call));
    }
    let denied = r#"{"type":"system","subtype":"permission_denied","tool_use_id":"t19999"}"#;
    drop(records.on_line(denied));
    drop(records.on_line(SUCCESS));
    let end = records.conclude(exited(0));
    assert_eq!((end.writes.len(), end.denials.len()), (4095, 1));
    assert_eq!(end.writes.last(), Some(&"/p/19998".into()));
}
