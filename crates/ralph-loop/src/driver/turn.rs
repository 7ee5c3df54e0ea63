//! The agent's turn: start, events and end.

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ralph_agent::{EndOfTurn, TurnEnd, TurnEvent};
use ralph_memory::capture::{clean, last_words, read_captured, read_control};
use ralph_model::config::Config;
use ralph_model::{Control, Tokens};

use super::prepare::folder_of;
use super::{Incoming, Role, RunError, Runner};
use crate::agents::replay;
use crate::changes::recorded_name;
use crate::disk_space::is_full;
use crate::inbox::Sender;
use crate::state::{Current, Input, Place};
use crate::strategy::configured_model;
use crate::summary::{StopCause, TurnSummary};
use crate::transcript::{self, Transcript};
use crate::watch::{IterationBegan, RunEvent};

/// The sender of a longer text waits until it is handled, so that only one is queued at a time.
const MAX_QUEUED_BYTES: usize = 64 << 10;
/// How long to wait for a killed agent to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum length of a tool's name, in characters.
const TOOL_CHARACTERS: usize = 100;
/// The maximum length of a denial's description, in characters.
const DENIAL_CHARACTERS: usize = 300;
/// The maximum length of a session name, in characters.
pub(super) const SESSION_CHARACTERS: usize = 200;
/// The maximum length of an end message, in characters.
const END_CHARACTERS: usize = 600;

/// The commands that the agent of an iteration may run without asking.
fn allowed_commands(config: &Config, current: &Current) -> Vec<String> {
    [&config.verify.commands, &current.checks, &config.agent.allow]
        .into_iter()
        .flatten()
        .cloned()
        .collect()
}

