//! Every key that the configuration knows, once.
//!
//! This table is the only source for what is read, what is unknown, the file that `init` writes, the reference page
//! and the names of the environment variables. A row names its field, so a key cannot be listed and not read.

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

/// Every key of every section.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.keys)
}

/// A row: field, type, what it is when nobody sets it, what it needs to count in a project's file, what it is for.
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

/// Every section.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "memories",
        about: "Notes that hold for the whole project.",
        keys: MEMORIES,
    },
    Section {
        name: "guardrails",
        about: "Notes that hold for the current work.",
        keys: GUARDRAILS,
    },
    Section {
        name: "scratchpad",
        about: "The working notes of whoever works now.",
        keys: SCRATCHPAD,
    },
    Section {
        name: "context",
        about: "How many tokens each part of a prompt's memory may take; 0 is as many as there are.",
        keys: CONTEXT,
    },
    Section {
        name: "execution",
        about: "How tasks are carried out.",
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
        about: "How work that is said to be done is checked.",
        keys: VERIFY,
    },
    Section {
        name: "limits",
        about: "What ends an iteration or a run; 0 switches a limit off.",
        keys: LIMITS,
    },
    Section {
        name: "strategy",
        about: "Which model an iteration gets, and when a loop counts as stuck.",
        keys: STRATEGY,
    },
    Section {
        name: "learning",
        about: "What becomes of the lessons that iterations bring.",
        keys: LEARNING,
    },
    Section {
        name: "git",
        about: "What ralph does in the repository.",
        keys: GIT,
    },
    Section {
        name: "worktree",
        about: "What a task's checkout gets beside the files that git tracks.",
        keys: WORKTREE,
    },
    Section {
        name: "notify",
        about: "Who is told that a run ended, needs review, or waits for a usage limit.",
        keys: NOTIFY,
    },
    Section {
        name: "runs",
        about: "How long prompts and transcripts of past runs are kept; 0 is for ever.",
        keys: RUNS,
    },
    Section {
        name: "paths",
        about: "Where files may be. Only your own configuration sets these keys, never a project's.",
        keys: PATHS,
    },
    Section {
        name: "ui",
        about: "What the terminal shows.",
        keys: UI,
    },
];

const MEMORIES: &[Key] = &[
    key!(memories.enabled: bool, Is("true"), No,
        "Whether prompts get memories and their skill; the commands work either way."),
    key!(memories.inject: Inject, Is("\"auto\""), No,
        "What prompts get: with auto memories and skill, with manual only the skill, with none neither."),
    key!(memories.budget: Tokens, Is("2000"), No,
        "The most tokens of memories in a prompt; 0 lets all of them in."),
    key!(memories.skill_injection: bool, Is("true"), No,
        "Whether prompts explain how to read and write memories."),
    key!(memories.path: Option<PathBuf>, Unset("\"docs/memories.md\""), Path,
        "The file, from the project root; when it is not set, the usual places are tried."),
    key!(memories.filter.types: Vec<NoteKind>, Is("[]"), No,
        "Prompts get only memories of these kinds; an empty list means every kind."),
    key!(memories.filter.tags: Tags, Is("[]"), No,
        "Prompts get only memories with one of these tags; an empty list means any."),
    key!(memories.filter.recent: Option<u32>, Is("0"), No,
        "Prompts get only memories of the last so many days; 0 means of any age."),
];

const GUARDRAILS: &[Key] = &[
    key!(guardrails.enabled: bool, Is("true"), No,
        "Whether prompts get guardrails; the commands work either way."),
    key!(guardrails.budget: Tokens, Is("2000"), No,
        "The most tokens of guardrails in a prompt; 0 lets all of them in."),
    key!(guardrails.path: Option<PathBuf>, Unset("\"docs/guardrails.md\""), Path,
        "The file, from the project root; when it is not set, the usual places are tried."),
];

const SCRATCHPAD: &[Key] = &[
    key!(scratchpad.budget: Tokens, Is("4000"), No,
        "The most tokens of the scratchpad in a prompt, its end first; 0 is all of it."),
    key!(scratchpad.path: Option<PathBuf>, Unset("\"docs/scratchpad.md\""), Path,
        "The file, from the project root; when it is not set, the usual places are tried."),
];

