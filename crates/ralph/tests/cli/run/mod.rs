//! Tests of `ralph run` with a scripted agent.

mod agents;
mod authors;
mod capture;
mod confirmation;
mod ends;
mod evidence;
mod evidence_basis;
mod feature_story;
mod features;
mod files;
mod floods;
mod folder;
mod forms;
mod gates;
mod guidance;
mod hostile_sigils;
mod isolation;
mod knowledge;
mod learnings;
mod limits;
mod live;
mod lost_database;
mod memory_story;
mod models;
mod notify;
mod pruning;
mod rollback;
mod rules;
mod runs_story;
pub(crate) mod signals;
mod status;
mod stream;
mod two_runs;
mod undo;
mod upkeep;
mod verifier;
mod waits;

use std::cell::Cell;

use ralph_testkit::scripted::{Script, ScriptedAgent, say, write};
use ralph_testkit::{Finished, Invocation, TestEnv};

use crate::env;

/// A passing gate, as set in the environment.
const GATE: &str = "[\"true\"]";

/// The output of an agent that did its task.
pub(crate) const DONE: &str = "<task-done>{task}</task-done>";

/// A project and an agent.
struct Scene {
    env: TestEnv,
    agent: ScriptedAgent,
    /// The number of commands so far: each gets its own seed, so that ids differ.
    commands: Cell<u32>,
}

impl Scene {
    fn new(script: &Script) -> Self {
        let env = env();
        let agent = script.install(&env.beside("agent"));
        Self {
            env,
            agent,
            commands: Cell::new(0),
        }
    }

    /// A command that is not started.
    fn ralph(&self, arguments: &[&str]) -> Invocation {
        self.commands.set(self.commands.get() + 1);
        self.env
            .ralph(arguments.iter().copied())
            .env("RALPH_SEED", self.commands.get().to_string())
            .env("TZ", "UTC")
    }

    /// `ralph run` with the agent and these arguments, and with a passing gate unless the project sets one, because
    /// unconfirmed work would be unverified.
    fn invocation(&self, arguments: &[&str]) -> Invocation {
        let run = self.ungated(arguments);
        let configuration = std::fs::read_to_string(self.env.path(".ralph.toml")).unwrap_or_default();
        match configuration.lines().any(|line| line.starts_with("commands =")) {
            true => run,
            false => run.env("RALPH_VERIFY_COMMANDS", GATE),
        }
    }

    /// The same without the passing gate.
    fn ungated(&self, arguments: &[&str]) -> Invocation {
        let command = self.agent.command();
        self.ralph(&[&["run", "--agent", &command], arguments].concat())
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        normal(self.invocation(arguments).run())
    }

    /// The ids and statuses of the open tasks.
    fn open_tasks(&self) -> Vec<(String, String)> {
        let listed = crate::json(&self.env, &["task", "list", "--json"]);
        let word = |task: &serde_json::Value, key: &str| task[key].as_str().unwrap_or_default().to_owned();
        let tasks = listed.as_array().unwrap().iter();
        tasks.map(|task| (word(task, "title"), word(task, "status"))).collect()
    }

    /// The outcomes in the journal, oldest first.
    fn outcomes(&self) -> Vec<String> {
        let rows = crate::json(&self.env, &["journal", "list", "--json"]);
        let mut rows: Vec<_> = rows.as_array().unwrap().clone();
        rows.sort_by_key(|row| row["id"].as_u64());
        rows.iter()
            .map(|row| row["outcome"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

/// Like [`Finished::printed`], for a run that printed its summary and ended with another exit code than 0.
#[track_caller]
fn check_end(finished: &Finished, code: i32, texts: &[&str]) {
    assert_eq!(finished.code, Some(code), "{finished}");
    let as_success = Finished {
        code: Some(0),
        ..finished.clone()
    };
    as_success.printed(texts);
}

/// An agent that writes a file and is done, turn after turn.
fn diligent() -> Script {
    Script::new().turn([write("work-{turn}.txt", "work\n"), say(DONE)])
}

/// The output without what varies: durations, agent commands and prompt sizes.
fn normal(mut finished: Finished) -> Finished {
    let normal = |text: &str| -> String {
        let lines = text
            .lines()
            .map(|line| without_agent(&without_sizes(&without_duration(line.trim_end()))) + "\n");
        lines.collect()
    };
    finished.stdout = normal(&finished.stdout);
    finished.stderr = normal(&finished.stderr);
    finished
}

/// A line without the duration at its end, which may be in parentheses.
fn without_duration(line: &str) -> String {
    let is_duration = |text: &str| text.ends_with(" s") && text.starts_with(|first: char| first.is_ascii_digit());
    let inside = line.strip_suffix(')').unwrap_or(line);
    match (inside.rsplit_once(", "), inside.rsplit_once(" (")) {
        (Some((rest, time)), _) if is_duration(time) && inside.len() < line.len() => format!("{rest})"),
        (Some((rest, time)), _) | (_, Some((rest, time))) if is_duration(time) => rest.to_owned(),
        _ => line.to_owned(),
    }
}

/// A line without the agent command at the end of the command that continues the run.
fn without_agent(line: &str) -> String {
    match (line.split_once(" --agent "), line.split_once("` to continue")) {
        (Some((before, _)), Some((_, after))) => format!("{before} --agent [agent]` to continue{after}"),
        _ => line.to_owned(),
    }
}

fn without_sizes(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let named = |at: usize| {
        let is_attempt = at > 0 && words.get(at - 1) == Some(&"attempt");
        !is_attempt && words.get(at + 1).is_some_and(|next| matches!(*next, "tokens," | "of"))
    };
    let words = words.iter().enumerate();
    let words = words.map(|(at, word)| if is_number(word) && named(at) { "[n]" } else { *word });
    words.collect::<Vec<_>>().join(" ")
}
