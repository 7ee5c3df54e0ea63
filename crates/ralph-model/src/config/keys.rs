//! The table of all configuration keys.
//!
//! Parsing, warnings, the template of `init`, the reference page and the environment variables are all derived from it.
//! A row names its field, so a listed key is always read.

use std::path::PathBuf;
use std::time::Duration;

use super::Confirm::{Any, Limit, No, Path, Runs, Unless, UserOnly};
use super::Initial::{self, Unset, Value as Is};
use super::setting::Setting;
use super::{
    AgentKind, Bytes, Color, CommandLine, Commit, Environment, FromAgents, Inject, Isolate, Key, Kind, LiveView,
    Permissions, Promote, Section, StrategyName, WhenUnverified,
};
use crate::{NoteKind, Tags, Tokens};

pub fn keys() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.keys)
}

/// A row: field, type, default, confirmation, description.
macro_rules! key {
    ($section:ident.$first:ident $(.$rest:ident)*: $type:ty, $initial:expr, $confirm:expr, $about:literal) => {
        Key {
            section: stringify!($section),
            name: concat!(stringify!($first) $(, ".", stringify!($rest))*),
            kind: <$type as Setting>::KIND,
            initial: $initial,
            confirm: $confirm,
            about: $about,
            set: |config, value| {
                config.$section.$first$(.$rest)* = <$type as Setting>::read(value)?;
                Some(())
            },
        }
    };
}

pub const SECTIONS: &[Section] = &[
    Section {
        name: "memories",
        about: "Notes about the whole project.",
        keys: MEMORIES,
    },
    Section {
        name: "guardrails",
        about: "Rules for the current work.",
        keys: GUARDRAILS,
    },
    Section {
        name: "scratchpad",
        about: "The working notes of the current run.",
        keys: SCRATCHPAD,
    },
    Section {
        name: "context",
        about: "Token budgets for the memory in a prompt; 0 is unlimited.",
        keys: CONTEXT,
    },
    Section {
        name: "execution",
        about: "How tasks are run.",
        keys: EXECUTION,
    },
    Section {
        name: "tasks",
        about: "What agents may do with tasks.",
        keys: TASKS,
    },
    Section {
        name: "agent",
        about: "The coding agent that does the work.",
        keys: AGENT,
    },
    Section {
        name: "verify",
        about: "How finished work is checked.",
        keys: VERIFY,
    },
    Section {
        name: "limits",
        about: "Limits of an iteration or a run; 0 turns a limit off.",
        keys: LIMITS,
    },
    Section {
        name: "strategy",
        about: "How models are chosen, and when a loop is stuck.",
        keys: STRATEGY,
    },
    Section {
        name: "learning",
        about: "How learnings become active and are merged.",
        keys: LEARNING,
    },
    Section {
        name: "git",
        about: "How ralph uses git.",
        keys: GIT,
    },
    Section {
        name: "worktree",
        about: "What a task's checkout gets in addition to tracked files.",
        keys: WORKTREE,
    },
    Section {
        name: "notify",
        about: "Notifications when a run ends, needs review or waits for a usage limit.",
        keys: NOTIFY,
    },
    Section {
        name: "runs",
        about: "How long prompts and transcripts of runs are kept; 0 keeps them forever.",
        keys: RUNS,
    },
    Section {
        name: "paths",
        about: "Where files may be. Only your user configuration can set these keys.",
        keys: PATHS,
    },
    Section {
        name: "ui",
        about: "Terminal output.",
        keys: UI,
    },
];

