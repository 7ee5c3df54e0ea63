//! The commands that an agent may run without asking: ralph's own for memory with any arguments, and the gates, checks and
//! commands of `[agent] allow`, exactly as they are configured.

use crate::command_words::sets_variable;

/// The subcommands of ralph that read and write memory.
pub const MEMORY_COMMANDS: [&str; 6] = ["remember", "recall", "memory", "guardrails", "scratchpad", "knowledge"];

/// Whether an agent may run a command: one of `exact`, or one call of a memory command and nothing else.
#[must_use]
pub fn is_allowed_command(command: &str, exact: &[String]) -> bool {
    let command = command.trim();
    exact.iter().any(|allowed| allowed.trim() == command) || is_memory_call(command)
}

/// The line that permits everything.
pub(crate) const FULL_PERMISSIONS: &str = "permissions = \"full\" below [agent] in .ralph.toml";

/// The narrowest line of `.ralph.toml` that permits a command.
#[must_use]
pub fn permitting_line(command: &str) -> String {
    let command = command.trim();
    // A value that is set for the command may be a secret, and the file is committed.
    if command.is_empty() || command.split_whitespace().next().is_some_and(sets_variable) {
        return FULL_PERMISSIONS.to_owned();
    }
    // A TOML string may be written as JSON.
    let command = serde_json::Value::from(command);
    format!("allow = [{command}] below [agent] in .ralph.toml")
}

fn is_memory_call(command: &str) -> bool {
    let mut words = command.split_whitespace();
    words.next() == Some("ralph")
        && words.next().is_some_and(|word| MEMORY_COMMANDS.contains(&word))
        && is_one_command(command)
}

/// Whether a shell runs one command for this and expands nothing but file names.
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
    fn memory_commands_have_any_arguments_and_nothing_beside_them() {
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
            r#"allow = ["echo \"a\\b\""] below [agent] in .ralph.toml"#
        );
    }
}
