//! A model on loopback that gives a short answer, after a tool call where it was told to make one, and keeps what it was
//! asked. It speaks as much of the Anthropic Messages API as Claude Code needs to carry on a conversation.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

/// What the model says.
pub(super) const ANSWER: &str = "The scripted model has read it.";

/// The longest header of a request.
const MAX_HEADER_BYTES: u64 = 64 << 10;
/// The longest body of a request.
const MAX_BODY_BYTES: u64 = 32 << 20;
/// How many conversations are kept.
const MAX_KEPT: usize = 1_000;
/// How long a peer may be silent in the middle of a request.
const SILENCE: Duration = Duration::from_secs(20);

/// A running server; it stops when this value is dropped.
#[derive(Debug)]
pub(super) struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stopping: AtomicBool,
    asked: Mutex<Vec<String>>,
    tool: Mutex<Option<Tool>>,
}

/// A call of a tool.
#[derive(Debug, Clone)]
struct Tool {
    name: String,
    input: Value,
}

/// What the model says next.
enum Answer {
    Text(String),
    Tool(Tool),
}

impl ModelServer {
    /// Starts it on a port that is free.
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let accepting = std::thread::Builder::new()
            .name("model".to_owned())
            .spawn(move || accept(&listener, &for_thread))?;
        Ok(Self {
            address,
            shared,
            accepting: Some(accepting),
        })
    }

    /// Where it is to be asked.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on, conversations about a task begin with this call of a tool, and end by saying that the task is done.
    pub(super) fn use_tool(&self, name: &str, input: Value) {
        let mut tool = self.shared.tool.lock().unwrap_or_else(PoisonError::into_inner);
        let name = name.to_owned();
        *tool = Some(Tool { name, input });
    }

    /// The bodies of the conversations since this was last called, in their order.
    pub(super) fn take_asked(&self) -> Vec<String> {
        let mut asked = self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *asked)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // The thread waits for somebody to come; this is somebody.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

/// Serves everybody who comes, each on a thread of its own and with one answer; all of them end before this does.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut serving: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let for_thread = Arc::clone(shared);
        let started = std::thread::Builder::new().spawn(move || {
            // A peer that goes away in the middle has its reasons.
            drop(serve(&stream, &for_thread));
        });
        serving.retain(|thread| !thread.is_finished());
        serving.extend(started);
    }
    for thread in serving {
        drop(thread.join());
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let mut reader = BufReader::new(stream);
    let Some(request) = Request::read(&mut reader)? else {
        return Ok(());
    };
    let path = request.target.split('?').next().unwrap_or_default();
    let (status, kind, body) = match (request.method.as_str(), path) {
        ("POST", "/v1/messages") => {
            let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
            let answer = answer_to(&request.body, shared);
            keep(shared, request.body);
            if body["stream"] == true {
                ("200 OK", "text/event-stream", streamed(&body["model"], &answer))
            } else {
                let whole = message(&body["model"], Some(&answer));
                ("200 OK", "application/json", whole.to_string())
            }
        }
        ("POST", "/v1/messages/count_tokens") => {
            let tokens = json!({ "input_tokens": request.body.len() / 4 });
            ("200 OK", "application/json", tokens.to_string())
        }
        ("GET" | "HEAD", "/") => ("200 OK", "application/json", "{}".to_owned()),
        _ => {
            let error = json!({ "type": "error", "error": { "type": "not_found_error", "message": "not scripted" } });
            ("404 Not Found", "application/json", error.to_string())
        }
    };
    let length = body.len();
    let body = if request.method == "HEAD" { "" } else { &body };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}

fn keep(shared: &Shared, body: String) {
    let mut asked = shared.asked.lock().unwrap_or_else(PoisonError::into_inner);
    if asked.len() < MAX_KEPT {
        asked.push(body);
    }
}

/// A request over HTTP.
struct Request {
    method: String,
    target: String,
    body: String,
}

impl Request {
    /// Reads one; none when the peer says nothing.
    fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let too_long = || io::Error::new(io::ErrorKind::InvalidData, "the request is too long");
        let mut header = reader.take(MAX_HEADER_BYTES);
        let mut first = String::new();
        header.read_line(&mut first)?;
        let mut words = first.split_whitespace().map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Ok(None);
        };
        let mut length = 0;
        loop {
            let mut line = String::new();
            if header.read_line(&mut line)? == 0 {
                return Err(too_long());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        if length > MAX_BODY_BYTES {
            return Err(too_long());
        }
        let mut body = Vec::new();
        reader.take(length).read_to_end(&mut body)?;
        Ok(Some(Self {
            method,
            target,
            body: String::from_utf8_lossy(&body).into_owned(),
        }))
    }
}

