//! Records of Codex and their interpretation. Complete turns were recorded from Codex 0.166.0 with a scripted model.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_model::Usage;
use ralph_process::{Ended, ExitReason};

use super::*;
use crate::launch::Listener;
use crate::{Denial, EndOfTurn, TurnEnd, TurnEvent};

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        "2026-11-16T11:00:00Z".parse().unwrap()
    }
}

pub(super) const STARTED: &str = r#"{"type":"thread.started","thread_id":"01a1e2f8-385b-74d3-9ce6-af3f0031952e"}"#;
pub(super) const WARNING: &str = r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for `gpt-5` not found. Defaulting to fallback metadata; this can degrade performance and cause issues."}}"#;
pub(super) const TURN: &str = r#"{"type":"turn.started"}"#;
pub(super) const COMPLETED: &str = r#"{"type":"turn.completed","usage":{"input_tokens":2400,"cached_input_tokens":600,"cache_write_input_tokens":0,"output_tokens":84,"reasoning_output_tokens":0}}"#;

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

fn end_of(code: i32, lines: &[&str]) -> EndOfTurn {
    on_line(lines).0.conclude(exited(code))
}

pub(super) fn agent_message(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(r#"{{"type":"item.completed","item":{{"id":"item_9","type":"agent_message","text":{text}}}}}"#)
}

pub(super) fn error(text: &str) -> String {
    serde_json::json!({"type": "error", "message": text}).to_string()
}

pub(super) fn failed(text: &str) -> String {
    serde_json::json!({"type": "turn.failed", "error": {"message": text}}).to_string()
}

pub(super) fn command(kind: &str, status: &str, output: &str) -> String {
    serde_json::json!({"type": kind, "item": {
        "id": "item_2", "type": "command_execution", "command": "/bin/bash -lc 'cargo test --all'",
        "aggregated_output": output, "exit_code": 1, "status": status,
    }})
    .to_string()
}

fn change(kind: &str, status: &str) -> String {
    format!(
        r#"{{"type":"{kind}","item":{{"id":"item_3","type":"file_change","changes":[{{"path":"/p/a.rs","kind":"add"}},{{"path":"/p/b.rs","kind":"update"}}],"status":"{status}"}}}}"#
    )
}

#[test]
fn own_text_excludes_tools_thoughts_and_warnings() {
    let (mut records, events) = on_line(&[
        STARTED,
        WARNING,
        TURN,
        &agent_message("I begin"),
        &command("item.started", "in_progress", ""),
        &command("item.completed", "completed", "<task-done>no</task-done>"),
        r#"{"type":"item.completed","item":{"id":"item_4","type":"reasoning","text":"<task-done>no</task-done>"}}"#,
        &change("item.started", "in_progress"),
        &change("item.completed", "completed"),
        r#"{"type":"item.completed","item":{"id":"item_5","type":"web_search","query":"rust","action":{"type":"search"}}}"#,
        r#"{"type":"item.started","item":{"id":"item_6","type":"mcp_tool_call","server":"mem","tool":"recall","arguments":{},"status":"in_progress"}}"#,
        r#"{"type":"item.updated","item":{"id":"item_7","type":"todo_list","items":[{"text":"x","completed":true}]}}"#,
        r#"{"type":"item.completed","item":{"id":"item_8","type":"brand_new","text":7}}"#,
        &agent_message("the last word"),
        COMPLETED,
    ]);
    let shown: Vec<TurnEvent> = events.into_iter().filter(|event| *event != TurnEvent::Alive).collect();
    let tool = |name: &str, about: &str| TurnEvent::Tool {
        name: name.to_owned(),
        about: about.to_owned(),
    };
    let usage = Usage {
        cost_usd: 0.0,
        input_tokens: 2400,
        output_tokens: 84,
    };
    assert_eq!(
        shown,
        [
            TurnEvent::MessageBegins,
            TurnEvent::Text("I begin".into()),
            tool("shell", "cargo test --all"),
            tool("apply_patch", "/p/a.rs, /p/b.rs"),
            tool("web_search", "rust"),
            tool("mcp", "mem recall"),
            TurnEvent::MessageBegins,
            TurnEvent::Text("the last word".into()),
            TurnEvent::Used(usage),
        ]
    );
    let end = records.conclude(exited(0));
    assert_eq!(end.end, TurnEnd::Finished);
    assert_eq!(end.messages, ["I begin", "the last word"]);
    assert_eq!(end.final_messages(), ["the last word"]);
    assert_eq!(end.writes, ["/p/a.rs", "/p/b.rs"].map(PathBuf::from));
    assert_eq!(end.session.as_deref(), Some("01a1e2f8-385b-74d3-9ce6-af3f0031952e"));
    assert_eq!(end.usage, usage);
}

#[test]
fn only_the_last_message_is_final() {
    let end = end_of(
        0,
        &[
            &agent_message("<task-done>t-1</task-done>"),
            &agent_message("no, wait"),
            COMPLETED,
        ],
    );
    assert_eq!(end.final_messages(), ["no, wait"]);
    let end = end_of(
        0,
        &[
            &agent_message("before"),
            &command("item.started", "in_progress", ""),
            COMPLETED,
        ],
    );
    assert!(end.final_messages().is_empty());
    // The background command completes after the final message.
    let end = end_of(
        0,
        &[
            &command("item.started", "in_progress", ""),
            &agent_message("last"),
            &command("item.completed", "failed", ""),
            COMPLETED,
        ],
    );
    assert_eq!(end.final_messages(), ["last"]);
}

#[test]
fn failed_writes_are_dropped_and_denials_reported() {
    assert!(
        end_of(0, &[&change("item.completed", "failed"), COMPLETED])
            .writes
            .is_empty()
    );
    let end = end_of(
        0,
        &[
            &change("item.completed", "declined"),
            &command("item.completed", "declined", ""),
            &command("item.completed", "failed", "Read-only file system"),
            COMPLETED,
        ],
    );
    assert!(end.writes.is_empty());
    let denial = |tool: &str, about: &str, permit: &str| Denial {
        tool: tool.to_owned(),
        about: about.to_owned(),
        permit: Some(permit.to_owned()),
    };
    assert_eq!(
        end.denials,
        [
            denial("apply_patch", "/p/a.rs, /p/b.rs", "--add-dir /p in [agent] command"),
            denial(
                "shell",
                "cargo test --all",
                r#"prefix_rule(pattern = ["cargo","test","--all"], decision = "allow") in ~/.codex/rules/default.rules"#
            ),
        ]
    );
}

fn words_for(command: &str, access: impl Into<Access>, model: Option<&str>, also_writable: &[PathBuf]) -> String {
    let agent = CodexAgent::new(&CommandLine::Line(command.to_owned()), Arc::new(Noon)).unwrap();
    let turn = Turn {
        prompt: "",
        prompt_file: Path::new("/x"),
        model,
        folder: Path::new("/"),
        environment: &[],
        also_writable,
        access: access.into(),
        allowed_commands: &[],
        marker: "",
        output_limit: None,
    };
    agent.words_for(&turn).join(" ")
}

#[test]
fn additional_folders_are_added_to_the_sandbox() {
    let database = [PathBuf::from("/main tree/.ralph")];
    assert_eq!(
        words_for("codex", Permissions::Edit, None, &database),
        "codex exec --json --skip-git-repo-check -c allow_login_shell=false -s workspace-write --add-dir /main tree/.ralph -"
    );
    for (command, permissions) in [("codex", Permissions::Full), ("codex -s read-only", Permissions::Edit)] {
        let words = words_for(command, permissions, None, &database);
        assert!(!words.contains("--add-dir"), "{words}");
    }
}

#[test]
fn read_only_turn_has_a_read_only_sandbox() {
    let database = [PathBuf::from("/main tree/.ralph")];
    assert_eq!(
        words_for("codex", Access::ReadOnly, None, &database),
        "codex exec --json --skip-git-repo-check -c allow_login_shell=false -s read-only -"
    );
    let can = |command: &str| {
        let agent = CodexAgent::new(&CommandLine::Line(command.to_owned()), Arc::new(Noon)).unwrap();
        agent.can_be_read_only()
    };
    assert!(can("codex -m o4"));
    // The command sets its own permissions.
    assert!(!can("codex --yolo"));
    assert!(!can("codex -c sandbox_mode=workspace-write"));
}

#[test]
fn missing_arguments_are_added() {
    let check = |command: &str, permissions: Permissions, model, expected: &str| {
        assert_eq!(words_for(command, permissions, model, &[]), expected);
    };
    let (edit, full) = (Permissions::Edit, Permissions::Full);
    check(
        "codex",
        edit,
        None,
        "codex exec --json --skip-git-repo-check -c allow_login_shell=false -s workspace-write -",
    );
    check(
        "codex exec",
        full,
        Some("o3"),
        "codex exec --json --skip-git-repo-check -c allow_login_shell=false --dangerously-bypass-approvals-and-sandbox -m o3 -",
    );
    check(
        "/opt/bin/codex -c 'model_provider=\"x\"' --json",
        edit,
        None,
        "/opt/bin/codex exec -c model_provider=\"x\" --json --skip-git-repo-check -c allow_login_shell=false -s workspace-write -",
    );
    check(
        "npx -y @openai/codex@latest -mo4 -",
        edit,
        Some("o3"),
        "npx -y @openai/codex@latest exec -mo4 - --json --skip-git-repo-check -c allow_login_shell=false -s workspace-write",
    );
    check(
        "codex e -c model=o4 --sandbox=read-only",
        full,
        Some("o3"),
        "codex e -c model=o4 --sandbox=read-only --json --skip-git-repo-check -c allow_login_shell=false -",
    );
    check(
        "codex -c allow_login_shell=true -s read-only",
        edit,
        None,
        "codex exec -c allow_login_shell=true -s read-only --json --skip-git-repo-check -",
    );
    for decided in [
        "-s read-only",
        "--full-auto",
        "--yolo",
        "-c sandbox_mode=read-only",
        "--config=sandbox_mode=x",
    ] {
        let expected = format!("my-codex {decided} exec --json --skip-git-repo-check -c allow_login_shell=false -");
        check(&format!("my-codex {decided}"), full, None, &expected);
    }
}

/// Classifies a message at a time in winter, in a zone other than the machine's.
fn classified(text: &str) -> Option<TurnEnd> {
    let zone = TimeZone::get("Europe/Brussels").unwrap();
    errors::read(text, &Noon.now().to_zoned(zone))
}

#[track_caller]
fn check_limit(text: &str, resets_at: Option<&str>) {
    let expected = TurnEnd::UsageLimit {
        resets_at: resets_at.map(|time| time.parse().unwrap()),
        message: text.replace('’', "'"),
    };
    assert_eq!(classified(text), Some(expected), "{text}");
}

#[test]
fn usage_limit_times_are_in_the_local_zone() {
    // It is noon in Brussels.
    check_limit(
        "You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at 7:07 PM.",
        Some("2026-11-16T18:07:00Z"),
    );
    check_limit(
        "You've hit your usage limit. Try again at 12:01 PM.",
        Some("2026-11-16T11:01:00Z"),
    );
    // The current minute is not a day away; one an hour ago is.
    check_limit(
        "You've hit your usage limit. Try again at 12:00 PM.",
        Some("2026-11-16T11:01:00Z"),
    );
    check_limit(
        "You've hit your usage limit. Try again at 11:00 AM.",
        Some("2026-11-17T10:00:00Z"),
    );
    check_limit(
        "You’ve hit your usage limit. To get more access now, send a request to your admin or try again at Nov 18th, 2026 11:06 AM.",
        Some("2026-11-18T10:06:00Z"),
    );
    check_limit(
        "You've hit your usage limit for gpt-6. Switch to another model now, or try again at Jan 1st, 2027 12:30 AM.",
        Some("2026-12-31T23:30:00Z"),
    );
    for without in ["Try again later.", "Try again at noon.", "Try again at 13:99 PM.", ""] {
        check_limit(format!("You've hit your usage limit. {without}").trim_end(), None);
    }
}

#[test]
fn texts_about_errors_are_not_errors() {
    for text in [
        "",
        "I fixed it: unexpected status 401 Unauthorized is handled now",
        "The message says: You've hit your usage limit. Try again later.",
        "You've hit your usage limits in this test",
        "unexpected status quo",
        "unexpected status 404 Not Found: no such model, url: http://127.0.0.1/v1/responses",
        "Reconnecting... 2/5 (exceeded retry limit, last status: 429 Too Many Requests)",
        r#"{"error": {"message": "bad thing", "type": "invalid_request_error", "code": "x"}}"#,
        r#"{"error": "context_length_exceeded"}"#,
        r#"The service said {"error":{"code":"context_length_exceeded"}}"#,
        "Incomplete response returned, reason: unknown",
    ] {
        assert_eq!(classified(text), None, "{text}");
    }
    assert_eq!(codex_error("unexpected status 404 Not Found: x", Noon.now()), None);
}
