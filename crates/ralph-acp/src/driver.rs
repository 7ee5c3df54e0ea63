//! The ACP driver: starts an agent for each turn.

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

use crate::acp_agents::AcpAgentKind;
use crate::conversation::{Conversation, SessionOptions};

pub struct AcpAgent {
    name: String,
    words: Vec<String>,
    kind: AcpAgentKind,
    /// Whether an unknown program has offered a read-only mode.
    probe_read_only: OnceLock<bool>,
    clock: Arc<dyn Clock + Send + Sync>,
}

impl AcpAgent {
    /// Creates the driver for a command line. Adds the arguments that make a known agent speak ACP.
    ///
    /// # Errors
    /// If the command line names no program.
    pub fn new(command: &CommandLine, clock: Arc<dyn Clock + Send + Sync>) -> Result<Self, DriverError> {
        let words = command.words().ok_or(DriverError::NoProgram)?;
        Ok(Self {
            name: program_name(&words).to_owned(),
            kind: AcpAgentKind::of(&words),
            probe_read_only: OnceLock::new(),
            words,
            clock,
        })
    }

    /// Starts the agent with a listener made from a new conversation.
    pub(crate) fn start_with<L: Listener>(
        &self,
        turn: &Turn<'_>,
        prompt: Option<&str>,
        sink: TurnSink,
        listener: impl FnOnce(Conversation) -> L,
    ) -> Result<Box<dyn RunningTurn>, StartError> {
        let request = self.request(turn, prompt);
        let (conversation, first) = Conversation::new(request, Arc::clone(&self.clock));
        let words = self.kind.words_for(&self.words, turn.model, turn.access);
        // Later variables override earlier ones.
        let added = self.kind.variables(turn.environment, turn.access);
        let environment: Vec<(OsString, OsString)> = turn.environment.iter().cloned().chain(added).collect();
        let turn = Turn {
            environment: &environment,
            ..turn.clone()
        };
        let input = Input::Open(first);
        launch(Launch { words, input }, &turn, listener(conversation), sink)
    }

    /// The modes for these permissions; empty if the user's command sets permissions.
    pub(crate) fn modes(&self, asked: Access) -> &'static [&'static str] {
        if self.kind.sets_permissions(&self.words) {
            return &[];
        }
        self.kind.modes(asked)
    }

    /// The modes in which it would not ask although it must.
    fn forbidden_modes(&self, asked: Access) -> &'static [&'static str] {
        if asked == Access::Work(Permissions::Full) || self.kind.sets_permissions(&self.words) {
            return &[];
        }
        self.kind.modes_without_asking()
    }

    fn request(&self, turn: &Turn<'_>, prompt: Option<&str>) -> SessionOptions {
        let in_session = self.kind.model_in_session(turn.model);
        let describe = turn
            .model
            .filter(|_| in_session.is_none() && !self.kind.names_a_model(&self.words));
        SessionOptions {
            program: self.kind.program(),
            prompt: prompt.map(str::to_owned),
            folders: folder_paths(turn),
            also_writable: turn.also_writable.to_vec(),
            allowed_commands: turn.allowed_commands.to_vec(),
            titles_are_commands: self.kind.titles_are_commands(),
            model: in_session,
            model_in_words: describe.map(str::to_owned),
            modes: self.modes(turn.access),
            forbidden_modes: self.forbidden_modes(turn.access),
            disabled_tools: self.kind.disabled_tools(turn.access),
            access: turn.access,
        }
    }
}

/// The folder of a turn, and its real path if that is different.
fn folder_paths(turn: &Turn<'_>) -> Vec<PathBuf> {
    let real = turn.folder.canonicalize().ok().filter(|real| real != turn.folder);
    std::iter::once(turn.folder.to_owned()).chain(real).collect()
}

impl Agent for AcpAgent {
    fn name(&self) -> &str {
        &self.name
    }

    /// `None` if the user's command sets permissions, or for an unknown program, which may do anything without asking.
    fn permissions(&self, asked: Permissions) -> Option<Permissions> {
        (self.kind.is_known() && !self.kind.sets_permissions(&self.words)).then_some(asked)
    }

    fn can_be_read_only(&self) -> bool {
        self.permissions(Permissions::Edit).is_some() || self.probe_read_only.get() == Some(&true)
    }

    fn needs_probe(&self) -> bool {
        !self.kind.is_known()
    }

    fn probe_read_only(&self, turn: &Turn<'_>, limit: Duration) -> bool {
        *self.probe_read_only.get_or_init(|| {
            let modes = self.modes(Access::ReadOnly);
            let met = self.probe(turn, limit, &AtomicBool::new(false));
            let offered = met.ok().and_then(|met| met.modes).map(|modes| modes.offered);
            offered.is_some_and(|offered| offered.iter().any(|mode| modes.contains(&mode.as_str())))
        })
    }

    fn start(&self, turn: &Turn<'_>, sink: TurnSink) -> Result<Box<dyn RunningTurn>, StartError> {
        self.start_with(turn, Some(turn.prompt), sink, |conversation| conversation)
    }
}

/// Replays the transcript of an interrupted turn: lines of output, or objects with the output as `line`. `None` if it
/// is not ACP.
#[must_use]
pub fn replay<I: Iterator<Item = String>>(transcript: impl Fn() -> I) -> Option<EndOfTurn> {
    let is_ours = |line: String| serde_json::from_str(&line).is_ok_and(|value| is_acp_message(&value));
    // The clock only matters for how the turn ended, which is unknown.
    transcript()
        .any(is_ours)
        .then(|| ralph_agent::replay_lines(Conversation::for_replay(Arc::new(NoClock)), transcript()))
}

/// Whether this is ACP and not just any JSON-RPC.
fn is_acp_message(value: &Value) -> bool {
    let is_update = value.get("method").and_then(Value::as_str) == Some("session/update");
    value.get("jsonrpc").is_some() && (is_update || value.pointer("/result/protocolVersion").is_some())
}

struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcript_is_replayed() {
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
