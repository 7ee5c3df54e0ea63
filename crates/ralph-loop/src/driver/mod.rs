//! The driver: performs the effects of the state machine one by one and reports the results. Everything concurrent (the
//! agent, the gates, signals) reports through one channel.

mod before;
mod ending;
mod error;
mod examine;
#[cfg(feature = "faults")]
mod faults;
mod full_disk;
mod guidance;
mod incoming;
mod interrupter;
mod isolate;
mod prepare;
mod recover;
mod settlement;
mod turn;
mod upkeep;
mod verify;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ralph_agent::RunningTurn;
use ralph_memory::capture::TranscriptCleaner;
use ralph_memory::inject::prompt::AttemptNumber;
use ralph_model::{Author, Entropy, RunId, TaskId};
use ralph_process::StopHandle;
use ralph_store::{NewRun, Store};

use crate::basis::GitPrograms;
use crate::changes::{ProjectFiles, Refs, Snapshot};
use crate::checkout::Base;
use crate::guide::Attendance;
use crate::heartbeat::{ClockReading, Heartbeat};
use crate::inbox::{Inbox, Sender, inbox};
use crate::site::{Order, Site};
use crate::state::{Current, Effect, End, Event, Input, Notice, Place, Plan, State};
use crate::stopwatch::Stopwatch;
use crate::transcript::Transcript;
use crate::watch::{RunBegan, RunEvent, Watch};
use full_disk::Begun;
use incoming::Incoming;
use interrupter::PendingInputs;

pub use error::RunError;
#[cfg(feature = "faults")]
pub use faults::Faults;
pub use interrupter::Interrupter;

pub struct Runner<'a> {
    site: &'a Site<'a>,
    order: Order,
    store: Store,
    run: RunId,
    entropy: &'a mut dyn Entropy,
    watch: &'a mut dyn Watch,
    sender: Sender<Incoming>,
    incoming: Inbox<Incoming>,
    stopwatch: Stopwatch,
    clock_reading: ClockReading,
    /// The iteration whose agent is prepared or running.
    turn: Option<Turn>,
    stop_gates: StopHandle,
    /// Requests from other threads.
    pending_inputs: Arc<PendingInputs>,
    /// Whether the user gave guidance on the last turn.
    guided: bool,
    give_up: StopHandle,
    /// The thread that examines a turn or runs the gates.
    examiner: Option<JoinHandle<()>>,
    /// The tasks that were open when the run began.
    open_at_start: BTreeSet<TaskId>,
    /// The last end to be recorded, with its sentence.
    sentence: Option<(End, String)>,
    /// The programs that git ran automatically when the run began.
    programs_at_start: GitPrograms,
    /// Snapshots from before this run's first attempt at each task in the project itself.
    before_tasks: BTreeMap<TaskId, Snapshot>,
    /// The reference on which work of checkouts lands.
    base: Option<Base>,
    /// The claims of other runs that were last reported.
    busy: Vec<(TaskId, RunId)>,
    #[cfg(feature = "faults")]
    faults: Option<&'a mut dyn Faults>,
}

/// A run that panics waits for its thread, so that it does not interfere with the next run in this process.
impl Drop for Runner<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A closed queue blocks no sender.
            self.incoming = inbox().1;
            drop(self.examiner.take().map(JoinHandle::join));
        }
    }
}

/// A running turn.
struct Turn {
    current: Current,
    role: Role,
    prompt: String,
    transcript: Option<Transcript>,
    /// Cleans the text of the agent.
    cleaner: TranscriptCleaner,
    /// Whether missing lines have been reported.
    lines_missing: bool,
    running: Option<Box<dyn RunningTurn>>,
    started: Instant,
}

enum Role {
    Worker {
        attempt: AttemptNumber,
        /// How many notes and journal entries the prompt contains.
        shown: usize,
    },
    /// Verifies the work; must leave the files unchanged.
    Verifier(Box<VerifierSession>),
}

struct VerifierSession {
    agent: String,
    files: ProjectFiles,
    before: Snapshot,
    /// Where branches pointed, or why that is unknown.
    refs: Result<Refs, String>,
    /// The programs that git runs automatically.
    programs: GitPrograms,
    /// Whether an earlier verification of this task was already excused for a change by someone else.
    forgiven_before: bool,
}

