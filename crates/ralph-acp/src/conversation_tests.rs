//! Conversations of real agents and their interpretation.

use jiff::Timestamp;
use proptest::prelude::*;
use ralph_model::config::Permissions;
use serde_json::json;

use super::*;

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        "2026-11-16T11:00:00Z".parse().unwrap()
    }
}

const INIT: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"an-agent","version":"1.2.3"},"authMethods":[{"id":"k","name":"API key","description":null}]}}"#;
const CODEX: &str =
    r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"codex-acp","version":"2.6.0"}}}"#;
const COPILOT: &str =
    r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"Copilot","version":"1.0.102"}}}"#;
const SESSION: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1"}}"#;
const USED: &str = r#"{"inputTokens":10,"outputTokens":20,"totalTokens":30}"#;

fn session_options() -> SessionOptions {
    SessionOptions {
        prompt: Some("Do it. <task-done>t-x</task-done>".to_owned()),
        folders: vec![PathBuf::from("/p")],
        ..SessionOptions::default()
    }
}

fn update(update: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s-1", "update": update}}).to_string()
}

fn chunk(text: &str) -> String {
    update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

fn chunk_of(message: &str, text: &str) -> String {
    let content = json!({"type": "text", "text": text});
    update(&json!({"sessionUpdate": "agent_message_chunk", "messageId": message, "content": content}))
}

fn tool(fields: &Value) -> String {
    let mut call = json!({"sessionUpdate": "tool_call", "toolCallId": "c-1", "title": "A tool"});
    for (key, value) in fields.as_object().unwrap() {
        call[key] = value.clone();
    }
    update(&call)
}

fn ended(reason: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"stopReason":"{reason}","usage":{USED}}}}}"#)
}

fn failed(error: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 2, "error": error}).to_string()
}

fn exited(code: i32) -> Ended {
    Ended {
        how: ExitReason::Exited(code),
        stderr_tail: "warning\nfatal: broken\n".to_owned(),
        swept: 0,
        left: Vec::new(),
    }
}

/// Feeds the lines to a conversation; returns it with the sent messages and the events.
fn play(options: SessionOptions, lines: &[&str]) -> (Conversation, Vec<Value>, Vec<TurnEvent>) {
    let (mut conversation, first) = Conversation::new(options, Arc::new(Noon));
    let mut sent = first;
    let mut events = Vec::new();
    for line in lines {
        let output = conversation.on_line(line);
        sent.extend(output.reply.write);
        events.extend(output.events);
    }
    let sent = sent.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let sent = sent.map(|line| serde_json::from_slice(line).unwrap()).collect();
    (conversation, sent, events)
}

fn end_of(lines: &[&str]) -> EndOfTurn {
    let lines: Vec<&str> = [INIT, SESSION].into_iter().chain(lines.iter().copied()).collect();
    play(session_options(), &lines).0.conclude(exited(0))
}

#[track_caller]
fn check(lines: &[&str], expected: &TurnEnd) {
    assert_eq!(end_of(lines).end, *expected, "{lines:?}");
}

#[test]
fn message_start_is_reported_before_its_text() {
    let lines = [
        chunk_of("a", "I look"),
        chunk_of("a", " at it."),
        chunk_of("b", "Then this."),
    ];
    let lines = [INIT, SESSION].into_iter().chain(lines.iter().map(String::as_str));
    let (_, _, events) = play(session_options(), &lines.collect::<Vec<_>>());
    let events: Vec<TurnEvent> = events.into_iter().filter(|event| *event != TurnEvent::Alive).collect();
    let text = |text: &str| TurnEvent::Text(text.to_owned());
    assert_eq!(
        events,
        [
            TurnEvent::MessageBegins,
            text("I look"),
            text(" at it."),
            TurnEvent::MessageBegins,
            text("Then this."),
        ]
    );
}

#[test]
fn only_codex_gets_additional_folders() {
    let opened = |agent: &str, permissions: Permissions| {
        let options = SessionOptions {
            also_writable: vec![PathBuf::from("/main/.ralph")],
            access: permissions.into(),
            ..session_options()
        };
        let init = json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1, "agentInfo": {"name": agent, "version": "1"}}});
        let (_, sent, _) = play(options, &[&init.to_string()]);
        sent[1]["params"]["additionalDirectories"].clone()
    };
    assert_eq!(opened("codex-acp", Permissions::Edit), json!(["/main/.ralph"]));
    assert_eq!(opened("codex-acp", Permissions::Full), Value::Null);
    assert_eq!(opened("claude-agent-acp", Permissions::Edit), Value::Null);
}

