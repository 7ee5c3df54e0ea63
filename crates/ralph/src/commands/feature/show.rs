//! `feature show`: shows a feature's progress, files and tasks.

use std::collections::HashSet;

use clap::Args;
use ralph_memory::inject::prompt::feature_cut_to;
use ralph_memory::inject::{FeatureFile, FeatureFileText};
use ralph_model::{Feature, FeatureName, Task, TaskId, Tokens};
use ralph_store::{TaskFilter, Which};
use serde::Serialize;

use super::{find_to_read, progress, status};
use crate::commands::task::{Placed, place, task_row};
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Style;

/// Show a feature's progress, files and tasks
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph feature show search
  ralph feature show f-1a2b3c --json")]
pub(crate) struct ShowArgs {
    /// Name, id, or a unique prefix of the id
    #[arg(value_name = "NAME")]
    feature: String,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The JSON form of a feature.
#[derive(Serialize)]
struct FeatureDetails<'a> {
    #[serde(flatten)]
    feature: &'a Feature,
    spec: FileSummary,
    plan: FileSummary,
    /// Its tasks, each after its parent.
    tree: Vec<Placed<'a>>,
}

/// A specification or plan file.
#[derive(Serialize)]
struct FileSummary {
    path: String,
    /// Whether it has readable content beyond the template.
    written: bool,
    characters: usize,
    tokens: Tokens,
    /// How much of it fits into a prompt.
    tokens_in_prompt: Tokens,
    #[serde(skip)]
    description: String,
}

pub(super) fn cmd_show(context: &Context<'_>, args: &ShowArgs) -> Result<(), CommandError> {
    let (store, feature) = find_to_read(context, &args.feature)?;
    let tasks = store.tasks(&TaskFilter {
        which: Which::All,
        feature: Some(&feature.id),
        parent: None,
    })?;
    let tree = place(&tasks, tops(&tasks));
    let (spec, plan) = (
        summarize(context, &feature.name, FeatureFile::Spec),
        summarize(context, &feature.name, FeatureFile::Plan),
    );
    if args.json {
        let feature = &feature;
        return context.ui.json(&FeatureDetails {
            feature,
            spec,
            plan,
            tree,
        });
    }
    let mut lines = vec![
        (Some(Style::Strong), format!("{}  {}", feature.id, feature.name)),
        (
            None,
            format!("status: {} ({})", status(&feature), progress(&feature.tasks)),
        ),
        (None, format!("spec: {}", spec.description)),
        (None, format!("plan: {}", plan.description)),
        (None, format!("created: {:.0}", feature.created_at)),
        (None, format!("updated: {:.0}", feature.updated_at)),
    ];
    if !tree.is_empty() {
        lines.push((None, String::new()));
        lines.push((Some(Style::Strong), "Tasks".to_owned()));
    }
    let width = context.ui.width();
    let row = |placed: &Placed<'_>| task_row(&format!("  {}", placed.branch), placed.task, width);
    lines.extend(tree.iter().map(|placed| (None, row(placed))));
    context.ui.lines(&lines)?;
    if tree.is_empty() {
        let name = &feature.name;
        context.ui.hint(&format!(
            "import tasks from its plan with `ralph task import --feature {name}`, or add one with \
            `ralph task add TEXT --feature {name}`"
        ));
    }
    Ok(())
}

/// The tasks whose parent is not in the list.
fn tops(tasks: &[Task]) -> Vec<&Task> {
    let listed: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let is_top = |task: &&Task| task.parent.as_ref().is_none_or(|parent| !listed.contains(parent));
    tasks.iter().filter(is_top).collect()
}

fn summarize(context: &Context<'_>, name: &FeatureName, file: FeatureFile) -> FileSummary {
    let path = context.features().shown_file(name, file);
    let (text, description) = match context.features().text(name, file) {
        FeatureFileText::Missing => (String::new(), format!("{path} is missing")),
        FeatureFileText::Unwritten => (String::new(), format!("{path} (not written yet)")),
        FeatureFileText::Unreadable(why) => (String::new(), format!("{path} {why}")),
        FeatureFileText::Written(text) => (text, path.clone()),
        FeatureFileText::Beginning(text) => (text, format!("{path} (only the beginning is read)")),
    };
    let characters = text.chars().count();
    let tokens = Tokens::of_characters(characters);
    let cut_to = feature_cut_to(&context.features().read(name), file);
    FileSummary {
        written: characters > 0,
        description: match characters {
            0 => description,
            _ => match cut_to {
                Some(shown) => format!("{description} ({tokens} tokens, {shown} in prompts)"),
                None => format!("{description} ({tokens} tokens)"),
            },
        },
        path,
        characters,
        tokens,
        tokens_in_prompt: cut_to.unwrap_or(tokens),
    }
}
