//! `ralph guardrails …`: the verbs of every shelf, and those that only guardrails have.

mod migrate;
mod promote;

use std::process::ExitCode;

use clap::Subcommand;
use ralph_model::Shelf;

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
    /// The guardrails that the command would change or supersede, as they are named.
    pub(crate) fn targets(&self) -> Vec<&str> {
        match self {
            Self::Notes(command) => command.targets(),
            Self::Promote(args) => vec![args.id()],
            Self::Migrate(_) => Vec::new(),
        }
    }
}

/// Runs one of the guardrails commands.
pub(crate) fn run(context: &Context<'_>, command: GuardrailsCommand) -> Result<ExitCode, CommandError> {
    let notebook = &context.notebook(Shelf::Guardrails, Spelling::Own);
    match command {
        GuardrailsCommand::Notes(command) => return notes::run(context, notebook, command),
        GuardrailsCommand::Migrate(args) => migrate::cmd_migrate(context, notebook, &args)?,
        GuardrailsCommand::Promote(args) => promote::cmd_promote(context, notebook, &args)?,
    }
    Ok(ExitCode::SUCCESS)
}
