//! Interprets the records of a Codex turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_model::{Clock, Usage, first_line, preview};
use ralph_process::{Ended, ExitReason};
use serde_json::Value;

use super::errors::codex_error;
use super::events::{Envelope, Item, ToolUse};
use crate::command_words::words_of;
use crate::launch::{LineOutput, Listener, end_of_process};
use crate::lenient::read_record;
use crate::newest::{Newest, short};
use crate::{Denial, EndOfTurn, MessageLog, TurnEnd, TurnEvent};

const ABOUT_COLUMNS: usize = 200;
const GARBAGE_COLUMNS: usize = 200;
/// The longest part of an unknown error message that is kept.
const MESSAGE_COLUMNS: usize = 500;

/// The prefix of errors that Codex retries.
const RETRY_PREFIX: &str = "Reconnecting... ";

/// The state read from the records of a turn.
pub(crate) struct Records {
    clock: Arc<dyn Clock + Send + Sync>,
    session: Option<String>,
    /// The requested model.
    pub(super) model: Option<String>,
    messages: MessageLog,
    /// The ids of items already reported as tool calls.
    begun: Newest<(String, ())>,
    writes: Newest<PathBuf>,
    denials: Newest<Denial>,
    usage: Usage,
    /// The last error, unless the turn continued after it.
    error: Option<String>,
    last: Option<LastRecord>,
    /// The first line that is not a record.
    garbage: Option<String>,
}

enum LastRecord {
    Completed,
    Failed(String),
}

impl Records {
    pub(crate) fn new(clock: Arc<dyn Clock + Send + Sync>) -> Self {
        Self {
            clock,
            session: None,
            model: None,
            messages: MessageLog::default(),
            begun: Newest::default(),
            writes: Newest::default(),
            denials: Newest::default(),
            usage: Usage::default(),
            error: None,
            last: None,
            garbage: None,
        }
    }

    fn on_item(&mut self, item: &Item, is_over: bool) -> Vec<TurnEvent> {
        // Items of this type are warnings. All others show that the turn continues.
        if item.kind != "error" {
            self.error = None;
        }
        if item.kind == "agent_message" {
            return if is_over {
                self.on_message(item)
            } else {
                vec![TurnEvent::Alive]
            };
        }
        let Some(tool) = item.tool_use() else {
            return vec![TurnEvent::Alive];
        };
        if is_over {
            self.note_result(item, &tool);
        }
        // A background command may complete after the final message, so only its start separates messages.
        let id = short(&item.id);
        if self.begun.get(&id).is_some() {
            return vec![TurnEvent::Alive];
        }
        self.begun.push((id, ()));
        self.messages.tool();
        vec![TurnEvent::Tool {
            name: tool.name,
            about: about(&tool.about),
        }]
    }

    /// Not every tool call leaves a record, but the model continues only after one, so text before another message is
    /// not final.
    fn on_message(&mut self, item: &Item) -> Vec<TurnEvent> {
        self.messages.tool();
        self.messages.append(None, item.text.clone())
    }

    fn note_result(&mut self, item: &Item, tool: &ToolUse) {
        match item.status.as_str() {
            "completed" => item.paths().into_iter().for_each(|path| self.writes.push(path.into())),
            "declined" => self.denials.push(denial(item, tool)),
            _ => {}
        }
    }

    fn note_garbage(&mut self, line: &str) {
        if self.garbage.is_none() && !line.trim().is_empty() {
            self.garbage = Some(preview(line, GARBAGE_COLUMNS));
        }
    }

