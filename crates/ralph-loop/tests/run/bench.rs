//! A project in a temporary folder, an agent with a script, and runs of the loop over both.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use ralph_loop::changes::OwnFiles;
use ralph_loop::state::{Draft, Effect, End, FirstTry, Notice, Pace};
use ralph_loop::{
    Base, Finish, Guide, Interrupter, Isolation, News, Order, Room, Runner, Site, Survival, Verifier, Watch,
};
use ralph_memory::capture::{KnowledgeFolder, LogPlace, Scratchpad, Surroundings};
use ralph_memory::catalogue::{CatalogueHome, CataloguePlace};
use ralph_memory::inject::FeaturesFolder;
use ralph_memory::inject::prompt::MemoryShare;
use ralph_model::config::{CommandLine, Config, WhenUnverified};
use ralph_model::{Author, Clock, JournalRow, NewTask, RunId, Shelf, SplitMix64, Task, TaskId, TaskStatus};
use ralph_notes::{Patience, create_folder};
use ralph_process::git::Git;
use ralph_store::{DatabasePlace, JournalFilter, NoteFile, RunProcess, Scope, Store, TaskFilter, Which};
use ralph_testkit::scripted::{Action, Script, ScriptedAgent};

/// When the time of every test begins.
pub(crate) const NOON: &str = "2026-11-16T11:00:00Z";

const PATIENCE: Patience<'static> = Patience {
    notice_after: Duration::from_secs(60),
    limit: Duration::from_secs(60),
    notice: &|_| {},
};

/// A clock that goes on by a second each time that it is asked.
#[derive(Debug)]
pub(crate) struct Ticking(AtomicI64);

impl Default for Ticking {
    fn default() -> Self {
        let noon: Timestamp = NOON.parse().unwrap();
        Self(AtomicI64::new(noon.as_second()))
    }
}

impl Ticking {
    /// Jumps by so many seconds.
    pub(crate) fn jump(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.fetch_add(1, Ordering::Relaxed)).unwrap()
    }
}

/// A clock by which no time of a file can be trusted, so that files are always read.
struct LongAgo;

impl Clock for LongAgo {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// Ids and markers differ from run to run, and from those of tests in other processes: whoever ends what is left of an
/// agent finds it by its marker.
fn new_ids() -> SplitMix64 {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    SplitMix64::new(u64::from(std::process::id()) << 32 | number)
}

/// A configuration in which what an agent reports done is done: few tests are about evidence, and many agents only talk.
fn confirmed() -> Config {
    let mut config = Config::default();
    config.verify.commands = vec!["true".to_owned()];
    config.verify.unverified = WhenUnverified::Accept;
    config
}

/// How an agent speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// It prints its answer.
    Plain,
    /// It prints records of claude's.
    Claude,
    /// It prints records of codex's.
    Codex,
    /// It speaks ACP.
    Acp,
}

impl Speaks {
    fn kind(self) -> &'static str {
        match self {
            Self::Plain => "command",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Acp => "acp",
        }
    }
}

/// A worktree with a scripted agent. Values that came from the same one share its folder, its tasks and its agent.
pub(crate) struct Project {
    folder: Arc<tempfile::TempDir>,
    root: PathBuf,
    worktree: String,
    speaks: Speaks,
    clock: Arc<Ticking>,
    pub(crate) agent: ScriptedAgent,
    words: Option<Vec<String>>,
    /// Another agent that looks at what is done, and its words.
    pub(crate) verifier: Option<(Speaks, Vec<String>)>,
    pub(crate) config: Config,
    pub(crate) share: MemoryShare,
    pub(crate) scope: Scope,
    pub(crate) first_try: FirstTry,
    /// Whether tasks have checkouts of their own.
    pub(crate) isolated: bool,
    /// Who is asked when a turn is stopped.
    pub(crate) guide: Option<Arc<dyn Guide>>,
}

