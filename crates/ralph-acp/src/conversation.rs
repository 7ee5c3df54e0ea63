//! A conversation with an agent, from the first word to the end of its turn: initialize, a session, the model and the mode,
//! the prompt, what comes then, its answer. It does nothing itself: it hears lines and says what is answered.

mod opening;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_agent::{Access, Denial, EndOfTurn, Heard, Listener, Said, TurnEnd, TurnEvent, end_of_process};
use ralph_model::{Clock, Usage, preview};
use ralph_process::{Answer, Ended, HowEnded, Then};
use serde_json::Value;

use crate::ends;
use crate::permission::{self, Verdict};
use crate::schema::{self, CLIENT_METHOD_NAMES, Choice, StopReason};
use crate::tools::Calls;
use crate::usage;
use crate::wire::{self, Message, RpcError};

/// How much of what is no message is told.
const GARBAGE_COLUMNS: usize = 200;
/// How the warnings begin that codex's adapter puts among what the model says.
const WARNING: &str = "Warning: ";
/// How long a piece of text is in which an agent says what went wrong, in bytes.
const MOST_CHUNK: usize = 64 << 10;
/// How many denials are kept.
const MOST_DENIALS: usize = 256;

/// What is wanted of an agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    /// The program that is started, where it is known.
    pub(crate) program: &'static str,
    /// The prompt; without one the conversation ends when there is a session.
    pub(crate) prompt: Option<String>,
    /// The folder to work in, and its other names.
    pub(crate) folders: Vec<PathBuf>,
    /// Folders outside of it in which its commands have to write.
    pub(crate) also_writable: Vec<PathBuf>,
    /// The commands that it may run, beside ralph's own.
    pub(crate) allowed_commands: Vec<String>,
    /// Whether its permission requests have the command only as the title of the call.
    pub(crate) titles_are_commands: bool,
    /// The model to choose; none leaves it to the agent.
    pub(crate) model: Option<String>,
    /// The model that it was started with.
    pub(crate) model_in_words: Option<String>,
    /// The modes that fit the permissions, the best first. An agent that offers none of them stays in its own.
    pub(crate) modes: &'static [&'static str],
    /// The modes that it may not be in, since it asks for nothing there.
    pub(crate) forbidden_modes: &'static [&'static str],
    /// The tools that are taken from it, where that is said with the session.
    pub(crate) taken_tools: &'static [&'static str],
    /// What it may do without asking.
    pub(crate) access: Access,
}

/// What an agent said about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Introduction {
    /// Its name and its version.
    pub(crate) agent: Option<(String, String)>,
    /// The version of the protocol that it speaks.
    pub(crate) protocol: Option<u16>,
    /// How one can log in.
    pub(crate) logins: Vec<String>,
    /// Its models.
    pub(crate) models: Option<Choice>,
    /// Its modes.
    pub(crate) modes: Option<Choice>,
}

/// Where the conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It was asked who it is.
    Greeted,
    /// It was asked for a session.
    Opening,
    /// It was asked for a model or a mode.
    Setting(Wish),
    /// It has its prompt.
    Working,
    /// It has answered, or there is nothing to hope for.
    Over,
    /// Nobody is there to be answered: this was said long ago.
    Past,
}

/// What is chosen in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Model,
    Mode,
}

/// How the turn ended, as far as the agent has said.
enum Outcome {
    /// It is known.
    Known(TurnEnd),
    /// It came to its end. Whether it said anything of what it used matters with codex.
    Ended(StopReason, usage::Told),
}

/// A conversation.
pub(crate) struct Conversation {
    wishes: Wishes,
    clock: Arc<dyn Clock + Send + Sync>,
    stage: Stage,
    /// The number of the request that waits for an answer.
    awaited: u64,
    to_set: VecDeque<(Wish, String)>,
    introduction: Introduction,
    session: Option<String>,
    model: Option<String>,
    said: Said,
    /// The last piece of text; of a very long one nothing.
    last_chunk: String,
    /// Whether the model has begun to do anything.
    has_begun: bool,
    calls: Calls,
    denials: Vec<Denial>,
    usage: Usage,
    outcome: Option<Outcome>,
    /// Whether any message of the protocol came.
    was_understood: bool,
    /// The first line that is no message.
    garbage: Option<String>,
}