const MEMORIES: &[Key] = &[
    key!(memories.enabled: bool, Is("true"), No,
        "Inject memories and their skill; the commands always work."),
    key!(memories.inject: Inject, Is("\"auto\""), No,
        "What is injected: memories and skill (auto), only the skill (manual), or neither (none)."),
    key!(memories.budget: Tokens, Is("2000"), No,
        "Maximum tokens of memories in a prompt; 0 is unlimited."),
    key!(memories.skill_injection: bool, Is("true"), No,
        "Explain in prompts how to read and write memories."),
    key!(memories.path: Option<PathBuf>, Unset("\"docs/memories.md\""), Path,
        "Path of the file, relative to the project root; the default is the first usual place that exists."),
    key!(memories.filter.types: Vec<NoteKind>, Is("[]"), No,
        "Inject only memories of these types; empty means all."),
    key!(memories.filter.tags: Tags, Is("[]"), No,
        "Inject only memories with one of these tags; empty means all."),
    key!(memories.filter.recent: Option<u32>, Is("0"), No,
        "Inject only memories of the last N days; 0 means all."),
];

const GUARDRAILS: &[Key] = &[
    key!(guardrails.enabled: bool, Is("true"), No,
        "Inject guardrails; the commands always work."),
    key!(guardrails.budget: Tokens, Is("2000"), No,
        "Maximum tokens of guardrails in a prompt; 0 is unlimited."),
    key!(guardrails.path: Option<PathBuf>, Unset("\"docs/guardrails.md\""), Path,
        "Path of the file, relative to the project root; the default is the first usual place that exists."),
];

const SCRATCHPAD: &[Key] = &[
    key!(scratchpad.budget: Tokens, Is("4000"), No,
        "Maximum tokens of the scratchpad in a prompt, kept from its end; 0 is unlimited."),
    key!(scratchpad.path: Option<PathBuf>, Unset("\"docs/scratchpad.md\""), Path,
        "Path of the file, relative to the project root; the default is the first usual place that exists."),
];

const CONTEXT: &[Key] = &[
    key!(context.budget: Tokens, Is("8000"), No,
        "Total budget, including memories, guardrails and scratchpad."),
    key!(context.attempts: Tokens, Is("750"), No,
        "Previous attempts at the task."),
    key!(context.learnings: Tokens, Is("375"), No,
        "Learnings from previous iterations."),
    key!(context.status: Tokens, Is("125"), No,
        "Loop status."),
    key!(context.journal: Tokens, Is("3000"), No,
        "Journal of this run, and relevant entries of other runs."),
    key!(context.knowledge: Tokens, Is("2000"), No,
        "Knowledge entries relevant to the task."),
    key!(context.knowledge_base: Tokens, Is("1000"), No,
        "Extracted and imported learnings relevant to the task."),
];

const EXECUTION: &[Key] = &[
    key!(execution.verify: bool, Is("true"), Unless(&["true"]),
        "Let a read-only verifier check finished work after the gates pass."),
    key!(execution.max_retries: u32, Is("3"), No,
        "Retries of a task before it fails and needs attention."),
    Key {
        section: "execution",
        name: "learn",
        kind: Kind::Anything,
        initial: Initial::Ignored,
        confirm: No,
        about: "Accepted for compatibility with earlier tools; has no effect.",
        set: |_, _| Some(()),
    },
];

const TASKS: &[Key] = &[
    key!(tasks.from_agents: FromAgents, Is("\"propose\""), Unless(&["propose"]),
        "Whether tasks added by agents wait for `ralph review` (propose) or are accepted at once."),
];

