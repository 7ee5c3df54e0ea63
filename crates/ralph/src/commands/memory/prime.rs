//! `ralph memory prime`.

use clap::{Args, ValueEnum};
use ralph_memory::capture::Notebook;
use ralph_memory::inject::{Occasion, PrimeFormat, prime};
use ralph_memory::recall::first_day;
use ralph_model::{Budget, Tokens, count};

use crate::commands::notes::{FilterArgs, Memories};
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// Write the notes for the beginning of a session, within a budget
///
/// Whole notes only: the newest of each kind first or, with --for, those that fit the text. A note that another one
/// supersedes is never written. Filters of the configuration hold where no flag is given.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph memory prime                                 # all notes
  ralph memory prime --budget 2000 --type fix,pattern
  ralph memory prime --budget 1000 --for \"mend the login page\"")]
pub(crate) struct PrimeArgs {
    /// The most tokens to write, of four characters each; 0 is unlimited
    #[arg(long, value_name = "TOKENS", default_value_t = 0, allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    budget: u32,
    #[command(flatten)]
    filter: FilterArgs<Memories>,
    /// Prefer notes that fit this text
    #[arg(long = "for", value_name = "TEXT", allow_hyphen_values = true)]
    about: Option<String>,
    /// How to write them
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// How notes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As they stand in their file
    Markdown,
    /// As an array
    Json,
}

pub(super) fn cmd_prime(context: &Context<'_>, notebook: &Notebook<'_>, args: &PrimeArgs) -> Result<(), CommandError> {
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
    let occasion = Occasion {
        shelf: notebook.shelf,
        wanted: &wanted,
        about: args.about.as_deref(),
        budget: Budget::of(Tokens(args.budget)),
        format,
        origins: &origins,
    };
    let primed = context.ask(notebook, |catalogue| prime(catalogue, &occasion))?;
    if primed.left_out > 0 {
        let left_out = count(primed.left_out, "note did", "notes did");
        let budget = usize::try_from(args.budget).unwrap_or(usize::MAX);
        let budget = count(budget, "token", "tokens");
        context.ui.status(&format!("{left_out} not fit into {budget}."));
    }
    context.ui.text(&primed.text)
}