#[test]
fn handshake_prompt_and_hang_up() {
    let (mut conversation, first) = Conversation::new(session_options(), Arc::new(Noon));
    let first: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(first["method"], "initialize");
    assert_eq!(first["params"]["protocolVersion"], 1);
    assert_eq!(first["params"]["clientInfo"]["name"], "ralph");
    let capabilities = &first["params"]["clientCapabilities"];
    let no_files = [
        &capabilities["fs"]["readTextFile"],
        &capabilities["fs"]["writeTextFile"],
        &capabilities["terminal"],
    ];
    assert!(
        no_files.iter().all(|value| **value == json!(false) || value.is_null()),
        "{capabilities}"
    );

    let read = |answer: &StdinReply| serde_json::from_slice::<Value>(&answer.write).unwrap();
    let opening = conversation.on_line(INIT).reply;
    let expected =
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/p", "mcpServers": []}});
    assert_eq!(read(&opening), expected);
    let prompting = conversation.on_line(SESSION).reply;
    let expected = json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {
        "sessionId": "s-1", "prompt": [{"type": "text", "text": "Do it. <task-done>t-x</task-done>"}],
    }});
    assert_eq!(read(&prompting), expected);
    let cancel_message: Value = serde_json::from_slice(&prompting.cancel_message.unwrap()).unwrap();
    assert_eq!(
        cancel_message,
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s-1"}})
    );
    assert_eq!(prompting.then, AfterReply::Listen);

    let last = conversation.on_line(&ended("end_turn"));
    assert_eq!(last.reply.then, AfterReply::HangUp);
    assert_eq!(
        last.reply.cancel_message,
        Some(Vec::new()),
        "a turn that is over is not cancelled"
    );
    let end = conversation.conclude(exited(0));
    assert_eq!((end.end, end.session.as_deref()), (TurnEnd::Finished, Some("s-1")));
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (10, 20));
}

#[test]
fn own_text_excludes_thoughts_echoes_plans_and_tools() {
    let other = |kind: &str| update(&json!({"sessionUpdate": kind, "content": {"type": "text", "text": "<x>"}}));
    let end = end_of(&[
        &other("user_message_chunk"),
        &other("agent_thought_chunk"),
        &other("plan"),
        &other("compaction_summary_chunk"),
        &other("brand_new"),
        &chunk_of("m-1", "I will write the file. "),
        &chunk_of("m-1", "Then say <task-done>t-0</task-done>"),
        &tool(&json!({"kind": "edit"})),
        &update(
            &json!({"sessionUpdate": "tool_call_update", "toolCallId": "c-1", "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "<task-done>no</task-done>"}}]}),
        ),
        &chunk_of("m-2", "Work is finished. <task-done>t-1<"),
        &chunk_of("m-2", "/task-done>"),
        &update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c-1", "status": "completed"})),
        &ended("end_turn"),
    ]);
    assert_eq!(end.final_messages(), ["Work is finished. <task-done>t-1</task-done>"]);
    let before = "I will write the file. Then say <task-done>t-0</task-done>";
    assert_eq!(end.messages.first().unwrap(), before);
    assert_eq!((end.messages.len(), end.end), (2, TurnEnd::Finished));
}

#[test]
fn new_message_id_starts_a_new_message() {
    let end = end_of(&[
        &chunk_of("a", "one"),
        &chunk_of("b", "two"),
        &chunk("three"),
        &ended("end_turn"),
    ]);
    assert_eq!(end.messages, ["one", "two", "three"]);
}

#[test]
fn text_before_prompt_or_of_other_session_is_ignored() {
    let (mut conversation, _, _) = play(session_options(), &[INIT, &chunk("too early"), SESSION]);
    let elsewhere = chunk("elsewhere").replace("s-1", "s-2");
    drop(conversation.on_line(&elsewhere));
    drop(conversation.on_line(&ended("end_turn")));
    assert!(conversation.conclude(exited(0)).messages.is_empty());
}

#[test]
fn leading_copy_of_the_prompt_is_removed() {
    let end = end_of(&[
        &chunk("Do it. <task-done>t-x"),
        &chunk("</task-done>\nDone."),
        &ended("end_turn"),
    ]);
    assert_eq!(end.messages, ["\nDone."]);
}

#[test]
fn codex_acp_warning_is_removed() {
    let warning = chunk("Warning: Model metadata for `gpt-5` not found. Defaulting to fallback metadata.\n\n");
    let lines = [
        CODEX,
        SESSION,
        &warning,
        &chunk("Done."),
        &chunk("Warning: kept"),
        &ended("end_turn"),
    ];
    let end = play(session_options(), &lines).0.conclude(exited(0));
    assert_eq!(end.messages, ["Done.Warning: kept"]);
    let alone = play(session_options(), &[CODEX, SESSION, &warning, &ended("end_turn")])
        .0
        .conclude(exited(0));
    assert!(!alone.spoke());
    let of_another = end_of(&[&chunk("Warning: it is so"), &ended("end_turn")]);
    assert_eq!(of_another.messages, ["Warning: it is so"]);
}

#[test]
fn tools_are_reported_and_writes_kept() {
    let calls = [
        tool(&json!({"toolCallId": "a", "kind": "edit", "title": "Write hello.txt",
            "content": [{"type": "diff", "path": "/p/hello.txt", "oldText": null, "newText": "x"}, {"type": "odd"}]})),
        tool(&json!({"toolCallId": "b", "kind": "edit", "locations": [{"path": "/p/b.rs", "line": 3}]})),
        tool(
            &json!({"toolCallId": "c", "kind": "execute", "title": "ls", "rawInput": {"command": ["bash", "-lc", "ls"]}}),
        ),
        tool(&json!({"toolCallId": "d", "kind": "edit", "name": "write_file", "locations": [{"path": "/p/d.rs"}]})),
        update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "d", "status": "failed"})),
        tool(&json!({"toolCallId": "e", "kind": "from_the_future", "locations": [{"path": "/p/e"}]})),
    ];
    let lines: Vec<&str> = [INIT, SESSION]
        .into_iter()
        .chain(calls.iter().map(String::as_str))
        .collect();
    let (mut conversation, _, events) = play(session_options(), &lines);
    let tools: Vec<(String, String)> = events
        .into_iter()
        .filter_map(|event| match event {
            TurnEvent::Tool { name, about } => Some((name, about)),
            _ => None,
        })
        .collect();
    let tools: Vec<(&str, &str)> = tools
        .iter()
        .map(|(name, about)| (name.as_str(), about.as_str()))
        .collect();
    let expected = [
        ("edit", "/p/hello.txt"),
        ("edit", "/p/b.rs"),
        ("execute", "ls"),
        ("write_file", "/p/d.rs"),
        ("other", "/p/e"),
    ];
    assert_eq!(tools, expected);
    let writes = conversation.conclude(exited(0)).writes;
    assert_eq!(writes, ["/p/b.rs", "/p/hello.txt"].map(PathBuf::from));
}

