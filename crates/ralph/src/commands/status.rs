//! `ralph status`, and `ralph` without arguments: what happened since the user last looked, what needs attention, and
//! the next command, on one screen.

mod news;
mod note_counts;
mod open_runs;

use std::cmp::Reverse;

use clap::Args;
use jiff::Timestamp;
use ralph_memory::learn::conflicts;
use ralph_model::{Feature, FeatureStatus, TaskStatus, count, format_timestamp};
use ralph_store::{LastSeen, Overview, Rollback, Run, Store, StoreError, Wait};
use serde_json::json;

use crate::commands::feature;
use crate::commands::rollback::finishing_command;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths;
use crate::recorded_prompt;
use crate::ui::Style;
use crate::wrap::hung;
use note_counts::NoteCounts;
use open_runs::RunState;

/// Show recent results, what needs attention, and the next command
///
/// `ralph` without arguments does the same. Output at a terminal counts as seen; output to a program does not.
#[derive(Debug, Args, Default)]
#[command(after_help = "Examples:
  ralph status
  ralph                          # the same
  ralph status --json            # for programs; does not count as seen
  ralph status --seen > news.txt # counts as seen")]
pub(crate) struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Count this output as seen; the next status shows only what is new
    #[arg(long)]
    seen: bool,
}

impl StatusArgs {
    /// Whether it changes anything, which is only what counts as seen.
    pub(crate) fn changes(&self) -> bool {
        self.seen
    }
}

struct Status {
    notes: NoteCounts,
    /// Results of runs; none without a database.
    overview: Option<Overview>,
    /// Pairs of conflicting learnings; none if there are too many learnings to compare here.
    conflicts: Option<usize>,
    /// Learnings that cannot be read.
    look: Option<LastSeen>,
    features: Vec<Feature>,
    /// Problems with the recorded prompts since the last look.
    prompts: Vec<String>,
    /// Targets of interrupted rollbacks, with the commands that finish them.
    interrupted_rollbacks: Vec<(String, String)>,
    next: Next,
}

/// The suggested command, and what it does.
struct Next {
    command: &'static str,
    does: &'static str,
}

pub(crate) fn cmd_status(context: &Context<'_>, args: &StatusArgs) -> Result<(), CommandError> {
    let notes = NoteCounts::read(context)?;
    let (mut store, database) = open(context)?;
    let worktree = context.project.worktree_name();
    let (look, overview, features) = match &store {
        Some(store) => {
            let look = store.last_seen(worktree)?;
            let since = look.as_ref().map_or(0, |look| look.journal);
            let overview = store.overview(since, worktree)?;
            (look, Some(overview), store.features()?)
        }
        None => (None, None, Vec::new()),
    };
    let since = look.as_ref().map_or(0, |look| look.journal);
    let prompts = match &store {
        Some(store) => recorded_prompt::warnings_since(context, store, since)?,
        None => Vec::new(),
    };
    let rollbacks = store
        .as_ref()
        .map_or(Ok(Vec::new()), |store| store.rollbacks(worktree))?;
    let interrupted = |each: &Rollback| Some((each.target.to_string(), finishing_command(each)?));
    let conflicts = store.as_ref().map_or(Ok(Some(0)), conflict_count)?;
    let status = Status {
        conflicts,
        next: match database {
            Database::AnotherTools => Next {
                command: "ralph import refound --dry-run",
                does: "preview what can be imported",
            },
            Database::OursOrNone => next(context, &notes, overview.as_ref(), conflicts),
        },
        notes,
        overview,
        look,
        features,
        prompts,
        interrupted_rollbacks: rollbacks.iter().filter_map(interrupted).collect(),
    };
    if args.json {
        context.ui.json(&as_json(context, &status))?;
    } else {
        context.ui.data(&as_text(context, &status))?;
    }
    let is_seen = args.seen || (context.ui.is_terminal() && !args.json);
    if let (true, Some(store), Some(overview)) = (is_seen, &mut store, &status.overview) {
        let look = LastSeen {
            journal: overview.last_journal,
            at: context.clock().now(),
        };
        if let Err(error) = store.put_last_seen(worktree, &look) {
            context
                .ui
                .warning(&format!("Cannot record that you have seen this: {error}."));
        }
    }
    Ok(())
}

