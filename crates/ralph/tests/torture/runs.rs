//! Tests of `ralph run` under kills at any moment and in several worktrees at once: no task is done twice or forgotten,
//! no note is lost or duplicated, and no agent keeps running.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ralph_testkit::scripted::{Action, Script, ScriptedAgent, processes_in, run, say, sleep, write};
use ralph_testkit::{Finished, Invocation, Seed, TestEnv, count};

use super::{PROGRAM, under_fault};

/// The output of every turn: a note and a learning with the task's id, and that it is done.
pub(super) const SAID: &str = "<knowledge tags=\"{task}\" title=\"About {task}\">Known of {task}.</knowledge>\
                    <learning category=\"pitfall\">Learned of {task}.</learning>\
                    <journal>Did {task}.</journal><task-done>{task}</task-done>";

/// Passes until the work of a task breaks it.
const GATE: &str = "! grep -rsqx broken state";

/// Half of the tasks break the gate in their first attempt and fix it later.
const BREAKS_GATE_AT_FIRST: &str = "mkdir -p state; if [ -e state/{task} ]; then echo fixed > state/{task}; \
                                    else case {task} in *[0-7]) echo broken;; *) echo fine;; esac > state/{task}; fi";

/// The title of the user's own commits.
const USER_COMMIT: &str = "by the user";

/// A journal entry: its run, iteration, task and outcome.
pub(super) type Row = (String, u32, String, String);

/// A project with tasks and an agent that does them.
pub(super) struct Work {
    pub(super) env: TestEnv,
    pub(super) agent: ScriptedAgent,
    /// The outcomes that iterations may have.
    pub(super) outcomes: &'static [&'static str],
}

impl Work {
    fn new() -> Self {
        Self::with(&[sleep(40)], "[verify]\ncommands = [\"test -d .\"]\n")
    }

    /// In git with a first commit, so that every task has its own checkout, and with a gate that refuses work.
    fn isolated() -> Self {
        let settings = format!("[verify]\ncommands = [{GATE:?}]\n");
        let outcomes = &["done", "interrupted", "retried"];
        let work = Self::with(&[run(BREAKS_GATE_AT_FIRST), sleep(40)], &settings);
        Self { outcomes, ..work }.in_git()
    }

    pub(super) fn in_git(self) -> Self {
        self.env.write(".gitignore", ".ralph/\n.agent/\n");
        self.env.git(["init", "--quiet", "-b", "main"]);
        self.env.git(["add", "--all"]);
        self.env.git(["commit", "--quiet", "-m", "first"]);
        self
    }

    /// Checks that every task's change landed exactly once, that the gate passes at every commit of the base, and that
    /// no checkout is left.
    #[track_caller]
    fn assert_landed_once(&self) {
        let mut titles: Vec<String> = self.query("SELECT title FROM tasks", |row| row.get(0));
        titles.push("first".to_owned());
        titles.sort();
        let log = self.env.git(["log", "--format=%s", "main"]);
        let mut landed: Vec<&str> = log.lines().filter(|title| *title != USER_COMMIT).collect();
        landed.sort_unstable();
        assert_eq!(landed, titles);
        for task in self.query("SELECT id FROM tasks", |row| row.get::<_, String>(0)) {
            let touched = self
                .env
                .git(["log", "--format=%s", "main", "--", &format!("work/{task}.txt")]);
            assert_eq!(touched.lines().count(), 1, "{task}: {touched}");
        }
        assert_eq!(self.env.git(["status", "--porcelain"]), "");
        assert_eq!(self.env.git(["for-each-ref", "refs/ralph", "refs/heads/ralph"]), "");
        let left = self.env.sh("ls -A \"$HOME\"/.local/state/ralph/*/work").run();
        assert_eq!(left.stdout, "");
        let each = format!(
            "git worktree add --quiet --detach ../each && cd ../each && \
             for commit in $(git rev-list main); do git checkout --quiet $commit && {{ {GATE}; }} || echo $commit; done"
        );
        let refused = self.env.sh(&each).run();
        assert_eq!((refused.stdout.as_str(), refused.code), ("", Some(0)), "{refused}");
        let refused = self.journal().iter().any(|(.., outcome)| outcome == "retried");
        assert!(refused, "no attempt broke the gate");
    }

    /// Adds actions to every turn, and settings.
    pub(super) fn with(more: &[Action], settings: &str) -> Self {
        let env = TestEnv::new(PROGRAM);
        let work = [write("work/{task}.txt", "{turn}\n")];
        let script = Script::new().turn(work.into_iter().chain(more.iter().cloned()).chain([say(SAID)]));
        let agent = script.install(&env.beside("agent"));
        env.write(".ralph.toml", settings);
        Self {
            env,
            agent,
            outcomes: &["done", "interrupted"],
        }
    }

