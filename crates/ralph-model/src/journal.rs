//! The journal: what every iteration was, and how it ended. ralph writes it, nobody edits it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{Evidence, FeatureId, RunId, TaskId, TaskType, serialize_moment};

word_enum! {
    /// How an iteration ended.
    pub enum Outcome {
        /// The agent reported the task done, and no gate or verifier refused it.
        Done = "done",
        /// The agent could not do it, or broke down.
        Failed = "failed",
        /// The agent said that it was done, and a gate or the verifier did not.
        Retried = "retried",
        /// The agent ended without saying how it stands.
        Blocked = "blocked",
        /// It was ended from outside, which says nothing about the task.
        Interrupted = "interrupted",
    }
}

impl Outcome {
    /// Whether it counts as a failure in streaks and rates; none when it does not count at all.
    #[must_use]
    pub fn is_failure(self) -> Option<bool> {
        match self {
            Self::Done => Some(false),
            Self::Failed | Self::Retried | Self::Blocked => Some(true),
            Self::Interrupted => None,
        }
    }
}

word_enum! {
    /// What made a turn end.
    pub enum StopReason {
        /// The agent came to its end and said that the task is done.
        TaskDone = "task_done",
        /// The agent said that the task cannot be done.
        TaskFailed = "task_failed",
        /// The agent said that the run has to stop.
        FailurePromise = "failure_promise",
        /// The agent came to its end and said nothing about the task.
        NoSigil = "no_sigil",
        /// The agent spoke of another task than the assigned one.
        WrongTask = "wrong_task",
        /// The agent said nothing.
        EmptyAnswer = "empty_answer",
        /// The model refused.
        Refusal = "refusal",
        /// The answer was cut at its longest.
        TokenLimit = "token_limit",
        /// The agent used up its steps.
        TurnLimit = "turn_limit",
        /// The agent was not allowed to do what it had to.
        PermissionDenied = "permission_denied",
        /// The agent's program broke down.
        Crash = "crash",
        /// The agent's program printed what cannot be understood.
        Garbage = "garbage",
        /// The iteration took too long.
        Timeout = "timeout",
        /// The agent was silent for too long.
        Idle = "idle",
        /// The agent printed too much.
        OutputLimit = "output_limit",
        /// The prompt was too long for the model.
        ContextOverflow = "context_overflow",
        /// What the user may use is used up for now.
        UsageLimit = "usage_limit",
        /// The service failed for a moment.
        Transient = "transient",
        /// The agent is not logged in, or its key is wrong.
        Auth = "auth",
        /// The account cannot pay.
        Billing = "billing",
        /// The person stopped it.
        Cancelled = "cancelled",
        /// ralph itself was killed while the agent worked.
        RalphDied = "ralph_died",
        /// A limit of the run was reached while the agent worked.
        RunLimit = "run_limit",
        /// The attempts at the task have used what a task may use.
        TaskLimit = "task_limit",
        /// A gate could not be started.
        GateNotStarted = "gate_not_started",
    }
}

