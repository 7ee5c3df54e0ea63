//! `delete`: deletes notes.

use std::marker::PhantomData;

use clap::Args;
use ralph_memory::capture::NoteRepository;

use super::NoteFamily;
use crate::context::Context;
use crate::error::CommandError;

/// Delete notes; undo with `restore`
#[derive(Debug, Args)]
#[command(after_help = S::examples("Example:
  {ralph} delete {id}"))]
pub(crate) struct DeleteArgs<S: NoteFamily> {
    /// Ids, or unique prefixes; if one is not found, nothing is deleted
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[arg(skip)]
    family: PhantomData<S>,
}

impl<S: NoteFamily> DeleteArgs<S> {
    pub(super) fn ids(&self) -> Vec<&str> {
        self.ids.iter().map(String::as_str).collect()
    }
}

pub(super) fn cmd_delete<S: NoteFamily>(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: &DeleteArgs<S>,
) -> Result<(), CommandError> {
    let stored = note_repository.delete(&args.ids)?;
    context.report_stored(note_repository, &stored);
    let title = note_repository.file_kind.words().title;
    for note in &stored.notes {
        context.ui.result("🗑️ ", &format!("{title} deleted: {}", note.id))?;
    }
    Ok(())
}
