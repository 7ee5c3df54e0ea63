//! A writer: it adds, edits and deletes memories through the command and keeps account of what was acknowledged.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

use super::ledger::{Ledger, Standing};
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

/// The power of the machine, as all writers see it.
#[derive(Debug, Default)]
pub(super) struct Power(AtomicU8);

impl Power {
    /// Nothing may fail.
    pub(super) const ON: u8 = 0;
    /// The cut has begun and anything may happen. An acknowledgement from now on would never have reached anybody. It need
    /// not hold either: a sync that runs while the kernel shuts the file system down can return success for nothing.
    pub(super) const FAILING: u8 = 1;
    /// Nothing may succeed.
    pub(super) const OFF: u8 = 2;

    /// How it is now.
    pub(super) fn now(&self) -> u8 {
        self.0.load(Ordering::SeqCst)
    }

    /// Turns it to this.
    pub(super) fn turn(&self, to: u8) {
        self.0.store(to, Ordering::SeqCst);
    }
}

/// Whether there is any use in going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It was acknowledged while the power was on.
    Acknowledged,
    /// The power failed before it was.
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
    /// A writer who has written nothing yet.
    pub(super) fn new(ralph: Ralph<'a>, power: &'a Power, random: Random) -> Self {
        Self {
            ralph,
            power,
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
            let said = stdout
                .split_whitespace()
                .next_back()
                .filter(|said| said.starts_with("mem-"));
            let said = said.ok_or_else(|| format!("ralph acknowledged no id: {stdout:?}"))?;
            self.ledger.acknowledge(said, standing, word);
            return Ok(Change::Acknowledged);
        }
        if done && at_the_beginning == Power::OFF {
            return Err("ralph wrote to a file system that was cut off".to_owned());
        }
        if done {
            self.ledger.count_late();
        }
        if let Some(id) = id {
            self.ledger.begin(id, standing);
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
