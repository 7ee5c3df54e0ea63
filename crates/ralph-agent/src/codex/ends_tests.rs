//! All ways a turn of Codex can end. The lines were recorded from Codex 0.166.0 with a scripted model, unless a comment
//! says otherwise.

use ralph_process::ExitReason;

use super::tests::{COMPLETED, STARTED, TURN, WARNING, agent_message, command, error, exited, failed, on_line};
use crate::TurnEnd;
use crate::launch::Listener;

/// The end of a turn that failed with this message, printed as Codex does: a retry, an error, then the failed turn.
fn end_of_failure(message: &str) -> TurnEnd {
    let again = error(&format!("Reconnecting... 5/5 ({message})"));
    let lines = [STARTED, WARNING, TURN, &again, &error(message), &failed(message)];
    on_line(&lines).0.conclude(exited(1)).end
}

#[track_caller]
fn check(message: &str, expected: impl Fn(String) -> TurnEnd) {
    let end_text = message.replace('’', "'");
    assert_eq!(end_of_failure(message), expected(end_text), "{message}");
}

#[test]
fn status_401_and_403_are_auth_errors() {
    check(
        "unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:8787/v1/responses",
        TurnEnd::Auth,
    );
    check(
        "unexpected status 403 Forbidden: no, url: http://127.0.0.1:8787/v1/responses",
        TurnEnd::Auth,
    );
    // From strings in the program.
    check(
        "Your access token could not be refreshed because your refresh token was revoked. Please log out and sign in again.",
        TurnEnd::Auth,
    );
    check("Missing environment variable: `OPENAI_API_KEY`.", TurnEnd::Auth);
}

#[test]
fn status_402_quota_and_credits_are_billing_errors() {
    check(
        "unexpected status 402 Payment Required: Your credit balance is too low, url: http://127.0.0.1:8787/v1/responses",
        TurnEnd::Billing,
    );
    check("Quota exceeded. Check your plan and billing details.", TurnEnd::Billing);
    check(
        "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.",
        TurnEnd::Billing,
    );
    // From strings in the program.
    check(
        "Your workspace is out of credits. Add credits to continue.",
        TurnEnd::Billing,
    );
    check(
        "You hit your spend cap set in your workspace. Increase your spend cap to continue.",
        TurnEnd::Billing,
    );
}

#[test]
fn usage_limit_with_and_without_reset_time() {
    // The time depends on the time zone of this machine; another test sets its own.
    let limit = "You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at 7:08 AM.";
    let TurnEnd::UsageLimit { resets_at, message } = end_of_failure(limit) else {
        unreachable!("no usage limit");
    };
    assert!(resets_at.is_some());
    assert_eq!(message, limit.replace('’', "'"));
    check("You’ve hit your usage limit. Try again later.", |message| {
        TurnEnd::UsageLimit {
            resets_at: None,
            message,
        }
    });
}

#[test]
fn overload_and_lost_streams_are_transient() {
    for message in [
        "exceeded retry limit, last status: 429 Too Many Requests",
        "We’re currently experiencing high demand, which may cause temporary errors.",
        "Selected model is at capacity. Please try a different model.",
        "unexpected status 502 Bad Gateway: {\"x\": 1}, url: http://127.0.0.1:8787/v1/responses",
        "stream disconnected before completion: stream closed before response.completed",
        // From strings in the program.
        "exceeded retry limit, last status: 503 Service Unavailable, request id: r-1",
        "Connection failed: error sending request for url (https://api.openai.com/v1/responses)",
        "Error while reading the server response: connection reset, request id: r-1",
        "request timed out",
        "Error running remote compact task: stream disconnected before completion: idle timeout",
    ] {
        check(message, TurnEnd::Transient);
    }
}

#[test]
fn too_long_prompt_is_recognized_in_service_json() {
    check(
        r#"{"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum", "type": "invalid_request_error", "code": "context_length_exceeded"}}"#,
        TurnEnd::ContextOverflow,
    );
    check(
        "unexpected status 413 Payload Too Large: too large, url: http://127.0.0.1:8787/v1/responses",
        TurnEnd::ContextOverflow,
    );
    // From strings in the program.
    check(
        "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
        TurnEnd::ContextOverflow,
    );
}

#[test]
fn incomplete_response_is_token_limit_or_refusal() {
    let cut = "Incomplete response returned, reason: max_output_tokens";
    let lines = [STARTED, TURN, &agent_message("partial"), &error(cut), &failed(cut)];
    let end = on_line(&lines).0.conclude(exited(1));
    assert_eq!(
        (end.end, end.messages),
        (TurnEnd::TokenLimit, vec!["partial".to_owned()])
    );
    // From strings in the program.
    check(
        "stream disconnected before completion: Incomplete response returned, reason: content_filter",
        TurnEnd::Refusal,
    );
    check(
        "This content was flagged for possible biological risk.",
        TurnEnd::Refusal,
    );
}

