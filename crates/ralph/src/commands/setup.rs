//! `ralph setup …`: connects a coding agent with the notes of a project, and only after having shown what will change.

mod change;
pub(crate) mod claude;
mod diff;
mod jsonc;

use std::process::ExitCode;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    Claude(claude::ClaudeArgs),
}

/// Sets one agent up.
pub(crate) fn run(context: &Context<'_>, command: &SetupCommand) -> Result<ExitCode, CommandError> {
    match command {
        SetupCommand::Claude(args) => claude::cmd_claude(context, args)?,
    }
    Ok(ExitCode::SUCCESS)
}
