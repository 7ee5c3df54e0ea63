//! `task import`: the tasks of a file.

use std::borrow::Cow;

use clap::Args;
use ralph_memory::capture::{MAX_NOTE_BYTES, Refusal, accept};
use ralph_model::{TaskId, TaskKind, count};
use ralph_notes::read_file;
use ralph_store::{ImportItem, ListPlace, Store};
use serde_json::json;

use super::{refuse_where_nothing_is, store_to_write, ticked_here};
use crate::commands::notes::SecretArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::task_list::{parse_list, stories_of, task_of_file, title_of_file, warn_of_missed};

/// Make tasks of a checklist or of user stories; what is there already is not made again
///
/// A checklist is Markdown with boxes (`- [ ] …`). Items that stand further in are parts of the item above them, other
/// indented lines its description; ticked items are done. User stories are JSON, as in a prd.json: `userStories` with
/// title, description, acceptanceCriteria, priority and passes. Either all of a file becomes tasks or nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task import PLAN.md
  ralph task import prd.json --parent t-1a2b3c
  printf '%s\\n' '- [ ] one' '- [ ] two' | ralph task import -")]
pub(crate) struct ImportArgs {
    /// The file; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// The task that all of them are parts of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    #[command(flatten)]
    secrets: SecretArgs,
    /// Write the ids as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_import(context: &Context<'_>, args: &ImportArgs) -> Result<(), CommandError> {
    let text = read(context, &args.file)?;
    let text = match accept(&text, args.secrets.policy()) {
        Ok(text) => text,
        Err(Refusal::Blank) => Cow::Borrowed(""),
        Err(refusal) => return Err(CommandError::from(refusal).about(&args.file)),
    };
    warn_of_missed(context.ui, &args.file, &text);
    let items = parse(&args.file, &text)?;
    refuse_where_nothing_is(context, args.parent.as_deref())?;
    let mut store = store_to_write(context)?;
    let parent = args.parent.as_deref().map(|id| store.find_task(id)).transpose()?;
    let list = task_of_list(context, &store, &args.file)?;
    let place = match (&parent, &list) {
        (Some(parent), _) => ListPlace::Under(parent),
        (None, Some(list)) => ListPlace::Gathered(list),
        (None, None) => ListPlace::Top,
    };
    let (here, now) = (ticked_here(context, &items), context.clock().now());
    let imported = context.with_entropy(|entropy| store.import_tasks((&items, place), &here, entropy, now))?;
    let known = imported.tasks.len() - imported.added.len();
    if args.json {
        return context.ui.json(&json!({
            "added": imported.added,
            "finished": imported.finished,
            "skipped": known - imported.finished.len(),
        }));
    }
    let added = count(imported.added.len(), "task", "tasks");
    context.ui.result("📝", &format!("Imported {added}"))?;
    let finished = imported.finished.len();
    if finished > 0 {
        let finished = count(finished, "task is", "tasks are");
        context.ui.status(&format!("{finished} done now, as the file says."));
    }
    if known > finished {
        let known = count(known - finished, "task was", "tasks were");
        context.ui.status(&format!("{known} there already."));
    }
    Ok(())
}

/// The task that stands for the file, when a run of it made one.
fn task_of_list(context: &Context<'_>, store: &Store, name: &str) -> Result<Option<TaskId>, CommandError> {
    let path = std::path::absolute(name).map_err(|error| CommandError::usage(format!("{name}: {error}")))?;
    task_of_file(store, &title_of_file(&context.project, &path), TaskKind::Once)
}

fn read(context: &Context<'_>, name: &str) -> Result<String, CommandError> {
    if name == "-" {
        return context.ui.read_input(MAX_NOTE_BYTES);
    }
    let path = std::path::absolute(name).map_err(|error| CommandError::usage(format!("{name}: {error}")))?;
    let Some(text) = read_file(&path)? else {
        return Err(CommandError::new(format!("there is no file {name}")));
    };
    String::from_utf8(text.bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::new(format!("{name} is not UTF-8 text (byte {at})"))
    })
}

fn parse(name: &str, text: &str) -> Result<Vec<ImportItem>, CommandError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['{', '[']) {
        return stories_of(name, text);
    }
    parse_list(name, text)?.ok_or_else(|| {
        CommandError::new(format!("{name} has no box to tick, so there is nothing to import"))
            .hint("a task is a line like `- [ ] Let users log in`")
    })
}
