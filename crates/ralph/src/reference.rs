//! The reference pages under `docs/`, written from the code so that they cannot disagree with it.

use clap::{Command, CommandFactory};
use ralph_model::config;

use crate::cli::Cli;
use crate::env;

/// Every page: its file name and its text.
#[must_use]
pub fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("cli.md", commands()),
        ("config.md", config::reference()),
        ("environment.md", environment()),
        ("events.md", crate::commands::run::stream::page()),
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
        // The same commands as `ralph memory`, which stand above.
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
        "\nEvery key of the configuration has a variable that goes before the file:\n\n| variable | key |\n|---|---|\n",
    );
    for (name, key) in config::environment_names() {
        text.push_str(&format!("| `{name}` | `{}` |\n", key.full_name()));
    }
    text
}