/// The permission request of claude-agent-acp for this kind of tool.
fn asks(kind: &str) -> String {
    let call = json!({"toolCallId": "toolu_1", "kind": kind, "title": "Write hello.txt",
        "content": [{"type": "diff", "path": "/p/hello.txt", "oldText": null, "newText": "…"}]});
    let options = json!([{"optionId": "allow-once", "kind": "allow_once"},
        {"optionId": "allow-with-updates", "kind": "allow_always"}, {"optionId": "reject", "kind": "reject_once"}]);
    let params = json!({"sessionId": "s-1", "toolCall": call, "options": options});
    json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": params}).to_string()
}

#[test]
fn permission_depends_on_the_kind_of_tool() {
    let answer = |permissions: Permissions, request: &str| {
        let options = SessionOptions {
            access: permissions.into(),
            ..session_options()
        };
        let (mut conversation, sent, _) = play(options, &[INIT, SESSION, request]);
        let outcome = sent.last().unwrap()["result"]["outcome"].clone();
        (outcome, conversation.conclude(exited(0)))
    };
    let allowed = json!({"outcome": "selected", "optionId": "allow-once"});
    let rejected = json!({"outcome": "selected", "optionId": "reject"});
    let (outcome, end) = answer(Permissions::Edit, &asks("edit"));
    assert_eq!((outcome, end.denials.len(), end.writes.len()), (allowed.clone(), 0, 1));
    let (outcome, end) = answer(Permissions::Edit, &asks("execute"));
    assert_eq!((outcome, end.writes.len()), (rejected.clone(), 0));
    let denial = Denial {
        tool: "execute".to_owned(),
        about: "/p/hello.txt".to_owned(),
        permit: Some("permissions = \"full\" under [agent] in .ralph.toml".to_owned()),
    };
    assert_eq!(end.denials, [denial]);
    assert_eq!(answer(Permissions::Full, &asks("execute")).0, allowed);
    let outside = asks("edit").replace("/p/hello.txt", "/etc/passwd");
    assert_eq!(answer(Permissions::Edit, &outside).0, rejected);
    let without_options = asks("edit").replace("allow", "maybe");
    assert_eq!(
        answer(Permissions::Edit, &without_options).0,
        json!({"outcome": "cancelled"})
    );
    let nothing = r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":null}"#;
    assert_eq!(answer(Permissions::Full, nothing).0, json!({"outcome": "cancelled"}));
}

