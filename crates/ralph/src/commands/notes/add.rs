//! `add`: keeps a note.

use std::marker::PhantomData;

use clap::Args;
use ralph_memory::capture::{Draft, Notebook};
use ralph_model::{Extra, NoteKind, Tags};

use super::{EntryRule, LINE_BREAKS_CHANGED, OnShelf, SecretArgs, refuse_mistyped_flag, text_argument, view};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;

/// Keep a note
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} add \"uses barrel exports\" --type pattern --tags imports
  {ralph} add \"ECONNREFUSED on 5432: start docker\" -t fix --tags docker
  git log -1 --format=%B | {ralph} add - -t decision
  {ralph} add \"use pnpm\" -t decision --supersedes {id}"))]
pub(crate) struct AddArgs<S: OnShelf> {
    /// The text; `-` reads it from standard input
    #[arg(value_name = "CONTENT", allow_hyphen_values = true)]
    content: String,
    #[arg(short = 't', long = "type", value_name = "KIND", default_value = "pattern")]
    #[arg(help = S::kinds("What it is about"), value_parser = S::parse_kind)]
    kind: NoteKind,
    #[command(flatten)]
    details: DetailArgs,
    #[command(flatten)]
    rule: S::Rule,
    #[arg(skip)]
    shelf: PhantomData<S>,
}

impl<S: OnShelf> AddArgs<S> {
    pub(super) fn has_rule(&self) -> bool {
        self.rule.is_given()
    }

    /// The note that it would supersede.
    pub(super) fn supersedes(&self) -> Option<&str> {
        self.details.supersedes()
    }
}

/// What is kept beside the text of a note and its kind.
#[derive(Debug, Args)]
pub(crate) struct DetailArgs {
    /// Tags, separated by commas
    #[arg(long, value_name = "TAGS", value_parser = Tags::parse)]
    tags: Option<Tags>,
    /// The note that this one replaces; it is not shown to agents any more
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    /// Why the note was written
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    format: FormatArgs,
}

impl DetailArgs {
    /// The note that the new one would supersede.
    pub(crate) fn supersedes(&self) -> Option<&str> {
        self.supersedes.as_deref()
    }
}

pub(super) fn cmd_add<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: AddArgs<S>,
) -> Result<(), CommandError> {
    let content = content_argument(context, args.content)?;
    let mut extra = Extra::default();
    args.rule.put(&mut extra)?;
    store_with(context, notebook, (args.kind, content), (args.details, extra)).map(drop)
}

/// The text that was given for a note.
pub(crate) fn content_argument(context: &Context<'_>, content: String) -> Result<String, CommandError> {
    refuse_mistyped_flag(context, &content)?;
    text_argument(context, content)
}

/// Stores a note of this kind with this text, and says so.
pub(crate) fn store(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    (kind, content): (NoteKind, String),
    details: DetailArgs,
) -> Result<Kept, CommandError> {
    store_with(context, notebook, (kind, content), (details, Extra::default()))
}

/// What became of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Stored,
    /// Its text was there before.
    Existed,
}

fn store_with(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    (kind, content): (NoteKind, String),
    (details, mut extra): (DetailArgs, Extra),
) -> Result<Kept, CommandError> {
    if let Some(reason) = &details.reason {
        extra.set(Extra::REASON, reason);
    }
    if let Some(old) = &details.supersedes {
        extra.set(Extra::SUPERSEDES, old);
    }
    // If the file cannot be read, adding to it reports why.
    if extra == Extra::default()
        && let Ok(Some(same)) = notebook.find_same(&content)
    {
        view::acknowledge(context, notebook.shelf, ("exists", &[same]), details.format.get())?;
        return Ok(Kept::Existed);
    }
    let breaks_change = content.contains('\r');
    let draft = Draft {
        kind,
        content,
        tags: details.tags.unwrap_or_default(),
        extra,
        secrets: details.secrets.policy(),
        at: None,
    };
    let stored = context.with_entropy(|entropy| notebook.add(&[draft], entropy))?;
    if breaks_change {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    context.report_stored(notebook, &stored);
    view::acknowledge(context, notebook.shelf, ("stored", &stored.notes), details.format.get())?;
    Ok(Kept::Stored)
}
