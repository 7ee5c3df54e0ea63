//! A project in a temporary folder with a scripted agent, and runs of the loop in it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use ralph_loop::changes::OwnFiles;
use ralph_loop::state::{Effect, End, FirstTry, Notice, PendingSettlement, WaitTimes};
use ralph_loop::{
    Base, Faults, Guide, Interrupter, Isolation, Order, RunError, RunEvent, Runner, Site, Verifier, Watch,
};
use ralph_memory::capture::{KnowledgeFolder, LogPlace, ProjectEnv, Scratchpad};
use ralph_memory::inject::FeaturesFolder;
use ralph_memory::inject::prompt::MemoryShare;
use ralph_model::config::{CommandLine, Config, WhenUnverified};
use ralph_model::{Author, Clock, JournalRow, NewTask, NoteFileKind, RunId, SplitMix64, Task, TaskId, TaskStatus};
use ralph_notes::{Boundary, Patience, create_folder};
use ralph_process::git::Git;
use ralph_search::IndexPlace;
use ralph_store::{DatabasePlace, JournalFilter, NoteFile, RunProcess, Scope, Store, StoreError, TaskFilter, Which};
use ralph_testkit::scripted::{Action, Script, ScriptedAgent};

use crate::documented::assert_documented;

/// The start time of every test.
pub(crate) const NOON: &str = "2026-11-16T11:00:00Z";

const PATIENCE: Patience<'static> = Patience {
    notice_after: Duration::from_secs(60),
    limit: Duration::from_secs(60),
    notice: &|_| {},
};

/// A clock that advances by one second each time it is read.
#[derive(Debug)]
pub(crate) struct TickingClock(AtomicI64);

impl Default for TickingClock {
    fn default() -> Self {
        let noon: Timestamp = NOON.parse().unwrap();
        Self(AtomicI64::new(noon.as_second()))
    }
}

impl TickingClock {
    pub(crate) fn jump(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.fetch_add(1, Ordering::Relaxed)).unwrap()
    }
}

/// A clock by which no file time can be trusted, so files are always read.
struct EpochClock;

impl Clock for EpochClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// Ids and markers differ between runs and between test processes: leftover processes are found by their marker.
fn new_ids() -> SplitMix64 {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    SplitMix64::new(u64::from(std::process::id()) << 32 | number)
}

/// A configuration that accepts unverified tasks: few tests are about evidence, and many agents only talk.
fn confirmed() -> Config {
    let mut config = Config::default();
    config.verify.commands = vec!["true".to_owned()];
    config.verify.unverified = WhenUnverified::Accept;
    config
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Plain,
    /// Prints claude's records.
    Claude,
    /// Prints codex's records.
    Codex,
    Acp,
}

impl Dialect {
    fn kind(self) -> &'static str {
        match self {
            Self::Plain => "command",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Acp => "acp",
        }
    }
}

/// A worktree with a scripted agent. Worktrees of the same project share its folder, tasks and agent.
pub(crate) struct Project {
    folder: Arc<tempfile::TempDir>,
    root: PathBuf,
    worktree: String,
    boundary: Boundary,
    dialect: Dialect,
    clock: Arc<TickingClock>,
    pub(crate) agent: ScriptedAgent,
    words: Option<Vec<String>>,
    /// A separate agent as verifier, with its command.
    pub(crate) verifier: Option<(Dialect, Vec<String>)>,
    pub(crate) config: Config,
    pub(crate) share: MemoryShare,
    pub(crate) scope: Scope,
    pub(crate) first_try: FirstTry,
    /// Whether each task gets its own checkout.
    pub(crate) isolated: bool,
    /// Asks for guidance when a turn is stopped.
    pub(crate) guide: Option<Arc<dyn Guide>>,
}

impl Project {
    /// An empty folder without git, and an agent that plays these turns; the last one repeats.
    pub(crate) fn new<const N: usize>(dialect: Dialect, turns: [Vec<Action>; N]) -> Self {
        ralph_process::become_subreaper().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        create_folder(&root.join(".ralph")).unwrap();
        let agent = install(dialect, turns, &folder.path().join("agent"));
        Self {
            folder: Arc::new(folder),
            boundary: Boundary::new(&root, &[]),
            root,
            worktree: String::new(),
            dialect,
            clock: Arc::default(),
            agent,
            words: None,
            verifier: None,
            config: confirmed(),
            share: MemoryShare::Whole,
            scope: Scope::All,
            first_try: FirstTry::default(),
            isolated: false,
            guide: None,
        }
    }

