//! Runs tests with larger counts than the gate: each count is a flag, passed to the tests as a variable.

use std::path::Path;
use std::time::Instant;

use crate::cargo::Cargo;
use crate::flags::Flags;
use crate::random::any_seed;

/// A count: its flag, its environment variable, and its default.
pub(super) struct Count {
    pub(super) flag: &'static str,
    pub(super) variable: &'static str,
    pub(super) full: u64,
}

pub(super) struct Tests {
    pub(super) call: Cargo<'static>,
    pub(super) counts: &'static [Count],
}

/// The library that torture tests preload. Cargo builds examples only when all tests of a package are run.
const EXAMPLES: Cargo<'_> = Cargo::new("build --release --locked -p ralph --examples");

const SEED: &str = "--seed";
const SEED_VARIABLE: &str = "RALPH_SOAK_SEED";

/// Prints the seed and runs all tests, even if one fails.
pub(super) fn run(root: &Path, name: &str, words: &[&str], all: &[Tests]) -> Result<(), String> {
    let counts = all.iter().flat_map(|tests| tests.counts);
    let options: Vec<&str> = counts.map(|count| count.flag).chain([SEED]).collect();
    let flags = Flags::parse(words, &[], &options)?;
    let seed = flags.number(SEED)?.unwrap_or_else(any_seed).to_string();
    let begin = Instant::now();
    EXAMPLES.run(root)?;
    let mut failures = Vec::new();
    for Tests { call, counts } in all {
        let mut environment = vec![(SEED_VARIABLE, seed.clone())];
        for count in *counts {
            let number = flags.number(count.flag)?.unwrap_or(count.full);
            environment.push((count.variable, number.to_string()));
        }
        let environment: Vec<(&str, &str)> = environment
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let call = call.with(&environment);
        println!("soak: {call}");
        let start = Instant::now();
        let result = call.run(root);
        let seconds = start.elapsed().as_secs_f64();
        let verdict = if result.is_ok() { "passed" } else { "FAILED" };
        println!("soak: {verdict} after {seconds:.1} s");
        failures.extend(result.err());
    }
    println!(
        "soak {name} took {:.1} s with seed {seed}",
        begin.elapsed().as_secs_f64()
    );
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\n"))
    }
}
