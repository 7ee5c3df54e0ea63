//! Does what the state machine says, one effect after the other, and tells it what happened. All that goes on by itself,
//! the agent, the gates, a signal, reports through one channel.

mod examine;
mod prepare;
mod recover;
mod settlement;
mod turn;

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ralph_agent::{RunningTurn, StartError, TurnEvent};
use ralph_memory::catalogue::CatalogueError;
use ralph_model::{Entropy, RunId};
use ralph_process::StopHandle;
use ralph_store::{NewRun, Store, StoreError};

use crate::gates::{Baseline, GateResult};
use crate::run_folder::{Transcript, program_folder, remove_scratch_folder};
use crate::site::{LEASE, Order, Site};
use crate::state::{Current, Effect, End, Event, Examined, Happening, Plan, State};
use crate::watch::{News, Survival, Watch};

/// How many events may wait. Whoever tells more has to wait itself, so that a flood of output does not fill the memory.
const WAITING_EVENTS: usize = 16;
/// How often a run says that it goes on: often enough that one lost sign does not cost its claims.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Why an effect could not be done.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The notes.
    #[error(transparent)]
    Notes(#[from] CatalogueError),
    /// The folder of the run, or a file in it.
    #[error("cannot write the folder of the run: {0}")]
    Folder(#[from] std::io::Error),
    /// The agent.
    #[error(transparent)]
    Agent(#[from] StartError),
    /// What is on record cannot be written or read as JSON.
    #[error("the record of the iteration: {0}")]
    Record(#[from] serde_json::Error),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

/// What comes in by itself.
enum Incoming {
    Turn(TurnEvent),
    Baseline {
        results: Vec<GateResult>,
        left: Option<Baseline>,
    },
    Gate(GateResult),
    Examined(Result<Examined, String>),
    Interrupt,
}

/// A way to interrupt a run from another thread, as Ctrl+C does.
#[derive(Debug, Clone)]
pub struct Interrupter(SyncSender<Incoming>);

impl Interrupter {
    /// Interrupts. The first stops the turn and the run in good order, the second at once.
    pub fn interrupt(&self) {
        // A run that is over needs no interrupting.
        drop(self.0.send(Incoming::Interrupt));
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Finish {
    /// It came to an end.
    Ended {
        /// The run.
        run: RunId,
        /// How it ended.
        end: End,
        /// How many iterations it had.
        iterations: u32,
    },
    /// It died where a test wanted it to.
    Died,
}

/// A run that can be started.
pub struct Runner<'a> {
    site: &'a Site<'a>,
    order: Order,
    store: Store,
    run: RunId,
    entropy: &'a mut dyn Entropy,
    watch: &'a mut dyn Watch,
    sender: SyncSender<Incoming>,
    incoming: Receiver<Incoming>,
    begun: Instant,
    last_sign: Instant,
    /// The iteration whose agent is prepared or works.
    turn: Option<Turn>,
    stop_gates: StopHandle,
    /// Who looks at what a turn has left, and asks the gates.
    examiner: Option<JoinHandle<()>>,
    /// The random word of the iteration that was claimed last.
    marker: String,
    /// Those of the iterations that dead runs have left.
    markers_left: BTreeMap<RunId, String>,
}

/// An agent's turn, as the driver sees it.
struct Turn {
    current: Current,
    prompt: String,
    marker: String,
    transcript: Option<Transcript>,
    running: Option<Box<dyn RunningTurn>>,
    started: Instant,
}

impl<'a> Runner<'a> {
    /// A run at a site. The worktree's lock must be held.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn new(
        site: &'a Site<'a>,
        order: Order,
        entropy: &'a mut dyn Entropy,
        watch: &'a mut dyn Watch,
    ) -> Result<Self, RunError> {
        let store = Store::open_or_create(&site.database)?;
        let (sender, incoming) = sync_channel(WAITING_EVENTS);
        let run = RunId::new(entropy.next_bits());
        Ok(Self {
            site,
            order,
            store,
            run,
            entropy,
            watch,
            sender,
            incoming,
            begun: Instant::now(),
            last_sign: Instant::now(),
            turn: None,
            stop_gates: StopHandle::default(),
            examiner: None,
            marker: String::new(),
            markers_left: BTreeMap::new(),
        })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.run
    }

    /// A way to interrupt it.
    #[must_use]
    pub fn interrupter(&self) -> Interrupter {
        Interrupter(self.sender.clone())
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When not even its beginning can be put on record.
    pub fn run(mut self) -> Result<Finish, RunError> {
        self.begin()?;
        let (mut state, effects) = State::begin(self.plan());
        let mut open: VecDeque<Effect> = effects.into();
        loop {
            while let Some(effect) = open.pop_front() {
                let happening = self
                    .perform(&effect)
                    .unwrap_or_else(|error| Some(Happening::Failed(error.to_string())));
                if self.watch.survives(&effect) == Survival::Dies {
                    return Ok(self.die());
                }
                if let Some(what) = happening {
                    open.extend(self.step(&mut state, what));
                }
            }
            if let Some(end) = state.end() {
                let iterations = state.iterations();
                self.watch.tell(&News::Ended { end, iterations });
                return Ok(Finish::Ended {
                    run: self.run.clone(),
                    end: end.clone(),
                    iterations,
                });
            }
            let happening = self.wait(state.deadline());
            open.extend(self.step(&mut state, happening));
        }
    }

    /// Leaves everything as it is. Threads die with a process that is killed; here the one that looks at files and asks the
    /// gates comes to its end, so that it does not meddle with what the next run does.
    fn die(self) -> Finish {
        drop(self.incoming);
        if let Some(Err(panic)) = self.examiner.map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        Finish::Died
    }

    /// Puts the end of the run on record. Where all is done, the working notes have served their time.
    fn end_run(&mut self, end: &End) -> Result<(), RunError> {
        let site = self.site;
        self.store
            .end_run(&self.run, &end.sentence(), end.code(), site.clock.now())?;
        // Whoever settles a turn that is not settled yet needs to know what was before it.
        if self.turn.is_none() {
            remove_scratch_folder(&site.runs, &self.run);
        }
        if *end == End::Complete {
            let kept = site.runs.join(self.run.as_str()).join("scratchpad.md");
            if let Err(error) = site.scratchpad.move_to(&kept) {
                let warning = format!("The scratchpad stays where it is: {error}");
                self.watch.tell(&News::Warning(&warning));
            }
        }
        Ok(())
    }

    fn step(&self, state: &mut State, what: Happening) -> Vec<Effect> {
        let at = self.begun.elapsed();
        let (next, effects) = state.clone().step(Event { at, what });
        *state = next;
        effects
    }

    fn begin(&mut self) -> Result<(), RunError> {
        let site = self.site;
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
        program_folder(&site.runs, &self.run, &site.program)?;
        self.watch.tell(&News::Began { run: &self.run });
        Ok(())
    }

    fn plan(&self) -> Plan {
        let config = self.site.config;
        Plan {
            run: self.run.clone(),
            models: config.agent.models.clone(),
            model: self.order.model.clone(),
            strategy: config.strategy.name.unwrap_or_default(),
            limits: config.limits,
            commit: config.git.commit,
            has_gates: !config.verify.commands.is_empty(),
            pace: self.order.pace,
        }
    }

    /// Waits for the next thing that happens by itself, and says in the meantime that the run goes on.
    fn wait(&mut self, deadline: Option<Duration>) -> Happening {
        loop {
            let due = deadline.map(|deadline| deadline.saturating_sub(self.begun.elapsed()));
            let sign = HEARTBEAT.saturating_sub(self.last_sign.elapsed());
            match self.incoming.recv_timeout(due.map_or(sign, |due| due.min(sign))) {
                Ok(incoming) => {
                    if let Some(happening) = self.came_in(incoming) {
                        return happening;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    if self.last_sign.elapsed() >= HEARTBEAT
                        && let Err(error) = self.heartbeat()
                    {
                        // The claim holds for several signs; the next may get through.
                        self.watch.tell(&News::Warning(&error.to_string()));
                    }
                    if deadline.is_some_and(|deadline| self.begun.elapsed() >= deadline) {
                        return Happening::Tick;
                    }
                }
            }
        }
    }

    fn heartbeat(&mut self) -> Result<(), StoreError> {
        self.last_sign = Instant::now();
        self.store.heartbeat(&self.run, LEASE, self.site.clock.now())
    }

    fn came_in(&mut self, incoming: Incoming) -> Option<Happening> {
        match incoming {
            Incoming::Turn(event) => self.turn_event(event),
            Incoming::Baseline { results, left } => Some(Happening::BaselineRan { results, left }),
            Incoming::Gate(result) => {
                self.watch.tell(&News::GateRan(&result));
                None
            }
            Incoming::Examined(Ok(examined)) => Some(Happening::Examined(Box::new(examined))),
            Incoming::Examined(Err(reason)) => Some(Happening::Failed(reason)),
            Incoming::Interrupt => Some(Happening::Interrupt),
        }
    }

    fn perform(&mut self, effect: &Effect) -> Result<Option<Happening>, RunError> {
        let now = self.site.clock.now();
        Ok(Some(match effect {
            Effect::Recover => Happening::Recovered(self.recover()?),
            Effect::Abandon(current) => {
                self.store.abandon_claim(&current.run, now)?;
                Happening::Abandoned
            }
            Effect::FinishOutbox => self.finish_outbox()?,
            Effect::Claim { iteration } => self.claim(*iteration)?,
            Effect::Count => self.count()?,
            Effect::RunBaseline => {
                self.run_baseline()?;
                return Ok(None);
            }
            Effect::KeepBaseline(baseline) => {
                self.watch.tell(&News::RedFromTheStart(baseline));
                self.store.put_baseline(&self.run, &serde_json::to_string(baseline)?)?;
                return Ok(None);
            }
            Effect::Prepare { current, red_gates } => self.prepare(current, red_gates)?,
            Effect::Spawn => self.spawn()?,
            Effect::StopAgent => {
                self.stop_agent();
                return Ok(None);
            }
            Effect::KillAgent => {
                self.kill_agent();
                return Ok(None);
            }
            Effect::StopGates => {
                self.stop_gates.stop();
                return Ok(None);
            }
            Effect::RecordEnd(summary) => {
                self.store.record_end(&self.run, &serde_json::to_string(summary)?)?;
                Happening::EndRecorded
            }
            Effect::Examine { current, writes, gates } => {
                self.examine(current, writes, *gates)?;
                return Ok(None);
            }
            Effect::Commit(draft) => Happening::Committed(self.commit(draft)),
            Effect::Settle(draft) => self.settle(draft)?,
            Effect::Tell(notice) => {
                self.watch.tell(&News::Notice(notice));
                return Ok(None);
            }
            Effect::EndRun(end) => {
                self.end_run(end)?;
                Happening::RunEnded
            }
        }))
    }
}