    /// Like `new`, with a plain agent.
    pub(crate) fn plain<const N: usize>(turns: [Vec<Action>; N]) -> Self {
        Self::new(Dialect::Plain, turns)
    }

    /// The same project with a second, plain agent.
    pub(crate) fn with_plain_agent<const N: usize>(&self, turns: [Vec<Action>; N]) -> Self {
        Self {
            boundary: self.boundary.clone(),
            folder: Arc::clone(&self.folder),
            root: self.root.clone(),
            worktree: self.worktree.clone(),
            dialect: Dialect::Plain,
            clock: Arc::clone(&self.clock),
            agent: install(Dialect::Plain, turns, &self.folder.path().join("plain-agent")),
            words: None,
            verifier: None,
            config: self.config.clone(),
            share: self.share,
            scope: self.scope.clone(),
            first_try: self.first_try,
            isolated: self.isolated,
            guide: self.guide.clone(),
        }
    }

    /// Replaces the agent's script.
    pub(crate) fn play<const N: usize>(&mut self, turns: [Vec<Action>; N]) {
        self.agent = install(self.dialect, turns, &self.folder.path().join("agent"));
    }

    /// Uses a separate agent as verifier.
    pub(crate) fn verified_by<const N: usize>(&mut self, dialect: Dialect, turns: [Vec<Action>; N]) -> ScriptedAgent {
        let agent = install(dialect, [], &self.folder.path().join("verifier"));
        agent.set_verifications(turns);
        self.verifier = Some((dialect, agent.words()));
        agent
    }

    /// Uses any program as the agent.
    pub(crate) fn agent_command(&mut self, words: &[&str]) {
        self.words = Some(words.iter().map(|word| (*word).to_owned()).collect());
    }

