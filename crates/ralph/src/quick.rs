//! A fast path for the commands that agents and scripts run all the time.
//!
//! To parse anything, clap needs every command built, which takes longer than most commands run. This module builds
//! only the requested one. Anything unusual (help, a typo, a leading flag) is left to the full parser, which has the
//! right messages.

use std::ffi::OsString;

use clap::{Args, Command, FromArgMatches};

use crate::cli::{Cli, Global};
use crate::commands::{hook, knowledge, memory, notes, recall, remember};

/// Parses arguments, which start with the program's name; `None` for anything unusual.
pub(crate) fn parse(arguments: &[OsString]) -> Option<Cli> {
    let mut words = arguments.iter().skip(1).map(|word| word.to_str());
    let (first, second) = (words.next()??, words.next().flatten());
    let command = match (first, second) {
        ("recall", _) => recall::RecallArgs::augment_args(Command::new("recall")),
        ("remember", _) => remember::RememberArgs::augment_args(Command::new("remember")),
        ("memory", Some(verb)) => Command::new("memory")
            .subcommand(memory::MemoryCommand::describe(verb).or_else(|| notes::describe::<notes::Memories>(verb))?),
        ("guardrails", Some(verb)) => {
            Command::new("guardrails").subcommand(notes::describe::<notes::Guardrails>(verb)?)
        }
        ("knowledge", Some(verb)) => Command::new("knowledge").subcommand(knowledge::KnowledgeCommand::describe(verb)?),
        ("hook", Some(event)) => Command::new("hook").subcommand(hook::HookCommand::describe(event)?),
        _ => return None,
    };
    let parser = Global::augment_args(Command::new("ralph")).subcommand(command);
    let matches = parser.try_get_matches_from(arguments).ok()?;
    Cli::from_arg_matches(&matches).ok()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[track_caller]
    fn check_same(line: &str) {
        let arguments = arguments(line);
        let quick = parse(&arguments).map(|cli| format!("{cli:?}"));
        let whole = Cli::try_parse_from(&arguments).map(|cli| format!("{cli:?}"));
        assert_eq!(quick, Some(whole.unwrap()), "{line}");
    }

    #[test]
    fn quick_and_full_parser_agree() {
        for line in [
            "ralph recall docker --explain --type fix --json",
            "ralph recall -- -x",
            "ralph recall connection refused --json",
            "ralph memory search connection refused",
            "ralph remember text --tags a,b --here --root /x",
            "ralph memory show mem-1 mem-2 --history",
            "ralph memory list --last 20 --color never",
            "ralph memory search a --all --recent 3 --format quiet",
            "ralph memory add - -t fix --supersedes x --reason y",
            "ralph memory edit x --content - --tags a",
            "ralph memory delete a b",
            "ralph memory prime --budget 2000 --for text",
            "ralph guardrails add x --type decision --allow-secret",
            "ralph guardrails list --type pattern",
            "ralph guardrails show fix-1",
            "ralph knowledge add title text --tags a,b --feature x",
            "ralph knowledge search a b --all",
            "ralph knowledge list --tag a --feature b --json",
            "ralph knowledge show a --format markdown",
            "ralph hook session-start",
        ] {
            check_same(line);
        }
    }

    #[test]
    fn unusual_arguments_are_left_to_the_full_parser() {
        for line in [
            "ralph",
            "ralph --help",
            "ralph --version",
            "ralph memory",
            "ralph memory --help",
            "ralph memory show --help",
            "ralph memory add --help",
            "ralph recall --help",
            "ralph memory show",
            "ralph memory shwo x",
            "ralph --root /x memory list",
            "ralph guardrails add x --type context",
            "ralph memory list --last x",
            "ralph memory list --version",
            "ralph tools memory list",
        ] {
            assert!(parse(&arguments(line)).is_none(), "{line}");
        }
    }
}
