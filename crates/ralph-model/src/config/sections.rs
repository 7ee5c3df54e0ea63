//! The sections of the configuration as types, and what they are when nothing is set.
//!
//! Fields have the names of their keys: the table in `keys.rs` sets them by name. One rule holds for all bounds: 0 in
//! the file is no bound, which is `None` here, or a budget of `Tokens(0)`.

use std::path::PathBuf;
use std::time::Duration;

use super::{
    AgentKind, Bytes, Color, CommandLine, Commit, Environment, FromAgents, Inject, Isolate, LiveView, Permissions,
    Promote, StrategyName, WhenUnverified,
};
use crate::{NoteKind, Tags, Tokens};

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// Notes of the project.
    pub memories: Memories,
    /// Notes of the current work.
    pub guardrails: Guardrails,
    /// Working notes.
    pub scratchpad: Scratchpad,
    /// How much of the prompt each part of memory may take.
    pub context: Context,
    /// How tasks are carried out.
    pub execution: Execution,
    /// What agents may do with tasks.
    pub tasks: Tasks,
    /// The agent.
    pub agent: Agent,
    /// How finished work is checked.
    pub verify: Verify,
    /// What ends an iteration or a run.
    pub limits: Limits,
    /// Which model is chosen.
    pub strategy: Strategy,
    /// What becomes of learnings.
    pub learning: Learning,
    /// What ralph does with git.
    pub git: Git,
    /// What a task's checkout needs beside the files that git tracks.
    pub worktree: WorktreeSetup,
    /// Who is told of a run.
    pub notify: Notify,
    /// The folders of past runs.
    pub runs: Runs,
    /// Where files may be.
    pub paths: Paths,
    /// What the terminal shows.
    pub ui: Ui,
}

/// `[memories]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memories {
    /// Whether prompts get anything of memories.
    pub enabled: bool,
    /// What prompts get.
    pub inject: Inject,
    /// The most that a prompt may hold.
    pub budget: Tokens,
    /// Whether prompts explain the commands.
    pub skill_injection: bool,
    /// The file, when it is not at a usual place.
    pub path: Option<PathBuf>,
    /// Which memories prompts get.
    pub filter: Filter,
}

impl Default for Memories {
    fn default() -> Self {
        Self {
            enabled: true,
            inject: Inject::default(),
            budget: Tokens(2000),
            skill_injection: true,
            path: None,
            filter: Filter::default(),
        }
    }
}

/// `filter` of `[memories]`. What is empty filters nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only these kinds.
    pub types: Vec<NoteKind>,
    /// Only those with one of these tags.
    pub tags: Tags,
    /// Only those made within so many days.
    pub recent: Option<u32>,
}

/// `[guardrails]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guardrails {
    /// Whether prompts get them.
    pub enabled: bool,
    /// The most that a prompt may hold.
    pub budget: Tokens,
    /// The file, when it is not at a usual place.
    pub path: Option<PathBuf>,
}

impl Default for Guardrails {
    fn default() -> Self {
        Self {
            enabled: true,
            budget: Tokens(2000),
            path: None,
        }
    }
}

/// `[scratchpad]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratchpad {
    /// The most that a prompt may hold.
    pub budget: Tokens,
    /// The file, when it is not at a usual place.
    pub path: Option<PathBuf>,
}

impl Default for Scratchpad {
    fn default() -> Self {
        Self {
            budget: Tokens(4000),
            path: None,
        }
    }
}

/// `[context]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// All parts together.
    pub budget: Tokens,
    /// Previous attempts at the task.
    pub attempts: Tokens,
    /// Learnings of previous iterations.
    pub learnings: Tokens,
    /// The state of the loop.
    pub status: Tokens,
    /// The journal of the run.
    pub journal: Tokens,
    /// Long notes of the project.
    pub knowledge: Tokens,
    /// What earlier loops found.
    pub knowledge_base: Tokens,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            budget: Tokens(8000),
            attempts: Tokens(750),
            learnings: Tokens(375),
            status: Tokens(125),
            journal: Tokens(3000),
            knowledge: Tokens(2000),
            knowledge_base: Tokens(1000),
        }
    }
}

/// `[execution]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution {
    /// Whether a verifier looks at finished work.
    pub verify: bool,
    /// How often a task is tried again.
    pub max_retries: u32,
}

impl Default for Execution {
    fn default() -> Self {
        Self {
            verify: true,
            max_retries: 3,
        }
    }
}

/// `[tasks]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tasks {
    /// What becomes of a task that an agent adds.
    pub from_agents: FromAgents,
}

/// `[agent]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agent {
    /// How the agent is started.
    pub command: Option<CommandLine>,
    /// Which driver speaks to it.
    pub kind: Option<AgentKind>,
    /// Its models, low to high.
    pub models: Vec<String>,
    /// What it may do unasked.
    pub permissions: Permissions,
    /// Commands that it may run unasked, beside the gates.
    pub allow: Vec<String>,
    /// Which environment it gets.
    pub env: Environment,
}

