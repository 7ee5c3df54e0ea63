//! `ralph memory add`.

use clap::Args;
use ralph_memory::capture::{Draft, Notebook, SecretPolicy, accept};
use ralph_model::{Extra, NoteKind, Tags};

use super::{LINE_BREAKS_CHANGED, text_argument, view};
use crate::cli::{Format, FormatArgs};
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
    /// Store the text although it looks like it holds a secret
    #[arg(long)]
    allow_secret: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_add(context: &Context<'_>, notebook: &Notebook<'_>, args: AddArgs) -> Result<(), CommandError> {
    let policy = if args.allow_secret {
        SecretPolicy::Allow
    } else {
        SecretPolicy::Refuse
    };
    // A text may begin with a dash, as a bullet does; a single word that does is a mistyped flag.
    if args.content.len() > 1 && args.content.starts_with('-') && !args.content.contains(char::is_whitespace) {
        return Err(CommandError::usage(format!("unexpected argument '{}'", args.content))
            .hint("a text like that can be given on standard input, with `-` as CONTENT"));
    }
    let text = text_argument(context, args.content)?;
    let content = accept(&text, policy)?.into_owned();
    if text.contains('\r') {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    let mut extra = Extra::default();
    if let Some(reason) = &args.reason {
        let reason = accept(reason, policy).map_err(|refusal| CommandError::from(refusal).about("--reason"))?;
        extra.set(Extra::REASON, &reason);
    }
    if let Some(old) = &args.supersedes {
        extra.set(Extra::SUPERSEDES, old);
    }
    let draft = Draft {
        kind: args.kind,
        content,
        tags: args.tags.unwrap_or_default(),
        extra,
    };
    let stored = context.with_entropy(|entropy| notebook.add(&[draft], entropy))?;
    context.report_stored(&notebook.path, &stored);
    match args.format.get() {
        Format::Table => {
            for note in &stored.notes {
                context.ui.result("📝", &format!("Memory stored: {}", note.id))?;
            }
            Ok(())
        }
        other => view::whole(context, &stored.notes, other),
    }
}
