//! The journal: one entry per iteration. Only ralph writes it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{Evidence, FeatureId, RunId, TaskId, TaskType, serialize_timestamp};

word_enum! {
    /// How a run ended.
    pub enum EndKind {
        Complete = "complete",
        /// The run did all it could; the rest needs a person.
        NeedsAttention = "needs_attention",
        /// A limit, the user or an error ended it early.
        Stopped = "stopped",
        Killed = "killed",
    }
}

word_enum! {
    pub enum Outcome {
        /// The agent reported the task done, and no gate or verifier refused it.
        Done = "done",
        /// The agent reported failure or crashed.
        Failed = "failed",
        /// The agent reported the task done, but a gate or the verifier refused it.
        Retried = "retried",
        /// The agent ended without a valid report about its task.
        Blocked = "blocked",
        /// Ended from outside; says nothing about the task.
        Interrupted = "interrupted",
    }
}

impl Outcome {
    /// Whether it counts as a failure in streaks and rates; `None` if it does not count at all.
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
    /// Why a session ended.
    pub enum StopReason {
        /// The agent finished and reported the task done.
        TaskDone = "task_done",
        /// The agent reported that the task cannot be done.
        TaskFailed = "task_failed",
        /// The agent asked the run to stop.
        FailurePromise = "failure_promise",
        /// The agent finished without a report on the task.
        NoSigil = "no_sigil",
        /// The agent reported on another task than its own.
        WrongTask = "wrong_task",
        EmptyAnswer = "empty_answer",
        Refusal = "refusal",
        /// The answer reached the model's token limit.
        TokenLimit = "token_limit",
        /// The agent reached its turn limit.
        TurnLimit = "turn_limit",
        /// The agent was denied something it needed.
        PermissionDenied = "permission_denied",
        Crash = "crash",
        /// The agent's output could not be parsed.
        Garbage = "garbage",
        /// The iteration exceeded its time limit.
        Timeout = "timeout",
        /// The agent produced no output for too long.
        Idle = "idle",
        /// The agent exceeded the output limit.
        OutputLimit = "output_limit",
        /// The prompt exceeded the model's context.
        ContextOverflow = "context_overflow",
        /// The user's quota is exhausted for now.
        UsageLimit = "usage_limit",
        /// A temporary failure of the service.
        Transient = "transient",
        /// The agent is not logged in, or its key is invalid.
        Auth = "auth",
        Billing = "billing",
        Cancelled = "cancelled",
        /// ralph was killed during the session.
        RalphDied = "ralph_died",
        /// The run reached a limit during the session.
        RunLimit = "run_limit",
        /// The task reached its cost or token limit.
        TaskLimit = "task_limit",
        GateNotStarted = "gate_not_started",
    }
}

word_enum! {
    /// The kind of failure of an attempt.
    pub enum ErrorCategory {
        TestFailure = "test_failure",
        BuildError = "build_error",
        MissingFile = "missing_file",
        LogicError = "logic_error",
        TypeError = "type_error",
        DependencyError = "dependency_error",
        Timeout = "timeout",
        Unknown = "unknown",
    }
}

word_enum! {
    /// How hard the agent found its task.
    pub enum Difficulty {
        Trivial = "trivial",
        Easy = "easy",
        Moderate = "moderate",
        Hard = "hard",
        Blocked = "blocked",
    }
}

/// Usage reported by the agent. 0 means not reported and is serialized as null.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "SerializedUsage", into = "SerializedUsage")]
pub struct Usage {
    pub cost_usd: f64,
    /// Includes tokens read from a cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
}

impl Usage {
    /// The sum of two usages. Agents report these numbers themselves, so negative values count as 0.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            cost_usd: self.cost_usd.max(0.0) + other.cost_usd.max(0.0),
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }

    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The cost in US dollars; `None` if not reported. No session is free, so 0 is not reported.
    #[must_use]
    pub fn known_cost(&self) -> Option<f64> {
        Some(self.cost_usd).filter(|cost| *cost > 0.0)
    }

    /// The cost divided by a count; `None` if the cost is unknown or the count is 0.
    #[must_use]
    pub fn cost_per(&self, parts: u32) -> Option<f64> {
        self.known_cost()
            .filter(|_| parts > 0)
            .map(|cost| cost / f64::from(parts))
    }

    /// All tokens; `None` if not reported.
    #[must_use]
    pub fn known_tokens(&self) -> Option<u64> {
        Some(self.tokens()).filter(|tokens| *tokens > 0)
    }
}

/// The serialized form, with null for values that were not reported.
#[derive(Serialize, Deserialize)]
struct SerializedUsage {
    cost_usd: Option<f64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl From<Usage> for SerializedUsage {
    fn from(usage: Usage) -> Self {
        let reported = usage.known_tokens();
        Self {
            cost_usd: usage.known_cost(),
            input_tokens: reported.map(|_| usage.input_tokens),
            output_tokens: reported.map(|_| usage.output_tokens),
        }
    }
}

impl From<SerializedUsage> for Usage {
    fn from(reported: SerializedUsage) -> Self {
        Self {
            cost_usd: reported.cost_usd.unwrap_or_default(),
            input_tokens: reported.input_tokens.unwrap_or_default(),
            output_tokens: reported.output_tokens.unwrap_or_default(),
        }
    }
}

/// A journal entry to be stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewJournalRow {
    pub run: RunId,
    /// The iteration of the run, from 1.
    pub iteration: u32,
    /// The title is stored too, because the task may be deleted.
    pub task: Option<TaskId>,
    pub task_title: String,
    pub task_type: TaskType,
    /// The files, error types and tools named by the task and its changes; used to find similar tasks.
    pub tags: Vec<String>,
    pub feature: Option<FeatureId>,
    /// The attempt at the task, from 1; never reused.
    pub attempt: u32,
    pub outcome: Outcome,
    pub stop: StopReason,
    /// What went wrong, in one sentence; empty if nothing did.
    pub reason: String,
    /// The requested model; `None` if the agent chose.
    pub model: Option<String>,
    pub model_rationale: String,
    /// Duration of the session and its gates.
    pub duration_ms: u64,
    pub usage: Usage,
    /// Sorted paths relative to the project root.
    pub files_modified: Vec<String>,
    pub changed_nothing: bool,
    /// What confirmed the work or, if it was retried, what refused it.
    pub evidence: Evidence,
    pub notes: Option<String>,
    pub difficulty: Option<Difficulty>,
    pub error_category: Option<ErrorCategory>,
    pub malformed_sigils: u32,
    pub denials: Vec<Denial>,
    #[serde(serialize_with = "serialize_timestamp")]
    pub created_at: Timestamp,
}

/// A denied tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    pub tool: String,
    /// A command, a path or a URL.
    pub about: String,
    /// The narrowest configuration line that permits it, if known.
    pub permit: Option<String>,
}

/// A stored journal entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JournalRow {
    /// Always increasing.
    pub id: i64,
    /// The hex SHA-256 of the prompt as written for the agent, if known.
    pub prompt_sha256: Option<String>,
    #[serde(flatten)]
    pub row: NewJournalRow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreported_usage_round_trips_as_null() {
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
