//! The scripted agent's output: plain text, claude's or codex's records, or ACP.

use std::io::Write;

use serde_json::{Value, json};

use super::Dialect;
use super::acp::{self, Client};

/// The model name that the agent reports.
pub(super) const MODEL: &str = "scripted-model";
pub(super) const SESSION: &str = "11111111-2222-3333-4444-555555555555";

/// The output of one turn.
pub(super) struct Speech {
    dialect: Dialect,
    /// The ACP client, if any.
    client: Option<Client>,
    calls: usize,
    items: usize,
    last_text: String,
    has_result: bool,
}

impl Speech {
    pub(super) fn begin(dialect: Dialect, client: Option<Client>) -> Self {
        let speech = Self {
            dialect,
            client,
            calls: 0,
            items: 0,
            last_text: String::new(),
            has_result: false,
        };
        match dialect {
            Dialect::Plain | Dialect::Acp => {}
            Dialect::Claude => print_record(&json!({
                "type": "system", "subtype": "init", "session_id": SESSION, "model": MODEL,
                "tools": ["Bash", "Write"], "mcp_servers": [], "permissionMode": "acceptEdits",
            })),
            Dialect::Codex => {
                print_record(&json!({"type": "thread.started", "thread_id": SESSION}));
                let warning = json!({"id": "item_0", "type": "error", "message": "a warning, as codex prints"});
                print_record(&json!({"type": "item.completed", "item": warning}));
                print_record(&json!({"type": "turn.started"}));
            }
        }
        speech
    }

    /// The ACP client.
    pub(super) fn client(&mut self) -> &mut Client {
        self.client.as_mut().expect("only an agent that speaks ACP can ask")
    }

    /// Says a text in this many pieces.
    pub(super) fn say(&mut self, text: &str, chunks: usize) {
        match self.dialect {
            Dialect::Acp => self.client().say(text, chunks),
            Dialect::Plain => print_in_chunks(format!("{text}\n").as_bytes(), chunks),
            Dialect::Claude => {
                text.clone_into(&mut self.last_text);
                let record = message(&json!({"type": "text", "text": text}));
                print_in_chunks(format!("{record}\n").as_bytes(), chunks);
            }
            Dialect::Codex => {
                let item = json!({"id": self.next_item(), "type": "agent_message", "text": text});
                let record = json!({"type": "item.completed", "item": item});
                print_in_chunks(format!("{record}\n").as_bytes(), chunks);
            }
        }
    }

    fn next_item(&mut self) -> String {
        self.items += 1;
        format!("item_{}", self.items)
    }

