//! `learnings stage`: hands in candidates to be judged, and shows what waits.

use clap::Args;
use ralph_memory::exchange::{ReadLessons, read_candidates};
use ralph_memory::recall::keep_foreign;
use ralph_model::{Learning, LearningStatus, count};
use ralph_store::{LearningFilter, LearningStats, Taken, TakenLearning};
use serde_json::{Value, json};

use super::super::task::{in_short, store_to_write};
use super::stats::Staging;
use super::view;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};
use crate::text_file::read_text;

/// Hand in learnings to be judged, or show those that wait
///
/// A file holds one object or a list of objects as JSON, in the form of the earlier tool:
/// {"type": "strategy", "taskType": "test-fix", "content": {"description": "…"}, "confidence": 0.85, "successRate": 0.85,
/// "sourceLoops": ["ralph-001"]}. What is handed in is pending: `ralph learnings validate` judges it, and `ralph learnings
/// promote` says that it holds. What is known already is left as it is. An entry that is no learning is rejected with the reason,
/// and the others go on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings stage                    # what waits, and what was rejected
  ralph learnings stage candidates.json
  jq .learnings other.json | ralph learnings stage -
  ralph learnings validate && ralph learnings promote --all    # what was staged")]
pub(crate) struct StageArgs {
    /// The file; `-` reads standard input. Without one the staging area is shown
    #[arg(value_name = "FILE")]
    file: Option<String>,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

const COLUMNS: [Column; 5] = [
    Column {
        title: "ID",
        fit: Fit::Whole,
    },
    Column {
        title: "STATUS",
        fit: Fit::Whole,
    },
    Column {
        title: "TYPE",
        fit: Fit::Optional,
    },
    Column {
        title: "WHY",
        fit: Fit::Optional,
    },
    view::TEXT,
];

/// What an entry has to be.
const FORM: &str =
    "an entry is an object with \"type\" (strategy, antipattern, estimate or convention), \"taskType\" and \"content\"";

/// What is in the staging area.
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
    // Beside another tool's database nothing is made, not even a folder.
    context.facts()?;
    let mut store = store_to_write(context)?;
    let staged = context.with_entropy(|entropy| {
        keep_foreign(&mut store, &read.lessons, |store, lessons| {
            store.stage_learnings(lessons, entropy, now)
        })
    })?;
    context.tell_unreadable(&store);
    if read.masked > 0 {
        let lessons = count(read.masked, "learning holds", "learnings hold");
        context
            .ui
            .warning(&format!("{lessons} what looks like a secret; it is kept without it."));
    }
    tell_staged(context, args, &staged, &read)
}

fn tell_staged(
    context: &Context<'_>,
    args: &StageArgs,
    staged: &[TakenLearning],
    read: &ReadLessons,
) -> Result<(), CommandError> {
    let (new, known): (Vec<_>, Vec<_>) = staged.iter().partition(|lesson| lesson.taken == Taken::Added);
    if args.json {
        let rejected: Vec<Value> = read
            .problems
            .iter()
            .map(|problem| json!({ "entry": problem.number, "reason": problem.why }))
            .collect();
        let ids =
            |lessons: &[&TakenLearning]| -> Vec<Value> { lessons.iter().map(|lesson| json!(lesson.id)).collect() };
        return context.ui.json(&json!({
            "staged": new.len(),
            "skipped": known.len(),
            "ids": ids(&new),
            "known": ids(&known),
            "rejected": rejected,
        }));
    }
    for lesson in &known {
        context
            .ui
            .status(&format!("{} says it already, and is {}.", lesson.id, lesson.status));
    }
    for lesson in &new {
        match &lesson.reason {
            Some(reason) => context
                .ui
                .result("❌", &format!("Learning rejected: {}: {reason}", lesson.id))?,
            None => context.ui.result("📝", &format!("Learning staged: {}", lesson.id))?,
        }
    }
    for problem in &read.problems {
        let line = format!("Learning rejected: entry {} ({})", problem.number, problem.why);
        context.ui.result("❌", &line)?;
    }
    if !read.problems.is_empty() {
        let entries = count(read.problems.len(), "entry is", "entries are");
        context.ui.hint(&format!("{entries} not on record: {FORM}."));
    }
    if !new.is_empty() {
        context.ui.hint("`ralph learnings validate` judges what is pending.");
    }
    Ok(())
}

/// A file of which nothing can be staged is refused; of any other the rest is staged, and what is wrong with an entry is told.
fn refuse_useless(named: &str, read: &ReadLessons) -> Result<(), CommandError> {
    let [first, others @ ..] = read.problems.as_slice() else {
        return Ok(());
    };
    if !read.lessons.is_empty() {
        return Ok(());
    }
    let more = match others.len() {
        0 => String::new(),
        more => format!("; so it is with {}", count(more, "other entry", "other entries")),
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
        Some(store) => {
            let staged = (store.learning_stats()?, store.learning_list(&filter, None)?);
            context.tell_unreadable(&store);
            staged
        }
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