#[test]
fn unknown_requests_are_refused() {
    let request = r#"{"jsonrpc":"2.0","id":"q-1","method":"craft/drainMidTurnQueue","params":{}}"#;
    let notice = r#"{"jsonrpc":"2.0","method":"_auth/status_update","params":7}"#;
    let (_, sent, _) = play(session_options(), &[request, INIT, notice, SESSION, request]);
    let refusals: Vec<&Value> = sent.iter().filter(|line| line["error"]["code"] == -32601).collect();
    assert_eq!((refusals.len(), &refusals[0]["id"]), (2, &json!("q-1")));
    let read = r#"{"jsonrpc":"2.0","id":5,"method":"fs/read_text_file","params":{"path":"/p/a"}}"#;
    assert_eq!(
        play(session_options(), &[read]).1.last().unwrap()["error"]["code"],
        -32601
    );
}

#[test]
fn offered_model_and_mode_are_selected() {
    let session = json!({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s-1",
        "modes": {"currentModeId": "default", "availableModes": [
            {"id": "default", "name": "Always Ask"}, {"id": "acceptEdits", "name": "Accept Edits"}, {"odd": 1}]},
        "configOptions": [7, {"id": "model", "name": "Model", "category": "model", "type": "select",
            "currentValue": "sonnet", "options": [{"value": "sonnet", "name": "S"}, {"value": "opus", "name": "O"}]}]}});
    let session = session.to_string();
    let wanted = SessionOptions {
        model: Some("opus".to_owned()),
        modes: &["unheard-of", "acceptEdits"],
        ..session_options()
    };
    let ok = |id: u64| json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string();
    let lines = [INIT, &session, &ok(2), &ok(3)];
    let (mut conversation, sent, _) = play(wanted.clone(), &lines);
    let methods: Vec<(&str, &Value)> = sent
        .iter()
        .skip(2)
        .map(|line| (line["method"].as_str().unwrap(), &line["params"]))
        .collect();
    let model = json!({"sessionId": "s-1", "configId": "model", "value": "opus"});
    assert_eq!(methods[0], ("session/set_config_option", &model));
    assert_eq!(
        methods[1],
        (
            "session/set_mode",
            &json!({"sessionId": "s-1", "modeId": "acceptEdits"})
        )
    );
    assert_eq!(methods[2].0, "session/prompt");
    assert_eq!(conversation.conclude(exited(0)).model.as_deref(), Some("opus"));

    let refused = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params"}}"#;
    let end = play(wanted.clone(), &[INIT, &session, refused])
        .0
        .conclude(exited(0))
        .end;
    let message = r#"it rejected the model "opus" (Invalid params); it offers sonnet, opus"#;
    assert_eq!(end, TurnEnd::Crash(message.to_owned()));
    // Without the mode it only asks more often.
    let refused = refused.replace("\"id\":2", "\"id\":3");
    let (_, sent, _) = play(wanted, &[INIT, &session, &ok(2), &refused]);
    assert_eq!(sent.last().unwrap()["method"], "session/prompt");
}

#[test]
fn older_agent_gets_the_older_model_request() {
    let session = r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1","models":{"currentModelId":"a","availableModels":[{"modelId":"a","name":"A"},{"modelId":"b","name":"B"}]}}}"#;
    let wanted = SessionOptions {
        model: Some("b".to_owned()),
        ..session_options()
    };
    let (_, sent, _) = play(wanted, &[INIT, session]);
    let last = sent.last().unwrap();
    assert_eq!(
        (&last["method"], &last["params"]["modelId"]),
        (&json!("session/set_model"), &json!("b"))
    );
    let (mut conversation, sent, _) = play(session_options(), &[INIT, session]);
    assert_eq!(sent.last().unwrap()["method"], "session/prompt");
    assert_eq!(conversation.conclude(exited(0)).model.as_deref(), Some("a"));
}

