//! Does what the state machine says, one effect after the other, and tells it what happened. All that goes on by itself,
//! the agent, the gates, a signal, reports through one channel.

mod before;
mod ending;
mod error;
mod examine;
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
use ralph_memory::inject::prompt::AttemptNumber;
use ralph_model::{Author, Entropy, RunId, TaskId};
use ralph_process::StopHandle;
use ralph_store::{NewRun, Store};

use crate::basis::GitPrograms;
use crate::changes::{ProjectFiles, Refs, Snapshot};
use crate::checkout::Base;
use crate::guide::Asking;
use crate::heart::{Heart, LastLook};
use crate::inbox::{Inbox, Sender, inbox};
use crate::site::{Order, Site};
use crate::state::{Current, Effect, End, Event, Happening, Place, Plan, State};
use crate::stopwatch::Stopwatch;
use crate::transcript::Transcript;
use crate::watch::{News, Survival, Watch};
use full_disk::Begun;
use incoming::Incoming;
use interrupter::Wanted;

pub use error::RunError;
pub use interrupter::Interrupter;

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
    sender: Sender<Incoming>,
    incoming: Inbox<Incoming>,
    watch_of_time: Stopwatch,
    last_look: LastLook,
    /// The iteration whose agent is prepared or works.
    turn: Option<Turn>,
    stop_gates: StopHandle,
    /// What is wanted of the run from outside.
    wanted: Arc<Wanted>,
    /// Whether the person had something to say about the last turn.
    guided: bool,
    /// Ends the asking.
    give_up: StopHandle,
    /// Who looks at what a turn has left, and asks the gates.
    examiner: Option<JoinHandle<()>>,
    /// The tasks that were not done when the run began.
    open_at_start: BTreeSet<TaskId>,
    /// The end that was to be put on record last, and the sentence for it.
    sentence: Option<(End, String)>,
    /// What git ran by itself when the run began.
    programs_at_start: GitPrograms,
    /// What the files were before the first attempt of this run at each task in the project itself.
    before_tasks: BTreeMap<TaskId, Snapshot>,
    /// The reference on which work of checkouts lands.
    base: Option<Base>,
}

/// An agent's turn, as the driver sees it.
struct Turn {
    current: Current,
    role: Role,
    prompt: String,
    transcript: Option<Transcript>,
    /// Whether was said that lines of it are missing.
    lines_missing: bool,
    running: Option<Box<dyn RunningTurn>>,
    started: Instant,
}

/// What an agent is there for.
enum Role {
    /// It does the task.
    Works {
        attempt: AttemptNumber,
        /// How many notes and rows stand in the prompt.
        shown: usize,
    },
    /// It looks at what was done, and is to leave the files as they were before.
    Looks(Box<Look>),
}

