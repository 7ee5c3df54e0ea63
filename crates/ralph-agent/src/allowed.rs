//! Commands that an agent may run without asking: ralph's memory commands with any arguments, and the configured gates,
//! checks, and `[agent] allow` commands verbatim.

use crate::command_words::sets_variable;

pub const MEMORY_COMMANDS: [&str; 6] = ["remember", "recall", "memory", "guardrails", "scratchpad", "knowledge"];

/// Whether an agent may run a command: one of `exact`, or a single call of a memory command.
#[must_use]
pub fn is_allowed_command(command: &str, exact: &[String]) -> bool {
    let command = command.trim();
    exact.iter().any(|allowed| allowed.trim() == command) || is_memory_call(command)
}

/// The setting that permits everything.
pub(crate) const FULL_PERMISSIONS: &str = "permissions = \"full\" under [agent] in .ralph.toml";

/// The narrowest line of `.ralph.toml` that permits a command.
#[must_use]
pub fn permitting_line(command: &str) -> String {
    let command = command.trim();
    // The value of a variable may be a secret, and the file is committed.
    if command.is_empty() || command.split_whitespace().next().is_some_and(sets_variable) {
        return FULL_PERMISSIONS.to_owned();
    }
    // A JSON string is a valid TOML string.
    let command = serde_json::Value::from(command);
    format!("allow = [{command}] under [agent] in .ralph.toml")
}

fn is_memory_call(command: &str) -> bool {
    let mut words = command.split_whitespace();
    words.next() == Some("ralph")
        && words.next().is_some_and(|word| MEMORY_COMMANDS.contains(&word))
        && is_one_command(command)
}

/// Whether the shell runs exactly one command and expands nothing except file names.
fn is_one_command(command: &str) -> bool {
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(characters.next()),
            (_, '$' | '`') => return false,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, ';' | '|' | '&' | '<' | '>' | '(' | ')' | '\n') => return false,
            (None, _) => {}
        }
    }
    quote.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_commands_allow_arguments_but_no_other_command() {
        for command in [
            "ralph recall parser",
            "ralph remember 'costs $5; or `more`'",
            "ralph memory add \"a; b | c (d) > e\"",
            "  ralph   knowledge list",
            "ralph remember 'two\nlines'",
            "ralph remember it\\'s",
            "ralph guardrails add \"costs \\$5\"",
            "ralph scratchpad",
        ] {
            assert!(is_allowed_command(command, &[]), "{command}");
        }
        for command in [
            "ralph",
            "ralph run x",
            "ralph task done t-1",
            "ralph --root /x recall y",
            "ralphs recall x",
            "RALPH_X=1 ralph recall x",
            "ralph recall x; id",
            "ralph recall x\nid",
            "ralph recall x && id",
            "ralph recall x | sh",
            "ralph recall x > ~/.profile",
            "ralph recall < x",
            "ralph remember $(id)",
            "ralph remember \"$(id)\"",
            "ralph remember \"`id`\"",
            "ralph remember \"$HOME\"",
            "ralph remember 'open",
            "ralph remember 'a'\\''; id",
            "ralph \"recall\" x",
            "ralph remember\\ x",
        ] {
            assert!(!is_allowed_command(command, &[]), "{command}");
        }
    }

    #[test]
    fn configured_commands_are_exact() {
        let exact = ["cargo test | tee log".to_owned()];
        for (command, expected) in [
            ("cargo test | tee log", true),
            (" cargo test | tee log\n", true),
            ("cargo test", false),
            ("cargo test | tee log; id", false),
            ("cargo test | tee logs", false),
        ] {
            assert_eq!(is_allowed_command(command, &exact), expected, "{command}");
        }
        assert_eq!(permitting_line("TOKEN=abc make"), FULL_PERMISSIONS);
        assert_eq!(
            permitting_line("echo \"a\\b\""),
            r#"allow = ["echo \"a\\b\""] under [agent] in .ralph.toml"#
        );
    }
}
