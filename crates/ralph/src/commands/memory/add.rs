//! `ralph memory add`.

use clap::Args;
use ralph_memory::capture::{Draft, Notebook};
use ralph_model::{Extra, NoteKind, Tags};

use super::{LINE_BREAKS_CHANGED, SecretArgs, refuse_mistyped_flag, text_argument, view};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;

/// Keep a note
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph memory add \"uses barrel exports\" --type pattern --tags imports,structure
  ralph memory add \"ECONNREFUSED on 5432: start docker\" -t fix --tags docker
  git log -1 --format=%B | ralph memory add - -t decision
  ralph memory add \"we use pnpm now\" -t decision --supersedes mem-1737372000-a1b2")]
pub(crate) struct AddArgs {
    /// The text; `-` reads it from standard input
    #[arg(value_name = "CONTENT", allow_hyphen_values = true)]
    content: String,
    /// What it is about: pattern, decision, fix, context
    #[arg(short = 't', long = "type", value_name = "KIND", default_value = "pattern")]
    kind: NoteKind,
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

pub(super) fn cmd_add(context: &Context<'_>, notebook: &Notebook<'_>, args: AddArgs) -> Result<(), CommandError> {
    refuse_mistyped_flag(context, &args.content)?;
    let content = text_argument(context, args.content)?;
    let mut extra = Extra::default();
    if let Some(reason) = &args.reason {
        extra.set(Extra::REASON, reason);
    }
    if let Some(old) = &args.supersedes {
        extra.set(Extra::SUPERSEDES, old);
    }
    let breaks_change = content.contains('\r');
    let draft = Draft {
        kind: args.kind,
        content,
        tags: args.tags.unwrap_or_default(),
        extra,
        secrets: args.secrets.policy(),
    };
    let stored = context.with_entropy(|entropy| notebook.add(&[draft], entropy))?;
    if breaks_change {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    context.report_stored(&notebook.path, &stored);
    view::acknowledge(context, "stored", &stored.notes, args.format.get())
}
