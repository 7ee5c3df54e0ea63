//! `knowledge add`: adds a knowledge entry, or updates the one on the same subject.

use std::borrow::Cow;

use clap::Args;
use ralph_memory::capture::{Placement, accept_knowledge};
use ralph_model::{CapturedKnowledge, Tags};
use ralph_notes::{MAX_WORDS, capped_to_words};
use serde_json::json;

use super::super::notes::{LINE_BREAKS_CHANGED, SecretArgs, refuse_mistyped_flag, text_argument, visible_argument};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::text_file::read_text;

/// Add a knowledge entry
///
/// Each entry is a Markdown file with a title and at least one tag. If an entry has the same title, its text is
/// replaced and the tags are merged. The same happens to an entry that shares more than half of the tags and has a
/// similar title: one title contains the other as whole words that are at least half of the longer title. `ralph
/// knowledge restore` restores an earlier text. Texts are cut after 500 words. `[[Title]]` links to another entry.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph knowledge add \"The test database\" --tags tests \"See bin/test-db.\"
  ralph knowledge add \"How a release is made\" --tags release --file release.md
  ralph knowledge add \"Retries\" --tags upload --feature uploads - < retries.md")]
pub(crate) struct AddArgs {
    /// Title; it also gives the file name and is the target of links
    #[arg(value_name = "TITLE", allow_hyphen_values = true)]
    title: String,
    /// The text; `-` reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true, required_unless_present = "file")]
    text: Option<String>,
    /// Tags, separated by commas; used for retrieval
    #[arg(long, value_name = "TAGS", required = true, value_parser = Tags::parse)]
    tags: Tags,
    /// Feature that it is about
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Read the text from this file; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<String>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_add(context: &Context<'_>, args: AddArgs) -> Result<(), CommandError> {
    refuse_mistyped_flag(context, &args.title)?;
    let body = match (args.text, &args.file) {
        (Some(text), _) => {
            refuse_mistyped_flag(context, &text)?;
            text_argument(context, text)?
        }
        (None, Some(file)) => visible_argument(context, read_text(context, file)?),
        (None, None) => String::new(),
    };
    let note = CapturedKnowledge {
        title: visible_argument(context, args.title),
        tags: args
            .tags
            .iter()
            .map(|tag| visible_argument(context, tag.to_owned()))
            .collect(),
        feature: args.feature,
        body,
    };
    let breaks_change = note.body.contains('\r');
    let note = accept_knowledge(&note, args.secrets.policy())?;
    let written = context.knowledge().add(&note, context.clock().now())?;
    context.report_history(&written.history);
    if breaks_change {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    if matches!(capped_to_words(&note.body), Cow::Owned(_)) {
        context
            .ui
            .warning(&format!("The text was cut after {MAX_WORDS} words."));
    }
    acknowledge(context, &written.outcome, args.format.get())
}

fn acknowledge(context: &Context<'_>, placement: &Placement, format: Format) -> Result<(), CommandError> {
    let (change, path) = match placement {
        Placement::Created(path) => ("stored", path),
        Placement::Updated(path) => ("updated", path),
        Placement::Unchanged(path) => ("unchanged", path),
        Placement::AlreadyPlaced => return Ok(()),
    };
    let file = context.project.shown(path);
    let object = json!({ "file": file.to_string(), "change": change });
    let line = format!("Knowledge {change}: {file}");
    context.ui.acknowledge(format, (&object, &file), ("📝", &line))
}
