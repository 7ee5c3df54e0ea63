//! `add`: stores a note.

use std::marker::PhantomData;

use clap::Args;
use ralph_memory::capture::{Draft, NoteRepository};
use ralph_model::{Extra, NoteKind, Tags};

use super::{EntryRule, LINE_BREAKS_CHANGED, NoteFamily, SecretArgs, refuse_mistyped_flag, text_argument, view};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;

/// Add a note
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} add \"uses barrel exports\" --type pattern --tags imports
  {ralph} add \"ECONNREFUSED on 5432: start docker\" -t fix --tags docker
  git log -1 --format=%B | {ralph} add - -t decision
  {ralph} add \"use pnpm\" -t decision --supersedes {id}"))]
pub(crate) struct AddArgs<S: NoteFamily> {
    /// The text; `-` reads standard input
    #[arg(value_name = "CONTENT", allow_hyphen_values = true)]
    content: String,
    #[arg(short = 't', long = "type", value_name = "KIND", default_value = "pattern")]
    #[arg(help = S::kinds("Kind"), value_parser = S::parse_kind)]
    kind: NoteKind,
    #[command(flatten)]
    details: DetailArgs,
    #[command(flatten)]
    rule: S::Rule,
    #[arg(skip)]
    family: PhantomData<S>,
}

impl<S: NoteFamily> AddArgs<S> {
    pub(super) fn has_rule(&self) -> bool {
        self.rule.is_given()
    }

    pub(super) fn supersedes(&self) -> Option<&str> {
        self.details.supersedes()
    }
}

/// Arguments besides the text and kind of a note.
#[derive(Debug, Args)]
pub(crate) struct DetailArgs {
    /// Tags, separated by commas
    #[arg(long, value_name = "TAGS", value_parser = Tags::parse)]
    tags: Option<Tags>,
    /// Note that this one supersedes; agents no longer get the old one
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    /// Reason for the note
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    format: FormatArgs,
}

impl DetailArgs {
    pub(crate) fn supersedes(&self) -> Option<&str> {
        self.supersedes.as_deref()
    }
}

pub(super) fn cmd_add<S: NoteFamily>(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: AddArgs<S>,
) -> Result<(), CommandError> {
    let content = content_argument(context, args.content)?;
    let mut extra = Extra::default();
    args.rule.put(&mut extra)?;
    store_with(context, note_repository, (args.kind, content), (args.details, extra)).map(drop)
}

pub(crate) fn content_argument(context: &Context<'_>, content: String) -> Result<String, CommandError> {
    refuse_mistyped_flag(context, &content)?;
    text_argument(context, content)
}

/// Stores a note and reports it.
pub(crate) fn store(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    (kind, content): (NoteKind, String),
    details: DetailArgs,
) -> Result<Kept, CommandError> {
    store_with(context, note_repository, (kind, content), (details, Extra::default()))
}

/// Outcome of storing a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Stored,
    /// A note with this text exists.
    Existed,
}

fn store_with(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    (kind, content): (NoteKind, String),
    (details, mut extra): (DetailArgs, Extra),
) -> Result<Kept, CommandError> {
    if let Some(reason) = &details.reason {
        extra.set(Extra::REASON, reason);
    }
    if let Some(old) = &details.supersedes {
        extra.set(Extra::SUPERSEDES, old);
    }
    // If the file cannot be read, `add` below reports why.
    if extra == Extra::default()
        && let Ok(Some(same)) = note_repository.find_same(&content)
    {
        view::acknowledge(
            context,
            note_repository.file_kind,
            ("exists", &[same]),
            details.format.get(),
        )?;
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
    let stored = context.with_entropy(|entropy| note_repository.add(&[draft], entropy))?;
    if breaks_change {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    context.report_stored(note_repository, &stored);
    view::acknowledge(
        context,
        note_repository.file_kind,
        ("stored", &stored.notes),
        details.format.get(),
    )?;
    Ok(Kept::Stored)
}
