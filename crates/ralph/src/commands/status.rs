//! `ralph status`, and `ralph` alone: what happened since you last looked, what waits for you, and the next sensible
//! command, on one screen.

mod news;
mod open_runs;
mod shelves;

use std::cmp::Reverse;

use clap::Args;
use jiff::Timestamp;
use ralph_memory::learn::conflicts;
use ralph_model::{Feature, FeatureStatus, TaskStatus, count, moment_text};
use ralph_store::{Look, Overview, Rollback, Run, Store, StoreError, Wait};
use serde_json::json;

use crate::commands::feature;
use crate::commands::rollback::finishing_command;
use crate::context::Context;
use crate::error::CommandError;
use crate::kept_prompt;
use crate::paths;
use crate::ui::Style;
use crate::wrap::hung;
use open_runs::RunState;
use shelves::Shelves;

/// Show what happened since you last looked, what waits for you, and what to do next
///
/// `ralph` alone does the same. What is shown at a terminal counts as seen; what is read by a program does not.
#[derive(Debug, Args, Default)]
#[command(after_help = "Examples:
  ralph status
  ralph                          # the same
  ralph status --json            # for programs; the next look still shows it
  ralph status --seen > news.txt # this one counts as a look")]
pub(crate) struct StatusArgs {
    /// Print it for programs
    #[arg(long)]
    json: bool,
    /// Count this as a look: the next one shows only what is new since
    #[arg(long)]
    seen: bool,
}

impl StatusArgs {
    /// Whether it changes something: what a person has seen.
    pub(crate) fn changes(&self) -> bool {
        self.seen
    }
}

/// What is shown.
struct Status {
    shelves: Shelves,
    /// What runs have done; none without a database.
    overview: Option<Overview>,
    /// How many pairs of lessons contradict each other; none where there are too many lessons to compare for a glance.
    contradictions: Option<usize>,
    /// How many learnings were met that cannot be read.
    unreadable: usize,
    /// When somebody last looked.
    look: Option<Look>,
    features: Vec<Feature>,
    /// What is wrong with the recorded prompts since then.
    prompts: Vec<String>,
    /// What was to be rolled back, and the command that finishes it.
    interrupted_rollbacks: Vec<(String, String)>,
    next: String,
}

pub(crate) fn cmd_status(context: &Context<'_>, args: &StatusArgs) -> Result<(), CommandError> {
    let shelves = Shelves::look(context)?;
    let (mut store, database) = open(context)?;
    let worktree = context.project.worktree_name();
    let (look, overview, features) = match &store {
        Some(store) => {
            let look = store.last_look(worktree)?;
            let since = look.as_ref().map_or(0, |look| look.journal);
            let overview = store.overview(since, worktree)?;
            (look, Some(overview), store.features()?)
        }
        None => (None, None, Vec::new()),
    };
    let since = look.as_ref().map_or(0, |look| look.journal);
    let prompts = match &store {
        Some(store) => kept_prompt::warnings_since(context, store, since)?,
        None => Vec::new(),
    };
    let rollbacks = store
        .as_ref()
        .map_or(Ok(Vec::new()), |store| store.rollbacks(worktree))?;
    let interrupted = |each: &Rollback| Some((each.target.to_string(), finishing_command(each)?));
    let contradictions = store.as_ref().map_or(Ok(Some(0)), contradictions)?;
    let status = Status {
        contradictions,
        unreadable: store.as_ref().map_or(Ok(0), unreadable)?,
        next: match database {
            Database::AnotherTools => "ralph import refound --dry-run    # what could be taken over".to_owned(),
            Database::OursOrNone => next(context, &shelves, overview.as_ref(), contradictions),
        },
        shelves,
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
        let look = Look {
            journal: overview.last_journal,
            at: context.clock().now(),
        };
        if let Err(error) = store.put_look(worktree, &look) {
            context
                .ui
                .warning(&format!("That you have seen this could not be noted: {error}."));
        }
    }
    Ok(())
}

