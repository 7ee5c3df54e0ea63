//! A project in which the loop runs: notes, files, a history, tasks, and an agent that does next to nothing.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_process::command;
use tempfile::TempDir;

use super::history::{self, Memory};
use crate::bench::corpus;
use crate::child::{Running, output};
use crate::programs::Programs;
use crate::sys::Usage;

/// How many files of work there are, usually.
const FILES: usize = 200;
/// Files in memory are synced at once, so a history of a hundred thousand iterations is written there.
const MEMORY: &str = "/dev/shm";
/// For so long after a change the times of a file cannot tell another change from it.
const RACY_TIME: Duration = Duration::from_millis(2_100);
/// Where the agent and git find their programs.
pub(super) const PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin";
/// The exit code of a run whose iterations are used up.
const LIMIT_REACHED: i32 = 4;
/// The database of facts and its log.
const DATABASE: [&str; 2] = ["progress.db", "progress.db-wal"];

/// The agent: it changes a file, leaves a note in the journal and a lesson, and says that its task is done. On request it
/// also leaves a long note that becomes a file, or it fails and says how.
const AGENT: &str = r#"
id=$(sed -n '/^## Assigned Task/{n;n;s/.*(\(t-[0-9a-f]*\)).*/\1/p;q}')
echo "$RALPH_RUN_ID $RALPH_ITERATION" > work.txt
if [ "$1" = file ]; then
    text="It reads lines, and the last one need not end."
    echo "<knowledge tags=\"parser\" title=\"The parser, part $RALPH_ITERATION\">$text</knowledge>"
fi
cat <<END
The cause is found and mended.
<journal>Iteration $RALPH_ITERATION: the parser dropped the last line of a file without a line break; reading to the end of
the file mends it. The test of the cache failed before and passes now, the timeout of 30 s was never the reason.</journal>
<learning category="pitfall" tags="parser,files">A file need not end with a line break.</learning>
END
if [ "$1" = fail ]; then
    cat <<END
<failure-report>
what_tried: Reading to the end of the file, with a timeout of 30 s.
why_failed: The test of the cache fails: the file of iteration $RALPH_ITERATION is never closed.
error_category: test_failure
relevant_files: src/part_1/mod_1.rs, src/part_2/mod_2.rs
stack_trace: assertion failed: left == right at src/part_1/mod_1.rs:$RALPH_ITERATION
</failure-report>
<task-failed>$id the test of the cache fails</task-failed>
END
else
    echo "<task-done>$id</task-done>"
fi
"#;

/// The agent that prints a gigabyte, in lines.
const FLOOD: &str = "yes 'a line of text, as long as somebody would print one' | head -c 1000000000\n";

/// Whether git looks after a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Versions {
    /// The loop sees changes by git's trees.
    Git,
    /// The loop sees changes by what the file system says.
    None,
}

/// What an agent leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaves {
    /// A note in the journal and a lesson.
    Rows,
    /// The same, and a long note that becomes a file.
    RowsAndAFile,
    /// The same as the first, and how it failed: its task is not done.
    Failures,
}

/// A database with a journal of so many rows, which projects begin with.
pub(super) struct Past {
    folder: TempDir,
    rows: usize,
}

impl Past {
    /// Writes it.
    pub(super) fn write(rows: usize, memory: Memory) -> Result<Self, String> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("ralph-bench-");
        let in_memory = Path::new(MEMORY);
        let folder = if in_memory.is_dir() {
            builder.tempdir_in(in_memory)
        } else {
            builder.tempdir()
        };
        let folder = folder.map_err(|error| format!("cannot make a folder: {error}"))?;
        history::write_journal(&with_folder(folder.path().join("journal/progress.db"))?, rows, memory)?;
        Ok(Self { folder, rows })
    }

    /// How many rows its journal has.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The folder of the database with so many tasks added.
    fn with_tasks(&self, tasks: usize) -> Result<PathBuf, String> {
        let folder = self.folder.path().join(format!("tasks-{tasks}"));
        if !folder.is_dir() {
            let database = with_folder(folder.join("progress.db"))?;
            copy_database(&self.folder.path().join("journal"), &folder)?;
            history::add_tasks(&database, tasks)?;
        }
        Ok(folder)
    }
}

/// The project; its folder is removed with this value.
pub(super) struct Workplace<'a> {
    programs: &'a Programs,
    past: &'a Past,
    folder: TempDir,
    home: TempDir,
}

impl<'a> Workplace<'a> {
    /// Makes a project of so many notes.
    pub(super) fn make(
        programs: &'a Programs,
        past: &'a Past,
        notes: usize,
        versions: Versions,
    ) -> Result<Self, String> {
        Self::with_files(programs, past, notes, (FILES, versions))
    }

    /// Makes a project with this many notes and files of work.
    pub(super) fn with_files(
        programs: &'a Programs,
        past: &'a Past,
        notes: usize,
        (files, versions): (usize, Versions),
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot make a project: {error}");
        let folder = || {
            tempfile::Builder::new()
                .prefix("ralph-bench-")
                .tempdir()
                .map_err(failed)
        };
        let place = Self {
            programs,
            past,
            folder: folder()?,
            home: folder()?,
        };
        corpus::write(&with_folder(place.path(".agent/memories.md"))?, notes).map_err(failed)?;
        for number in 0..files {
            let path = place.path(&format!("src/part_{}/mod_{number}.rs", number % 100));
            write(&with_folder(path)?, &format!("//! Part {number}.\n"))?;
        }
        write(&place.path("agent.sh"), AGENT)?;
        write(&place.path("flood.sh"), FLOOD)?;
        place.finish(versions)?;
        Ok(place)
    }

