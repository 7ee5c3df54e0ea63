//! `cargo xtask check --agents`: the real agents, each driven by the real command against a scripted model, through an
//! iteration that goes well and the ways in which one fails.
//!
//! It installs the agents under the target folder, once, which takes some 2 GB and needs a registry of npm packages; all the
//! rest happens on loopback, in temporary folders, with an environment and a home of each case's own.

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
pub(crate) mod place;
mod qwen;
mod table;

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use crate::flags::Flags;
use crate::programs::Programs;
use case::{Case, Expected};
use install::{Installed, install};
use place::Place;
use table::{Outcome, Table};

pub(crate) use claude::AGENT as CLAUDE;

/// How many cases go on at once: agents are heavy, and the limits of a case are times.
const AT_ONCE: usize = 2;

const ONLY: &str = "--only";
const CASE: &str = "--case";
const UPDATE: &str = "--update";

/// An agent, and how it is made to speak to the scripted model.
#[derive(Debug)]
pub(crate) struct RealAgent {
    /// What it is called here.
    name: &'static str,
    /// The package that it comes in.
    package: &'static str,
    /// Its program, which is the whole of `[agent] command`: what it needs besides is the driver's to know.
    program: &'static str,
    /// The driver that speaks to it.
    driver: &'static str,
    /// Writes its settings below the home, and gives the variables that lead it to the model at this address.
    pub(crate) set_up: SetUp,
    /// How long it may be silent; more than it takes to start on a busy machine.
    patience_s: u32,
    /// Whether it tells what it uses.
    tells_usage: bool,
    /// The cases in which it tries again for so long, without a word, that another one shows the same: its silence ends it.
    too_slow: &'static [Case],
    /// What it does otherwise than an agent should, with the reason.
    differs: fn(Case) -> Option<Expected>,
}

type SetUp = fn(&Place, &str) -> Result<Vec<(&'static str, String)>, String>;

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

/// Runs the cases that the flags leave, and fails when one of them does.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse(words, &[UPDATE], &[ONLY, CASE])?;
    let agents = chosen(&AGENTS, flags.value(ONLY), |agent| agent.name)?;
    let cases = chosen(&Case::ALL, flags.value(CASE), |case| case.name())?;
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
                println!("agents: SKIPPED {}: it cannot be installed: {why}", agent.name);
                table.skip(agent.name);
            }
        }
    }
    let programs = Programs::build_for_tests(root)?;
    let jobs: Vec<(&RealAgent, &Installed, Case)> = ready
        .iter()
        .flat_map(|(agent, installed)| cases.iter().map(move |case| (*agent, installed, *case)))
        .filter(|(agent, _, case)| !agent.too_slow.contains(case) && case.concerns(agent.name))
        .collect();
    let table = run_all(jobs, &programs, table);
    println!("\n{table}");
    println!("check --agents took {:.1} s", begin.elapsed().as_secs_f64());
    println!("{}", table.closing_line());
    match table.failed() {
        0 => Ok(()),
        _ => Err("agents did not do what is expected of them; the reasons stand above".to_owned()),
    }
}

/// The ones that a flag names, separated by commas; all without it.
fn chosen<T: Copy>(all: &[T], named: Option<&str>, name: impl Fn(&T) -> &'static str) -> Result<Vec<T>, String> {
    let Some(named) = named else {
        return Ok(all.to_vec());
    };
    let find = |word: &str| {
        let known = || all.iter().map(&name).collect::<Vec<_>>().join(", ");
        let found = all.iter().find(|one| name(one) == word).copied();
        found.ok_or_else(|| format!("there is no {word:?}; there are {}", known()))
    };
    named.split(',').map(|word| find(word.trim())).collect()
}

/// Runs the cases, a few at once, and tells each as it ends.
fn run_all(jobs: Vec<(&RealAgent, &Installed, Case)>, programs: &Programs, table: Table) -> Table {
    let (jobs, table) = (Mutex::new(jobs.into_iter()), Mutex::new(table));
    let next = || lock(&jobs).next();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
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
    fn flags_choose_agents_and_cases() {
        let names = |named| chosen(&Case::ALL, named, |case| case.name());
        assert_eq!(names(None), Ok(Case::ALL.to_vec()));
        assert_eq!(names(Some("hang, 401")), Ok(vec![Case::Hang, Case::Unauthorized]));
        let message = names(Some("hangs")).unwrap_err();
        assert!(
            message.starts_with("there is no \"hangs\"; there are works, 401, "),
            "{message}"
        );
    }

    #[test]
    fn every_agent_has_a_name_of_its_own() {
        let mut names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), AGENTS.len());
    }
}
