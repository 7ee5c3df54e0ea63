//! Reverts and reapplies the commits of an undo.

use std::collections::BTreeSet;

use ralph_loop::{BRANCHES, Base, BranchError, Change, Prepared, commit_changes, is_in, repair_landing};
use ralph_model::{RollbackState, TaskId, TaskStatus};
use ralph_process::git::Git;
use ralph_store::{CommitStep, Rollback, RollbackTarget, Store, TaskCommit};

use super::Direction;
use crate::context::Context;
use crate::error::CommandError;

const SHORT: usize = 7;

pub(crate) fn short_commit(commit: &str) -> String {
    commit.chars().take(SHORT).collect()
}

/// The commits of a target to undo. Changes nothing.
pub(super) fn plan(
    context: &Context<'_>,
    store: &Store,
    target: &RollbackTarget,
) -> Result<Vec<CommitStep>, CommandError> {
    let commits = store.commits_of(target)?;
    if commits.is_empty() {
        let before = store
            .rollbacks(context.project.worktree_name())?
            .into_iter()
            .find(|rollback| {
                rollback.target == *target && !rollback.plan.commits.is_empty() && rollback.state == RollbackState::Done
            });
        if let Some(before) = before {
            return Err(CommandError::new(format!("{target} is already undone"))
                .hint(format!("run `ralph undo {}` to bring its work back", before.id)));
        }
        let also = match target {
            RollbackTarget::Task(task) => format!(", or `ralph task reset {task}` to reopen the task"),
            RollbackTarget::Run(_) | RollbackTarget::Iteration(..) => String::new(),
        };
        return Err(
            CommandError::new(format!("{target} has no commit to undo")).hint(format!(
                "run `ralph rollback {target}` to roll back what it added to memory{also}"
            )),
        );
    }
    let mut steps = Vec::new();
    for commit in commits {
        steps.push(step(context, store, commit)?);
    }
    let bases: BTreeSet<&str> = steps.iter().map(|step| step.base.as_str()).collect();
    if bases.len() > 1 {
        let bases: Vec<String> = bases
            .into_iter()
            .map(|base| Base::new(base).branch().to_owned())
            .collect();
        return Err(CommandError::new(format!(
            "nothing was changed: the commits of {target} are on {}",
            bases.join(" and ")
        ))
        .hint("merge these branches first, or undo the tasks one by one"));
    }
    let changes = changes(context, &steps, Direction::Revert)?;
    Prepared::on(&context.project.root, &base_of(&steps), &changes).map_err(|error| refused(&steps, &error))?;
    Ok(steps)
}

fn step(context: &Context<'_>, store: &Store, commit: TaskCommit) -> Result<CommitStep, CommandError> {
    let TaskCommit { commit, task, base } = commit;
    let now = store.task(&task)?;
    if let Some(run) = now.as_ref().and_then(|task| task.claimed_by.as_ref()) {
        return Err(CommandError::new(format!("{task} is in progress in {run}")).hint("stop that run first"));
    }
    let base = base_with(context, base.as_deref(), (&task, &commit))?;
    let subject = Git::question(&context.project.root).run(["log", "-1", "--format=%s", &commit]);
    let subject = subject.and_then(|answer| answer.text());
    Ok(CommitStep {
        subject: subject
            .map_err(|error| CommandError::new(error.to_string()))?
            .trim()
            .to_owned(),
        commit,
        task,
        base,
        landing: None,
        unverified: now
            .and_then(|task| task.unverified)
            .map(|why| why.reason().word().to_owned()),
    })
}

/// The branch on which to undo a commit: the branch where it landed, else the current branch if it contains the commit.
/// The current branch comes first for a run's own branch, which may have been merged.
fn base_with(
    context: &Context<'_>,
    landed_on: Option<&str>,
    (task, commit): (&TaskId, &str),
) -> Result<String, CommandError> {
    let here = context.project.branch().map(|branch| format!("refs/heads/{branch}"));
    let is_run_branch = |base: &str| Base::new(base).branch().starts_with(BRANCHES);
    let candidates = match landed_on {
        Some(base) if is_run_branch(base) => [here.as_deref(), Some(base)],
        landed_on => [landed_on, here.as_deref()],
    };
    for base in candidates.into_iter().flatten() {
        if is_in(&context.project.root, &Base::new(base), commit)? {
            return Ok(base.to_owned());
        }
    }
    let branch = Base::new(landed_on.or(here.as_deref()).unwrap_or("HEAD"));
    let (commit, branch) = (short_commit(commit), branch.branch().to_owned());
    Err(
        CommandError::new(format!("commit {commit} of {task} is not on {branch}"))
            .hint("check out the branch that has it, or use `git revert` if history was rewritten"),
    )
}