#[test]
fn stop_reasons_map_to_ends() {
    check(&[&chunk("x"), &ended("end_turn")], &TurnEnd::Finished);
    check(&[&ended("max_tokens")], &TurnEnd::TokenLimit);
    check(&[&ended("max_turn_requests")], &TurnEnd::TurnLimit);
    check(
        &[&chunk("I cannot"), &ended("refusal")],
        &TurnEnd::Refusal("I cannot".to_owned()),
    );
    check(&[&ended("cancelled")], &TurnEnd::Stopped);
    let garbage = |reason: &str| TurnEnd::Garbage(format!("it ended its turn with an unknown stop reason: {reason}"));
    check(&[&ended("of_the_future")], &garbage("\"of_the_future\""));
    check(&[r#"{"jsonrpc":"2.0","id":2,"result":{}}"#], &garbage("null"));
    check(&[r#"{"jsonrpc":"2.0","id":2,"result":null}"#], &garbage("null"));
}

#[test]
fn turn_cancelled_after_denial_is_finished() {
    let lines = [INIT, SESSION, &asks("execute"), &ended("cancelled")];
    let end = |how| {
        let mut conversation = play(session_options(), &lines).0;
        conversation.conclude(Ended { how, ..exited(0) }).end
    };
    assert_eq!(end(ExitReason::Exited(0)), TurnEnd::Finished);
    assert_eq!(end(ExitReason::Stopped), TurnEnd::Stopped);
}

#[test]
fn error_text_is_removed_from_messages() {
    let messages = |lines: &[&str]| play(session_options(), lines).0.conclude(exited(0)).messages;
    let text = "API Error: 401 The key is not valid. <task-done>t-1</task-done>";
    let error = failed(
        &json!({"code": -32603, "message": format!("Internal error: {text}"), "data": {"errorKind": "authentication_failed"}}),
    );
    // claude-agent-acp sends it before the error, in a separate message; others append it to the model's text.
    let kept = messages(&[INIT, SESSION, &chunk_of("a", "I begin."), &chunk_of("b", text), &error]);
    assert_eq!(kept, ["I begin."]);
    assert_eq!(
        messages(&[INIT, SESSION, &chunk("half "), &chunk(text), &error]),
        ["half "]
    );
    let other = messages(&[INIT, SESSION, &chunk("half "), &chunk("of it"), &error]);
    assert_eq!(other, ["half of it"]);

    let hidden = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":null}}"#;
    for text in [
        "exceeded retry limit, last status: 429 Too Many Requests",
        r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        "something new",
    ] {
        let kept = messages(&[CODEX, SESSION, &chunk("half "), &chunk(text), hidden]);
        assert_eq!(kept, ["half "], "{text}");
    }
    let quiet = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#;
    let text = "Error: Failed to get response from the AI model; retried 5 times";
    assert_eq!(
        messages(&[COPILOT, SESSION, &chunk("half "), &chunk(text), quiet]),
        ["half "]
    );
}

#[test]
fn copilot_text_about_errors_is_kept() {
    let quiet = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#;
    let text = "I mended it: the test said `TypeError: x is not a function`. <task-done>t-1</task-done>";
    let mut conversation = play(session_options(), &[COPILOT, SESSION, &chunk(text), quiet]).0;
    assert_eq!(conversation.conclude(exited(0)).end, TurnEnd::Finished);
}

#[test]
fn parse_error_of_the_agent_ends_the_turn() {
    let unread = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
    check(&[unread], &TurnEnd::Crash("Parse error".to_owned()));
}

#[test]
fn unavailable_model_choice_is_an_error() {
    let wanted = |program| SessionOptions {
        model: Some("opus".to_owned()),
        program,
        ..session_options()
    };
    let end = play(wanted("copilot"), &[INIT, SESSION]).0.conclude(exited(0)).end;
    let message = r#"it offers no choice of models, so "opus" cannot be selected"#;
    assert_eq!(end, TurnEnd::Crash(message.to_owned()));
    let (_, sent, _) = play(wanted(""), &[INIT, SESSION]);
    assert_eq!(sent.last().unwrap()["method"], "session/prompt");
}

#[test]
fn codex_is_recognized_by_its_program() {
    let options = SessionOptions {
        program: "codex-acp",
        ..session_options()
    };
    let nameless = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#;
    let hidden = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":null}}"#;
    let mut conversation = play(options, &[nameless, SESSION, &chunk("it failed"), hidden]).0;
    assert_eq!(
        conversation.conclude(exited(0)).end,
        TurnEnd::Transient("it failed".to_owned())
    );
}

#[test]
fn mode_without_asking_is_an_error() {
    let session = |current: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s-1", "modes": {"currentModeId": current,
            "availableModes": [{"id": "plan", "name": "p"}, {"id": current, "name": "n"}]}}})
        .to_string()
    };
    let wanted = |modes| SessionOptions {
        modes,
        forbidden_modes: &["yolo"],
        ..session_options()
    };
    let message =
        "its mode \"yolo\" runs tools without asking; change its own settings, or set [agent] permissions = \"full\"";
    // It offers none of the requested modes.
    let mut conversation = play(wanted(&["auto-edit"]), &[INIT, &session("yolo")]).0;
    assert_eq!(conversation.conclude(exited(0)).end, TurnEnd::Crash(message.to_owned()));
    // It refuses to change its mode.
    let refused = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}"#;
    let mut conversation = play(wanted(&["plan"]), &[INIT, &session("yolo"), refused]).0;
    assert_eq!(conversation.conclude(exited(0)).end, TurnEnd::Crash(message.to_owned()));
    let (_, sent, _) = play(wanted(&["plan"]), &[INIT, &session("default"), refused]);
    assert_eq!(sent.last().unwrap()["method"], "session/prompt");
}

