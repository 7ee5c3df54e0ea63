//! The code that an undo takes back, or brings back.

use ralph_loop::{Base, BranchError, Change, Prepared, commit_changes, is_in};
use ralph_model::{RollbackState, TaskStatus};
use ralph_process::git::Git;
use ralph_store::{CommitStep, Rollback, RollbackTarget, Store, TaskCommit};

use super::Direction;
use crate::context::Context;
use crate::error::CommandError;

/// How many characters of a commit's id are shown.
const SHORT: usize = 7;

pub(crate) fn short_commit(commit: &str) -> String {
    commit.chars().take(SHORT).collect()
}

/// The commits of a target that can be undone now. Nothing is changed.
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
            return Err(CommandError::new(format!("{target} is undone already"))
                .hint(format!("`ralph undo {}` brings its work back", before.id)));
        }
        let also = match target {
            RollbackTarget::Task(task) => format!(", `ralph task reset {task}` reopens the task"),
            RollbackTarget::Run(_) | RollbackTarget::Iteration(..) => String::new(),
        };
        return Err(
            CommandError::new(format!("no commit of {target} is there to undo")).hint(format!(
                "`ralph rollback {target}` takes back what memory got from it{also}"
            )),
        );
    }
    let mut steps = Vec::new();
    for commit in commits {
        steps.push(step(context, store, commit)?);
    }
    for group in by_base(&steps) {
        let changes = changes(context, group, Direction::Back)?;
        let base = base_of(group);
        Prepared::on(&context.project.root, &base, &changes).map_err(|error| refused(group, &error))?;
    }
    Ok(steps)
}

fn step(context: &Context<'_>, store: &Store, commit: TaskCommit) -> Result<CommitStep, CommandError> {
    let TaskCommit { commit, task, base } = commit;
    let now = store.task(&task)?;
    if let Some(run) = now.as_ref().and_then(|task| task.claimed_by.as_ref()) {
        return Err(CommandError::new(format!("{task} is in progress in {run}")).hint("stop that run first"));
    }
    let here = context.project.branch().map(|branch| format!("refs/heads/{branch}"));
    let mut found = None;
    for base in here.iter().chain(base.as_ref()) {
        if is_in(&context.project.root, &Base::new(base.as_str()), &commit)? {
            found = Some(base.clone());
            break;
        }
    }
    let Some(base) = found else {
        let branch = base.or(here).unwrap_or_else(|| "HEAD".to_owned());
        let branch = Base::new(branch);
        return Err(CommandError::new(format!(
            "commit {} of {task} is not on {}",
            short_commit(&commit),
            branch.branch()
        ))
        .hint("check out the branch that has it, or use `git revert` where history was rewritten"));
    };
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
        landing: String::new(),
        unverified: now
            .and_then(|task| task.unverified)
            .map(|why| why.reason().word().to_owned()),
    })
}

/// Lands what undoes the commits of a rollback, or what brings them back. Each commit is on record before its branch moves.
pub(super) fn land(
    context: &Context<'_>,
    store: &mut Store,
    rollback: &mut Rollback,
    direction: Direction,
) -> Result<(), CommandError> {
    if rollback.plan.commits.is_empty() {
        return Ok(());
    }
    if direction == Direction::Forth && rollback.state != RollbackState::Relanding {
        // The commits on record are those that undid the work.
        rollback.plan.commits.iter_mut().for_each(|step| step.landing.clear());
        store.put_plan(rollback)?;
        store.set_rollback_state(&rollback.id, RollbackState::Relanding)?;
    }
    let groups: Vec<Vec<CommitStep>> = by_base(&rollback.plan.commits).map(<[CommitStep]>::to_vec).collect();
    let mut has_landed = false;
    for group in in_order(groups, direction) {
        let group = in_order(group, direction);
        let landed = land_group(context, store, rollback, (&group, direction));
        if landed.is_err() && !has_landed {
            match direction {
                Direction::Back => store.drop_rollback(&rollback.id)?,
                Direction::Forth => store.set_rollback_state(&rollback.id, RollbackState::Done)?,
            }
        }
        landed?;
        has_landed = true;
    }
    Ok(())
}

