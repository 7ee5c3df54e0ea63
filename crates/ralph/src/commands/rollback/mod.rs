//! `ralph rollback` rolls back what a task, iteration or run added to memory; `ralph undo` also reverts the code.

mod code;
mod notes;
mod report;

use std::borrow::Cow;

use clap::Args;
use ralph_memory::capture::{SecretPolicy, accept};
use ralph_model::{RollbackId, RollbackState, RunId, TaskId};
use ralph_store::{Rollback, RollbackPlan, RollbackTarget, Store};

use super::journal::{WhichIteration, find_run};
use super::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;
use notes::{record_edits, write_notes};
use report::{confirm, describe, report};

pub(crate) use code::short_commit;
pub(super) use notes::note_repositories;

/// Roll back what an iteration or run added to memory
///
/// Memories, guardrails and knowledge entries that it added are removed; those that it changed or deleted are restored,
/// as are changes of the scratchpad made with `ralph scratchpad`. Learnings that came only from it, its proposals and
/// its proposed tasks are rejected. Anything changed afterwards is kept and listed. The journal and the code stay as
/// they are; `ralph undo` also reverts the code.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph rollback 12 --dry-run           # an iteration by its number
  ralph rollback run-1a2b3c4d/3
  ralph rollback t-1a2b3c               # every attempt at a task
  ralph rollback run-1a2b3c4d --yes     # a whole run
  ralph rollback --undo roll-5e6f7a8b")]
pub(crate) struct RollbackArgs {
    /// Journal number of an iteration, RUN/ITERATION, or id of a run or task
    #[arg(value_name = "TASK|ITERATION|RUN", required_unless_present = "undo")]
    target: Option<String>,
    /// Id of a rollback to undo
    #[arg(long, value_name = "ID", conflicts_with = "target")]
    undo: Option<String>,
    #[command(flatten)]
    options: Options,
}

/// Undo finished tasks: revert commits and roll back memory
///
/// Each commit is reverted by a new commit on the branch where it landed; your uncommitted changes are kept. The task
/// is reopened. If later changes conflict, nothing is changed and the conflicting files are listed. What the work added
/// to memory is rolled back as with `ralph rollback`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph undo t-1a2b3c --dry-run
  ralph undo t-1a2b3c --comment \"keep the old API\"
  ralph undo run-1a2b3c4d               # every task that a run finished
  ralph undo roll-5e6f7a8b              # undo an undo")]
pub(crate) struct UndoArgs {
    /// Id of a task, run or undo, journal number of an iteration, or RUN/ITERATION
    #[arg(value_name = "TASK|ITERATION|RUN|ID")]
    target: String,
    /// Guidance for the next attempt
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// Keep what the work added to memory
    #[arg(long)]
    keep_memory: bool,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
struct Options {
    /// Show what would happen without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// Carry out the rollback.
    Revert,
    /// Undo the rollback.
    Reapply,
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

/// Undoes a task, or shows what that would do, without asking.
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

struct Work {
    target: RollbackTarget,
    code: bool,
    memory: bool,
    comment: Option<String>,
}

/// An interrupted rollback of the same work.
fn interrupted(context: &Context<'_>, store: &Store, work: &Work) -> Result<Option<Rollback>, CommandError> {
    let all = store.rollbacks(context.project.worktree_name())?;
    let is_begun = |rollback: &Rollback| matches!(rollback.state, RollbackState::Landing | RollbackState::Open);
    Ok(all.into_iter().find(|rollback| {
        let is_same = rollback.target == work.target && rollback.plan.commits.is_empty() != work.code;
        is_same && is_begun(rollback)
    }))
}

fn roll_back(context: &Context<'_>, options: &Options, store: &mut Store, work: Work) -> Result<(), CommandError> {
    let worktree = context.project.worktree_name();
    record_edits(context, store)?;
    let mut rollback = match interrupted(context, store, &work)? {
        Some(begun) if options.dry_run => {
            let steps = describe(store, &begun.plan, Direction::Revert)?;
            return report(context, options, (None, Direction::Revert), (&steps, &[]));
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
            let steps = describe(store, &plan, Direction::Revert)?;
            let kept = plan.kept.clone();
            if options.dry_run || plan.is_empty() {
                return report(context, options, (None, Direction::Revert), (&steps, &kept));
            }
            let question = match plan.commits.is_empty() {
                true => "Roll this back?",
                false => "Undo this?",
            };
            confirm(context, options, (&steps, &kept), question)?;
            let now = context.clock().now();
            let target = (worktree, &work.target);
            let begun = context.with_entropy(|entropy| store.begin_rollback(target, &plan, entropy, now));
            let mut begun = begun?;
            begun.plan.kept = kept;
            begun
        }
    };
    if rollback.state == RollbackState::Landing {
        code::land(context, store, &mut rollback, Direction::Revert)?;
        store.roll_back_landed(&rollback, context.clock().now())?;
    }
    let steps = describe(store, &rollback.plan, Direction::Revert)?;
    let mut kept = rollback.plan.kept.clone();
    kept.extend(write_notes(context, store, &rollback.plan.notes, Direction::Revert)?);
    store.set_rollback_state(&rollback.id, RollbackState::Done)?;
    report(context, options, (Some(&rollback), Direction::Revert), (&steps, &kept))
}

fn undo_rollback(context: &Context<'_>, options: &Options, store: &mut Store, id: &str) -> Result<(), CommandError> {
    let all = store.rollbacks(context.project.worktree_name())?;
    let mut named = all.into_iter().filter(|rollback| rollback.id.as_str().starts_with(id));
    let (Some(mut rollback), None) = (named.next(), named.next()) else {
        return Err(CommandError::new(format!("rollback not found in this worktree: {id}"))
            .hint("`ralph rollback` and `ralph undo` print the id of each rollback"));
    };
    match rollback.state {
        RollbackState::Undone => return Err(CommandError::new(format!("{} is already undone", rollback.id))),
        RollbackState::Landing => {
            let finish = finishing_command(&rollback).unwrap_or_default();
            return Err(CommandError::new(format!("{} is not finished", rollback.id))
                .hint(format!("finish it with `{finish}` first")));
        }
        _ => {}
    }
    record_edits(context, store)?;
    let steps = describe(store, &rollback.plan, Direction::Reapply)?;
    if options.dry_run {
        return report(context, options, (Some(&rollback), Direction::Reapply), (&steps, &[]));
    }
    if rollback.state != RollbackState::Undoing {
        if rollback.state != RollbackState::Relanding {
            code::refuse_changed(store, &rollback)?;
            confirm(context, options, (&steps, &[]), "Undo the rollback?")?;
        }
        code::land(context, store, &mut rollback, Direction::Reapply)?;
        store.begin_undo(&rollback, context.clock().now())?;
    }
    let kept = write_notes(context, store, &rollback.plan.notes, Direction::Reapply)?;
    store.set_rollback_state(&rollback.id, RollbackState::Undone)?;
    report(context, options, (Some(&rollback), Direction::Reapply), (&steps, &kept))
}

/// The command that finishes an interrupted rollback or its undo, if any.
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