/// The database; none where there is none, and none where it cannot be had, which is said. Nothing is made.
fn open(context: &Context<'_>) -> Result<(Option<Store>, Database), CommandError> {
    Ok(match Store::open_to_read(&context.project.fact_store(), Wait::Brief) {
        Ok(store) => (store, Database::OursOrNone),
        Err(error @ StoreError::Lost { .. }) => return Err(error.into()),
        Err(error) => {
            context
                .ui
                .warning(&format!("What runs have done is not shown: {error}."));
            match error {
                StoreError::Foreign { .. } => {
                    context.hint_at_import();
                    (None, Database::AnotherTools)
                }
                _ => (None, Database::OursOrNone),
            }
        }
    })
}

/// Whether a run that has no end on record goes on.
pub(crate) fn is_live(run: &Run, now: Timestamp) -> bool {
    RunState::of(run, now) == RunState::Live
}

/// Whose database stands where ours is kept.
#[derive(Clone, Copy)]
enum Database {
    OursOrNone,
    AnotherTools,
}

/// So many lessons are compared with one another for a glance at the status; `review` compares all.
const MOST_COMPARED: u32 = 1000;

/// How many there are; none where so many lessons hold or wait that nobody has looked.
fn contradictions(store: &Store) -> Result<Option<usize>, CommandError> {
    match store.lessons_to_compare()? > MOST_COMPARED {
        true => Ok(None),
        false => Ok(Some(conflicts(store)?.len())),
    }
}

/// How many cannot be read. Where there are too many for a glance, only those are looked at that something else needs.
fn unreadable(store: &Store) -> Result<usize, CommandError> {
    if store.count_learnings()? <= u64::from(MOST_COMPARED) {
        store.note_unreadable_learnings()?;
    }
    Ok(store.newly_unreadable_learnings().len())
}

fn next(
    context: &Context<'_>,
    shelves: &Shelves,
    overview: Option<&Overview>,
    contradictions: Option<usize>,
) -> String {
    let waiting_lessons = overview.map_or(0, |overview| overview.waiting_learnings);
    let proposals = overview.map_or(0, |overview| overview.proposals);
    let open_tasks = overview.is_some_and(|overview| overview.tasks.contains_key(&TaskStatus::Pending));
    let worktree = context.project.worktree_name();
    let is_there = |state: RunState| state.is_there(overview, worktree, context.clock().now());
    if overview.is_some_and(|overview| !overview.waiting.is_empty()) {
        "ralph review    # why it failed, and what helps".to_owned()
    } else if overview.is_some_and(|overview| !overview.unverified.is_empty()) {
        "ralph review    # accept or reopen what is unverified".to_owned()
    } else if is_there(RunState::Live) {
        "ralph journal list    # what the run has done so far".to_owned()
    } else if is_there(RunState::Killed) {
        "ralph run    # pick up what was killed".to_owned()
    } else if open_tasks {
        "ralph run    # go on with the open tasks".to_owned()
    } else if overview.is_some_and(|overview| overview.to_review > 0) {
        "ralph review    # the code of the finished tasks".to_owned()
    } else if waiting_lessons > 0 || proposals > 0 || contradictions.is_some_and(|pairs| pairs > 0) {
        "ralph review    # what waits for your word".to_owned()
    } else if !context.project.root.join(paths::CONFIG).exists() {
        "ralph init    # set this project up".to_owned()
    } else if shelves.counted.is_empty() {
        "ralph remember \"TEXT\"    # keep the first note".to_owned()
    } else {
        "ralph recall \"TEXT\"    # what is known about it".to_owned()
    }
}

/// How the branches begin on which runs land that could not land on the user's branch.
const LANDED: &str = "ralph/landed-";
/// How many tasks are named under a heading, at most.
const MOST_NAMED: usize = 3;
/// The rows of a screen.
const ROWS: usize = 24;