    /// Puts the project into a git repository with one commit.
    pub(crate) fn in_git(self) -> Self {
        self.write(".gitignore", ".ralph/\n.agent/scratchpad.md\n");
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        for setting in [["user.name", "Tester"], ["user.email", "tester@example.com"]] {
            self.git(&["config", setting[0], setting[1]]);
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=Begin"]);
        self
    }

    pub(crate) fn gated(mut self, gates: &[&str]) -> Self {
        self.config.verify.commands = gates.iter().map(|gate| (*gate).to_owned()).collect();
        self
    }

    /// A second worktree next to the project, on its own branch.
    pub(crate) fn beside(&self, name: &str) -> Self {
        let root = self.root.with_file_name(name);
        self.git(&["worktree", "add", "--quiet", "-b", name, root.to_str().unwrap()]);
        create_folder(&root.join(".ralph")).unwrap();
        Self {
            boundary: Boundary::new(&root, &[]),
            folder: Arc::clone(&self.folder),
            root,
            worktree: name.to_owned(),
            dialect: self.dialect,
            clock: Arc::clone(&self.clock),
            agent: self.agent.clone(),
            words: self.words.clone(),
            verifier: self.verifier.clone(),
            config: self.config.clone(),
            share: self.share,
            scope: self.scope.clone(),
            first_try: self.first_try,
            isolated: self.isolated,
            guide: self.guide.clone(),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Runs git, which must succeed, and returns its output.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let answer = Git::change(&self.root).run(arguments).unwrap();
        answer.text().unwrap()
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.root.join(file);
        create_folder(path.parent().unwrap()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test owns this file")]
        std::fs::write(path, text).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.root.join(file)).unwrap()
    }

    /// The sorted names in a folder of the project; empty if it does not exist.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(folder)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn store(&self) -> Store {
        Store::open_or_create(&self.database()).unwrap()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder
            .path()
            .canonicalize()
            .unwrap()
            .join("project/.ralph/progress.db")
    }

    pub(crate) fn task(&self, title: &str) -> TaskId {
        self.add(&NewTask::titled(title))
    }

    pub(crate) fn add(&self, task: &NewTask) -> TaskId {
        self.store().add_task(task, &mut new_ids(), self.now()).unwrap().id
    }

    /// The clock, for tests that make it jump.
    pub(crate) fn clock(&self) -> Arc<TickingClock> {
        Arc::clone(&self.clock)
    }

    /// The current time, later than all earlier readings.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    #[track_caller]
    pub(crate) fn load_task(&self, task: &TaskId) -> Task {
        self.store().task(task).unwrap().unwrap()
    }

    #[track_caller]
    pub(crate) fn status(&self, task: &TaskId) -> TaskStatus {
        self.load_task(task).status
    }

    pub(crate) fn tasks(&self) -> Vec<Task> {
        let all = TaskFilter {
            which: Which::All,
            ..TaskFilter::default()
        };
        self.store().tasks(&all).unwrap()
    }

    /// The journal, oldest entry first.
    pub(crate) fn journal(&self) -> Vec<JournalRow> {
        let mut rows = self.store().journal_list(&JournalFilter::default()).unwrap();
        rows.reverse();
        rows
    }

    /// The journal as `TITLE OUTCOME: STOP` lines.
    pub(crate) fn story(&self) -> Vec<String> {
        let short = |row: JournalRow| format!("{} {}: {}", row.row.task_title, row.row.outcome, row.row.stop);
        self.journal().into_iter().map(short).collect()
    }

    /// The run, iteration and marker of every agent call.
    pub(crate) fn calls(&self) -> Vec<(String, String, String)> {
        let call = |turn| {
            let call = self.agent.call(turn).environment;
            let word = |name: &str| call.get(name).unwrap().clone();
            (
                word("RALPH_RUN_ID"),
                word("RALPH_ITERATION"),
                word(ralph_process::MARKER_VARIABLE),
            )
        };
        (1..=self.agent.turns()).map(call).collect()
    }

    #[track_caller]
    pub(crate) fn run(&self) -> RunResult {
        self.run_with(Probe::default())
    }

    /// Runs the loop with this probe.
    #[track_caller]
    pub(crate) fn run_with(&self, mut seen: Probe) -> RunResult {
        let pid = std::process::id();
        let process = RunProcess {
            host: ralph_process::host(),
            pid,
            started: ralph_process::start_time(pid).unwrap(),
        };
        let site = self.site(process);
        let agent = |dialect: Dialect, words: &[String]| {
            let clock = Arc::clone(&self.clock);
            ralph_loop::agent_for(Some(dialect.kind()), &CommandLine::Words(words.to_vec()), clock).unwrap()
        };
        let words = self.words.clone().unwrap_or_else(|| self.agent.words());
        let worker = agent(self.dialect, &words);
        let order = Order {
            only_task: None,
            scope: self.scope.clone(),
            goal: "the test".to_owned(),
            verifier: match &self.verifier {
                _ if !self.config.execution.verify => Verifier::None,
                Some((dialect, words)) => Verifier::Other(agent(*dialect, words)),
                None if worker.can_be_read_only() => Verifier::SameAgent,
                None => Verifier::None,
            },
            agent: worker,
            model: None,
            share: self.share,
            wait_times: WaitTimes {
                busy: Duration::from_millis(5),
                // The test clock advances by one second with every reading.
                transient: Duration::from_secs(4),
                usage: Duration::from_secs(10),
                spread: Duration::ZERO,
                clock_check: Duration::from_millis(1),
                disk_full: Duration::from_millis(5),
            },
            first_try: self.first_try,
            guide: self.guide.clone(),
            again: "ralph run".to_owned(),
        };
        let mut ids = new_ids();
        let mut faults = std::mem::take(&mut seen.faults);
        faults.database = self.database();
        let runner = Runner::new(&site, order, &mut ids, &mut seen)
            .unwrap()
            .with_faults(&mut faults);
        let run = runner.id().clone();
        let interrupter = runner.interrupter();
        INTERRUPTERS.with_borrow_mut(|all| all.push(interrupter));
        let end = match catch_unwind(AssertUnwindSafe(|| runner.run())) {
            Ok(end) => Some(end.unwrap()),
            Err(panic) if panic.is::<Died>() => None,
            Err(panic) => resume_unwind(panic),
        };
        INTERRUPTERS.with_borrow_mut(Vec::pop);
        seen.effects = faults.effects;
        RunResult {
            run,
            end,
            iterations: seen.iterations,
            seen,
        }
    }

    pub(crate) fn checkouts(&self) -> PathBuf {
        self.folder.path().join("state/work")
    }

    fn site(&self, process: RunProcess) -> Site<'_> {
        let ralph = self.root.join(".ralph");
        let agent = self.root.join(".agent");
        let index = IndexPlace {
            database: ralph.join("index.db"),
            file_kinds: [NoteFileKind::Memories, NoteFileKind::Guardrails]
                .map(|file_kind| (file_kind, agent.join(file_kind.file_name())))
                .to_vec(),
            knowledge: ralph.join("knowledge"),
            may_create: true,
            boundary: &self.boundary,
            file_clock: &EpochClock,
        };
        Site {
            root: self.root.clone(),
            worktree: self.worktree.clone(),
            branch: None,
            commit: None,
            database: self.database(),
            runs: ralph.join("runs"),
            knowledge: KnowledgeFolder {
                index: index.clone(),
                log: LogPlace {
                    database: DatabasePlace {
                        path: self.database(),
                        backups: None,
                    },
                    file: NoteFile {
                        worktree: self.worktree.clone(),
                        path: ".ralph/knowledge".to_owned(),
                    },
                },
                author: Author::RALPH,
                project_env: ProjectEnv::default(),
                patience: PATIENCE,
            },
            notes: Vec::new(),
            rules: ralph_loop::Rules::default(),
            features: FeaturesFolder {
                path: ralph.join("features"),
                shown: ".ralph/features".to_owned(),
                boundary: ralph_notes::Boundary::new(&self.root, &[]),
            },
            scratchpad: Scratchpad {
                path: agent.join("scratchpad.md"),
                project_env: ProjectEnv::default(),
                patience: PATIENCE,
            },
            own: OwnFiles {
                hidden: [".ralph", ".agent/scratchpad.md"].map(str::to_owned).to_vec(),
                notes: [".agent/memories.md", ".agent/guardrails.md"]
                    .map(str::to_owned)
                    .to_vec(),
            },
            isolation: self.isolated.then(|| Isolation {
                work: self.checkouts(),
                prefix: PathBuf::new(),
                base: Some(Base::new("refs/heads/main")),
            }),
            index,
            config: &self.config,
            config_files: vec![self.root.join(".ralph.toml")],
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            program: "/bin/true".into(),
            process,
            clock: &*self.clock,
        }
    }
}

