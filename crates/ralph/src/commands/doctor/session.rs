//! The agent that a run would use, started once: does it answer, who is it, what does it offer, is it logged in? It gets no
//! prompt, and nothing of it is left.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_acp::{Acquaintance, Offer};
use ralph_agent::{Agent, Driver, TurnEnd, known_agents, program_name};
use ralph_model::config::{AgentKind, CommandLine};
use ralph_model::{duration, first_line, preview};
use ralph_process::{HowEnded, Input, RunLimits, Spec, StopHandle, run_to_end};

use super::finding::{Finding, Report};
use super::{Patient, WithAgent};
use crate::commands::run::{configured_or_found, confirm_agent};
use crate::error::CommandError;
use crate::probe::{Visit, acp_agent};
use crate::programs::find_program;

/// The name of this check.
pub(super) const NAME: &str = "session";

/// How long an agent may take until there is a session; the slowest take half a minute on a busy machine.
const SESSION_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// How much of a version is shown.
const VERSION_COLUMNS: usize = 100;
/// How many models or modes are named.
const NAMED: usize = 12;

/// Starts the agent, if that was asked for.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    if patient.with_agent == WithAgent::NotStarted {
        return Ok(());
    }
    let config = &patient.context.configured;
    let (command, how) = match configured_or_found(config) {
        Ok(found) => found,
        Err(error) => {
            let (message, hint) = error.lines().unwrap_or_default();
            report.add(Finding::error(message).mend(hint.unwrap_or_default()));
            return Ok(());
        }
    };
    let driver = match Driver::of(config.agent.kind.map(AgentKind::word), &command) {
        Ok(driver) => driver,
        Err(error) => {
            report.add(Finding::error(error.to_string()).mend("mend [agent] command and kind in .ralph.toml"));
            return Ok(());
        }
    };
    let words = command.words().unwrap_or_default();
    let file = match find_program(
        words.first().map(String::as_str).unwrap_or_default(),
        &patient.context.project.root,
    ) {
        Ok(file) => file,
        Err(why) => {
            report.add(Finding::error(format!("the agent cannot be started: {why}")).mend(mend_missing(&words)));
            return Ok(());
        }
    };
    report.ok(format!("{} ({how}), spoken to as {:?}", file.display(), driver.word()));
    if let Err(error) = confirm_agent(&patient.context) {
        let (message, hint) = error.lines().unwrap_or_default();
        let finding = Finding::error(message);
        report.add(match hint {
            Some(hint) => finding.mend(hint),
            None => finding,
        });
        return Ok(());
    }
    let visit = Interruptible::new(patient)?;
    let program = program_name(&words);
    patient.context.ui.status(&format!(
        "Starting {program}, which may take a while; Ctrl+C ends that."
    ));
    match driver {
        Driver::Acp => visit.open_session(&command, report),
        Driver::Command if config.agent.kind.is_none() && visit.speaks_acp(&command)? => {
            let found = "it speaks ACP, and is spoken to as a program that answers in plain text";
            report.add(Finding::error(found).mend("set kind = \"acp\" below [agent] in .ralph.toml"));
            Ok(())
        }
        _ => visit.ask_version(&words, driver, report),
    }
}

/// How an agent is installed that is not there.
fn mend_missing(words: &[String]) -> String {
    let known = known_agents().iter().find(|agent| agent.program == program_name(words));
    match known {
        Some(agent) => format!("`{}` installs it", agent.install),
        None => "install it, put its folder into PATH, or mend [agent] command in .ralph.toml".to_owned(),
    }
}

/// A visit to an agent, which can be interrupted.
struct Interruptible<'a> {
    patient: &'a Patient<'a>,
    visit: Visit,
    /// Set when this process is asked to end.
    is_interrupted: Arc<AtomicBool>,
    stop: StopHandle,
}