impl Project {
    /// An empty folder without git, and an agent that does these turns; the last is repeated.
    pub(crate) fn new<const N: usize>(speaks: Speaks, turns: [Vec<Action>; N]) -> Self {
        ralph_process::become_subreaper().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        create_folder(&root.join(".ralph")).unwrap();
        let agent = install(speaks, turns, &folder.path().join("agent"));
        Self {
            folder: Arc::new(folder),
            root,
            worktree: String::new(),
            speaks,
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

    /// The same with a plain agent.
    pub(crate) fn plain<const N: usize>(turns: [Vec<Action>; N]) -> Self {
        Self::new(Speaks::Plain, turns)
    }

    /// The same project with a plain agent beside its own.
    pub(crate) fn with_plain_agent<const N: usize>(&self, turns: [Vec<Action>; N]) -> Self {
        Self {
            folder: Arc::clone(&self.folder),
            root: self.root.clone(),
            worktree: self.worktree.clone(),
            speaks: Speaks::Plain,
            clock: Arc::clone(&self.clock),
            agent: install(Speaks::Plain, turns, &self.folder.path().join("plain-agent")),
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

    /// With another script from now on.
    pub(crate) fn play<const N: usize>(&mut self, turns: [Vec<Action>; N]) {
        self.agent = install(self.speaks, turns, &self.folder.path().join("agent"));
    }

    /// With another agent that looks at what is done.
    pub(crate) fn verified_by<const N: usize>(&mut self, speaks: Speaks, looks: [Vec<Action>; N]) -> ScriptedAgent {
        let agent = install(speaks, [], &self.folder.path().join("verifier"));
        agent.look(looks);
        self.verifier = Some((speaks, agent.words()));
        agent
    }

    /// With any program as its agent.
    pub(crate) fn agent_command(&mut self, words: &[&str]) {
        self.words = Some(words.iter().map(|word| (*word).to_owned()).collect());
    }

    /// In a git repository with one commit.
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

    /// With these gates.
    pub(crate) fn gated(mut self, gates: &[&str]) -> Self {
        self.config.verify.commands = gates.iter().map(|gate| (*gate).to_owned()).collect();
        self
    }

    /// A second worktree of the repository, beside it, on a branch of its own.
    pub(crate) fn beside(&self, name: &str) -> Self {
        let root = self.root.with_file_name(name);
        self.git(&["worktree", "add", "--quiet", "-b", name, root.to_str().unwrap()]);
        create_folder(&root.join(".ralph")).unwrap();
        Self {
            folder: Arc::clone(&self.folder),
            root,
            worktree: name.to_owned(),
            speaks: self.speaks,
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

    /// The project's folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Runs git, which must succeed; its answer.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let answer = Git::change(&self.root).run(arguments).unwrap();
        answer.text().unwrap()
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.root.join(file);
        create_folder(path.parent().unwrap()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
        std::fs::write(path, text).unwrap();
    }

    /// A file of the project.
    #[track_caller]
    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.root.join(file)).unwrap()
    }

    /// The names in a folder of the project, in order; none when it is not there.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(folder)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The database.
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

    /// Makes a task of this title.
    pub(crate) fn task(&self, title: &str) -> TaskId {
        self.add(&NewTask::titled(title))
    }

    /// Makes a task.
    pub(crate) fn add(&self, task: &NewTask) -> TaskId {
        self.store().add_task(task, &mut new_ids(), self.now()).unwrap().id
    }

    /// The clock, for somebody who lets it jump.
    pub(crate) fn clock(&self) -> Arc<Ticking> {
        Arc::clone(&self.clock)
    }

    /// A moment, later than all before.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A task as it stands.
    #[track_caller]
    pub(crate) fn stands(&self, task: &TaskId) -> Task {
        self.store().task(task).unwrap().unwrap()
    }

    /// Where a task stands.
    #[track_caller]
    pub(crate) fn status(&self, task: &TaskId) -> TaskStatus {
        self.stands(task).status
    }

    /// All tasks.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        let all = TaskFilter {
            which: Which::All,
            ..TaskFilter::default()
        };
        self.store().tasks(&all).unwrap()
    }

    /// The journal, the oldest row first.
    pub(crate) fn journal(&self) -> Vec<JournalRow> {
        let mut rows = self.store().journal_list(&JournalFilter::default()).unwrap();
        rows.reverse();
        rows
    }

    /// The journal in short: what became of it, and why it ended.
    pub(crate) fn story(&self) -> Vec<String> {
        let short = |row: JournalRow| format!("{} {}: {}", row.row.task_title, row.row.outcome, row.row.stop);
        self.journal().into_iter().map(short).collect()
    }

    /// Every iteration that an agent was started in, as its own call tells: the run, the iteration and the marker.
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

    /// A run to its end.
    #[track_caller]
    pub(crate) fn run(&self) -> Ran {
        self.run_with(Seen::default())
    }

    /// A run that somebody watches.
    #[track_caller]
    pub(crate) fn run_with(&self, mut seen: Seen) -> Ran {
        let pid = std::process::id();
        let process = RunProcess {
            host: ralph_process::host(),
            pid,
            started: ralph_process::start_time(pid).unwrap(),
        };
        let site = self.site(process);
        let agent = |speaks: Speaks, words: &[String]| {
            let clock = Arc::clone(&self.clock);
            ralph_loop::agent_for(Some(speaks.kind()), &CommandLine::Words(words.to_vec()), clock).unwrap()
        };
        let words = self.words.clone().unwrap_or_else(|| self.agent.words());
        let worker = agent(self.speaks, &words);
        let order = Order {
            only_task: None,
            scope: self.scope.clone(),
            goal: "the test".to_owned(),
            verifier: match &self.verifier {
                _ if !self.config.execution.verify => Verifier::Nobody,
                Some((speaks, words)) => Verifier::Another(agent(*speaks, words)),
                None if worker.can_be_read_only() => Verifier::SameAgent,
                None => Verifier::Nobody,
            },
            agent: worker,
            model: None,
            share: self.share,
            pace: Pace {
                busy: Duration::from_millis(5),
                // The clock of tests goes on by a second with every look at it.
                transient: Duration::from_secs(4),
                usage: Duration::from_secs(10),
                spread: Duration::ZERO,
                look: Duration::from_millis(1),
                room: Duration::from_millis(5),
            },
            first_try: self.first_try,
            guide: self.guide.clone(),
        };
        let mut ids = new_ids();
        let runner = Runner::new(&site, order, &mut ids, &mut seen).unwrap();
        let run = runner.id().clone();
        let interrupter = runner.interrupter();
        INTERRUPTERS.with_borrow_mut(|all| all.push(interrupter));
        let finish = runner.run().unwrap();
        INTERRUPTERS.with_borrow_mut(Vec::pop);
        let (end, iterations) = match finish {
            Finish::Ended { end, iterations, .. } => (Some(end), iterations),
            Finish::Died => (None, 0),
        };
        Ran {
            run,
            end,
            iterations,
            seen,
        }
    }

    /// The folder of the checkouts.
    pub(crate) fn checkouts(&self) -> PathBuf {
        self.folder.path().join("state/work")
    }

    fn site(&self, process: RunProcess) -> Site<'_> {
        let ralph = self.root.join(".ralph");
        let agent = self.root.join(".agent");
        let catalogue = CataloguePlace {
            database: ralph.join("index.db"),
            shelves: [Shelf::Memories, Shelf::Guardrails]
                .map(|shelf| (shelf, agent.join(shelf.file_name())))
                .to_vec(),
            knowledge: ralph.join("knowledge"),
            home: self,
            file_clock: &LongAgo,
        };
        Site {
            root: self.root.clone(),
            worktree: self.worktree.clone(),
            branch: None,
            commit: None,
            database: self.database(),
            runs: ralph.join("runs"),
            knowledge: KnowledgeFolder {
                catalogue: catalogue.clone(),
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
                surroundings: self,
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
                surroundings: self,
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
            catalogue,
            config: &self.config,
            config_files: vec![self.root.join(".ralph.toml")],
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            program: "/bin/true".into(),
            process,
            clock: &*self.clock,
        }
    }
}

fn install<const N: usize>(speaks: Speaks, turns: [Vec<Action>; N], folder: &Path) -> ScriptedAgent {
    let script = match speaks {
        Speaks::Plain => Script::new(),
        Speaks::Claude => Script::new().speaking_claude(),
        Speaks::Codex => Script::new().speaking_codex(),
        Speaks::Acp => Script::new().speaking_acp(),
    };
    turns.into_iter().fold(script, Script::turn).install(folder)
}

impl CatalogueHome for Project {
    fn prepare_index(&self) -> bool {
        true
    }
}

impl Surroundings for Project {}

thread_local! {
    /// The runs that go on in this thread, for whoever watches them and wants to interrupt.
    static INTERRUPTERS: std::cell::RefCell<Vec<Interrupter>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// How a run went.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) run: RunId,
    /// None when it died.
    pub(crate) end: Option<End>,
    pub(crate) iterations: u32,
    pub(crate) seen: Seen,
}

impl Ran {
    /// The exit code.
    #[track_caller]
    pub(crate) fn code(&self) -> u8 {
        self.end.as_ref().unwrap().code()
    }
}

/// What a run does to a test that watches it.
type OnEffect = Box<dyn FnMut(&Effect) -> Option<Deed> + Send>;

/// What a test does to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// The run dies here.
    Die,
    /// Ctrl+C.
    Interrupt,
    /// The person has something to say.
    Guide,
    /// It is to end after this iteration.
    FinishIteration,
}

/// Whether an effect is one of those that are meant.
pub(crate) type IsSo = fn(&Effect) -> bool;

/// Somebody who watches, and remembers what was told.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) settled: Vec<Draft>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) warnings: Vec<String>,
    /// Why there was no room, and `over` when there was some again.
    pub(crate) pauses: Vec<String>,
    /// For every iteration that a dead run left, how many of its processes were alive.
    pub(crate) killed: Vec<usize>,
    /// The iterations that were told to have begun.
    pub(crate) began: Vec<u32>,
    /// What was told of the end.
    pub(crate) sentence: Option<String>,
    /// How many effects were done.
    pub(crate) effects: usize,
    on_effect: Option<OnEffect>,
    /// The effect that finds no room, counted from 1, and how often; 0 is for ever.
    pub(crate) full: Option<(usize, usize)>,
    asked: usize,
    /// Which effects find no room, and how often.
    pub(crate) full_for: Option<(IsSo, usize)>,
    /// Whether the person stops a run that is paused.
    pub(crate) stops_when_paused: bool,
    /// Whether it is a locked database, and not a full disk, that the run finds.
    pub(crate) is_locked: bool,
}

