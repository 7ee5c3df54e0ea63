//! Records of Claude Code and their interpretation.

use jiff::Timestamp;
use ralph_process::{Ended, ExitReason};

use super::*;

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        "2026-11-16T11:00:00Z".parse().unwrap()
    }
}

pub(super) fn on_line(lines: &[&str]) -> (Records, Vec<TurnEvent>) {
    let mut records = Records::new(Arc::new(Noon));
    let events = lines.iter().flat_map(|line| records.on_line(line).events).collect();
    (records, events)
}

pub(super) fn exited(code: i32) -> Ended {
    Ended {
        how: ExitReason::Exited(code),
        stderr_tail: "warning\nfatal: broken\n".to_owned(),
        swept: 0,
        left: Vec::new(),
    }
}

pub(super) fn end_of(code: i32, lines: &[&str]) -> EndOfTurn {
    on_line(lines).0.conclude(exited(code))
}

#[track_caller]
fn check(code: i32, lines: &[&str], expected: &TurnEnd) {
    assert_eq!(end_of(code, lines).end, *expected);
}

pub(super) const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","tools":["Bash"],"mcp_servers":[],"model":"claude-sonnet-4-5","permissionMode":"acceptEdits","memory_paths":{"auto":"/x"}}"#;
pub(super) const SUCCESS: &str = r#"{"subtype":"success","is_error":false,"api_error_status":null,"type":"result","result":"done","stop_reason":"end_turn","terminal_reason":"completed","num_turns":2,"session_id":"s-1","total_cost_usd":9.0,"usage":{"input_tokens":1,"output_tokens":2},"modelUsage":{"claude-sonnet-4-5":{"inputTokens":10,"outputTokens":20,"cacheReadInputTokens":300,"cacheCreationInputTokens":4000,"costUSD":0.5,"contextWindow":200000},"claude-haiku":{"inputTokens":1,"outputTokens":2,"costUSD":0.25}},"permission_denials":[],"errors":[]}"#;

pub(super) fn text(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(
        r#"{{"message":{{"id":null,"role":"assistant","content":[{{"type":"text","text":{text}}}]}},"parent_tool_use_id":null,"type":"assistant","session_id":"s-1"}}"#
    )
}

fn tool(name: &str, input: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"toolu_1","name":"{name}","input":{input}}}]}}}}"#
    )
}

