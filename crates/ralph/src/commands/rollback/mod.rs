//! `ralph rollback` takes back what memory got from a task, an iteration or a run; `ralph undo` takes back the code too.

mod code;
mod notes;
mod shown;

use std::borrow::Cow;

use clap::Args;
use ralph_memory::capture::{SecretPolicy, accept};
use ralph_model::{RollbackId, RollbackState, RunId, TaskId};
use ralph_store::{Rollback, RollbackPlan, RollbackTarget, Store};

use super::journal::{WhichIteration, find_run};
use super::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;
use notes::{take_stock, write_notes};
use shown::{confirmed, described, report};

pub(crate) use code::short_commit;
pub(super) use notes::notebooks;

/// Take back what memory got from an iteration or a run
///
/// Memories, guardrails and knowledge entries that it added are removed, those that it changed or deleted get their former text
/// again; so does the scratchpad, where it was changed with `ralph scratchpad`. Learnings that came only from it, its proposals
/// and its proposed tasks are rejected. What was changed afterwards stays and is named. The journal stays as it is, and so does
/// the code: `ralph undo` reverts that too.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph rollback 12 --dry-run           # an iteration, by its number
  ralph rollback run-1a2b3c4d/3
  ralph rollback t-1a2b3c               # every attempt at a task
  ralph rollback run-1a2b3c4d --yes     # everything of a run
  ralph rollback --undo roll-5e6f7a8b")]
pub(crate) struct RollbackArgs {
    /// Number of an iteration in the journal, RUN/ITERATION, or the id of a run or a task
    #[arg(value_name = "TASK|ITERATION|RUN", required_unless_present = "undo")]
    target: Option<String>,
    /// Undo a rollback, by its id
    #[arg(long, value_name = "ID", conflicts_with = "target")]
    undo: Option<String>,
    #[command(flatten)]
    options: Options,
}

/// Undo finished work: revert its commit, reopen its task, roll back its memory
///
/// Each commit is reverted with a new commit on the branch where it landed; your uncommitted changes stay. If later changes
/// conflict, nothing is changed and the files are named. What memory got from the work is shown and rolled back, as
/// `ralph rollback` does it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph undo t-1a2b3c --dry-run
  ralph undo t-1a2b3c --comment \"keep the old API\"
  ralph undo run-1a2b3c4d               # every task that a run finished
  ralph undo roll-5e6f7a8b              # undo an undo")]