#[test]
fn read_only_turn_needs_a_read_only_mode() {
    let session =
        |modes: &Value| json!({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s-1", "modes": modes}}).to_string();
    let in_mode = |current: &str, other: &str| {
        session(&json!({"currentModeId": current,
            "availableModes": [{"id": other, "name": "o"}, {"id": current, "name": "n"}]}))
    };
    let read_only = || SessionOptions {
        modes: &["read-only"],
        access: Access::ReadOnly,
        ..session_options()
    };
    let crash = |text: &str| TurnEnd::Crash(text.to_owned());
    let mut conversation = play(read_only(), &[INIT, &in_mode("agent", "full")]).0;
    let message = r#"its mode "agent" is not read-only; a read-only turn needs one of: read-only"#;
    assert_eq!(conversation.conclude(exited(0)).end, crash(message));
    let mut conversation = play(read_only(), &[INIT, &session(&Value::Null)]).0;
    let message = "it offers no modes; a read-only turn needs one of: read-only";
    assert_eq!(conversation.conclude(exited(0)).end, crash(message));
    let (_, sent, _) = play(read_only(), &[INIT, &in_mode("read-only", "agent")]);
    assert_eq!(sent.last().unwrap()["method"], "session/prompt");
    let chosen = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    let (_, sent, _) = play(read_only(), &[INIT, &in_mode("agent", "read-only"), chosen]);
    assert_eq!(sent.last().unwrap()["method"], "session/prompt");
    let refused = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}"#;
    let mut conversation = play(read_only(), &[INIT, &in_mode("agent", "read-only"), refused]).0;
    assert!(matches!(conversation.conclude(exited(0)).end, TurnEnd::Crash(_)));
    // An agent that asks for everything needs no mode, but must not be in one in which it does not ask.
    let asks = || SessionOptions {
        access: Access::ReadOnly,
        forbidden_modes: &["yolo"],
        ..session_options()
    };
    let (_, sent, _) = play(asks(), &[INIT, &in_mode("agent", "x")]);
    assert_eq!(sent.last().unwrap()["method"], "session/prompt");
    let mut conversation = play(asks(), &[INIT, &in_mode("yolo", "x")]).0;
    let message = r#"its mode "yolo" runs tools without asking; change its own settings"#;
    assert_eq!(conversation.conclude(exited(0)).end, crash(message));
}

#[test]
fn tools_are_disabled_with_the_session() {
    let taken = SessionOptions {
        disabled_tools: &["Edit"],
        access: Access::ReadOnly,
        ..session_options()
    };
    let opened = |options: SessionOptions| play(options, &[INIT]).1.pop().unwrap()["params"]["_meta"].clone();
    let options = json!({"claudeCode": {"options": {"disallowedTools": ["Edit"], "strictMcpConfig": true}}});
    assert_eq!((opened(taken), opened(session_options())), (options, Value::Null));
}

#[test]
fn replayed_permission_requests_are_not_judged() {
    let mut conversation = Conversation::for_replay(Arc::new(Noon));
    for line in [INIT, SESSION, &asks("edit"), &chunk("done")] {
        assert!(conversation.on_line(line).reply.write.is_empty());
    }
    let end = conversation.conclude(exited(0));
    assert_eq!(
        (end.denials, end.writes),
        (Vec::new(), vec![PathBuf::from("/p/hello.txt")])
    );
}

#[test]
fn edit_is_judged_by_its_input_files() {
    let asks = |input: &Value| {
        let options = json!([{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]);
        let call = json!({"toolCallId": "c", "kind": "edit", "title": "Write", "rawInput": input});
        let params = json!({"sessionId": "s-1", "toolCall": call, "options": options});
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": params});
        let (_, sent, _) = play(session_options(), &[INIT, SESSION, &request.to_string()]);
        sent.last().unwrap()["result"]["outcome"]["optionId"].clone()
    };
    assert_eq!(asks(&json!({"file_path": "/p/a.rs", "content": "x"})), "yes");
    assert_eq!(asks(&json!({"file_path": "/etc/cron.d/x"})), "no");
    assert_eq!(asks(&json!({"source": "/p/a", "destination": "/etc/a"})), "no");
    assert_eq!(asks(&json!({"content": "x"})), "no");
    let many: Vec<Value> = (0..100).map(|n| json!({"path": format!("/p/{n}")})).collect();
    assert_eq!(asks(&json!({"path": "/p/a", "locations": many})), "yes");
}

#[test]
fn kept_calls_are_bounded() {
    let mut conversation = play(session_options(), &[INIT, SESSION]).0;
    let long = "x".repeat(10_000);
    for number in 0..20_000 {
        let call = tool(
            &json!({"toolCallId": format!("{number}-{long}"), "kind": "edit", "locations": [{"path": format!("/p/{number}")}]}),
        );
        drop(conversation.on_line(&call));
        drop(
            conversation.on_line(
                &asks("execute")
                    .replace("hello.txt", &number.to_string())
                    .replace("toolu_1", &number.to_string()),
            ),
        );
    }
    let (calls, bytes) = conversation.calls.size();
    assert!(calls <= 4_096 && bytes < 4 << 20, "{calls} calls with {bytes} bytes");
    let end = conversation.conclude(exited(0));
    assert_eq!((end.writes.len(), end.denials.len()), (4_096, MAX_DENIALS));
}

#[test]
fn fault_28_answer_about_limits_is_an_answer() {
    for answer in [
        "Internal error: API Error: 401 authentication_failed",
        "You've hit your limit · resets 3pm (UTC)",
        "exceeded retry limit, last status: 429 Too Many Requests",
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no"}}"#,
        "rate_limit prompt_too_long usage: null",
    ] {
        check(&[&chunk(answer), &ended("end_turn")], &TurnEnd::Finished);
        let codex = [CODEX, SESSION, &chunk(answer), &ended("end_turn")];
        assert_eq!(
            play(session_options(), &codex).0.conclude(exited(0)).end,
            TurnEnd::Finished,
            "{answer}"
        );
        // An agent that never reports usage.
        let quiet = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#;
        check(&[&chunk(answer), quiet], &TurnEnd::Finished);
        check(
            &[&chunk(answer), &quiet.replace("}}", ",\"usage\":null}}")],
            &TurnEnd::Finished,
        );
    }
}

#[test]
fn codex_acp_null_usage_reveals_a_hidden_error() {
    let end = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":null}}"#;
    let check = |answer: &str, expected: TurnEnd| {
        let lines = [CODEX, SESSION, &chunk(answer), end];
        assert_eq!(play(session_options(), &lines).0.conclude(exited(0)).end, expected);
    };
    let text = "exceeded retry limit, last status: 429 Too Many Requests";
    check(text, TurnEnd::Transient(text.to_owned()));
    let text = r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    let mut conversation = play(session_options(), &[CODEX, SESSION, &chunk(text), end]).0;
    assert!(matches!(
        conversation.conclude(exited(0)).end,
        TurnEnd::ContextOverflow(_)
    ));
    check("something new", TurnEnd::Transient("something new".to_owned()));
}

#[test]
fn normal_end_without_answer_is_transient() {
    let end = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"stopReason":"end_turn",{result}}}}}"#);
    let none = TurnEnd::Transient("the agent finished without an answer from the model".to_owned());
    // opencode, after an interrupted stream.
    let zero = end(r#""usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0},"_meta":{}"#);
    check(&[&zero], &none);
    // A service that does not count tokens.
    check(&[&chunk("said"), &zero], &TurnEnd::Finished);
    // gemini, likewise; the partial answer is kept.
    let quota = |models: &str| {
        end(&format!(
            r#""_meta":{{"quota":{{"token_count":{{"input_tokens":0,"output_tokens":0}},"model_usage":[{models}]}}}}"#
        ))
    };
    check(&[&chunk("in the mid"), &quota("")], &none);
    check(&[&chunk("said"), &quota(r#"{"model":"m"}"#)], &TurnEnd::Finished);
    // copilot then reports no tokens, and the error is the last chunk of its text.
    let failed = chunk("Error: Authentication failed with provider at http://127.0.0.1/v1 (HTTP 401).");
    let quiet = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#;
    let mut conversation = play(session_options(), &[COPILOT, SESSION, &failed, quiet]).0;
    assert!(matches!(conversation.conclude(exited(0)).end, TurnEnd::Auth(_)));
}

#[test]
fn error_ends_the_turn_at_once() {
    let error = json!({"code": -32603, "message": "Internal error", "data": {"details": "it broke"}});
    check(
        &[&chunk("half"), &failed(&error)],
        &TurnEnd::Crash("Internal error: it broke".to_owned()),
    );
    let (mut conversation, ..) = play(session_options(), &[INIT, SESSION]);
    assert_eq!(conversation.on_line(&failed(&error)).reply.then, AfterReply::HangUp);
    let stopped = Ended {
        how: ExitReason::Stopped,
        ..exited(0)
    };
    assert_eq!(
        conversation.conclude(stopped).end,
        TurnEnd::Crash("Internal error: it broke".to_owned())
    );
}

#[test]
fn failed_initialization_is_reported() {
    let check = |lines: &[&str], expected: TurnEnd| {
        assert_eq!(
            play(session_options(), lines).0.conclude(exited(0)).end,
            expected,
            "{lines:?}"
        );
    };
    let other = INIT.replace("\"protocolVersion\":1", "\"protocolVersion\":2");
    let message = "it speaks ACP version 2, but ralph speaks version 1";
    check(&[&other], TurnEnd::Crash(message.to_owned()));
    let odd = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"0.9"}}"#;
    let message = r#"it did not report its protocol version: {"protocolVersion":"0.9"}"#;
    check(&[odd], TurnEnd::Crash(message.to_owned()));
    let refused = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}"#;
    let message = "ACP initialization failed: Method not found";
    check(&[refused], TurnEnd::Crash(message.to_owned()));
    let login = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Authentication required"}}"#;
    check(&[INIT, login], TurnEnd::Auth("Authentication required".to_owned()));
    let none = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    check(
        &[INIT, none],
        TurnEnd::Crash("it did not open a session: {}".to_owned()),
    );
}

