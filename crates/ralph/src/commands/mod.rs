//! One file a command: its arguments, whose comments are its help, and what it does.

pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod init;
pub(crate) mod memory;
mod overview;

use std::process::ExitCode;

use crate::cli::{Command, ToolsCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// Runs the command that was asked for; without one, says how things stand.
pub(crate) fn run(context: &Context<'_>, command: Option<Command>) -> Result<ExitCode, CommandError> {
    match command {
        None => overview::cmd_overview(context)?,
        Some(Command::Init(args)) => init::cmd_init(context, &args)?,
        Some(Command::Demo(args)) => demo::cmd_demo(context, &args)?,
        Some(Command::Completions(args)) => completions::cmd_completions(context, &args)?,
        Some(Command::Memory(command)) => return memory::run(context, command, Spelling::Own),
        Some(Command::Tools(ToolsCommand::Memory(command))) => {
            return memory::run(context, command, Spelling::Orchestrator);
        }
    }
    Ok(ExitCode::SUCCESS)
}
