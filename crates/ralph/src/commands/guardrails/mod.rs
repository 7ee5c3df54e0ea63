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
