//! `feature show`: how far a feature is, what is written about it, and its tasks.

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

/// Show how far a feature is, where its specification and plan are, and its tasks
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph feature show search
  ralph feature show f-1a2b3c --json")]
pub(crate) struct ShowArgs {
    /// Its name, its id, or the beginning of it
    #[arg(value_name = "NAME")]
    feature: String,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

/// A feature with everything around it.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    feature: &'a Feature,
    spec: Written,
    plan: Written,
    /// Its tasks, each after the one that it is a part of.
    tree: Vec<Placed<'a>>,
}

/// What is written in a file.
#[derive(Serialize)]
struct Written {
    path: String,
    /// Whether somebody has written anything that can be read.
    written: bool,
    characters: usize,
    tokens: Tokens,
    /// How much of it a prompt holds.
    tokens_in_prompt: Tokens,
    #[serde(skip)]
    said: String,
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
        look(context, &feature.name, FeatureFile::Spec),
        look(context, &feature.name, FeatureFile::Plan),
    );
    if args.json {
        let feature = &feature;
        return context.ui.json(&Whole {
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
        (None, format!("spec: {}", spec.said)),
        (None, format!("plan: {}", plan.said)),
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
            "`ralph task import --feature {name}` makes tasks of its plan, `ralph task add TEXT --feature {name}` adds one."
        ));
    }
    Ok(())
}

/// The tasks that are parts of none of the others.
fn tops(tasks: &[Task]) -> Vec<&Task> {
    let listed: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let is_top = |task: &&Task| task.parent.as_ref().is_none_or(|parent| !listed.contains(parent));
    tasks.iter().filter(is_top).collect()
}

fn look(context: &Context<'_>, name: &FeatureName, file: FeatureFile) -> Written {
    let path = context.features().shown_file(name, file);
    let (text, said) = match context.features().text(name, file) {
        FeatureFileText::Missing => (String::new(), format!("{path} is not there")),
        FeatureFileText::Unwritten => (String::new(), format!("{path}, where nothing is written yet")),
        FeatureFileText::Unreadable(why) => (String::new(), format!("{path} {why}")),
        FeatureFileText::Written(text) => (text, path.clone()),
        FeatureFileText::Beginning(text) => (text, format!("{path}, longer than is ever read")),
    };
    let characters = text.chars().count();
    let tokens = Tokens::of_characters(characters);
    let cut_to = feature_cut_to(&context.features().read(name), file);
    Written {
        written: characters > 0,
        said: match characters {
            0 => said,
            _ => match cut_to {
                Some(shown) => format!("{said} ({tokens} tokens, of which a prompt holds {shown})"),
                None => format!("{said} ({tokens} tokens)"),
            },
        },
        path,
        characters,
        tokens,
        tokens_in_prompt: cut_to.unwrap_or(tokens),
    }
}
