//! Starts the agent that a run would use once, to check its name, features and login. It gets no prompt, and all its
//! processes are ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_acp::{AgentInfo, Offer};
use ralph_agent::{Agent, Driver, TurnEnd, known_agents, program_name};
use ralph_model::config::{AgentKind, CommandLine};
use ralph_model::{duration, first_line, preview};
use ralph_process::{ExitReason, Input, RunLimits, Spec, StopHandle, run_to_end};

use super::finding::{Finding, Report};
use super::{DoctorContext, WithAgent};
use crate::commands::run::{configured_or_found, confirm_agent};
use crate::error::CommandError;
use crate::probe::{Probe, acp_agent};
use crate::programs::find_program;

pub(super) const NAME: &str = "session";

/// How long an agent may take to open a session; the slowest take half a minute on a busy machine.
const SESSION_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// The columns of a version that are shown.
const VERSION_COLUMNS: usize = 100;
/// How many models or modes are listed.
const NAMED: usize = 12;

/// Starts the agent, if requested.
pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    if doctor.with_agent == WithAgent::NotStarted {
        return Ok(());
    }
    let config = &doctor.context.configured;
    let (command, how) = match configured_or_found(config) {
        Ok(found) => found,
        Err(error) => {
            let (message, hint) = error.lines().unwrap_or_default();
            report.add(Finding::error(message).remedy(hint.unwrap_or_default()));
            return Ok(());
        }
    };
    let driver = match Driver::of(config.agent.kind.map(AgentKind::word), &command) {
        Ok(driver) => driver,
        Err(error) => {
            report.add(Finding::error(error.to_string()).remedy("fix [agent] command and kind in .ralph.toml"));
            return Ok(());
        }
    };
    let words = command.words().unwrap_or_default();
    let file = match find_program(
        words.first().map(String::as_str).unwrap_or_default(),
        &doctor.context.project.root,
    ) {
        Ok(file) => file,
        Err(why) => {
            report.add(Finding::error(format!("cannot start the agent: {why}")).remedy(how_to_install(&words)));
            return Ok(());
        }
    };
    report.ok(format!("{} ({how}), protocol {:?}", file.display(), driver.word()));
    if let Err(error) = confirm_agent(&doctor.context) {
        let (message, hint) = error.lines().unwrap_or_default();
        let finding = Finding::error(message);
        report.add(match hint {
            Some(hint) => finding.remedy(hint),
            None => finding,
        });
        return Ok(());
    }
    let probe = Interruptible::new(doctor)?;
    let program = program_name(&words);
    doctor.context.ui.status(&format!(
        "Starting {program}; this may take a while. Press Ctrl+C to stop."
    ));
    match driver {
        Driver::Acp => probe.open_session(&command, report),
        Driver::Command if config.agent.kind.is_none() && probe.speaks_acp(&command)? => {
            let found = "it speaks ACP, but is configured as a plain-text program";
            report.add(Finding::error(found).remedy("set kind = \"acp\" under [agent] in .ralph.toml"));
            Ok(())
        }
        _ => probe.ask_version(&words, driver, report),
    }
}

/// How to install a missing agent.
fn how_to_install(words: &[String]) -> String {
    let known = known_agents().iter().find(|agent| agent.program == program_name(words));
    match known {
        Some(agent) => format!("`{}` installs it", agent.install),
        None => "install it, add its folder to PATH, or fix [agent] command in .ralph.toml".to_owned(),
    }
}

/// A probe of an agent that can be interrupted.
struct Interruptible<'a> {
    doctor: &'a DoctorContext<'a>,
    probe: Probe,
    /// Set when this process is interrupted.
    is_interrupted: Arc<AtomicBool>,
    stop: StopHandle,
}

impl<'a> Interruptible<'a> {
    fn new(doctor: &'a DoctorContext<'a>) -> Result<Self, CommandError> {
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
            doctor,
            probe: Probe::new(&doctor.context)?,
            is_interrupted,
            stop,
        })
    }

    fn folder(&self) -> &Path {
        &self.doctor.context.project.root
    }

    fn speaks_acp(&self, command: &CommandLine) -> Result<bool, CommandError> {
        self.probe.speaks_acp(self.folder(), command, &self.is_interrupted)
    }

    fn open_session(&self, command: &CommandLine, report: &mut Report) -> Result<(), CommandError> {
        let agent = acp_agent(command)?;
        let config = &self.doctor.context.configured.agent;
        let turn = self.probe.turn(self.folder(), config.permissions.into());
        match agent.probe(&turn, SESSION_LIMIT, &self.is_interrupted) {
            Err(error) => {
                let remedy = how_to_install(&command.words().unwrap_or_default());
                report.add(Finding::error(error.to_string()).remedy(remedy));
            }
            Ok(info) => {
                report_agent(&info, report);
                report_session(&info, self.is_interrupted.load(Ordering::SeqCst), report);
                if info.end == TurnEnd::Finished {
                    let allowed = agent.permissions(config.permissions).map(|allowed| allowed.to_string());
                    report_permissions(&info, allowed.as_deref(), report);
                    report_models(&info, &config.models, report);
                }
            }
        }
        Ok(())
    }

    /// Asks any other program for its version. Its other arguments are left out, because their effect is unknown.
    fn ask_version(&self, words: &[String], driver: Driver, report: &mut Report) -> Result<(), CommandError> {
        let spec = Spec {
            program: words.first().cloned().unwrap_or_default().into(),
            arguments: vec!["--version".into()],
            folder: PathBuf::from(self.folder()),
            environment: self.probe.environment.clone(),
            stdin: Input::Nothing,
            marker: self.probe.marker.clone(),
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
                let finding = Finding::error(format!("{program} could not be started: {error}"));
                report.add(finding.remedy(how_to_install(words)));
                return Ok(());
            }
        };
        let failure = match how {
            ExitReason::Exited(0) => {
                report.ok(format!("`{program} --version` says {said}"));
                if may_start_another(words) {
                    report.ok(format!(
                        "this is the version of {program}, not of the agent that {program} starts"
                    ));
                }
                report.ok("its login is only checked in its first turn");
                return Ok(());
            }
            ExitReason::TimedOut => format!("`{program} --version` did not end within {}", duration(VERSION_LIMIT)),
            ExitReason::Exited(code) => format!("`{program} --version` ended with exit code {code}: {said}"),
            ExitReason::Signalled(signal) => format!("`{program} --version` was killed by signal {signal}: {said}"),
            ExitReason::Stopped | ExitReason::OutputLimit => format!("`{program} --version` was stopped"),
        };
        // Any program may be an agent and need not know `--version`.
        report.add(match driver {
            Driver::Command => Finding::note(failure).remedy("it may still work; only a first turn can tell"),
            _ => Finding::error(failure).remedy(how_to_install(words)),
        });
        Ok(())
    }
}

