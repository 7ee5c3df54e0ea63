//! A turn: its input, its events, and its end.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_model::config::Permissions;
use ralph_model::{Denial, Usage, deserialize_timestamp, serialize_timestamp};
use serde::{Deserialize, Serialize};

/// The input of a turn.
#[derive(Debug, Clone)]
pub struct Turn<'a> {
    pub prompt: &'a str,
    /// A file with the prompt.
    pub prompt_file: &'a Path,
    /// The model to request; `None` leaves it to the agent.
    pub model: Option<&'a str>,
    /// The working folder.
    pub folder: &'a Path,
    pub environment: &'a [(OsString, OsString)],
    /// Other folders that its commands must be able to write to, such as that of the database in a linked worktree.
    pub also_writable: &'a [PathBuf],
    /// What it may do without asking.
    pub access: Access,
    /// The commands that it may run without asking, besides [ralph's own](crate::MEMORY_COMMANDS).
    pub allowed_commands: &'a [String],
    /// The marker, also in the environment, for finding its descendants.
    pub marker: &'a str,
    /// How many bytes it may print.
    pub output_limit: Option<u64>,
}

/// What an agent may do in a turn without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read only. Works only for an agent that [can be read-only](crate::Agent::can_be_read_only).
    ReadOnly,
    /// Work with these permissions.
    Work(Permissions),
}

impl Default for Access {
    fn default() -> Self {
        Self::Work(Permissions::default())
    }
}

impl From<Permissions> for Access {
    fn from(permissions: Permissions) -> Self {
        Self::Work(permissions)
    }
}

pub type TurnSink = Box<dyn Fn(TurnEvent) + Send>;

#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// A line of output for the transcript. Not masked.
    Line(String),
    /// A new message starts; the following text belongs to it.
    MessageBegins,
    /// The agent's own text as it arrives; very long ones are cut.
    Text(String),
    /// A tool call; text after it may be final.
    Tool {
        name: String,
        /// Its subject in a few words: a path, a command.
        about: String,
    },
    /// Usage so far.
    Used(Usage),
    /// Activity without other content.
    Alive,
    /// The turn is over, and none of its processes is left.
    Ended(Box<EndOfTurn>),
}

/// How a turn ended, and everything that the agent said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndOfTurn {
    pub end: TurnEnd,
    /// Its separate messages; an unclosed tag in one does not affect the next.
    pub messages: Vec<String>,
    /// The number of messages before the last tool call.
    pub before_last_tool: usize,
    /// How many bytes were dropped because the output was too long.
    pub left_out: u64,
    pub denials: Vec<Denial>,
    pub usage: Usage,
    /// The agent's session id.
    pub session: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The files named by its write calls.
    pub writes: Vec<PathBuf>,
    /// A hint in case it said nothing.
    #[serde(default)]
    pub hint: Option<String>,
    /// The end of its standard error.
    pub stderr_tail: String,
    /// The pids of processes that could not be ended.
    #[serde(default)]
    pub left_running: Vec<u32>,
}

impl EndOfTurn {
    /// The messages after the last tool call.
    #[must_use]
    pub fn final_messages(&self) -> &[String] {
        self.messages.get(self.before_last_tool..).unwrap_or_default()
    }

    #[must_use]
    pub fn spoke(&self) -> bool {
        self.messages.iter().any(|message| !message.trim().is_empty())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnEnd {
    /// Completed: a terminal record, or exit code 0 for agents without one.
    Finished,
    Refusal(String),
    /// The answer was cut at the token limit.
    TokenLimit,
    TurnLimit,
    Crash(String),
    /// The output cannot be parsed.
    Garbage(String),
    /// The prompt was too long for the model.
    ContextOverflow(String),
    /// The usage limit is reached.
    UsageLimit {
        /// When it resets, if known.
        #[serde(
            default,
            serialize_with = "serialize_timestamp",
            deserialize_with = "deserialize_timestamp"
        )]
        resets_at: Option<Timestamp>,
        message: String,
    },
    Transient(String),
    Auth(String),
    Billing(String),
    OutputLimit,
    Stopped,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{program} is not installed, or not on the PATH")]
    NotFound { program: String },
    #[error("{program} could not be started: {error}")]
    NotStarted { program: String, error: io::Error },
}
