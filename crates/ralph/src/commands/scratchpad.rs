//! `ralph scratchpad show|append|clear`.

use clap::{Args, Subcommand};
use ralph_memory::capture::{ClearedScratchpad, Scratchpad};
use ralph_memory::inject::tail;
use ralph_memory::secrets::mask;
use ralph_model::{Budget, Tokens};
use ralph_notes::{normalise_line_breaks, read_file};
use ralph_store::{FileRecord, ScratchpadChange, Store};
use serde_json::json;

use super::notes::{LINE_BREAKS_CHANGED, SecretArgs, content_argument};
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

#[derive(Debug, Subcommand)]
pub(crate) enum ScratchpadCommand {
    Show(ShowArgs),
    Append(AppendArgs),
    Clear(ClearArgs),
}

/// Print the scratchpad, or its end
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph scratchpad show
  ralph scratchpad show --budget 1000  # the last lines, at most 4000 characters")]
pub(crate) struct ShowArgs {
    /// Maximum tokens, of four characters each; 0 is unlimited
    #[arg(long, value_name = "TOKENS", default_value_t = 0, allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    budget: u32,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Append text to the scratchpad
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph scratchpad append \"step 2 of 5 is done; next: the login page\"
  git status --short | ralph scratchpad append -")]
pub(crate) struct AppendArgs {
    /// The text; `-` reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// Clear the scratchpad, keeping a copy of the old text
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph scratchpad clear")]
pub(crate) struct ClearArgs {}

pub(crate) fn run(context: &Context<'_>, command: ScratchpadCommand) -> Result<(), CommandError> {
    match command {
        ScratchpadCommand::Show(args) => cmd_show(context, &args),
        ScratchpadCommand::Append(args) => cmd_append(context, args),
        ScratchpadCommand::Clear(args) => cmd_clear(context, &args),
    }
}

fn cmd_show(context: &Context<'_>, args: &ShowArgs) -> Result<(), CommandError> {
    let scratchpad = context.scratchpad();
    let tail = tail(&scratchpad.read()?, Budget::of(Tokens(args.budget)));
    if args.json {
        return context.ui.json(&json!({
            "path": context.project.shown(&scratchpad.path).to_string(),
            "content": tail.text,
            "left_out": tail.left_out,
        }));
    }
    context.ui.text(&tail.text)
}

fn cmd_append(context: &Context<'_>, args: AppendArgs) -> Result<(), CommandError> {
    let scratchpad = context.scratchpad();
    let text = content_argument(context, args.text)?;
    scratchpad.append(&text, args.secrets.policy())?;
    record(
        context,
        &scratchpad,
        ScratchpadChange::Appended(&normalise_line_breaks(&text)),
    );
    if text.contains('\r') {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    let shown = context.project.shown(&scratchpad.path);
    context.ui.result("📝", &format!("Added to {shown}"))
}

fn cmd_clear(context: &Context<'_>, _args: &ClearArgs) -> Result<(), CommandError> {
    let scratchpad = context.scratchpad();
    let shown = context.project.shown(&scratchpad.path);
    match scratchpad.clear()? {
        None => context.ui.data("The scratchpad is empty.\n"),
        Some(ClearedScratchpad { kept, text }) => {
            record(context, &scratchpad, ScratchpadChange::Cleared(&mask(&text)));
            let kept = context.project.shown(&kept);
            context.ui.status(&format!("Kept the old text as {kept}."));
            context.ui.result("🗑️ ", &format!("Cleared {shown}"))
        }
    }
}

/// Records the change in the note log, if there is a database. Scratchpads of task checkouts are not recorded: they are
/// deleted with the checkout and never rolled back.
pub(super) fn record(context: &Context<'_>, scratchpad: &Scratchpad<'_>, change: ScratchpadChange<'_>) {
    if context.project.checkout.is_some() || !Store::exists(&context.project.database()) {
        return;
    }
    if let Err(error) = try_record(context, scratchpad, change) {
        context.ui.warning(&format!(
            "Could not record this change in the note log: {}.",
            error.message()
        ));
    }
}

fn try_record(
    context: &Context<'_>,
    scratchpad: &Scratchpad<'_>,
    change: ScratchpadChange<'_>,
) -> Result<(), CommandError> {
    let Some(written) = read_file(&scratchpad.path)? else {
        return Ok(());
    };
    let record = FileRecord {
        stamp: written.stamp,
        head: None,
    };
    let file = context.project.log_of(&scratchpad.path).file;
    let mut store = Store::open_or_create(&context.project.fact_store())?;
    let (author, now) = (context.actor.author(), context.clock().now());
    Ok(store.record_scratchpad((&file, &record), change, &author, now)?)
}
