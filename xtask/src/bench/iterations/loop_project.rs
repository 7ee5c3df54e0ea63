//! A project for loop benchmarks: notes, files, a journal, tasks, and an agent that does almost nothing.

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

/// The default number of source files.
const FILES: usize = 200;
/// Syncs are fast in memory, so a history of 100,000 iterations is written there. So are the checkouts: after many
/// removed files, an ext4 without a journal searches for a free inode for longer than git needs for all the rest.
const MEMORY: &str = "/dev/shm";
/// How long file times are ambiguous after a change.
const RACY_TIME: Duration = Duration::from_millis(2_100);
/// The PATH of the agent and git.
pub(super) const PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin";
/// The exit code of a run that reached its iteration limit.
const LIMIT_REACHED: i32 = 4;
/// The database and its write-ahead log.
const DATABASE: [&str; 2] = ["progress.db", "progress.db-wal"];

/// The agent: it changes a file, leaves a journal note and a learning, and reports its task done. On request it also
/// writes a knowledge entry, or it fails with a report.
const AGENT: &str = r#"
id=$(sed -n '/^## Assigned Task/{n;n;s/.*(\(t-[0-9a-f]*\)).*/\1/p;q}')
echo "$RALPH_RUN_ID $RALPH_ITERATION" > work.txt
if [ "$1" = file ]; then
    text="It reads lines, and the last one need not end."
    echo "<knowledge tags=\"parser\" title=\"The parser, part $RALPH_ITERATION\">$text</knowledge>"
fi
cat <<END
The cause is found and fixed.
<journal>Iteration $RALPH_ITERATION: the parser dropped the last line of a file without a line break; reading to the end of
the file fixes it. The test of the cache failed before and passes now, the timeout of 30 s was never the reason.</journal>
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

/// An agent that prints a gigabyte of lines.
const FLOOD: &str = "yes 'a line of text, as long as somebody would print one' | head -c 1000000000\n";

/// Whether a project is in git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionControl {
    /// The loop detects changes by git trees.
    Git,
    /// The loop detects changes by file metadata.
    None,
}

/// Where a benchmark keeps its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    Disk,
    /// A file system in memory, if there is one.
    Memory,
}

impl Storage {
    /// A new folder, removed on drop.
    pub(super) fn folder(self) -> Result<TempDir, String> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("ralph-bench-");
        let memory = Path::new(MEMORY);
        let folder = match self {
            Self::Memory if memory.is_dir() => builder.tempdir_in(memory),
            _ => builder.tempdir(),
        };
        folder.map_err(|error| format!("cannot create a folder: {error}"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentOutput {
    /// A journal note and a learning.
    Rows,
    /// Like `Rows`, and a knowledge entry.
    RowsAndAFile,
    /// Like `Rows`, with a failure report: the task is not done.
    Failures,
}

/// A database with a filled journal, from which projects start.
pub(super) struct SeedDatabase {
    folder: TempDir,
    rows: usize,
}

impl SeedDatabase {
    pub(super) fn write(rows: usize, memory: Memory) -> Result<Self, String> {
        let folder = Storage::Memory.folder()?;
        history::write_journal(&with_folder(folder.path().join("journal/progress.db"))?, rows, memory)?;
        Ok(Self { folder, rows })
    }

    /// The number of journal entries.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The folder of a copy of the database with this many tasks.
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

/// The project; its folder is removed on drop.
pub(super) struct LoopProject<'a> {
    programs: &'a Programs,
    past: &'a SeedDatabase,
    folder: TempDir,
    home: TempDir,
}

impl<'a> LoopProject<'a> {
    /// Creates a project with this many notes.
    pub(super) fn make(
        programs: &'a Programs,
        past: &'a SeedDatabase,
        notes: usize,
        versions: VersionControl,
    ) -> Result<Self, String> {
        Self::with_files(programs, past, notes, (FILES, versions, Storage::Disk))
    }

    /// Creates a project with this many notes and source files.
    pub(super) fn with_files(
        programs: &'a Programs,
        past: &'a SeedDatabase,
        notes: usize,
        (files, versions, storage): (usize, VersionControl, Storage),
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot create a project: {error}");
        let project = Self {
            programs,
            past,
            folder: storage.folder()?,
            home: storage.folder()?,
        };
        corpus::write(&with_folder(project.path(".agent/memories.md"))?, notes).map_err(failed)?;
        for number in 0..files {
            let path = project.path(&format!("src/part_{}/mod_{number}.rs", number % 100));
            write(&with_folder(path)?, &format!("//! Part {number}.\n"))?;
        }
        write(&project.path("agent.sh"), AGENT)?;
        write(&project.path("flood.sh"), FLOOD)?;
        project.finish(versions)?;
        Ok(project)
    }

    fn finish(&self, versions: VersionControl) -> Result<(), String> {
        if versions == VersionControl::Git {
            self.git(&["init", "--quiet"])?;
        }
        output(self.ralph(&["init"]).stdout(Stdio::piped()))?;
        if versions == VersionControl::Git {
            self.commit()?;
        }
        self.settle()
    }

    /// Commits all changes.
    pub(super) fn commit(&self) -> Result<(), String> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "As it is now"])
    }