impl<'a> Runner<'a> {
    /// Prepares a run. The worktree lock must be held.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn new(
        site: &'a Site<'a>,
        order: Order,
        entropy: &'a mut dyn Entropy,
        watch: &'a mut dyn Watch,
    ) -> Result<Self, RunError> {
        let mut store = Store::open_or_create(&site.database)?;
        let (sender, incoming) = inbox();
        let run = RunId::new(entropy.next_bits());
        store.act_as(Author {
            run: Some(run.clone()),
            ..Author::RALPH
        });
        Ok(Self {
            site,
            order,
            store,
            run,
            entropy,
            watch,
            sender,
            incoming,
            stopwatch: Stopwatch::start(),
            clock_reading: ClockReading::at(site.clock.now()),
            turn: None,
            stop_gates: StopHandle::default(),
            pending_inputs: Arc::default(),
            guided: false,
            give_up: StopHandle::default(),
            examiner: None,
            open_at_start: BTreeSet::new(),
            sentence: None,
            programs_at_start: GitPrograms::default(),
            before_tasks: BTreeMap::new(),
            base: None,
            busy: Vec::new(),
            #[cfg(feature = "faults")]
            faults: None,
        })
    }

    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.run
    }

    /// A handle for requests from other threads.
    #[must_use]
    pub fn interrupter(&self) -> Interrupter {
        Interrupter::new(&self.pending_inputs, &self.sender)
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// When not even its beginning can be put on record.
    pub fn run(mut self) -> Result<End, RunError> {
        if self.begin_when_possible()? == Begun::Stopped {
            let end = End::Interrupted;
            self.report_end(&end, &end.sentence(), (0, &[]));
            return Ok(end);
        }
        let _heartbeat = self.start_heartbeat()?;
        let (mut state, effects) = State::begin(self.plan());
        let mut open: VecDeque<Effect> = effects.into();
        loop {
            while let Some(effect) = open.pop_front() {
                let input = self.perform_with_retries(&state, &effect);
                #[cfg(feature = "faults")]
                self.after(&effect);
                // A stop request during the effect comes before its result.
                self.step_pending_inputs(&mut state, &mut open);
                match input {
                    Ok(None) => {}
                    Ok(Some(what)) => open.extend(self.step(&mut state, what)),
                    Err(error) => {
                        self.give_guidance_back(&effect);
                        // The remaining effects depended on this one.
                        open.clear();
                        let what = match error {
                            RunError::DiskFullTimeout(reason) => Input::DiskFullTimeout(reason),
                            error => Input::Failed(error.to_string()),
                        };
                        open.extend(self.step(&mut state, what));
                    }
                }
            }
            self.step_pending_inputs(&mut state, &mut open);
            if !open.is_empty() {
                continue;
            }
            if let Some(end) = state.end() {
                let iterations = state.iterations();
                // If recording it failed, the run ended differently.
                let recorded = self.sentence.take().filter(|(recorded, _)| recorded == end);
                let sentence = recorded.map_or_else(|| end.sentence(), |(_, sentence)| sentence);
                // Only for display, so an unreadable database is no failure.
                let notes = self.store.notes_by_agents(&self.run).unwrap_or_default();
                self.report_end(end, &sentence, (iterations, &notes));
                return Ok(end.clone());
            }
            if let Some(input) = self.wait(state.deadline()) {
                open.extend(self.step(&mut state, input));
            }
        }
    }

    /// Starts the heartbeat. If the database is broken, the agent's work cannot be recorded.
    fn start_heartbeat(&self) -> Result<Heartbeat, RunError> {
        let sender = self.sender.clone();
        let broken = move |reason| drop(sender.send(Incoming::Broken(reason)));
        Ok(Heartbeat::start(
            &self.site.database,
            &self.run,
            &self.clock_reading,
            broken,
        )?)
    }

    fn step(&self, state: &mut State, what: Input) -> Vec<Effect> {
        let (at, now) = (self.stopwatch.elapsed(), self.site.clock.now());
        let slept = self.slept();
        self.clock_reading.update(now);
        state.step(Event { at, now, slept, what })
    }

    /// How long the computer has slept, if there is a time limit.
    fn slept(&self) -> Duration {
        match self.site.config.limits.wall_clock {
            Some(_) => self.stopwatch.slept(),
            None => Duration::ZERO,
        }
    }

    fn begin(&mut self) -> Result<(), RunError> {
        let site = self.site;
        self.open_at_start = self.store.open_tasks(&self.order.scope)?;
        // A start that fails on a full disk is repeated, so the run is recorded last.
        self.begin_isolated()?;
        self.store.begin_run(&NewRun {
            id: self.run.clone(),
            agent: self.order.agent.name().to_owned(),
            goal: self.order.goal.clone(),
            worktree: site.worktree.clone(),
            branch: site.branch.clone(),
            commit: site.commit.clone(),
            process: site.process.clone(),
            started_at: site.clock.now(),
        })?;
        self.programs_at_start = GitPrograms::of(&site.root);
        self.watch
            .tell(&RunEvent::Began(RunBegan::new(&self.run, &self.order, site)));
        self.report_counts()
    }

    fn plan(&mut self) -> Plan {
        let config = self.site.config;
        Plan {
            run: self.run.clone(),
            models: config.agent.models.clone(),
            model: self.order.model.clone(),
            strategy: config.strategy.name.unwrap_or_default(),
            escalate_after: config.strategy.escalate_after,
            limits: config.limits,
            place: match self.site.isolation {
                Some(_) => Place::Checkout,
                None => Place::Project,
            },
            commit: config.git.commit,
            has_gates: !config.verify.commands.is_empty(),
            verifier: self.order.verifier_kind(),
            unverified: config.verify.unverified,
            wait_times: self.order.wait_times,
            first_try: self.order.first_try,
            attendance: match self.order.guide {
                Some(_) => Attendance::Attended,
                None => Attendance::Unattended,
            },
            seed: self.entropy.next_bits(),
            rules: self.site.rules.clone(),
            only_task: self.order.only_task.clone(),
        }
    }

    /// Passes pending requests to the state machine.
    fn step_pending_inputs(&mut self, state: &mut State, open: &mut VecDeque<Effect>) {
        while let Some(input) = self.pending_inputs.next() {
            let is_guidance = input == Input::GuidanceWanted;
            let before = state.interrupts();
            open.extend(self.step(state, input));
            if is_guidance && state.interrupts() > before {
                self.pending_inputs.guidance_is_a_press();
            }
        }
    }

    /// Performs an effect and returns its result, or `None` if that arrives later.
    fn perform(&mut self, effect: &Effect) -> Result<Option<Input>, RunError> {
        let now = self.site.clock.now();
        Ok(Some(match effect {
            Effect::Recover => Input::Recovered(self.recover()?),
            Effect::Abandon(current) => {
                self.store.abandon_claim(&current.run, now)?;
                Input::Abandoned
            }
            Effect::FinishOutbox => self.finish_outbox()?,
            Effect::Claim { iteration, pauses } => self.claim(*iteration, pauses)?,
            Effect::Count => self.count()?,
            Effect::CheckOut(current) => return self.check_out(current),
            Effect::CommitWork(draft) => return self.commit_work(draft),
            Effect::RecordLanding(draft, commit) => self.record_landing(draft, commit)?,
            Effect::Land(draft, commit) => self.land(draft, commit)?,
            Effect::RunBaseline(current, of) => {
                self.run_baseline(current, *of)?;
                return Ok(None);
            }
            Effect::SaveBaseline(baseline) => {
                self.store.put_baseline(&self.run, &serde_json::to_string(baseline)?)?;
                let gates = baseline.red_gates();
                self.watch.tell(&RunEvent::AlreadyFailing { gates });
                return Ok(None);
            }
            Effect::Prepare {
                current,
                red_gates,
                broken_gates,
            } => self.prepare(current, (red_gates, broken_gates))?,
            Effect::Spawn => self.spawn()?,
            Effect::RecordEnd(summary) => {
                let end = serde_json::to_string(summary)?;
                self.store.record_end(&self.run, &end, summary.session.as_deref())?;
                Input::EndRecorded
            }
            Effect::Examine(what) => {
                self.examine(what)?;
                return Ok(None);
            }
            Effect::Ask(asked) => {
                self.ask(asked)?;
                return Ok(None);
            }
            Effect::RecordGuidance(turn) => self.record_guidance(turn)?,
            Effect::Verify(draft) => self.verify(draft)?,
            Effect::Commit(draft) => return self.commit(draft),
            Effect::WaitForDiskSpace if self.volumes().are_full() => return Err(RunError::disk_full()),
            Effect::WaitForDiskSpace => Input::DiskSpaceFound,
            Effect::Settle(draft) => self.settle(draft)?,
            Effect::EndRun(end) => Input::RunEnded(self.end_run(end)?),
            other @ (Effect::StopAgent
            | Effect::KillAgent
            | Effect::StopGates
            | Effect::CancelQuestion
            | Effect::Resume
            | Effect::Notify(_)
            | Effect::Warn(_)) => {
                self.signal(other);
                return Ok(None);
            }
        }))
    }

    /// Performs an effect that cannot fail and has no result.
    fn signal(&mut self, effect: &Effect) {
        match effect {
            Effect::StopAgent => self.stop_agent(),
            Effect::KillAgent => self.kill_agent(),
            Effect::StopGates => self.stop_gates.stop(),
            Effect::CancelQuestion => self.give_up.stop(),
            Effect::Resume => self.go_on(),
            Effect::Notify(notice) => self.notify(notice),
            Effect::Warn(warning) => self.watch.tell(&RunEvent::Warning(warning)),
            _ => {}
        }
    }

    /// Reports a notice. A run that waits for others looks again all the time, but reports only changes.
    fn notify(&mut self, notice: &Notice) {
        if let Notice::Busy(held) = notice {
            if *held == self.busy {
                return;
            }
            self.busy.clone_from(held);
        }
        self.watch.tell(&RunEvent::Notice(notice));
    }
}
