//! `ralph knowledge …`: long notes, a file each.

mod search;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub(crate) enum KnowledgeCommand {
    Search(search::SearchArgs),
}

/// Runs one of the commands about long notes.
pub(crate) fn run(context: &Context<'_>, command: &KnowledgeCommand) -> Result<(), CommandError> {
    match command {
        KnowledgeCommand::Search(args) => search::cmd_search(context, args),
    }
}
