//! Does what the state machine says, one effect after the other, and tells it what happened. All that goes on by itself,
//! the agent, the gates, a signal, reports through one channel.

mod before;
mod examine;
mod guidance;
mod interrupter;
mod prepare;
mod recover;
mod settlement;
mod turn;
mod upkeep;
mod verify;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ralph_agent::{RunningTurn, StartError, TurnEvent};
use ralph_memory::capture::Moved;
use ralph_memory::catalogue::CatalogueError;
use ralph_memory::inject::prompt::AttemptNumber;
use ralph_model::{Entropy, RunId, first_line, preview};
use ralph_process::StopHandle;
use ralph_store::{NewRun, Scope, Store, StoreError};

use crate::changes::{ProjectFiles, Refs, Snapshot};
use crate::gates::{Baseline, GateResult};
use crate::guide::{Asking, Guided};
use crate::heart::{Heart, LastLook};
use crate::inbox::{Inbox, Sender, Weight, inbox};
use crate::room::{Places, is_full};
use crate::run_folder::run_folder;
use crate::site::{Order, Site};
use crate::state::{Current, Effect, End, Event, Examined, Happening, Plan, State};
use crate::stopwatch::Stopwatch;
use crate::transcript::Transcript;
use crate::watch::{News, Room, Survival, Watch};
use interrupter::Wanted;

pub use interrupter::Interrupter;

/// Whoever tells of a text that is longer than this waits until it is looked at, so that there is never more than one.
const WAITING_BYTES: usize = 64 << 10;
/// How many of them are looked at before anything else is.
const MOST_AT_ONCE: usize = 1000;
/// How long an agent that was killed may take to be gone.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// How often a run that has to wait for room looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// How often a run whose time is limited looks at it: a computer that slept does not wake whoever waits for a moment.
const LOOK_AT_TIME: Duration = Duration::from_secs(30);

/// How many columns of what was asked for stand in the last sentence.
const GOAL_COLUMNS: usize = 60;

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
    /// The disk was full until the time of the run was up.
    #[error("{0}")]
    NoRoomInTime(String),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl RunError {
    /// There is no room to write.
    fn no_room() -> Self {
        Self::Folder(std::io::ErrorKind::StorageFull.into())
    }

    /// Whether there was no room to write; then it can be tried again.
    fn is_full(&self) -> bool {
        match self {
            Self::Store(error) => matches!(error, StoreError::Full { .. }),
            Self::Folder(error) => is_full(error),
            Self::Notes(_) | Self::Agent(_) | Self::Record(_) | Self::NoRoomInTime(_) | Self::Other(_) => false,
        }
    }

    /// Whether it may come from a full disk without saying so. Whoever has not found its agent has given its task back.
    fn may_be_of_room(&self) -> bool {
        !matches!(self, Self::Agent(_))
    }
}

/// The folders that have to have room.
fn places(site: &Site<'_>) -> Places {
    let database = site.database.parent().map(Path::to_owned);
    Places(database.into_iter().chain([site.root.clone()]).collect())
}

/// Why a run could not begin. SQLite says strange things of a disk that is full before it has opened its files, and goes on
/// to say them when there is room; so nobody waits for that.
fn at_the_beginning(site: &Site<'_>, error: RunError) -> RunError {
    if !error.is_full() && places(site).are_full() {
        return RunError::Other(format!("the disk is full ({error})"));
    }
    error
}

/// What comes in by itself.
enum Incoming {
    Turn(TurnEvent),
    /// The same where somebody waits until it is looked at: until the sender is dropped.
    LongTurn(TurnEvent, SyncSender<()>),
    Baseline {
        results: Vec<GateResult>,
        left: Option<Baseline>,
    },
    GateBegins(String),
    Gate(GateResult),
    Examined(Examined),
    /// The commit of a task's files, or why there is none.
    Committed(Result<String, String>),
    /// The gates or the commit failed, and there is no room on the disk.
    NoRoom,
    Warning(String),
    Broken(String),
    /// What the person said about a turn that they have stopped.
    Guided(Guided),
    /// Something is wanted of the run; it knows where to look.
    Wake,
}