const AGENT: &[Key] = &[
    key!(agent.command: Option<CommandLine>, Unset("\"claude\""), Runs,
        "Command that starts the agent, as one line or a list of words."),
    key!(agent.kind: Option<AgentKind>, Unset("\"claude\""), Any,
        "Driver for the agent, if the command does not reveal it."),
    key!(agent.models: Vec<String>, Unset(r#"["haiku", "sonnet", "opus"]"#), No,
        "Its models from weakest to strongest; without them the agent chooses."),
    key!(agent.permissions: Permissions, Is("\"edit\""), Unless(&["edit"]),
        "What it may do without asking: edit project files and run the gates (edit), or everything (full)."),
    key!(agent.allow: Vec<String>, Unset(r#"["npm run build"]"#), Runs,
        "More commands that it may run without asking, exactly as written."),
    key!(agent.env: Environment, Is("\"inherit\""), Unless(&["clean"]),
        "Environment of the agent: yours (inherit) or an allow-list (clean)."),
];

const VERIFY: &[Key] = &[
    key!(verify.commands: Vec<String>, Unset(r#"["cargo test", "cargo clippy"]"#), Runs,
        "The gates: commands that must all pass before a task is done."),
    key!(verify.timeout: Option<Duration>, Is("\"10m\""), No,
        "Maximum time of one gate; 0 is unlimited."),
    key!(verify.verifier: Option<CommandLine>, Unset("\"codex\""), Runs,
        "Agent for the verifier; the default is the agent that did the work."),
    key!(verify.unverified: WhenUnverified, Is("\"review\""), Unless(&["retry", "review"]),
        "What to do with done tasks without evidence or changes: review, accept or retry."),
];

const LIMITS: &[Key] = &[
    key!(limits.iterations: Option<u32>, Unset("50"), Limit,
        "Iterations of a run."),
    key!(limits.wall_clock: Option<Duration>, Unset("\"8h\""), Limit,
        "Time of a run, including waits for a usage limit."),
    key!(limits.cost_usd: Option<f64>, Unset("20.0"), Limit,
        "Cost of a run in US dollars."),
    key!(limits.tokens: Option<u64>, Unset("5_000_000"), Limit,
        "Tokens of a run, as counted by the agent."),
    key!(limits.task_cost_usd: Option<f64>, Unset("5.0"), Limit,
        "Cost of all attempts at a task in US dollars; above it the task fails."),
    key!(limits.task_tokens: Option<u64>, Unset("1_000_000"), Limit,
        "Tokens of all attempts at a task; above it the task fails."),
    key!(limits.iteration_time: Option<Duration>, Is("\"2h\""), Limit,
        "Time of one iteration."),
    key!(limits.idle_time: Option<Duration>, Is("\"15m\""), Limit,
        "Time without output from the agent."),
    key!(limits.consecutive_failures: Option<u32>, Unset("10"), Limit,
        "Consecutive failed attempts after which a task fails."),
    key!(limits.no_progress: Option<u32>, Is("5"), Limit,
        "Consecutive attempts without changes and with the same failure after which a task fails."),
    key!(limits.output_bytes: Option<Bytes>, Is("\"256 MiB\""), Limit,
        "Output of one iteration."),
];

const STRATEGY: &[Key] = &[
    key!(strategy.name: Option<StrategyName>, Unset("\"escalate\""), No,
        "How the model of an iteration is chosen; the default is \"cost-optimized\"."),
    key!(strategy.stuck_after: Option<u32>, Is("3"), No,
        "Consecutive failures after which the prompt warns of a stuck loop; 0 is never."),
    key!(strategy.escalate_after: Option<u32>, Is("2"), No,
        "Consecutive failures after which cost-optimized uses the strongest model; 0 is never."),
];

const LEARNING: &[Key] = &[
    key!(learning.promote: Promote, Is("\"evidence\""), Unless(&["review", "evidence"]),
        "What activates a learning: evidence, a person in `ralph review`, or nothing more (auto)."),
    key!(learning.merge_above: Option<u32>, Is("200"), No,
        "Number of active learnings above which similar ones are merged; 0 is never."),
];

const GIT: &[Key] = &[
    key!(git.isolate: Isolate, Is("\"auto\""), Unless(&["auto"]),
        "Where agents work: in a git checkout per task (auto), or in the project itself (off)."),
    key!(git.commit: Commit, Is("\"none\""), No,
        "Whether to commit the files of a done task; only for work in the project itself."),
];

const WORKTREE: &[Key] = &[
    key!(worktree.copy: Vec<PathBuf>, Unset(r#"[".env"]"#), No,
        "Untracked files and folders to copy into each checkout."),
    key!(worktree.link: Vec<PathBuf>, Unset(r#"["target/"]"#), No,
        "Untracked files and folders to share between checkouts; with a trailing slash, created if missing."),
    key!(worktree.setup: Vec<String>, Unset(r#"["npm ci"]"#), Runs,
        "Commands to run in a new checkout."),
];

const NOTIFY: &[Key] = &[
    key!(notify.command: Option<String>, Unset(r#"'notify-send ralph "$(jq -r .sentence)"'"#), Runs,
        "Shell command that gets the event as JSON on standard input; it may run for 10 seconds."),
    key!(notify.bell: bool, Is("false"), No,
        "Ring the terminal bell."),
];

const RUNS: &[Key] = &[
    key!(runs.keep_days: Option<u32>, Is("30"), No,
        "Days to keep the folder of a run."),
    key!(runs.max_bytes: Option<Bytes>, Is("\"2 GiB\""), No,
        "Maximum size of all run folders; the oldest are deleted first."),
];

const PATHS: &[Key] = &[
    key!(paths.allow_outside: Vec<PathBuf>, Unset(r#"["~/notes"]"#), UserOnly,
        "Folders outside a project that its note files may be in or link to."),
];

const UI: &[Key] = &[
    key!(ui.color: Color, Is("\"auto\""), No,
        "When to use color; auto means on a terminal."),
    key!(ui.live: LiveView, Is("\"auto\""), No,
        "Show live progress at the bottom of the terminal; auto means if it supports that."),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use toml_edit::Value;

    use super::*;
    use crate::config::Config;

    #[test]
    fn defaults_and_examples_are_valid() {
        for key in keys() {
            let text = match key.initial {
                Is(text) | Unset(text) => text,
                Initial::Ignored => continue,
            };
            let value: Value = text.parse().unwrap();
            let mut config = Config::default();
            assert_eq!(key.set(&mut config, &value), Some(()), "{} = {text}", key.full_name());
            let same = config == Config::default();
            assert_eq!(same, key.default_text().is_some(), "{} = {text}", key.full_name());
        }
    }

    #[test]
    fn keys_have_unique_names() {
        let mut names = BTreeSet::new();
        for section in SECTIONS {
            assert!(!section.keys.is_empty(), "{}", section.name);
            for key in section.keys {
                assert_eq!(key.section, section.name);
                assert!(names.insert(key.environment_name()), "{}", key.full_name());
            }
        }
        assert!(names.contains("RALPH_MEMORIES_BUDGET"));
        assert!(names.contains("RALPH_MEMORIES_FILTER_TYPES"));
        assert!(names.contains("RALPH_CONTEXT_KNOWLEDGE_BASE"));
    }

    #[test]
    fn protective_keys_and_commands_need_confirmation() {
        let named: Vec<String> = keys()
            .filter(|key| matches!(key.confirm, Any | Runs | Unless(_)))
            .map(Key::full_name)
            .collect();
        assert_eq!(
            named,
            [
                "execution.verify",
                "tasks.from_agents",
                "agent.command",
                "agent.kind",
                "agent.permissions",
                "agent.allow",
                "agent.env",
                "verify.commands",
                "verify.verifier",
                "verify.unverified",
                "learning.promote",
                "git.isolate",
                "worktree.setup",
                "notify.command",
            ]
        );
        for key in keys() {
            assert!(key.kind != Kind::Command || key.confirm == Runs, "{}", key.full_name());
        }
    }

    #[test]
    fn agent_variables_are_not_settings() {
        for name in ["RALPH_MODEL", "RALPH_ITERATION", "RALPH_TOTAL", "RALPH_RUN_ID"] {
            assert!(keys().all(|key| key.environment_name() != name), "{name}");
        }
    }

    #[test]
    fn descriptions_are_short_sentences() {
        let sections = SECTIONS.iter().map(|section| section.about);
        for about in sections.chain(keys().map(|key| key.about)) {
            assert!(
                about.ends_with('.') && about.len() <= 110 && !about.contains('\n'),
                "{about}"
            );
            assert!(about.starts_with(char::is_uppercase), "{about}");
        }
    }
}
