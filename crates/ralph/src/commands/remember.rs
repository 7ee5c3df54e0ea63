//! `ralph remember`: keeps a note without asking which shelf and which kind.

use clap::Args;
use ralph_memory::capture::guess_kind;
use ralph_model::{NoteKind, Shelf};

use super::notes::{DetailArgs, Kept, content_argument, store};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// Keep what you just learned
///
/// What it is about is guessed from its words, and said. It is kept for the project, as `ralph memory add` does, or with
/// --here for the current work, as `ralph guardrails add` does.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph remember \"ECONNREFUSED on 5432: docker compose up -d\"
  ralph remember \"we chose SQLite: one file, no server\" --tags storage
  ralph remember \"do not touch the old parser yet\" --here
  git log -1 --format=%B | ralph remember -")]
pub(crate) struct RememberArgs {
    /// The text; `-` reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    content: String,
    /// What it is about, instead of a guess: pattern, decision, fix, context
    #[arg(short = 't', long = "type", value_name = "KIND")]
    kind: Option<String>,
    /// For the current work only, among the guardrails
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    details: DetailArgs,
}

impl RememberArgs {
    /// The note that it would supersede, and its shelf.
    pub(crate) fn supersedes(&self) -> Option<(&str, Shelf)> {
        let shelf = if self.here { Shelf::Guardrails } else { Shelf::Memories };
        Some((self.details.supersedes()?, shelf))
    }
}

pub(crate) fn cmd_remember(context: &Context<'_>, args: RememberArgs) -> Result<(), CommandError> {
    let shelf = if args.here { Shelf::Guardrails } else { Shelf::Memories };
    let given = args.kind.map(|word| shelf.parse_kind(&word)).transpose();
    let given = given.map_err(|refusal| CommandError::usage(format!("--type: {refusal}")))?;
    let content = content_argument(context, args.content)?;
    let kind = given.unwrap_or_else(|| guess_kind(&content, shelf));
    let notebook = context.notebook(shelf, Spelling::Own);
    let kept = store(context, &notebook, (kind, content), args.details)?;
    if given.is_none() && kept == Kept::Stored {
        context
            .ui
            .status(&format!("Kept as {}; --type overrides.", with_article(kind)));
    }
    Ok(())
}

fn with_article(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Pattern => "a pattern",
        NoteKind::Decision => "a decision",
        NoteKind::Fix => "a fix",
        NoteKind::Context => "context",
    }
}
