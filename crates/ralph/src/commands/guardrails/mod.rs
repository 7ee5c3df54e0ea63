//! `ralph guardrails …`: the verbs of every shelf, and those that only guardrails have.

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
}

/// Runs one of the guardrails commands.
pub(crate) fn run(context: &Context<'_>, command: GuardrailsCommand) -> Result<ExitCode, CommandError> {
    let notebook = &context.notebook(Shelf::Guardrails, Spelling::Own);
    match command {
        GuardrailsCommand::Notes(command) => notes::run(context, notebook, command),
    }
}