fn failure(fields: &str) -> String {
    format!(r#"{{"type":"result","subtype":"success","is_error":true,"session_id":"s-1",{fields}}}"#)
}

#[test]
fn fault_28_successful_turn_is_not_an_error() {
    let end = end_of(0, &[INIT, &text("all \"is_error\": true here"), SUCCESS]);
    assert_eq!(end.end, TurnEnd::Finished);
    assert_eq!(end.session.as_deref(), Some("s-1"));
    assert_eq!(end.model.as_deref(), Some("claude-sonnet-4-5"));
    let usage = Usage {
        cost_usd: 0.75,
        input_tokens: 4311,
        output_tokens: 22,
    };
    assert_eq!(end.usage, usage);
}

#[test]
fn usage_is_reported_during_the_turn() {
    let message = |id: &str, parent: &str, usage: &str| {
        format!(
            r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{{"id":"{id}","content":[],"usage":{usage}}}}}"#
        )
    };
    let lines = [
        INIT.to_owned(),
        message(
            "m1",
            "null",
            r#"{"input_tokens":3,"cache_creation_input_tokens":null,"cache_read_input_tokens":1000,"output_tokens":1}"#,
        ),
        message(
            "m1",
            "null",
            r#"{"input_tokens":3,"cache_read_input_tokens":1000,"output_tokens":40}"#,
        ),
        message(
            "m1",
            "null",
            r#"{"input_tokens":3,"cache_read_input_tokens":1000,"output_tokens":40}"#,
        ),
        message("m2", "\"toolu_1\"", r#"{"input_tokens":500,"output_tokens":2}"#),
        message("m3", "null", "7"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let used = |input_tokens, output_tokens| Usage {
        cost_usd: 0.0,
        input_tokens,
        output_tokens,
    };
    let (mut records, mut events) = on_line(&lines);
    events.retain(|event| *event != TurnEvent::Alive);
    let expected = [used(1003, 1), used(1003, 40), used(1503, 42)].map(TurnEvent::Used);
    assert_eq!(events, expected);
    assert_eq!(records.conclude(exited(1)).usage, used(1503, 42));

    let with = |last: &str| end_of(0, &[&lines, [last].as_slice()].concat()).usage;
    assert_eq!(with(&failure(r#""api_error_status":529"#)), used(1503, 42));
    assert_eq!(with(SUCCESS).tokens(), 4333, "the last record wins");
}

#[test]
fn fault_28_answer_about_limits_is_an_answer() {
    for answer in [
        "API Error: 401 authentication_failed",
        "You've hit your limit · resets 3pm (UTC)",
        "rate_limit 429 prompt_too_long",
    ] {
        let record = SUCCESS.replace("\"result\":\"done\"", &format!("\"result\":\"{answer}\""));
        check(0, &[INIT, &text(answer), &record], &TurnEnd::Finished);
    }
}

#[test]
fn own_text_excludes_tools_thoughts_and_subagents() {
    let (mut records, events) = on_line(&[
        r#"{"type":"system","subtype":"hook_started","hook_id":"h"}"#,
        INIT,
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"<x>","signature":"s"}]}}"#,
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"first"}]}}"#,
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":" and on"}]}}"#,
        &tool("Edit", r#"{"file_path":"/p/a.rs","old_string":"x","new_string":"y"}"#),
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"<task-done>no</task-done>"}]}}"#,
        r#"{"type":"assistant","parent_tool_use_id":"toolu_1","message":{"content":[{"type":"text","text":"a subagent"}]}}"#,
        &tool("Bash", r#"{"command":"cargo test\necho","description":"runs"}"#),
        r#"{"type":"brand_new","subtype":7,"message":"?"}"#,
        &text("last"),
        &text("of all"),
        SUCCESS,
    ]);
    let shown: Vec<TurnEvent> = events.into_iter().filter(|event| *event != TurnEvent::Alive).collect();
    let tool = |name: &str, about: &str| TurnEvent::Tool {
        name: name.to_owned(),
        about: about.to_owned(),
    };
    assert_eq!(
        shown.get(..9).unwrap(),
        [
            TurnEvent::MessageBegins,
            TurnEvent::Text("first".into()),
            TurnEvent::Text(" and on".into()),
            tool("Edit", "/p/a.rs"),
            tool("Bash", "cargo test"),
            TurnEvent::MessageBegins,
            TurnEvent::Text("last".into()),
            TurnEvent::MessageBegins,
            TurnEvent::Text("of all".into()),
        ]
    );
    let end = records.conclude(exited(0));
    assert_eq!(end.messages, ["first and on", "last", "of all"]);
    assert_eq!(end.final_messages(), ["last", "of all"]);
    assert_eq!(end.writes, [PathBuf::from("/p/a.rs")]);
    assert_eq!(end.end, TurnEnd::Finished);
}

#[test]
fn turn_ending_with_a_tool_has_no_final_text() {
    let end = end_of(0, &[INIT, &text("before"), &tool("Read", "{}"), SUCCESS]);
    assert_eq!(end.messages, ["before"]);
    assert!(end.final_messages().is_empty());
}