impl Weight for Incoming {
    fn bytes(&self) -> usize {
        match self {
            Self::Turn(TurnEvent::Line(text) | TurnEvent::Text(text)) => text.len(),
            _ => 0,
        }
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
    /// The end that was to be put on record last, and the sentence for it.
    sentence: Option<(End, String)>,
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
        let store = Store::open_or_create(&site.database).map_err(|error| at_the_beginning(site, error.into()))?;
        let (sender, incoming) = inbox();
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
            watch_of_time: Stopwatch::start(),
            last_look: LastLook::at(site.clock.now()),
            turn: None,
            stop_gates: StopHandle::default(),
            wanted: Arc::default(),
            guided: false,
            give_up: StopHandle::default(),
            examiner: None,
            sentence: None,
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
        self.begin().map_err(|error| at_the_beginning(self.site, error))?;
        let _heart = Heart::start(&self.site.database, &self.run, &self.last_look)?;
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

    /// Leaves everything as it is. Threads die with a process that is killed; here the one that looks at files and asks the
    /// gates comes to its end, so that it does not meddle with what the next run does.
    fn die(self) -> Finish {
        drop(self.incoming);
        if let Some(Err(panic)) = self.examiner.map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        Finish::Died
    }

    /// Puts the end of the run on record. Where nothing at all is left to do, the working notes have served their time.
    fn end_run(&mut self, end: &End) -> Result<(), RunError> {
        let site = self.site;
        self.see_the_agent_off();
        // The last notes are written with the run that made them. Should that fail, the next one does it.
        match self.finish_outbox() {
            Ok(_) => {}
            Err(error) if error.is_full() || self.places().are_full() => return Err(error),
            Err(error) => self.watch.tell(&News::Warning(&error.to_string())),
        }
        let left = match end {
            End::Complete => self.left_elsewhere(),
            _ => None,
        };
        let sentence = match left {
            Some(left) if left > 0 => end.sentence_beside(&self.what(), left),
            // Whoever looks at it tomorrow sees that they have said what there is to say.
            _ if *end == End::Interrupted && self.guided => "It was stopped, with your guidance.".to_owned(),
            _ => end.sentence(),
        };
        let now = site.clock.now();
        self.store.end_run(&self.run, &sentence, end.code(), now)?;
        self.sentence = Some((end.clone(), sentence));
        if left == Some(0) {
            self.keep_scratchpad();
        }
        self.prune();
        self.keep_up();
        Ok(())
    }

    /// The working notes of what is done go to the folder of the run.
    fn keep_scratchpad(&mut self) {
        let kept = run_folder(&self.site.runs, &self.run).map(|folder| folder.join("scratchpad.md"));
        let kept = match kept {
            Ok(kept) => kept,
            Err(error) => return self.watch.tell(&News::Warning(&RunError::from(error).to_string())),
        };
        match self.site.scratchpad.move_to(&kept) {
            Ok(Moved::Everything) => self.watch.tell(&News::KeptScratchpad(&kept)),
            Ok(Moved::Nothing) => {}
            Err(error) => {
                let warning = format!("The scratchpad stays where it is: {error}");
                self.watch.tell(&News::Warning(&warning));
            }
        }
    }

    /// How many tasks of the project are not done, where all that the run was asked for are; none when nobody can tell.
    fn left_elsewhere(&self) -> Option<u32> {
        let standing = self.standing(&Scope::All).ok()?;
        Some(standing.failed + standing.waiting + standing.open)
    }

    /// What the run was asked for, in a few words.
    fn what(&self) -> String {
        let goal = preview(first_line(&self.order.goal), GOAL_COLUMNS);
        match &self.order.scope {
            Scope::Task(id) if id.as_str() != goal => format!("{id} ({goal})"),
            Scope::Feature(_) => format!("The {goal}"),
            _ => goal,
        }
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

    /// The folders that have to have room.
    fn places(&self) -> Places {
        places(self.site)
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
        self.watch.tell(&News::Began { run: &self.run });
        self.tell_standing();
        Ok(())
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
            commit: config.git.commit,
            has_gates: !config.verify.commands.is_empty(),
            verifier: self.order.who_verifies(),
            pace: self.order.pace,
            first_try: self.order.first_try,
            asking: match self.order.guide {
                Some(_) => Asking::Possible,
                None => Asking::Nobody,
            },
            seed: self.entropy.next_bits(),
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

    /// Waits for the next thing that happens by itself; none when there is something else to look at. Of many signs of
    /// life that are there already, one is told.
    fn wait(&mut self, deadline: Option<Duration>) -> Option<Happening> {
        let mut sign = None;
        for _ in 0..MOST_AT_ONCE {
            let Some(incoming) = self.incoming.try_recv() else {
                // Nothing more for now: what the agent has said so far must outlive this process.
                self.flush_transcript();
                return sign.or_else(|| self.wait_for_one(deadline));
            };
            match self.came_in(incoming) {
                Some(Happening::Sign) => sign = Some(Happening::Sign),
                Some(other) => return Some(other),
                None => break,
            }
        }
        sign
    }

    fn wait_for_one(&mut self, deadline: Option<Duration>) -> Option<Happening> {
        let patience = deadline.map(|deadline| deadline.saturating_sub(self.watch_of_time.elapsed()));
        let patience = match self.site.config.limits.wall_clock {
            Some(_) => patience.map(|patience| patience.min(LOOK_AT_TIME)),
            None => patience,
        };
        match self.incoming.recv(patience) {
            Some(incoming) => self.came_in(incoming),
            None => Some(Happening::Tick),
        }
    }

    fn came_in(&mut self, incoming: Incoming) -> Option<Happening> {
        match incoming {
            Incoming::Turn(event) => self.turn_event(event),
            Incoming::LongTurn(event, _waits) => self.turn_event(event),
            Incoming::Baseline { results, left } => Some(Happening::BaselineRan { results, left }),
            Incoming::GateBegins(command) => {
                self.watch.tell(&News::GateBegins(&command));
                None
            }
            Incoming::Gate(result) => {
                self.watch.tell(&News::GateRan(&result));
                None
            }
            Incoming::Examined(examined) => Some(Happening::Examined(Box::new(examined))),
            Incoming::Committed(result) => Some(Happening::Committed(Some(result))),
            Incoming::NoRoom => Some(Happening::NoRoom),
            Incoming::Warning(warning) => {
                self.watch.tell(&News::Warning(&warning));
                None
            }
            Incoming::Broken(reason) => Some(Happening::Failed(reason)),
            Incoming::Guided(guided) => Some(self.answered(guided)),
            Incoming::Wake => None,
        }
    }

    /// Does an effect. Where there is no room for what it writes, that is said once, and it is tried again until there is;
    /// every effect may be done again. Ctrl+C and the end of the run's time end that, too.
    fn perform_when_there_is_room(&mut self, state: &State, effect: &Effect) -> Result<Option<Happening>, RunError> {
        let mut told = false;
        let mut pause = self.order.pace.room / 8;
        let heard = self.presses_before(effect);
        loop {
            let done = match self.watch.room(effect) {
                Room::Enough => self.perform(effect),
                Room::None => Err(RunError::no_room()),
            };
            let error = match done {
                Err(error) if error.is_full() || error.may_be_of_room() && self.places().are_full() => error,
                done => {
                    if told {
                        self.watch.tell(&News::RoomAgain);
                    }
                    return done;
                }
            };
            if !told {
                self.watch.tell(&News::NoRoom(&error.to_string()));
                told = true;
            }
            pause = (pause * 2).min(self.order.pace.room);
            if self.is_stopped_within(pause, heard) {
                return Err(error);
            }
            if state.is_out_of_time(self.watch_of_time.elapsed(), self.slept()) {
                return Err(RunError::NoRoomInTime(error.to_string()));
            }
        }
    }

    /// How often the person had asked to stop without meaning the effect: whoever was asked and has said something wants
    /// that to be kept. Whoever has asked twice does not wait for anything.
    fn presses_before(&self, effect: &Effect) -> u32 {
        match (effect, self.wanted.presses()) {
            (Effect::RecordGuidance(_), 1) => 1,
            _ => 0,
        }
    }

    /// Waits for so long, unless the person asks to stop, more often than was heard before; says whether that was so. What
    /// comes in meanwhile has to wait.
    fn is_stopped_within(&self, time: Duration, heard: u32) -> bool {
        let begun = Instant::now();
        loop {
            if self.wanted.presses() > heard {
                return true;
            }
            match time.checked_sub(begun.elapsed()) {
                Some(left) if !left.is_zero() => std::thread::sleep(left.min(GLANCE)),
                _ => return false,
            }
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
            Effect::Claim { iteration, pauses } => self.claim(*iteration, pauses)?,
            Effect::Count => self.count()?,
            Effect::RunBaseline(current) => {
                self.run_baseline(current)?;
                return Ok(None);
            }
            Effect::KeepBaseline(baseline) => {
                self.store.put_baseline(&self.run, &serde_json::to_string(baseline)?)?;
                self.watch.tell(&News::RedFromTheStart(baseline));
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
            Effect::GiveUpAsking => {
                self.give_up.stop();
                return Ok(None);
            }
            Effect::RecordGuidance(turn) => self.record_guidance(turn)?,
            Effect::GoOn => {
                self.go_on();
                return Ok(None);
            }
            Effect::Verify(draft) => self.verify(draft)?,
            Effect::Commit(draft) => return self.commit(draft),
            Effect::FindRoom if self.places().are_full() => return Err(RunError::no_room()),
            Effect::FindRoom => Happening::RoomFound,
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
