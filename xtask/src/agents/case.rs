//! The cases: what the model does, how the run is limited, and the expected result.

use std::path::Path;

use ralph_testkit::model::{Failure, Scenario};

/// The file that the task asks for.
pub(super) const FILE: &str = "made.txt";
/// The expected content of [`FILE`].
pub(super) const CONTENT: &str = "made\n";

/// The gate of the project.
pub(super) const GATE: &str = "grep -c made made.txt README.md";
/// Output that only the gate prints.
pub(super) const GATE_OUTPUT: &str = "made.txt:1";
/// The memory that the agent stores.
pub(super) const NOTE: &str = "An emu lays green eggs.";

/// The file that the read-only verifier session tries to write.
pub(super) const MEDDLED_FILE: &str = "meddled.txt";

/// When the usage limit resets, as Unix time: far in the future.
const RESETS_AT: u64 = 1_900_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Case {
    /// A file is written and the task is done.
    Works,
    Unauthorized,
    RateLimited,
    /// The first prompt is too long, the second is not.
    Overflow,
    Cut,
    /// The model never finishes its answer.
    Hang,
    /// The agent uses a tool without permission.
    Denied,
    /// The agent stores a memory with ralph and runs the gate.
    Permitted,
    /// After `ralph setup claude`, every note is in a request exactly once.
    SetUp,
    /// Like `SetUp`, with `--without-memory`: no request contains a note.
    WithoutMemory,
    /// The account's quota is used up for a long time.
    UsageLimit,
    ServerError,
    Billing,
    /// The answer stops at the token limit.
    MaxTokens,
    Empty,
    /// A verifier session that tries to change something.
    Verified,
}

/// The expected result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) code: i32,
    /// Outcome and stop reason of each journal entry.
    pub(super) rows: Vec<(&'static str, &'static str)>,
    /// How many attempts are used up.
    pub(super) attempts: u64,
    /// Texts that the run must print.
    pub(super) printed: Vec<&'static str>,
}

impl Expected {
    /// A result with one journal entry and no required output.
    pub(super) fn row(code: i32, outcome: &'static str, stop: &'static str) -> Self {
        let counts = matches!(outcome, "failed" | "retried" | "blocked");
        Self {
            code,
            rows: vec![(outcome, stop)],
            attempts: u64::from(counts),
            printed: Vec::new(),
        }
    }
}

impl Case {
    pub(super) const ALL: [Self; 16] = [
        Self::Works,
        Self::Unauthorized,
        Self::RateLimited,
        Self::Overflow,
        Self::Cut,
        Self::Hang,
        Self::Denied,
        Self::Permitted,
        Self::SetUp,
        Self::WithoutMemory,
        Self::UsageLimit,
        Self::ServerError,
        Self::Billing,
        Self::MaxTokens,
        Self::Empty,
        Self::Verified,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Unauthorized => "401",
            Self::RateLimited => "429",
            Self::Overflow => "overflow",
            Self::Cut => "cut",
            Self::Hang => "hang",
            Self::Denied => "denied",
            Self::Permitted => "permitted",
            Self::SetUp => "setup",
            Self::WithoutMemory => "without",
            Self::UsageLimit => "usage",
            Self::ServerError => "500",
            Self::Billing => "billing",
            Self::MaxTokens => "tokens",
            Self::Empty => "empty",
            Self::Verified => "verified",
        }
    }

    /// The model's scenarios, session by session, for a task's checkout.
    pub(super) fn scenarios(self, checkout: &Path, project: &Path) -> Vec<Scenario> {
        let writes = Scenario::Writes {
            path: checkout.join(FILE),
            content: CONTENT.to_owned(),
        };
        match self {
            Self::Works | Self::SetUp | Self::WithoutMemory => vec![writes],
            Self::Verified => vec![
                writes,
                Scenario::Meddles {
                    path: checkout.join(MEDDLED_FILE),
                },
            ],
            Self::Unauthorized => vec![Scenario::Fails(Failure::Unauthorized)],
            Self::RateLimited => vec![Scenario::Fails(Failure::RateLimited)],
            Self::Overflow => vec![Scenario::Fails(Failure::ContextOverflow), writes],
            Self::Cut => vec![Scenario::CutsOff],
            Self::Hang => vec![Scenario::Hangs],
            // Outside the project, where an agent that may edit project files must not write.
            Self::Denied => vec![Scenario::Runs(format!(
                "python3 -c \"open('{}', 'w')\"",
                denied_file(project)
            ))],
            Self::Permitted => vec![Scenario::WritesAndRuns {
                path: checkout.join(FILE),
                content: CONTENT.to_owned(),
                commands: vec![format!("ralph remember '{NOTE}'"), GATE.to_owned()],
            }],
            Self::UsageLimit => vec![Scenario::Fails(Failure::UsageLimit { resets_at: RESETS_AT })],
            Self::ServerError => vec![Scenario::Fails(Failure::ServerError)],
            Self::Billing => vec![Scenario::Fails(Failure::Billing)],
            Self::MaxTokens => vec![Scenario::RunsOutOfTokens],
            Self::Empty => vec![Scenario::SaysNothing],
        }
    }

    /// Whether this case applies to an agent.
    pub(super) fn applies_to(self, agent: &str) -> bool {
        !matches!(self, Self::SetUp | Self::WithoutMemory) || agent.starts_with("claude")
    }

    /// Extra arguments of the run.
    pub(super) fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::WithoutMemory => &["--without-memory"],
            _ => &[],
        }
    }

    /// The iteration limit of the run.
    pub(super) fn iterations(self) -> &'static str {
        match self {
            Self::Overflow => "2",
            _ => "1",
        }
    }

    /// The expected result with an agent that reports errors properly.
    pub(super) fn expected(self) -> Expected {
        match self {
            Self::Works | Self::Permitted | Self::SetUp | Self::WithoutMemory => Expected::row(0, "done", "task_done"),
            Self::Verified => Expected {
                printed: vec!["verifies the work", "verifier passed"],
                ..Expected::row(0, "done", "task_done")
            },
            Self::Unauthorized => Expected::row(1, "interrupted", "auth"),
            Self::RateLimited | Self::Cut | Self::ServerError => Expected::row(4, "interrupted", "transient"),
            Self::UsageLimit => Expected::row(4, "interrupted", "usage_limit"),
            Self::Billing => Expected::row(1, "interrupted", "billing"),
            Self::MaxTokens => Expected::row(4, "blocked", "token_limit"),
            Self::Empty => Expected::row(4, "blocked", "empty_answer"),
            Self::Overflow => Expected {
                rows: vec![("interrupted", "context_overflow"), ("done", "task_done")],
                ..Expected::row(0, "done", "task_done")
            },
            Self::Hang => Expected::row(4, "failed", "idle"),
            Self::Denied => Expected {
                printed: vec!["not allowed to use"],
                ..Expected::row(4, "blocked", "permission_denied")
            },
        }
    }
}

/// The file that the denied command would create.
pub(super) fn denied_file(project: &Path) -> String {
    project.with_file_name("denied.txt").display().to_string()
}
