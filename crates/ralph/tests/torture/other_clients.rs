//! Tests of other SQLite clients that use the database during `ralph run`: nothing that the run recorded is lost.
//!
//! The clients are foreign programs in separate processes. A client that is not installed is skipped by name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_testkit::scripted::{Action, Script, remember, run, say, write};
use ralph_testkit::{Finished, count};

use super::runs::{SAID, Work};

/// The pause between two statements of a client.
const PAUSE: Duration = Duration::from_millis(50);
/// The table that the clients write to.
const TABLE: &str = "CREATE TABLE guests (name TEXT NOT NULL)";
const READ: &str = "SELECT count(*) FROM tasks";
const WRITE: &str = "INSERT INTO guests VALUES ('guest')";
const CHECK: &str = "PRAGMA integrity_check";
/// Python's script: one statement in its own connection.
const PYTHON: &str = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=30); \
                      [print(*row) for row in c.execute(sys.argv[2]).fetchall()]; c.commit(); c.close()";

/// A program with its own SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Python,
    Shell,
}

impl Client {
    #[expect(clippy::print_stderr, reason = "what is skipped is named")]
    fn installed(work: &Work) -> Vec<Self> {
        let (found, missing): (Vec<_>, Vec<_>) = [Self::Python, Self::Shell].into_iter().partition(|client| {
            let probe = client.line(Path::new(":memory:"), "SELECT 1");
            work.env.sh(&probe).run().code == Some(0)
        });
        for client in missing {
            eprintln!("SKIPPED: {client:?} is not installed, so it was not tried as an SQLite client");
        }
        found
    }

    /// A shell line that executes a statement in its own connection.
    fn line(self, database: &Path, sql: &str) -> String {
        let database = database.display();
        match self {
            Self::Python => format!("python3 -c '{PYTHON}' '{database}' \"{sql}\""),
            Self::Shell => format!("sqlite3 -cmd '.timeout 30000' '{database}' \"{sql}\""),
        }
    }
}

/// When the clients use the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visits {
    /// Each reads and writes once while an agent works.
    Once,
    /// Each reads and writes repeatedly during the run.
    AllTheTime,
}

/// A project whose database is used by clients while `ralph run` works in several worktrees.
struct Trial {
    work: Work,
    folders: Vec<PathBuf>,
    clients: Vec<Client>,
    tasks: usize,
    /// The number of rows that the clients have written.
    written: usize,
}

impl Trial {
    fn new(worktrees: usize, visits: Visits) -> Self {
        let mut work = Work::with(&[], "[verify]\ncommands = [\"test -d .\"]\n");
        let clients = Client::installed(&work);
        let tasks = 6 * worktrees;
        let list: String = (0..tasks).map(|number| format!("- [ ] task {number}\n")).collect();
        work.env.git(["init", "--quiet"]);
        work.env.git(["add", "--all"]);
        work.env.git(["commit", "--quiet", "-m", "first"]);
        work.env.write("../list.md", list);
        let imported = work.env.ralph(["task", "import", "../list.md"]).unfixed().run();
        assert_eq!(imported.code, Some(0), "{imported}");
        let mut folders = vec![work.env.project()];
        for number in 2..=worktrees {
            let folder = work.env.beside(&format!("worktree-{number}"));
            let shown = folder.to_str().unwrap();
            work.env.git(["worktree", "add", "--quiet", "--detach", shown]);
            folders.push(folder);
        }
        work.execute(TABLE);
        let database = work.env.path(".ralph/progress.db");
        let once: Vec<String> = match visits {
            Visits::Once => statements(&clients, &database),
            Visits::AllTheTime => Vec::new(),
        };
        let turns = std::iter::once(None).chain(once.iter().map(Some)).chain([None]);
        let script = turns.fold(Script::new(), |script, line| script.turn(turn(line)));
        work.agent = script.install(&work.env.beside("agent"));
        let written = if visits == Visits::Once { clients.len() } else { 0 };
        Self {
            work,
            folders,
            clients,
            tasks,
            written,
        }
    }

    /// Runs all tasks in all worktrees at once.
    fn run(&self) -> Vec<Finished> {
        std::thread::scope(|scope| {
            let runs: Vec<_> = self
                .folders
                .iter()
                .map(|folder| scope.spawn(|| self.work.invocation("1000000").folder(folder).run()))
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        })
    }

