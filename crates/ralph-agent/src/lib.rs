//! Coding agents: the trait that the loop knows, and a driver for each way of speaking to one. How a turn ended is told
//! from what the agent says in its own form, never by searching for words. What to do about it is decided elsewhere.

mod allowed;
mod claude;
mod codex;
mod command;
mod command_words;
pub mod environment;
mod find;
mod launch;
mod lenient;
mod moments;
mod newest;
mod replay;
mod said;
mod turn;

use std::time::Duration;

use ralph_model::config::Permissions;

pub use allowed::{MEMORY_COMMANDS, is_allowed_command, permitting_line};
pub use claude::{ClaudeAgent, claude_usage_limit};
pub use codex::{CodexAgent, codex_error};
pub use command::CommandAgent;
pub use command_words::has_option;
pub use find::{
    Driver, DriverError, KnownAgent, agents_by_command, file_name as program_name, first_on_path, known_agents, on_path,
};
pub use launch::{Heard, Launch, Listener, end_of_process, launch};
pub use lenient::is_readable;
pub use ralph_model::Denial;
pub use replay::{hear_again, replay};
pub use said::Said;
pub use turn::{Access, EndOfTurn, StartError, Turn, TurnEnd, TurnEvent, TurnSink};

/// A coding agent that can be started.
pub trait Agent {
    /// Its name, as a person knows it.
    fn name(&self) -> &str;

    /// What it may do without asking when it is asked to keep to this; none for one that nobody can tell: its own command
    /// says what it may do.
    fn permissions(&self, _asked: Permissions) -> Option<Permissions> {
        None
    }

    /// The words that it is started with so that it may do that.
    fn permission_words(&self, _granted: Permissions) -> &'static [&'static str] {
        &[]
    }

    /// Whether a turn of it can be kept from changing anything. Whose command says itself what it may do, or of whom nobody
    /// knows it, cannot.
    fn can_be_read_only(&self) -> bool {
        false
    }

    /// Whether only [`Self::offers_read_only`] tells if a turn of it can be kept from changing anything.
    fn must_be_asked(&self) -> bool {
        false
    }

    /// Starts it to find out whether a turn of it can be kept from changing anything. Nothing is prompted. Afterwards
    /// [`Self::can_be_read_only`] tells the same.
    fn offers_read_only(&self, _turn: &Turn<'_>, _limit: Duration) -> bool {
        false
    }

    /// Starts a turn: a fresh session with this prompt. What happens is told to the sink, from threads of the driver's own;
    /// the last is always exactly one [`TurnEvent::Ended`], when no process of the turn is left.
    ///
    /// # Errors
    /// When it cannot be started at all; then nothing is told.
    fn start(&self, turn: &Turn<'_>, sink: TurnSink) -> Result<Box<dyn RunningTurn>, StartError>;
}

/// A turn that goes on.
pub trait RunningTurn: Send {
    /// The agent's process: its pid, and when it began as the system counts.
    fn process(&self) -> (u32, u64);

    /// Asks the agent to end, and makes it end if it does not: cancel, SIGTERM, SIGKILL, sweep. Returns at once; the end is
    /// told to the sink.
    fn stop(&mut self);

    /// Makes the agent end at once: SIGKILL, sweep. Returns at once too.
    fn kill(&mut self);
}