/// How often the run of this thread was interrupted, as others see it.
pub(crate) fn presses() -> u32 {
    INTERRUPTERS.with_borrow(|all| all.last().unwrap().presses())
}

impl Seen {
    /// The effect of this number finds no room, so often.
    pub(crate) fn full_at(effect: usize, times: usize) -> Self {
        Self {
            full: Some((effect, times)),
            ..Self::default()
        }
    }

    /// With something to do after an effect.
    pub(crate) fn doing(on_effect: impl FnMut(&Effect) -> Option<Deed> + Send + 'static) -> Self {
        Self {
            on_effect: Some(Box::new(on_effect)),
            ..Self::default()
        }
    }

    /// The run dies after so many effects.
    pub(crate) fn dying_after(effects: usize) -> Self {
        let mut left = effects;
        Self::doing(move |_| {
            left -= 1;
            (left == 0).then_some(Deed::Die)
        })
    }

    /// The run dies after the first effect that is so.
    pub(crate) fn dying_at(matches: impl Fn(&Effect) -> bool + Send + 'static) -> Self {
        Self::doing(move |effect| matches(effect).then_some(Deed::Die))
    }
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Seen")
            .field("notices", &self.notices)
            .field("warnings", &self.warnings)
            .field("killed", &self.killed)
            .field("effects", &self.effects)
            .finish_non_exhaustive()
    }
}