/// `[verify]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verify {
    /// The gates.
    pub commands: Vec<String>,
    /// How long one gate may run.
    pub timeout: Option<Duration>,
    /// The agent that looks at finished work, when it is not the one that did it.
    pub verifier: Option<CommandLine>,
    /// What becomes of a task that was reported done and is unverified.
    pub unverified: WhenUnverified,
}

impl Default for Verify {
    fn default() -> Self {
        Self {
            commands: Vec::new(),
            timeout: Some(Duration::from_mins(10)),
            verifier: None,
            unverified: WhenUnverified::default(),
        }
    }
}

/// `[limits]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Iterations of a run.
    pub iterations: Option<u32>,
    /// Time of a run, waits included.
    pub wall_clock: Option<Duration>,
    /// Cost of a run, in US dollars.
    pub cost_usd: Option<f64>,
    /// Tokens of a run as the agent counts them, which is why they are not [`Tokens`].
    pub tokens: Option<u64>,
    /// Cost of all attempts at a task, in US dollars.
    pub task_cost_usd: Option<f64>,
    /// Tokens of all attempts at a task.
    pub task_tokens: Option<u64>,
    /// Time of an iteration.
    pub iteration_time: Option<Duration>,
    /// Time without a sign of the agent.
    pub idle_time: Option<Duration>,
    /// Failures in a row.
    pub consecutive_failures: Option<u32>,
    /// Iterations in a row that change nothing and end in the same way.
    pub no_progress: Option<u32>,
    /// Output of an iteration.
    pub output_bytes: Option<Bytes>,
}

impl Limits {
    /// Whether one of them is above the same one of these, or off where that one is set.
    pub(super) fn exceed(&self, those: &Self) -> bool {
        is_above(self.iterations, those.iterations)
            || is_above(self.wall_clock, those.wall_clock)
            || is_above(self.cost_usd, those.cost_usd)
            || is_above(self.tokens, those.tokens)
            || is_above(self.task_cost_usd, those.task_cost_usd)
            || is_above(self.task_tokens, those.task_tokens)
            || is_above(self.iteration_time, those.iteration_time)
            || is_above(self.idle_time, those.idle_time)
            || is_above(self.consecutive_failures, those.consecutive_failures)
            || is_above(self.no_progress, those.no_progress)
            || is_above(
                self.output_bytes.map(|bytes| bytes.0),
                those.output_bytes.map(|bytes| bytes.0),
            )
    }
}

/// Whether a limit allows more than another one; one that is not set allows everything.
fn is_above<T: PartialOrd>(limit: Option<T>, other: Option<T>) -> bool {
    other.is_some_and(|other| limit.is_none_or(|limit| limit > other))
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            iterations: None,
            wall_clock: None,
            cost_usd: None,
            tokens: None,
            task_cost_usd: None,
            task_tokens: None,
            iteration_time: Some(Duration::from_hours(2)),
            idle_time: Some(Duration::from_mins(15)),
            consecutive_failures: None,
            no_progress: Some(5),
            output_bytes: Some(Bytes::mebi(256)),
        }
    }
}

/// `[strategy]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// How a model is chosen; not set, it is `cost-optimized`, which [`Option::unwrap_or_default`] gives.
    pub name: Option<StrategyName>,
    /// From how many failures in a row the prompt warns of a stuck loop.
    pub stuck_after: Option<u32>,
    /// From how many failures in a row cost-optimized takes the top model.
    pub escalate_after: Option<u32>,
}

impl Default for Strategy {
    fn default() -> Self {
        Self {
            name: None,
            stuck_after: Some(3),
            escalate_after: Some(2),
        }
    }
}

/// `[learning]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Learning {
    /// Who decides that a learning holds.
    pub promote: Promote,
    /// Above how many active learnings alike ones are merged.
    pub merge_above: Option<u32>,
}

impl Default for Learning {
    fn default() -> Self {
        Self {
            promote: Promote::default(),
            merge_above: Some(200),
        }
    }
}

/// `[git]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Git {
    /// Where the agent works.
    pub isolate: Isolate,
    /// What is committed when it works in the project itself.
    pub commit: Commit,
}

/// `[worktree]`: what a task's checkout needs beside the files that git tracks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorktreeSetup {
    /// Files and folders that are copied from the project.
    pub copy: Vec<PathBuf>,
    /// Files and folders of the project that are linked.
    pub link: Vec<PathBuf>,
    /// Commands that are run in a new checkout.
    pub setup: Vec<String>,
}

/// `[notify]`: how a person hears of a run that they do not watch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notify {
    /// A command of the shell that gets the event as JSON.
    pub command: Option<String>,
    /// Whether the terminal's bell rings.
    pub bell: bool,
}

/// `[runs]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    /// For how many days the folders of runs are kept.
    pub keep_days: Option<u32>,
    /// How much room they may take.
    pub max_bytes: Option<Bytes>,
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            keep_days: Some(30),
            max_bytes: Some(Bytes::gibi(2)),
        }
    }
}

/// `[paths]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paths {
    /// Folders outside a project that its note files may be in.
    pub allow_outside: Vec<PathBuf>,
}

/// `[ui]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ui {
    /// When output is coloured.
    pub color: Color,
    /// Whether a run shows what goes on now.
    pub live: LiveView,
}
