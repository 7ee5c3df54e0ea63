//! `ralph guardrails …`: the shared note commands, and those that only guardrails have.

mod migrate;
mod promote;

use std::process::ExitCode;

use clap::Subcommand;
use ralph_model::NoteFileKind;

use super::notes::{self, Guardrails, NotesCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

#[derive(Debug, Subcommand)]
pub(crate) enum GuardrailsCommand {
    #[command(flatten)]
    Notes(NotesCommand<Guardrails>),
    Migrate(migrate::MigrateArgs),
    Promote(promote::PromoteArgs),
}

impl GuardrailsCommand {
    /// Ids of the guardrails that the command would change or supersede, as given.
    pub(crate) fn targets(&self) -> Vec<&str> {
        match self {
            Self::Notes(command) => command.targets(),
            Self::Promote(args) => vec![args.id()],
            Self::Migrate(_) => Vec::new(),
        }
    }
}

pub(crate) fn run(context: &Context<'_>, command: GuardrailsCommand) -> Result<ExitCode, CommandError> {
    let note_repository = &context.note_repository(NoteFileKind::Guardrails, Spelling::Own);
    match command {
        GuardrailsCommand::Notes(command) => return notes::run(context, note_repository, command),
        GuardrailsCommand::Migrate(args) => migrate::cmd_migrate(context, note_repository, &args)?,
        GuardrailsCommand::Promote(args) => promote::cmd_promote(context, note_repository, &args)?,
    }
    Ok(ExitCode::SUCCESS)
}
