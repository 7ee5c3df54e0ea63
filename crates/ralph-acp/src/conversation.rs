//! The ACP conversation of one turn as a pure state machine: initialize, session, model and mode, prompt, updates,
//! result. It does no I/O: it takes lines and returns replies.

mod opening;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_agent::{Access, Denial, EndOfTurn, LineOutput, Listener, MessageLog, TurnEnd, TurnEvent, end_of_process};
use ralph_model::{Clock, Usage, preview};
use ralph_process::{AfterReply, Ended, ExitReason, StdinReply};
use serde_json::Value;

use crate::ends;
use crate::permission::{self, Verdict};
use crate::schema::{self, CLIENT_METHOD_NAMES, Choice, StopReason};
use crate::tools::Calls;
use crate::usage;
use crate::wire::{self, Message, RpcError};

const GARBAGE_COLUMNS: usize = 200;
/// The prefix of warnings that codex-acp inserts into the model's text.
const WARNING: &str = "Warning: ";
/// The longest text chunk that is checked for an error message, in bytes.
const MAX_CHUNK: usize = 64 << 10;
const MAX_DENIALS: usize = 256;

/// What is requested of an agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionOptions {
    /// The program; empty if unknown.
    pub(crate) program: &'static str,
    /// The prompt; without one, the conversation ends once there is a session.
    pub(crate) prompt: Option<String>,
    /// The working folder and its other names.
    pub(crate) folders: Vec<PathBuf>,
    /// Other folders that its commands must be able to write to.
    pub(crate) also_writable: Vec<PathBuf>,
    /// The commands that it may run, besides ralph's own.
    pub(crate) allowed_commands: Vec<String>,
    /// Whether its permission requests have the command only in the title of the call.
    pub(crate) titles_are_commands: bool,
    /// The model to choose in the session; `None` leaves it to the agent.
    pub(crate) model: Option<String>,
    /// The model named in its arguments.
    pub(crate) model_in_words: Option<String>,
    /// The modes for the permissions, best first. An agent that offers none of them stays in its own.
    pub(crate) modes: &'static [&'static str],
    /// The modes in which it would not ask, and which are therefore not acceptable.
    pub(crate) forbidden_modes: &'static [&'static str],
    /// The tools to disable with the session.
    pub(crate) disabled_tools: &'static [&'static str],
    /// What it may do without asking.
    pub(crate) access: Access,
}

/// What an agent reports about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Introduction {
    /// Its name and version.
    pub(crate) agent: Option<(String, String)>,
    /// Its protocol version.
    pub(crate) protocol: Option<u16>,
    /// The login methods.
    pub(crate) logins: Vec<String>,
    pub(crate) models: Option<Choice>,
    pub(crate) modes: Option<Choice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// `initialize` was sent.
    Initializing,
    /// `session/new` was sent.
    OpeningSession,
    /// The model or mode was requested.
    Setting(Setting),
    Working,
    /// The turn has ended or failed.
    Over,
    /// The conversation is replayed from a transcript; replies are not sent.
    Replaying,
}

/// A session setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    Model,
    Mode,
}

/// How the turn ended, as far as known.
enum Outcome {
    Known(TurnEnd),
    /// It completed. For codex it matters whether usage was reported.
    Ended(StopReason, usage::UsageReport),
}

pub(crate) struct Conversation {
    options: SessionOptions,
    clock: Arc<dyn Clock + Send + Sync>,
    stage: Stage,
    /// The id of the pending request.
    awaited: u64,
    pending_settings: VecDeque<(Setting, String)>,
    introduction: Introduction,
    session: Option<String>,
    model: Option<String>,
    messages: MessageLog,
    /// The last text chunk; empty if it is too long.
    last_chunk: String,
    /// Whether the model has produced anything.
    has_begun: bool,
    calls: Calls,
    denials: Vec<Denial>,
    usage: Usage,
    outcome: Option<Outcome>,
    /// Whether any valid message has arrived.
    was_understood: bool,
    /// The first line that is not a message.
    garbage: Option<String>,
}

impl Conversation {
    /// A new conversation, and its first request.
    pub(crate) fn new(options: SessionOptions, clock: Arc<dyn Clock + Send + Sync>) -> (Self, Vec<u8>) {
        let conversation = Self::at(Stage::Initializing, options, clock);
        let first = schema::initialize(conversation.awaited);
        (conversation, first)
    }

    /// A conversation to replay from a transcript.
    pub(crate) fn for_replay(clock: Arc<dyn Clock + Send + Sync>) -> Self {
        Self::at(Stage::Replaying, SessionOptions::default(), clock)
    }

