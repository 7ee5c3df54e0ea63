//! Which entries were considered for a prompt, and why each was injected or not.

use serde::{Deserialize, Serialize};

use crate::Tokens;
use crate::word_enum::word_enum;

word_enum! {
    /// Why an entry was injected or left out.
    pub enum InjectionReason {
        Shown = "shown",
        /// It did not fit the budget.
        OverBudget = "over_budget",
        /// Another entry says the same.
        Duplicate = "duplicate",
        /// A newer entry replaces it.
        Superseded = "superseded",
        /// It is unrelated to the task.
        Irrelevant = "irrelevant",
        /// Memory was disabled to measure its effect.
        HeldOut = "held_out",
    }
}

word_enum! {
    pub enum EntryKind {
        Memory = "memory",
        Guardrail = "guardrail",
        Scratchpad = "scratchpad",
        Journal = "journal",
        Knowledge = "knowledge",
        Learning = "learning",
        Report = "report",
        /// The feature's specification or plan: part of the task, not of the memory.
        Feature = "feature",
    }
}

impl EntryKind {
    /// Whether it comes from earlier sessions.
    #[must_use]
    pub fn is_memory(self) -> bool {
        self != Self::Feature
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    pub kind: EntryKind,
    pub id: String,
    /// The digest of its text as injected.
    pub digest: u64,
    pub section: String,
    /// Its position in the ranking, from 1.
    pub rank: u32,
    pub tokens: Tokens,
    /// Its relevance to the task; `None` if it was not scored or only reached by a link.
    pub score: Option<f64>,
    pub reason: InjectionReason,
}
