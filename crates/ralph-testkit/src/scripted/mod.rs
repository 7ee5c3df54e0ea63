//! An agent that does what a script says: a real program, which a driver starts like any other agent.
//!
//! ```no_run
//! use ralph_testkit::scripted::{Script, append, if_prompt_holds, remember, say, write};
//!
//! # let folder = std::path::Path::new("/tmp/x");
//! let agent = Script::new()
//!     // The first turn fails and notes why.
//!     .turn([remember("fix: the port is taken, use 8081"), say("<task-failed>{task}</task-failed>")])
//!     // Every later one does what it reads in its prompt. The last turn of a script is repeated for ever.
//!     .turn([if_prompt_holds(
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
//! In every text `{task}` stands for the id of the task in the prompt's `## Assigned Task`, and `{turn}` for the number of
//! the turn, from 1. Asked to look at finished work it says `<verify-pass/>`, unless [`Script::verification`] says otherwise;
//! such a session is none of its turns. Files are those of the folder that the agent is started in. Several runs may use one script at the
//! same time: each turn is played once. With [`Script::speaking_claude`] it prints claude's stream-json (use
//! `kind = "claude"`): a `write`, `append`, `run` or `remember` is a tool call then, and the `result` record comes at the
//! end of a turn that does not end by itself (`exit`, `kill`, `hang`) and has no `raw` record of that type. With
//! [`Script::speaking_codex`] it prints the records of `codex exec --json` in the same way (`kind = "codex"`), and
//! `turn.completed` at the end. With
//! [`Script::speaking_acp`] it speaks ACP (use `kind = "acp"`): it answers `initialize` and `session/new`, takes its prompt
//! from `session/prompt`, ends when it is cancelled or its input ends, and can ask (`ask`, `if_allowed`); `{request}` in a
//! `raw` line stands for the number of the prompt, and such a line with a `result` or an `error` is its answer.

mod acp;
mod builder;
mod installed;
mod misdeeds;
mod perform;
mod speech;

use serde::{Deserialize, Serialize};

pub use builder::{
    append, ask, daemon, exit, flood, flood_errors, garbage, hang, if_allowed, if_prompt_holds, kill, long_line,
    misbehave, raw, remember, run, say, say_error, say_in_chunks, sleep, think, turn_deaf, write,
};
pub use installed::{Call, ScriptedAgent, program};
pub use misdeeds::{Misdeed, hostile_turn, left_in};
pub use perform::perform;

/// What an agent does, turn by turn.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Script {
    dialect: Dialect,
    /// What an agent that speaks ACP says of a new session, as JSON: what it offers, or an error.
    #[serde(default)]
    session: Option<Result<String, String>>,
    turns: Vec<Vec<Action>>,
    /// What it does when it is asked to look at finished work, time after time.
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

/// One thing that an agent does. The functions of this module make them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Says a text.
    Say(String),
    /// Says a text in so many writes.
    SayInChunks(String, usize),
    /// Thinks a text; in plain text that cannot be seen.
    Think(String),
    /// Prints a text as an error.
    SayError(String),
    /// Writes a file.
    Write(String, String),
    /// Adds to the end of a file.
    Append(String, String),
    /// Runs a line of shell; what it prints is a tool's output.
    Run(String),
    /// Does nothing for so many milliseconds.
    Sleep(u64),
    /// Does nothing for ever.
    Hang,
    /// Ends at once with this code.
    Exit(i32),
    /// Ends by this signal.
    Kill(i32),
    /// Starts a process in a session of its own that stays for ten minutes.
    Daemon,
    /// Prints so many bytes.
    Flood(usize),
    /// Prints so many bytes as errors.
    FloodErrors(usize),
    /// Prints so many bytes as one line.
    LongLine(usize),
    /// Does something that no good agent does.
    Misbehave(Misdeed),
    /// Prints bytes that are no text and no JSON.
    Garbage,
    /// Prints a line as it is.
    Raw(String),
    /// Asks its client for something by a method; what is answered is printed as an error.
    Ask(String),
    /// Asks whether it may use a tool of a kind with a title, and does the first if it may, else the second.
    IfAllowed(String, String, Vec<Self>, Vec<Self>),
    /// Does not hear from now on that it shall end.
    TurnDeaf,
    /// Does the first if the prompt holds a text, else the second.
    IfPromptHolds(String, Vec<Self>, Vec<Self>),
}

impl Script {
    /// A script without turns; an agent that follows it ends at once with success.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more turn.
    #[must_use]
    pub fn turn(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.turns.push(actions.into_iter().collect());
        self
    }

    /// With one more look at finished work. They are played and counted apart from the turns, and the last is repeated for
    /// ever; an agent without one finds all work to be well.
    #[must_use]
    pub fn verification(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.verifications.push(actions.into_iter().collect());
        self
    }

    /// In claude's stream-json.
    #[must_use]
    pub fn speaking_claude(mut self) -> Self {
        self.dialect = Dialect::Claude;
        self
    }

    /// In the records of `codex exec --json`.
    #[must_use]
    pub fn speaking_codex(mut self) -> Self {
        self.dialect = Dialect::Codex;
        self
    }

    /// In ACP.
    #[must_use]
    pub fn speaking_acp(mut self) -> Self {
        self.dialect = Dialect::Acp;
        self
    }

    /// With this JSON in what it says of a new session: modes, models.
    #[must_use]
    pub fn offering(mut self, session: &str) -> Self {
        self.session = Some(Ok(session.to_owned()));
        self
    }

    /// Without sessions: whoever asks for one gets this JSON as an error.
    #[must_use]
    pub fn refusing_sessions(mut self, error: &str) -> Self {
        self.session = Some(Err(error.to_owned()));
        self
    }
}
