//! The sections of the configuration as types, with their defaults.
//!
//! Fields have the names of their keys; `keys.rs` sets them by name. For all limits, 0 in the file means unlimited:
//! `None` here, or a budget of `Tokens(0)`.

use std::path::PathBuf;
use std::time::Duration;

use super::{
    AgentKind, Bytes, Color, CommandLine, Commit, Environment, FromAgents, Inject, Isolate, LiveView, Permissions,
    Promote, StrategyName, WhenUnverified,
};
use crate::{NoteKind, Tags, Tokens};

/// The complete configuration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    pub memories: Memories,
    pub guardrails: Guardrails,
    pub scratchpad: Scratchpad,
    pub context: Context,
    pub execution: Execution,
    pub tasks: Tasks,
    pub agent: Agent,
    pub verify: Verify,
    pub limits: Limits,
    pub strategy: Strategy,
    pub learning: Learning,
    pub git: Git,
    pub worktree: WorktreeSetup,
    pub notify: Notify,
    pub runs: Runs,
    pub paths: Paths,
    pub ui: Ui,
}

/// `[memories]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memories {
    pub enabled: bool,
    pub inject: Inject,
    pub budget: Tokens,
    pub skill_injection: bool,
    /// If not at a usual place.
    pub path: Option<PathBuf>,
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

/// `filter` of `[memories]`. An empty field filters nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    pub types: Vec<NoteKind>,
    pub tags: Tags,
    pub recent: Option<u32>,
}

/// `[guardrails]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guardrails {
    pub enabled: bool,
    pub budget: Tokens,
    /// If not at a usual place.
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
    pub budget: Tokens,
    /// If not at a usual place.
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
    pub budget: Tokens,
    /// Previous attempts at the task.
    pub attempts: Tokens,
    pub learnings: Tokens,
    pub status: Tokens,
    pub journal: Tokens,
    pub knowledge: Tokens,
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
    /// Whether the verifier runs.
    pub verify: bool,
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
    pub from_agents: FromAgents,
}

/// `[agent]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agent {
    pub command: Option<CommandLine>,
    pub kind: Option<AgentKind>,
    /// Low to high.
    pub models: Vec<String>,
    pub permissions: Permissions,
    /// In addition to the gates.
    pub allow: Vec<String>,
    pub env: Environment,
}

/// `[verify]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verify {
    pub commands: Vec<String>,
    /// Per gate.
    pub timeout: Option<Duration>,
    /// If it is not the agent that did the work.
    pub verifier: Option<CommandLine>,
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
    pub iterations: Option<u32>,
    /// Including waits.
    pub wall_clock: Option<Duration>,
    pub cost_usd: Option<f64>,
    /// As counted by the agent, so not [`Tokens`].
    pub tokens: Option<u64>,
    /// For all attempts at a task.
    pub task_cost_usd: Option<f64>,
    /// For all attempts at a task.
    pub task_tokens: Option<u64>,
    pub iteration_time: Option<Duration>,
    /// Time without output from the agent.
    pub idle_time: Option<Duration>,
    pub consecutive_failures: Option<u32>,
    /// Consecutive attempts without changes and with the same failure.
    pub no_progress: Option<u32>,
    pub output_bytes: Option<Bytes>,
}

impl Limits {
    /// Whether any of these limits is higher than the other's.
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

/// Whether a limit allows more than another one.
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
    /// The default is `cost-optimized`, from [`Option::unwrap_or_default`].
    pub name: Option<StrategyName>,
    /// Consecutive failures before the stuck warning.
    pub stuck_after: Option<u32>,
    /// Consecutive failures before cost-optimized uses the top model.
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
    pub promote: Promote,
    /// The number of active learnings above which similar ones are merged.
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
    pub isolate: Isolate,
    /// Only for work in the project itself.
    pub commit: Commit,
}

/// `[worktree]`: what a task's checkout needs in addition to tracked files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorktreeSetup {
    pub copy: Vec<PathBuf>,
    pub link: Vec<PathBuf>,
    pub setup: Vec<String>,
}

/// `[notify]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notify {
    /// A shell command that gets the event as JSON.
    pub command: Option<String>,
    /// Rings the terminal bell.
    pub bell: bool,
}

/// `[runs]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    pub keep_days: Option<u32>,
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
    pub color: Color,
    pub live: LiveView,
}
