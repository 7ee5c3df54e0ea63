//! Every way in which a turn of Codex ends, as the failure matrix of real agents has them. The lines were recorded from
//! Codex 0.166.0 with a scripted model, except where a comment says otherwise.

use ralph_process::HowEnded;

use super::tests::{COMPLETED, STARTED, TURN, WARNING, command, error, exited, failed, hear, said};
use crate::TurnEnd;
use crate::launch::Listener;

/// A turn that failed with this message, as it prints it: tried again first, then as an error, then as the turn's.
fn end_of_failure(message: &str) -> TurnEnd {
    let again = error(&format!("Reconnecting... 5/5 ({message})"));
    let lines = [STARTED, WARNING, TURN, &again, &error(message), &failed(message)];
    hear(&lines).0.conclude(exited(1)).end
}

#[track_caller]
fn check(message: &str, expected: impl Fn(String) -> TurnEnd) {
    let told = message.replace('’', "'");
    assert_eq!(end_of_failure(message), expected(told), "{message}");
}

#[test]
fn a_wrong_key_is_told_by_401_and_403() {
    check(
        "unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:8787/v1/responses",
        TurnEnd::Auth,
    );
    check(
        "unexpected status 403 Forbidden: no, url: http://127.0.0.1:8787/v1/responses",
        TurnEnd::Auth,
    );
    // From the texts in its program.
    check(
        "Your access token could not be refreshed because your refresh token was revoked. Please log out and sign in again.",
        TurnEnd::Auth,
    );
    check("Missing environment variable: `OPENAI_API_KEY`.", TurnEnd::Auth);
}