impl Conversation {
    /// A conversation that begins, and its first word.
    pub(crate) fn new(wishes: Wishes, clock: Arc<dyn Clock + Send + Sync>) -> (Self, Vec<u8>) {
        let conversation = Self::at(Stage::Greeted, wishes, clock);
        let first = schema::initialize(conversation.awaited);
        (conversation, first)
    }

    /// One that was held long ago, and is heard again.
    pub(crate) fn of_the_past(clock: Arc<dyn Clock + Send + Sync>) -> Self {
        Self::at(Stage::Past, Wishes::default(), clock)
    }

    fn at(stage: Stage, wishes: Wishes, clock: Arc<dyn Clock + Send + Sync>) -> Self {
        Self {
            model: wishes.model_in_words.clone(),
            wishes,
            clock,
            stage,
            awaited: 0,
            to_set: VecDeque::new(),
            introduction: Introduction::default(),
            session: None,
            said: Said::default(),
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

    /// What the agent has said about itself so far.
    pub(crate) fn introduction(&self) -> &Introduction {
        &self.introduction
    }

    /// Goes on to the next request.
    fn ask(&mut self, stage: Stage, request: impl FnOnce(u64) -> Vec<u8>) -> Answer {
        self.stage = stage;
        self.awaited += 1;
        Answer {
            say: request(self.awaited),
            ..Answer::default()
        }
    }

    /// There is nothing more to say.
    fn hang_up(&mut self, outcome: Outcome) -> Answer {
        self.stage = Stage::Over;
        self.outcome = Some(outcome);
        Answer {
            farewell: Some(Vec::new()),
            then: Then::HangUp,
            ..Answer::default()
        }
    }

    fn fail(&mut self, end: TurnEnd) -> Answer {
        self.hang_up(Outcome::Known(end))
    }

    fn hear_response(&mut self, id: u64, outcome: Result<Value, RpcError>) -> Heard {
        if self.stage == Stage::Past {
            return self.remember(&outcome.unwrap_or_default());
        }
        if id != self.awaited || self.stage == Stage::Over {
            return alive();
        }
        match (self.stage, outcome) {
            (Stage::Working, Ok(result)) => return self.hear_end(&result),
            (Stage::Greeted, Ok(result)) => self.hear_introduction(&result),
            (Stage::Opening, Ok(result)) => self.hear_session(&result),
            (Stage::Setting(wish), outcome) => self.hear_setting(wish, outcome.err().as_ref()),
            (stage, Err(error)) => self.hear_error(stage, &error),
            (Stage::Over | Stage::Past, Ok(_)) => return alive(),
        }
        .into_heard()
    }

    fn hear_error(&mut self, stage: Stage, error: &RpcError) -> Answer {
        let said = ends::in_words(error);
        let end = ends::of_error(error, self.clock.now()).unwrap_or_else(|| {
            TurnEnd::Crash(match stage {
                Stage::Greeted => format!("it did not begin to speak ACP: {said}"),
                Stage::Opening => format!("it opened no session: {said}"),
                _ => said,
            })
        });
        // Some say it twice: as the error, and before that as what the model says.
        if ends::is_said_in(error, self.last_chunk.trim()) {
            self.said.take_back(&self.last_chunk);
        }
        self.fail(end)
    }

    fn hear_end(&mut self, result: &Value) -> Heard {
        let told = self.hear_usage(result);
        let reason = result.get("stopReason").unwrap_or(&Value::Null);
        let outcome = match schema::read(reason) {
            Some(reason) => Outcome::Ended(reason, told),
            // Whether it came to a good end is not known.
            None => Outcome::Known(TurnEnd::Garbage(format!(
                "it ended its turn for a reason that is not of the protocol: {}",
                preview(&reason.to_string(), GARBAGE_COLUMNS)
            ))),
        };
        Heard {
            answer: self.hang_up(outcome),
            events: vec![TurnEvent::Used(self.usage)],
        }
    }

    fn hear_usage(&mut self, result: &Value) -> usage::Told {
        let told = usage::of_answer(result, &mut self.usage);
        if let Some(model) = usage::model_of_answer(result) {
            self.model = Some(model.to_owned());
        }
        told
    }

    /// An answer to a request that nobody knows any more.
    fn remember(&mut self, result: &Value) -> Heard {
        if result.get("protocolVersion").is_some() {
            self.introduce(result);
        } else if let Some(session) = result.get("sessionId").and_then(Value::as_str) {
            self.session = Some(session.to_owned());
        } else if result.get("stopReason").is_some() {
            let told = self.hear_usage(result);
            let reason = result.get("stopReason").and_then(schema::read);
            self.outcome = Some(Outcome::Ended(reason.unwrap_or(StopReason::EndTurn), told));
        }
        alive()
    }

    fn hear_request(&mut self, id: &Value, method: &str, params: &Value) -> Heard {
        if method != CLIENT_METHOD_NAMES.session_request_permission {
            let say = wire::no_such_method(id, method);
            return Answer {
                say,
                ..Answer::default()
            }
            .into_heard();
        }
        let described = params.get("toolCall").unwrap_or(&Value::Null);
        self.said.tool();
        let mut call = self.calls.describe(described).cloned().unwrap_or_default();
        if self.wishes.titles_are_commands {
            call.take_title_for_command();
        }
        if self.stage == Stage::Past {
            // It was answered then.
            return alive();
        }
        let verdict = permission::verdict(
            self.wishes.access,
            &call,
            &self.wishes.folders,
            &self.wishes.allowed_commands,
        );
        if verdict == Verdict::Deny {
            self.calls.deny(described);
            let denial = permission::denial(&call);
            if self.denials.len() < MOST_DENIALS && !self.denials.contains(&denial) {
                self.denials.push(denial);
            }
        }
        let option = permission::option(params.get("options").unwrap_or(&Value::Null), verdict);
        let say = schema::permission(id, option);
        Answer {
            say,
            ..Answer::default()
        }
        .into_heard()
    }

    fn hear_update(&mut self, params: &Value) -> Heard {
        let session = params.get("sessionId").and_then(Value::as_str);
        let is_own = session.is_none() || self.session.is_none() || session == self.session.as_deref();
        let is_turn = matches!(self.stage, Stage::Working | Stage::Over | Stage::Past);
        let Some(update) = params.get("update").filter(|_| is_own && is_turn) else {
            return alive();
        };
        let event = match update.get("sessionUpdate").and_then(Value::as_str) {
            Some("agent_message_chunk") => return self.hear_text(update).map_or_else(alive, Heard::from),
            Some("agent_thought_chunk") => {
                self.has_begun = true;
                None
            }
            Some("tool_call") => self.hear_call(update),
            Some("tool_call_update") if self.calls.is_known(update) => {
                self.calls.describe(update);
                None
            }
            // Some announce a call only by what becomes of it.
            Some("tool_call_update") => self.hear_call(update),
            Some("usage_update") => {
                usage::of_update(update, &mut self.usage);
                Some(TurnEvent::Used(self.usage))
            }
            _ => None,
        };
        vec![event.unwrap_or(TurnEvent::Alive)].into()
    }

    fn hear_text(&mut self, update: &Value) -> Option<Vec<TurnEvent>> {
        let content = update.get("content")?;
        let is_text = content
            .get("type")
            .and_then(Value::as_str)
            .is_none_or(|kind| kind == "text");
        let text = content.get("text").and_then(Value::as_str).filter(|_| is_text)?;
        if !self.has_begun && self.is("codex") && text.starts_with(WARNING) {
            return None;
        }
        if is_of_a_subagent(update) {
            return None;
        }
        self.has_begun |= !text.trim().is_empty();
        let message = update.get("messageId").and_then(Value::as_str);
        self.last_chunk.clear();
        if text.len() <= MOST_CHUNK {
            self.last_chunk.push_str(text);
        }
        Some(self.said.tell(message, text.to_owned()))
    }

    fn hear_call(&mut self, update: &Value) -> Option<TurnEvent> {
        self.has_begun = true;
        if !is_of_a_subagent(update) {
            self.said.tool();
        }
        let call = self.calls.describe(update)?;
        Some(TurnEvent::Tool {
            name: call.name(),
            about: call.about(),
        })
    }

    /// Whether the agent of this name is behind this.
    fn is(&self, wanted: &str) -> bool {
        let agent = self.introduction.agent.as_ref();
        self.wishes.program.contains(wanted) || agent.is_some_and(|(name, _)| name.to_lowercase().contains(wanted))
    }

    /// How a turn ended whose end looks like any other, but was not one: some agents say so only by what they say of the
    /// tokens.
    fn hidden_failure(&self, told: usage::Told, last_text: &str) -> Option<TurnEnd> {
        match told {
            usage::Told::Null if self.is("codex") => Some(ends::of_silent_failure(
                [self.last_chunk.trim(), last_text],
                self.clock.now(),
            )),
            usage::Told::Nothing if self.is("copilot") => ends::of_copilots_failure(&self.last_chunk),
            usage::Told::NoModel => Some(without_an_answer()),
            // Services that do not count tokens are told apart by what was said.
            usage::Told::Numbers if self.usage.tokens() == 0 && last_text.is_empty() => Some(without_an_answer()),
            _ => None,
        }
    }

    fn end(&mut self, ended: &Ended) -> TurnEnd {
        let last_text = self.said.last().unwrap_or_default().trim();
        match &self.outcome {
            // Whatever made the process end after that, the turn was over.
            Some(Outcome::Known(end)) => return end.clone(),
            Some(Outcome::Ended(reason, told)) => {
                let hidden = Some(*told).filter(|_| *reason == StopReason::EndTurn);
                if let Some(failure) = hidden.and_then(|told| self.hidden_failure(told, last_text)) {
                    if ends::is_told_by(&failure, self.last_chunk.trim()) {
                        self.said.take_back(&self.last_chunk);
                    }
                    return failure;
                }
                // Some take a refused permission for the end of the turn.
                let is_denied = *reason == StopReason::Cancelled && !self.denials.is_empty();
                if is_denied && ended.how != HowEnded::Stopped {
                    return TurnEnd::Finished;
                }
                return ends::of_reason(*reason, last_text);
            }
            None => {}
        }
        match ended.how {
            HowEnded::Stopped | HowEnded::TimedOut => return TurnEnd::Stopped,
            HowEnded::OutputLimit => return TurnEnd::OutputLimit,
            HowEnded::Exited(_) | HowEnded::Signalled(_) => {}
        }
        match (end_of_process(ended), &self.garbage) {
            (TurnEnd::Finished, _) if self.was_understood => {
                TurnEnd::Crash("it ended in the middle of its turn, with exit code 0".to_owned())
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
    fn hear(&mut self, line: &str) -> Heard {
        let Some(message) = Message::read(line) else {
            if self.garbage.is_none() && !line.trim().is_empty() {
                self.garbage = Some(preview(line, GARBAGE_COLUMNS));
            }
            return alive();
        };
        self.was_understood = true;
        match message {
            Message::Response { id, outcome } => self.hear_response(id, outcome),
            Message::Request { id, method, params } => self.hear_request(&id, &method, &params),
            Message::Notification { method, params } if method == CLIENT_METHOD_NAMES.session_update => {
                self.hear_update(&params)
            }
            // Only one request waits for an answer at a time.
            Message::Unread(error) => self.hear_response(self.awaited, Err(error)),
            Message::Notification { .. } | Message::Other => alive(),
        }
    }

    fn conclude(&mut self, ended: Ended) -> EndOfTurn {
        let end = self.end(&ended);
        let (mut messages, before_last_tool, left_out) = self.said.take();
        // Some say first what they were told.
        let prompt = self
            .wishes
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

/// The end of a turn in which no model came to the end of an answer.
fn without_an_answer() -> TurnEnd {
    TurnEnd::Transient("the agent came to its end without an answer of the model".to_owned())
}

/// Whether this is what a subagent of claude's does, which it does for the agent and not for us.
fn is_of_a_subagent(update: &Value) -> bool {
    let parent = update.pointer("/_meta/claudeCode/parentToolUseId");
    parent.is_some_and(Value::is_string)
}

/// A sign of life.
fn alive() -> Heard {
    vec![TurnEvent::Alive].into()
}

/// An answer beside which there is nothing to tell but that the agent lives.
trait IntoHeard {
    fn into_heard(self) -> Heard;
}

impl IntoHeard for Answer {
    fn into_heard(self) -> Heard {
        let events = vec![TurnEvent::Alive];
        Heard { events, answer: self }
    }
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
