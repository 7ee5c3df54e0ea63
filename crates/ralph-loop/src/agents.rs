//! All the drivers together: which one speaks to an agent, and which one understands what was kept of a turn.

use std::sync::Arc;

use ralph_acp::AcpAgent;
use ralph_agent::{Agent, ClaudeAgent, CodexAgent, CommandAgent, Driver, DriverError, EndOfTurn};
use ralph_model::Clock;
use ralph_model::config::CommandLine;

/// The agent that a command line starts, spoken to by the driver that is asked for or else by the one that fits. The clock
/// tells it what `resets 3pm` means.
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

/// What an agent of this name said and did in a turn whose end nobody saw, told from the lines of its transcript.
pub(crate) fn replay<I: Iterator<Item = String>>(agent: &str, transcript: impl Fn() -> I) -> EndOfTurn {
    // An agent that speaks ACP may have any name; what it said tells.
    ralph_acp::replay(&transcript).unwrap_or_else(|| ralph_agent::replay(agent, transcript))
}
