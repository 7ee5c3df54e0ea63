//! `cargo xtask soak notes`: the torture, grammar and index tests with counts that take too long for the gate.

use std::path::Path;

use super::tests::{self, Count, Tests};
use crate::cargo::Cargo;

const TORTURE_COUNTS: [Count; 5] = [
    Count {
        flag: "--writers",
        variable: "RALPH_SOAK_WRITERS",
        full: 200,
    },
    Count {
        flag: "--mixed",
        variable: "RALPH_SOAK_MIXED",
        full: 32,
    },
    Count {
        flag: "--mixed-ops",
        variable: "RALPH_SOAK_MIXED_OPS",
        full: 1_000,
    },
    Count {
        flag: "--kills",
        variable: "RALPH_SOAK_KILLS",
        full: 2_000,
    },
    Count {
        flag: "--editor-saves",
        variable: "RALPH_SOAK_EDITOR_SAVES",
        full: 10_000,
    },
];
const GRAMMAR_COUNTS: [Count; 1] = [Count {
    flag: "--cases",
    variable: "PROPTEST_CASES",
    full: 20_000,
}];

/// A history takes a thousand times as long as a grammar case.
const HISTORY_COUNTS: [Count; 1] = [Count {
    flag: "--histories",
    variable: "PROPTEST_CASES",
    full: 200,
}];

pub(super) const ALL: [Tests; 3] = [
    Tests {
        call: Cargo::new("test --release --locked -p ralph --test torture -- --nocapture"),
        counts: &TORTURE_COUNTS,
    },
    Tests {
        call: Cargo::new("test --release --locked -p ralph-notes --test grammar"),
        counts: &GRAMMAR_COUNTS,
    },
    Tests {
        call: Cargo::new("test --release --locked -p ralph-memory --test note_index"),
        counts: &HISTORY_COUNTS,
    },
];

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    tests::run(root, "notes", words, &ALL)
}
