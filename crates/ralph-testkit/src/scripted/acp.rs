//! The scripted agent over ACP: answers requests, streams session updates and asks for permissions. It reads its input
//! in a thread, so it can be cancelled or disconnected at any time.

use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::Script;
use super::perform::end_with;
use super::speech::{MODEL, SESSION, print_record};

pub(super) struct Client {
    messages: Receiver<Value>,
    /// The id of the prompt request, once there is one.
    prompt: Arc<Mutex<Value>>,
    /// Whether cancellation and the end of input are ignored.
    ignores_cancel: Arc<AtomicBool>,
    asked: u64,
    said: u64,
}

impl Client {
    pub(super) fn new() -> Self {
        let (sender, messages) = channel();
        let prompt = Arc::new(Mutex::new(Value::Null));
        let ignores_cancel = Arc::new(AtomicBool::new(false));
        let (asked, deaf) = (Arc::clone(&prompt), Arc::clone(&ignores_cancel));
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                let message: Value = serde_json::from_str(&line).unwrap();
                if message["method"] == "session/cancel" {
                    if !deaf.load(Ordering::SeqCst) {
                        let id = asked.lock().unwrap().clone();
                        print_record(&json!({"jsonrpc": "2.0", "id": id, "result": {"stopReason": "cancelled"}}));
                    }
                } else if sender.send(message).is_err() {
                    break;
                }
            }
            if !deaf.load(Ordering::SeqCst) {
                end_with(0);
            }
        });
        Self {
            messages,
            prompt,
            ignores_cancel,
            asked: 0,
            said: 0,
        }
    }

    /// Answers requests until the prompt arrives, and returns it.
    pub(super) fn prompt(&mut self, script: &Script) -> String {
        loop {
            let message = self.next();
            let id = message["id"].clone();
            match message["method"].as_str().unwrap_or_default() {
                "initialize" => answer(
                    &id,
                    &json!({
                        "protocolVersion": 1, "agentCapabilities": {"loadSession": false},
                        "agentInfo": {"name": "scripted-agent", "version": "1.0.0"},
                        "authMethods": [{"id": "key", "name": "A key", "description": "Set SCRIPTED_KEY"}],
                    }),
                ),
                "session/new" => match &script.session {
                    Some(Err(error)) => print_record(&json!({
                        "jsonrpc": "2.0", "id": id, "error": serde_json::from_str::<Value>(error).unwrap(),
                    })),
                    Some(Ok(offered)) => {
                        let mut result: Value = serde_json::from_str(offered).unwrap();
                        result["sessionId"] = SESSION.into();
                        answer(&id, &result);
                    }
                    None => answer(&id, &json!({"sessionId": SESSION})),
                },
                "session/prompt" => {
                    *self.prompt.lock().unwrap() = id;
                    let text = &message["params"]["prompt"][0]["text"];
                    return text.as_str().unwrap().to_owned();
                }
                _ => answer(&id, &json!({})),
            }
        }
    }

    /// The id of the prompt request, as JSON.
    pub(super) fn prompt_number(&self) -> String {
        self.prompt.lock().unwrap().to_string()
    }

    pub(super) fn ignore_cancel(&self) {
        self.ignores_cancel.store(true, Ordering::SeqCst);
    }

    /// Says a text in this many updates.
    pub(super) fn say(&mut self, text: &str, chunks: usize) {
        self.said += 1;
        let chars: Vec<char> = text.chars().collect();
        for chunk in chars.chunks(chars.len().div_ceil(chunks.max(1)).max(1)) {
            let text: String = chunk.iter().collect();
            update(&json!({
                "sessionUpdate": "agent_message_chunk", "messageId": format!("m-{}", self.said),
                "content": {"type": "text", "text": text},
            }));
        }
    }

    /// Sends a request and returns the answer.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = format!("q-{}", self.asked);
        print_record(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.next();
            if message["id"] == id.as_str() && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Asks for permission to use a tool. For an edit, the title ends with the file; for an execution, it is the
    /// command.
    pub(super) fn request_permission(&mut self, kind: &str, title: &str) -> bool {
        let mut call = json!({"toolCallId": format!("asked-{}", self.asked), "kind": kind, "title": title});
        if let ("edit", Some((_, file))) = (kind, title.rsplit_once(' ')) {
            call["locations"] = json!([{ "path": file }]);
        }
        if kind == "execute" {
            call["rawInput"] = json!({ "command": title });
        }
        let options = json!([
            {"optionId": "yes-always", "name": "Always", "kind": "allow_always"},
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]);
        let params = json!({"sessionId": SESSION, "toolCall": call, "options": options});
        let answer = self.ask("session/request_permission", &params);
        answer["result"]["outcome"]["optionId"] == "yes"
    }

    /// Ends a successful turn.
    pub(super) fn end(&self) {
        let id = self.prompt.lock().unwrap().clone();
        let usage = json!({"inputTokens": 10, "outputTokens": 20, "cachedReadTokens": 300, "totalTokens": 330});
        answer(
            &id,
            &json!({"stopReason": "end_turn", "usage": usage, "_meta": {"model": MODEL}}),
        );
    }

    /// Waits until the client disconnects.
    pub(super) fn wait_to_be_stopped(&self) -> ! {
        loop {
            std::thread::park();
        }
    }

    fn next(&self) -> Value {
        match self.messages.recv() {
            Ok(message) => message,
            // The reader thread ends the program.
            Err(_) => self.wait_to_be_stopped(),
        }
    }
}

pub(super) fn update(update: &Value) {
    let params = json!({"sessionId": SESSION, "update": update});
    print_record(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}

pub(super) fn begin_tool(id: &str, name: &str, input: &Value) {
    let (kind, title) = match name {
        "Write" => ("edit", &input["file_path"]),
        _ => ("execute", &input["command"]),
    };
    let locations: Vec<Value> = [&input["file_path"]]
        .into_iter()
        .filter(|path| path.is_string())
        .map(|path| json!({ "path": path }))
        .collect();
    update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "status": "in_progress",
        "locations": locations, "rawInput": input,
    }));
}

pub(super) fn end_tool(id: &str, output: &str) {
    let content = json!([{"type": "content", "content": {"type": "text", "text": output}}]);
    update(&json!({
        "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "content": content,
    }));
}

fn answer(id: &Value, result: &Value) {
    print_record(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}