    fn at(stage: Stage, options: SessionOptions, clock: Arc<dyn Clock + Send + Sync>) -> Self {
        Self {
            model: options.model_in_words.clone(),
            options,
            clock,
            stage,
            awaited: 0,
            pending_settings: VecDeque::new(),
            introduction: Introduction::default(),
            session: None,
            messages: MessageLog::default(),
            last_chunk: String::new(),
            has_begun: false,
            calls: Calls::default(),
            denials: Vec::new(),
            usage: Usage::default(),
            outcome: None,
            was_understood: false,
            garbage: None,
        }
    }

    pub(crate) fn introduction(&self) -> &Introduction {
        &self.introduction
    }

    /// Sends the next request.
    fn ask(&mut self, stage: Stage, request: impl FnOnce(u64) -> Vec<u8>) -> StdinReply {
        self.stage = stage;
        self.awaited += 1;
        StdinReply {
            write: request(self.awaited),
            ..StdinReply::default()
        }
    }

    /// Ends the conversation.
    fn hang_up(&mut self, outcome: Outcome) -> StdinReply {
        self.stage = Stage::Over;
        self.outcome = Some(outcome);
        StdinReply {
            cancel_message: Some(Vec::new()),
            then: AfterReply::HangUp,
            ..StdinReply::default()
        }
    }

    fn fail(&mut self, end: TurnEnd) -> StdinReply {
        self.hang_up(Outcome::Known(end))
    }

    fn on_response(&mut self, id: u64, outcome: Result<Value, RpcError>) -> LineOutput {
        if self.stage == Stage::Replaying {
            return self.remember(&outcome.unwrap_or_default());
        }
        if id != self.awaited || self.stage == Stage::Over {
            return alive();
        }
        match (self.stage, outcome) {
            (Stage::Working, Ok(result)) => return self.on_end(&result),
            (Stage::Initializing, Ok(result)) => self.on_initialized(&result),
            (Stage::OpeningSession, Ok(result)) => self.on_session(&result),
            (Stage::Setting(setting), outcome) => self.on_setting(setting, outcome.err().as_ref()),
            (stage, Err(error)) => self.on_error(stage, &error),
            (Stage::Over | Stage::Replaying, Ok(_)) => return alive(),
        }
        .into_output()
    }

    fn on_error(&mut self, stage: Stage, error: &RpcError) -> StdinReply {
        let message = ends::describe(error);
        let end = ends::of_error(error, self.clock.now()).unwrap_or_else(|| {
            TurnEnd::Crash(match stage {
                Stage::Initializing => format!("ACP initialization failed: {message}"),
                Stage::OpeningSession => format!("it did not open a session: {message}"),
                _ => message,
            })
        });
        // Some agents send the error twice: first as text of the model, then as an error.
        if ends::contains_text(error, self.last_chunk.trim()) {
            self.messages.retract(&self.last_chunk);
        }
        self.fail(end)
    }

    fn on_end(&mut self, result: &Value) -> LineOutput {
        let report = self.on_usage(result);
        let reason = result.get("stopReason").unwrap_or(&Value::Null);
        let outcome = match schema::read(reason) {
            Some(reason) => Outcome::Ended(reason, report),
            // Whether it succeeded is unknown.
            None => Outcome::Known(TurnEnd::Garbage(format!(
                "it ended its turn with an unknown stop reason: {}",
                preview(&reason.to_string(), GARBAGE_COLUMNS)
            ))),
        };
        LineOutput {
            reply: self.hang_up(outcome),
            events: vec![TurnEvent::Used(self.usage)],
        }
    }

    fn on_usage(&mut self, result: &Value) -> usage::UsageReport {
        let report = usage::of_answer(result, &mut self.usage);
        if let Some(model) = usage::model_of_answer(result) {
            self.model = Some(model.to_owned());
        }
        report
    }

    /// Handles a response during replay, when the requests are unknown.
    fn remember(&mut self, result: &Value) -> LineOutput {
        if result.get("protocolVersion").is_some() {
            self.introduce(result);
        } else if let Some(session) = result.get("sessionId").and_then(Value::as_str) {
            self.session = Some(session.to_owned());
        } else if result.get("stopReason").is_some() {
            let report = self.on_usage(result);
            let reason = result.get("stopReason").and_then(schema::read);
            self.outcome = Some(Outcome::Ended(reason.unwrap_or(StopReason::EndTurn), report));
        }
        alive()
    }

