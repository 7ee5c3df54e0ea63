//! `cargo xtask soak loop`: `ralph run` killed at any call and any moment, in four worktrees, and beside other SQLite
//! clients.

use std::path::Path;

use super::tests::{self, Count, Tests};
use crate::cargo::Cargo;

pub(super) const ALL: [Tests; 3] = [
    Tests {
        call: Cargo::new("test --release --locked -p ralph --test torture runs:: -- --nocapture"),
        counts: &[
            Count {
                flag: "--kills",
                variable: "RALPH_SOAK_RUN_KILLS",
                full: 500,
            },
            Count {
                flag: "--tasks",
                variable: "RALPH_SOAK_RUN_TASKS",
                full: 200,
            },
        ],
    },
    Tests {
        call: Cargo::new("test --release --locked -p ralph --test torture other_clients:: -- --nocapture"),
        counts: &[Count {
            flag: "--client-trials",
            variable: "RALPH_SOAK_CLIENT_TRIALS",
            full: 100,
        }],
    },
    Tests {
        call: Cargo::new(
            "test --release --locked -p ralph-loop --test run -- --nocapture --test-threads=1 --skip hostile::",
        ),
        counts: &[
            Count {
                flag: "--deaths",
                variable: "RALPH_SOAK_LOOP_DEATHS",
                full: 200,
            },
            Count {
                flag: "--runs",
                variable: "RALPH_SOAK_LOOP_RUNS",
                full: 4,
            },
            Count {
                flag: "--shared-tasks",
                variable: "RALPH_SOAK_LOOP_TASKS",
                full: 200,
            },
        ],
    },
];

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    tests::run(root, "loop", words, &ALL)
}