const CONTEXT: &[Key] = &[
    key!(context.budget: Tokens, Is("8000"), No,
        "All parts together, memories, guardrails and scratchpad included."),
    key!(context.attempts: Tokens, Is("750"), No,
        "How earlier attempts at the task went."),
    key!(context.learnings: Tokens, Is("375"), No,
        "What earlier iterations learned."),
    key!(context.status: Tokens, Is("125"), No,
        "Where the loop stands."),
    key!(context.journal: Tokens, Is("3000"), No,
        "What this run did so far, and rows of other runs that fit the task."),
    key!(context.knowledge: Tokens, Is("2000"), No,
        "The long notes that fit the task."),
    key!(context.knowledge_base: Tokens, Is("1000"), No,
        "What earlier loops found that fits the task."),
];

const EXECUTION: &[Key] = &[
    key!(execution.verify: bool, Is("true"), Unless(&["true"]),
        "Whether a read-only session looks at finished work once the gates have passed."),
    key!(execution.max_retries: u32, Is("3"), No,
        "How often a task is tried again before it is left to a person."),
    Key {
        section: "execution",
        name: "learn",
        kind: Kind::Anything,
        initial: Initial::Ignored,
        confirm: No,
        about: "Files of earlier tools have it; it is accepted and does nothing.",
        set: |_, _| Some(()),
    },
];

const TASKS: &[Key] = &[
    key!(tasks.from_agents: FromAgents, Is("\"propose\""), Unless(&["propose"]),
        "Whether a task that an agent adds is proposed for `ralph review`, or accepted at once."),
];

