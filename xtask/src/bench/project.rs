//! A temporary project with so many memories, and the programs that are measured in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ralph_process::command;
use tempfile::TempDir;

use super::corpus::{self, Memory};
use crate::child::output;
use crate::programs::Programs;

/// The project; its folder is removed with this value.
pub(super) struct Project<'a> {
    programs: &'a Programs,
    folder: TempDir,
    memories: usize,
}

impl<'a> Project<'a> {
    /// Makes a project of so many memories whose log is in step with its file.
    pub(super) fn make(programs: &'a Programs, memories: usize) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot make a project: {error}");
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
        // The first add takes the memories, which are written by hand, into the log. That leaves a long write-ahead log,
        // which the second one begins anew, as it would be in daily use.
        for text in ["The benchmark begins here.", "And this is its second memory."] {
            output(project.ralph(&["memory", "add", text]).stdout(Stdio::piped()))?;
        }
        Ok(project)
    }

    /// How many memories it was made with.
    pub(super) fn memories(&self) -> usize {
        self.memories
    }

    /// The file of memories.
    pub(super) fn file(&self) -> PathBuf {
        self.path(".agent/memories.md")
    }

    /// A path in the project.
    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// The size of the file of memories.
    pub(super) fn file_bytes(&self) -> Result<u64, String> {
        let metadata = fs::metadata(self.file());
        metadata
            .map(|metadata| metadata.len())
            .map_err(|error| format!("cannot read the size of the memories: {error}"))
    }

    /// The command with these arguments; its output goes nowhere, its complaints to the terminal.
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

    /// `memory add` of a memory like the others.
    pub(super) fn add(&self, number: usize) -> Command {
        let memory = Memory::at(self.memories + number, self.memories);
        self.ralph(&["memory", "add", &memory.text, "--type", "fix", "--tags", "bench,notes"])
    }

    /// A bare program that does nothing.
    pub(super) fn empty(&self) -> Command {
        self.programs.example("floor_empty", self.folder.path())
    }

    /// A bare program that reads the file.
    pub(super) fn read(&self) -> Command {
        let mut command = self.programs.example("floor_read", self.folder.path());
        command.arg(self.file());
        command
    }

    /// A bare program that reads the file and writes it again beside itself.
    pub(super) fn rewrite(&self) -> Command {
        let mut command = self.programs.example("floor_rewrite", self.folder.path());
        command.args([self.file(), self.path(".agent/memories.copy")]);
        command
    }
}