    fn on_request(&mut self, id: &Value, method: &str, params: &Value) -> LineOutput {
        if method != CLIENT_METHOD_NAMES.session_request_permission {
            let write = wire::no_such_method(id, method);
            return StdinReply {
                write,
                ..StdinReply::default()
            }
            .into_output();
        }
        let described = params.get("toolCall").unwrap_or(&Value::Null);
        self.messages.tool();
        let mut call = self.calls.describe(described).cloned().unwrap_or_default();
        if self.options.titles_are_commands {
            call.take_title_for_command();
        }
        if self.stage == Stage::Replaying {
            // It was answered at the time.
            return alive();
        }
        let verdict = permission::verdict(
            self.options.access,
            &call,
            &self.options.folders,
            &self.options.allowed_commands,
        );
        if verdict == Verdict::Deny {
            self.calls.deny(described);
            let denial = permission::denial(&call);
            if self.denials.len() < MAX_DENIALS && !self.denials.contains(&denial) {
                self.denials.push(denial);
            }
        }
        let option = permission::option(params.get("options").unwrap_or(&Value::Null), verdict);
        let write = schema::permission(id, option);
        StdinReply {
            write,
            ..StdinReply::default()
        }
        .into_output()
    }

    fn on_update(&mut self, params: &Value) -> LineOutput {
        let session = params.get("sessionId").and_then(Value::as_str);
        let is_own = session.is_none() || self.session.is_none() || session == self.session.as_deref();
        let is_turn = matches!(self.stage, Stage::Working | Stage::Over | Stage::Replaying);
        let Some(update) = params.get("update").filter(|_| is_own && is_turn) else {
            return alive();
        };
        let event = match update.get("sessionUpdate").and_then(Value::as_str) {
            Some("agent_message_chunk") => return self.on_text(update).map_or_else(alive, LineOutput::from),
            Some("agent_thought_chunk") => {
                self.has_begun = true;
                None
            }
            Some("tool_call") => self.on_call(update),
            Some("tool_call_update") if self.calls.is_known(update) => {
                self.calls.describe(update);
                None
            }
            // Some agents send only an update for a call, without announcing it.
            Some("tool_call_update") => self.on_call(update),
            Some("usage_update") => {
                usage::of_update(update, &mut self.usage);
                Some(TurnEvent::Used(self.usage))
            }
            _ => None,
        };
        vec![event.unwrap_or(TurnEvent::Alive)].into()
    }

    fn on_text(&mut self, update: &Value) -> Option<Vec<TurnEvent>> {
        let content = update.get("content")?;
        let is_text = content
            .get("type")
            .and_then(Value::as_str)
            .is_none_or(|kind| kind == "text");
        let text = content.get("text").and_then(Value::as_str).filter(|_| is_text)?;
        if !self.has_begun && self.is("codex") && text.starts_with(WARNING) {
            return None;
        }
        if is_from_subagent(update) {
            return None;
        }
        self.has_begun |= !text.trim().is_empty();
        let message = update.get("messageId").and_then(Value::as_str);
        self.last_chunk.clear();
        if text.len() <= MAX_CHUNK {
            self.last_chunk.push_str(text);
        }
        Some(self.messages.append(message, text.to_owned()))
    }

    fn on_call(&mut self, update: &Value) -> Option<TurnEvent> {
        self.has_begun = true;
        if !is_from_subagent(update) {
            self.messages.tool();
        }
        let call = self.calls.describe(update)?;
        Some(TurnEvent::Tool {
            name: call.name(),
            about: call.about(),
        })
    }

    /// Whether this is the named agent, directly or through its adapter.
    fn is(&self, wanted: &str) -> bool {
        let agent = self.introduction.agent.as_ref();
        self.options.program.contains(wanted) || agent.is_some_and(|(name, _)| name.to_lowercase().contains(wanted))
    }

    /// Detects a failed turn that reports a normal end. Some agents reveal this only in their usage report.
    fn hidden_failure(&self, report: usage::UsageReport, last_text: &str) -> Option<TurnEnd> {
        match report {
            usage::UsageReport::Null if self.is("codex") => Some(ends::of_silent_failure(
                [self.last_chunk.trim(), last_text],
                self.clock.now(),
            )),
            usage::UsageReport::Nothing if self.is("copilot") => ends::of_copilot_failure(&self.last_chunk),
            usage::UsageReport::NoModel => Some(no_answer()),
            // If there is text, the service just does not count tokens.
            usage::UsageReport::Numbers if self.usage.tokens() == 0 && last_text.is_empty() => Some(no_answer()),
            _ => None,
        }
    }

