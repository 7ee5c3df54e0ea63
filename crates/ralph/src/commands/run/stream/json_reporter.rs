//! Reports a run to a program: every run event becomes a JSON line.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ralph_agent::TurnEvent;
use ralph_loop::gates::{Changed, GateResult};
use ralph_loop::state::{End, Notice, PauseWait, PendingSettlement};
use ralph_loop::{IterationFolder, Order, RunEvent, Site, Verification, Watch};
use ralph_memory::capture::{TranscriptCleaner, clean};
use ralph_memory::learn::Upkeep;
use ralph_memory::secrets::mask;
use ralph_model::config::{Bytes, Limits};
use ralph_model::{RunId, TaskId, TaskStatus, Verdict};

use super::{Denied, Event, Held, IterationBegan, LimitsSet, Line, RunBegan, Settled, Verified, Wait, gate_result};
use crate::commands::run::idle::Idle;
use crate::commands::run::live::Live;
use crate::commands::run::notify::Notifier;
use crate::commands::run::printer::{Printer, agent_notes};
use crate::context::Context;
use crate::error::CommandError;

/// The bytes of a text in one event.
const MAX_TEXT: usize = 16 << 10;

/// How often a wait is reported.
const REPORT_INTERVAL: Duration = Duration::from_secs(25);

pub(in crate::commands::run) struct JsonReporter<'a> {
    context: &'a Context<'a>,
    run: Option<RunId>,
    /// The event for the start of the run, prepared before it begins.
    began: Option<RunBegan>,
    /// For the text of the current turn.
    cleaner: TranscriptCleaner,
    /// The command that continues the run.
    again: String,
    last_wait: LastWait,
    has_ended: bool,
}