word_enum! {
    /// What kind of failure an attempt met.
    pub enum ErrorCategory {
        /// A test fails.
        TestFailure = "test_failure",
        /// It does not build.
        BuildError = "build_error",
        /// A file is not there.
        MissingFile = "missing_file",
        /// It does the wrong thing.
        LogicError = "logic_error",
        /// A type does not fit.
        TypeError = "type_error",
        /// Something that it stands upon is missing or wrong.
        DependencyError = "dependency_error",
        /// It took too long.
        Timeout = "timeout",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

word_enum! {
    /// How hard an agent found its task.
    pub enum Difficulty {
        /// Nothing to it.
        Trivial = "trivial",
        /// Easy.
        Easy = "easy",
        /// Neither easy nor hard.
        Moderate = "moderate",
        /// Hard.
        Hard = "hard",
        /// It cannot go on.
        Blocked = "blocked",
    }
}

/// What a turn used, as the agent counts it; 0 where it does not say, which is written as nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "ToldUsage", into = "ToldUsage")]
pub struct Usage {
    /// US dollars.
    pub cost_usd: f64,
    /// Tokens read, those from a cache included.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

impl Usage {
    /// This and what was used beside it. It is an agent's own account, and an agent may say anything: nothing in it gives back
    /// what was spent.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            cost_usd: self.cost_usd.max(0.0) + other.cost_usd.max(0.0),
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }

    /// All tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// What it cost in US dollars; none where nobody told. Nothing is free, so 0 is not told.
    #[must_use]
    pub fn told_cost(&self) -> Option<f64> {
        Some(self.cost_usd).filter(|cost| *cost > 0.0)
    }

    /// The cost divided by a count; none if the cost is unknown or the count is 0.
    #[must_use]
    pub fn cost_per(&self, parts: u32) -> Option<f64> {
        self.told_cost()
            .filter(|_| parts > 0)
            .map(|cost| cost / f64::from(parts))
    }

    /// All tokens; none where nobody told.
    #[must_use]
    pub fn told_tokens(&self) -> Option<u64> {
        Some(self.tokens()).filter(|tokens| *tokens > 0)
    }
}

/// The same as it is written: what nobody told is not nothing.
#[derive(Serialize, Deserialize)]
struct ToldUsage {
    cost_usd: Option<f64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl From<Usage> for ToldUsage {
    fn from(usage: Usage) -> Self {
        let told = usage.told_tokens();
        Self {
            cost_usd: usage.told_cost(),
            input_tokens: told.map(|_| usage.input_tokens),
            output_tokens: told.map(|_| usage.output_tokens),
        }
    }
}

impl From<ToldUsage> for Usage {
    fn from(told: ToldUsage) -> Self {
        Self {
            cost_usd: told.cost_usd.unwrap_or_default(),
            input_tokens: told.input_tokens.unwrap_or_default(),
            output_tokens: told.output_tokens.unwrap_or_default(),
        }
    }
}

/// A row of the journal, to be written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewJournalRow {
    /// The run.
    pub run: RunId,
    /// Which iteration of the run, from 1.
    pub iteration: u32,
    /// The task. It may have been deleted since, so its title stands here too.
    pub task: Option<TaskId>,
    /// The task's title.
    pub task_title: String,
    /// What kind of work the task is.
    pub task_type: TaskType,
    /// The files, kinds of errors and tools that the task and its changes named: by them tasks are alike.
    pub tags: Vec<String>,
    /// The feature of the task.
    pub feature: Option<FeatureId>,
    /// Which attempt at the task, from 1; never used again.
    pub attempt: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// What made it end.
    pub stop: StopReason,
    /// What was the matter, in a sentence; empty when all went well.
    pub reason: String,
    /// The model that was asked for; none when the agent chose.
    pub model: Option<String>,
    /// Why that model.
    pub model_rationale: String,
    /// How long the turn and its gates took.
    pub duration_ms: u64,
    /// What it used.
    pub usage: Usage,
    /// The files that changed, from the project's root, in order.
    pub files_modified: Vec<String>,
    /// Whether the iteration changed nothing on disk.
    pub changed_nothing: bool,
    /// What confirmed the work; of a retried iteration, what refused it.
    pub evidence: Evidence,
    /// What the agent noted.
    pub notes: Option<String>,
    /// How hard the agent found it.
    pub difficulty: Option<Difficulty>,
    /// What kind of failure it met.
    pub error_category: Option<ErrorCategory>,
    /// How many sigils could not be read.
    pub malformed_sigils: u32,
    /// What the agent was not allowed to do.
    pub denials: Vec<Denial>,
    /// When it was settled.
    #[serde(serialize_with = "serialize_moment")]
    pub created_at: Timestamp,
}

/// A tool that an agent was not allowed to use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The tool.
    pub tool: String,
    /// What it was for: a command, a path, or a URL.
    pub about: String,
    /// The narrowest line that permits it, if one is known.
    pub permit: Option<String>,
}

/// A row of the journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JournalRow {
    /// Its number, growing for ever.
    pub id: i64,
    /// The SHA-256 of the prompt as it was written for the agent, in hexadecimal digits; none where that is not known.
    pub prompt_sha256: Option<String>,
    /// What it says.
    #[serde(flatten)]
    pub row: NewJournalRow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_told_is_written_as_nothing_and_read_again() {
        let check = |usage: Usage, written: &str| {
            assert_eq!(serde_json::to_string(&usage).unwrap(), written);
            assert_eq!(serde_json::from_str::<Usage>(written).unwrap(), usage);
        };
        check(
            Usage::default(),
            r#"{"cost_usd":null,"input_tokens":null,"output_tokens":null}"#,
        );
        let tokens = Usage {
            input_tokens: 7,
            ..Usage::default()
        };
        check(tokens, r#"{"cost_usd":null,"input_tokens":7,"output_tokens":0}"#);
        let cost = Usage {
            cost_usd: 0.25,
            ..Usage::default()
        };
        check(cost, r#"{"cost_usd":0.25,"input_tokens":null,"output_tokens":null}"#);
        let before = r#"{"cost_usd":0.0,"input_tokens":0,"output_tokens":0}"#;
        assert_eq!(serde_json::from_str::<Usage>(before).unwrap(), Usage::default());
    }
}