    /// Runs all tasks while every client reads and writes.
    fn run_with_visitors(&mut self) -> Vec<Finished> {
        let database = self.work.env.path(".ralph/progress.db");
        let over = AtomicBool::new(false);
        let (ended, written) = std::thread::scope(|scope| {
            let visitors: Vec<_> = statements(&self.clients, &database)
                .into_iter()
                .map(|line| {
                    let (work, over) = (&self.work, &over);
                    scope.spawn(move || {
                        let mut visits = 0;
                        while !over.load(Ordering::Relaxed) {
                            let visited = work.env.sh(&line).run();
                            assert_eq!(visited.code, Some(0), "{line}: {visited}");
                            visits += 1;
                            std::thread::sleep(PAUSE);
                        }
                        if line.contains(WRITE) { visits } else { 0 }
                    })
                })
                .collect();
            let ended = self.run();
            over.store(true, Ordering::Relaxed);
            let written: usize = visitors.into_iter().map(|visitor| visitor.join().unwrap()).sum();
            (ended, written)
        });
        self.written += written;
        ended
    }

    /// Checks that everything the runs recorded is there.
    #[track_caller]
    fn assert_nothing_lost(&self, ended: &[Finished]) {
        for finished in ended {
            assert!(matches!(finished.code, Some(0 | 3)), "{finished}");
        }
        let work = &self.work;
        assert_eq!(work.query(CHECK, text), ["ok"]);
        let database = work.env.path(".ralph/progress.db");
        for client in &self.clients {
            // Their SQLite may be older than ours.
            let checked = work.env.sh(&client.line(&database, CHECK)).run();
            assert_eq!(checked.stdout.trim(), "ok", "{client:?}: {checked}");
        }
        let tasks: BTreeSet<String> = work.query("SELECT id FROM tasks", text).into_iter().collect();
        assert_eq!(tasks.len(), self.tasks, "tasks are missing");
        let undone = work.query("SELECT id || ' ' || status FROM tasks WHERE status <> 'done'", text);
        assert!(
            undone.is_empty(),
            "the runs ended well, but these are not done: {undone:?}"
        );
        work.assert_journal(&tasks);
        let learned = work.query("SELECT content FROM learnings WHERE source = 'sigil'", text);
        assert_eq!(learned.len(), self.tasks, "learnings are missing: {learned:?}");
        let logged = work.query(
            "SELECT content FROM note_log WHERE content LIKE 'Turn % was here.'",
            text,
        );
        let logged: BTreeSet<String> = logged.into_iter().collect();
        assert_eq!(
            logged.len(),
            work.agent.turns(),
            "memories are missing in the log: {logged:?}"
        );
        assert_eq!(self.knowledge(), self.tasks, "knowledge entries are missing");
        let guests = work.query("SELECT name FROM guests", text);
        assert_eq!(guests.len(), self.written, "what the other clients wrote is missing");
    }

    /// The number of knowledge entries in all worktrees.
    fn knowledge(&self) -> usize {
        let is_entry = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
        let entries = |folder: &PathBuf| match std::fs::read_dir(folder.join(".ralph/knowledge")) {
            Ok(files) => files.filter(|file| is_entry(&file.as_ref().unwrap().path())).count(),
            Err(_) => 0,
        };
        self.folders.iter().map(entries).sum()
    }
}

/// The clients' statements, as shell lines.
fn statements(clients: &[Client], database: &Path) -> Vec<String> {
    let of_one = |client: &Client| [READ, WRITE].map(|sql| client.line(database, sql));
    clients.iter().flat_map(of_one).collect()
}

/// The agent's turn: it uses ralph, then does its task.
fn turn(line: Option<&String>) -> Vec<Action> {
    let mut actions = vec![remember("Turn {turn} was here.")];
    actions.extend(line.map(|line| run(line)));
    actions.extend([
        run("ralph journal list --json"),
        run("ralph recall 'what is known of {task}'"),
        write("work/{task}.txt", "{turn}\n"),
        say(SAID),
    ]);
    actions
}

fn text(row: &rusqlite::Row<'_>) -> rusqlite::Result<String> {
    row.get(0)
}

#[test]
fn a_run_survives_one_use_by_another_client() {
    for _ in 0..count("RALPH_SOAK_CLIENT_TRIALS", 3) {
        let trial = Trial::new(1, Visits::Once);
        let ended = trial.run();
        trial.assert_nothing_lost(&ended);
    }
}

#[test]
fn a_run_survives_constant_use_by_other_clients() {
    for _ in 0..count("RALPH_SOAK_CLIENT_TRIALS", 3) {
        let mut trial = Trial::new(1, Visits::AllTheTime);
        let ended = trial.run_with_visitors();
        trial.assert_nothing_lost(&ended);
    }
}

#[test]
fn four_worktrees_survive_one_use_by_another_client() {
    for _ in 0..count("RALPH_SOAK_CLIENT_TRIALS", 3) {
        let trial = Trial::new(4, Visits::Once);
        let ended = trial.run();
        trial.assert_nothing_lost(&ended);
    }
}

#[test]
fn four_worktrees_survive_constant_use_by_other_clients() {
    for _ in 0..count("RALPH_SOAK_CLIENT_TRIALS", 3) {
        let mut trial = Trial::new(4, Visits::AllTheTime);
        let ended = trial.run_with_visitors();
        trial.assert_nothing_lost(&ended);
    }
}
