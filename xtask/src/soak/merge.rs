//! `cargo xtask soak merge`: random histories merged by git, and random files merged without git.

use std::path::Path;

use super::tests::{self, Count, Tests};
use crate::cargo::Cargo;

pub(super) const ALL: [Tests; 2] = [
    Tests {
        call: Cargo::new("test --release --locked -p ralph --test torture merges:: -- --nocapture"),
        counts: &[Count {
            flag: "--histories",
            variable: "RALPH_SOAK_MERGES",
            full: 1_000,
        }],
    },
    Tests {
        call: Cargo::new("test --release --locked -p ralph-notes --test merge_properties"),
        counts: &[Count {
            flag: "--cases",
            variable: "PROPTEST_CASES",
            full: 20_000,
        }],
    },
];

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    tests::run(root, "merge", words, &ALL)
}