const AGENT: &[Key] = &[
    key!(agent.command: Option<CommandLine>, Unset("\"claude\""), Runs,
        "How the agent is started, as one line or as a list of words."),
    key!(agent.kind: Option<AgentKind>, Unset("\"claude\""), Any,
        "Which driver speaks to it, where the command does not tell."),
    key!(agent.models: Vec<String>, Unset(r#"["haiku", "sonnet", "opus"]"#), No,
        "Its models from the weakest to the strongest; without them the agent takes its own."),
    key!(agent.permissions: Permissions, Is("\"edit\""), Unless(&["edit"]),
        "What it may do without asking: edit the project's files and run the gates, or everything."),
    key!(agent.allow: Vec<String>, Unset(r#"["npm run build"]"#), Runs,
        "Commands that it may also run without asking, exactly as they are written here."),
    key!(agent.env: Environment, Is("\"inherit\""), Unless(&["clean"]),
        "Whether it gets your environment or only what an agent needs."),
];

const VERIFY: &[Key] = &[
    key!(verify.commands: Vec<String>, Unset(r#"["cargo test", "cargo clippy"]"#), Runs,
        "The gates: commands that must all succeed before a task is done."),
    key!(verify.timeout: Option<Duration>, Is("\"10m\""), No,
        "How long one gate may run; 0 lets it run on."),
    key!(verify.verifier: Option<CommandLine>, Unset("\"codex\""), Runs,
        "Another agent for the look at finished work; when it is not set, the one that did it."),
    key!(verify.unverified: WhenUnverified, Is("\"review\""), Unless(&["retry", "review"]),
        "What becomes of done tasks that nothing confirmed or that changed nothing: review, accept or retry them."),
];

const LIMITS: &[Key] = &[
    key!(limits.iterations: Option<u32>, Unset("50"), Limit,
        "How many iterations a run may have."),
    key!(limits.wall_clock: Option<Duration>, Unset("\"8h\""), Limit,
        "How long a run may last, waits for a usage limit included."),
    key!(limits.cost_usd: Option<f64>, Unset("20.0"), Limit,
        "How many US dollars a run may cost."),
    key!(limits.tokens: Option<u64>, Unset("5_000_000"), Limit,
        "How many tokens a run may use, as the agent counts them."),
    key!(limits.task_cost_usd: Option<f64>, Unset("5.0"), Limit,
        "How many US dollars all attempts at a task may cost before it is given up."),
    key!(limits.task_tokens: Option<u64>, Unset("1_000_000"), Limit,
        "How many tokens all attempts at a task may use before it is given up."),
    key!(limits.iteration_time: Option<Duration>, Is("\"2h\""), Limit,
        "How long one iteration may last."),
    key!(limits.idle_time: Option<Duration>, Is("\"15m\""), Limit,
        "How long the agent may be silent."),
    key!(limits.consecutive_failures: Option<u32>, Unset("10"), Limit,
        "How many attempts in a row may fail before a task is given up."),
    key!(limits.no_progress: Option<u32>, Is("5"), Limit,
        "How many attempts in a row may change nothing and fail in the same way before a task is given up."),
    key!(limits.output_bytes: Option<Bytes>, Is("\"256 MiB\""), Limit,
        "How much one iteration may print."),
];

const STRATEGY: &[Key] = &[
    key!(strategy.name: Option<StrategyName>, Unset("\"escalate\""), No,
        "How the model of an iteration is chosen; when it is not set, as with \"cost-optimized\"."),
    key!(strategy.stuck_after: Option<u32>, Is("3"), No,
        "From how many failures in a row the prompt warns of going in circles; 0 is never."),
    key!(strategy.escalate_after: Option<u32>, Is("2"), No,
        "From how many failures in a row cost-optimized takes the strongest model; 0 is never."),
];

const LEARNING: &[Key] = &[
    key!(learning.promote: Promote, Is("\"evidence\""), Unless(&["review", "evidence"]),
        "What makes a learning active: evidence for it, a person in `ralph review`, or nothing more (auto)."),
    key!(learning.merge_above: Option<u32>, Is("200"), No,
        "Above how many active learnings those alike are merged; 0 is never."),
];

const GIT: &[Key] = &[
    key!(git.isolate: Isolate, Is("\"auto\""), Unless(&["auto"]),
        "Where agents work: in git repositories in a checkout for each task (auto), or in the project itself (off)."),
    key!(git.commit: Commit, Is("\"none\""), No,
        "Whether the files of a finished task are committed; only for work in the project itself."),
];

const WORKTREE: &[Key] = &[
    key!(worktree.copy: Vec<PathBuf>, Unset(r#"[".env"]"#), No,
        "Untracked files and folders that each checkout gets a copy of."),
    key!(worktree.link: Vec<PathBuf>, Unset(r#"["target/"]"#), No,
        "Untracked files and folders that checkouts share; one that ends in a slash is created if missing."),
    key!(worktree.setup: Vec<String>, Unset(r#"["npm ci"]"#), Runs,
        "Commands that prepare a new checkout."),
];

const NOTIFY: &[Key] = &[
    key!(notify.command: Option<String>, Unset(r#"'notify-send ralph "$(jq -r .sentence)"'"#), Runs,
        "A shell command that gets the event as JSON on standard input, for 10 seconds at most."),
    key!(notify.bell: bool, Is("false"), No,
        "Whether the bell of the terminal rings."),
];

const RUNS: &[Key] = &[
    key!(runs.keep_days: Option<u32>, Is("30"), No,
        "For how many days the folder of a run is kept."),
    key!(runs.max_bytes: Option<Bytes>, Is("\"2 GiB\""), No,
        "How much room all of them may take; the oldest go first."),
];

const PATHS: &[Key] = &[
    key!(paths.allow_outside: Vec<PathBuf>, Unset(r#"["~/notes"]"#), UserOnly,
        "Folders outside a project that its note files may be in or link to."),
];

const UI: &[Key] = &[
    key!(ui.color: Color, Is("\"auto\""), No,
        "When output is coloured; auto means on a terminal."),
    key!(ui.live: LiveView, Is("\"auto\""), No,
        "Whether a run shows at the bottom of a terminal what goes on now; auto means where it can."),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use toml_edit::Value;

    use super::*;
    use crate::config::Config;

    #[test]
    fn every_default_and_example_is_allowed_and_every_default_is_the_default() {
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
    fn keys_stand_in_their_section_under_one_name() {
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
    fn keys_that_weaken_protection_or_run_something_need_confirmation() {
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
    fn no_variable_that_agents_get_is_taken_for_a_setting() {
        for name in ["RALPH_MODEL", "RALPH_ITERATION", "RALPH_TOTAL", "RALPH_RUN_ID"] {
            assert!(keys().all(|key| key.environment_name() != name), "{name}");
        }
    }

    #[test]
    fn sentences_are_sentences_on_one_short_line() {
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