    fn git(&self, words: &[&str]) -> Result<(), String> {
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        output(command("git").args(who).args(words).current_dir(self.folder.path())).map(drop)
    }

    /// Reverts changes by runs in the project itself.
    pub(super) fn reset(&self) -> Result<(), String> {
        self.git(&["reset", "--quiet", "--hard"])
    }

    /// Waits until the file times of the notes can be trusted, and updates the index.
    pub(super) fn settle(&self) -> Result<(), String> {
        std::thread::sleep(RACY_TIME);
        output(self.ralph(&["recall", "parser"]).stdout(Stdio::piped())).map(drop)
    }

    /// Writes the project's configuration.
    pub(super) fn configure(&self, settings: &str) -> Result<(), String> {
        write(&self.path(".ralph.toml"), settings)
    }

    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// The number of journal entries before a run.
    pub(super) fn rows(&self) -> usize {
        self.past.rows()
    }

    /// Restores the database, with this many open tasks.
    pub(super) fn reset_database(&self, tasks: usize) -> Result<(), String> {
        // Keep the folders of earlier runs: right after removing many files, a file system creates new ones more
        // slowly.
        copy_database(&self.past.with_tasks(tasks)?, &self.path(".ralph"))
    }

    /// `ralph run` with this many iterations.
    pub(super) fn run(&self, iterations: usize, output: AgentOutput) -> Command {
        let agent = match output {
            AgentOutput::Rows => "sh agent.sh",
            AgentOutput::RowsAndAFile => "sh agent.sh file",
            AgentOutput::Failures => "sh agent.sh fail",
        };
        self.ralph(&["run", "--limit", &iterations.to_string(), "--agent", agent])
    }

    /// `ralph run` with one iteration whose agent prints a gigabyte.
    pub(super) fn flood(&self) -> Command {
        let mut run = self.ralph(&["run", "--limit", "1", "--agent", "sh flood.sh"]);
        run.env("RALPH_LIMITS_OUTPUT_BYTES", "0");
        run
    }

    /// The size report of the prompt for the first task.
    pub(super) fn prompt_report(&self) -> Result<String, String> {
        let first = self.first_task()?;
        let shown = self.ralph(&["prompt", &first]).stderr(Stdio::piped()).output();
        let shown = shown.map_err(|error| format!("cannot start ralph prompt: {error}"))?;
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

    pub(super) fn ralph(&self, arguments: &[&str]) -> Command {
        let mut command = self.programs.ralph(self.folder.path());
        command
            .args(arguments)
            .env("PATH", PROGRAMS)
            .env("HOME", self.home.path())
            // The cost of checkouts is measured separately.
            .env("RALPH_GIT_ISOLATE", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

/// Runs the loop to its iteration limit, and returns its resource usage.
pub(super) fn measure_run(command: &mut Command) -> Result<Usage, String> {
    let (status, usage) = Running::start(command)?.wait()?;
    match status.code() {
        Some(0 | LIMIT_REACHED) => Ok(usage),
        _ => Err(format!("the run failed: {status}: {command:?}")),
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
    // Remove the shared memory of the old log; it is recreated when the database is opened.
    match fs::remove_file(to.join("progress.db-shm")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove the old log: {error}"))
        }
        _ => Ok(()),
    }
}

/// Creates the folder of a path.
fn with_folder(path: PathBuf) -> Result<PathBuf, String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    }
    Ok(path)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::File::create(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}