#[test]
fn turn_without_response_is_not_finished() {
    let end = |code, lines: &[&str]| play(session_options(), lines).0.conclude(exited(code)).end;
    let crash = TurnEnd::Crash("exit code 1: fatal: broken".to_owned());
    assert_eq!(end(1, &[INIT, SESSION, &chunk("half")]), crash);
    let printed = TurnEnd::Crash("exit code 1: fatal: broken; it printed: Welcome".to_owned());
    assert_eq!(end(1, &["Welcome", "to it"]), printed);
    let message = "it exited with code 0 in the middle of its turn";
    assert_eq!(
        end(0, &[INIT, SESSION, &chunk("half")]),
        TurnEnd::Crash(message.to_owned())
    );
    let garbage = |message: &str| TurnEnd::Garbage(message.to_owned());
    assert_eq!(
        end(0, &["", "Hello", "{"]),
        garbage("it does not speak ACP; it printed: Hello")
    );
    assert_eq!(end(0, &[]), garbage("it does not speak ACP; it printed nothing"));
    for (how, expected) in [
        (ExitReason::Stopped, TurnEnd::Stopped),
        (ExitReason::TimedOut, TurnEnd::Stopped),
        (ExitReason::OutputLimit, TurnEnd::OutputLimit),
    ] {
        let ended = Ended { how, ..exited(0) };
        assert_eq!(play(session_options(), &[INIT]).0.conclude(ended).end, expected);
    }
}