impl<'a> Interruptible<'a> {
    fn new(patient: &'a Patient<'a>) -> Result<Self, CommandError> {
        let failed = |error: std::io::Error| CommandError::new(format!("the agent cannot be watched: {error}"));
        ralph_process::become_subreaper().map_err(failed)?;
        let is_interrupted = Arc::new(AtomicBool::new(false));
        let stop = StopHandle::default();
        let (flag, handle) = (Arc::clone(&is_interrupted), stop.clone());
        ralph_process::on_stop_signals(move |_| {
            flag.store(true, Ordering::SeqCst);
            handle.stop();
        })
        .map_err(failed)?;
        Ok(Self {
            patient,
            visit: Visit::new(&patient.context)?,
            is_interrupted,
            stop,
        })
    }

    fn folder(&self) -> &Path {
        &self.patient.context.project.root
    }

    fn speaks_acp(&self, command: &CommandLine) -> Result<bool, CommandError> {
        self.visit.speaks_acp(self.folder(), command, &self.is_interrupted)
    }

    fn open_session(&self, command: &CommandLine, report: &mut Report) -> Result<(), CommandError> {
        let agent = acp_agent(command)?;
        let config = &self.patient.context.configured.agent;
        let turn = self.visit.turn(self.folder(), config.permissions.into());
        match agent.get_to_know(&turn, SESSION_LIMIT, &self.is_interrupted) {
            Err(error) => {
                report.add(Finding::error(error.to_string()).mend(mend_missing(&command.words().unwrap_or_default())));
            }
            Ok(met) => {
                tell_introduction(&met, report);
                tell_session(&met, self.is_interrupted.load(Ordering::SeqCst), report);
                if met.end == TurnEnd::Finished {
                    let allowed = agent.permissions(config.permissions).map(|allowed| allowed.to_string());
                    tell_permissions(&met, allowed.as_deref(), report);
                    tell_models(&met, &config.models, report);
                }
            }
        }
        Ok(())
    }

    /// Asks any other program for its version; its other words are left out, since nobody knows what they make it do.
    fn ask_version(&self, words: &[String], driver: Driver, report: &mut Report) -> Result<(), CommandError> {
        let spec = Spec {
            program: words.first().cloned().unwrap_or_default().into(),
            arguments: vec!["--version".into()],
            folder: PathBuf::from(self.folder()),
            environment: self.visit.environment.clone(),
            stdin: Input::Nothing,
            marker: self.visit.marker.clone(),
            output_limit: None,
        };
        let limits = RunLimits {
            time: Some(VERSION_LIMIT),
            ..RunLimits::default()
        };
        let program = program_name(words).to_owned();
        let finished = run_to_end(spec, limits, &self.stop);
        let (how, said) = match finished {
            Ok(finished) => (
                finished.how,
                format!("{} after {}", version(&finished.output), duration(finished.duration)),
            ),
            Err(error) => {
                report
                    .add(Finding::error(format!("{program} could not be started: {error}")).mend(mend_missing(words)));
                return Ok(());
            }
        };
        let failure = match how {
            HowEnded::Exited(0) => {
                report.ok(format!("`{program} --version` says {said}"));
                if may_start_another(words) {
                    report.ok(format!(
                        "that is the version of {program}, and not of what {program} starts"
                    ));
                }
                report.ok("whether it is logged in is seen only in its first turn");
                return Ok(());
            }
            HowEnded::TimedOut => format!("`{program} --version` did not end within {}", duration(VERSION_LIMIT)),
            HowEnded::Exited(code) => format!("`{program} --version` ended with exit code {code}: {said}"),
            HowEnded::Signalled(signal) => format!("`{program} --version` was killed by signal {signal}: {said}"),
            HowEnded::Stopped | HowEnded::OutputLimit => format!("`{program} --version` was stopped"),
        };
        // Any program may be an agent, and need not know that word.
        report.add(match driver {
            Driver::Command => Finding::note(failure).mend("it may work all the same; a first turn tells"),
            _ => Finding::error(failure).mend(mend_missing(words)),
        });
        Ok(())
    }
}

