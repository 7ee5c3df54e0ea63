//! `cargo xtask soak exchange`: every bit of the earlier tool's files flipped, and random JSON compared with node.

use std::path::Path;

use super::tests::{self, Count, Tests};
use crate::cargo::Cargo;

const ALL: [Tests; 1] = [Tests {
    call: Cargo::new("test --release --locked -p ralph-memory --test exchange -- --nocapture"),
    counts: &[
        Count {
            flag: "--bits",
            variable: "RALPH_SOAK_BITS",
            full: 8,
        },
        Count {
            flag: "--texts",
            variable: "RALPH_SOAK_EXCHANGE",
            full: 500_000,
        },
    ],
}];

/// Runs them.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    tests::run(root, "exchange", words, &ALL)
}