fn install<const N: usize>(dialect: Dialect, turns: [Vec<Action>; N], folder: &Path) -> ScriptedAgent {
    let script = match dialect {
        Dialect::Plain => Script::new(),
        Dialect::Claude => Script::new().speaking_claude(),
        Dialect::Codex => Script::new().speaking_codex(),
        Dialect::Acp => Script::new().speaking_acp(),
    };
    turns.into_iter().fold(script, Script::turn).install(folder)
}

thread_local! {
    /// The runs of this thread, so that a probe can interrupt them.
    static INTERRUPTERS: std::cell::RefCell<Vec<Interrupter>> = const { std::cell::RefCell::new(Vec::new()) };
}

#[derive(Debug)]
pub(crate) struct RunResult {
    pub(crate) run: RunId,
    pub(crate) end: Option<End>,
    pub(crate) iterations: u32,
    pub(crate) seen: Probe,
}

impl RunResult {
    #[track_caller]
    pub(crate) fn code(&self) -> u8 {
        self.end.as_ref().unwrap().code()
    }
}

/// Called after every effect of a run.
type OnEffect = Box<dyn FnMut(&Effect) -> Option<Intervention> + Send>;

/// What a test does to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intervention {
    Die,
    Interrupt,
    /// The person wants to give guidance.
    Guide,
    /// The run ends after this iteration.
    FinishIteration,
}

pub(crate) type EffectFilter = fn(&Effect) -> bool;

/// Watches a run, records its events, and interferes where a test wants it.
#[derive(Default)]
pub(crate) struct Probe {
    pub(crate) settled: Vec<PendingSettlement>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) warnings: Vec<String>,
    /// Why the run paused, and `over` when it continued.
    pub(crate) pauses: Vec<String>,
    /// For every recovered iteration, how many of its processes were killed.
    pub(crate) killed: Vec<usize>,
    /// The iterations reported as begun.
    pub(crate) began: Vec<u32>,
    /// The closing message.
    pub(crate) sentence: Option<String>,
    /// How many iterations the run reported at its end.
    pub(crate) iterations: u32,
    /// How many effects were performed.
    pub(crate) effects: usize,
    /// Interrupts the run when it pauses.
    pub(crate) stops_when_paused: bool,
    pub(crate) faults: InjectedFaults,
}