/// The status on one screen: where it would be longer, fewer tasks are named.
fn as_text(context: &Context<'_>, status: &Status) -> String {
    let width = context.ui.width().max(1);
    let columns = width.saturating_sub(GAP.len()).max(1);
    let rows = |lines: &[(&str, String)]| -> usize { lines.iter().map(|(_, line)| hung(line, columns).len()).sum() };
    let mut lines = lines(context, status, MOST_NAMED);
    for named in (0..MOST_NAMED).rev() {
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

/// The columns of the headings.
const GAP: &str = "         ";

/// What is shown, line by line with its heading, with so many tasks named under one.
fn lines(context: &Context<'_>, status: &Status, named: usize) -> Vec<(&'static str, String)> {
    let mut lines = vec![("Project", context.project.root.display().to_string())];
    if let Some(overview) = &status.overview {
        let now = context.clock().now();
        let worktree = context.project.worktree_name();
        lines.extend(news::lines(
            (overview, status.look.as_ref(), status.contradictions),
            worktree,
            named,
            now,
        ));
    }
    let landed = context.project.worktree.iter().flat_map(|tree| tree.branches(LANDED));
    lines.extend(landed.map(|branch| ("Landed", format!("on {branch}; `git merge {branch}` takes it over"))));
    let more = news::more(status.prompts.len(), MOST_NAMED);
    let prompts = status.prompts.iter().take(MOST_NAMED).cloned().chain(more);
    lines.extend(titled("Changed", prompts));
    let interrupted = status.interrupted_rollbacks.iter();
    let interrupted = interrupted.map(|(what, command)| format!("{what} was interrupted; `{command}` finishes it"));
    lines.extend(titled("Rollback", interrupted));
    if status.unreadable > 0 {
        let learnings = count(status.unreadable, "learning", "learnings");
        let line = format!("{learnings} cannot be read; `ralph learnings verify` tells what mends it");
        lines.push(("Damaged", line));
    }
    lines.extend(features(&status.features, named));
    let shelves = &status.shelves;
    let none_yet = shelves.counted.is_empty().then(|| "none yet".to_owned());
    let notes = shelves.counted.iter().cloned().chain(none_yet);
    lines.extend(titled("Notes", notes));
    lines.extend(shelves.gone.iter().map(|gone| ("Gone", gone.clone())));
    lines.push(("Next", status.next.clone()));
    lines
}

/// The features that are not done, so many by name.
fn features(all: &[Feature], named: usize) -> Vec<(&'static str, String)> {
    let mut open: Vec<&Feature> = all
        .iter()
        .filter(|feature| feature.status != FeatureStatus::Done)
        .collect();
    // What somebody is at, or has to see to, before what nobody has begun; then what changed last.
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

/// Lines of which the first has a title.
fn titled(title: &'static str, lines: impl IntoIterator<Item = String>) -> Vec<(&'static str, String)> {
    lines
        .into_iter()
        .enumerate()
        .map(|(at, line)| (if at == 0 { title } else { "" }, line))
        .collect()
}

fn as_json(context: &Context<'_>, status: &Status) -> serde_json::Value {
    let notes: serde_json::Map<String, serde_json::Value> = status
        .shelves
        .numbers
        .iter()
        .map(|(shelf, notes)| ((*shelf).to_owned(), json!(notes)))
        .collect();
    let now = context.clock().now();
    json!({
        "project": context.project.root.display().to_string(),
        "last_look": status.look.as_ref().map(|look| moment_text(look.at)),
        "runs": status.overview.as_ref().map(|overview| news::as_json(overview, now)),
        "contradictions": status.contradictions,
        "unreadable_learnings": status.unreadable,
        "prompt_warnings": status.prompts,
        "interrupted_rollbacks": status.interrupted_rollbacks.iter().map(|(_, command)| command).collect::<Vec<_>>(),
        "features": status.features,
        "notes": notes,
        "next": status.next.split_once("    #").map_or(status.next.as_str(), |(command, _)| command),
    })
}
