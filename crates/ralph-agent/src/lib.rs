//! The agent trait used by the loop, and a driver for each agent protocol. How a turn ended is derived from the agent's
//! structured output, never from a word search. Reacting to it is left to the caller.

mod allowed;
mod claude;
mod codex;
mod command;
mod command_words;
pub mod environment;
mod find;
mod launch;
mod lenient;
mod message_log;
mod newest;
mod replay;
mod timestamps;
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
pub use launch::{Launch, LineOutput, Listener, end_of_process, launch};
pub use lenient::is_readable;
pub use message_log::MessageLog;
pub use ralph_model::Denial;
pub use replay::{replay, replay_lines};
pub use turn::{Access, EndOfTurn, StartError, Turn, TurnEnd, TurnEvent, TurnSink};

pub trait Agent {
    /// The display name.
    fn name(&self) -> &str;

    /// The permissions granted for the request; `None` if its own command decides.
    fn permissions(&self, _asked: Permissions) -> Option<Permissions> {
        None
    }

    /// The arguments that grant these permissions.
    fn permission_words(&self, _granted: Permissions) -> &'static [&'static str] {
        &[]
    }

    /// Whether a turn can be made read-only. `false` if its own command sets the permissions or this is unknown.
    fn can_be_read_only(&self) -> bool {
        false
    }

    /// Whether only [`Self::probe_read_only`] can tell if a turn can be made read-only.
    fn needs_probe(&self) -> bool {
        false
    }

    /// Starts the agent without a prompt to find out whether it can be made read-only. Afterwards
    /// [`Self::can_be_read_only`] returns the same.
    fn probe_read_only(&self, _turn: &Turn<'_>, _limit: Duration) -> bool {
        false
    }

    /// Starts a turn: a new session with this prompt. Events are sent to the sink from other threads; the last is
    /// always exactly one [`TurnEvent::Ended`], when no process of the turn is left.
    ///
    /// # Errors
    /// If it cannot be started; then no event is sent.
    fn start(&self, turn: &Turn<'_>, sink: TurnSink) -> Result<Box<dyn RunningTurn>, StartError>;
}

pub trait RunningTurn: Send {
    /// The agent's pid, and its start time as reported by the system.
    fn process(&self) -> (u32, u64);

    /// Ends the agent step by step: cancel, SIGTERM, SIGKILL, sweep. Returns immediately; the sink gets the end.
    fn stop(&mut self);

    /// Kills the agent at once: SIGKILL, sweep. Returns immediately.
    fn kill(&mut self);
}