    fn end(&self, ended: &Ended) -> TurnEnd {
        let failed = |message: &str| {
            codex_error(message, self.clock.now()).unwrap_or_else(|| TurnEnd::Crash(described(message)))
        };
        // After the last record the turn is over, however the process ended.
        match (&self.last, &self.error) {
            (Some(LastRecord::Failed(message)), _) => return failed(message),
            // A turn that completes right after a service error has failed.
            (Some(LastRecord::Completed), Some(error)) => {
                return codex_error(error, self.clock.now()).unwrap_or(TurnEnd::Finished);
            }
            (Some(LastRecord::Completed), None) => return TurnEnd::Finished,
            (None, _) => {}
        }
        match ended.how {
            ExitReason::Stopped | ExitReason::TimedOut => return TurnEnd::Stopped,
            ExitReason::OutputLimit => return TurnEnd::OutputLimit,
            ExitReason::Exited(_) | ExitReason::Signalled(_) => {}
        }
        match (end_of_process(ended), &self.error, &self.garbage) {
            (_, Some(error), _) if matches!(ended.how, ExitReason::Exited(_)) => failed(error),
            (TurnEnd::Finished, _, Some(line)) => {
                TurnEnd::Garbage(format!("it printed a line that is not a record: {line}"))
            }
            (TurnEnd::Finished, _, None) => {
                TurnEnd::Garbage("it ended without turn.completed or turn.failed".to_owned())
            }
            (crash, ..) => crash,
        }
    }
}

impl Listener for Records {
    fn on_line(&mut self, line: &str) -> LineOutput {
        let Some(envelope) = read_record::<Envelope>(line) else {
            self.note_garbage(line);
            return vec![TurnEvent::Alive].into();
        };
        let event = match envelope.kind.as_str() {
            "thread.started" => {
                self.session = envelope.thread_id.as_deref().map(short);
                TurnEvent::Alive
            }
            kind @ ("item.started" | "item.updated" | "item.completed") => match &envelope.item {
                Some(item) => return self.on_item(item, kind == "item.completed").into(),
                None => TurnEvent::Alive,
            },
            "error" => {
                // A retry is a sign of life like any other.
                self.error = envelope.message.filter(|message| !message.starts_with(RETRY_PREFIX));
                TurnEvent::Alive
            }
            "turn.completed" => {
                self.last = Some(LastRecord::Completed);
                self.usage = envelope.usage.unwrap_or_default().into();
                TurnEvent::Used(self.usage)
            }
            "turn.failed" => {
                self.last = Some(LastRecord::Failed(envelope.error.unwrap_or_default().message));
                TurnEvent::Alive
            }
            _ => TurnEvent::Alive,
        };
        vec![event].into()
    }

    fn conclude(&mut self, ended: Ended) -> EndOfTurn {
        let (messages, before_last_tool, left_out) = self.messages.take();
        let mut denials: Vec<Denial> = Vec::new();
        for denial in std::mem::take(&mut self.denials) {
            if !denials.contains(&denial) {
                denials.push(denial);
            }
        }
        EndOfTurn {
            end: self.end(&ended),
            messages,
            before_last_tool,
            left_out,
            denials,
            usage: self.usage,
            session: self.session.take(),
            model: self.model.take(),
            writes: std::mem::take(&mut self.writes).into_iter().collect(),
            hint: None,
            stderr_tail: ended.stderr_tail,
            left_running: ended.left,
        }
    }
}

pub(crate) fn is_record(value: &Value) -> bool {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    matches!(
        kind,
        "thread.started" | "turn.started" | "item.started" | "item.completed" | "turn.completed" | "turn.failed"
    )
}

fn about(text: &str) -> String {
    preview(first_line(text), ABOUT_COLUMNS)
}

fn described(message: &str) -> String {
    if message.trim().is_empty() {
        "the turn failed without a message".to_owned()
    } else {
        preview(message, MESSAGE_COLUMNS)
    }
}

/// A denied call, with the line that permits it: a rule for a command, an additional folder for a file.
fn denial(item: &Item, tool: &ToolUse) -> Denial {
    let folder = || Path::new(&item.changes.first()?.path).parent();
    let permit = match words_of(&item.script()).as_slice() {
        [] => folder().map(|folder| format!("--add-dir {} in [agent] command", folder.display())),
        words => {
            let pattern = Value::from(words.to_vec());
            let rule = format!("prefix_rule(pattern = {pattern}, decision = \"allow\")");
            Some(format!("{rule} in ~/.codex/rules/default.rules"))
        }
    };
    Denial {
        tool: tool.name.clone(),
        about: about(&tool.about),
        permit,
    }
}