/// The newest commits first where work is undone, and last where it comes back.
fn in_order<T>(mut all: Vec<T>, direction: Direction) -> Vec<T> {
    if direction == Direction::Forth {
        all.reverse();
    }
    all
}

fn land_group(
    context: &Context<'_>,
    store: &mut Store,
    rollback: &mut Rollback,
    (group, direction): (&[CommitStep], Direction),
) -> Result<(), CommandError> {
    let (root, base) = (&context.project.root, base_of(group));
    let last = group.last().map(|step| step.landing.as_str()).unwrap_or_default();
    if !last.is_empty() && is_in(root, &base, last)? {
        return Ok(());
    }
    let mut record = |commits: &[String]| {
        for (landed, commit) in group.iter().zip(commits) {
            let steps = rollback.plan.commits.iter_mut();
            let step = steps.filter(|step| step.commit == landed.commit && step.task == landed.task);
            step.for_each(|step| step.landing.clone_from(commit));
        }
        store.put_plan(rollback).map_err(|error| error.to_string())
    };
    let changes = changes(context, group, direction)?;
    let landed = commit_changes(root, &base, &changes, &mut record);
    landed.map(drop).map_err(|error| refused(group, &error))
}

/// Refuses to bring back the work of tasks that were changed since.
pub(super) fn refuse_changed(store: &Store, rollback: &Rollback) -> Result<(), CommandError> {
    for step in &rollback.plan.commits {
        let task = store.task(&step.task)?;
        let is_open = task.is_some_and(|task| {
            matches!(
                task.status,
                TaskStatus::Pending | TaskStatus::Blocked | TaskStatus::Failed
            ) && task.claimed_by.is_none()
        });
        if !is_open {
            return Err(CommandError::new(format!(
                "{} cannot be undone: {} is not open any more",
                rollback.id, step.task
            ))
            .hint(format!("`ralph task show {}` tells what became of it", step.task)));
        }
    }
    Ok(())
}

/// The commits that follow one another on the same branch.
fn by_base(steps: &[CommitStep]) -> impl Iterator<Item = &[CommitStep]> {
    steps.chunk_by(|one, other| one.base == other.base)
}

fn base_of(group: &[CommitStep]) -> Base {
    Base::new(group.first().map(|step| step.base.clone()).unwrap_or_default())
}

fn changes(context: &Context<'_>, group: &[CommitStep], direction: Direction) -> Result<Vec<Change>, CommandError> {
    let root = &context.project.root;
    let change = |step: &CommitStep| {
        let (subject, task, commit) = (&step.subject, &step.task, &step.commit);
        match direction {
            Direction::Back => {
                let message = format!("Revert \"{subject}\"\n\nThis reverts commit {commit}.\n\nTask: {task}\n");
                Change::undoing(root, commit, message)
            }
            Direction::Forth => {
                let message = format!("Reapply \"{subject}\"\n\nThis applies commit {commit} again.\n\nTask: {task}\n");
                Change::repeating(root, commit, message)
            }
        }
    };
    Ok(group.iter().map(change).collect::<Result<_, _>>()?)
}

fn refused(group: &[CommitStep], error: &BranchError) -> CommandError {
    let tasks: Vec<&str> = group.iter().map(|step| step.task.as_str()).collect();
    let refused = CommandError::new(format!("nothing was changed for {}: {error}", tasks.join(", ")));
    match error {
        BranchError::Conflict { .. } => refused.hint("undo the later tasks that changed these files first"),
        BranchError::InTheWay(_) => refused.hint("commit or stash that change, then try again"),
        BranchError::Missing(_) | BranchError::Git(_) => refused,
    }
}