impl Runner<'_> {
    /// Starts the prepared agent, unless it is already running and only its record is missing.
    pub(super) fn spawn(&mut self) -> Result<Input, RunError> {
        let process = match self.turn.as_ref().and_then(|turn| turn.running.as_ref()) {
            Some(running) => running.process(),
            None => self.start_agent()?,
        };
        self.store.record_agent(&self.run, process.0, process.1)?;
        // Reported only now: until here the claim could be taken back, and every reported iteration is settled.
        if let Some(turn) = &self.turn
            && let Role::Worker { attempt, shown } = turn.role
        {
            self.busy.clear();
            let current = &turn.current;
            self.watch.tell(&RunEvent::IterationBegan(IterationBegan {
                run: &current.run,
                iteration: current.iteration,
                task: &current.task,
                title: &current.task_title,
                kind: current.kind,
                attempt: attempt.number,
                attempts: attempt.of,
                model: current.model.as_deref(),
                rationale: &current.rationale,
                prompt_tokens: Tokens::of_characters(turn.prompt.chars().count()),
                notes_shown: shown,
                folder: self.site.shown(folder_of(self.site, current).path()),
            }));
        }
        Ok(Input::Spawned)
    }

    /// Starts the agent and returns its pid and start time.
    fn start_agent(&mut self) -> Result<(u32, u64), RunError> {
        let root = self.root_of_turn();
        let Some(turn) = &mut self.turn else {
            return Err(RunError::Other("no agent is prepared".to_owned()));
        };
        let site = self.site;
        let config = site.config;
        let folder = folder_of(site, &turn.current);
        let environment = super::prepare::environment(site, &turn.current)?;
        let sender = self.sender.clone();
        let started = self.order.agent.start(
            &ralph_agent::Turn {
                prompt: &turn.prompt,
                prompt_file: &folder.prompt(),
                model: turn.current.model.as_deref(),
                folder: &root,
                environment: &environment,
                also_writable: &site.writable_outside(),
                access: config.agent.permissions.into(),
                allowed_commands: &allowed_commands(config, &turn.current),
                marker: &turn.current.marker,
                output_limit: config.limits.output_bytes.map(|bytes| bytes.0),
            },
            Box::new(move |event| forward(&sender, event)),
        );
        let running = match started {
            Ok(running) => running,
            Err(error) => {
                // Without an agent, nothing may look like an iteration.
                self.store.abandon_claim(&self.run, site.clock.now())?;
                return Err(error.into());
            }
        };
        let process = running.process();
        turn.running = Some(running);
        turn.started = Instant::now();
        match folder.transcript() {
            Ok(transcript) => turn.transcript = Some(transcript),
            Err(error) => {
                let warning = format!("Cannot write a transcript: {error}");
                self.watch.tell(&RunEvent::Warning(&warning));
            }
        }
        Ok(process)
    }

    /// Kills an agent that is still running when the run ends, and waits for its exit.
    pub(super) fn kill_running_agent(&mut self) {
        let Some(mut running) = self.turn.as_mut().and_then(|turn| turn.running.take()) else {
            return;
        };
        running.kill();
        let begun = Instant::now();
        while let Some(left) = EXIT_TIMEOUT.checked_sub(begun.elapsed()) {
            match self.incoming.recv(Some(left)) {
                Some(Incoming::Turn(TurnEvent::Ended(_))) | None => return,
                Some(_) => {}
            }
        }
    }

    pub(super) fn stop_agent(&mut self) {
        if let Some(running) = self.turn.as_mut().and_then(|turn| turn.running.as_mut()) {
            running.stop();
        }
    }

    pub(super) fn kill_agent(&mut self) {
        if let Some(running) = self.turn.as_mut().and_then(|turn| turn.running.as_mut()) {
            running.kill();
        }
    }

    pub(super) fn turn_event(&mut self, event: TurnEvent) -> Option<Input> {
        let event = match event {
            TurnEvent::Tool { name, about } => TurnEvent::Tool {
                name: clean(&name, TOOL_CHARACTERS),
                about: clean(&about, DENIAL_CHARACTERS),
            },
            TurnEvent::Text(text) => TurnEvent::Text(self.cleaned_text(&text)),
            other => other,
        };
        let is_verifier = self
            .turn
            .as_ref()
            .is_some_and(|turn| matches!(turn.role, Role::Verifier(_)));
        self.watch.tell(&if is_verifier {
            RunEvent::VerifierEvent(&event)
        } else {
            RunEvent::Agent(&event)
        });
        match event {
            TurnEvent::Line(line) => {
                self.append_transcript(&line);
                Some(Input::Activity)
            }
            TurnEvent::MessageBegins | TurnEvent::Text(_) | TurnEvent::Tool { .. } | TurnEvent::Alive => {
                Some(Input::Activity)
            }
            TurnEvent::Used(usage) => Some(Input::Used(usage)),
            TurnEvent::Ended(end) if is_verifier => Some(self.verification_of(*end)),
            TurnEvent::Ended(end) => Some(Input::TurnEnded(Box::new(self.summary_of(*end)))),
        }
    }

    /// The next piece of the agent's text, without secrets.
    fn cleaned_text(&mut self, text: &str) -> String {
        let turn = self.turn.as_mut();
        turn.map(|turn| turn.cleaner.clean_text(text).into_owned())
            .unwrap_or_default()
    }

    fn append_transcript(&mut self, line: &str) {
        let Some(turn) = &mut self.turn else { return };
        let Some(transcript) = &mut turn.transcript else { return };
        if let Err(error) = transcript.line(line) {
            self.transcript_failed(&error);
        }
    }

    /// Flushes the transcript to the system.
    pub(super) fn flush_transcript(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let Some(transcript) = &mut turn.transcript else { return };
        if let Err(error) = transcript.flush() {
            self.transcript_failed(&error);
        }
    }

    /// Reports a failed write. Lines lost to a full disk are reported once; after any other error the transcript ends.
    fn transcript_failed(&mut self, error: &std::io::Error) {
        let Some(turn) = &mut self.turn else { return };
        let warning = if !is_full(error) {
            turn.transcript = None;
            format!("Cannot continue the transcript: {error}")
        } else if turn.lines_missing {
            return;
        } else {
            turn.lines_missing = true;
            format!("Output of the agent will be missing from its transcript until there is disk space: {error}")
        };
        self.watch.tell(&RunEvent::Warning(&warning));
    }

    fn root_of_turn(&self) -> PathBuf {
        match &self.turn {
            Some(turn) => self.work_root(&turn.current),
            None => self.site.root.clone(),
        }
    }

    /// The summary of a finished turn.
    fn summary_of(&mut self, end: EndOfTurn) -> TurnSummary {
        if let Some(warning) = survivors_warning(&end.left_running) {
            self.watch.tell(&RunEvent::Warning(&warning));
        }
        let root = &self.root_of_turn();
        let volumes = self.volumes();
        let Some(turn) = &mut self.turn else {
            return summary(root, end, "", Duration::ZERO);
        };
        turn.running = None;
        // A transcript that cannot be closed now is joined during settlement, which reports failures.
        let _closed = turn.transcript.take().map(Transcript::close);
        let mut summary = summary(root, end, &turn.prompt, turn.started.elapsed());
        let requested = summary.control.next_model.as_deref();
        if requested.is_some_and(|requested| configured_model(&self.site.config.agent.models, requested).is_none()) {
            summary.captured.malformed = summary.captured.malformed.saturating_add(1);
        }
        let is_deleted = turn.current.place == Place::Checkout && !root.is_dir();
        if is_deleted {
            summary.end = TurnEnd::Crash("it deleted its working folder".to_owned());
        }
        let Some(turn) = &self.turn else { return summary };
        let task = turn.current.task.as_str();
        summary.no_room = !summary.control.done.iter().any(|id| id == task) && volumes.are_full();
        summary
    }

    /// The summary of a dead run's turn whose end was not seen, from its transcript. What the agent said counts however
    /// the turn ended.
    pub(super) fn lost_turn(&self, current: &Current, started: Timestamp) -> Result<TurnSummary, RunError> {
        let folder = folder_of(self.site, current);
        let written = folder.time_written();
        let Some(transcript) = folder.lost_transcript()? else {
            return Ok(TurnSummary::lost());
        };
        let prompt = folder.read("prompt.md").unwrap_or_default();
        let run = self.store.run(&current.run)?;
        let agent = run.as_ref().map_or("", |run| run.begun.agent.as_str());
        let beating = run.as_ref().map(|run| run.heartbeat.duration_since(started));
        let beating = beating.and_then(|time| Duration::try_from(time).ok());
        let time = beating.max(written).unwrap_or_default();
        Ok(TurnSummary {
            end: TurnEnd::Stopped,
            cause: Some(StopCause::RalphDied),
            // Control messages were handled during the turn, or are lost.
            control: Control::default(),
            ..summary(
                &self.work_root(current),
                replay(agent, || transcript::printed(&transcript)),
                &prompt,
                time,
            )
        })
    }
}

