//! `ralph rollback`: takes back what memory got from an iteration or a run.

use clap::Args;
use ralph_memory::capture::{Notebook, PutBack, SecretPolicy};
use ralph_model::{RollbackState, Shelf, count, first_line, preview};
use ralph_notes::Knowledge;
use ralph_store::{
    Kept, LoggedEntry, NoteStep, Rollback, RollbackPlan, RollbackTarget, ScratchpadChange, StepChange, Store,
};
use serde_json::{Value, json};

use super::journal::{WhichIteration, find_run};
use super::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// Take back what memory got from an iteration or a run
///
/// Memories, guardrails and knowledge entries that it added are removed, those that it changed or deleted get their former text
/// again; so does the scratchpad, where it was changed with `ralph scratchpad`. Learnings that came only from it, its proposals
/// and its proposed tasks are rejected. What was changed afterwards stays and is named. The journal stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph rollback 12 --dry-run           # an iteration, by its number
  ralph rollback run-1a2b3c4d/3
  ralph rollback run-1a2b3c4d --yes     # everything of a run
  ralph rollback --undo roll-5e6f7a8b")]
pub(crate) struct RollbackArgs {
    /// Number of an iteration in the journal, RUN/ITERATION, or the id of a run
    #[arg(value_name = "ITERATION|RUN", required_unless_present = "undo")]
    target: Option<String>,
    /// Undo a rollback, by its id
    #[arg(long, value_name = "ID", conflicts_with = "target")]
    undo: Option<String>,
    /// Show what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Write what is done as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_rollback(context: &Context<'_>, args: &RollbackArgs) -> Result<(), CommandError> {
    let mut store = store_to_write(context)?;
    match (&args.undo, &args.target) {
        (Some(id), _) => undo(context, args, &mut store, id),
        (None, Some(target)) => roll_back(context, args, &mut store, target),
        (None, None) => Ok(()),
    }
}

fn roll_back(context: &Context<'_>, args: &RollbackArgs, store: &mut Store, target: &str) -> Result<(), CommandError> {
    let target = target_of(store, target)?;
    let worktree = context.project.worktree_name();
    take_stock(context, store)?;
    let same = |rollback: &Rollback| rollback.target == target;
    let earlier = store.rollbacks(worktree)?.into_iter().find(same);
    let rollback = match earlier {
        Some(earlier) if earlier.state == RollbackState::Open && !args.dry_run => earlier,
        _ => {
            let plan = store.plan_rollback(worktree, &target)?;
            let steps = described(store, &plan, Direction::Back)?;
            let kept = plan.kept.clone();
            if args.dry_run || plan.is_empty() {
                return report(context, args, None, (&steps, &kept));
            }
            confirmed(context, args, (&steps, &kept), "Roll this back?")?;
            let now = context.clock().now();
            let begun = context.with_entropy(|entropy| store.begin_rollback((worktree, &target), &plan, entropy, now));
            let mut begun = begun?;
            begun.plan.kept = kept;
            begun
        }
    };
    let steps = described(store, &rollback.plan, Direction::Back)?;
    let mut kept = rollback.plan.kept.clone();
    kept.extend(write_notes(context, store, &rollback.plan.notes, Direction::Back)?);
    store.finish_rollback(&rollback.id, RollbackState::Done)?;
    report(context, args, Some(&rollback), (&steps, &kept))
}

fn undo(context: &Context<'_>, args: &RollbackArgs, store: &mut Store, id: &str) -> Result<(), CommandError> {
    let all = store.rollbacks(context.project.worktree_name())?;
    let mut named = all.into_iter().filter(|rollback| rollback.id.as_str().starts_with(id));
    let (Some(rollback), None) = (named.next(), named.next()) else {
        return Err(CommandError::new(format!("there is no rollback {id} in this worktree"))
            .hint("`ralph rollback` prints the id of each"));
    };
    if rollback.state == RollbackState::Undone {
        return Err(CommandError::new(format!("{} was undone before", rollback.id)));
    }
    take_stock(context, store)?;
    let steps = described(store, &rollback.plan, Direction::Forth)?;
    if args.dry_run {
        return report(context, args, Some(&rollback), (&steps, &[]));
    }
    if rollback.state != RollbackState::Undoing {
        confirmed(context, args, (&steps, &[]), "Undo the rollback?")?;
        store.begin_undo(&rollback, context.clock().now())?;
    }
    let kept = write_notes(context, store, &rollback.plan.notes, Direction::Forth)?;
    store.finish_rollback(&rollback.id, RollbackState::Undone)?;
    report(context, args, Some(&rollback), (&steps, &kept))
}

