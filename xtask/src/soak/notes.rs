//! `cargo xtask soak notes`: the torture and grammar tests, with counts that take too long for the gate.

use std::path::Path;
use std::time::Instant;

use crate::cargo::Cargo;
use crate::flags::Flags;
use crate::random::any_seed;

/// A count: its flag, the variable that hands it to the tests, and how much it is when nobody says otherwise.
struct Count {
    flag: &'static str,
    variable: &'static str,
    full: u64,
}

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
const SEED: &str = "--seed";
const SEED_VARIABLE: &str = "RALPH_SOAK_SEED";

const TORTURE: Cargo<'_> = Cargo::new("test --release --locked -p ralph --test torture -- --nocapture");
const GRAMMAR: Cargo<'_> = Cargo::new("test --release --locked -p ralph-notes --test grammar");

/// Runs them. Every test of both is run even if one fails, and the seed is printed first.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let counts = TORTURE_COUNTS.iter().chain(&GRAMMAR_COUNTS);
    let options: Vec<&str> = counts.map(|count| count.flag).chain([SEED]).collect();
    let flags = Flags::parse(words, &[], &options)?;
    let seed = flags.number(SEED)?.unwrap_or_else(any_seed).to_string();
    let begin = Instant::now();
    let mut failures = Vec::new();
    for (call, counts) in [(TORTURE, &TORTURE_COUNTS[..]), (GRAMMAR, &GRAMMAR_COUNTS)] {
        let mut environment = vec![(SEED_VARIABLE, seed.clone())];
        for count in counts {
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
        "soak notes took {:.1} s with seed {seed}",
        begin.elapsed().as_secs_f64()
    );
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\n"))
    }
}
