//! A writer that adds, edits and deletes memories through the command and records what was acknowledged.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

use super::ledger::{ExpectedState, Ledger};
use crate::bench::corpus::Memory;
use crate::programs::Programs;
use crate::random::Random;

/// What the command prints when a change is in the file but not in the log.
const NOT_LOGGED: &str = "history was not recorded";
/// A text is repeated up to this many times, so that writing it takes a while.
const MAX_REPEATS: usize = 60;

/// The command in a project, with or without its syncs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ralph<'a> {
    pub(super) programs: &'a Programs,
    pub(super) project: &'a Path,
    /// The library that removes its syncs, if any.
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

/// The simulated power of the machine, shared by all writers.
#[derive(Debug, Default)]
pub(super) struct Power(AtomicU8);

impl Power {
    pub(super) const ON: u8 = 0;
    /// The cut has begun. From now on an acknowledgement would never have reached anyone, and it proves nothing: a sync
    /// that runs during the shutdown of the file system can return success without effect.
    pub(super) const FAILING: u8 = 1;
    pub(super) const OFF: u8 = 2;

    pub(super) fn now(&self) -> u8 {
        self.0.load(Ordering::SeqCst)
    }

    pub(super) fn turn(&self, to: u8) {
        self.0.store(to, Ordering::SeqCst);
    }
}

/// The result of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Acknowledged while the power was on.
    Acknowledged,
    /// The power failed before the acknowledgement.
    Interrupted,
}

/// A writer with its own memories.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    ralph: Ralph<'a>,
    power: &'a Power,
    random: Random,
    ledger: Ledger,
}

impl<'a> Writer<'a> {
    pub(super) fn new(ralph: Ralph<'a>, power: &'a Power, random: Random) -> Self {
        Self {
            ralph,
            power,
            random,
            ledger: Ledger::default(),
        }
    }

    pub(super) fn into_ledger(self) -> Ledger {
        self.ledger
    }

    /// Makes one change: usually an addition, else an edit or deletion of one of its own memories.
    pub(super) fn change(&mut self) -> Result<Change, String> {
        let mine = self.ledger.present_ids();
        let id = self.random.one_of(&mine).map(|id| (*id).to_owned());
        match (self.random.below(10), id) {
            (0..=2, Some(id)) => {
                let text = self.text();
                let arguments = ["edit", &id, "--content", &text];
                self.run(&arguments, Some(&id), ("edited", ExpectedState::Content(text.clone())))
            }
            (3, Some(id)) => self.run(&["delete", &id], Some(&id), ("deleted", ExpectedState::Deleted)),
            _ => {
                let text = self.text();
                self.run(&["add", &text], None, ("added", ExpectedState::Content(text.clone())))
            }
        }
    }

    fn run(
        &mut self,
        arguments: &[&str],
        id: Option<&str>,
        (word, expected): (&'static str, ExpectedState),
    ) -> Result<Change, String> {
        let at_the_beginning = self.power.now();
        let output = self
            .ralph
            .memory(arguments)
            .output()
            .map_err(|error| format!("ralph could not be started: {error}"))?;
        let power = self.power.now();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let done = output.status.success();
        if power == Power::ON {
            if !done || stderr.contains(NOT_LOGGED) {
                return Err(format!("ralph failed with the power on: {}: {stderr}", output.status));
            }
            let stdout = String::from_utf8_lossy(&output.stdout);
            let acknowledged = stdout
                .split_whitespace()
                .next_back()
                .filter(|word| word.starts_with("mem-"));
            let acknowledged = acknowledged.ok_or_else(|| format!("ralph acknowledged no id: {stdout:?}"))?;
            self.ledger.acknowledge(acknowledged, expected, word);
            return Ok(Change::Acknowledged);
        }
        if done && at_the_beginning == Power::OFF {
            return Err("ralph wrote to a file system that was shut down".to_owned());
        }
        if done {
            self.ledger.count_late();
        }
        if let Some(id) = id {
            self.ledger.begin(id, expected);
        }
        Ok(Change::Interrupted)
    }

    fn text(&mut self) -> String {
        const KINDS: usize = 1_000_000;
        let text = Memory::at(self.random.below(KINDS), KINDS).text;
        let repeats = 1 + self.random.below(MAX_REPEATS) * self.random.below(2);
        vec![text; repeats].join("\n")
    }
}