#[test]
fn an_account_that_cannot_pay_is_told_by_402_quota_and_credits() {
    check(
        "unexpected status 402 Payment Required: Your credit balance is too low, url: http://127.0.0.1:8787/v1/responses",
        TurnEnd::Billing,
    );
    check("Quota exceeded. Check your plan and billing details.", TurnEnd::Billing);
    check(
        "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.",
        TurnEnd::Billing,
    );
    // From the texts in its program.
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
fn a_usage_limit_is_told_with_its_time_and_without() {
    // When that is depends on the zone of this machine; another test has one of its own.
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
fn what_passes_by_itself_is_told_by_429_5xx_demand_and_a_cut_stream() {
    for message in [
        "exceeded retry limit, last status: 429 Too Many Requests",
        "We’re currently experiencing high demand, which may cause temporary errors.",
        "Selected model is at capacity. Please try a different model.",
        "unexpected status 502 Bad Gateway: {\"x\": 1}, url: http://127.0.0.1:8787/v1/responses",
        "stream disconnected before completion: stream closed before response.completed",
        // From the texts in its program.
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
fn a_prompt_that_is_too_long_is_told_by_the_services_own_json() {
    check(
        r#"{"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum", "type": "invalid_request_error", "code": "context_length_exceeded"}}"#,
        TurnEnd::ContextOverflow,
    );
    check(
        "unexpected status 413 Payload Too Large: too large, url: http://127.0.0.1:8787/v1/responses",
        TurnEnd::ContextOverflow,
    );
    // From the texts in its program.
    check(
        "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
        TurnEnd::ContextOverflow,
    );
}

#[test]
fn an_answer_that_was_cut_or_refused_is_told_by_incomplete_response() {
    let cut = "Incomplete response returned, reason: max_output_tokens";
    let lines = [STARTED, TURN, &said("partial"), &error(cut), &failed(cut)];
    let end = hear(&lines).0.conclude(exited(1));
    assert_eq!(
        (end.end, end.messages),
        (TurnEnd::TokenLimit, vec!["partial".to_owned()])
    );
    // From the texts in its program.
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
fn a_refusal_without_words_is_a_turn_in_which_nothing_was_said() {
    let end = hear(&[STARTED, WARNING, TURN, COMPLETED]).0.conclude(exited(0));
    assert_eq!(end.end, TurnEnd::Finished);
    assert!(!end.spoke(), "that is an empty answer");
}

#[test]
fn other_failures_are_crashes_with_what_was_said() {
    for message in [
        "unexpected status 404 Not Found: no such model, url: http://127.0.0.1:8787/v1/responses",
        r#"{"error": {"message": "bad thing", "type": "invalid_request_error", "code": "x"}}"#,
        "Fatal error: the disk is on fire",
    ] {
        check(message, TurnEnd::Crash);
    }
    let crash = |text: &str| TurnEnd::Crash(text.to_owned());
    let silent = r#"{"type":"turn.failed"}"#;
    let end = |code, lines: &[&str]| hear(lines).0.conclude(exited(code)).end;
    assert_eq!(end(1, &[silent]), crash("the turn failed, and it does not say why"));
    // The code that it ends with says nothing once there is a last record.
    assert_eq!(end(0, &[&failed("it broke")]), crash("it broke"));
    assert_eq!(end(1, &[&said("hi"), COMPLETED]), TurnEnd::Finished);
}

#[test]
fn a_turn_without_its_last_record_did_not_finish() {
    let end = |code, lines: &[&str]| hear(lines).0.conclude(exited(code)).end;
    let crash = |text: &str| TurnEnd::Crash(text.to_owned());
    let garbage = |text: &str| TurnEnd::Garbage(text.to_owned());
    assert_eq!(end(1, &[STARTED, &said("half")]), crash("exit code 1: fatal: broken"));
    assert_eq!(
        end(0, &[STARTED, &said("half")]),
        garbage("it ended without turn.completed or turn.failed")
    );
    assert_eq!(
        end(0, &["", "Hello, I am no JSON", "{"]),
        garbage("it printed what is no record: Hello, I am no JSON")
    );
    assert_eq!(end(0, &["Hello, I am no JSON", COMPLETED]), TurnEnd::Finished);
    // An error that is no turn's says what was the matter; that it tried again does not.
    assert_eq!(
        end(1, &[STARTED, &error("the model is unknown")]),
        crash("the model is unknown")
    );
    let again = error("Reconnecting... 2/5 (stream disconnected before completion: x)");
    assert_eq!(end(1, &[STARTED, &again]), crash("exit code 1: fatal: broken"));
}

#[test]
fn a_normal_end_that_hides_an_error_is_that_error() {
    let message = "exceeded retry limit, last status: 429 Too Many Requests";
    let end = |lines: &[&str]| hear(lines).0.conclude(exited(0)).end;
    assert_eq!(
        end(&[TURN, &error(message), COMPLETED]),
        TurnEnd::Transient(message.to_owned())
    );
    // It got over that one.
    assert_eq!(
        end(&[TURN, &error(message), &said("done"), COMPLETED]),
        TurnEnd::Finished
    );
    // And this one it knows nothing of.
    assert_eq!(end(&[TURN, &error("a warning"), COMPLETED]), TurnEnd::Finished);
}

#[test]
fn a_turn_that_was_stopped_is_stopped_unless_it_was_over() {
    for (how, expected) in [
        (HowEnded::Stopped, TurnEnd::Stopped),
        (HowEnded::TimedOut, TurnEnd::Stopped),
        (HowEnded::OutputLimit, TurnEnd::OutputLimit),
        (
            HowEnded::Signalled(9),
            TurnEnd::Crash("killed by signal 9: fatal: broken".into()),
        ),
    ] {
        let ended = || ralph_process::Ended { how, ..exited(0) };
        let half = [STARTED, TURN, &said("half")];
        assert_eq!(hear(&half).0.conclude(ended()).end, expected);
        assert_eq!(
            hear(&[&said("done"), COMPLETED]).0.conclude(ended()).end,
            TurnEnd::Finished
        );
    }
}

#[test]
fn fault_28_a_turn_that_speaks_of_errors_went_well() {
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
        let end = hear(&[STARTED, &warning, TURN, &output, &said(text), COMPLETED])
            .0
            .conclude(exited(0));
        assert_eq!(end.end, TurnEnd::Finished, "{text}");
        assert_eq!(end.messages, [text]);
    }
}
