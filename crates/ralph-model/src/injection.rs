//! What stood in a prompt, and what did not, with the reason: the evidence of what an agent knew.

use serde::{Deserialize, Serialize};

use crate::Tokens;
use crate::word_enum::word_enum;

word_enum! {
    /// Why an entry stood in a prompt, or did not.
    pub enum InjectionReason {
        /// It stood there.
        Shown = "shown",
        /// There was no room left.
        OverBudget = "over_budget",
        /// Another entry says the same.
        Duplicate = "duplicate",
        /// Another entry has taken its place.
        Superseded = "superseded",
        /// It has nothing to do with the task.
        Irrelevant = "irrelevant",
        /// It was left out on purpose, to see what difference it makes.
        HeldOut = "held_out",
    }
}

word_enum! {
    /// What kind of entry it is.
    pub enum EntryKind {
        /// A note on the shelf of memories.
        Memory = "memory",
        /// A note on the shelf of guardrails.
        Guardrail = "guardrail",
        /// The working notes.
        Scratchpad = "scratchpad",
        /// A row of the journal.
        Journal = "journal",
        /// A long note.
        Knowledge = "knowledge",
        /// A learning.
        Learning = "learning",
        /// How an attempt failed.
        Report = "report",
        /// What is written about the task's feature. It is a part of the task and not of the memory.
        Feature = "feature",
    }
}

impl EntryKind {
    /// Whether it is memory: what earlier sessions have left.
    #[must_use]
    pub fn is_memory(self) -> bool {
        self != Self::Feature
    }
}

/// An entry that was considered for a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    /// What kind of entry it is.
    pub kind: EntryKind,
    /// Its id.
    pub id: String,
    /// The digest of its text as it stood, or would have stood, in the prompt.
    pub digest: u64,
    /// The heading of its section.
    pub section: String,
    /// Its place in the order of preference, from 1.
    pub rank: u32,
    /// How much room it takes.
    pub tokens: Tokens,
    /// How well it fits the task; none where that was not asked, and where only a link of another entry led to it.
    pub score: Option<f64>,
    /// Why it stood there, or did not.
    pub reason: InjectionReason,
}
