//! Generates the reference pages under `docs/` from the code.

use clap::{Command, CommandFactory};
use ralph_model::config;

use crate::cli::Cli;
use crate::env;

/// Returns every page: its file name and its text.
#[must_use]
pub fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("cli.md", commands()),
        ("config.md", config::reference()),
        ("environment.md", environment()),
    ]
}

fn commands() -> String {
    let mut text = String::from("# Commands\n\nGenerated from the program's own help by `cargo xtask gen`.\n");
    let mut root = Cli::command().term_width(100);
    root.build();
    describe(&mut text, &root, "ralph");
    text
}

fn describe(text: &mut String, command: &Command, name: &str) {
    let help = command.clone().term_width(100).render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    text.push_str(&format!(
        "\n## `{name}`\n\n```text\n{}\n```\n",
        help.join("\n").trim_end()
    ));
    if name == "ralph tools memory" {
        // The same commands as `ralph memory`, which are listed above.
        return;
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        describe(text, sub, &format!("{name} {}", sub.get_name()));
    }
}

fn environment() -> String {
    let mut text = String::from(
        "# Environment\n\nGenerated from the code by `cargo xtask gen`.\n\n| variable | what it does |\n|---|---|\n",
    );
    for variable in env::VARIABLES {
        text.push_str(&format!("| `{}` | {} |\n", variable.name, variable.about));
    }
    text.push_str(
        "\nEvery configuration key has a variable that overrides the file:\n\n| variable | key |\n|---|---|\n",
    );
    for (name, key) in config::environment_names() {
        text.push_str(&format!("| `{name}` | `{}` |\n", key.full_name()));
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ralph_model::config::CommandLine;

    use super::*;

    /// Visits every visible command with its full name.
    fn each_command(check: &mut dyn FnMut(&str, &Command)) {
        fn walk(command: &Command, name: &str, check: &mut dyn FnMut(&str, &Command)) {
            check(name, command);
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
                walk(sub, &format!("{name} {}", sub.get_name()), check);
            }
        }
        walk(&Cli::command(), "ralph", check);
    }

    /// Terminals have different widths, so a line break within a paragraph is wrong for most of them.
    #[test]
    fn help_paragraphs_have_no_line_breaks() {
        each_command(&mut |name, command| {
            let texts = [
                command.get_after_help(),
                command.get_after_long_help(),
                command.get_long_about(),
            ];
            for text in texts.into_iter().flatten().map(ToString::to_string) {
                for paragraph in text.split("\n\n") {
                    let is_list = paragraph.lines().skip(1).all(|line| line.starts_with("  "));
                    assert!(is_list, "{name}: {paragraph}");
                }
            }
        });
    }

    #[test]
    fn every_leaf_command_has_examples() {
        let mut without = Vec::new();
        each_command(&mut |name, command| {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let has_examples = ["Example:\n  ralph ", "Examples:\n  "]
                .iter()
                .any(|words| help.contains(words));
            if !command.has_subcommands() && !has_examples {
                without.push(name.to_owned());
            }
        });
        assert_eq!(without, Vec::<String>::new());
    }

    /// The ralph invocations in an example, without other programs, redirections and comments.
    fn calls(example: &str) -> Vec<Vec<String>> {
        let example = example.split(" # ").next().unwrap_or_default();
        let parts = example.split(" | ").flat_map(|part| part.split(" && "));
        let parts = parts.filter(|part| part.split(' ').any(|word| word == "ralph"));
        let words = parts.filter_map(|part| CommandLine::Line(part.trim().to_owned()).words());
        let from_ralph = words.map(|words| words.into_iter().skip_while(|word| word != "ralph").collect::<Vec<_>>());
        let is_plain = |word: &String| !matches!(word.as_str(), "<" | ">" | ">>");
        from_ralph
            .map(|words| words.into_iter().take_while(is_plain).collect())
            .collect()
    }

    #[test]
    fn examples_parse() {
        let mut refused = Vec::new();
        let mut seen = 0;
        each_command(&mut |name, command| {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for example in help.lines().filter(|line| line.starts_with("  ")) {
                for words in calls(example) {
                    seen += 1;
                    let words = crate::shorthand::expanded(words.into_iter().map(Into::into).collect());
                    if let Err(error) = Cli::try_parse_from(words) {
                        refused.push(format!("{name}: {}: {}", example.trim(), error.kind()));
                    }
                }
            }
        });
        assert_eq!(refused, Vec::<String>::new());
        assert!(seen > 100, "{seen}");
    }

    #[test]
    fn examples_fit_eighty_columns() {
        let mut wrong = Vec::new();
        each_command(&mut |name, command| {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = help.lines().filter(|line| line.starts_with("  "));
            wrong.extend(
                examples
                    .filter(|line| line.chars().count() > 80)
                    .map(|line| format!("{name}: {line}")),
            );
        });
        assert_eq!(wrong, Vec::<String>::new());
    }
}
