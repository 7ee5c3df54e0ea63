//! Which agent works: the one that a flag names, the configured one, else the first that is installed.

use std::sync::Arc;

use ralph_agent::{Agent, known_agents, on_path};
use ralph_loop::agent_for;
use ralph_model::config::{CommandLine, Config};

use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::programs::find_program;
use crate::surroundings::ProgramClock;

/// The agent of a run.
pub(super) struct ChosenAgent {
    pub(super) driver: Box<dyn Agent>,
    /// How it came to be chosen, in a few words.
    pub(super) how: &'static str,
}

impl ChosenAgent {
    /// Who works, and what it may do.
    pub(super) fn in_words(&self, config: &Config) -> String {
        let (name, how) = (self.driver.name(), self.how);
        let Some(granted) = self.driver.permissions(config.agent.permissions) else {
            return format!("{name} ({how})");
        };
        match self.driver.permission_words(granted) {
            [] => format!("{name} ({how}), permissions: {granted}"),
            words => format!("{name} ({how}), permissions: {granted} ({})", words.join(" ")),
        }
    }
}

/// Chooses the agent. One that cannot be started is refused before anything is made for it to do.
pub(super) fn chosen(context: &Context<'_>, config: &Config, flag: Option<&str>) -> Result<ChosenAgent, CommandError> {
    let kind = config.agent.kind.as_deref();
    let (command, how) = match flag {
        Some(line) => (CommandLine::Line(line.to_owned()), "from --agent"),
        None => configured_or_found(config)?,
    };
    let clock = Arc::new(ProgramClock::from_environment()?);
    let refused = |message: String| {
        CommandError::new(message).hint("set `[agent] command` in .ralph.toml, or pass --agent COMMAND")
    };
    let driver = agent_for(kind, &command, clock).map_err(|error| refused(error.to_string()))?;
    let words = command.words().unwrap_or_default();
    if let Some(program) = words.first() {
        find_program(program, &context.project.root)
            .map_err(|why| refused(format!("the agent cannot be started: {why}")))?;
    }
    Ok(ChosenAgent { driver, how })
}

/// The command that starts the agent of the configuration, else the first that is installed; and which of them it is.
pub(crate) fn configured_or_found(config: &Config) -> Result<(CommandLine, &'static str), CommandError> {
    match &config.agent.command {
        Some(command) => Ok((command.clone(), "configured")),
        None => Ok((
            CommandLine::Line(found(config.agent.kind.as_deref())?),
            "found on the PATH",
        )),
    }
}

/// The program of the first known agent that is installed.
fn found(kind: Option<&str>) -> Result<String, CommandError> {
    let folders = env::program_folders();
    let mut installed = on_path(&folders).map(|(agent, _)| agent);
    match installed.find(|agent| kind.is_none_or(|kind| kind == agent.driver.word())) {
        Some(agent) => Ok(agent.program.to_owned()),
        None => {
            let known: Vec<&str> = known_agents().iter().map(|agent| agent.program).collect();
            let message = format!(
                "no agent is configured, and none is on the PATH; ralph knows {}",
                known.join(", ")
            );
            let first = known_agents().first().map(|agent| agent.install).unwrap_or_default();
            Err(CommandError::new(message).hint(format!(
                "`{first}` installs the first; any other program works too: `[agent] command` in .ralph.toml, or --agent COMMAND; it gets the prompt on its standard input"
            )))
        }
    }
}