#[test]
fn refusal_without_text_is_an_empty_answer() {
    let end = on_line(&[STARTED, WARNING, TURN, COMPLETED]).0.conclude(exited(0));
    assert_eq!(end.end, TurnEnd::Finished);
    assert!(!end.spoke(), "the answer is empty");
}

#[test]
fn other_failures_are_crashes_with_their_message() {
    for message in [
        "unexpected status 404 Not Found: no such model, url: http://127.0.0.1:8787/v1/responses",
        r#"{"error": {"message": "bad thing", "type": "invalid_request_error", "code": "x"}}"#,
        "Fatal error: the disk is on fire",
    ] {
        check(message, TurnEnd::Crash);
    }
    let crash = |text: &str| TurnEnd::Crash(text.to_owned());
    let silent = r#"{"type":"turn.failed"}"#;
    let end = |code, lines: &[&str]| on_line(lines).0.conclude(exited(code)).end;
    assert_eq!(end(1, &[silent]), crash("the turn failed without a message"));
    // The exit code does not matter once there is a last record.
    assert_eq!(end(0, &[&failed("it broke")]), crash("it broke"));
    assert_eq!(end(1, &[&agent_message("hi"), COMPLETED]), TurnEnd::Finished);
}

#[test]
fn turn_without_last_record_is_not_finished() {
    let end = |code, lines: &[&str]| on_line(lines).0.conclude(exited(code)).end;
    let crash = |text: &str| TurnEnd::Crash(text.to_owned());
    let garbage = |text: &str| TurnEnd::Garbage(text.to_owned());
    assert_eq!(
        end(1, &[STARTED, &agent_message("half")]),
        crash("exit code 1: fatal: broken")
    );
    assert_eq!(
        end(0, &[STARTED, &agent_message("half")]),
        garbage("it ended without turn.completed or turn.failed")
    );
    assert_eq!(
        end(0, &["", "Hello, I am no JSON", "{"]),
        garbage("it printed a line that is not a record: Hello, I am no JSON")
    );
    assert_eq!(end(0, &["Hello, I am no JSON", COMPLETED]), TurnEnd::Finished);
    // An error outside of a turn explains the failure; a retry does not.
    assert_eq!(
        end(1, &[STARTED, &error("the model is unknown")]),
        crash("the model is unknown")
    );
    let again = error("Reconnecting... 2/5 (stream disconnected before completion: x)");
    assert_eq!(end(1, &[STARTED, &again]), crash("exit code 1: fatal: broken"));
}

#[test]
fn hidden_error_in_normal_end_is_detected() {
    let message = "exceeded retry limit, last status: 429 Too Many Requests";
    let end = |lines: &[&str]| on_line(lines).0.conclude(exited(0)).end;
    assert_eq!(
        end(&[TURN, &error(message), COMPLETED]),
        TurnEnd::Transient(message.to_owned())
    );
    // The turn continued after this error.
    assert_eq!(
        end(&[TURN, &error(message), &agent_message("done"), COMPLETED]),
        TurnEnd::Finished
    );
    // This error is in no known form.
    assert_eq!(end(&[TURN, &error("a warning"), COMPLETED]), TurnEnd::Finished);
}

#[test]
fn stopped_turn_is_stopped_unless_already_over() {
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
        let half = [STARTED, TURN, &agent_message("half")];
        assert_eq!(on_line(&half).0.conclude(ended()).end, expected);
        assert_eq!(
            on_line(&[&agent_message("done"), COMPLETED]).0.conclude(ended()).end,
            TurnEnd::Finished
        );
    }
}

#[test]
fn fault_28_text_about_errors_is_not_an_error() {
    for text in [
        r#""is_error": false"#,
        r#""is_error": true, {"type":"turn.failed"}"#,
        "rate limit",
        "usage limit reached",
        "You've hit your usage limit. Try again later.",
        "unexpected status 401 Unauthorized: no",
        "exceeded retry limit, last status: 429 Too Many Requests",
        r#"{"error": {"code": "context_length_exceeded"}}"#,
    ] {
        let output = command("item.completed", "completed", text);
        let warning = WARNING.replace("Model metadata for `gpt-5` not found.", &text.replace('"', "\\\""));
        let end = on_line(&[STARTED, &warning, TURN, &output, &agent_message(text), COMPLETED])
            .0
            .conclude(exited(0));
        assert_eq!(end.end, TurnEnd::Finished, "{text}");
        assert_eq!(end.messages, [text]);
    }
}
