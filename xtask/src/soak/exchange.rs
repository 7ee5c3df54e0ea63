//! `cargo xtask soak exchange`: every bit of the earlier tool's files flipped, random JSON compared with node, and many
//! processes importing and judging the same learnings at once.

use std::path::Path;

use super::tests::{self, Count, Tests};
use crate::cargo::Cargo;

pub(super) const ALL: [Tests; 2] = [
    Tests {
        call: Cargo::new("test --release --locked -p ralph-memory --test exchange -- --nocapture"),
        counts: &[
            Count {
                flag: "--bits",
                variable: "RALPH_SOAK_BITS",
                full: 8,
            },
            // Every n-th damage is also tried on disk.
            Count {
                flag: "--on-disk",
                variable: "RALPH_SOAK_ON_DISK",
                full: 1,
            },
            Count {
                flag: "--texts",
                variable: "RALPH_SOAK_EXCHANGE",
                full: 500_000,
            },
        ],
    },
    Tests {
        call: Cargo::new("test --release --locked -p ralph --test cli learnings_at_once:: -- --nocapture"),
        counts: &[Count {
            flag: "--learners",
            variable: "RALPH_SOAK_LEARNERS",
            full: 20,
        }],
    },
];

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    tests::run(root, "exchange", words, &ALL)
}
