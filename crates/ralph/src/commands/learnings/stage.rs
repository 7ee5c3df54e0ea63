//! `learnings stage`: adds candidate learnings for validation, and shows the staging area.

use clap::Args;
use ralph_memory::exchange::{ReadLearnings, read_candidates};
use ralph_model::{Learning, LearningStatus, count};
use ralph_store::{ImportOutcome, ImportedLearning, LearningFilter, LearningStats};
use serde_json::{Value, json};

use super::super::task::{in_short, store_to_write};
use super::stats::Staging;
use super::view;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;
use crate::text_file::read_text;

/// Stage learnings for validation, or show the staging area
///
/// The file has one JSON object or a list of them: {"type": "strategy", "taskType": "test-fix", "content":
/// {"description": "…"}, "confidence": 0.85, "successRate": 0.85, "sourceLoops": ["ralph-001"]}. Staged learnings are
/// pending: `ralph learnings validate` checks them and `ralph learnings promote` activates them. Known learnings stay
/// unchanged. Invalid entries are rejected with a reason; the others are still staged.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings stage                  # pending, validated and rejected
  ralph learnings stage candidates.json
  jq .learnings other.json | ralph learnings stage -
  ralph learnings validate && ralph learnings promote --all    # what was staged")]
pub(crate) struct StageArgs {
    /// File with candidates; `-` reads standard input. Without it, shows the staging area
    #[arg(value_name = "FILE")]
    file: Option<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

const COLUMNS: [Column; 5] = [
    Column::whole("ID"),
    Column::whole("STATUS"),
    Column::optional("TYPE"),
    Column::optional("WHY"),
    view::TEXT,
];

/// The required form of an entry.
const FORM: &str =
    "an entry is an object with \"type\" (strategy, antipattern, estimate or convention), \"taskType\" and \"content\"";

/// Statuses in the staging area.
const STAGED: [LearningStatus; 3] = [
    LearningStatus::Pending,
    LearningStatus::Validated,
    LearningStatus::Rejected,
];

pub(super) fn cmd_stage(context: &Context<'_>, args: &StageArgs) -> Result<(), CommandError> {
    match &args.file {
        Some(file) => stage(context, file, args),
        None => show(context, args),
    }
}

fn stage(context: &Context<'_>, file: &str, args: &StageArgs) -> Result<(), CommandError> {
    let named = if file == "-" { "standard input" } else { file };
    let now = context.clock().now();
    let read = read_candidates(&read_text(context, file)?, now)
        .map_err(|why| CommandError::new(format!("{named} cannot be read: {why}")))?;
    refuse_useless(named, &read)?;
    // Fail before creating anything next to another tool's database.
    context.facts()?;
    let mut store = store_to_write(context)?;
    let staged = context.with_entropy(|entropy| store.stage_learnings(&read.learnings, entropy, now))?;
    if read.masked > 0 {
        let learnings = count(read.masked, "learning", "learnings");
        context.ui.warning(&format!("Masked a likely secret in {learnings}."));
    }
    report_staged(context, args, &staged, &read)
}

fn report_staged(
    context: &Context<'_>,
    args: &StageArgs,
    staged: &[ImportedLearning],
    read: &ReadLearnings,
) -> Result<(), CommandError> {
    let (new, known): (Vec<_>, Vec<_>) = staged
        .iter()
        .partition(|learning| learning.taken == ImportOutcome::Added);
    if args.json {
        let rejected: Vec<Value> = read
            .problems
            .iter()
            .map(|problem| json!({ "entry": problem.number, "reason": problem.why }))
            .collect();
        let ids = |learnings: &[&ImportedLearning]| -> Vec<Value> {
            learnings.iter().map(|learning| json!(learning.id)).collect()
        };
        return context.ui.json(&json!({
            "staged": new.len(),
            "skipped": known.len(),
            "ids": ids(&new),
            "known": ids(&known),
            "rejected": rejected,
        }));
    }
    for learning in &known {
        context
            .ui
            .status(&format!("Already known as {} ({}).", learning.id, learning.status));
    }
    for learning in &new {
        match &learning.reason {
            Some(reason) => context
                .ui
                .result("❌", &format!("Learning rejected: {}: {reason}", learning.id))?,
            None => context.ui.result("📝", &format!("Learning staged: {}", learning.id))?,
        }
    }
    for problem in &read.problems {
        let line = format!("Learning rejected: entry {} ({})", problem.number, problem.why);
        context.ui.result("❌", &line)?;
    }
    if !read.problems.is_empty() {
        let entries = count(read.problems.len(), "entry", "entries");
        context.ui.hint(&format!("{entries} not stored: {FORM}"));
    }
    if !new.is_empty() {
        context
            .ui
            .hint("validate pending learnings with `ralph learnings validate`");
    }
    Ok(())
}

/// Fails if no entry can be staged. Otherwise the valid entries are staged and the others are reported.
fn refuse_useless(named: &str, read: &ReadLearnings) -> Result<(), CommandError> {
    let [first, others @ ..] = read.problems.as_slice() else {
        return Ok(());
    };
    if !read.learnings.is_empty() {
        return Ok(());
    }
    let more = match others.len() {
        0 => String::new(),
        more => format!("; {} rejected too", count(more, "other entry", "other entries")),
    };
    let number = first.number;
    let error = CommandError::new(format!("{named}: entry {number}: {}{more}", first.why));
    Err(error.hint(format!("{FORM}; nothing was staged")))
}

fn show(context: &Context<'_>, args: &StageArgs) -> Result<(), CommandError> {
    let filter = LearningFilter {
        statuses: STAGED.to_vec(),
        ..LearningFilter::default()
    };
    let (stats, staged) = match context.facts()? {
        Some(store) => (store.learning_stats()?, store.learning_list(&filter, None)?),
        None => (LearningStats::default(), Vec::new()),
    };
    let staging = Staging::of(&stats);
    if args.json {
        let mut whole = json!(staging);
        if let Some(object) = whole.as_object_mut() {
            object.insert("staged".to_owned(), json!(staged));
        }
        return context.ui.json(&whole);
    }
    if staged.is_empty() {
        return context.ui.data("Nothing is staged.\n");
    }
    let rows: Vec<Vec<String>> = staged.iter().map(row).collect();
    context
        .ui
        .table(&COLUMNS, &rows, &format!("Staged {}", staging.sentence()))
}

fn row(learning: &Learning) -> Vec<String> {
    vec![
        learning.id.to_string(),
        learning.status.word().to_owned(),
        learning.kind.word().to_owned(),
        learning.reason.as_deref().map(in_short).unwrap_or_default(),
        view::text(learning),
    ]
}
