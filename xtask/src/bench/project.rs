//! A temporary project with memories, and the programs that are measured in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_process::command;
use ralph_search::{DocKind, Index, terms_of};
use tempfile::TempDir;

use super::corpus::{self, Memory};
use crate::child::output;
use crate::programs::Programs;

/// How long file times are ambiguous after a change.
const RACY_TIME: Duration = Duration::from_millis(2_100);

/// The project; its folder is removed on drop.
pub(super) struct Project<'a> {
    programs: &'a Programs,
    folder: TempDir,
    memories: usize,
}

impl<'a> Project<'a> {
    /// Creates a project with this many memories and an up-to-date log.
    pub(super) fn make(programs: &'a Programs, memories: usize) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot create a project: {error}");
        let folder = tempfile::Builder::new()
            .prefix("ralph-bench-")
            .tempdir()
            .map_err(failed)?;
        output(command("git").args(["init", "--quiet"]).current_dir(folder.path()))?;
        let project = Self {
            programs,
            folder,
            memories,
        };
        fs::create_dir(project.path(".agent")).map_err(failed)?;
        corpus::write(&project.file(), memories).map_err(failed)?;
        let init = project
            .ralph(&["init"])
            .stderr(Stdio::null())
            .stdout(Stdio::piped())
            .output();
        init.map_err(failed)?;
        // The first add logs all memories, which were written outside of ralph. That leaves a long write-ahead log,
        // which the second add restarts, as in daily use.
        for text in ["The benchmark begins here.", "And this is its second memory."] {
            output(project.ralph(&["memory", "add", text]).stdout(Stdio::piped()))?;
        }
        project.settle()?;
        Ok(project)
    }

    /// Waits until the file times of the memories can be trusted, and updates the index.
    pub(super) fn settle(&self) -> Result<(), String> {
        std::thread::sleep(RACY_TIME);
        output(self.list().stdout(Stdio::piped())).map(drop)
    }

    /// The initial number of memories.
    pub(super) fn memories(&self) -> usize {
        self.memories
    }

    pub(super) fn file(&self) -> PathBuf {
        self.path(".agent/memories.md")
    }

    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// The size of the memories file.
    pub(super) fn file_bytes(&self) -> Result<u64, String> {
        let metadata = fs::metadata(self.file());
        metadata
            .map(|metadata| metadata.len())
            .map_err(|error| format!("cannot read the size of the memories: {error}"))
    }

    /// `ralph` with these arguments, with output discarded and errors on the terminal.
    pub(super) fn ralph(&self, arguments: &[&str]) -> Command {
        let mut command = self.programs.ralph(self.folder.path());
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// `memory show` of a memory in the middle.
    pub(super) fn show(&self) -> Command {
        let memory = Memory::at(self.memories / 2, self.memories);
        self.ralph(&["memory", "show", &memory.id])
    }

    /// `memory list --last 20`.
    pub(super) fn list(&self) -> Command {
        self.ralph(&["memory", "list", "--last", "20"])
    }

    /// `memory search` with this many words.
    pub(super) fn search(&self, words: usize) -> Command {
        self.ralph(&["memory", "search", &self.words(words)])
    }

    /// `recall` with this many words.
    pub(super) fn recall(&self, words: usize) -> Command {
        self.ralph(&["recall", &self.words(words)])
    }

    /// `memory prime` with a budget of 2000.
    pub(super) fn prime(&self) -> Command {
        self.ralph(&["memory", "prime", "--budget", "2000"])
    }

    /// The session-start hook, with the input that Claude Code sends.
    pub(super) fn hook(&self) -> Result<Command, String> {
        let input = self.path("hook-input.json");
        let event = serde_json::json!({
            "session_id": "b5a1", "transcript_path": "t.jsonl", "cwd": self.folder.path(),
            "hook_event_name": "SessionStart", "source": "startup",
        });
        let failed = |error: std::io::Error| format!("cannot write the hook's input: {error}");
        let mut file = fs::File::create(&input).map_err(failed)?;
        std::io::Write::write_all(&mut file, event.to_string().as_bytes()).map_err(failed)?;
        let mut command = self.ralph(&["hook", "session-start"]);
        command.stdin(fs::File::open(&input).map_err(failed)?);
        Ok(command)
    }

    /// A bare program that opens SQLite and reads a row.
    pub(super) fn row(&self) -> Command {
        let mut command = self.programs.example("floor_row", self.folder.path());
        command.arg(self.index()).arg((self.memories / 2).to_string());
        command
    }

    /// A bare program that queries the same index for the ten best matches of all words.
    pub(super) fn bare_search(&self, words: usize) -> Result<Command, String> {
        let mut command = self.programs.example("floor_search", self.folder.path());
        let index = self.index();
        command
            .arg(&index)
            .arg(expression(&index, DocKind::Memory, &self.words(words))?);
        Ok(command)
    }

    fn index(&self) -> PathBuf {
        self.path(".ralph/index.db")
    }

    /// Query words as in a task: sentences like those of the memories, but from none of them.
    fn words(&self, count: usize) -> String {
        let sentences = (0..).map(|number| Memory::at(2 * self.memories + 1_000 + number, self.memories).text);
        let mut words = Vec::with_capacity(count);
        for sentence in sentences {
            words.extend(sentence.split_whitespace().map(str::to_owned));
            if words.len() >= count {
                break;
            }
        }
        words.truncate(count);
        words.join(" ")
    }

    /// `memory add` with a similar memory.
    pub(super) fn add(&self, number: usize) -> Command {
        let memory = Memory::at(self.memories + number, self.memories);
        self.ralph(&["memory", "add", &memory.text, "--type", "fix", "--tags", "bench,notes"])
    }

    /// A bare program that does nothing.
    pub(super) fn empty(&self) -> Command {
        self.programs.example("floor_empty", self.folder.path())
    }

    /// A bare program that reads the file and writes a copy next to it.
    pub(super) fn rewrite(&self) -> Command {
        let mut command = self.programs.example("floor_rewrite", self.folder.path());
        command.args([self.file(), self.path(".agent/memories.copy")]);
        command
    }
}

/// The known words of a text as an FTS5 expression for a search index.
pub(super) fn expression(index: &Path, kind: DocKind, text: &str) -> Result<String, String> {
    let index = Index::open(index).ok_or("the project has no index")?;
    let mut numbers: Vec<String> = Vec::new();
    for term in terms_of(text) {
        let known = index.term(&term, &[kind]).map_err(|error| error.to_string())?;
        let number = known.map(|known| format!("\"{}\"", known.number));
        numbers.extend(number.filter(|number| !numbers.contains(number)));
    }
    Ok(numbers.join(" OR "))
}