/// Lands the commits that revert or reapply the work of a rollback. Each commit is recorded before its branch moves. If
/// they cannot land, the rollback is left as it was.
pub(super) fn land(
    context: &Context<'_>,
    store: &mut Store,
    rollback: &mut Rollback,
    direction: Direction,
) -> Result<(), CommandError> {
    if rollback.plan.commits.is_empty() {
        return Ok(());
    }
    let before = rollback.clone();
    if direction == Direction::Reapply && rollback.state != RollbackState::Relanding {
        // The recorded commits are those that undid the work.
        rollback.plan.commits.iter_mut().for_each(|step| step.landing = None);
        store.put_plan(rollback)?;
        store.set_rollback_state(&rollback.id, RollbackState::Relanding)?;
    }
    let landed = land_commits(context, store, rollback, direction);
    if landed.is_err() {
        match direction {
            Direction::Revert => store.drop_rollback(&rollback.id)?,
            Direction::Reapply if before.state == RollbackState::Relanding => {
                store.set_rollback_state(&rollback.id, RollbackState::Done)?;
            }
            Direction::Reapply => {
                store.put_plan(&before)?;
                store.set_rollback_state(&rollback.id, before.state)?;
            }
        }
    }
    landed
}

fn land_commits(
    context: &Context<'_>,
    store: &mut Store,
    rollback: &mut Rollback,
    direction: Direction,
) -> Result<(), CommandError> {
    // Work is undone newest first, and brought back oldest first.
    let mut steps = rollback.plan.commits.clone();
    if direction == Direction::Reapply {
        steps.reverse();
    }
    let (root, base) = (&context.project.root, base_of(&steps));
    let mut begun = steps.iter().filter_map(|step| step.landing.as_deref());
    if let Some(first) = begun.next() {
        let last = begun.next_back().unwrap_or(first);
        if is_in(root, &base, last)? {
            return Ok(());
        }
        repair_landing(root, &base, (first, last))?;
    }
    let mut record = |commits: &[Option<String>]| {
        for (landed, commit) in steps.iter().zip(commits) {
            let all = rollback.plan.commits.iter_mut();
            let step = all.filter(|step| step.commit == landed.commit && step.task == landed.task);
            step.for_each(|step| step.landing.clone_from(commit));
        }
        store.put_plan(rollback).map_err(|error| error.to_string())
    };
    let changes = changes(context, &steps, direction)?;
    let landed = commit_changes(root, &base, &changes, &mut record);
    landed.map(drop).map_err(|error| refused(&steps, &error))
}

/// Fails if tasks of the rollback have changed since.
pub(super) fn refuse_changed(store: &Store, rollback: &Rollback) -> Result<(), CommandError> {
    for step in &rollback.plan.commits {
        let task = store.task(&step.task)?;
        let is_open = task.is_none_or(|task| {
            matches!(
                task.status,
                TaskStatus::Pending | TaskStatus::Blocked | TaskStatus::Failed
            ) && task.claimed_by.is_none()
        });
        if !is_open {
            return Err(CommandError::new(format!(
                "{} cannot be undone: {} is no longer open",
                rollback.id, step.task
            ))
            .hint(format!("run `ralph task show {}` to see what happened", step.task)));
        }
    }
    Ok(())
}

fn base_of(group: &[CommitStep]) -> Base {
    Base::new(group.first().map(|step| step.base.clone()).unwrap_or_default())
}

fn changes(context: &Context<'_>, group: &[CommitStep], direction: Direction) -> Result<Vec<Change>, CommandError> {
    let root = &context.project.root;
    let change = |step: &CommitStep| {
        let (subject, task, commit) = (&step.subject, &step.task, &step.commit);
        match direction {
            Direction::Revert => {
                let message = format!("Revert \"{subject}\"\n\nThis reverts commit {commit}.\n\nTask: {task}\n");
                Change::undoing(root, commit, message)
            }
            Direction::Reapply => {
                let message = format!("Reapply \"{subject}\"\n\nThis applies commit {commit} again.\n\nTask: {task}\n");
                Change::repeating(root, commit, message)
            }
        }
    };
    Ok(group.iter().map(change).collect::<Result<_, _>>()?)
}

fn refused(group: &[CommitStep], error: &BranchError) -> CommandError {
    let tasks: BTreeSet<&str> = group.iter().map(|step| step.task.as_str()).collect();
    let tasks: Vec<&str> = tasks.into_iter().collect();
    let refused = CommandError::new(format!("nothing was changed for {}: {error}", tasks.join(", ")));
    match error {
        BranchError::Conflict { .. } => refused.hint("undo the later tasks that changed these files first"),
        BranchError::InTheWay(_) => refused.hint("commit or stash that change, then try again"),
        BranchError::Missing(_) | BranchError::Git(_) => refused,
    }
}