#[test]
fn status_401_is_auth_despite_success() {
    let record_before = r#"{"type":"assistant","error":"authentication_failed","message":{"content":[{"type":"text","text":"Invalid API key"}]}}"#;
    let record = failure(r#""api_error_status":401,"terminal_reason":"api_error","result":"Invalid API key""#);
    let end = end_of(1, &[INIT, record_before, &record]);
    assert_eq!(end.end, TurnEnd::Auth("Invalid API key".into()));
    assert!(end.messages.is_empty(), "a service error is not an answer");
    let without_status = failure(r#""result":"Please run /login""#);
    check(
        1,
        &[record_before, &without_status],
        &TurnEnd::Auth("Please run /login".into()),
    );
}

#[test]
fn status_402_and_billing_error_are_billing() {
    let record = failure(r#""api_error_status":402,"result":"no credit""#);
    check(1, &[&record], &TurnEnd::Billing("no credit".into()));
    let record_before = r#"{"type":"assistant","error":"billing_error","message":{"content":[]}}"#;
    let record = failure(r#""api_error_status":400,"result":"Credit balance is too low""#);
    check(
        1,
        &[record_before, &record],
        &TurnEnd::Billing("Credit balance is too low".into()),
    );
}

#[test]
fn subscription_limit_differs_from_too_many_requests() {
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"retry_delay_ms":500,"error_status":429,"error":"rate_limit"}"#;
    let record = failure(r#""api_error_status":429,"terminal_reason":"api_error","result":"API Error: 429""#);
    check(1, &[INIT, retry, &record], &TurnEnd::Transient("API Error: 429".into()));

    let limit = |status: &str| {
        format!(
            r#"{{"rate_limit_info":{{"status":"{status}","resetsAt":1763280000,"rateLimitType":"five_hour"}},"type":"rate_limit_event"}}"#
        )
    };
    let rejected = TurnEnd::UsageLimit {
        resets_at: Some("2025-11-16T08:00:00Z".parse().unwrap()),
        message: "API Error: 429".into(),
    };
    check(1, &[&limit("rejected"), &record], &rejected);
    let transient = TurnEnd::Transient("API Error: 429".into());
    check(1, &[&limit("allowed_warning"), &record], &transient);
    check(1, &[&limit("rejected"), &limit("allowed"), &record], &transient);
    check(0, &[&limit("rejected"), SUCCESS], &TurnEnd::Finished);
}

#[test]
fn usage_limit_is_recognized_in_error_text() {
    let text = "You've hit your session limit · resets 3:20am (Europe/Brussels)";
    let record = failure(&format!(r#""api_error_status":429,"result":"{text}""#));
    let limit = TurnEnd::UsageLimit {
        resets_at: Some("2026-11-17T02:20:00Z".parse().unwrap()),
        message: text.into(),
    };
    check(1, &[&record], &limit);
}

#[test]
fn service_failures_are_transient() {
    for fields in [
        r#""api_error_status":500,"result":"x""#,
        r#""api_error_status":529,"result":"x""#,
        r#""api_error_status":null,"terminal_reason":"api_error","result":"x""#,
    ] {
        check(1, &[&failure(fields)], &TurnEnd::Transient("x".into()));
    }
}

#[test]
fn too_long_prompts_and_answers_are_recognized() {
    let record = failure(r#""api_error_status":400,"terminal_reason":"prompt_too_long","result":"Prompt is too long""#);
    check(1, &[&record], &TurnEnd::ContextOverflow("Prompt is too long".into()));
    let record_before = r#"{"type":"assistant","error":"max_output_tokens","message":{"content":[{"type":"text","text":"API Error"}]}}"#;
    check(
        1,
        &[record_before, &failure(r#""result":"API Error""#)],
        &TurnEnd::TokenLimit,
    );
    let record = failure(r#""api_error":"max_output_tokens","terminal_reason":"api_error","result":"API Error""#);
    check(1, &[&record], &TurnEnd::TokenLimit);
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":false,"terminal_reason":"max_turns"}"#;
    check(1, &[turns], &TurnEnd::TurnLimit);
}

#[test]
fn refusal_is_recognized() {
    let record = failure(r#""stop_reason":"refusal","result":"I cannot help with that""#);
    check(1, &[&record], &TurnEnd::Refusal("I cannot help with that".into()));
    let quiet = SUCCESS.replace("end_turn", "refusal");
    check(0, &[&quiet], &TurnEnd::Refusal("done".into()));
}

#[test]
fn other_errors_are_crashes_with_their_message() {
    let record = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["it","broke"]}"#;
    check(1, &[record], &TurnEnd::Crash("it; broke".into()));
    let record =
        r#"{"type":"result","subtype":"error_max_budget_usd","is_error":false,"terminal_reason":"budget_exhausted"}"#;
    check(1, &[record], &TurnEnd::Crash("it ended with budget_exhausted".into()));
}

#[test]
fn turn_without_last_record_is_not_finished() {
    check(
        1,
        &[INIT, &text("hi")],
        &TurnEnd::Crash("exit code 1: fatal: broken".into()),
    );
    check(
        0,
        &[INIT, &text("hi")],
        &TurnEnd::Garbage("it ended without a result record".into()),
    );
    let garbage = TurnEnd::Garbage("it printed a line that is not a record: Hello, I am no JSON".into());
    check(0, &["", "Hello, I am no JSON", "{"], &garbage);
    check(0, &["Hello, I am no JSON", SUCCESS], &TurnEnd::Finished);
}

#[test]
fn stopped_turn_is_stopped_unless_already_over() {
    for (lines, end) in [(&[SUCCESS] as &[&str], TurnEnd::Finished), (&[], TurnEnd::Stopped)] {
        let mut records = on_line(lines).0;
        let ended = Ended {
            how: ExitReason::Stopped,
            ..exited(0)
        };
        assert_eq!(records.conclude(ended).end, end);
    }
}

#[test]
fn denials_name_the_line_that_permits_them() {
    let denials = r#""permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"cargo test --all"}},{"tool_name":"WebFetch","tool_use_id":"u","tool_input":{"url":"http://x"}},{"tool_name":"Bash","tool_use_id":"v","tool_input":{"command":"./run.sh 3"}}]"#;
    let record = SUCCESS.replace(r#""permission_denials":[]"#, denials);
    let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"cargo test --all","description":"x"}}]}}"#;
    let record_before = r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t","decision_reason":"This command requires approval","message":"This command requires approval"}"#;
    let without_result = end_of(1, &[call, record_before]).denials;
    let found = end_of(0, &[call, record_before, &record]).denials;
    assert_eq!(without_result, found.get(..1).unwrap());
    let shown: Vec<(&str, &str)> = found
        .iter()
        .map(|denial| (denial.about.as_str(), denial.permit.as_deref().unwrap()))
        .collect();
    assert_eq!(
        shown,
        [
            (
                "cargo test --all",
                r#"allow = ["cargo test --all"] under [agent] in .ralph.toml"#
            ),
            (
                "http://x",
                r#""permissions": {"allow": ["WebFetch(domain:x)"]} in .claude/settings.json, committed"#
            ),
            ("./run.sh 3", r#"allow = ["./run.sh 3"] under [agent] in .ralph.toml"#),
        ]
    );
}

const ALLOWED: &str = "--allowedTools Bash(ralph remember:*) Bash(ralph recall:*) Bash(ralph memory:*) \
                       Bash(ralph guardrails:*) Bash(ralph scratchpad:*) Bash(ralph knowledge:*) \
                       Bash(make test) Bash(python3 -c \"print\\(1\\)\")";

#[test]
fn missing_arguments_are_added() {
    // A rule with an asterisk would permit more than this command.
    let allowed = ["make test", "python3 -c \"print(1)\"", "ls *.rs"].map(str::to_owned);
    let check = |command: &str, access: Access, model, expected: &str| {
        let agent = ClaudeAgent::new(&CommandLine::Line(command.to_owned()), Arc::new(Noon)).unwrap();
        let turn = Turn {
            prompt: "",
            prompt_file: std::path::Path::new("/x"),
            model,
            folder: std::path::Path::new("/"),
            environment: &[],
            also_writable: &[],
            access,
            allowed_commands: &allowed,
            marker: "",
            output_limit: None,
        };
        assert_eq!(agent.words_for(&turn).join(" "), expected);
    };
    check(
        "claude",
        Permissions::Edit.into(),
        None,
        &format!("claude -p --output-format stream-json --verbose --permission-mode acceptEdits {ALLOWED}"),
    );
    check(
        "claude --print --bare",
        Permissions::Full.into(),
        Some("opus"),
        "claude --print --bare --output-format stream-json --verbose --permission-mode bypassPermissions --model opus",
    );
    check(
        "claude --permission-mode=plan",
        Permissions::Full.into(),
        None,
        "claude --permission-mode=plan -p --output-format stream-json --verbose",
    );
    check(
        "claude --bare",
        Access::ReadOnly,
        None,
        "claude --bare -p --output-format stream-json --verbose --permission-mode default --disallowedTools Bash,Edit,MultiEdit,Write,NotebookEdit --strict-mcp-config",
    );
}

#[test]
fn command_with_permissions_cannot_be_read_only() {
    let can = |command: &str| {
        let agent = ClaudeAgent::new(&CommandLine::Line(command.to_owned()), Arc::new(Noon)).unwrap();
        agent.can_be_read_only()
    };
    assert!(can("claude --model opus"));
    assert!(!can("claude --dangerously-skip-permissions"));
    assert!(!can("claude --permission-mode acceptEdits"));
}

#[test]
fn permit_is_as_narrow_as_possible() {
    let check = |name: &str, input: serde_json::Value, expected: &str| {
        let denied = r#"{"type":"system","subtype":"permission_denied","tool_use_id":"toolu_1"}"#;
        let end = end_of(0, &[&tool(name, &input.to_string()), denied, SUCCESS]);
        assert_eq!(end.denials[0].permit.as_deref(), Some(expected), "{input}");
    };
    let full = "permissions = \"full\" under [agent] in .ralph.toml";
    let rule = |rule: &str| format!("\"permissions\": {{\"allow\": [\"{rule}\"]}} in .claude/settings.json, committed");
    check("Bash", serde_json::json!({"command": "GH_TOKEN=abc gh pr list"}), full);
    check("Bash", serde_json::json!({"command": "ls *.rs | xargs rm"}), full);
    check(
        "Bash",
        serde_json::json!({"command": "git push origin"}),
        r#"allow = ["git push origin"] under [agent] in .ralph.toml"#,
    );
    check(
        "Write",
        serde_json::json!({"file_path": "/etc/x"}),
        &rule("Edit(//etc/x)"),
    );
    check(
        "WebFetch",
        serde_json::json!({"url": "https://a.example:8080/b"}),
        &rule("WebFetch(domain:a.example)"),
    );
    check("mcp__x__y", serde_json::json!({"command": "z"}), &rule("mcp__x__y"));
}

#[test]
fn failed_or_denied_writes_are_dropped() {
    let write = tool("Write", r#"{"file_path":"/p/a.rs"}"#);
    let answer = |is_error: &str| {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_1","is_error":{is_error}}}]}}}}"#
        )
    };
    let writes = |second: &str, last: &str| end_of(0, &[&write, second, last]).writes.len();
    assert_eq!(writes(&answer("false"), SUCCESS), 1);
    assert_eq!(writes(&answer("null"), SUCCESS), 1);
    assert_eq!(writes(&answer("true"), SUCCESS), 0);
    let denied = r#"{"type":"system","subtype":"permission_denied","tool_use_id":"toolu_1"}"#;
    assert_eq!(writes(denied, SUCCESS), 0);
    let listed = SUCCESS.replace(
        r#""permission_denials":[]"#,
        r#""permission_denials":[{"tool_use_id":"toolu_1","tool_name":"Write","tool_input":null}]"#,
    );
    assert_eq!(writes(&answer("false"), &listed), 0);
}

#[test]
fn unknown_field_form_keeps_the_last_record() {
    for (field, other) in [
        (r#""is_error":false"#, r#""is_error":null"#),
        (r#""errors":[]"#, r#""errors":null"#),
        (r#""permission_denials":[]"#, r#""permission_denials":null"#),
        (r#""permission_denials":[]"#, r#""permission_denials":[null, 3]"#),
    ] {
        let record = SUCCESS.replace(field, other);
        assert_ne!(record, SUCCESS);
        check(0, &[&record], &TurnEnd::Finished);
    }
}
