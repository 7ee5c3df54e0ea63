//! The class of every command, which decides what happens to it inside an iteration.

/// What happens to a command inside an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Changes nothing; allowed.
    Read,
    /// Allowed, but refused with a flag that changes something.
    ReadUnlessChanging,
    /// Stores something with the agent as its author.
    Note,
    TaskAdd,
    /// Becomes a proposal, unless it only affects what agents wrote.
    Propose,
    Refused,
}

use Class::{Note, Propose, Read, ReadUnlessChanging, Refused, TaskAdd};

const CLASSES: &[(&str, Class)] = &[
    ("run", Refused),
    ("status", ReadUnlessChanging),
    // With --supersedes it changes an existing note.
    ("remember", Propose),
    ("recall", Read),
    ("review", Refused),
    ("why", Read),
    ("init", Refused),
    ("setup claude", Refused),
    ("doctor", ReadUnlessChanging),
    ("config", Refused),
    ("config set", Refused),
    ("demo", Refused),
    ("task add", TaskAdd),
    ("task import", Refused),
    ("task list", Read),
    ("task tree", Read),
    ("task show", Read),
    ("task update", Refused),
    ("task deps", ReadUnlessChanging),
    ("task done", Refused),
    ("task fail", Refused),
    ("task reset", Refused),
    ("task delete", Refused),
    ("task restore", Refused),
    ("task log", Read),
    ("feature create", Refused),
    ("feature list", Read),
    ("feature show", Read),
    ("feature delete", Refused),
    ("memory add", Propose),
    ("memory search", Read),
    ("memory list", Read),
    ("memory show", Read),
    ("memory edit", Propose),
    ("memory delete", Propose),
    ("memory restore", Propose),
    ("memory validate", Read),
    ("memory prime", Read),
    ("memory init", Refused),
    ("guardrails add", Propose),
    ("guardrails search", Read),
    ("guardrails list", Read),
    ("guardrails show", Read),
    ("guardrails edit", Propose),
    ("guardrails delete", Propose),
    ("guardrails restore", Propose),
    ("guardrails validate", Read),
    ("guardrails migrate", Refused),
    ("guardrails promote", Propose),
    ("scratchpad show", Read),
    ("scratchpad append", Note),
    ("scratchpad clear", Note),
    ("knowledge add", Note),
    ("knowledge search", Read),
    ("knowledge list", Read),
    ("knowledge show", Read),
    ("knowledge delete", Propose),
    ("knowledge restore", Refused),
    ("knowledge graph", Read),
    // Stored as a proposed learning.
    ("learnings add", Note),
    ("learnings list", Read),
    ("learnings show", Read),
    ("learnings query", Read),
    ("learnings extract", Refused),
    ("learnings promote", Propose),
    ("learnings reject", Propose),
    ("learnings prune", Refused),
    ("learnings restore", Propose),
    ("learnings stage", Refused),
    ("learnings validate", Refused),
    ("learnings update", Propose),
    ("learnings delete", Propose),
    ("learnings clear", Refused),
    ("learnings stats", Read),
    ("learnings conflicts", ReadUnlessChanging),
    ("learnings supersede", Propose),
    ("learnings verify", ReadUnlessChanging),
    ("learnings export", Read),
    ("learnings import", Refused),
    ("learnings merge", Refused),
    ("journal list", Read),
    ("journal show", Read),
    ("journal search", Read),
    ("journal export", Read),
    ("diff", Read),
    ("branches", Read),
    ("blame", Read),
    ("undo", Refused),
    ("rollback", Refused),
    ("stats", Read),
    ("prompt", Read),
    ("import refound", Refused),
    ("import ralph-orchestrator", Refused),
    ("hook session-start", Read),
    ("merge-driver", Read),
    ("completions", Read),
    ("man", Read),
];

/// The class of a command by its words; an unknown command is refused.
pub(crate) fn of(words: &str) -> Class {
    let found = CLASSES.iter().find(|(listed, _)| *listed == words);
    found.map_or(Refused, |(_, class)| *class)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// The commands that can be run: those without subcommands, and those that work without one.
    fn leaves(command: &clap::Command, words: &str) -> Vec<String> {
        let below: Vec<&clap::Command> = command.get_subcommands().collect();
        if below.is_empty() {
            return vec![words.to_owned()];
        }
        let works_alone = !words.is_empty() && !command.is_subcommand_required_set();
        let own = works_alone.then(|| words.to_owned());
        let below = below.into_iter().flat_map(|command| {
            let words = format!("{words} {}", command.get_name());
            leaves(command, words.trim())
        });
        own.into_iter().chain(below).collect()
    }

    #[test]
    fn every_command_has_one_class() {
        let listed: Vec<&str> = CLASSES.iter().map(|(words, _)| *words).collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(listed.len(), once.len(), "a command is listed twice");
        let all = leaves(&Cli::command(), "");
        // The commands as ralph-orchestrator names them have the classes of `ralph memory`.
        let all: BTreeSet<&str> = all
            .iter()
            .map(|words| words.strip_prefix("tools ").unwrap_or(words))
            .collect();
        let missing: Vec<&&str> = all.difference(&once).collect();
        assert_eq!(missing, Vec::<&&str>::new(), "without a class");
        let unknown: Vec<&&str> = once.difference(&all).collect();
        assert_eq!(unknown, Vec::<&&str>::new(), "no such command");
    }
}