/// What goes wrong in a run.
#[derive(Default)]
pub(crate) struct InjectedFaults {
    database: PathBuf,
    effects: usize,
    on_effect: Option<OnEffect>,
    /// The effect that finds a full disk, counted from 1, and how often; 0 means forever.
    full: Option<(usize, usize)>,
    asked: usize,
    /// Which effects find a full disk, and how often.
    pub(crate) full_for: Option<(EffectFilter, usize)>,
    /// Simulates a locked database instead of a full disk.
    pub(crate) is_locked: bool,
}

/// Unwinds from a run that dies.
struct Died;

/// How many Ctrl+C presses the run of this thread has counted.
pub(crate) fn presses() -> u32 {
    INTERRUPTERS.with_borrow(|all| all.last().unwrap().presses())
}

impl Probe {
    /// The effect with this number finds a full disk this many times.
    pub(crate) fn full_at(effect: usize, times: usize) -> Self {
        Self::with_faults(InjectedFaults {
            full: Some((effect, times)),
            ..InjectedFaults::default()
        })
    }

    pub(crate) fn with_hook(on_effect: impl FnMut(&Effect) -> Option<Intervention> + Send + 'static) -> Self {
        Self::with_faults(InjectedFaults {
            on_effect: Some(Box::new(on_effect)),
            ..InjectedFaults::default()
        })
    }

    fn with_faults(faults: InjectedFaults) -> Self {
        Self {
            faults,
            ..Self::default()
        }
    }

    pub(crate) fn dying_after(effects: usize) -> Self {
        let mut left = effects;
        Self::with_hook(move |_| {
            left -= 1;
            (left == 0).then_some(Intervention::Die)
        })
    }

    /// The run dies after the first matching effect.
    pub(crate) fn dying_at(matches: impl Fn(&Effect) -> bool + Send + 'static) -> Self {
        Self::with_hook(move |effect| matches(effect).then_some(Intervention::Die))
    }
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Probe")
            .field("notices", &self.notices)
            .field("warnings", &self.warnings)
            .field("killed", &self.killed)
            .field("effects", &self.effects)
            .finish_non_exhaustive()
    }
}

impl Watch for Probe {
    fn tell(&mut self, event: &RunEvent<'_>) {
        assert_documented(event);
        match event {
            RunEvent::Settled(settled) => self.settled.push(settled.draft.clone()),
            RunEvent::Notice(notice) => self.notices.push((*notice).clone()),
            RunEvent::Warning(warning) => self.warnings.push((*warning).to_owned()),
            RunEvent::DiskFull(reason) | RunEvent::Locked(reason) => {
                self.pauses.push((*reason).to_owned());
                if self.stops_when_paused {
                    INTERRUPTERS.with_borrow(|all| all.last().unwrap().interrupt());
                }
            }
            RunEvent::DiskSpaceFreed | RunEvent::Unlocked => self.pauses.push("over".to_owned()),
            RunEvent::IterationBegan(began) => self.began.push(began.iteration),
            RunEvent::FoundLeftover { killed, .. } => self.killed.push(*killed),
            RunEvent::Ended(ended) => {
                self.sentence = Some(ended.sentence.to_owned());
                self.iterations = ended.iterations;
            }
            _ => {}
        }
    }
}

impl Faults for InjectedFaults {
    fn before(&mut self, effect: &Effect) -> Result<(), RunError> {
        if let Some((is_full, times @ 1..)) = &mut self.full_for
            && is_full(effect)
        {
            *times -= 1;
            return Err(disk_full());
        }
        match self.full {
            Some((at, times)) if self.effects + 1 >= at && (times == 0 || self.asked < times) => {
                self.asked += 1;
                Err(match self.is_locked {
                    true => RunError::Store(StoreError::Busy {
                        path: self.database.clone(),
                    }),
                    false => disk_full(),
                })
            }
            _ => Ok(()),
        }
    }

    fn after(&mut self, effect: &Effect) {
        self.effects += 1;
        let intervention = self.on_effect.as_mut().and_then(|on_effect| on_effect(effect));
        INTERRUPTERS.with_borrow(|all| {
            let run = all.last().unwrap();
            match intervention {
                // Unlike a panic, this prints nothing.
                Some(Intervention::Die) => resume_unwind(Box::new(Died)),
                Some(Intervention::Interrupt) => run.interrupt(),
                Some(Intervention::Guide) => run.guide(),
                Some(Intervention::FinishIteration) => run.finish_iteration(),
                None => {}
            }
        });
    }
}

fn disk_full() -> RunError {
    RunError::Folder(std::io::ErrorKind::StorageFull.into())
}
