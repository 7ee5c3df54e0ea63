//! Chooses the verifier: the configured agent, else the working agent if it can run read-only.

use std::sync::Arc;
use std::time::Duration;

use ralph_agent::{Access, Agent};
use ralph_loop::{Verifier, agent_for};
use ralph_model::config::Config;

use crate::context::Context;
use crate::error::CommandError;
use crate::probe::Probe;
use crate::programs::find_program;
use crate::project_env::ProgramClock;

pub(super) struct ChosenVerifier {
    pub(super) verifier: Verifier,
    /// A sentence that names the verifier or says why there is none; none if verification is off.
    pub(super) sentence: Option<String>,
}

/// Chooses the verifier. A configured one must be able to start and to run read-only.
pub(super) fn chosen(
    context: &Context<'_>,
    config: &Config,
    worker: &dyn Agent,
) -> Result<ChosenVerifier, CommandError> {
    if !config.execution.verify {
        return Ok(ChosenVerifier {
            verifier: Verifier::None,
            sentence: None,
        });
    }
    let Some(command) = &config.verify.verifier else {
        return Ok(same_agent(worker));
    };
    let refused = |message: String| {
        CommandError::new(message).hint(
            "set `[verify] verifier` in .ralph.toml to claude, codex or an ACP agent, or pass --no-verify to skip it",
        )
    };
    let clock = Arc::new(ProgramClock::from_environment()?);
    let agent = agent_for(None, command, clock).map_err(|error| refused(format!("the verifier: {error}")))?;
    if let Some(program) = command.words().unwrap_or_default().first() {
        find_program(program, &context.project.root)
            .map_err(|why| refused(format!("cannot start the verifier: {why}")))?;
    }
    if !agent.can_be_read_only() {
        return Err(refused(format!(
            "the verifier {} cannot be made read-only with its current command",
            agent.name()
        )));
    }
    Ok(ChosenVerifier {
        sentence: Some(format!("Verifier: {} (configured), read-only.", agent.name())),
        verifier: Verifier::Other(agent),
    })
}

/// How long an agent may take to report its modes.
const OFFER_LIMIT: Duration = Duration::from_secs(60);

/// Asks an unknown agent whether it offers a read-only mode, so that it can verify.
pub(super) fn ask_for_read_only(
    context: &Context<'_>,
    config: &Config,
    worker: &dyn Agent,
    chosen: ChosenVerifier,
) -> Result<ChosenVerifier, CommandError> {
    let is_wanted = config.execution.verify && config.verify.verifier.is_none();
    if !is_wanted || !worker.needs_probe() {
        return Ok(chosen);
    }
    let name = worker.name();
    context
        .ui
        .status(&format!("Starting {name} to ask whether it has a read-only mode."));
    let visit = Probe::new(context)?;
    let turn = visit.turn(&context.project.root, Access::ReadOnly);
    Ok(match worker.probe_read_only(&turn, OFFER_LIMIT) {
        true => same_agent(worker),
        false => chosen,
    })
}

fn same_agent(worker: &dyn Agent) -> ChosenVerifier {
    let name = worker.name();
    if worker.can_be_read_only() {
        return ChosenVerifier {
            verifier: Verifier::SameAgent,
            sentence: Some(format!("Verifier: {name}, read-only.")),
        };
    }
    ChosenVerifier {
        verifier: Verifier::None,
        sentence: Some(format!(
            "No verifier: {name} cannot be made read-only; set `[verify] verifier` to another agent."
        )),
    }
}
