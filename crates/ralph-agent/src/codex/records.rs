//! What the records of a turn of Codex mean.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_model::{Clock, Usage, first_line, preview};
use ralph_process::{Ended, HowEnded};
use serde_json::Value;

use super::errors::codex_error;
use super::events::{Envelope, Item, ToolUse};
use crate::command_words::words_of;
use crate::launch::{Heard, Listener, end_of_process};
use crate::lenient::read_record;
use crate::newest::{Newest, short};
use crate::{Denial, EndOfTurn, Said, TurnEnd, TurnEvent};

/// How much of what a tool is about is told.
const ABOUT_COLUMNS: usize = 200;
/// How much of output that is no record is told.
const GARBAGE_COLUMNS: usize = 200;
/// How much of an error is kept that no form fits.
const MESSAGE_COLUMNS: usize = 500;

/// How an error begins that it is about to get over.
const TRIES_AGAIN: &str = "Reconnecting... ";

/// What the records of a turn have said so far.
pub(crate) struct Records {
    clock: Arc<dyn Clock + Send + Sync>,
    session: Option<String>,
    /// The model that was asked for.
    pub(super) model: Option<String>,
    said: Said,
    /// The items that have been told as uses of tools, by their ids.
    begun: Newest<(String, ())>,
    writes: Newest<PathBuf>,
    denials: Newest<Denial>,
    usage: Usage,
    /// The error that came last, if nothing came after it that says that the turn goes on.
    error: Option<String>,
    last: Option<LastRecord>,
    /// The first line that is no record.
    garbage: Option<String>,
}

/// The record that ended the turn.
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
            said: Said::default(),
            begun: Newest::default(),
            writes: Newest::default(),
            denials: Newest::default(),
            usage: Usage::default(),
            error: None,
            last: None,
            garbage: None,
        }
    }

    fn hear_item(&mut self, item: &Item, is_over: bool) -> Vec<TurnEvent> {
        // An item of this type is a warning. All others show that the turn goes on.
        if item.kind != "error" {
            self.error = None;
        }
        if item.kind == "agent_message" {
            return if is_over {
                self.hear_message(item)
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
        // A command that goes on in the background may be over when the last word has been said long since: only its
        // beginning stands between texts.
        let id = short(&item.id);
        if self.begun.get(&id).is_some() {
            return vec![TurnEvent::Alive];
        }
        self.begun.push((id, ()));
        self.said.tool();
        vec![TurnEvent::Tool {
            name: tool.name,
            about: about(&tool.about),
        }]
    }

    /// Not every call of a tool leaves a record. But the model goes on only after one, so whatever it said before another
    /// message was not its last word.
    fn hear_message(&mut self, item: &Item) -> Vec<TurnEvent> {
        self.said.tool();
        self.said.tell(None, item.text.clone())
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
        // Whatever made the process end after its last record, the turn was over.
        match (&self.last, &self.error) {
            (Some(LastRecord::Failed(message)), _) => return failed(message),
            // A turn that ends well right after an error of the service did not.
            (Some(LastRecord::Completed), Some(error)) => {
                return codex_error(error, self.clock.now()).unwrap_or(TurnEnd::Finished);
            }
            (Some(LastRecord::Completed), None) => return TurnEnd::Finished,
            (None, _) => {}
        }
        match ended.how {
            HowEnded::Stopped | HowEnded::TimedOut => return TurnEnd::Stopped,
            HowEnded::OutputLimit => return TurnEnd::OutputLimit,
            HowEnded::Exited(_) | HowEnded::Signalled(_) => {}
        }
        match (end_of_process(ended), &self.error, &self.garbage) {
            (_, Some(error), _) if matches!(ended.how, HowEnded::Exited(_)) => failed(error),
            (TurnEnd::Finished, _, Some(line)) => TurnEnd::Garbage(format!("it printed what is no record: {line}")),
            (TurnEnd::Finished, _, None) => {
                TurnEnd::Garbage("it ended without turn.completed or turn.failed".to_owned())
            }
            (crash, ..) => crash,
        }
    }
}

impl Listener for Records {
    fn hear(&mut self, line: &str) -> Heard {
        let Some(envelope) = read_record::<Envelope>(line) else {
            self.note_garbage(line);
            return vec![TurnEvent::Alive].into();
        };
        let told = match envelope.kind.as_str() {
            "thread.started" => {
                self.session = envelope.thread_id.as_deref().map(short);
                TurnEvent::Alive
            }
            kind @ ("item.started" | "item.updated" | "item.completed") => match &envelope.item {
                Some(item) => return self.hear_item(item, kind == "item.completed").into(),
                None => TurnEvent::Alive,
            },
            "error" => {
                // That it tries again is a sign of life like any other.
                self.error = envelope.message.filter(|message| !message.starts_with(TRIES_AGAIN));
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
        vec![told].into()
    }

    fn conclude(&mut self, ended: Ended) -> EndOfTurn {
        let (messages, before_last_tool, left_out) = self.said.take();
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

/// Whether something is a record of a turn.
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
        "the turn failed, and it does not say why".to_owned()
    } else {
        preview(message, MESSAGE_COLUMNS)
    }
}

/// A tool that was not permitted, and the line that permits it: a rule of its own for a command, a folder more for a file.
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
