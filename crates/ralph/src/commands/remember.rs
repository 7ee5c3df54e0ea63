//! `ralph remember`: stores a memory or guardrail and guesses its kind.

use clap::Args;
use ralph_memory::capture::guess_kind;
use ralph_model::{NoteFileKind, NoteKind};

use super::notes::{DetailArgs, Kept, content_argument, store};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// Store a memory for later sessions
///
/// The kind is guessed from the text unless --type is given. Memories apply to the whole project; with --here, stores a
/// guardrail for the current work instead.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph remember \"ECONNREFUSED on 5432: docker compose up -d\"
  ralph remember \"we chose SQLite: one file, no server\" --tags storage
  ralph remember \"do not touch the old parser yet\" --here
  git log -1 --format=%B | ralph remember -")]
pub(crate) struct RememberArgs {
    /// The text; `-` reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    content: String,
    /// Kind: pattern, decision, fix, context; guessed by default
    #[arg(short = 't', long = "type", value_name = "KIND")]
    kind: Option<String>,
    /// Store a guardrail for the current work instead
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    details: DetailArgs,
}

impl RememberArgs {
    /// The note that it would supersede, and its file kind.
    pub(crate) fn supersedes(&self) -> Option<(&str, NoteFileKind)> {
        let file_kind = if self.here {
            NoteFileKind::Guardrails
        } else {
            NoteFileKind::Memories
        };
        Some((self.details.supersedes()?, file_kind))
    }
}

pub(crate) fn cmd_remember(context: &Context<'_>, args: RememberArgs) -> Result<(), CommandError> {
    let file_kind = if args.here {
        NoteFileKind::Guardrails
    } else {
        NoteFileKind::Memories
    };
    let given = args.kind.map(|word| file_kind.parse_kind(&word)).transpose();
    let given = given.map_err(|refusal| CommandError::usage(format!("--type: {refusal}")))?;
    let content = content_argument(context, args.content)?;
    let kind = given.unwrap_or_else(|| guess_kind(&content, file_kind));
    let note_repository = context.note_repository(file_kind, Spelling::Own);
    let kept = store(context, &note_repository, (kind, content), args.details)?;
    if given.is_none() && kept == Kept::Stored {
        context
            .ui
            .status(&format!("Stored as {}; use --type to change that.", with_article(kind)));
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
