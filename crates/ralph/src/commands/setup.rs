//! `ralph setup …`: connects a coding agent to a project's notes, after showing what will change.

mod change;
pub(crate) mod claude;
mod diff;

use std::process::ExitCode;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    Claude(claude::ClaudeArgs),
}

pub(crate) fn run(context: &Context<'_>, command: &SetupCommand) -> Result<ExitCode, CommandError> {
    match command {
        SetupCommand::Claude(args) => claude::cmd_claude(context, args)?,
    }
    Ok(ExitCode::SUCCESS)
}