/// Opens the database for reading; none if it does not exist, or if it cannot be opened, with a warning.
fn open(context: &Context<'_>) -> Result<(Option<Store>, Database), CommandError> {
    Ok(
        match Store::open_for_reading(&context.project.fact_store(), Wait::Brief) {
            Ok(store) => (store, Database::OursOrNone),
            Err(error @ StoreError::Lost { .. }) => return Err(error.into()),
            Err(error) => {
                context
                    .ui
                    .warning(&format!("Cannot show the results of runs: {error}."));
                match error {
                    StoreError::Foreign { .. } => {
                        context.hint_at_import();
                        (None, Database::AnotherTools)
                    }
                    _ => (None, Database::OursOrNone),
                }
            }
        },
    )
}

/// Whether a run without a recorded end is still running.
pub(crate) fn is_live(run: &Run, now: Timestamp) -> bool {
    RunState::of(run, now) == RunState::Live
}

/// Who owns the file at the path of our database.
#[derive(Clone, Copy)]
enum Database {
    OursOrNone,
    AnotherTools,
}

/// Up to this many learnings are compared for the status; `review` compares all.
const MAX_COMPARED: u32 = 1000;

/// How many pairs of learnings conflict; none if there are too many to compare.
fn conflict_count(store: &Store) -> Result<Option<usize>, CommandError> {
    match store.learnings_to_compare()? > MAX_COMPARED {
        true => Ok(None),
        false => Ok(Some(conflicts(store)?.len())),
    }
}

fn next(context: &Context<'_>, notes: &NoteCounts, overview: Option<&Overview>, conflicts: Option<usize>) -> Next {
    let waiting_learnings = overview.map_or(0, |overview| overview.waiting_learnings);
    let proposals = overview.map_or(0, |overview| overview.proposals);
    let open_tasks = overview.is_some_and(|overview| overview.tasks.contains_key(&TaskStatus::Pending));
    let worktree = context.project.worktree_name();
    let exists = |state: RunState| state.exists(overview, worktree, context.clock().now());
    let (command, does) = if overview.is_some_and(|overview| !overview.waiting.is_empty()) {
        ("ralph review", "see why it failed and what helps")
    } else if overview.is_some_and(|overview| !overview.unverified.is_empty()) {
        ("ralph review", "accept or reopen unverified tasks")
    } else if exists(RunState::Live) {
        ("ralph journal list", "see what the run has done so far")
    } else if exists(RunState::Killed) {
        ("ralph run", "resume the killed run")
    } else if open_tasks {
        ("ralph run", "continue with the open tasks")
    } else if overview.is_some_and(|overview| overview.to_review > 0) {
        ("ralph review", "review the code of finished tasks")
    } else if waiting_learnings > 0 || proposals > 0 || conflicts.is_some_and(|pairs| pairs > 0) {
        ("ralph review", "decide what needs review")
    } else if !context.project.root.join(paths::CONFIG).exists() {
        ("ralph init", "set up this project")
    } else if notes.counted.is_empty() {
        ("ralph remember \"TEXT\"", "save your first note")
    } else {
        ("ralph recall \"TEXT\"", "search memory")
    };
    Next { command, does }
}

/// Prefix of branches with work that could not land on the user's branch.
const LANDED: &str = "ralph/landed-";
/// How many tasks are listed under a heading.
const MAX_NAMED: usize = 3;
/// The rows of a screen.
const ROWS: usize = 24;

/// The status, with fewer tasks listed if it would not fit on one screen.
fn as_text(context: &Context<'_>, status: &Status) -> String {
    let width = context.ui.width().max(1);
    let columns = width.saturating_sub(GAP.len()).max(1);
    let rows = |lines: &[(&str, String)]| -> usize { lines.iter().map(|(_, line)| hung(line, columns).len()).sum() };
    let mut lines = lines(context, status, MAX_NAMED);
    for named in (0..MAX_NAMED).rev() {
        if rows(&lines) <= ROWS {
            break;
        }
        lines = self::lines(context, status, named);
    }
    let mut text = String::new();
    for (title, line) in lines {
        let titles = std::iter::once(title).chain(std::iter::repeat(""));
        for (title, row) in titles.zip(hung(&line, columns)) {
            let gap = GAP.get(title.len()..).unwrap_or_default();
            text.push_str(&format!("{}{gap}{row}\n", context.ui.paint(Style::Strong, title)));
        }
    }
    text
}