impl<'a> JsonReporter<'a> {
    pub(in crate::commands::run) fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            run: None,
            began: None,
            cleaner: TranscriptCleaner::default(),
            again: String::new(),
            last_wait: LastWait::default(),
            has_ended: false,
        }
    }

    fn write(&self, event: Event<'_>) {
        let at = self.context.clock().now();
        let run = self.run.as_ref();
        super::write(self.context.ui, &Line { at, run, event });
    }

    /// Prepares the event for the start of the run.
    pub(in crate::commands::run) fn prepare(&mut self, order: &Order, site: &Site<'_>, again: &str) {
        self.again = clean(again, MAX_TEXT);
        let permissions = order.agent.permissions(site.config.agent.permissions);
        self.began = Some(RunBegan {
            agent: order.agent.name().to_owned(),
            goal: order.goal.clone(),
            permissions: permissions.map(|permissions| permissions.to_string()),
            gates: site
                .config
                .verify
                .commands
                .iter()
                .map(|gate| mask(gate).into_owned())
                .collect(),
            verifier: order.verifying_agent().map(|agent| agent.name().to_owned()),
            limits: site.config.limits.into(),
            worktree: site.worktree.clone(),
            branch: site.branch.clone(),
            commit: site.commit.clone(),
            pid: site.process.pid,
        });
    }

    pub(in crate::commands::run) fn nothing_began(&self, idle: &Idle) -> ExitCode {
        self.write(Event::NothingBegan {
            sentence: &idle.why,
            hint: &idle.hint,
            exit_code: idle.code,
        });
        ExitCode::from(idle.code)
    }

    /// Reports why the command failed, unless the end of the run was already reported.
    pub(in crate::commands::run) fn failed(&self, error: &CommandError) {
        if let Some((message, hint)) = error.lines().filter(|_| !self.has_ended) {
            let exit_code = error.code();
            self.write(Event::Error {
                message,
                hint,
                exit_code,
            });
        }
    }

    fn begins(&mut self, run: &RunId) {
        self.run = Some(run.clone());
        if let Some(began) = &self.began {
            self.write(Event::RunBegan(began));
        }
    }

    fn folder(&self, run: &RunId, iteration: u32) -> String {
        let folder = IterationFolder::of(&self.context.project.runs(), run, iteration);
        self.context.project.shown(folder.path()).to_string()
    }

    fn shown(&self, file: &Path) -> String {
        self.context.project.shown(file).to_string()
    }

    fn gate(&self, gate: &GateResult) {
        let (result, status) = gate_result(&gate.end);
        self.write(Event::GateRan {
            command: &gate.command,
            result,
            status,
            output: &gate.output,
            duration_ms: gate.duration_ms,
        });
    }

    fn agent(&mut self, event: &TurnEvent, role: Role) {
        match event {
            TurnEvent::Text(text) => {
                let cleaned = self.cleaner.clean_text(text);
                let text = cleaned.get(..cleaned.floor_char_boundary(MAX_TEXT)).unwrap_or_default();
                let left_out_bytes = cleaned.len() - text.len();
                let event = match role {
                    Role::Worker => Event::Text { text, left_out_bytes },
                    Role::Verifier => Event::VerifierText { text, left_out_bytes },
                };
                self.write(event);
            }
            TurnEvent::Tool { name, about } => self.write(match role {
                Role::Worker => Event::Tool { name, about },
                Role::Verifier => Event::VerifierTool { name, about },
            }),
            TurnEvent::Used(usage) => self.write(match role {
                Role::Worker => Event::Usage(*usage),
                Role::Verifier => Event::VerifierUsage(*usage),
            }),
            // The transcript has the lines, and the settlement has the end.
            TurnEvent::Line(_) | TurnEvent::MessageBegins | TurnEvent::Alive | TurnEvent::Ended(_) => {}
        }
    }

    fn pruned(&self, folders: u64, bytes: u64) {
        self.write(Event::Pruned { folders, bytes });
    }

    fn found_left(&self, left_run: &RunId, iteration: u32, processes_ended: usize) {
        self.write(Event::FoundLeft {
            left_run,
            iteration,
            processes_ended,
        });
    }

    fn kept_up(&self, done: &Upkeep) {
        self.write(Event::KeptUp {
            merged: done.merged,
            into: done.into,
            pruned: done.pruned,
            reports_shortened: done.shortened,
        });
    }

    fn wrote(&self, file: &Path) {
        self.write(Event::WroteNote { path: self.shown(file) });
    }

    fn verified(&self, found: &Verification) {
        let (verdict, reason) = match &found.verdict {
            Some(Verdict::Pass) => (Some("pass"), None),
            Some(Verdict::Fail(why)) => (Some("fail"), Some(why.as_str())),
            None => (None, None),
        };
        self.write(Event::Verified(Verified {
            agent: &found.agent,
            passes: found.passes(),
            verdict,
            reason,
            changed_files: &found.changed,
            spent: found.usage,
            duration_ms: found.duration_ms,
        }));
    }

    fn settled(&self, draft: &PendingSettlement, task_status: Option<TaskStatus>, duration: Duration) {
        let (current, decision, turn) = (&draft.current, &draft.decision, &draft.turn);
        let denied = turn.denials.iter().map(|denial| Denied {
            tool: &denial.tool,
            about: &denial.about,
            permit: denial.permit.as_deref(),
        });
        let commit = draft.commit.as_ref();
        self.write(Event::Settled(Box::new(Settled {
            iteration_run: &current.run,
            iteration: current.iteration,
            task: &current.task,
            title: &current.task_title,
            outcome: decision.outcome,
            stop_reason: decision.stop,
            reason: &decision.reason,
            guidance: turn.guidance.as_deref(),
            task_status,
            files: &draft.files,
            changed_nothing: draft.changed == Changed::Nothing,
            evidence: draft.evidence(),
            unverified: draft.unverified.as_ref(),
            spent: draft.usage(),
            duration_ms: duration.as_millis(),
            commit: commit.and_then(|made| made.as_deref().ok()),
            commit_error: commit.and_then(|made| made.as_deref().err()).map(String::as_str),
            denied: denied.collect(),
            folder: self.folder(&current.run, current.iteration),
        })));
    }

    fn ended(&mut self, end: &End, sentence: &str, iterations: u32) {
        self.has_ended = true;
        let goes_on = !matches!(end, End::Complete | End::NothingToDo);
        self.write(Event::RunEnded {
            end: word_of(end),
            limit: limit_of(end),
            again: goes_on.then_some(self.again.as_str()),
            sentence,
            exit_code: end.code(),
            iterations,
            agent_notes: agent_notes(self.context, self.run.as_ref())
                .into_iter()
                .map(Into::into)
                .collect(),
        });
    }

    fn notice(&mut self, notice: &Notice) {
        if !self.last_wait.is_due(notice) {
            return;
        }
        self.write(match notice {
            Notice::Busy(held) => Event::Busy {
                held: held.iter().map(|(task, run)| Held { task, run }).collect(),
            },
            Notice::Waits(wait) => Event::Waits(wait.into()),
            Notice::StillWaits(wait) => Event::StillWaits(wait.into()),
            Notice::UnknownModel(model) => Event::UnknownModel { model },
            Notice::CompleteTooEarly => Event::CompleteTooEarly,
            // With `--json` the user is not asked.
            Notice::WillAsk => return,
        });
    }
}

