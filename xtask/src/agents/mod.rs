//! `cargo xtask check --agents`: runs real agents under the real command against a scripted model, through a successful
//! iteration and the ways in which one can fail.
//!
//! The agents are installed once under the target folder, which takes some 2 GB and an npm registry. Everything else
//! happens on loopback, in temporary folders, with a separate environment and home for each case.

mod case;
mod check;
mod claude;
mod claude_acp;
mod codex;
mod codex_acp;
mod copilot;
mod gemini;
pub(crate) mod install;
mod opencode;
mod qwen;
pub(crate) mod sandbox;
mod table;

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use crate::flags::Flags;
use crate::programs::Programs;
use case::{Case, Expected};
use install::{Installed, install};
use sandbox::Sandbox;
use table::{Outcome, Table};

pub(crate) use claude::AGENT as CLAUDE;

/// How many cases run at once: agents are heavy, and cases have time limits.
const CONCURRENT_CASES: usize = 2;

const ONLY: &str = "--only";
const CASE: &str = "--case";
const UPDATE: &str = "--update";

/// An agent, and how to connect it to the scripted model.
#[derive(Debug)]
pub(crate) struct RealAgent {
    name: &'static str,
    /// The npm package.
    package: &'static str,
    /// The program, which is the whole `[agent] command`; the driver adds the arguments.
    program: &'static str,
    /// The `[agent] kind`.
    driver: &'static str,
    /// Writes settings into the home and returns the variables for the model at this URL.
    pub(crate) set_up: SetUp,
    /// How long the agent may be silent; longer than it takes to start on a busy machine.
    patience_s: u32,
    /// Whether the agent reports its token usage.
    tells_usage: bool,
    /// Skipped cases, in which the agent retries silently until the idle limit; another case already covers that.
    too_slow: &'static [Case],
    /// Deviations from the expected result, with the reason.
    differs: fn(Case) -> Option<Expected>,
}

type SetUp = fn(&Sandbox, &str) -> Result<Vec<(&'static str, String)>, String>;

const AGENTS: [&RealAgent; 8] = [
    &claude::AGENT,
    &codex::AGENT,
    &gemini::AGENT,
    &opencode::AGENT,
    &qwen::AGENT,
    &copilot::AGENT,
    &claude_acp::AGENT,
    &codex_acp::AGENT,
];

/// Runs the selected cases, and fails if one of them fails.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse(words, &[UPDATE], &[ONLY, CASE])?;
    let agents = select(&AGENTS, flags.value(ONLY), |agent| agent.name)?;
    let cases = select(&Case::ALL, flags.value(CASE), |case| case.name())?;
    let begin = Instant::now();
    let mut table = Table::new(&cases);
    let mut ready = Vec::new();
    for agent in agents {
        match install(agent, flags.has(UPDATE).into()) {
            Ok(installed) => {
                println!("agents: {} {}", agent.name, installed.version());
                ready.push((agent, installed));
            }
            Err(why) => {
                println!("agents: SKIPPED {}: cannot install it: {why}", agent.name);
                table.skip(agent.name);
            }
        }
    }
    let programs = Programs::build_for_tests(root)?;
    let jobs: Vec<(&RealAgent, &Installed, Case)> = ready
        .iter()
        .flat_map(|(agent, installed)| cases.iter().map(move |case| (*agent, installed, *case)))
        .filter(|(agent, _, case)| !agent.too_slow.contains(case) && case.applies_to(agent.name))
        .collect();
    let table = run_all(jobs, &programs, table);
    println!("\n{table}");
    println!("check --agents took {:.1} s", begin.elapsed().as_secs_f64());
    println!("{}", table.closing_line());
    match table.failed() {
        0 => Ok(()),
        _ => Err("some agents failed; see the reasons above".to_owned()),
    }
}

/// The items named in a comma-separated list, or all without one.
fn select<T: Copy>(all: &[T], named: Option<&str>, name: impl Fn(&T) -> &'static str) -> Result<Vec<T>, String> {
    let Some(named) = named else {
        return Ok(all.to_vec());
    };
    let find = |word: &str| {
        let known = || all.iter().map(&name).collect::<Vec<_>>().join(", ");
        let found = all.iter().find(|one| name(one) == word).copied();
        found.ok_or_else(|| format!("unknown name {word:?}; expected one of: {}", known()))
    };
    named.split(',').map(|word| find(word.trim())).collect()
}

/// Runs the cases concurrently, and prints each result.
fn run_all(jobs: Vec<(&RealAgent, &Installed, Case)>, programs: &Programs, table: Table) -> Table {
    let (jobs, table) = (Mutex::new(jobs.into_iter()), Mutex::new(table));
    let next = || lock(&jobs).next();
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENT_CASES {
            scope.spawn(|| {
                while let Some((agent, installed, case)) = next() {
                    let start = Instant::now();
                    let result = check::check(agent, installed, case, programs);
                    let seconds = start.elapsed().as_secs_f64();
                    let (outcome, word, why) = match result {
                        Ok(()) => (Outcome::Passed, "passed", String::new()),
                        Err(why) => (Outcome::Failed, "FAILED", format!(": {why}")),
                    };
                    println!("agents: {word} {} {} in {seconds:.1} s{why}", agent.name, case.name());
                    lock(&table).put(agent.name, case, outcome);
                }
            });
        }
    });
    table.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_select_agents_and_cases() {
        let names = |named| select(&Case::ALL, named, |case| case.name());
        assert_eq!(names(None), Ok(Case::ALL.to_vec()));
        assert_eq!(names(Some("hang, 401")), Ok(vec![Case::Hang, Case::Unauthorized]));
        let message = names(Some("hangs")).unwrap_err();
        assert!(
            message.starts_with("unknown name \"hangs\"; expected one of: works, 401, "),
            "{message}"
        );
    }

    #[test]
    fn agent_names_are_unique() {
        let mut names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), AGENTS.len());
    }
}
