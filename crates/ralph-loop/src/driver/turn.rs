//! The agent's turn: its start, what it says on the way, its end.

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
use crate::inbox::Sender;
use crate::room::is_full;
use crate::state::{Current, Happening, Place};
use crate::strategy::on_the_ladder;
use crate::summary::{StopCause, TurnSummary};
use crate::transcript::{self, Transcript};
use crate::watch::News;

/// Whoever tells of a text that is longer than this waits until it is looked at, so that there is never more than one.
const WAITING_BYTES: usize = 64 << 10;
/// How long an agent that was killed may take to be gone.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// The most that is kept of a tool's name, in characters.
const TOOL_CHARACTERS: usize = 100;
/// The most that is kept of what an agent says was denied, in characters.
const DENIAL_CHARACTERS: usize = 300;
/// The most that is kept of its name for a session, in characters.
pub(super) const SESSION_CHARACTERS: usize = 200;
/// The most that is kept of what it says about its end, in characters.
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
    /// Starts the agent that is prepared, unless it is started already and only not on record.
    pub(super) fn spawn(&mut self) -> Result<Happening, RunError> {
        let process = match self.turn.as_ref().and_then(|turn| turn.running.as_ref()) {
            Some(running) => running.process(),
            None => self.start_agent()?,
        };
        self.store.record_agent(&self.run, process.0, process.1)?;
        // What is told to have begun is settled: until now the claim could be taken back.
        if let Some(turn) = &self.turn
            && let Role::Works { attempt, shown } = turn.role
        {
            self.watch.tell(&News::IterationBegan {
                current: &turn.current,
                attempt,
                prompt: Tokens::of_characters(turn.prompt.chars().count()),
                shown,
            });
        }
        Ok(Happening::Spawned)
    }

    /// Starts the agent; its pid and its start are the answer.
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
            Box::new(move |event| pass_on(&sender, event)),
        );
        let running = match started {
            Ok(running) => running,
            Err(error) => {
                // No agent, no iteration: nothing must look as if there had been one.
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
                let warning = format!("There will be no transcript: {error}");
                self.watch.tell(&News::Warning(&warning));
            }
        }
        Ok(process)
    }

    /// Makes sure that no agent outlives the run: one that still works when the run has to end is killed, and its end seen.
    pub(super) fn see_the_agent_off(&mut self) {
        let Some(mut running) = self.turn.as_mut().and_then(|turn| turn.running.take()) else {
            return;
        };
        running.kill();
        let begun = Instant::now();
        while let Some(left) = LAST_WAIT.checked_sub(begun.elapsed()) {
            match self.incoming.recv(Some(left)) {
                Some(Incoming::Turn(TurnEvent::Ended(_))) | None => return,
                Some(_) => {}
            }
        }
    }

    /// Asks the agent to end.
    pub(super) fn stop_agent(&mut self) {
        if let Some(running) = self.turn.as_mut().and_then(|turn| turn.running.as_mut()) {
            running.stop();
        }
    }

    /// Makes the agent end.
    pub(super) fn kill_agent(&mut self) {
        if let Some(running) = self.turn.as_mut().and_then(|turn| turn.running.as_mut()) {
            running.kill();
        }
    }

    /// The agent did something.
    pub(super) fn turn_event(&mut self, event: TurnEvent) -> Option<Happening> {
        let event = match event {
            TurnEvent::Tool { name, about } => TurnEvent::Tool {
                name: clean(&name, TOOL_CHARACTERS),
                about: clean(&about, DENIAL_CHARACTERS),
            },
            other => other,
        };
        let looks = self
            .turn
            .as_ref()
            .is_some_and(|turn| matches!(turn.role, Role::Looks(_)));
        self.watch.tell(&if looks {
            News::VerifierDid(&event)
        } else {
            News::Agent(&event)
        });
        match event {
            TurnEvent::Line(line) => {
                self.write_down(&line);
                Some(Happening::Sign)
            }
            TurnEvent::MessageBegins | TurnEvent::Text(_) | TurnEvent::Tool { .. } | TurnEvent::Alive => {
                Some(Happening::Sign)
            }
            TurnEvent::Used(usage) => Some(Happening::Used(usage)),
            TurnEvent::Ended(end) if looks => Some(self.verification_of(*end)),
            TurnEvent::Ended(end) => Some(Happening::TurnEnded(Box::new(self.summary_of(*end)))),
        }
    }

    fn write_down(&mut self, line: &str) {
        let Some(turn) = &mut self.turn else { return };
        let Some(transcript) = &mut turn.transcript else { return };
        if let Err(error) = transcript.line(line) {
            self.transcript_failed(&error);
        }
    }

    /// Hands what is written down over to the system.
    pub(super) fn flush_transcript(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let Some(transcript) = &mut turn.transcript else { return };
        if let Err(error) = transcript.flush() {
            self.transcript_failed(&error);
        }
    }

    /// What had no room is missing in the transcript, and said once; after any other error there is no more of it.
    fn transcript_failed(&mut self, error: &std::io::Error) {
        let Some(turn) = &mut self.turn else { return };
        let warning = if !is_full(error) {
            turn.transcript = None;
            format!("The transcript cannot be written any further: {error}")
        } else if turn.lines_missing {
            return;
        } else {
            turn.lines_missing = true;
            format!("What the agent prints is missing in its transcript until there is room: {error}")
        };
        self.watch.tell(&News::Warning(&warning));
    }

    /// The folder in which the agent works.
    fn root_of_turn(&self) -> PathBuf {
        match &self.turn {
            Some(turn) => self.work_root(&turn.current),
            None => self.site.root.clone(),
        }
    }

    /// What is kept of a turn that is over.
    fn summary_of(&mut self, end: EndOfTurn) -> TurnSummary {
        if let Some(warning) = not_ended(&end.left_running) {
            self.watch.tell(&News::Warning(&warning));
        }
        let root = &self.root_of_turn();
        let places = self.places();
        let Some(turn) = &mut self.turn else {
            return summary(root, end, "", Duration::ZERO);
        };
        turn.running = None;
        // One that cannot be closed now is joined with the settlement, which says so where it cannot either.
        let _closed = turn.transcript.take().map(Transcript::close);
        let mut summary = summary(root, end, &turn.prompt, turn.started.elapsed());
        let wish = summary.control.next_model.as_deref();
        if wish.is_some_and(|wish| on_the_ladder(&self.site.config.agent.models, wish).is_none()) {
            summary.captured.malformed = summary.captured.malformed.saturating_add(1);
        }
        let is_deleted = turn.current.place == Place::Checkout && !root.is_dir();
        if is_deleted {
            summary.end = TurnEnd::Crash("it deleted the folder that it worked in".to_owned());
        }
        let Some(turn) = &self.turn else { return summary };
        let task = turn.current.task.as_str();
        summary.no_room = !summary.control.done.iter().any(|id| id == task) && places.are_full();
        summary
    }

    /// What is known of a turn of a dead run whose end nobody saw: what the agent had said counts whatever way it ended.
    pub(super) fn lost_turn(&self, current: &Current, started: Timestamp) -> Result<TurnSummary, RunError> {
        let folder = folder_of(self.site, current);
        let written = folder.time_written();
        let Some(transcript) = folder.lost_transcript()? else {
            return Ok(TurnSummary::lost());
        };
        let prompt = folder.read("prompt.md").unwrap_or_default();
        let run = self.store.run(&current.run)?;
        let agent = run.as_ref().map_or("", |run| run.begun.agent.as_str());
        let told = run.as_ref().map(|run| run.heartbeat.duration_since(started));
        let told = told.and_then(|time| Duration::try_from(time).ok());
        let time = told.max(written).unwrap_or_default();
        Ok(TurnSummary {
            end: TurnEnd::Stopped,
            cause: Some(StopCause::RalphDied),
            // What it said to the loop was said on the way, or nobody can tell any more.
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

/// Passes an event on to the run. Nobody listens any more when that is over.
pub(super) fn pass_on(sender: &Sender<Incoming>, event: TurnEvent) {
    let is_long = match &event {
        TurnEvent::Line(text) | TurnEvent::Text(text) => text.len() > WAITING_BYTES,
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

/// What is told of processes that are still there.
pub(super) fn not_ended(pids: &[u32]) -> Option<String> {
    let pids: Vec<String> = pids.iter().map(|pid| format!("pid {pid}")).collect();
    (!pids.is_empty()).then(|| {
        format!(
            "Processes of the agent could not be ended, because they belong to another user: {}",
            pids.join(", ")
        )
    })
}

/// What is kept of a turn.
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

/// An end whose words are without secrets.
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

/// A path from the project's root; none for one outside of it.
pub(super) fn inside(root: &Path, path: &Path) -> Option<String> {
    let absolute = root.join(path);
    let inside = absolute.strip_prefix(root).ok()?;
    Some(inside.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_ended_is_named() {
        assert_eq!(not_ended(&[]), None);
        assert_eq!(
            not_ended(&[7, 12]).unwrap(),
            "Processes of the agent could not be ended, because they belong to another user: pid 7, pid 12"
        );
    }
}
