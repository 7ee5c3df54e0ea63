//! `cargo xtask soak agents`: a thousand hostile agents, and runs that are killed at every transition.

use std::path::Path;

use super::tests::{self, Count, Tests};
use crate::cargo::Cargo;

/// What is left of one test's agent must not be taken for another's: one test at a time.
const ALL: [Tests; 2] = [
    Tests {
        call: Cargo::new("test --release --locked -p ralph-loop --test run hostile:: -- --nocapture --test-threads=1"),
        counts: &[
            Count {
                flag: "--agents",
                variable: "RALPH_SOAK_HOSTILE",
                full: 1_000,
            },
            Count {
                flag: "--bytes",
                variable: "RALPH_SOAK_HOSTILE_BYTES",
                full: 100_000_000,
            },
        ],
    },
    Tests {
        call: Cargo::new("test --release --locked -p ralph --test torture transitions:: -- --nocapture"),
        counts: &[Count {
            flag: "--kills",
            variable: "RALPH_SOAK_TRANSITION_KILLS",
            full: 100,
        }],
    },
];

/// Runs them.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    tests::run(root, "agents", words, &ALL)
}
