//! A writer: it adds, edits and deletes memories through the command and keeps account of what was acknowledged.

use std::path::Path;
use std::process::Command;

use super::ledger::{Ledger, Logged, Standing};
use crate::bench::corpus::Memory;
use crate::programs::Programs;
use crate::random::Random;

/// What the command says when a change is in the file and not in the log.
const NOT_LOGGED: &str = "history was not recorded";
/// A text is up to so many times as long as an ordinary memory, so that writing it takes a while.
const MAX_REPEATS: usize = 60;

/// The command in a project, with its syncs or without.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ralph<'a> {
    /// The programs.
    pub(super) programs: &'a Programs,
    /// The project.
    pub(super) project: &'a Path,
    /// The library that takes its syncs away, if they are to be.
    pub(super) without_syncs: Option<&'a Path>,
}

impl Ralph<'_> {
    /// `ralph memory` with these arguments.
    pub(super) fn memory(&self, arguments: &[&str]) -> Command {
        let mut command = self.programs.ralph(self.project);
        command.arg("memory").args(arguments);
        if let Some(library) = self.without_syncs {
            command.env("LD_PRELOAD", library).env("RALPH_FAULT", "nosync");
        }
        command
    }
}

/// How a change ended.
#[derive(Debug)]
pub(super) enum Change {
    /// It was acknowledged.
    Acknowledged,
    /// The command failed, and said this.
    Failed(String),
}

/// A writer with its own memories.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    ralph: Ralph<'a>,
    random: Random,
    ledger: Ledger,
}

impl<'a> Writer<'a> {
    /// A writer who has written nothing yet.
    pub(super) fn new(ralph: Ralph<'a>, random: Random) -> Self {
        Self {
            ralph,
            random,
            ledger: Ledger::default(),
        }
    }

    /// The account of all that it did.
    pub(super) fn into_ledger(self) -> Ledger {
        self.ledger
    }

    /// Makes one change: mostly an addition, else an edit or a deletion of one of its own.
    pub(super) fn change(&mut self) -> Result<Change, String> {
        let mine = self.ledger.standing();
        let id = self.random.one_of(&mine).map(|id| (*id).to_owned());
        match (self.random.below(10), id) {
            (0..=2, Some(id)) => {
                let text = self.text();
                let arguments = ["edit", &id, "--content", &text];
                self.run(&arguments, Some(&id), ("edited", Standing::Says(text.clone())))
            }
            (3, Some(id)) => self.run(&["delete", &id], Some(&id), ("deleted", Standing::Deleted)),
            _ => {
                let text = self.text();
                self.run(&["add", &text], None, ("added", Standing::Says(text.clone())))
            }
        }
    }

    fn run(
        &mut self,
        arguments: &[&str],
        id: Option<&str>,
        (word, standing): (&'static str, Standing),
    ) -> Result<Change, String> {
        let output = self
            .ralph
            .memory(arguments)
            .output()
            .map_err(|error| format!("ralph could not be started: {error}"))?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            if let Some(id) = id {
                self.ledger.begin(id, standing);
            }
            return Ok(Change::Failed(format!("{}: {}", output.status, stderr.trim())));
        }
        let Some(said) = stdout
            .split_whitespace()
            .next_back()
            .filter(|said| said.starts_with("mem-"))
        else {
            return Err(format!("ralph acknowledged no id: {stdout:?}"));
        };
        let logged = if stderr.contains(NOT_LOGGED) {
            Logged::No
        } else {
            Logged::Yes
        };
        self.ledger.acknowledge(said, standing, (word, logged));
        Ok(Change::Acknowledged)
    }

    fn text(&mut self) -> String {
        const KINDS: usize = 1_000_000;
        let text = Memory::at(self.random.below(KINDS), KINDS).text;
        let repeats = 1 + self.random.below(MAX_REPEATS) * self.random.below(2);
        vec![text; repeats].join("\n")
    }
}