    pub(super) fn think(&mut self, text: &str) {
        match self.dialect {
            Dialect::Plain => {}
            Dialect::Acp => {
                acp::update(
                    &json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}}),
                );
            }
            Dialect::Claude => print_record(&message(
                &json!({"type": "thinking", "thinking": text, "signature": "x"}),
            )),
            Dialect::Codex => {
                let item = json!({"id": self.next_item(), "type": "reasoning", "text": text});
                print_record(&json!({"type": "item.completed", "item": item}));
            }
        }
    }

    pub(super) fn use_tool(&mut self, name: &str, input: &Value, work: impl FnOnce() -> String) {
        self.calls += 1;
        let id = format!("toolu_{:02}", self.calls);
        match self.dialect {
            Dialect::Plain => drop(work()),
            Dialect::Acp => {
                acp::begin_tool(&id, name, input);
                acp::end_tool(&id, &work());
            }
            Dialect::Claude => {
                print_record(&message(
                    &json!({"type": "tool_use", "id": id, "name": name, "input": input}),
                ));
                let output = work();
                print_record(&json!({
                    "type": "user", "session_id": SESSION, "parent_tool_use_id": null,
                    "message": {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": false},
                    ]},
                }));
            }
            Dialect::Codex => {
                let mut item = codex_item(&self.next_item(), input);
                print_record(&json!({"type": "item.started", "item": item}));
                let output = work();
                item["status"] = json!("completed");
                if item["type"] == "command_execution" {
                    item["aggregated_output"] = json!(output);
                    item["exit_code"] = json!(0);
                }
                print_record(&json!({"type": "item.completed", "item": item}));
            }
        }
    }

    /// Prints a line verbatim.
    pub(super) fn raw(&mut self, line: &str) {
        let number = self.client.as_ref().map(Client::prompt_number).unwrap_or_default();
        let line = line.replace("{request}", &number);
        let record = serde_json::from_str::<Value>(&line).unwrap_or_default();
        let is_answer = record.get("result").is_some() || record.get("error").is_some();
        let kind = record.get("type").and_then(Value::as_str).unwrap_or_default();
        self.has_result |= match self.dialect {
            Dialect::Acp => is_answer && record.get("method").is_none(),
            _ => matches!(kind, "result" | "turn.completed" | "turn.failed"),
        };
        print_in_chunks(format!("{line}\n").as_bytes(), 1);
    }

    /// Ends a successful turn.
    pub(super) fn end(&self) {
        if let Some(client) = &self.client {
            if !self.has_result {
                client.end();
            }
            client.wait_to_be_stopped();
        }
        if self.has_result {
            return;
        }
        match self.dialect {
            Dialect::Plain | Dialect::Acp => {}
            // As in claude's real output, `type` is not the first key.
            Dialect::Claude => print_record(&json!({
                "subtype": "success", "is_error": false, "api_error_status": null, "duration_ms": 1200,
                "type": "result", "num_turns": self.calls + 1, "result": self.last_text, "stop_reason": "end_turn",
                "terminal_reason": "completed", "session_id": SESSION, "total_cost_usd": 0.25,
                "usage": {"input_tokens": 10, "output_tokens": 20},
                "modelUsage": {MODEL: {
                    "inputTokens": 10, "outputTokens": 20, "cacheReadInputTokens": 300,
                    "cacheCreationInputTokens": 40, "costUSD": 0.25, "contextWindow": 200_000,
                }},
                "permission_denials": [], "errors": [],
            })),
            Dialect::Codex => print_record(&json!({"type": "turn.completed", "usage": {
                "input_tokens": 350, "cached_input_tokens": 300, "cache_write_input_tokens": 0,
                "output_tokens": 20, "reasoning_output_tokens": 0,
            }})),
        }
    }
}

fn message(block: &Value) -> Value {
    json!({
        "type": "assistant", "session_id": SESSION, "parent_tool_use_id": null,
        "message": {"role": "assistant", "model": MODEL, "content": [block], "stop_reason": null},
    })
}

/// A tool call as codex reports it: a file change or a shell command.
fn codex_item(id: &str, input: &Value) -> Value {
    match (input.get("file_path"), input.get("command").and_then(Value::as_str)) {
        (Some(path), _) => json!({
            "id": id, "type": "file_change", "changes": [{"path": path, "kind": "add"}], "status": "in_progress",
        }),
        (None, command) => json!({
            "id": id, "type": "command_execution", "status": "in_progress", "aggregated_output": "", "exit_code": null,
            "command": format!("/bin/bash -lc '{}'", command.unwrap_or_default().replace('\'', r"'\''")),
        }),
    }
}

pub(super) fn print_record(record: &Value) {
    print_in_chunks(format!("{record}\n").as_bytes(), 1);
}

/// Prints bytes in this many writes.
pub(super) fn print_in_chunks(bytes: &[u8], chunks: usize) {
    let size = bytes.len().div_ceil(chunks.max(1)).max(1);
    let mut out = std::io::stdout().lock();
    for chunk in bytes.chunks(size) {
        // A closed pipe does not stop the agent: real ones also continue until they are stopped.
        let _written: bool = out.write_all(chunk).and_then(|()| out.flush()).is_ok();
    }
}
