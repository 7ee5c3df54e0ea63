//! `delete`: takes notes out.

use std::marker::PhantomData;

use clap::Args;
use ralph_memory::capture::Notebook;

use super::OnShelf;
use crate::context::Context;
use crate::error::CommandError;

/// Delete notes; they stay on record and can be restored
#[derive(Debug, Args)]
#[command(after_help = S::examples("Example:
  {ralph} delete {id}"))]
pub(crate) struct DeleteArgs<S: OnShelf> {
    /// Ids, or their beginnings; when one is not there, none is deleted
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[arg(skip)]
    shelf: PhantomData<S>,
}

impl<S: OnShelf> DeleteArgs<S> {
    pub(super) fn ids(&self) -> Vec<&str> {
        self.ids.iter().map(String::as_str).collect()
    }
}

pub(super) fn cmd_delete<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &DeleteArgs<S>,
) -> Result<(), CommandError> {
    let stored = notebook.delete(&args.ids)?;
    context.report_stored(notebook, &stored);
    let title = notebook.shelf.words().title;
    for note in &stored.notes {
        context.ui.result("🗑️ ", &format!("{title} deleted: {}", note.id))?;
    }
    Ok(())
}
