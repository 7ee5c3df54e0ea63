//! The cases: what the model does in each, what the run is allowed, and what is to become of it.

use std::path::Path;

use ralph_testkit::model::{Failure, Scenario};

/// The file that the task wants.
pub(super) const FILE: &str = "made.txt";
/// What it is to hold.
pub(super) const CONTENT: &str = "made\n";

/// The gate of the project.
pub(super) const GATE: &str = "grep -c made made.txt README.md";
/// What only the gate prints.
pub(super) const GATE_OUTPUT: &str = "made.txt:1";
/// The note that the agent stores.
pub(super) const NOTE: &str = "An emu lays green eggs.";

/// The file that a session which may change nothing tries to write.
pub(super) const MEDDLED: &str = "meddled.txt";

/// When what is used up can be used again, in seconds since 1970: far away.
const RESETS_AT: u64 = 1_900_000_000;

/// A case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Case {
    /// A file is written, and the task is done.
    Works,
    /// The key is wrong.
    Unauthorized,
    /// Too many requests.
    RateLimited,
    /// The first prompt is too long, the second is not.
    Overflow,
    /// The stream is cut.
    Cut,
    /// The model never goes on.
    Hang,
    /// A tool is used that nobody permitted.
    Denied,
    /// The agent stores a note with ralph and runs the gate.
    Permitted,
    /// `ralph setup claude` was run, and every note is in a request once.
    SetUp,
    /// The same with `--without-memory`: no note is in a request.
    WithoutMemory,
    /// What the account may use is used up for a long time.
    UsageLimit,
    /// The service is broken.
    ServerError,
    /// The account cannot pay.
    Billing,
    /// The answer is cut at its longest.
    MaxTokens,
    /// The model says nothing.
    Empty,
    /// A second session looks at the work, and tries to change something.
    Verified,
}

/// What is to become of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expected {
    /// The exit code.
    pub(super) code: i32,
    /// The rows of the journal: the outcome, and what made the turn end.
    pub(super) rows: Vec<(&'static str, &'static str)>,
    /// How many attempts count against the task.
    pub(super) attempts: u64,
    /// What is told of it on the terminal.
    pub(super) told: Vec<&'static str>,
}

impl Expected {
    /// One row and nothing else to be told.
    pub(super) fn row(code: i32, outcome: &'static str, stop: &'static str) -> Self {
        let counts = matches!(outcome, "failed" | "retried" | "blocked");
        Self {
            code,
            rows: vec![(outcome, stop)],
            attempts: u64::from(counts),
            told: Vec::new(),
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

    /// What the model does, session by session, in the checkout of a project's task.
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
                    path: checkout.join(MEDDLED),
                },
            ],
            Self::Unauthorized => vec![Scenario::Fails(Failure::Unauthorized)],
            Self::RateLimited => vec![Scenario::Fails(Failure::RateLimited)],
            Self::Overflow => vec![Scenario::Fails(Failure::ContextOverflow), writes],
            Self::Cut => vec![Scenario::CutsOff],
            Self::Hang => vec![Scenario::Hangs],
            // Outside the project, where an agent that may edit the project's files may not write.
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

    /// Whether it is about an agent of this name.
    pub(super) fn concerns(self, agent: &str) -> bool {
        !matches!(self, Self::SetUp | Self::WithoutMemory) || agent.starts_with("claude")
    }

    /// Further arguments of the run.
    pub(super) fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::WithoutMemory => &["--without-memory"],
            _ => &[],
        }
    }

    /// How many iterations the run may have.
    pub(super) fn iterations(self) -> &'static str {
        match self {
            Self::Overflow => "2",
            _ => "1",
        }
    }

    /// What becomes of a run with an agent that says what happens to it.
    pub(super) fn expected(self) -> Expected {
        match self {
            Self::Works | Self::Permitted | Self::SetUp | Self::WithoutMemory => Expected::row(0, "done", "task_done"),
            Self::Verified => Expected {
                told: vec!["looks at the work", "verifier passed"],
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
                told: vec!["not allowed to use"],
                ..Expected::row(4, "blocked", "permission_denied")
            },
        }
    }
}

/// The file that the denied command would make.
pub(super) fn denied_file(project: &Path) -> String {
    project.with_file_name("denied.txt").display().to_string()
}
