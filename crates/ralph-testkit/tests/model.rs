//! Tests of the scripted model with raw requests in every API format.

#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use ralph_testkit::model::{ANSWER, Failure, ModelServer, Scenario};
use serde_json::{Value, json};

const PROMPT: &str = "# Work\n\n## Assigned Task\n\n**Make the file** (t-0000a1)\n";
const DONE: &str = "<task-done>t-0000a1</task-done>";

/// Builds a request (path and body) from a prompt, whether it is streamed, and whether a tool has answered.
type Ask = fn(&str, Streamed, Turn) -> (String, Value);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Streamed {
    Yes,
    No,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    AfterTool,
}

const WIRES: [(&str, Ask); 4] = [
    ("anthropic", anthropic),
    ("chat", chat),
    ("responses", responses),
    ("gemini", gemini),
];

fn anthropic(prompt: &str, streamed: Streamed, turn: Turn) -> (String, Value) {
    let mut messages = vec![
        json!({ "role": "user", "content": [{ "type": "text", "text": "Remember." }, { "type": "text", "text": prompt }] }),
    ];
    if turn == Turn::AfterTool {
        messages.push(
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "x", "content": "ok" }] }),
        );
    }
    let schema = json!({ "properties": { "file_path": {}, "content": {} }, "required": ["file_path", "content"] });
    let tools =
        json!([{ "name": "Bash", "input_schema": command_schema() }, { "name": "Write", "input_schema": schema }]);
    let body = json!({ "model": "m", "stream": streamed == Streamed::Yes, "messages": messages, "tools": tools });
    ("/v1/messages?beta=true".to_owned(), body)
}

fn chat(prompt: &str, streamed: Streamed, turn: Turn) -> (String, Value) {
    let mut messages = vec![
        json!({ "role": "system", "content": "s" }),
        json!({ "role": "user", "content": prompt }),
    ];
    if turn == Turn::AfterTool {
        messages.push(json!({ "role": "tool", "tool_call_id": "x", "content": "ok" }));
    }
    let schema = json!({
        "properties": { "filePath": { "type": "string" }, "content": { "type": "string" }, "why": { "type": "string" }, "how": {} },
        "required": ["filePath", "content", "why"]
    });
    let function = |name: &str, parameters: Value| json!({ "type": "function", "function": { "name": name, "parameters": parameters } });
    let tools = json!([function("bash", command_schema()), function("write", schema)]);
    let body = json!({ "model": "m", "stream": streamed == Streamed::Yes, "messages": messages, "tools": tools });
    ("/v1/chat/completions".to_owned(), body)
}

