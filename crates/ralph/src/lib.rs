//! The `ralph` command: parses the arguments, finds the project, acts and prints.
//!
//! Each command is one file under `commands/`. Only `ui.rs` prints, only `env.rs` reads the environment, only
//! `paths.rs` knows where files are.

mod accept_task;
mod actor;
mod backup_hint;
mod changed_file;
mod checklist;
mod classes;
mod cli;
mod commands;
mod context;
mod denied;
mod env;
mod error;
mod git;
mod git_ignores;
mod inside;
mod merge_setup;
mod numbers;
mod paths;
mod pause_text;
mod probe;
mod programs;
mod project_env;
mod quick;
mod ralph_yml;
mod recorded_prompt;
pub mod reference;
mod settings;
mod shorthand;
mod state_folder;
mod stories;
mod table;
mod task_list;
mod text_editor;
mod text_file;
mod ui;
mod when;
mod wrap;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::ui::Ui;

/// Runs the command with these arguments, which start with the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = shorthand::expanded(arguments.into_iter().collect());
    let text_after_dashes = arguments.iter().any(|argument| argument == "--");
    let words: Vec<String> = arguments
        .iter()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let parsed = quick::parse(&arguments).map_or_else(|| Cli::try_parse_from(arguments), Ok);
    let mut cli = match parsed {
        Ok(cli) => cli,
        Err(usage) => return ui::print_usage(&usage),
    };
    cli.global.text_after_dashes = text_after_dashes;
    cli.global.arguments = words;
    let ui = Ui::new(cli.global.color);
    let result = inside::run(&ui, cli.global, cli.command);
    match result {
        Ok(code) => code,
        Err(error) => ui.error(&error),
    }
}
