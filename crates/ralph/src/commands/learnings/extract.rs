//! `learnings extract`: what a whole run teaches, drawn once more or from a file.

use std::path::Path;

use clap::Args;
use ralph_memory::capture::read_loop_history;
use ralph_memory::learn::{draw, learn_from};
use ralph_model::{Candidate, DrawnLesson, Extraction, LearningContent, RunHistory, RunId, count, with_figures};
use ralph_store::{Run, Store};
use serde_json::{Value, json};

use super::super::journal::find_run;
use super::super::run::confirmed_config;
use super::super::run::upkeep_words::known;
use super::super::task::{in_short, store_to_write};
use super::view;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};
use crate::text_file::read_text;

/// Draw what a whole run teaches: strategies, anti-patterns, estimates and conventions
///
/// Every run does so when it ends. What a run has taught already does not grow by asking again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings extract run-1a2b3c4d --dry-run
  ralph learnings extract 1a2b
  ralph learnings extract --from state.json  # what `journal export` writes
  ralph learnings extract --from .aiwg/ralph-external")]
pub(crate) struct ExtractArgs {
    /// The run, by its id or the beginning of it
    #[arg(value_name = "RUN", required_unless_present = "from")]
    run: Option<String>,
    /// Loop history instead of a run on record: a file, a folder with a state.json, or `-` for standard input
    #[arg(long, value_name = "PATH", conflicts_with = "run")]
    from: Option<String>,
    /// Only say what would be drawn
    #[arg(long)]
    dry_run: bool,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

const COLUMNS: [Column; 5] = [
    Column {
        title: "KIND",
        fit: Fit::Whole,
    },
    Column {
        title: "WORK",
        fit: Fit::Optional,
    },
    Column {
        title: "CONFIDENCE",
        fit: Fit::Optional,
    },
    Column {
        title: "REJECTED",
        fit: Fit::Optional,
    },
    view::TEXT,
];

pub(super) fn cmd_extract(context: &Context<'_>, args: &ExtractArgs) -> Result<(), CommandError> {
    let history = match (&args.from, &args.run) {
        (Some(file), _) => read_history(context, file, args)?,
        (None, Some(run)) => history_of(context, run, args)?,
        (None, None) => return Err(CommandError::usage("a run, or a file, says what to learn from")),
    };
    if args.dry_run {
        return show(context, &history, &draw(&history), args);
    }
    let promote = confirmed_config(context)?.learning.promote;
    let mut store = store_to_write(context)?;
    let now = context.clock().now();
    let done = context.with_entropy(|entropy| learn_from(&mut store, &history, promote, entropy, now))?;
    context.tell_unreadable(&store);
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

/// Where a folder of the earlier tool has its loop history: in itself, or below the folder of a project.
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
    // It may be of a run on record that goes on.
    if let Some(id) = RunId::parse(&history.loop_id)
        && let Some(store) = context.facts()?
        && let Some(run) = store.run(&id)?
    {
        refuse_one_that_goes_on(&run, args)?;
    }
    Ok(history)
}

/// A run that is not over may teach more than it does now, and teaches only once.
fn refuse_one_that_goes_on(run: &Run, args: &ExtractArgs) -> Result<(), CommandError> {
    if args.dry_run || run.ended.is_some() {
        return Ok(());
    }
    Err(CommandError::new(format!("{} is not over", run.begun.id)).hint(
        "its lessons are drawn when it ends, or by the next `ralph run` if it was killed; `--dry-run` shows them",
    ))
}

/// A run on record.
fn history_of(context: &Context<'_>, text: &str, args: &ExtractArgs) -> Result<RunHistory, CommandError> {
    let unknown = || {
        CommandError::new(format!("there is no run {text:?}"))
            .hint("the id of a run looks like run-1a2b3c4d; `ralph journal list` shows them")
    };
    let store: Store = context.facts()?.ok_or_else(unknown)?;
    let id = find_run(&store, text)?;
    let run = store.run(&id)?;
    let history = store.run_history(&id)?;
    match run {
        // What was taken over from another tool has rows, and no run.
        None if history.iterations.is_empty() => return Err(unknown()),
        None => {}
        Some(run) => refuse_one_that_goes_on(&run, args)?,
    }
    Ok(history)
}

/// Says what would be drawn.
fn show(
    context: &Context<'_>,
    history: &RunHistory,
    drawn: &[DrawnLesson],
    args: &ExtractArgs,
) -> Result<(), CommandError> {
    let store = context.facts()?;
    let was_drawn = store.map_or(Ok(false), |store| store.was_drawn_from(&history.loop_id))?;
    if args.json {
        let lessons: Vec<Value> = drawn.iter().map(as_json).collect();
        return context
            .ui
            .json(&json!({ "run": history.loop_id, "drawn_before": was_drawn, "lessons": lessons }));
    }
    if drawn.is_empty() {
        return context.ui.data(&format!("{} teaches nothing.\n", history.loop_id));
    }
    let rows: Vec<Vec<String>> = drawn.iter().map(row).collect();
    let learnings = count(drawn.len(), "learning", "learnings");
    let closing = match was_drawn {
        true => format!("{learnings}; they were drawn before, and what is still known of them would be skipped"),
        false => format!("{learnings} would be drawn"),
    };
    context.ui.table(&COLUMNS, &rows, &closing)
}

fn row(lesson: &DrawnLesson) -> Vec<String> {
    vec![
        lesson.kind.word().to_owned(),
        lesson.task_type.word().to_owned(),
        format!("{:.2}", lesson.confidence),
        rejection(lesson).unwrap_or_default().to_owned(),
        in_short(&with_figures(&lesson.content, Some(&lesson.facts))),
    ]
}

fn rejection(lesson: &DrawnLesson) -> Option<&'static str> {
    Candidate::from(lesson).rejection()
}

/// A learning as all are written, without what it gets when it is stored.
fn as_json(lesson: &DrawnLesson) -> Value {
    json!({
        "type": lesson.kind,
        "taskType": lesson.task_type,
        "content": LearningContent {
            kind: lesson.kind,
            description: &lesson.content,
            facts: Some(&lesson.facts),
        },
        "confidence": lesson.confidence,
        "successRate": lesson.success_rate,
        "tags": lesson.tags,
        "rejection": rejection(lesson),
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