const GAP: &str = "         ";

/// The lines with their headings; `named` is how many tasks are listed under a heading.
fn lines(context: &Context<'_>, status: &Status, named: usize) -> Vec<(&'static str, String)> {
    let mut lines = vec![("Project", context.project.root.display().to_string())];
    if let Some(overview) = &status.overview {
        let now = context.clock().now();
        let worktree = context.project.worktree_name();
        lines.extend(news::lines(
            (overview, status.look.as_ref(), status.conflicts),
            worktree,
            named,
            now,
        ));
    }
    let landed = context.project.worktree.iter().flat_map(|tree| tree.branches(LANDED));
    lines.extend(landed.map(|branch| ("Landed", format!("on {branch}; merge it with `git merge {branch}`"))));
    let more = news::more(status.prompts.len(), MAX_NAMED);
    let prompts = status.prompts.iter().take(MAX_NAMED).cloned().chain(more);
    lines.extend(titled("Changed", prompts));
    let interrupted = status.interrupted_rollbacks.iter();
    let interrupted = interrupted.map(|(what, command)| format!("{what} was interrupted; finish it with `{command}`"));
    lines.extend(titled("Rollback", interrupted));
    lines.extend(features(&status.features, named));
    let none_yet = status.notes.counted.is_empty().then(|| "none yet".to_owned());
    let notes = status.notes.counted.iter().cloned().chain(none_yet);
    lines.extend(titled("Notes", notes));
    lines.extend(status.notes.missing.iter().map(|missing| ("Missing", missing.clone())));
    let Next { command, does } = status.next;
    lines.push(("Next", format!("{command}    # {does}")));
    lines
}

/// The features that are not done; `named` of them are listed.
fn features(all: &[Feature], named: usize) -> Vec<(&'static str, String)> {
    let mut open: Vec<&Feature> = all
        .iter()
        .filter(|feature| feature.status != FeatureStatus::Done)
        .collect();
    // Features in progress or failed come before those not started; then the latest change.
    open.sort_by_key(|feature| (feature.status == FeatureStatus::Pending, Reverse(feature.updated_at)));
    let names = open.iter().take(named).map(|feature| {
        let (name, progress) = (&feature.name, feature::progress(&feature.tasks));
        let failed = if feature.status == FeatureStatus::Failed {
            ", failed"
        } else {
            ""
        };
        format!("{name}: {progress}{failed}")
    });
    let more = match open.len().saturating_sub(named) {
        0 => None,
        more if named == 0 => Some(count(more, "is not done", "are not done")),
        more => Some(format!("and {more} more")),
    };
    titled("Features", names.chain(more))
}

/// Adds the title to the first line.
fn titled(title: &'static str, lines: impl IntoIterator<Item = String>) -> Vec<(&'static str, String)> {
    lines
        .into_iter()
        .enumerate()
        .map(|(at, line)| (if at == 0 { title } else { "" }, line))
        .collect()
}

fn as_json(context: &Context<'_>, status: &Status) -> serde_json::Value {
    let notes: serde_json::Map<String, serde_json::Value> = status
        .notes
        .numbers
        .iter()
        .map(|(kind, notes)| ((*kind).to_owned(), json!(notes)))
        .collect();
    let now = context.clock().now();
    json!({
        "project": context.project.root.display().to_string(),
        "last_look": status.look.as_ref().map(|look| format_timestamp(look.at)),
        "runs": status.overview.as_ref().map(|overview| news::as_json(overview, now)),
        "contradictions": status.conflicts,
        "prompt_warnings": status.prompts,
        "interrupted_rollbacks": status.interrupted_rollbacks.iter().map(|(_, command)| command).collect::<Vec<_>>(),
        "features": status.features,
        "notes": notes,
        "next": status.next.command,
    })
}
