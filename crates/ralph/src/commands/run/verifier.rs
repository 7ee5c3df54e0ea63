//! Who looks at finished work: the agent that is named for it, else the one that does the work, if it can be kept from
//! changing anything.

use std::sync::Arc;
use std::time::Duration;

use ralph_agent::{Access, Agent};
use ralph_loop::{Verifier, agent_for};
use ralph_model::config::Config;

use crate::context::Context;
use crate::error::CommandError;
use crate::probe::Visit;
use crate::programs::find_program;
use crate::surroundings::ProgramClock;

/// The verifier of a run.
pub(super) struct ChosenVerifier {
    pub(super) verifier: Verifier,
    /// Who it is, or why there is none, as a sentence; none where nobody wants one.
    pub(super) sentence: Option<String>,
}

/// Chooses the verifier. One that is named and cannot be started, or not be kept from changing anything, is refused.
pub(super) fn chosen(
    context: &Context<'_>,
    config: &Config,
    worker: &dyn Agent,
) -> Result<ChosenVerifier, CommandError> {
    if !config.execution.verify {
        return Ok(ChosenVerifier {
            verifier: Verifier::Nobody,
            sentence: None,
        });
    }
    let Some(command) = &config.verify.verifier else {
        return Ok(of_the_worker(worker));
    };
    let refused = |message: String| {
        CommandError::new(message).hint(
            "`[verify] verifier` in .ralph.toml names claude, codex or an agent that speaks ACP; --no-verify goes without",
        )
    };
    let clock = Arc::new(ProgramClock::from_environment()?);
    let agent = agent_for(None, command, clock).map_err(|error| refused(format!("the verifier: {error}")))?;
    if let Some(program) = command.words().unwrap_or_default().first() {
        find_program(program, &context.project.root)
            .map_err(|why| refused(format!("the verifier cannot be started: {why}")))?;
    }
    if !agent.can_be_read_only() {
        return Err(refused(format!(
            "the verifier {} cannot be kept from changing files, as its command stands",
            agent.name()
        )));
    }
    Ok(ChosenVerifier {
        sentence: Some(format!("Verifier: {} (configured), read-only.", agent.name())),
        verifier: Verifier::Another(agent),
    })
}

/// How long an agent may take until it has said which modes it offers.
const OFFER_LIMIT: Duration = Duration::from_secs(60);

/// Asks a worker of which nothing is known whether it offers a read-only mode, in which it can verify.
pub(super) fn asked(
    context: &Context<'_>,
    config: &Config,
    worker: &dyn Agent,
    chosen: ChosenVerifier,
) -> Result<ChosenVerifier, CommandError> {
    let is_wanted = config.execution.verify && config.verify.verifier.is_none();
    if !is_wanted || !worker.must_be_asked() {
        return Ok(chosen);
    }
    let name = worker.name();
    context
        .ui
        .status(&format!("Starting {name} to ask whether it has a read-only mode."));
    let visit = Visit::new(context)?;
    let turn = visit.turn(&context.project.root, Access::ReadOnly);
    Ok(match worker.offers_read_only(&turn, OFFER_LIMIT) {
        true => of_the_worker(worker),
        false => chosen,
    })
}

fn of_the_worker(worker: &dyn Agent) -> ChosenVerifier {
    let name = worker.name();
    if worker.can_be_read_only() {
        return ChosenVerifier {
            verifier: Verifier::SameAgent,
            sentence: Some(format!("Verifier: {name}, read-only.")),
        };
    }
    ChosenVerifier {
        verifier: Verifier::Nobody,
        sentence: Some(format!(
            "No verifier: {name} cannot be kept from changing files; `[verify] verifier` names another agent."
        )),
    }
}