pub(crate) struct UndoArgs {
    /// Id of a task or a run, number of an iteration, RUN/ITERATION, or the id of an undo
    #[arg(value_name = "TASK|ITERATION|RUN|ID")]
    target: String,
    /// Guidance for the next attempt
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// Keep what memory got from the work
    #[arg(long)]
    keep_memory: bool,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
struct Options {
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

/// Whether a plan is carried out or undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Back,
    Forth,
}

pub(crate) fn cmd_rollback(context: &Context<'_>, args: &RollbackArgs) -> Result<(), CommandError> {
    let mut store = store_to_write(context)?;
    let Some(target) = &args.target else {
        let id = args.undo.as_deref().unwrap_or_default();
        return undo_rollback(context, &args.options, &mut store, id);
    };
    let target = target_of(&store, target)?;
    let work = Work {
        target,
        code: false,
        memory: true,
        comment: None,
    };
    roll_back(context, &args.options, &mut store, work)
}

pub(crate) fn cmd_undo(context: &Context<'_>, args: &UndoArgs) -> Result<(), CommandError> {
    let mut store = store_to_write(context)?;
    if args.target.starts_with(RollbackId::PREFIX) {
        return undo_rollback(context, &args.options, &mut store, &args.target);
    }
    let target = target_of(&store, &args.target)?;
    let comment = args.comment.as_deref().map(|text| accept(text, SecretPolicy::Refuse));
    let comment = comment.transpose()?.map(Cow::into_owned);
    undo(context, &args.options, &mut store, (target, comment, !args.keep_memory))
}

/// Shows what undoing a task would do, or does it, without a question.
pub(super) fn undo_task(context: &Context<'_>, task: &TaskId, dry_run: bool) -> Result<(), CommandError> {
    let options = Options {
        dry_run,
        yes: true,
        json: false,
    };
    let target = RollbackTarget::Task(task.clone());
    undo(context, &options, &mut store_to_write(context)?, (target, None, true))
}

fn undo(
    context: &Context<'_>,
    options: &Options,
    store: &mut Store,
    (target, comment, memory): (RollbackTarget, Option<String>, bool),
) -> Result<(), CommandError> {
    let work = Work {
        target,
        code: true,
        memory,
        comment,
    };
    roll_back(context, options, store, work)
}

/// What is to be rolled back.
struct Work {
    target: RollbackTarget,
    /// Whether its commits are undone.
    code: bool,
    memory: bool,
    comment: Option<String>,
}

/// A rollback of the same that was interrupted.
fn begun(context: &Context<'_>, store: &Store, work: &Work) -> Result<Option<Rollback>, CommandError> {
    let all = store.rollbacks(context.project.worktree_name())?;
    let is_begun = |rollback: &Rollback| matches!(rollback.state, RollbackState::Landing | RollbackState::Open);
    Ok(all.into_iter().find(|rollback| {
        let is_same = rollback.target == work.target && rollback.plan.commits.is_empty() != work.code;
        is_same && is_begun(rollback)
    }))
}

fn roll_back(context: &Context<'_>, options: &Options, store: &mut Store, work: Work) -> Result<(), CommandError> {
    let worktree = context.project.worktree_name();
    take_stock(context, store)?;
    let mut rollback = match begun(context, store, &work)? {
        Some(begun) if options.dry_run => {
            let steps = described(store, &begun.plan, Direction::Back)?;
            return report(context, options, (None, Direction::Back), (&steps, &[]));
        }
        Some(begun) => begun,
        None => {
            let commits = match work.code {
                true => code::plan(context, store, &work.target)?,
                false => Vec::new(),
            };
            let mut plan = match work.memory {
                true => store.plan_rollback(worktree, &work.target)?,
                false => RollbackPlan::default(),
            };
            plan.commits = commits;
            plan.comment = work.comment;
            let steps = described(store, &plan, Direction::Back)?;
            let kept = plan.kept.clone();
            if options.dry_run || plan.is_empty() {
                return report(context, options, (None, Direction::Back), (&steps, &kept));
            }
            let question = match plan.commits.is_empty() {
                true => "Roll this back?",
                false => "Undo this?",
            };
            confirmed(context, options, (&steps, &kept), question)?;
            let now = context.clock().now();
            let target = (worktree, &work.target);
            let begun = context.with_entropy(|entropy| store.begin_rollback(target, &plan, entropy, now));
            let mut begun = begun?;
            begun.plan.kept = kept;
            begun
        }
    };
    if rollback.state == RollbackState::Landing {
        code::land(context, store, &mut rollback, Direction::Back)?;
        store.roll_back_landed(&rollback, context.clock().now())?;
    }
    let steps = described(store, &rollback.plan, Direction::Back)?;
    let mut kept = rollback.plan.kept.clone();
    kept.extend(write_notes(context, store, &rollback.plan.notes, Direction::Back)?);
    store.set_rollback_state(&rollback.id, RollbackState::Done)?;
    report(context, options, (Some(&rollback), Direction::Back), (&steps, &kept))
}

fn undo_rollback(context: &Context<'_>, options: &Options, store: &mut Store, id: &str) -> Result<(), CommandError> {
    let all = store.rollbacks(context.project.worktree_name())?;
    let mut named = all.into_iter().filter(|rollback| rollback.id.as_str().starts_with(id));
    let (Some(mut rollback), None) = (named.next(), named.next()) else {
        return Err(CommandError::new(format!("there is no rollback {id} in this worktree"))
            .hint("`ralph rollback` and `ralph undo` print the id of each"));
    };
    match rollback.state {
        RollbackState::Undone => return Err(CommandError::new(format!("{} was undone before", rollback.id))),
        RollbackState::Landing => {
            let finish = finishing_command(&rollback).unwrap_or_default();
            return Err(CommandError::new(format!("{} is not finished", rollback.id))
                .hint(format!("`{finish}` finishes it, then it can be undone")));
        }
        _ => {}
    }
    take_stock(context, store)?;
    let steps = described(store, &rollback.plan, Direction::Forth)?;
    if options.dry_run {
        return report(context, options, (Some(&rollback), Direction::Forth), (&steps, &[]));
    }
    if rollback.state != RollbackState::Undoing {
        if rollback.state != RollbackState::Relanding {
            code::refuse_changed(store, &rollback)?;
            confirmed(context, options, (&steps, &[]), "Undo the rollback?")?;
        }
        code::land(context, store, &mut rollback, Direction::Forth)?;
        store.begin_undo(&rollback, context.clock().now())?;
    }
    let kept = write_notes(context, store, &rollback.plan.notes, Direction::Forth)?;
    store.set_rollback_state(&rollback.id, RollbackState::Undone)?;
    report(context, options, (Some(&rollback), Direction::Forth), (&steps, &kept))
}

/// The command that finishes a rollback that was interrupted, or its undoing; none for any other.
pub(super) fn finishing_command(rollback: &Rollback) -> Option<String> {
    let command = match rollback.plan.commits.is_empty() {
        true => "rollback",
        false => "undo",
    };
    match rollback.state {
        RollbackState::Landing | RollbackState::Open => Some(format!("ralph {command} {}", rollback.target)),
        RollbackState::Relanding | RollbackState::Undoing => Some(undoing_command(rollback)),
        RollbackState::Done | RollbackState::Undone => None,
    }
}

/// The command that undoes a rollback.
fn undoing_command(rollback: &Rollback) -> String {
    match rollback.plan.commits.is_empty() {
        true => format!("ralph rollback --undo {}", rollback.id),
        false => format!("ralph undo {}", rollback.id),
    }
}

fn target_of(store: &Store, text: &str) -> Result<RollbackTarget, CommandError> {
    if text.starts_with(RunId::PREFIX) && !text.contains('/') {
        return Ok(RollbackTarget::Run(find_run(store, text)?));
    }
    let is_iteration = text.contains('/') || text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_iteration {
        return Ok(RollbackTarget::Task(store.find_task(text)?));
    }
    let row = WhichIteration::named(text).find(Some(store))?.row;
    Ok(RollbackTarget::Iteration(row.run, row.iteration))
}