/// Returns true if an unknown program has a positional argument: it may start the actual agent.
fn may_start_another(words: &[String]) -> bool {
    let is_known = known_agents().iter().any(|agent| agent.program == program_name(words));
    !is_known && words.iter().skip(1).any(|word| !word.starts_with('-'))
}

/// The first line of the output.
fn version(output: &str) -> String {
    match preview(first_line(output.trim()), VERSION_COLUMNS) {
        line if line.is_empty() => "nothing".to_owned(),
        line => line,
    }
}

fn report_agent(info: &AgentInfo, report: &mut Report) {
    let Some(protocol) = info.protocol else { return };
    let agent = match &info.agent {
        Some((name, version)) => format!("{name} {version}"),
        None => "the agent does not report its name".to_owned(),
    };
    report.ok(format!(
        "{agent}; ACP version {protocol}, after {}",
        duration(info.time)
    ));
}

/// Reports whether a session was opened, or why not.
fn report_session(info: &AgentInfo, is_interrupted: bool, report: &mut Report) {
    let logins = || match info.logins.as_slice() {
        [] => "log in with the agent itself, or set its key".to_owned(),
        logins => format!(
            "log in with the agent itself, or set its key; it offers: {}",
            logins.join(", ")
        ),
    };
    let finding = match &info.end {
        TurnEnd::Finished => {
            report.ok("it opened a session, so no login is needed");
            return;
        }
        TurnEnd::Auth(said) => Finding::error(format!("it is not logged in: {said}")).remedy(logins()),
        TurnEnd::Billing(said) => {
            Finding::error(format!("its account cannot pay: {said}")).remedy("check the account's billing")
        }
        TurnEnd::Stopped if is_interrupted => Finding::error("interrupted before it opened a session"),
        TurnEnd::OutputLimit => {
            Finding::error("it printed more than 16 MiB without opening a session, and was stopped")
                .remedy("start it by hand to see what it prints")
        }
        TurnEnd::Stopped => {
            let limit = duration(SESSION_LIMIT);
            Finding::error(format!("stopped after {limit} without opening a session"))
                .remedy("start it by hand to see what it waits for")
        }
        TurnEnd::Garbage(said) => Finding::error(said.clone())
            .remedy("add the arguments that enable ACP to [agent] command, or set kind = \"command\""),
        TurnEnd::Transient(said) => Finding::error(format!("its service failed: {said}")).remedy("try again later"),
        TurnEnd::Crash(said) => Finding::error(said.clone()).remedy("start it by hand to see its output"),
        other => {
            Finding::error(format!("it did not open a session: {other:?}")).remedy("start it by hand to see its output")
        }
    };
    report.add(finding);
}

fn report_permissions(info: &AgentInfo, allowed: Option<&str>, report: &mut Report) {
    let modes = info
        .modes
        .as_ref()
        .map(|modes| format!("; its modes: {}", listed(modes)));
    let modes = modes.unwrap_or_default();
    report.ok(match (allowed, &info.mode) {
        (_, Some(mode)) => format!("its mode {mode:?} decides what it may do without asking{modes}"),
        (None, None) => format!("its own command line and settings decide what it may do without asking{modes}"),
        (Some(allowed), None) => format!("its permission requests are answered by {allowed:?}{modes}"),
    });
}

fn report_models(info: &AgentInfo, configured: &[String], report: &mut Report) {
    let Some(models) = &info.models else {
        report.ok("it does not list its models");
        return;
    };
    report.ok(format!("models: {}", listed(models)));
    let missing: Vec<&str> = configured
        .iter()
        .filter(|model| !models.offered.contains(model))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        let what = format!("agent.models has models that it does not offer: {}", missing.join(", "));
        report.add(Finding::warning(what).remedy("remove them, or use the names it offers"));
    }
}

/// Lists the choices and marks the current one.
fn listed(offer: &Offer) -> String {
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
