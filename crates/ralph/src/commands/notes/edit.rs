//! `edit`: changes a note.

use std::marker::PhantomData;

use clap::Args;
use ralph_memory::capture::{Notebook, NotebookError, SecretPolicy, Stored};
use ralph_model::{Note, NoteKind, Tags};

use super::{LINE_BREAKS_CHANGED, OnShelf, SecretArgs, text_argument, view};
use crate::by_hand::{chosen_editor, edited, keep};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;

/// Change a note, in your editor or by flags
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} edit {id}                   # opens $EDITOR
  {ralph} edit {id} --tags docker,ci --type fix"))]
pub(crate) struct EditArgs<S: OnShelf> {
    /// The id, or its beginning
    #[arg(value_name = "ID")]
    id: String,
    /// The new text; `-` reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    content: Option<String>,
    /// The new tags, separated by commas; an empty list removes them
    #[arg(long, value_name = "TAGS", value_parser = Tags::parse)]
    tags: Option<Tags>,
    #[arg(short = 't', long = "type", value_name = "KIND")]
    #[arg(help = S::kinds("The new kind"), value_parser = S::parse_kind)]
    kind: Option<NoteKind>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    format: FormatArgs,
    #[arg(skip)]
    shelf: PhantomData<S>,
}

impl<S: OnShelf> EditArgs<S> {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether the flags name a change.
    pub(super) fn names_change(&self) -> bool {
        self.content.is_some() || self.tags.is_some() || self.kind.is_some()
    }
}

pub(super) fn cmd_edit<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: EditArgs<S>,
) -> Result<(), CommandError> {
    let edited = if args.names_change() {
        let text = args
            .content
            .map(|content| text_argument(context, content))
            .transpose()?;
        Edited { text, before: None }
    } else {
        let edited = edit_by_hand(notebook, &args.id)?;
        context.ui.warn_of_invisible(edited.text.as_deref().unwrap_or_default());
        edited
    };
    if edited.text.as_ref().is_some_and(|text| text.contains('\r')) {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    let change = Change {
        tags: args.tags,
        kind: args.kind,
        secrets: args.secrets.policy(),
    };
    let stored = apply(notebook, &args.id, &edited, &change).map_err(|error| edited.keep_text(error))?;
    context.report_stored(notebook, &stored);
    view::acknowledge(context, notebook.shelf, ("updated", &stored.notes), args.format.get())
}

/// What is to change beside the text.
struct Change {
    tags: Option<Tags>,
    kind: Option<NoteKind>,
    secrets: SecretPolicy,
}

/// A text from the person; from the editor also what the note said when they began.
struct Edited {
    text: Option<String>,
    before: Option<String>,
}

impl Edited {
    /// The error when a text from the editor could not be stored: it says where the text is kept.
    fn keep_text(&self, error: CommandError) -> CommandError {
        match (&self.text, &self.before) {
            (Some(text), Some(_)) if !text.trim().is_empty() => keep(text.as_bytes(), error),
            _ => error,
        }
    }
}

fn apply(notebook: &Notebook<'_>, id: &str, edited: &Edited, change: &Change) -> Result<Stored, CommandError> {
    let stored = notebook.edit(id, change.secrets, |note| {
        if edited.before.as_ref().is_some_and(|before| *before != note.content) {
            return Err(NotebookError::ChangedMeanwhile {
                id: note.id.to_string(),
            });
        }
        Ok(Note {
            content: edited.text.as_ref().unwrap_or(&note.content).clone(),
            tags: change.tags.clone().unwrap_or_else(|| note.tags.clone()),
            kind: change.kind.unwrap_or(note.kind),
            ..note.clone()
        })
    })?;
    Ok(stored)
}

fn edit_by_hand(notebook: &Notebook<'_>, id: &str) -> Result<Edited, CommandError> {
    let reading = notebook.read()?;
    let document = reading.document();
    let before = document.content(notebook.select(&document, id)?);
    Ok(Edited {
        text: edited(&chosen_editor()?, &before)?,
        before: Some(before),
    })
}