#[derive(Debug, Clone, Copy)]
enum Role {
    Worker,
    Verifier,
}

/// The last report of a wait, which polls the clock and other runs all the time.
#[derive(Debug, Default)]
struct LastWait {
    busy: Vec<(TaskId, RunId)>,
    /// The time left.
    left: Duration,
}

impl LastWait {
    fn is_due(&mut self, notice: &Notice) -> bool {
        match notice {
            Notice::Busy(held) if *held == self.busy => return false,
            Notice::Busy(held) => self.busy.clone_from(held),
            Notice::StillWaits(wait) if self.left.saturating_sub(wait.left) < REPORT_INTERVAL => return false,
            Notice::Waits(wait) | Notice::StillWaits(wait) => self.left = wait.left,
            Notice::UnknownModel(_) | Notice::CompleteTooEarly | Notice::WillAsk => {}
        }
        true
    }
}

impl Watch for JsonReporter<'_> {
    fn tell(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Began { run } => self.begins(run),
            RunEvent::FoundLeftover { run, iteration, killed } => self.found_left(run, *iteration, *killed),
            RunEvent::AlreadyFailing(baseline) => self.write(Event::RedFromTheStart {
                gates: baseline.red_gates(),
            }),
            RunEvent::GateRan(gate) => self.gate(gate),
            RunEvent::Standing(_) | RunEvent::GateBegins(_) => {}
            RunEvent::IterationBegan {
                current,
                attempt,
                prompt,
                shown,
            } => {
                self.cleaner = TranscriptCleaner::default();
                self.last_wait = LastWait::default();
                self.write(Event::IterationBegan(IterationBegan {
                    iteration: current.iteration,
                    task: &current.task,
                    title: &current.task_title,
                    kind: current.kind,
                    attempt: attempt.number,
                    attempts: attempt.of,
                    model: current.model.as_deref(),
                    rationale: &current.rationale,
                    prompt_tokens: prompt.0,
                    notes_shown: *shown,
                    folder: self.folder(&current.run, current.iteration),
                }));
            }
            // With `--json` the user is not asked; earlier guidance is reported with the settlement.
            RunEvent::AskingGuidance(_) | RunEvent::GuidanceAnswered(_) => {}
            RunEvent::Agent(event) => self.agent(event, Role::Worker),
            RunEvent::VerifierBegan { current, agent, prompt } => {
                self.cleaner = TranscriptCleaner::default();
                let folder = IterationFolder::of(&self.context.project.runs(), &current.run, current.iteration);
                self.write(Event::VerifierBegan {
                    agent,
                    iteration: current.iteration,
                    task: &current.task,
                    prompt_tokens: prompt.0,
                    folder: self.shown(folder.of_verifier().path()),
                });
            }
            RunEvent::VerifierEvent(event) => self.agent(event, Role::Verifier),
            RunEvent::Verified(found) => self.verified(found),
            RunEvent::Settled {
                draft, task, duration, ..
            } => self.settled(draft, *task, *duration),
            RunEvent::WaitingForSubtasks { task, parts } => self.write(Event::WaitsForParts { task, parts: *parts }),
            RunEvent::DoneWithSubtasks(task) => self.write(Event::DoneWithParts { task }),
            RunEvent::Wrote(file) => self.wrote(file),
            RunEvent::KeptScratchpad(file) => self.write(Event::KeptScratchpad { path: self.shown(file) }),
            RunEvent::Pruned { folders, bytes } => self.pruned(*folders, *bytes),
            RunEvent::Learned(done) => self.write(Event::Learned(**done)),
            RunEvent::LearnedEarlier(done) => self.write(Event::LearnedEarlier(**done)),
            RunEvent::UpkeepDone(done) => self.kept_up(done),
            RunEvent::Notice(notice) => self.notice(notice),
            RunEvent::DiskFull(message) => self.write(Event::PausedForRoom { message }),
            RunEvent::Locked(message) => self.write(Event::PausedForLock { message }),
            RunEvent::DiskSpaceFreed | RunEvent::Unlocked => self.write(Event::GoesOn),
            RunEvent::Warning(message) => self.write(Event::Warning { message }),
            RunEvent::Ended {
                end,
                sentence,
                iterations,
            } => self.ended(end, sentence, *iterations),
        }
    }
}

