//! `ralph memory prime`.

use clap::{Args, ValueEnum};
use ralph_memory::capture::NoteRepository;
use ralph_memory::inject::{PrimeFormat, PrimeRequest, prime};
use ralph_memory::recall::first_day;
use ralph_model::{Budget, Tokens, count};

use crate::commands::notes::{FilterArgs, Memories};
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// Print memories for the start of a session, within a budget
///
/// Prints whole notes: the newest of each kind first, or with --for those relevant to the text. Superseded notes are
/// left out. The filters in the configuration apply unless a flag overrides them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph memory prime                                 # all notes
  ralph memory prime --budget 2000 --type fix,pattern
  ralph memory prime --budget 1000 --for \"fix the login page\"")]
pub(crate) struct PrimeArgs {
    /// Maximum tokens, of four characters each; 0 is unlimited
    #[arg(long, value_name = "TOKENS", default_value_t = 0, allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    budget: u32,
    #[command(flatten)]
    filter: FilterArgs<Memories>,
    /// Prefer notes relevant to this text
    #[arg(long = "for", value_name = "TEXT", allow_hyphen_values = true)]
    about: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As in the file
    Markdown,
    /// JSON array
    Json,
}

pub(super) fn cmd_prime(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: &PrimeArgs,
) -> Result<(), CommandError> {
    let configured = &context.config.memories.filter;
    let mut wanted = args.filter.wanted(context);
    if wanted.kinds.is_empty() {
        wanted.kinds.clone_from(&configured.types);
    }
    if args.filter.tags.is_none() {
        wanted.tags.clone_from(&configured.tags);
    }
    if wanted.since.is_none() {
        wanted.since = configured.recent.map(|days| first_day(context.today(), days));
    }
    let format = if args.json || args.format == Format::Json {
        PrimeFormat::Json
    } else {
        PrimeFormat::Markdown
    };
    let origins = context.origins();
    let occasion = PrimeRequest {
        file_kind: note_repository.file_kind,
        wanted: &wanted,
        about: args.about.as_deref(),
        budget: Budget::of(Tokens(args.budget)),
        format,
        origins: &origins,
    };
    let primed = context.ask(note_repository, |index| prime(index, &occasion))?;
    if primed.left_out > 0 {
        let left_out = count(primed.left_out, "note", "notes");
        let budget = usize::try_from(args.budget).unwrap_or(usize::MAX);
        let budget = count(budget, "token", "tokens");
        context
            .ui
            .status(&format!("Left out {left_out} that did not fit into {budget}."));
    }
    context.ui.text(&primed.text)
}