#[test]
fn incomplete_line_is_skipped() {
    let end = end_of(&[
        &chunk("one"),
        r#"{"jsonrpc":"2.0","method":"session/upd"#,
        &chunk(" two"),
        &ended("end_turn"),
    ]);
    assert_eq!((end.messages, end.end), (vec!["one two".to_owned()], TurnEnd::Finished));
}

#[test]
fn usage_and_cost_are_reported_during_the_turn() {
    let cost = update(
        &json!({"sessionUpdate": "usage_update", "used": 5, "size": 9, "cost": {"amount": 0.25, "currency": "USD"}}),
    );
    let (mut conversation, _, events) = play(session_options(), &[INIT, SESSION, &cost, &ended("end_turn")]);
    let used = Usage {
        cost_usd: 0.25,
        input_tokens: 10,
        output_tokens: 20,
    };
    assert_eq!(events.last(), Some(&TurnEvent::Used(used)));
    assert_eq!(conversation.conclude(exited(0)).usage, used);
}

/// Lines that are almost messages.
fn odd_line() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just(json!(null)),
        Just(json!(-1)),
        Just(json!("text")),
        Just(json!([1, {"a": null}])),
        Just(json!({"type": "text", "text": 5, "sessionUpdate": "tool_call", "toolCallId": {}})),
        Just(
            json!({"sessionId": "s-1", "update": {"sessionUpdate": "tool_call", "toolCallId": "x", "kind": [], "content": 3}})
        ),
        Just(json!({"sessionId": "s-1", "update": {"sessionUpdate": "agent_thought_chunk", "content": []}})),
        Just(json!({"sessionId": "s-1", "update": {"sessionUpdate": "usage_update", "cost": {"amount": "x"}}})),
        Just(json!({"toolCall": {"toolCallId": 1}, "options": [{"kind": 1}, null]})),
    ];
    let method = prop_oneof![
        Just("session/update"),
        Just("session/request_permission"),
        Just("terminal/create"),
        Just("")
    ];
    let message = (method, value.clone(), prop::option::of(value)).prop_map(|(method, params, id)| {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if let Some(id) = id {
            message["id"] = id;
        }
        message.to_string()
    });
    prop_oneof![".{0,80}", message]
}

proptest! {
    #[test]
    fn odd_lines_do_not_disturb_the_turn(
        garbage in prop::collection::vec(odd_line(), 0..12),
    ) {
        let (mut conversation, _) = Conversation::new(session_options(), Arc::new(Noon));
        let own = [INIT.to_owned(), SESSION.to_owned(), chunk_of("m", "the "), chunk_of("m", "answer"), ended("end_turn")];
        for line in own {
            for odd in &garbage {
                drop(conversation.on_line(odd));
            }
            drop(conversation.on_line(&line));
        }
        let end = conversation.conclude(exited(0));
        prop_assert_eq!(end.end, TurnEnd::Finished);
        prop_assert_eq!(end.messages.concat(), "the answer");
    }
}
