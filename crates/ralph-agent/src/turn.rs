//! A turn: what an agent is given, what it says on the way, how it ended.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_model::config::Permissions;
use ralph_model::{Denial, Usage, deserialize_moment, serialize_moment};
use serde::{Deserialize, Serialize};

/// What an agent is given.
#[derive(Debug, Clone)]
pub struct Turn<'a> {
    /// The prompt.
    pub prompt: &'a str,
    /// A file that holds it.
    pub prompt_file: &'a Path,
    /// The model to ask for; none leaves it to the agent.
    pub model: Option<&'a str>,
    /// The folder to work in.
    pub folder: &'a Path,
    /// The whole environment, complete.
    pub environment: &'a [(OsString, OsString)],
    /// Folders outside of it in which commands that it runs have to write: that of the database, in a linked worktree.
    pub also_writable: &'a [PathBuf],
    /// What it may do without asking.
    pub access: Access,
    /// The commands that it may run without asking, beside [ralph's own](crate::MEMORY_COMMANDS).
    pub allowed_commands: &'a [String],
    /// The random word that stands in the environment too, by which its descendants are found.
    pub marker: &'a str,
    /// How many bytes it may print.
    pub output_limit: Option<u64>,
}

/// What an agent may do in a turn without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Look at the project, and change nothing. Only an agent that [can be read-only](crate::Agent::can_be_read_only) keeps
    /// to it.
    ReadOnly,
    /// Work, as far as the user permits.
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

/// Where the events of a turn go.
pub type TurnSink = Box<dyn Fn(TurnEvent) + Send>;

/// What happens in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// A line that the agent printed, for the transcript. Not masked.
    Line(String),
    /// A message of its own begins, which its text up to the next one belongs to.
    MessageBegins,
    /// Its own text, as it comes; of a very long one the beginning.
    Text(String),
    /// It uses a tool; what it says afterwards may be its final text.
    Tool {
        /// The tool's name.
        name: String,
        /// What it is about, in a few words: a path, a command.
        about: String,
    },
    /// What it has used so far.
    Used(Usage),
    /// A sign of life that says nothing else.
    Alive,
    /// It is over, and no process of it is left.
    Ended(Box<EndOfTurn>),
}

/// How a turn ended, and all that the agent said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndOfTurn {
    /// How.
    pub end: TurnEnd,
    /// Its own messages, each of them a text by itself: what one leaves open does not reach into the next.
    pub messages: Vec<String>,
    /// How many of them came before its last tool call.
    pub before_last_tool: usize,
    /// How many bytes of what it said are not among them, because it said too much.
    pub left_out: u64,
    /// What it was not allowed to do.
    pub denials: Vec<Denial>,
    /// What it used.
    pub usage: Usage,
    /// The agent's own name for the session.
    pub session: Option<String>,
    /// The model that really answered.
    pub model: Option<String>,
    /// The files that its write calls named.
    pub writes: Vec<PathBuf>,
    /// What may help where it said nothing.
    #[serde(default)]
    pub hint: Option<String>,
    /// The end of what it printed as errors.
    pub stderr_tail: String,
    /// The pids of its processes that are still there, because they may not be ended.
    #[serde(default)]
    pub left_running: Vec<u32>,
}

impl EndOfTurn {
    /// Its messages after its last tool call.
    #[must_use]
    pub fn final_messages(&self) -> &[String] {
        self.messages.get(self.before_last_tool..).unwrap_or_default()
    }

    /// Whether it said anything at all.
    #[must_use]
    pub fn spoke(&self) -> bool {
        self.messages.iter().any(|message| !message.trim().is_empty())
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnEnd {
    /// It came to its end: its terminal record, or exit 0 where there is none.
    Finished,
    /// The model refused.
    Refusal(String),
    /// The answer was cut at its longest.
    TokenLimit,
    /// The steps were used up.
    TurnLimit,
    /// The program broke down.
    Crash(String),
    /// What it printed cannot be understood.
    Garbage(String),
    /// The prompt was too long for the model.
    ContextOverflow(String),
    /// What the user may use is used up for now.
    UsageLimit {
        /// When it is over, where the agent says so.
        #[serde(
            default,
            serialize_with = "serialize_moment",
            deserialize_with = "deserialize_moment"
        )]
        resets_at: Option<Timestamp>,
        /// What the agent says.
        message: String,
    },
    /// The service failed for a moment.
    Transient(String),
    /// The agent is not logged in, or its key is wrong.
    Auth(String),
    /// The account cannot pay.
    Billing(String),
    /// It printed more than it may.
    OutputLimit,
    /// It was stopped.
    Stopped,
}

/// Why an agent cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its program is not there.
    #[error("{program} is not installed, or not on the PATH")]
    NotFound {
        /// The program.
        program: String,
    },
    /// The system said no.
    #[error("{program} could not be started: {error}")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system said.
        error: io::Error,
    },
}
