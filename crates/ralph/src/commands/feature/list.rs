//! `feature list`: lists features with their progress.

use clap::Args;
use ralph_model::{Feature, FeatureStatus};

use super::{status, unrecorded};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;

const COLUMNS: [Column; 4] = [
    Column::whole("ID"),
    Column::whole("STATUS"),
    Column::whole("DONE"),
    Column::cut("NAME"),
];

/// List features and their progress, oldest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph feature list
  ralph feature list --json")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_list(context: &Context<'_>, args: &ListArgs) -> Result<(), CommandError> {
    let features = match context.facts()? {
        Some(store) => store.features()?,
        None => Vec::new(),
    };
    let lines = |line: &dyn Fn(&Feature) -> String| features.iter().map(line).collect::<String>();
    match args.format.get() {
        Format::Json => context.ui.json(&features),
        Format::Quiet => context.ui.data(&lines(&|feature| format!("{}\n", feature.id))),
        Format::Markdown => context.ui.text(&lines(&|feature| {
            let ticked = if feature.status == FeatureStatus::Done {
                'x'
            } else {
                ' '
            };
            format!("- [{ticked}] {}\n", feature.name)
        })),
        Format::Table => {
            let nouns = ("feature", "features");
            context.ui.list((&COLUMNS, &features), row, nouns, "No features yet.")?;
            if let Some(name) = unrecorded(context, &features).first() {
                let folder = context.features().shown_folder(name);
                context.ui.hint(&format!(
                    "adopt the files in {folder} with `ralph feature create {name}`"
                ));
            }
            Ok(())
        }
    }
}

fn row(feature: &Feature) -> Vec<String> {
    vec![
        feature.id.to_string(),
        status(feature),
        format!("{}/{}", feature.tasks.done, feature.tasks.total()),
        feature.name.to_string(),
    ]
}