fn responses(prompt: &str, streamed: Streamed, turn: Turn) -> (String, Value) {
    let mut input =
        vec![json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": prompt }] })];
    if turn == Turn::AfterTool {
        input.push(json!({ "type": "function_call_output", "call_id": "x", "output": "ok" }));
    }
    let tools = json!([{ "type": "function", "name": "exec_command", "parameters": command_schema() }, { "type": "custom", "name": "apply_patch" }]);
    let body = json!({ "model": "m", "stream": streamed == Streamed::Yes, "input": input, "tools": tools });
    ("/v1/responses".to_owned(), body)
}

fn gemini(prompt: &str, streamed: Streamed, turn: Turn) -> (String, Value) {
    let mut contents = vec![json!({ "role": "user", "parts": [{ "text": prompt }] })];
    if turn == Turn::AfterTool {
        contents.push(
            json!({ "role": "user", "parts": [{ "functionResponse": { "name": "write_file", "response": {} } }] }),
        );
    }
    let schema = json!({ "properties": { "file_path": {}, "content": {} }, "required": ["file_path", "content"] });
    let tools = json!([{ "functionDeclarations": [
        { "name": "run_shell_command", "parametersJsonSchema": command_schema() },
        { "name": "write_file", "parametersJsonSchema": schema }
    ] }]);
    let verb = if streamed == Streamed::Yes {
        "streamGenerateContent?alt=sse"
    } else {
        "generateContent"
    };
    (
        format!("/v1beta/models/m:{verb}"),
        json!({ "contents": contents, "tools": tools }),
    )
}

fn command_schema() -> Value {
    json!({ "properties": { "command": { "type": "string" }, "cmd": { "type": "string" } }, "required": ["command"] })
}

fn raw(server: &ModelServer, request: &str) -> String {
    let mut stream = TcpStream::connect(server.url().trim_start_matches("http://")).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn post(server: &ModelServer, (target, body): &(String, Value)) -> String {
    let body = body.to_string();
    let length = body.len();
    raw(
        server,
        &format!("POST {target} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}"),
    )
}

fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// The joined texts of a stream.
fn streamed_text(answer: &str) -> String {
    let events = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let texts = events.filter_map(|event| {
        let places = [
            &event["delta"]["text"],
            &event["choices"][0]["delta"]["content"],
            &event["candidates"][0]["content"]["parts"][0]["text"],
        ];
        let delta = Some(&event["delta"]).filter(|_| event["type"] == "response.output_text.delta");
        let found = places.into_iter().chain(delta).find_map(Value::as_str);
        found.map(str::to_owned)
    });
    texts.collect()
}

fn a_file() -> Scenario {
    Scenario::Writes {
        path: PathBuf::from("/project/made.txt"),
        content: "made\n".to_owned(),
    }
}

#[test]
fn file_is_written_with_the_agents_own_tool() {
    let server = ModelServer::start([a_file()]).unwrap();
    for (name, ask) in WIRES {
        let first = body(&post(&server, &ask(PROMPT, Streamed::No, Turn::First)));
        let (tool, input) = match name {
            "anthropic" => (&first["content"][1]["name"], first["content"][1]["input"].clone()),
            "chat" => {
                let function = &first["choices"][0]["message"]["tool_calls"][0]["function"];
                let arguments = function["arguments"].as_str().unwrap();
                (&function["name"], serde_json::from_str(arguments).unwrap())
            }
            "responses" => (&first["output"][1]["name"], first["output"][1]["input"].clone()),
            _ => {
                let call = &first["candidates"][0]["content"]["parts"][1]["functionCall"];
                (&call["name"], call["args"].clone())
            }
        };
        let file = "/project/made.txt";
        let expected = match name {
            "anthropic" => ("Write", json!({ "file_path": file, "content": "made\n" })),
            "chat" => (
                "write",
                json!({ "filePath": file, "content": "made\n", "why": "scripted" }),
            ),
            "responses" => (
                "apply_patch",
                json!("*** Begin Patch\n*** Add File: /project/made.txt\n+made\n*** End Patch\n"),
            ),
            _ => ("write_file", json!({ "file_path": file, "content": "made\n" })),
        };
        assert_eq!((tool.as_str().unwrap(), input), expected, "{name}");
        assert!(!first.to_string().contains("task-done"), "{name}: {first}");
        let streamed = post(&server, &ask(PROMPT, Streamed::Yes, Turn::First));
        assert!(
            streamed.contains("made.txt") && streamed.ends_with("0\r\n\r\n"),
            "{name}: {streamed}"
        );
        let last = post(&server, &ask(PROMPT, Streamed::Yes, Turn::AfterTool));
        assert!(streamed_text(&last).ends_with(&format!("{DONE}\n")), "{name}: {last}");
        assert!(
            name == "responses" || !last.contains(DONE),
            "{name}: a sigil comes in one piece: {last}"
        );
    }
}

#[test]
fn command_is_run_with_the_agents_own_shell() {
    let server = ModelServer::start([Scenario::Runs("touch a".to_owned())]).unwrap();
    for (name, ask) in WIRES {
        let first = post(&server, &ask(PROMPT, Streamed::No, Turn::First));
        assert!(first.contains("touch a"), "{name}: {first}");
        let last = post(&server, &ask(PROMPT, Streamed::No, Turn::AfterTool));
        assert!(
            last.contains("The command finished.") && !last.contains("t-0000a1"),
            "{name}: {last}"
        );
    }
}

#[test]
fn failures_use_the_format_of_each_service() {
    let failures = [
        (Failure::Unauthorized, "401 401 401 401"),
        (Failure::RateLimited, "429 429 429 429"),
        (
            Failure::UsageLimit {
                resets_at: 1_900_000_000,
            },
            "429 429 429 429",
        ),
        (Failure::ServerError, "500 500 500 500"),
        (Failure::ContextOverflow, "400 400 400 400"),
        (Failure::Billing, "400 402 402 402"),
    ];
    for (failure, statuses) in failures {
        let server = ModelServer::start([Scenario::Fails(failure)]).unwrap();
        for ((name, ask), status) in WIRES.into_iter().zip(statuses.split(' ')) {
            let answer = post(&server, &ask(PROMPT, Streamed::Yes, Turn::First));
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {answer}");
            assert!(body(&answer)["error"]["message"].is_string(), "{name}: {answer}");
            // Account-wide failures affect every request. A prompt that is too long also fails in a summary of it, but
            // not in an unrelated request.
            let (target, mut summary) = ask(PROMPT, Streamed::No, Turn::First);
            summary["tools"] = json!([]);
            let summary = post(&server, &(target, summary));
            assert!(summary.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {summary}");
            let title = post(&server, &ask("A title, please", Streamed::No, Turn::First));
            let expected = if failure == Failure::ContextOverflow {
                "200"
            } else {
                status
            };
            assert!(title.starts_with(&format!("HTTP/1.1 {expected} ")), "{name}: {title}");
        }
    }
    let server = ModelServer::start([Scenario::Fails(Failure::UsageLimit {
        resets_at: 1_900_000_000,
    })])
    .unwrap();
    for (_, ask) in &WIRES[..3] {
        assert!(post(&server, &ask(PROMPT, Streamed::Yes, Turn::First)).contains("1900000000"));
    }
}

#[test]
fn answers_can_end_in_every_other_way() {
    let ends = [
        (
            Scenario::RunsOutOfTokens,
            [
                "\"max_tokens\"",
                "\"length\"",
                "\"max_output_tokens\"",
                "\"MAX_TOKENS\"",
            ],
        ),
        (
            Scenario::Refuses,
            ["\"refusal\"", "\"content_filter\"", "\"output\":[]", "\"SAFETY\""],
        ),
        (
            Scenario::SaysNothing,
            ["\"content\":[]", "\"content\":\"\"", "\"output\":[]", "\"parts\":[]"],
        ),
    ];
    for (scenario, expected) in ends {
        let server = ModelServer::start([scenario]).unwrap();
        for ((name, ask), expected) in WIRES.into_iter().zip(expected) {
            for streamed in [Streamed::Yes, Streamed::No] {
                let answer = post(&server, &ask(PROMPT, streamed, Turn::First));
                assert!(answer.contains(expected), "{name}: {answer}");
            }
        }
    }
}

#[test]
fn cut_stream_has_no_end_and_hanging_stream_ends_with_server() {
    let server = ModelServer::start([Scenario::CutsOff]).unwrap();
    for (name, ask) in WIRES {
        let answer = post(&server, &ask(PROMPT, Streamed::Yes, Turn::First));
        assert!(streamed_text(&answer).contains("This sentence is"), "{name}: {answer}");
        assert!(!answer.contains("\r\n0\r\n"), "{name}: {answer}");
    }
    server.play([Scenario::Hangs]);
    let (target, asked) = anthropic(PROMPT, Streamed::Yes, Turn::First);
    let asked = asked.to_string();
    let mut stream = TcpStream::connect(server.url().trim_start_matches("http://")).unwrap();
    write!(
        stream,
        "POST {target} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{asked}",
        asked.len()
    )
    .unwrap();
    let mut begun = [0; 15];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200 OK");
    let address = server.url();
    drop(server);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("\r\n\r\n"), "{rest}");
    assert!(TcpStream::connect(address.trim_start_matches("http://")).is_err());
}

#[test]
fn each_prompt_gets_a_scenario_and_the_last_repeats() {
    let server = ModelServer::start([
        Scenario::Fails(Failure::ContextOverflow),
        Scenario::Says("It is {task}.".to_owned()),
    ])
    .unwrap();
    let ask = |prompt: &str| post(&server, &anthropic(prompt, Streamed::No, Turn::First));
    for _ in 0..2 {
        assert!(ask(PROMPT).starts_with("HTTP/1.1 400"));
    }
    assert!(ask(&format!("shorter\n{PROMPT}")).contains("It is t-0000a1."));
    assert!(ask(&format!("shortest\n{PROMPT}")).contains("It is t-0000a1."));
    assert!(ask(PROMPT).starts_with("HTTP/1.1 400"));
    server.play([Scenario::Says("Again.".to_owned())]);
    assert!(ask(PROMPT).contains("Again."));
}

#[test]
fn requests_without_a_task_get_a_plain_answer() {
    let server = ModelServer::start([Scenario::Hangs]).unwrap();
    for (name, ask) in WIRES {
        let answer = post(&server, &ask("hello é", Streamed::Yes, Turn::First));
        assert_eq!(streamed_text(&answer), ANSWER, "{name}: {answer}");
        // A title request contains the prompt but offers no tools.
        let (target, mut title) = ask(PROMPT, Streamed::Yes, Turn::First);
        title["tools"] = json!([]);
        assert_eq!(streamed_text(&post(&server, &(target, title))), ANSWER, "{name}");
    }
    let asked = server.take_requests();
    assert_eq!(asked.len(), 8);
    assert_eq!(asked[0].target, "/v1/messages?beta=true");
    assert!(asked[0].body.contains("hello é"));
    assert_eq!(server.take_requests(), []);
    let schema =
        json!({ "properties": { "next_speaker": { "enum": ["model", "user"] }, "reasoning": { "type": "STRING" } } });
    let (target, mut next) = gemini("who?", Streamed::No, Turn::First);
    next["generationConfig"] = json!({ "responseJsonSchema": schema });
    let text = body(&post(&server, &(target, next)))["candidates"][0]["content"]["parts"][0]["text"].clone();
    let said: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    assert_eq!(said, json!({ "next_speaker": "user", "reasoning": "scripted" }));
}

#[test]
fn lists_models_counts_tokens_and_reads_chunked_bodies() {
    let server = ModelServer::start([]).unwrap();
    let models = body(&raw(&server, "GET /v1/models HTTP/1.1\r\n\r\n"));
    assert_eq!(
        (&models["data"][0]["id"], &models["models"][0]["name"]),
        (&json!("scripted-model"), &json!("models/scripted-model"))
    );
    let count = |path: &str| {
        raw(
            &server,
            &format!("POST {path} HTTP/1.1\r\nContent-Length: 8\r\n\r\n12345678"),
        )
    };
    assert!(count("/v1/messages/count_tokens").ends_with("{\"input_tokens\":2}"));
    assert!(count("/v1beta/models/m:countTokens").ends_with("{\"totalTokens\":2}"));
    assert!(raw(&server, "GET /elsewhere HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(raw(&server, "HEAD / HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
    let chunked = "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"model\"\r\n4;x\r\n:\"m\"\r\n1\r\n}\r\n0\r\n\r\n";
    assert!(raw(&server, chunked).contains(ANSWER));
    assert_eq!(server.take_requests()[0].body, r#"{"model":"m"}"#);
}
