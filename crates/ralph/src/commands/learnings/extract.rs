//! `learnings extract`: extracts learnings from a recorded run or from a file.

use std::path::Path;

use clap::Args;
use ralph_memory::capture::read_loop_history;
use ralph_memory::learn::{extract_learnings, learn_from};
use ralph_model::{Candidate, ExtractedLearning, Extraction, LearningContent, RunHistory, RunId, count, with_figures};
use ralph_store::{Run, Store};
use serde_json::{Value, json};

use super::super::journal::find_run;
use super::super::run::confirmed_config;
use super::super::task::{in_short, store_to_write};
use super::view;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;
use crate::text_file::read_text;

/// Extract strategies, anti-patterns, estimates and conventions from a run
///
/// Every run does this when it ends. Extracting again from the same run adds no further evidence.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings extract run-1a2b3c4d --dry-run
  ralph learnings extract 1a2b
  ralph learnings extract --from state.json  # what `journal export` writes
  ralph learnings extract --from .aiwg/ralph-external")]
pub(crate) struct ExtractArgs {
    /// Run id, or a unique prefix
    #[arg(value_name = "RUN", required_unless_present = "from")]
    run: Option<String>,
    /// Loop history to read instead of a recorded run: a file, a folder with a state.json, or `-` for standard input
    #[arg(long, value_name = "PATH", conflicts_with = "run")]
    from: Option<String>,
    /// Show what would be extracted without storing it
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

const COLUMNS: [Column; 5] = [
    Column::whole("KIND"),
    Column::optional("WORK"),
    Column::optional("CONFIDENCE"),
    Column::optional("REJECTED"),
    view::TEXT,
];

pub(super) fn cmd_extract(context: &Context<'_>, args: &ExtractArgs) -> Result<(), CommandError> {
    let history = match (&args.from, &args.run) {
        (Some(file), _) => read_history(context, file, args)?,
        (None, Some(run)) => history_of(context, run, args)?,
        (None, None) => return Err(CommandError::usage("name a run, or a file with --from")),
    };
    if args.dry_run {
        return show(context, &history, &extract_learnings(&history), args);
    }
    let promote = confirmed_config(context)?.learning.promote;
    let mut store = store_to_write(context)?;
    let now = context.clock().now();
    let done = context.with_entropy(|entropy| learn_from(&mut store, &history, promote, entropy, now))?;
    if args.json {
        return context.ui.json(&summary(&history, done));
    }
    context.ui.data(&format!(
        "Extracted: {}\nValidated: {}\nRejected:  {}\nPromoted:  {}{}\nSkipped:   {}\n",
        count(done.extracted as usize, "learning", "learnings"),
        done.validated,
        done.rejected,
        done.promoted,
        known(&done),
        done.skipped,
    ))
}

/// A suffix with the number of promoted learnings that were already known; empty if there are none.
pub(crate) fn known(done: &Extraction) -> String {
    match done.known {
        0 => String::new(),
        known => format!(" ({known} already known)"),
    }
}

/// Where the other tool keeps its loop history, relative to its own folder or to the project.
const HISTORIES: [&str; 3] = [
    "state.json",
    "ralph-external/state.json",
    ".aiwg/ralph-external/state.json",
];

fn read_history(context: &Context<'_>, path: &str, args: &ExtractArgs) -> Result<RunHistory, CommandError> {
    let in_folder = HISTORIES
        .iter()
        .map(|name| Path::new(path).join(name))
        .find(|file| file.is_file());
    let file = &in_folder.map_or_else(|| path.to_owned(), |file| file.to_string_lossy().into_owned());
    let text = read_text(context, file)?;
    let history = read_loop_history(&text).map_err(|error| {
        CommandError::new(error.to_string())
            .about(file)
            .hint("a loop history has a loopId, an objective and iterations; `ralph journal export` writes one")
    })?;
    // The history may belong to a recorded run that is still going.
    if let Some(id) = RunId::parse(&history.loop_id)
        && let Some(store) = context.facts()?
        && let Some(run) = store.run(&id)?
    {
        refuse_unfinished(&run, args)?;
    }
    Ok(history)
}

/// Refuses an unfinished run: learnings are extracted once, so extracting too early would lose some.
fn refuse_unfinished(run: &Run, args: &ExtractArgs) -> Result<(), CommandError> {
    if args.dry_run || run.ended.is_some() {
        return Ok(());
    }
    Err(CommandError::new(format!("{} has not ended", run.begun.id)).hint(
        "learnings are extracted when the run ends, or by the next `ralph run` if it was killed; use --dry-run to preview",
    ))
}

fn history_of(context: &Context<'_>, text: &str, args: &ExtractArgs) -> Result<RunHistory, CommandError> {
    let unknown = || {
        CommandError::new(format!("there is no run {text:?}"))
            .hint("run ids look like run-1a2b3c4d; list them with `ralph journal list`")
    };
    let store: Store = context.facts()?.ok_or_else(unknown)?;
    let id = find_run(&store, text)?;
    let run = store.run(&id)?;
    let history = store.run_history(&id)?;
    match run {
        // Imported history has journal rows but no run.
        None if history.iterations.is_empty() => return Err(unknown()),
        None => {}
        Some(run) => refuse_unfinished(&run, args)?,
    }
    Ok(history)
}

/// Shows what would be extracted.
fn show(
    context: &Context<'_>,
    history: &RunHistory,
    drawn: &[ExtractedLearning],
    args: &ExtractArgs,
) -> Result<(), CommandError> {
    let store = context.facts()?;
    let was_drawn = store.map_or(Ok(false), |store| store.has_extraction(&history.loop_id))?;
    if args.json {
        let learnings: Vec<Value> = drawn.iter().map(as_json).collect();
        return context
            .ui
            .json(&json!({ "run": history.loop_id, "drawn_before": was_drawn, "learnings": learnings }));
    }
    if drawn.is_empty() {
        return context.ui.data(&format!("{} has no learnings.\n", history.loop_id));
    }
    let rows: Vec<Vec<String>> = drawn.iter().map(row).collect();
    let learnings = count(drawn.len(), "learning", "learnings");
    let closing = match was_drawn {
        true => format!("{learnings}; already extracted before, so known ones would be skipped"),
        false => format!("{learnings} would be extracted"),
    };
    context.ui.table(&COLUMNS, &rows, &closing)
}

fn row(learning: &ExtractedLearning) -> Vec<String> {
    vec![
        learning.kind.word().to_owned(),
        learning.task_type.word().to_owned(),
        format!("{:.2}", learning.confidence),
        rejection(learning).unwrap_or_default().to_owned(),
        in_short(&with_figures(&learning.content, Some(&learning.facts))),
    ]
}

fn rejection(learning: &ExtractedLearning) -> Option<&'static str> {
    Candidate::from(learning).rejection()
}

/// The JSON form of a learning, without the fields set when it is stored.
fn as_json(learning: &ExtractedLearning) -> Value {
    json!({
        "type": learning.kind,
        "taskType": learning.task_type,
        "content": LearningContent {
            kind: learning.kind,
            description: &learning.content,
            facts: Some(&learning.facts),
        },
        "confidence": learning.confidence,
        "successRate": learning.success_rate,
        "tags": learning.tags,
        "rejection": rejection(learning),
    })
}

fn summary(history: &RunHistory, done: Extraction) -> Value {
    json!({
        "run": history.loop_id,
        "extracted": done.extracted,
        "validated": done.validated,
        "rejected": done.rejected,
        "promoted": done.promoted,
        "known": done.known,
        "skipped": done.skipped,
    })
}
