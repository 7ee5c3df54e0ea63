//! `ralph journal …`: shows what happened in each iteration.

mod export;
mod list;
mod search;
mod show;
mod view;
mod which;

use clap::Subcommand;

pub(crate) use view::what;
pub(crate) use which::{WhichIteration, find_run};

use crate::context::Context;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Search(search::SearchArgs),
    Export(export::ExportArgs),
}

pub(crate) fn run(context: &Context<'_>, command: &JournalCommand) -> Result<(), CommandError> {
    match command {
        JournalCommand::List(args) => list::cmd_list(context, args),
        JournalCommand::Show(args) => show::cmd_show(context, args),
        JournalCommand::Search(args) => search::cmd_search(context, args),
        JournalCommand::Export(args) => export::cmd_export(context, args),
    }
}