/// Everything that watches a run.
pub(in crate::commands::run) struct Followed<'w, 'a> {
    pub(in crate::commands::run) printer: &'w mut Printer<'a>,
    pub(in crate::commands::run) json_reporter: Option<&'w mut JsonReporter<'a>>,
    pub(in crate::commands::run) live: Option<Live>,
    pub(in crate::commands::run) notifier: Notifier<'w>,
}

impl Watch for Followed<'_, '_> {
    fn tell(&mut self, event: &RunEvent<'_>) {
        if let Some(json_reporter) = &mut self.json_reporter {
            json_reporter.tell(event);
        }
        if let Some(live) = &mut self.live {
            live.tell(event);
        }
        self.printer.tell(event);
        self.notifier.tell(event);
    }

    fn follows_tasks(&self) -> bool {
        self.live.is_some()
    }
}

/// The configuration key of the limit that ended a run.
fn limit_of(end: &End) -> Option<&'static str> {
    match end {
        End::Limit(limit) if !limit.key.is_empty() => Some(limit.key),
        End::NoProgress(_) => Some("no_progress"),
        _ => None,
    }
}

fn word_of(end: &End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::NothingToDo => "nothing_to_do",
        End::NeedsAttention(_) => "left_for_person",
        End::Limit(_) => "limit",
        End::NoProgress(_) => "no_progress",
        End::FailurePromise => "failure_promise",
        End::StoppedAsRequested(_) => "as_wished",
        End::Interrupted => "interrupted",
        End::Error(_) => "error",
    }
}

impl<'a> From<&'a PauseWait> for Wait<'a> {
    fn from(wait: &'a PauseWait) -> Self {
        let pause = &wait.pause.what;
        Self {
            reason: pause.reason.word(),
            message: &pause.said,
            until: wait.until,
            seconds: wait.left.as_secs_f64(),
        }
    }
}

impl From<Limits> for LimitsSet {
    fn from(limits: Limits) -> Self {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        Self {
            iterations: limits.iterations,
            wall_clock_seconds: seconds(limits.wall_clock),
            cost_usd: limits.cost_usd,
            tokens: limits.tokens,
            iteration_seconds: seconds(limits.iteration_time),
            idle_seconds: seconds(limits.idle_time),
            consecutive_failures: limits.consecutive_failures,
            no_progress: limits.no_progress,
            output_bytes: limits.output_bytes.map(|Bytes(bytes)| bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use ralph_store::{NewPause, Pause, PauseReason};

    fn wait(left: u64) -> PauseWait {
        let until = Timestamp::UNIX_EPOCH;
        let what = NewPause {
            reason: PauseReason::UsageLimit,
            until,
            times: 1,
            said: String::new(),
        };
        let pause = Box::new(Pause {
            agent: "claude".to_owned(),
            what,
            run: RunId::new(1),
            created_at: until,
        });
        let left = Duration::from_secs(left);
        PauseWait { pause, until, left }
    }

    #[test]
    fn waits_are_reported_at_intervals_and_other_runs_on_change() {
        let mut last_wait = LastWait::default();
        assert!(last_wait.is_due(&Notice::Waits(wait(3600))));
        let still = (0..3600)
            .rev()
            .filter(|left| last_wait.is_due(&Notice::StillWaits(wait(*left))));
        assert_eq!(still.count(), 144);
        let held = |run| Notice::Busy(vec![(TaskId::new(1), RunId::new(run))]);
        let due = [1, 1, 1, 2, 2, 1].map(|run| last_wait.is_due(&held(run)));
        assert_eq!(due, [true, false, false, true, false, true]);
    }
}
