//! `edit`: changes a note, by flags or in an editor.

use std::marker::PhantomData;

use clap::Args;
use ralph_memory::capture::{NoteRepository, NoteRepositoryError, SecretPolicy, Stored};
use ralph_model::{Note, NoteKind, Tags};

use super::{LINE_BREAKS_CHANGED, NoteFamily, SecretArgs, text_argument, view};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::text_editor::{chosen_editor, edited, keep};

/// Edit a note, in your editor or with flags
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} edit {id}                   # opens $EDITOR
  {ralph} edit {id} --tags docker,ci --type fix"))]
pub(crate) struct EditArgs<S: NoteFamily> {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// New text; `-` reads standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    content: Option<String>,
    /// New tags, separated by commas; "" removes all
    #[arg(long, value_name = "TAGS", value_parser = Tags::parse)]
    tags: Option<Tags>,
    #[arg(short = 't', long = "type", value_name = "KIND")]
    #[arg(help = S::kinds("New kind"), value_parser = S::parse_kind)]
    kind: Option<NoteKind>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    format: FormatArgs,
    #[arg(skip)]
    family: PhantomData<S>,
}

impl<S: NoteFamily> EditArgs<S> {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn names_change(&self) -> bool {
        self.content.is_some() || self.tags.is_some() || self.kind.is_some()
    }
}

pub(super) fn cmd_edit<S: NoteFamily>(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: EditArgs<S>,
) -> Result<(), CommandError> {
    let edited = if args.names_change() {
        let text = args
            .content
            .map(|content| text_argument(context, content))
            .transpose()?;
        Edited { text, before: None }
    } else {
        let edited = edit_in_editor(note_repository, &args.id)?;
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
    let stored = apply(note_repository, &args.id, &edited, &change).map_err(|error| edited.keep_text(error))?;
    context.report_stored(note_repository, &stored);
    view::acknowledge(
        context,
        note_repository.file_kind,
        ("updated", &stored.notes),
        args.format.get(),
    )
}

/// Changes besides the text.
struct Change {
    tags: Option<Tags>,
    kind: Option<NoteKind>,
    secrets: SecretPolicy,
}

/// The new text; from the editor also the text it started from, to detect concurrent changes.
struct Edited {
    text: Option<String>,
    before: Option<String>,
}

impl Edited {
    /// Saves a text from the editor that could not be stored, and adds its path to the error.
    fn keep_text(&self, error: CommandError) -> CommandError {
        match (&self.text, &self.before) {
            (Some(text), Some(_)) if !text.trim().is_empty() => keep(text.as_bytes(), error),
            _ => error,
        }
    }
}

fn apply(
    note_repository: &NoteRepository<'_>,
    id: &str,
    edited: &Edited,
    change: &Change,
) -> Result<Stored, CommandError> {
    let stored = note_repository.edit(id, change.secrets, |note| {
        if edited.before.as_ref().is_some_and(|before| *before != note.content) {
            return Err(NoteRepositoryError::ChangedMeanwhile {
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

fn edit_in_editor(note_repository: &NoteRepository<'_>, id: &str) -> Result<Edited, CommandError> {
    let reading = note_repository.read()?;
    let document = reading.document();
    let before = document.content(note_repository.select(&document, id)?);
    Ok(Edited {
        text: edited(&chosen_editor()?, &before)?,
        before: Some(before),
    })
}