/// The same to everybody, but for a conversation about a task where a tool is to be used.
fn answer_to(body: &str, shared: &Shared) -> Answer {
    let tool = shared.tool.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (Some(tool), Some(task)) = (tool, assigned_task(body)) else {
        return Answer::Text(ANSWER.to_owned());
    };
    if body.contains("\"tool_result\"") {
        Answer::Text(format!("{ANSWER} <task-done>{task}</task-done>"))
    } else {
        Answer::Tool(tool)
    }
}

/// The id of the task that a prompt assigns, from its JSON.
fn assigned_task(body: &str) -> Option<&str> {
    let (_, assigned) = body.split_once("## Assigned Task")?;
    let (_, from_id) = assigned.split_once("(t-")?;
    let (digits, _) = from_id.split_once(')')?;
    let end = body.len() - from_id.len() + digits.len();
    body.get(end - digits.len() - "t-".len()..end)
}

/// Whether a block holds what it is about; in a stream it begins without.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    Yes,
    NotYet,
}

impl Answer {
    /// It as a block of a message.
    fn block(&self, filled: Filled) -> Value {
        match self {
            Self::Text(text) => json!({ "type": "text", "text": if filled == Filled::Yes { text } else { "" } }),
            Self::Tool(Tool { name, input }) => {
                let input = if filled == Filled::Yes {
                    input.clone()
                } else {
                    json!({})
                };
                json!({ "type": "tool_use", "id": "toolu_scripted", "name": name, "input": input })
            }
        }
    }

    fn delta(&self) -> Value {
        match self {
            Self::Text(text) => json!({ "type": "text_delta", "text": text }),
            Self::Tool(tool) => json!({ "type": "input_json_delta", "partial_json": tool.input.to_string() }),
        }
    }

    fn stop_reason(&self) -> &'static str {
        match self {
            Self::Text(_) => "end_turn",
            Self::Tool(_) => "tool_use",
        }
    }
}

/// The answer as one message; one that is still being written has nothing in it yet, and no reason to stop.
fn message(model: &Value, answer: Option<&Answer>) -> Value {
    json!({
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": answer.map_or_else(|| json!([]), |answer| json!([answer.block(Filled::Yes)])),
        "stop_reason": answer.map(Answer::stop_reason),
        "stop_sequence": null,
        "usage": { "input_tokens": 100, "output_tokens": 10 }
    })
}

/// The answer as a stream of events.
fn streamed(model: &Value, answer: &Answer) -> String {
    let events = [
        json!({ "type": "message_start", "message": message(model, None) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": answer.block(Filled::NotYet) }),
        json!({ "type": "content_block_delta", "index": 0, "delta": answer.delta() }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta",
            "delta": { "stop_reason": answer.stop_reason(), "stop_sequence": null },
            "usage": { "output_tokens": 10 }
        }),
        json!({ "type": "message_stop" }),
    ];
    let event = |event: &Value| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap_or_default()
        )
    };
    events.iter().map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(server: &ModelServer, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn it_answers_keeps_what_it_was_asked_and_stops() {
        let server = ModelServer::start().unwrap();
        let body = r#"{"model": "m", "stream": true, "messages": "é"}"#;
        let post = |target: &str| format!("POST {target} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let answer = ask(&server, &post("/v1/messages?beta=true"));
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(
            answer.contains(ANSWER) && answer.ends_with("data: {\"type\":\"message_stop\"}\n\n"),
            "{answer}"
        );
        assert!(ask(&server, &post("/v1/messages/count_tokens")).ends_with("{\"input_tokens\":12}"));
        assert!(ask(&server, "GET /elsewhere HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(&server, "HEAD / HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
        assert_eq!(server.take_asked(), [body]);
        assert_eq!(server.take_asked(), [""; 0]);
        server.use_tool("Write", json!({ "path": "a" }));
        let about_a_task = r###"{"content": "## Assigned Task\\n\\n**x** (t-0000a1)"}"###;
        let ask_for = |body: &str| {
            let length = body.len();
            ask(
                &server,
                &format!("POST /v1/messages HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}"),
            )
        };
        assert!(ask_for(about_a_task).contains("\"stop_reason\":\"tool_use\""));
        let later = format!("{about_a_task} {{\"type\": \"tool_result\"}}");
        assert!(ask_for(&later).contains("<task-done>t-0000a1</task-done>"));
        let address = server.address;
        drop(server);
        assert!(TcpStream::connect(address).is_err());
    }
}
