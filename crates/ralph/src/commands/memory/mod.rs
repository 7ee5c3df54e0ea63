//! `ralph memory …`: the shared note commands, and those that only memories have.

mod init;
mod prime;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ralph_model::NoteFileKind;

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
    /// Ids of the memories that the command would change or supersede, as given.
    pub(crate) fn targets(&self) -> Vec<&str> {
        match self {
            Self::Notes(command) => command.targets(),
            Self::Prime(_) | Self::Init(_) => Vec::new(),
        }
    }

    /// Describes a verb that only memories have, without building all of them.
    pub(crate) fn describe(verb: &str) -> Option<clap::Command> {
        (verb == "prime").then(|| prime::PrimeArgs::augment_args(clap::Command::new("prime")))
    }
}

pub(crate) fn run(context: &Context<'_>, command: MemoryCommand, spelling: Spelling) -> Result<ExitCode, CommandError> {
    let note_repository = &context.note_repository(NoteFileKind::Memories, spelling);
    match command {
        MemoryCommand::Notes(command) => return notes::run(context, note_repository, command),
        MemoryCommand::Prime(args) => prime::cmd_prime(context, note_repository, &args)?,
        MemoryCommand::Init(args) => init::cmd_init(context, note_repository, &args)?,
    }
    Ok(ExitCode::SUCCESS)
}