/// A look at what was done.
struct Look {
    agent: String,
    files: ProjectFiles,
    before: Snapshot,
    /// Where branches pointed, or why that is not known.
    refs: Result<Refs, String>,
    /// What git ran by itself.
    programs: GitPrograms,
    /// Whether an earlier look at this task was spoilt by a change of somebody, and forgiven.
    forgiven_before: bool,
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
            watch_of_time: Stopwatch::start(),
            last_look: LastLook::at(site.clock.now()),
            turn: None,
            stop_gates: StopHandle::default(),
            wanted: Arc::default(),
            guided: false,
            give_up: StopHandle::default(),
            examiner: None,
            open_at_start: BTreeSet::new(),
            sentence: None,
            programs_at_start: GitPrograms::default(),
            before_tasks: BTreeMap::new(),
            base: None,
        })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.run
    }

    /// A way to say something to it from another thread.
    #[must_use]
    pub fn interrupter(&self) -> Interrupter {
        Interrupter::new(&self.wanted, &self.sender)
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When not even its beginning can be put on record.
    pub fn run(mut self) -> Result<Finish, RunError> {
        if self.begin_when_possible()? == Begun::Stopped {
            return Ok(Finish::Ended {
                run: self.run.clone(),
                end: End::Interrupted,
                iterations: 0,
            });
        }
        let _heart = self.start_heart()?;
        let (mut state, effects) = State::begin(self.plan());
        let mut open: VecDeque<Effect> = effects.into();
        loop {
            while let Some(effect) = open.pop_front() {
                let happening = self.perform_when_there_is_room(&state, &effect);
                if self.watch.survives(&effect) == Survival::Dies {
                    return Ok(self.die());
                }
                // Whoever wanted to stop while the effect took its time did so before it was over.
                self.tell_what_is_wanted(&mut state, &mut open);
                match happening {
                    Ok(None) => {}
                    Ok(Some(what)) => open.extend(self.step(&mut state, what)),
                    Err(error) => {
                        self.give_guidance_back(&effect);
                        // What was to follow counted on the effect.
                        open.clear();
                        let what = match error {
                            RunError::NoRoomInTime(reason) => Happening::NoRoomInTime(reason),
                            error => Happening::Failed(error.to_string()),
                        };
                        open.extend(self.step(&mut state, what));
                    }
                }
            }
            self.tell_what_is_wanted(&mut state, &mut open);
            if !open.is_empty() {
                continue;
            }
            if let Some(end) = state.end() {
                let iterations = state.iterations();
                // Where that could not be put on record, it came to another end.
                let recorded = self.sentence.take().filter(|(recorded, _)| recorded == end);
                let sentence = recorded.map_or_else(|| end.sentence(), |(_, sentence)| sentence);
                self.watch.tell(&News::Ended {
                    end,
                    sentence: &sentence,
                    iterations,
                });
                return Ok(Finish::Ended {
                    run: self.run.clone(),
                    end: end.clone(),
                    iterations,
                });
            }
            if let Some(happening) = self.wait(state.deadline()) {
                open.extend(self.step(&mut state, happening));
            }
        }
    }

    /// Begins to give signs of life. Where the database is broken, nothing that the agent does can be recorded.
    fn start_heart(&self) -> Result<Heart, RunError> {
        let sender = self.sender.clone();
        let broken = move |reason| drop(sender.send(Incoming::Broken(reason)));
        Ok(Heart::start(&self.site.database, &self.run, &self.last_look, broken)?)
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

    fn step(&self, state: &mut State, what: Happening) -> Vec<Effect> {
        let (at, now) = (self.watch_of_time.elapsed(), self.site.clock.now());
        let slept = self.slept();
        self.last_look.looked(now);
        state.step(Event { at, now, slept, what })
    }

    /// For how long the computer has slept, where it matters.
    fn slept(&self) -> Duration {
        match self.site.config.limits.wall_clock {
            Some(_) => self.watch_of_time.slept(),
            None => Duration::ZERO,
        }
    }

    fn begin(&mut self) -> Result<(), RunError> {
        let site = self.site;
        self.open_at_start = self.store.open_tasks(&self.order.scope)?;
        // A beginning that finds no room is repeated, so the run goes on record last.
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
        self.watch.tell(&News::Began { run: &self.run });
        self.tell_standing()
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
            verifier: self.order.who_verifies(),
            unverified: config.verify.unverified,
            pace: self.order.pace,
            first_try: self.order.first_try,
            asking: match self.order.guide {
                Some(_) => Asking::Possible,
                None => Asking::Nobody,
            },
            seed: self.entropy.next_bits(),
            rules: self.site.rules.clone(),
            only_task: self.order.only_task.clone(),
        }
    }

    /// Tells the state machine what the person wants, as often as that was said.
    fn tell_what_is_wanted(&mut self, state: &mut State, open: &mut VecDeque<Effect>) {
        while let Some(wanted) = self.wanted.next() {
            let is_guidance = wanted == Happening::GuidanceWanted;
            let before = state.interrupts();
            open.extend(self.step(state, wanted));
            if is_guidance && state.interrupts() > before {
                self.wanted.guidance_is_a_press();
            }
        }
    }

    /// Does an effect, and says what came of it; nothing where that comes in by itself.
    fn perform(&mut self, effect: &Effect) -> Result<Option<Happening>, RunError> {
        let now = self.site.clock.now();
        Ok(Some(match effect {
            Effect::Recover => Happening::Recovered(self.recover()?),
            Effect::Abandon(current) => {
                self.store.abandon_claim(&current.run, now)?;
                Happening::Abandoned
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
            Effect::KeepBaseline(baseline) => {
                self.store.put_baseline(&self.run, &serde_json::to_string(baseline)?)?;
                self.watch.tell(&News::RedFromTheStart(baseline));
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
                Happening::EndRecorded
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
            Effect::FindRoom if self.places().are_full() => return Err(RunError::no_room()),
            Effect::FindRoom => Happening::RoomFound,
            Effect::Settle(draft) => self.settle(draft)?,
            Effect::EndRun(end) => Happening::RunEnded(self.end_run(end)?),
            other @ (Effect::StopAgent
            | Effect::KillAgent
            | Effect::StopGates
            | Effect::GiveUpAsking
            | Effect::GoOn
            | Effect::Tell(_)
            | Effect::Warn(_)) => {
                self.signal(other);
                return Ok(None);
            }
        }))
    }

    /// Does an effect that cannot fail and has no answer.
    fn signal(&mut self, effect: &Effect) {
        match effect {
            Effect::StopAgent => self.stop_agent(),
            Effect::KillAgent => self.kill_agent(),
            Effect::StopGates => self.stop_gates.stop(),
            Effect::GiveUpAsking => self.give_up.stop(),
            Effect::GoOn => self.go_on(),
            Effect::Tell(notice) => self.watch.tell(&News::Notice(notice)),
            Effect::Warn(warning) => self.watch.tell(&News::Warning(warning)),
            _ => {}
        }
    }
}