/// Forwards an event to the run, which may already be over.
pub(super) fn forward(sender: &Sender<Incoming>, event: TurnEvent) {
    let is_long = match &event {
        TurnEvent::Line(text) | TurnEvent::Text(text) => text.len() > MAX_QUEUED_BYTES,
        _ => false,
    };
    if is_long {
        let (waits, looked_at) = sync_channel(0);
        drop(sender.send(Incoming::LongTurn(event, waits)));
        while looked_at.recv().is_ok() {}
    } else {
        drop(sender.send(Incoming::Turn(event)));
    }
}

/// The warning about processes that could not be killed.
pub(super) fn survivors_warning(pids: &[u32]) -> Option<String> {
    let pids: Vec<String> = pids.iter().map(|pid| format!("pid {pid}")).collect();
    (!pids.is_empty()).then(|| {
        format!(
            "Could not stop processes of the agent that belong to another user: {}",
            pids.join(", ")
        )
    })
}

/// Builds the summary of a turn.
fn summary(root: &Path, end: EndOfTurn, prompt: &str, duration: Duration) -> TurnSummary {
    let (control, malformed) = read_control(end.final_messages(), prompt);
    let mut captured = read_captured(&end.messages, prompt, root);
    captured.malformed = captured.malformed.saturating_add(malformed);
    let (spoke, last_words) = (end.spoke(), last_words(&end.messages, prompt));
    let mut denials = end.denials;
    for denial in &mut denials {
        denial.tool = clean(&denial.tool, TOOL_CHARACTERS);
        denial.about = clean(&denial.about, DENIAL_CHARACTERS);
        denial.permit = denial.permit.as_ref().map(|line| clean(line, DENIAL_CHARACTERS));
    }
    TurnSummary {
        end: cleaned(end.end),
        cause: None,
        limit: None,
        guidance: None,
        no_room: false,
        control,
        captured,
        spoke,
        hint: end.hint,
        last_words,
        denials,
        usage: end.usage,
        writes: end
            .writes
            .iter()
            .filter_map(|path| inside(root, path))
            .map(|file| recorded_name(&file))
            .collect(),
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        session: end.session.map(|session| clean(&session, SESSION_CHARACTERS)),
    }
}

/// The end with secrets masked in its text.
pub(super) fn cleaned(end: TurnEnd) -> TurnEnd {
    let clean = |text: String| clean(&text, END_CHARACTERS);
    match end {
        TurnEnd::Refusal(text) => TurnEnd::Refusal(clean(text)),
        TurnEnd::Crash(text) => TurnEnd::Crash(clean(text)),
        TurnEnd::Garbage(text) => TurnEnd::Garbage(clean(text)),
        TurnEnd::ContextOverflow(text) => TurnEnd::ContextOverflow(clean(text)),
        TurnEnd::Transient(text) => TurnEnd::Transient(clean(text)),
        TurnEnd::Auth(text) => TurnEnd::Auth(clean(text)),
        TurnEnd::Billing(text) => TurnEnd::Billing(clean(text)),
        TurnEnd::UsageLimit { resets_at, message } => TurnEnd::UsageLimit {
            resets_at,
            message: clean(message),
        },
        TurnEnd::Finished | TurnEnd::TokenLimit | TurnEnd::TurnLimit | TurnEnd::OutputLimit | TurnEnd::Stopped => end,
    }
}

/// The path relative to the project's root; `None` if it is outside.
pub(super) fn inside(root: &Path, path: &Path) -> Option<String> {
    let absolute = root.join(path);
    let inside = absolute.strip_prefix(root).ok()?;
    Some(inside.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surviving_processes_are_named() {
        assert_eq!(survivors_warning(&[]), None);
        assert_eq!(
            survivors_warning(&[7, 12]).unwrap(),
            "Could not stop processes of the agent that belong to another user: pid 7, pid 12"
        );
    }
}