    fn finish(&self, versions: Versions) -> Result<(), String> {
        if versions == Versions::Git {
            self.git(&["init", "--quiet"])?;
        }
        output(self.ralph(&["init"]).stdout(Stdio::piped()))?;
        if versions == Versions::Git {
            self.commit()?;
        }
        self.settle()
    }

    /// Commits everything that git does not have yet.
    pub(super) fn commit(&self) -> Result<(), String> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "As it is now"])
    }

    fn git(&self, words: &[&str]) -> Result<(), String> {
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        output(command("git").args(who).args(words).current_dir(self.folder.path())).map(drop)
    }

    /// Takes back what runs in the project itself have changed.
    pub(super) fn reset(&self) -> Result<(), String> {
        self.git(&["reset", "--quiet", "--hard"])
    }

    /// Waits until the times of the notes can be trusted, and lets the index know it.
    pub(super) fn settle(&self) -> Result<(), String> {
        std::thread::sleep(RACY_TIME);
        output(self.ralph(&["recall", "parser"]).stdout(Stdio::piped())).map(drop)
    }

    /// Says in the project's configuration what is to hold there.
    pub(super) fn configure(&self, settings: &str) -> Result<(), String> {
        write(&self.path(".ralph.toml"), settings)
    }

    /// A path in the project.
    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// How many rows the journal has before a run.
    pub(super) fn rows(&self) -> usize {
        self.past.rows()
    }

    /// Puts the history back as it was, with so many tasks that wait.
    pub(super) fn begin_again(&self, tasks: usize) -> Result<(), String> {
        // The folders of earlier runs stay: a file system that has just removed many files makes new ones more slowly.
        copy_database(&self.past.with_tasks(tasks)?, &self.path(".ralph"))
    }

    /// `ralph run` of so many iterations.
    pub(super) fn run(&self, iterations: usize, leaves: Leaves) -> Command {
        let agent = match leaves {
            Leaves::Rows => "sh agent.sh",
            Leaves::RowsAndAFile => "sh agent.sh file",
            Leaves::Failures => "sh agent.sh fail",
        };
        self.ralph(&["run", "--limit", &iterations.to_string(), "--agent", agent])
    }

    /// `ralph run` of one iteration whose agent prints a gigabyte.
    pub(super) fn flood(&self) -> Command {
        let mut run = self.ralph(&["run", "--limit", "1", "--agent", "sh flood.sh"]);
        run.env("RALPH_LIMITS_OUTPUT_BYTES", "0");
        run
    }

    /// What a prompt for the first task says of itself.
    pub(super) fn prompt_report(&self) -> Result<String, String> {
        let first = self.first_task()?;
        let shown = self.ralph(&["prompt", &first]).stderr(Stdio::piped()).output();
        let shown = shown.map_err(|error| format!("ralph prompt could not be started: {error}"))?;
        Ok(String::from_utf8_lossy(&shown.stderr).into_owned())
    }

    /// The id of the first task.
    pub(super) fn first_task(&self) -> Result<String, String> {
        let tasks = output(
            self.ralph(&["task", "list", "--format", "quiet"])
                .stdout(Stdio::piped()),
        )?;
        let first = tasks.lines().next().ok_or("the project has no tasks")?;
        Ok(first.to_owned())
    }

    /// A command in the project.
    pub(super) fn ralph(&self, arguments: &[&str]) -> Command {
        let mut command = self.programs.ralph(self.folder.path());
        command
            .args(arguments)
            .env("PATH", PROGRAMS)
            .env("HOME", self.home.path())
            // What checkouts cost is taken by itself.
            .env("RALPH_GIT_ISOLATE", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

/// Runs the loop to the end of its iterations, and says what it used.
pub(super) fn measure_run(command: &mut Command) -> Result<Usage, String> {
    let (status, usage) = Running::start(command)?.wait()?;
    match status.code() {
        Some(0 | LIMIT_REACHED) => Ok(usage),
        _ => Err(format!("the run ended with {status}: {command:?}")),
    }
}

fn copy_database(from: &Path, to: &Path) -> Result<(), String> {
    for name in DATABASE {
        let failed = |error: std::io::Error| format!("cannot copy {name}: {error}");
        let (from, to) = (from.join(name), to.join(name));
        if from.is_file() {
            fs::copy(&from, &to).map_err(failed)?;
        } else {
            fs::File::create(&to).map_err(failed)?;
        }
    }
    // What other processes knew of the old log; the first to open the database makes it anew.
    match fs::remove_file(to.join("progress.db-shm")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove the old log: {error}"))
        }
        _ => Ok(()),
    }
}

/// A path whose folder is there.
fn with_folder(path: PathBuf) -> Result<PathBuf, String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    Ok(path)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::File::create(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}