/// The command that finishes a rollback that was interrupted, or its undoing; none for any other.
pub(super) fn finishing_command(rollback: &Rollback) -> Option<String> {
    match rollback.state {
        RollbackState::Open => Some(format!("ralph rollback {}", shown_target(&rollback.target))),
        RollbackState::Undoing => Some(format!("ralph rollback --undo {}", rollback.id)),
        RollbackState::Done | RollbackState::Undone => None,
    }
}

/// What was rolled back, as the command names it.
pub(super) fn shown_target(RollbackTarget { run, iteration }: &RollbackTarget) -> String {
    match iteration {
        Some(iteration) => format!("{run}/{iteration}"),
        None => run.to_string(),
    }
}

/// Whether a plan is carried out or undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Back,
    Forth,
}

fn target_of(store: &Store, text: &str) -> Result<RollbackTarget, CommandError> {
    if text.starts_with(ralph_model::RunId::PREFIX) && !text.contains('/') {
        return Ok(RollbackTarget {
            run: find_run(store, text)?,
            iteration: None,
        });
    }
    let row = WhichIteration::named(text).find(Some(store))?.row;
    Ok(RollbackTarget {
        run: row.run,
        iteration: Some(row.iteration),
    })
}

pub(super) fn notebooks<'a>(context: &'a Context<'_>) -> [Notebook<'a>; 2] {
    [Shelf::Memories, Shelf::Guardrails].map(|shelf| context.notebook(shelf, Spelling::Own))
}

/// What people changed by hand is found before anything is planned.
fn take_stock(context: &Context<'_>, store: &mut Store) -> Result<(), CommandError> {
    for notebook in notebooks(context) {
        notebook.take_stock()?;
    }
    Ok(context.knowledge().take_stock(store, context.clock().now())?)
}

/// Writes the notes of a plan. Those that are in another state than the plan expects stay, and are returned.
fn write_notes(
    context: &Context<'_>,
    store: &mut Store,
    steps: &[NoteStep],
    direction: Direction,
) -> Result<Vec<Kept>, CommandError> {
    let notebooks = notebooks(context);
    let knowledge = context.knowledge();
    let mut kept = Vec::new();
    for step in steps {
        let (mut from, mut to) = (store.logged_entry(Some(step.from))?, store.logged_entry(step.to)?);
        if direction == Direction::Forth {
            std::mem::swap(&mut from, &mut to);
        }
        let outcome = match (&from, &to) {
            (LoggedEntry::Scratchpad(_), _) | (_, LoggedEntry::Scratchpad(_)) => {
                put_back_text(context, &step.id, (&from, &to), direction)?
            }
            (LoggedEntry::Knowledge(_), _) | (_, LoggedEntry::Knowledge(_)) => {
                let states = (text(&from), text(&to));
                knowledge.put_back(store, &step.id, states, context.clock().now())?
            }
            _ => {
                let here = notebooks.iter().find(|notebook| notebook.log.file.path == step.path);
                match here {
                    Some(notebook) => {
                        let (outcome, stored) = notebook.put_back(&step.id, (note(&from), note(&to)))?;
                        context.report_stored(notebook, &stored);
                        outcome
                    }
                    None => PutBack::Kept,
                }
            }
        };
        if outcome == PutBack::Kept {
            kept.push(Kept {
                id: step.id.clone(),
                reason: "changed in the meantime".to_owned(),
            });
        }
    }
    Ok(kept)
}

/// Removes a text of the scratchpad, or puts it back: at the end where it was appended, in front where it was cleared.
fn put_back_text(
    context: &Context<'_>,
    note: &str,
    states: (&LoggedEntry, &LoggedEntry),
    direction: Direction,
) -> Result<PutBack, CommandError> {
    let scratchpad = context.scratchpad();
    let change = match states {
        (LoggedEntry::Scratchpad(text), _) => {
            scratchpad.remove(text)?;
            ScratchpadChange::Removed { note, text }
        }
        (_, LoggedEntry::Scratchpad(text)) => {
            match direction {
                Direction::Back => scratchpad.put_in_front(text)?,
                Direction::Forth => {
                    // One that was interrupted may have appended it already.
                    scratchpad.remove(text)?;
                    scratchpad.append(text, SecretPolicy::Allow)?;
                }
            }
            ScratchpadChange::Restored { note, text }
        }
        _ => return Ok(PutBack::Before),
    };
    super::scratchpad::record(context, &scratchpad, change);
    Ok(PutBack::Done)
}

fn note(entry: &LoggedEntry) -> Option<&ralph_model::Note> {
    match entry {
        LoggedEntry::Note(note) => Some(note),
        LoggedEntry::Absent | LoggedEntry::Knowledge(_) | LoggedEntry::Scratchpad(_) => None,
    }
}

fn text(entry: &LoggedEntry) -> Option<&str> {
    match entry {
        LoggedEntry::Knowledge(text) => Some(text),
        LoggedEntry::Absent | LoggedEntry::Note(_) | LoggedEntry::Scratchpad(_) => None,
    }
}

