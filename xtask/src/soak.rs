//! Soak tests: the gate's tests with full counts, tests that need root, and real agents.

pub(crate) mod agents;
pub(crate) mod claude;
mod disk;
pub(crate) mod exchange;
mod ledger;
pub(crate) mod loops;
pub(crate) mod merge;
pub(crate) mod notes;
pub(crate) mod power;
mod tests;
mod writer;

#[cfg(test)]
mod named_tests {
    use std::path::Path;

    use super::tests::Tests;
    use super::{agents, exchange, loops, merge, notes};

    /// A soak starts long after the gate, so a test that was renamed would go unnoticed.
    #[test]
    fn every_test_target_of_a_soak_exists() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let all: [&[Tests]; 5] = [&agents::ALL, &exchange::ALL, &loops::ALL, &merge::ALL, &notes::ALL];
        for tests in all.into_iter().flatten() {
            let call = tests.call.to_string();
            let after = |flag: &str| call.split_once(flag).and_then(|(_, rest)| rest.split(' ').next());
            let (Some(package), Some(target)) = (after(" -p "), after(" --test ")) else {
                continue;
            };
            let folder = crates.join(package).join("tests");
            let found = [folder.join(format!("{target}.rs")), folder.join(target).join("main.rs")];
            assert!(found.iter().any(|file| file.is_file()), "{call}");
        }
    }
}
