//! A scripted agent: a real program that a driver starts like any other agent.
//!
//! ```no_run
//! use ralph_testkit::scripted::{Script, append, if_prompt_contains, remember, say, write};
//!
//! # let folder = std::path::Path::new("/tmp/x");
//! let agent = Script::new()
//!     // The first turn fails and remembers why.
//!     .turn([remember("fix: the port is taken, use 8081"), say("<task-failed>{task}</task-failed>")])
//!     // Later turns follow their prompt. The last turn of a script repeats.
//!     .turn([if_prompt_contains(
//!         "use 8081",
//!         [write("port.txt", "8081"), say("<task-done>{task}</task-done>")],
//!         [append("log.txt", "it forgot\n"), say("<task-failed>{task}</task-failed>")],
//!     )])
//!     .install(folder);
//! // `agent.words()` goes into `[agent] command`, `agent.command()` is the same as one line; then ralph runs, and:
//! assert!(agent.prompt(2).contains("use 8081"));
//! assert_eq!(agent.turns(), 2);
//! ```
//!
//! In every text `{task}` is replaced by the id of the task in the prompt's `## Assigned Task`, and `{turn}` by the
//! number of the turn, from 1. Files are relative to the folder that the agent is started in. Several runs may use one
//! script at the same time: each turn is played once.
//!
//! A verifier session is not one of the turns. It says `<verify-pass/>` unless [`Script::verification`] says otherwise.
//!
//! - [`Script::speaking_claude`] prints claude's stream-json (use `kind = "claude"`). A `write`, `append`, `run` or
//!   `remember` is a tool call, and a `result` record follows unless the turn exits by itself (`exit`, `kill`, `hang`)
//!   or has a `raw` record of that type.
//! - [`Script::speaking_codex`] prints the records of `codex exec --json` in the same way (`kind = "codex"`), with
//!   `turn.completed` at the end.
//! - [`Script::speaking_acp`] speaks ACP (`kind = "acp"`). The agent answers `initialize` and `session/new`, takes its
//!   prompt from `session/prompt`, ends when it is cancelled or its input ends, and can ask the client (`ask`,
//!   `if_allowed`). `{request}` in a `raw` line is the id of the prompt request; a `raw` line with a `result` or an
//!   `error` answers it.

mod acp;
mod builder;
mod installed;
mod misdeeds;
mod perform;
mod speech;

use serde::{Deserialize, Serialize};

pub use builder::{
    append, ask, daemon, exit, flood, flood_errors, garbage, hang, if_allowed, if_prompt_contains, ignore_cancel, kill,
    long_line, misbehave, raw, remember, run, say, say_error, say_in_chunks, sleep, think, write,
};
pub use installed::{Call, ScriptedAgent, program};
pub use misdeeds::{Misdeed, hostile_turn, processes_in};
pub use perform::perform;

/// The actions of an agent, turn by turn.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Script {
    dialect: Dialect,
    /// The ACP answer to `session/new`, as JSON: the offered modes and models, or an error.
    #[serde(default)]
    session: Option<Result<String, String>>,
    turns: Vec<Vec<Action>>,
    /// The verifier sessions.
    #[serde(default)]
    verifications: Vec<Vec<Action>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum Dialect {
    #[default]
    Plain,
    Claude,
    Codex,
    Acp,
}

/// One action of an agent. The functions of this module create them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    Say(String),
    /// Says a text, split into this many writes.
    SayInChunks(String, usize),
    /// Thinks a text; invisible in plain text.
    Think(String),
    /// Prints a text to standard error.
    SayError(String),
    Write(String, String),
    Append(String, String),
    /// Runs a shell command as a tool.
    Run(String),
    /// Sleeps for this many milliseconds.
    Sleep(u64),
    Hang,
    /// Exits immediately with this code.
    Exit(i32),
    Kill(i32),
    /// Starts a ten-minute process in its own session.
    Daemon,
    Flood(usize),
    /// Prints this many bytes to standard error.
    FloodErrors(usize),
    /// Prints this many bytes as one line.
    LongLine(usize),
    /// Does something that no well-behaved agent does.
    Misbehave(Misdeed),
    /// Prints bytes that are neither text nor JSON.
    Garbage,
    /// Prints a line verbatim.
    Raw(String),
    /// Sends the ACP client a request with this method and prints the answer to standard error.
    Ask(String),
    /// Requests permission for a tool of this kind and title; plays the first list if granted, else the second.
    IfAllowed(String, String, Vec<Self>, Vec<Self>),
    /// Ignores cancellation from now on.
    IgnoreCancel,
    /// Plays the first list if the prompt contains the text, else the second.
    IfPromptContains(String, Vec<Self>, Vec<Self>),
}

impl Script {
    /// A script without turns; its agent exits immediately with success.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn turn(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.turns.push(actions.into_iter().collect());
        self
    }

    /// Adds a verifier session. Verifications are played and counted apart from turns, and the last one repeats.
    /// Without any, the verifier approves.
    #[must_use]
    pub fn verification(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.verifications.push(actions.into_iter().collect());
        self
    }

    #[must_use]
    pub fn speaking_claude(mut self) -> Self {
        self.dialect = Dialect::Claude;
        self
    }

    #[must_use]
    pub fn speaking_codex(mut self) -> Self {
        self.dialect = Dialect::Codex;
        self
    }

    #[must_use]
    pub fn speaking_acp(mut self) -> Self {
        self.dialect = Dialect::Acp;
        self
    }

    /// Adds this JSON (modes, models) to the answer to `session/new`.
    #[must_use]
    pub fn offering(mut self, session: &str) -> Self {
        self.session = Some(Ok(session.to_owned()));
        self
    }

    /// Answers `session/new` with this JSON error.
    #[must_use]
    pub fn refusing_sessions(mut self, error: &str) -> Self {
        self.session = Some(Err(error.to_owned()));
        self
    }
}