/// What happens to an entry.
struct Step {
    id: String,
    change: &'static str,
    /// The beginning of what it says.
    text: String,
}

/// How many columns of an entry's text are shown.
const TEXT_COLUMNS: usize = 60;

fn described(store: &Store, plan: &RollbackPlan, direction: Direction) -> Result<Vec<Step>, CommandError> {
    let is_back = direction == Direction::Back;
    let word = |back, forth| if is_back { back } else { forth };
    let step = |id: &str, change: &'static str, text: &str| Step {
        id: id.to_owned(),
        change,
        text: preview(first_line(text.trim_start()), TEXT_COLUMNS),
    };
    let mut steps = Vec::new();
    for note in &plan.notes {
        let change = match note.change {
            StepChange::Removed => word("removed", "brought back"),
            StepChange::Restored => word("restored", "changed again"),
        };
        let entry = match store.logged_entry(Some(note.from))? {
            LoggedEntry::Absent => store.logged_entry(note.to)?,
            present => present,
        };
        steps.push(step(&note.id, change, &body(&entry)));
    }
    let rejected = plan.learnings.iter().map(|step| (step, word("rejected", "as it was")));
    let freed = plan
        .freed
        .iter()
        .map(|step| (step, word("current again", "superseded")));
    for (learning, change) in rejected.chain(freed) {
        let text = store.learning(&learning.id)?.map(|learning| learning.content);
        steps.push(step(learning.id.as_str(), change, &text.unwrap_or_default()));
    }
    for id in &plan.proposals {
        let proposal = store.proposal(id)?;
        let text = proposal.map(|proposal| format!("{} {}", proposal.change, proposal.target));
        steps.push(step(id, word("rejected", "open"), &text.unwrap_or_default()));
    }
    let tasks = plan.tasks.iter();
    steps.extend(tasks.map(|task| step(task.id.as_str(), word("deleted", "proposed"), &task.title)));
    Ok(steps)
}

/// What an entry says; of a knowledge entry the text below its frontmatter.
fn body(entry: &LoggedEntry) -> String {
    match entry {
        LoggedEntry::Absent => String::new(),
        LoggedEntry::Note(note) => note.content.clone(),
        LoggedEntry::Scratchpad(text) => text.clone(),
        LoggedEntry::Knowledge(text) => {
            Knowledge::parse(text.as_bytes()).map_or_else(|_| text.clone(), |entry| entry.body)
        }
    }
}

/// What is shown of a plan: its steps, and what stays.
type Shown<'s> = (&'s [Step], &'s [Kept]);

fn lines(steps: &[Step]) -> String {
    let line = |Step { id, change, text }: &Step| format!("{id}: {change}: {text}\n");
    steps.iter().map(line).collect()
}

fn say_kept(context: &Context<'_>, kept: &[Kept]) {
    for Kept { id, reason } in kept {
        context.ui.warning(&format!("{id} stays as it is: {reason}."));
    }
}

fn confirmed(
    context: &Context<'_>,
    args: &RollbackArgs,
    (steps, kept): Shown<'_>,
    question: &str,
) -> Result<(), CommandError> {
    if args.yes {
        return Ok(());
    }
    for line in lines(steps).lines() {
        context.ui.status(line);
    }
    say_kept(context, kept);
    match context.ui.confirm(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::new("nothing was changed, as you said")),
        None => Err(CommandError::new("nothing was changed: there is no terminal to ask at")
            .hint("--yes does it without asking, --dry-run shows it")),
    }
}

fn report(
    context: &Context<'_>,
    args: &RollbackArgs,
    done: Option<&Rollback>,
    (steps, kept): Shown<'_>,
) -> Result<(), CommandError> {
    let is_undo = args.undo.is_some();
    if args.json {
        let entries: Vec<Value> = steps
            .iter()
            .map(|Step { id, change, text }| json!({ "id": id, "change": change, "text": text }))
            .collect();
        return context.ui.json(&json!({
            "rollback": done.map(|rollback| &rollback.id),
            "dry_run": args.dry_run,
            "undone": is_undo && !args.dry_run,
            "entries": entries,
            "kept": kept,
        }));
    }
    say_kept(context, kept);
    context.ui.data(&lines(steps))?;
    match done {
        _ if args.dry_run => Ok(()),
        None => context.ui.data("Nothing to roll back.\n"),
        Some(rollback) if is_undo => context.ui.result("📝", &format!("Rollback undone: {}", rollback.id)),
        Some(rollback) => {
            context
                .ui
                .status(&format!("`ralph rollback --undo {}` undoes it.", rollback.id));
            let entries = count(steps.len(), "entry", "entries");
            context
                .ui
                .result("🗑️ ", &format!("Rolled back {entries}: {}", rollback.id))
        }
    }
}
