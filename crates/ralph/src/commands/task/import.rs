//! `task import`: imports tasks from a checklist or user stories.

use std::borrow::Cow;

use clap::Args;
use ralph_memory::capture::{Refusal, accept};
use ralph_memory::inject::{FeatureFile, FeatureFileText};
use ralph_model::{FeatureName, TaskId, TaskKind, count};
use ralph_store::{ImportItem, ListPlace, Store};
use serde_json::json;

use super::{refuse_without_database, store_to_write, ticked_here};
use crate::commands::feature;
use crate::commands::notes::SecretArgs;
use crate::commands::run::confirm::confirm_checks;
use crate::context::Context;
use crate::error::CommandError;
use crate::task_list::{checks_of, parse_list, stories_of, task_of_file, title_of_file, warn_of_missed};
use crate::text_file::read_text;

/// Import tasks from a checklist or user stories
///
/// A checklist is Markdown with boxes (`- [ ] …`). Indented items are subtasks, other indented lines are the
/// description, and a line `check: COMMAND` adds a check; ticked items are done. User stories are JSON, as in a
/// prd.json: `userStories` with title, description, acceptanceCriteria, priority and passes. Known tasks are not
/// imported again. If any part of the file is invalid, nothing is imported.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task import PLAN.md
  ralph task import prd.json --parent t-1a2b3c
  ralph task import --feature search      # from the feature's plan
  printf '%s\\n' '- [ ] one' '- [ ] two' | ralph task import -")]
pub(crate) struct ImportArgs {
    /// File to import; `-` reads standard input. With --feature, its plan by default
    #[arg(value_name = "FILE", required_unless_present = "feature")]
    file: Option<String>,
    /// Parent task for all imported tasks
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Feature for all imported tasks, by name or id
    #[arg(long, value_name = "NAME", conflicts_with = "parent")]
    feature: Option<String>,
    #[command(flatten)]
    secrets: SecretArgs,
    /// Accept the file's checks without asking
    #[arg(long)]
    trust: bool,
    /// Print the ids as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_import(context: &Context<'_>, args: &ImportArgs) -> Result<(), CommandError> {
    let feature = match &args.feature {
        Some(name) => {
            let store = context.facts()?.ok_or_else(|| feature::unknown(context, name))?;
            Some(feature::named(context, &store, name)?)
        }
        None => None,
    };
    let (name, text) = match (&args.file, &feature) {
        (Some(file), _) => (file.clone(), read_text(context, file)?),
        (None, Some(feature)) => plan_of(context, &feature.name)?,
        (None, None) => return Err(CommandError::usage("name a file, or a feature with --feature")),
    };
    let text = match accept(&text, args.secrets.policy()) {
        Ok(text) => text,
        Err(Refusal::Blank) => Cow::Borrowed(""),
        Err(refusal) => return Err(CommandError::from(refusal).about(&name)),
    };
    warn_of_missed(context.ui, &name, &text);
    let items = parse(&name, &text)?;
    confirm_checks(context, &checks_of(&items), args.trust)?;
    refuse_without_database(context, args.parent.as_deref())?;
    let mut store = store_to_write(context)?;
    let parent = args.parent.as_deref().map(|id| store.find_task(id)).transpose()?;
    let list = task_of_list(context, &store, &name)?;
    let place = match (&feature, &parent, &list) {
        (Some(feature), _, _) => ListPlace::In(&feature.id),
        (None, Some(parent), _) => ListPlace::Under(parent),
        (None, None, Some(list)) => ListPlace::Gathered(list),
        (None, None, None) => ListPlace::Top,
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
        let finished = count(finished, "task", "tasks");
        context
            .ui
            .status(&format!("Marked {finished} as done, as in the file."));
    }
    if known > finished {
        let known = count(known - finished, "task", "tasks");
        context.ui.status(&format!("{known} already known."));
    }
    Ok(())
}

/// The path and text of a feature's plan.
fn plan_of(context: &Context<'_>, feature: &FeatureName) -> Result<(String, String), CommandError> {
    let name = context.features().shown_file(feature, FeatureFile::Plan);
    let why = match context.features().text(feature, FeatureFile::Plan) {
        FeatureFileText::Written(text) => return Ok((name, text)),
        FeatureFileText::Missing => "does not exist".to_owned(),
        FeatureFileText::Unwritten => "has no tasks yet".to_owned(),
        FeatureFileText::Beginning(_) => "is too long".to_owned(),
        FeatureFileText::Unreadable(why) => why,
    };
    let hint = "write tasks there as lines like `- [ ] Let users log in`, or name another file";
    Err(CommandError::new(format!("{name} {why}")).hint(hint))
}

/// The task for the whole file, if a run of the file created one.
fn task_of_list(context: &Context<'_>, store: &Store, name: &str) -> Result<Option<TaskId>, CommandError> {
    let path = std::path::absolute(name).map_err(|error| CommandError::usage(format!("{name}: {error}")))?;
    task_of_file(store, &title_of_file(&context.project, &path), TaskKind::Once)
}

fn parse(name: &str, text: &str) -> Result<Vec<ImportItem>, CommandError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['{', '[']) {
        return stories_of(name, text);
    }
    parse_list(name, text)?.ok_or_else(|| {
        CommandError::new(format!("{name} has no tasks")).hint("a task is a line like `- [ ] Let users log in`")
    })
}
