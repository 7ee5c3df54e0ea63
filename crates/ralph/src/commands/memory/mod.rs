//! `ralph memory …`: the verbs of every shelf, and those that only memories have.

mod init;
mod prime;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ralph_model::Shelf;

use super::notes::{self, Memories, NotesCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    #[command(flatten)]
    Notes(NotesCommand<Memories>),
    Prime(prime::PrimeArgs),
    Init(init::InitArgs),
}

impl MemoryCommand {
    /// The memories that the command would change or supersede, as they are named.
    pub(crate) fn targets(&self) -> Vec<&str> {
        match self {
            Self::Notes(command) => command.targets(),
            Self::Prime(_) | Self::Init(_) => Vec::new(),
        }
    }

    /// The description of a verb that only memories have, for whoever does not need all of them.
    pub(crate) fn describe(verb: &str) -> Option<clap::Command> {
        (verb == "prime").then(|| prime::PrimeArgs::augment_args(clap::Command::new("prime")))
    }
}

/// Runs one of the memory commands.
pub(crate) fn run(context: &Context<'_>, command: MemoryCommand, spelling: Spelling) -> Result<ExitCode, CommandError> {
    let notebook = &context.notebook(Shelf::Memories, spelling);
    match command {
        MemoryCommand::Notes(command) => return notes::run(context, notebook, command),
        MemoryCommand::Prime(args) => prime::cmd_prime(context, notebook, &args)?,
        MemoryCommand::Init(args) => init::cmd_init(context, notebook, &args)?,
    }
    Ok(ExitCode::SUCCESS)
}