    fn end(&mut self, ended: &Ended) -> TurnEnd {
        let last_text = self.messages.last().unwrap_or_default().trim();
        match &self.outcome {
            // Once there is an outcome, the turn is over, however the process ended.
            Some(Outcome::Known(end)) => return end.clone(),
            Some(Outcome::Ended(reason, report)) => {
                let hidden = Some(*report).filter(|_| *reason == StopReason::EndTurn);
                if let Some(failure) = hidden.and_then(|report| self.hidden_failure(report, last_text)) {
                    if ends::is_message(&failure, self.last_chunk.trim()) {
                        self.messages.retract(&self.last_chunk);
                    }
                    return failure;
                }
                // Some agents end the turn when a permission is refused.
                let is_denied = *reason == StopReason::Cancelled && !self.denials.is_empty();
                if is_denied && ended.how != ExitReason::Stopped {
                    return TurnEnd::Finished;
                }
                return ends::of_reason(*reason, last_text);
            }
            None => {}
        }
        match ended.how {
            ExitReason::Stopped | ExitReason::TimedOut => return TurnEnd::Stopped,
            ExitReason::OutputLimit => return TurnEnd::OutputLimit,
            ExitReason::Exited(_) | ExitReason::Signalled(_) => {}
        }
        match (end_of_process(ended), &self.garbage) {
            (TurnEnd::Finished, _) if self.was_understood => {
                TurnEnd::Crash("it exited with code 0 in the middle of its turn".to_owned())
            }
            (TurnEnd::Finished, Some(line)) => TurnEnd::Garbage(format!("it does not speak ACP; it printed: {line}")),
            (TurnEnd::Finished, None) => TurnEnd::Garbage("it does not speak ACP; it printed nothing".to_owned()),
            (TurnEnd::Crash(why), Some(line)) if !self.was_understood => {
                TurnEnd::Crash(format!("{why}; it printed: {line}"))
            }
            (crash, _) => crash,
        }
    }
}

impl Listener for Conversation {
    fn on_line(&mut self, line: &str) -> LineOutput {
        let Some(message) = Message::read(line) else {
            if self.garbage.is_none() && !line.trim().is_empty() {
                self.garbage = Some(preview(line, GARBAGE_COLUMNS));
            }
            return alive();
        };
        self.was_understood = true;
        match message {
            Message::Response { id, outcome } => self.on_response(id, outcome),
            Message::Request { id, method, params } => self.on_request(&id, &method, &params),
            Message::Notification { method, params } if method == CLIENT_METHOD_NAMES.session_update => {
                self.on_update(&params)
            }
            // Only one request is pending at a time.
            Message::Unread(error) => self.on_response(self.awaited, Err(error)),
            Message::Notification { .. } | Message::Other => alive(),
        }
    }

    fn conclude(&mut self, ended: Ended) -> EndOfTurn {
        let end = self.end(&ended);
        let (mut messages, before_last_tool, left_out) = self.messages.take();
        // Some agents repeat the prompt first.
        let prompt = self
            .options
            .prompt
            .as_deref()
            .map(str::trim)
            .filter(|prompt| !prompt.is_empty());
        if let (Some(first), Some(prompt)) = (messages.first_mut(), prompt)
            && let Some(rest) = first.trim_start().strip_prefix(prompt)
        {
            *first = rest.to_owned();
        }
        EndOfTurn {
            end,
            messages,
            before_last_tool,
            left_out,
            denials: std::mem::take(&mut self.denials),
            usage: self.usage,
            session: self.session.take(),
            model: self.model.take(),
            writes: self.calls.writes(),
            hint: None,
            stderr_tail: ended.stderr_tail,
            left_running: ended.left,
        }
    }
}

/// The end of a turn in which the model did not complete an answer.
fn no_answer() -> TurnEnd {
    TurnEnd::Transient("the agent finished without an answer from the model".to_owned())
}

/// Whether this is from a subagent of Claude Code, which works for the agent and not for the user.
fn is_from_subagent(update: &Value) -> bool {
    let parent = update.pointer("/_meta/claudeCode/parentToolUseId");
    parent.is_some_and(Value::is_string)
}

fn alive() -> LineOutput {
    vec![TurnEvent::Alive].into()
}

/// Converts a reply without events.
trait IntoOutput {
    fn into_output(self) -> LineOutput;
}

impl IntoOutput for StdinReply {
    fn into_output(self) -> LineOutput {
        let events = vec![TurnEvent::Alive];
        LineOutput { events, reply: self }
    }
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