    pub(super) fn add_task(&self, title: &str) {
        let added = self.env.ralph(["task", "add", title]).unfixed().run();
        assert_eq!(added.code, Some(0), "{added}");
    }

    /// Commits a change as the user, whatever a killed run has left in the worktree and in the index.
    fn commit_as_user(&self, number: usize) {
        self.env.write("user.txt", format!("{number}\n"));
        // A git process of the killed run may still lock the index.
        let commit = format!(
            "for try in $(seq 100); do \
             git add user.txt && git -c user.name=user -c user.email=user@example.org commit --quiet -m {USER_COMMIT:?} -- user.txt && exit; sleep 0.05; done; exit 1"
        );
        let committed = self.env.sh(&commit).run();
        assert_eq!(committed.code, Some(0), "{committed}");
    }

    pub(super) fn invocation(&self, limit: &str) -> Invocation {
        let agent = self.agent.command();
        self.env
            .ralph(["run", "--trust", "--agent", &agent, "--limit", limit])
            // This does not need gates.
            .env("RALPH_VERIFY_UNVERIFIED", "accept")
            .unfixed()
    }

    pub(super) fn execute(&self, sql: &str) {
        self.connect().execute_batch(sql).unwrap();
    }

    #[expect(clippy::disallowed_methods, reason = "the test looks at the database from outside")]
    fn connect(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.env.path(".ralph/progress.db")).unwrap()
    }

    /// A connection that does not wait for locks, because the process that holds one may wait for this test.
    pub(super) fn connect_at_once(&self) -> rusqlite::Connection {
        let database = self.connect();
        database.busy_timeout(Duration::ZERO).unwrap();
        database
    }

    pub(super) fn query<T>(&self, sql: &str, read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
        let database = self.connect();
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| read(row)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    pub(super) fn journal(&self) -> Vec<Row> {
        self.query(
            "SELECT run_id, iteration, task_id, outcome FROM journal ORDER BY id",
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
    }

    /// Finishes all tasks and checks that the result is as if there had been no kills.
    #[track_caller]
    pub(super) fn assert_all_done_once(&self) {
        let last = self.invocation("1000000").run();
        assert!(matches!(last.code, Some(0 | 3)), "{last}");
        let tasks: BTreeMap<String, String> = self
            .query("SELECT id, status FROM tasks", |row| Ok((row.get(0)?, row.get(1)?)))
            .into_iter()
            .collect();
        let undone: Vec<_> = tasks.iter().filter(|(_, status)| *status != "done").collect();
        assert!(undone.is_empty(), "stranded: {undone:?}");
        self.assert_journal(&tasks.keys().cloned().collect());
        self.assert_notes(&tasks.keys().cloned().collect());
        let left = self.env.sh(&format!(
            "ps -eo args | grep -F '{}' | grep -v grep",
            self.env.beside("agent").display()
        ));
        assert_eq!(left.run().stdout, "", "an agent goes on");
        let project = self.env.project().canonicalize().unwrap();
        assert_eq!(processes_in(&project), [0; 0], "somebody whom an agent started goes on");
    }

    /// Every turn has its journal entry, and every task is done in one of them.
    #[track_caller]
    pub(super) fn assert_journal(&self, tasks: &BTreeSet<String>) {
        let journal = self.journal();
        let done: Vec<String> = journal
            .iter()
            .filter(|(.., outcome)| outcome == "done")
            .map(|(_, _, task, _)| task.clone())
            .collect();
        assert_eq!(done.len(), tasks.len(), "not each task was done once: {journal:#?}");
        assert_eq!(&done.into_iter().collect::<BTreeSet<_>>(), tasks);
        let strange: Vec<_> = journal
            .iter()
            .filter(|(.., outcome)| !self.outcomes.contains(&outcome.as_str()))
            .collect();
        assert!(strange.is_empty(), "{strange:?}");
        let rows: BTreeSet<(String, String)> = journal
            .iter()
            .map(|(run, iteration, ..)| (run.clone(), iteration.to_string()))
            .collect();
        assert_eq!(rows.len(), journal.len(), "an iteration has two rows");
        let mut turns = BTreeSet::new();
        for turn in 1..=self.agent.turns() {
            let mut environment = self.agent.call(turn).environment;
            let mut told = |name: &str| environment.remove(name).unwrap();
            let turn = (told("RALPH_RUN_ID"), told("RALPH_ITERATION"));
            assert!(rows.contains(&turn), "{turn:?} has no row");
            assert!(turns.insert(turn), "an iteration had two turns");
        }
    }

    /// Every task's note and learning exists once.
    #[track_caller]
    fn assert_notes(&self, tasks: &BTreeSet<String>) {
        let folder = std::fs::read_dir(self.env.path(".ralph/knowledge")).unwrap();
        let files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
        let notes: Vec<&PathBuf> = files
            .iter()
            .filter(|path| path.extension().is_some_and(|e| e == "md"))
            .collect();
        assert_eq!(notes.len(), tasks.len(), "{files:?}");
        for note in notes {
            let text = std::fs::read_to_string(note).unwrap();
            assert_eq!(text.matches("Known of").count(), 1, "{text}");
        }
        let learnings: Vec<String> =
            self.query("SELECT content FROM learnings WHERE source = 'sigil'", |row| row.get(0));
        assert_eq!(learnings.len(), tasks.len(), "{learnings:?}");
    }
}

#[test]
fn a_run_killed_at_any_call_is_finished_by_the_next() {
    let kills = count("RALPH_SOAK_RUN_KILLS", 20);
    let mut seed = Seed::announced("a run killed at a call");
    let work = Work::isolated();
    work.add_task("the first");
    // The number of calls of a run is unknown and varies: it is lower after a run that ended before the kill.
    let mut most = 500;
    let mut came = 0;
    while came < kills {
        work.add_task(&format!("task {came}"));
        let call = 1 + seed.below(most);
        let (finished, killed) = under_fault(&work.env, work.invocation("2"), &format!("kill:{call}"));
        if killed {
            assert_eq!(finished.code, None, "{finished}");
            work.commit_as_user(came);
            came += 1;
            most += 1 + most / 20;
        } else {
            assert!(matches!(finished.code, Some(0 | 3 | 4)), "call {call}: {finished}");
            most = call.max(100);
        }
    }
    work.assert_all_done_once();
    work.assert_landed_once();
    let rows = work.journal().len();
    eprintln!(
        "{kills} kills at calls below about {most}: {rows} iterations, {} turns",
        work.agent.turns()
    );
}

#[test]
fn a_run_killed_at_any_moment_is_finished_by_the_next() {
    let kills = count("RALPH_SOAK_RUN_KILLS", 20);
    let mut seed = Seed::announced("a run killed at a moment");
    let work = Work::isolated();
    work.add_task("the first");
    // Twice as long as the last complete run.
    let mut longest = Duration::from_millis(600);
    for number in 0..kills {
        work.add_task(&format!("task {number}"));
        let mut victim = work.invocation("2").start();
        let begin = Instant::now();
        let moment = Duration::from_micros(seed.below(usize::try_from(longest.as_micros()).unwrap()) as u64);
        while begin.elapsed() < moment && victim.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        work.commit_as_user(number);
        if begin.elapsed() < moment {
            longest = begin.elapsed() * 2;
        }
    }
    work.assert_all_done_once();
    work.assert_landed_once();
    let rows = work.journal().len();
    eprintln!("{kills} kills: {rows} iterations, {} turns", work.agent.turns());
}

#[test]
fn runs_in_four_worktrees_do_every_task_once() {
    let tasks = count("RALPH_SOAK_RUN_TASKS", 40);
    let mut work = Work::new();
    work.agent = Script::new()
        .turn([
            run("echo {task} >> \"$HOME/done.log\""),
            write("work/{task}.txt", "x"),
            say(SAID),
        ])
        .install(&work.env.beside("agent"));
    work.env.git(["init", "--quiet"]);
    work.env.git(["add", "--all"]);
    work.env.git(["commit", "--quiet", "-m", "first"]);
    let list: String = (0..tasks).map(|number| format!("- [ ] task {number}\n")).collect();
    work.env.write("../list.md", list);
    let imported = work.env.ralph(["task", "import", "../list.md"]).unfixed().run();
    assert_eq!(imported.code, Some(0), "{imported}");
    let mut folders = vec![work.env.project()];
    for number in 2..=4 {
        let folder = work.env.beside(&format!("worktree-{number}"));
        work.env
            .git(["worktree", "add", "--quiet", "--detach", folder.to_str().unwrap()]);
        folders.push(folder);
    }
    let ended: Vec<Finished> = std::thread::scope(|scope| {
        let runs: Vec<_> = folders
            .iter()
            .map(|folder| scope.spawn(|| work.invocation("1000000").folder(folder).run()))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for finished in &ended {
        assert!(matches!(finished.code, Some(0 | 3)), "{finished}");
    }
    let log = std::fs::read_to_string(work.env.beside("home/done.log")).unwrap();
    let done: Vec<&str> = log.lines().collect();
    assert_eq!(done.len(), tasks, "{log}");
    let ids = done.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(ids.len(), tasks, "one was done twice: {log}");
    work.assert_journal(&ids);
    let by_run = work.journal().into_iter().fold(BTreeMap::new(), |mut all, (run, ..)| {
        *all.entry(run).or_insert(0) += 1;
        all
    });
    eprintln!("{tasks} tasks in four worktrees: {by_run:?}");
}
