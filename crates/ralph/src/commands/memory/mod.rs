//! `ralph memory …`: one file a verb.

mod add;
mod delete;
mod edit;
mod init;
mod list;
mod prime;
mod restore;
mod search;
mod show;
mod validate;
mod view;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::Span;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ralph_memory::capture::{MAX_NOTE_BYTES, Notebook, SecretPolicy};
use ralph_memory::recall::Wanted;
use ralph_model::{NoteKind, Shelf, Tags};

use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// Said when a text came with other line breaks than notes have.
const LINE_BREAKS_CHANGED: &str = "Line breaks were turned into LF.";

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    Add(add::AddArgs),
    Search(search::SearchArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Edit(edit::EditArgs),
    Delete(delete::DeleteArgs),
    Restore(restore::RestoreArgs),
    Prime(prime::PrimeArgs),
    Validate(validate::ValidateArgs),
    Init(init::InitArgs),
}

/// Runs one of the memory commands.
pub(crate) fn run(context: &Context<'_>, command: MemoryCommand, spelling: Spelling) -> Result<ExitCode, CommandError> {
    let notebook = &context.notebook(Shelf::Memories, spelling);
    match command {
        MemoryCommand::Add(args) => add::cmd_add(context, notebook, args)?,
        MemoryCommand::Search(args) => search::cmd_search(context, notebook, &args)?,
        MemoryCommand::List(args) => list::cmd_list(context, notebook, &args)?,
        MemoryCommand::Show(args) => show::cmd_show(context, notebook, &args)?,
        MemoryCommand::Edit(args) => edit::cmd_edit(context, notebook, args)?,
        MemoryCommand::Delete(args) => delete::cmd_delete(context, notebook, &args)?,
        MemoryCommand::Restore(args) => restore::cmd_restore(context, notebook, &args)?,
        MemoryCommand::Prime(args) => prime::cmd_prime(context, notebook, &args)?,
        MemoryCommand::Validate(args) => return validate::cmd_validate(context, notebook, &args),
        MemoryCommand::Init(args) => init::cmd_init(context, notebook, &args)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Which notes are wanted.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Only these kinds, separated by commas: pattern, decision, fix, context
    #[arg(short = 't', long = "type", value_name = "KINDS", value_delimiter = ',')]
    kinds: Vec<NoteKind>,
    /// Only notes with one of these tags, separated by commas
    #[arg(long, value_name = "TAGS", value_parser = Tags::parse)]
    tags: Option<Tags>,
    /// Only notes of the last so many days
    #[arg(long, value_name = "DAYS")]
    recent: Option<u32>,
}

impl FilterArgs {
    fn wanted(&self, context: &Context<'_>) -> Wanted {
        Wanted {
            kinds: self.kinds.clone(),
            tags: self.tags.clone().unwrap_or_default(),
            since: self.recent.map(|days| first_day(context, days)),
        }
    }

    fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.tags.is_none() && self.recent.is_none()
    }
}

/// Whether a note may hold what looks like a secret.
#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// Store the note although it looks like it holds a secret
    #[arg(long)]
    allow_secret: bool,
}

impl SecretArgs {
    fn policy(&self) -> SecretPolicy {
        if self.allow_secret {
            SecretPolicy::Allow
        } else {
            SecretPolicy::Refuse
        }
    }
}

/// The first of the last so many days, in UTC; today counts, and so does the day that many days ago.
fn first_day(context: &Context<'_>, days: u32) -> Date {
    let today = context.clock().now().to_zoned(TimeZone::UTC).date();
    Span::new()
        .try_days(days)
        .and_then(|days| today.checked_sub(days))
        .unwrap_or(Date::MIN)
}

/// The text of an argument; `-` stands for standard input.
fn text_argument(context: &Context<'_>, argument: String) -> Result<String, CommandError> {
    if argument == "-" {
        context.ui.read_input(MAX_NOTE_BYTES)
    } else {
        Ok(argument)
    }
}

/// A text may begin with a dash, as a bullet does. A single word that does is a mistyped flag, unless `--` stands before.
fn refuse_mistyped_flag(context: &Context<'_>, text: &str) -> Result<(), CommandError> {
    let like_a_flag = text.len() > 1 && text.starts_with('-') && !text.contains(char::is_whitespace);
    if like_a_flag && !context.text_after_dashes {
        return Err(CommandError::usage(format!("unexpected argument '{text}'"))
            .hint(format!("if it is meant as a text, use `-- {text}`")));
    }
    Ok(())
}

/// Reads the file, says what happened to it, and hands it on.
fn read(context: &Context<'_>, notebook: &Notebook<'_>) -> Result<ralph_memory::capture::Reading, CommandError> {
    let reading = notebook.read()?;
    context.report_findings(&notebook.path, &notebook.look(&reading));
    Ok(reading)
}
