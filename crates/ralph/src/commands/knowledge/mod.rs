//! `ralph knowledge …`: knowledge entries, one file each.

mod add;
mod delete;
mod graph;
mod library;
mod list;
mod restore;
mod search;
mod show;

use clap::{Args, Subcommand};
pub(crate) use library::without_folder;

use crate::context::Context;
use crate::error::CommandError;
use library::Library;

#[derive(Debug, Subcommand)]
pub(crate) enum KnowledgeCommand {
    Add(add::AddArgs),
    Search(search::SearchArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Delete(delete::DeleteArgs),
    Restore(restore::RestoreArgs),
    Graph(graph::GraphArgs),
}

/// Resolves a name or unique prefix to the entry's file.
pub(crate) fn resolve_file(context: &Context<'_>, name: &str) -> Result<String, CommandError> {
    Ok(Library::read(context)?.find(name)?.file.clone())
}

/// The file of the entry with this title.
pub(crate) fn file_titled(context: &Context<'_>, title: &str) -> Result<Option<String>, CommandError> {
    Ok(Library::read(context)?.exact(title)?.map(|note| note.file.clone()))
}

impl KnowledgeCommand {
    /// Describes a single verb, without building all of them.
    pub(crate) fn describe(verb: &str) -> Option<clap::Command> {
        let command = |name: &'static str| clap::Command::new(name);
        Some(match verb {
            "add" => add::AddArgs::augment_args(command("add")),
            "search" => search::SearchArgs::augment_args(command("search")),
            "list" => list::ListArgs::augment_args(command("list")),
            "show" => show::ShowArgs::augment_args(command("show")),
            _ => return None,
        })
    }
}

pub(crate) fn run(context: &Context<'_>, command: KnowledgeCommand) -> Result<(), CommandError> {
    match command {
        KnowledgeCommand::Add(args) => add::cmd_add(context, args),
        KnowledgeCommand::Search(args) => search::cmd_search(context, &args),
        KnowledgeCommand::List(args) => list::cmd_list(context, &args),
        KnowledgeCommand::Show(args) => show::cmd_show(context, &args),
        KnowledgeCommand::Delete(args) => delete::cmd_delete(context, &args),
        KnowledgeCommand::Restore(args) => restore::cmd_restore(context, &args),
        KnowledgeCommand::Graph(args) => graph::cmd_graph(context, &args),
    }
}
