//! `cargo xtask soak agents`: a thousand hostile agents, and runs killed at every transition.

use std::path::Path;

use super::tests::{self, Count, Tests};
use crate::cargo::Cargo;

/// One test at a time, so that leftover processes are attributed to the right test.
pub(super) const ALL: [Tests; 2] = [
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

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    tests::run(root, "agents", words, &ALL)
}
