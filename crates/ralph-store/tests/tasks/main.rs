//! Tasks through the store's methods, with a real database on disk.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

mod claims;
mod features;
mod import;
mod model;
mod proposals;
mod relations;
mod statuses;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{NewTask, RunId, SplitMix64, TaskId, TaskStatus};
use ralph_store::{Claim, ClaimAnswer, ClaimRequest, DoneIn, ParentChange, Scope, Store, TaskError, TaskUpdate};

const LEASE: Duration = Duration::from_secs(120);

/// The current time in tests, plus some seconds.
fn now(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_737_372_000 + seconds).unwrap()
}

struct Tasks {
    folder: tempfile::TempDir,
    store: Store,
    entropy: SplitMix64,
}

impl Tasks {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            folder,
            store,
            entropy: SplitMix64::new(1),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("progress.db")
    }

    fn try_add(&mut self, title: &str, parent: Option<&TaskId>, after: &[&TaskId]) -> Result<TaskId, TaskError> {
        let new = NewTask {
            parent: parent.cloned(),
            after: after.iter().copied().cloned().collect(),
            ..NewTask::titled(title)
        };
        self.store.add_task(&new, &mut self.entropy, now(0)).map(|task| task.id)
    }

    /// Adds a top-level task.
    fn add(&mut self, title: &str) -> TaskId {
        self.try_add(title, None, &[]).unwrap()
    }

    fn subtask(&mut self, title: &str, parent: &TaskId) -> TaskId {
        self.try_add(title, Some(parent), &[]).unwrap()
    }

    /// Adds a task with dependencies.
    fn after(&mut self, title: &str, after: &[&TaskId]) -> TaskId {
        self.try_add(title, None, after).unwrap()
    }

    fn done(&mut self, id: &TaskId) {
        self.done_in(id, "", None);
    }

    fn done_in(&mut self, id: &TaskId, worktree: &str, commit: Option<&str>) {
        let done = DoneIn {
            worktree: worktree.to_owned(),
            commit: commit.map(str::to_owned),
        };
        self.store.finish_task(id, &done, now(1)).unwrap();
    }

    fn fail(&mut self, id: &TaskId) {
        self.store.fail_task(id, "no way", now(1)).unwrap();
    }

    fn wait_for(&mut self, id: &TaskId, after: &TaskId) -> Result<(), TaskError> {
        let update = TaskUpdate {
            add_after: vec![after.clone()],
            ..TaskUpdate::default()
        };
        self.store.update_task(id, &update, now(1)).map(drop)
    }

    fn move_under(&mut self, id: &TaskId, parent: ParentChange) -> Result<(), TaskError> {
        let update = TaskUpdate {
            parent,
            ..TaskUpdate::default()
        };
        self.store.update_task(id, &update, now(1)).map(drop)
    }

    fn status(&self, id: &TaskId) -> TaskStatus {
        self.store.task(id).unwrap().unwrap().status
    }

    /// The status words of tasks.
    fn words<const N: usize>(&self, ids: [&TaskId; N]) -> [&'static str; N] {
        ids.map(|id| self.status(id).word())
    }

    fn log(&self, id: &TaskId) -> Vec<String> {
        let lines = self.store.task_log(id).unwrap();
        lines.into_iter().map(|line| line.text).collect()
    }

    /// Records a run.
    fn run(&self, number: u64) -> RunId {
        let run = RunId::new(number);
        let at = now(0).to_string();
        self.execute(&format!(
            "INSERT INTO runs (id, kind, agent, goal, worktree, host, pid, pid_started, started_at, heartbeat)
             VALUES ('{run}', 'loop', 'x', 'x', '', 'here', {number}, 7, '{at}', '{at}')"
        ));
        run
    }

    /// Changes the database behind the store's back.
    #[expect(clippy::disallowed_methods, reason = "what no method of the store does yet")]
    fn execute(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.execute_batch(sql).unwrap();
    }

    fn ask(&mut self, run: &RunId, scope: &Scope) -> ClaimAnswer {
        self.ask_in(run, scope, "", &[])
    }

    fn ask_in(&mut self, run: &RunId, scope: &Scope, worktree: &str, commits: &[&str]) -> ClaimAnswer {
        let commits_here: BTreeSet<String> = commits.iter().copied().map(str::to_owned).collect();
        let request = ClaimRequest {
            run,
            iteration: 1,
            scope,
            worktree,
            commits_here: &commits_here,
            marker: "marker",
            lease: LEASE,
            verifier: None,
            pause_policy: ralph_store::PausePolicy::Respect,
            now: now(10),
        };
        self.store.claim_next(&request).unwrap()
    }

    /// Claims the next task for a new run.
    #[track_caller]
    fn claim(&mut self, number: u64) -> Claim {
        let run = self.run(number);
        match self.ask(&run, &Scope::All) {
            ClaimAnswer::Claimed(claim) => *claim,
            other => panic!("{other:?}"),
        }
    }
}