impl Watch for Seen {
    fn tell(&mut self, news: &News<'_>) {
        match news {
            News::Settled { draft, .. } => self.settled.push((*draft).clone()),
            News::Notice(notice) => self.notices.push((*notice).clone()),
            News::Warning(warning) => self.warnings.push((*warning).to_owned()),
            News::NoRoom(reason) | News::Locked(reason) => {
                self.pauses.push((*reason).to_owned());
                if self.stops_when_paused {
                    INTERRUPTERS.with_borrow(|all| all.last().unwrap().interrupt());
                }
            }
            News::RoomAgain | News::Unlocked => self.pauses.push("over".to_owned()),
            News::IterationBegan { current, .. } => self.began.push(current.iteration),
            News::FoundLeft { killed, .. } => self.killed.push(*killed),
            News::Ended { sentence, .. } => self.sentence = Some((*sentence).to_owned()),
            _ => {}
        }
    }

    fn room(&mut self, effect: &Effect) -> Room {
        if let Some((is_full, times @ 1..)) = &mut self.full_for
            && is_full(effect)
        {
            *times -= 1;
            return Room::None;
        }
        match self.full {
            Some((at, times)) if self.effects + 1 >= at && (times == 0 || self.asked < times) => {
                self.asked += 1;
                if self.is_locked { Room::Locked } else { Room::None }
            }
            _ => Room::Enough,
        }
    }

    fn survives(&mut self, effect: &Effect) -> Survival {
        self.effects += 1;
        match self.on_effect.as_mut().and_then(|on_effect| on_effect(effect)) {
            Some(Deed::Die) => return Survival::Dies,
            Some(Deed::Interrupt) => {
                INTERRUPTERS.with_borrow(|all| all.last().unwrap().interrupt());
            }
            Some(Deed::Guide) => {
                INTERRUPTERS.with_borrow(|all| all.last().unwrap().guide());
            }
            Some(Deed::FinishIteration) => {
                INTERRUPTERS.with_borrow(|all| all.last().unwrap().finish_iteration());
            }
            None => {}
        }
        Survival::Lives
    }
}
