//! Picks the driver that talks to an agent or parses its transcript.

use std::sync::Arc;

use ralph_acp::AcpAgent;
use ralph_agent::{Agent, ClaudeAgent, CodexAgent, CommandAgent, Driver, DriverError, EndOfTurn};
use ralph_model::Clock;
use ralph_model::config::CommandLine;

/// The agent that a command line starts, with the given driver or else the one that fits. The clock resolves reset
/// times such as `resets 3pm`.
///
/// # Errors
/// When there is no such driver, or the line names no program.
pub fn agent_for(
    kind: Option<&str>,
    command: &CommandLine,
    clock: Arc<dyn Clock + Send + Sync>,
) -> Result<Box<dyn Agent>, DriverError> {
    Ok(match Driver::of(kind, command)? {
        Driver::Claude => Box::new(ClaudeAgent::new(command, clock)?),
        Driver::Codex => Box::new(CodexAgent::new(command, clock)?),
        Driver::Acp => Box::new(AcpAgent::new(command, clock)?),
        Driver::Command => Box::new(CommandAgent::new(command)?),
    })
}

/// Rebuilds a turn whose end was not seen, from the lines of its transcript.
pub(crate) fn replay<I: Iterator<Item = String>>(agent: &str, transcript: impl Fn() -> I) -> EndOfTurn {
    // An ACP agent may have any name; the transcript shows it.
    ralph_acp::replay(&transcript).unwrap_or_else(|| ralph_agent::replay(agent, transcript))
}
