//! The driver: an agent that is started once a turn, and spoken to until its turn is over.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use ralph_agent::{
    Access, Agent, DriverError, EndOfTurn, Launch, Listener, RunningTurn, StartError, Turn, TurnSink, launch,
    program_name,
};
use ralph_model::Clock;
use ralph_model::config::{CommandLine, Permissions};
use ralph_process::Input;
use serde_json::Value;

use crate::conversation::{Conversation, Wishes};
use crate::speakers::Speaker;

/// An agent that speaks ACP.
pub struct AcpAgent {
    name: String,
    words: Vec<String>,
    speaker: Speaker,
    /// Whether a program that is not known has said that it has a read-only mode.
    offers_read_only: OnceLock<bool>,
    clock: Arc<dyn Clock + Send + Sync>,
}

impl AcpAgent {
    /// The agent that a command line starts. The words that make a known agent speak ACP are added where they are missing.
    ///
    /// # Errors
    /// When the line names no program.
    pub fn new(command: &CommandLine, clock: Arc<dyn Clock + Send + Sync>) -> Result<Self, DriverError> {
        let words = command.words().ok_or(DriverError::NoProgram)?;
        Ok(Self {
            name: program_name(&words).to_owned(),
            speaker: Speaker::of(&words),
            offers_read_only: OnceLock::new(),
            words,
            clock,
        })
    }

    /// Starts it with a listener that is made from the beginning of a conversation.
    pub(crate) fn start_with<L: Listener>(
        &self,
        turn: &Turn<'_>,
        prompt: Option<&str>,
        sink: TurnSink,
        listener: impl FnOnce(Conversation) -> L,
    ) -> Result<Box<dyn RunningTurn>, StartError> {
        let wishes = self.wishes(turn, prompt);
        let (conversation, first) = Conversation::new(wishes, Arc::clone(&self.clock));
        let words = self.speaker.words_for(&self.words, turn.model, turn.access);
        // What comes last holds.
        let added = self.speaker.variables(turn.environment, turn.access);
        let environment: Vec<(OsString, OsString)> = turn.environment.iter().cloned().chain(added).collect();
        let turn = Turn {
            environment: &environment,
            ..turn.clone()
        };
        let input = Input::Open(first);
        launch(Launch { words, input }, &turn, listener(conversation), sink)
    }

    /// The modes that fit what it may do; none when the user has decided.
    pub(crate) fn modes(&self, asked: Access) -> &'static [&'static str] {
        if self.speaker.is_decided(&self.words) {
            return &[];
        }
        self.speaker.modes(asked)
    }

    /// The modes in which it would ask for nothing, where it is to ask.
    fn forbidden_modes(&self, asked: Access) -> &'static [&'static str] {
        if asked == Access::Work(Permissions::Full) || self.speaker.is_decided(&self.words) {
            return &[];
        }
        self.speaker.modes_without_asking()
    }

    fn wishes(&self, turn: &Turn<'_>, prompt: Option<&str>) -> Wishes {
        let in_session = self.speaker.model_in_session(turn.model);
        let in_words = turn
            .model
            .filter(|_| in_session.is_none() && !self.speaker.names_a_model(&self.words));
        Wishes {
            program: self.speaker.program(),
            prompt: prompt.map(str::to_owned),
            folders: names_of(turn),
            also_writable: turn.also_writable.to_vec(),
            allowed_commands: turn.allowed_commands.to_vec(),
            titles_are_commands: self.speaker.titles_are_commands(),
            model: in_session,
            model_in_words: in_words.map(str::to_owned),
            modes: self.modes(turn.access),
            forbidden_modes: self.forbidden_modes(turn.access),
            taken_tools: self.speaker.taken_tools(turn.access),
            access: turn.access,
        }
    }
}

/// The folder of a turn, and what it really is where that is something else.
fn names_of(turn: &Turn<'_>) -> Vec<PathBuf> {
    let real = turn.folder.canonicalize().ok().filter(|real| real != turn.folder);
    std::iter::once(turn.folder.to_owned()).chain(real).collect()
}

impl Agent for AcpAgent {
    fn name(&self) -> &str {
        &self.name
    }

    /// Who writes an option about it into the command has decided, and of one that nobody knows nobody can tell: it may do
    /// without asking whatever it likes.
    fn permissions(&self, asked: Permissions) -> Option<Permissions> {
        (self.speaker.is_known() && !self.speaker.is_decided(&self.words)).then_some(asked)
    }

    fn can_be_read_only(&self) -> bool {
        self.permissions(Permissions::Edit).is_some() || self.offers_read_only.get() == Some(&true)
    }

    fn must_be_asked(&self) -> bool {
        !self.speaker.is_known()
    }

    fn offers_read_only(&self, turn: &Turn<'_>, limit: Duration) -> bool {
        *self.offers_read_only.get_or_init(|| {
            let modes = self.modes(Access::ReadOnly);
            let met = self.get_to_know(turn, limit, &AtomicBool::new(false));
            let offered = met.ok().and_then(|met| met.modes).map(|modes| modes.offered);
            offered.is_some_and(|offered| offered.iter().any(|mode| modes.contains(&mode.as_str())))
        })
    }

    fn start(&self, turn: &Turn<'_>, sink: TurnSink) -> Result<Box<dyn RunningTurn>, StartError> {
        self.start_with(turn, Some(turn.prompt), sink, |conversation| conversation)
    }
}

/// What an agent said and did in a turn whose end nobody saw, told from the lines of its transcript: what it printed, or an
/// object with that as `line`. None when it did not speak ACP.
#[must_use]
pub fn replay<I: Iterator<Item = String>>(transcript: impl Fn() -> I) -> Option<EndOfTurn> {
    let is_ours = |line: String| serde_json::from_str(&line).is_ok_and(|value| is_of_a_conversation(&value));
    // When it is matters only for how a turn ended, and nobody saw that.
    transcript()
        .any(is_ours)
        .then(|| ralph_agent::hear_again(Conversation::of_the_past(Arc::new(NoTime)), transcript()))
}

/// Whether something was said in ACP: any program may print JSON-RPC.
fn is_of_a_conversation(value: &Value) -> bool {
    let is_update = value.get("method").and_then(Value::as_str) == Some("session/update");
    value.get("jsonrpc").is_some() && (is_update || value.pointer("/result/protocolVersion").is_some())
}

struct NoTime;

impl Clock for NoTime {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_heard_again_whatever_was_asked_for() {
        let transcript = [
            r#"{"line":"a warning"}"#,
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"x","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1"}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"<journal>ha"}}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"lf</journal>"}}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/up"#,
        ];
        let end = replay(|| transcript.into_iter().map(String::from)).unwrap();
        assert_eq!(end.messages, ["<journal>half</journal>"]);
        assert_eq!(end.session.as_deref(), Some("s-1"));
        assert_eq!(end.end, ralph_agent::TurnEnd::Stopped);
        let other = [r#"{"line":"x"}"#, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#];
        assert_eq!(replay(|| other.into_iter().map(String::from)), None);
    }
}