/// Whether a program is called with the name of something, and none of the known agents: it may be what starts the agent.
fn may_start_another(words: &[String]) -> bool {
    let is_known = known_agents().iter().any(|agent| agent.program == program_name(words));
    !is_known && words.iter().skip(1).any(|word| !word.starts_with('-'))
}

/// The first line of an output that says something.
fn version(output: &str) -> String {
    match preview(first_line(output.trim()), VERSION_COLUMNS) {
        line if line.is_empty() => "nothing".to_owned(),
        line => line,
    }
}

fn tell_introduction(met: &Acquaintance, report: &mut Report) {
    let Some(protocol) = met.protocol else { return };
    let agent = match &met.agent {
        Some((name, version)) => format!("{name} {version}"),
        None => "it does not say who it is".to_owned(),
    };
    report.ok(format!("{agent}; ACP version {protocol}, after {}", duration(met.time)));
}

/// Whether there is a session, and why not.
fn tell_session(met: &Acquaintance, is_interrupted: bool, report: &mut Report) {
    let logins = || match met.logins.as_slice() {
        [] => "log in with the agent itself, or set its key".to_owned(),
        logins => format!(
            "log in with the agent itself, or set its key; it offers: {}",
            logins.join(", ")
        ),
    };
    let finding = match &met.end {
        TurnEnd::Finished => {
            report.ok("it opened a session, so it does not ask for a login");
            return;
        }
        TurnEnd::Auth(said) => Finding::error(format!("it is not logged in: {said}")).mend(logins()),
        TurnEnd::Billing(said) => Finding::error(format!("its account cannot pay: {said}")).mend("mend the account"),
        TurnEnd::Stopped if is_interrupted => Finding::error("it was interrupted before it opened a session"),
        TurnEnd::OutputLimit => Finding::error("it printed more than 16 MiB and opened no session, and was stopped")
            .mend("start it by hand and see what it prints"),
        TurnEnd::Stopped => {
            let limit = duration(SESSION_LIMIT);
            Finding::error(format!("it opened no session within {limit}, and was stopped"))
                .mend("start it by hand and see what it waits for")
        }
        TurnEnd::Garbage(said) => Finding::error(said.clone())
            .mend("add the words that make it speak ACP to [agent] command, or set kind = \"command\""),
        TurnEnd::Transient(said) => Finding::error(format!("its service failed: {said}")).mend("try again later"),
        TurnEnd::Crash(said) => Finding::error(said.clone()).mend("start it by hand and see what it says"),
        other => {
            Finding::error(format!("it opened no session: {other:?}")).mend("start it by hand and see what it says")
        }
    };
    report.add(finding);
}

fn tell_permissions(met: &Acquaintance, allowed: Option<&str>, report: &mut Report) {
    let modes = met.modes.as_ref().map(|modes| format!("; its modes: {}", named(modes)));
    let modes = modes.unwrap_or_default();
    report.ok(match (allowed, &met.mode) {
        (_, Some(mode)) => format!("what it may do without asking is what its mode {mode:?} allows{modes}"),
        (None, None) => format!("what it may do without asking is decided by its own command and settings{modes}"),
        (Some(allowed), None) => format!("permissions {allowed:?} are what it is answered when it asks{modes}"),
    });
}

fn tell_models(met: &Acquaintance, configured: &[String], report: &mut Report) {
    let Some(models) = &met.models else {
        report.ok("it does not say which models it has");
        return;
    };
    report.ok(format!("models: {}", named(models)));
    let missing: Vec<&str> = configured
        .iter()
        .filter(|model| !models.offered.contains(model))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        let what = format!("agent.models names what it does not offer: {}", missing.join(", "));
        report.add(Finding::warning(what).mend("take them out, or write them as it does"));
    }
}

/// What can be chosen, the present choice marked.
fn named(offer: &Offer) -> String {
    let names = offer.offered.iter().take(NAMED).map(|name| {
        let mark = if *name == offer.current { " (now)" } else { "" };
        format!("{name}{mark}")
    });
    let mut names: Vec<String> = names.collect();
    let more = offer.offered.len().saturating_sub(NAMED);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}
