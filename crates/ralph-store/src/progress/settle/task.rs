//! Applies a settlement to its task, if the run still has the claim.

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, TaskId, TaskStatus, preview};
use rusqlite::{OptionalExtension, Transaction, params};

use super::{Settlement, TaskChange};
use crate::progress::authorship::sign;
use crate::progress::columns::{count_at, word_at};
use crate::progress::rollback::put_commit;
use crate::progress::task_steps::put_guidance;
use crate::progress::transitions::{NewState, set_task_state};

/// Maximum length of a reason in a task's log. The journal has all of it.
const REASON_COLUMNS: usize = 200;

/// Changes the task and returns its new status; none if the run no longer has the claim.
pub(super) fn change(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<Option<TaskStatus>> {
    let row = &settlement.row;
    let Some(task) = &row.task else { return Ok(None) };
    let Some((retries_before, own_max)) = retries_if_claimed(transaction, settlement, task)? else {
        return Ok(None);
    };
    let (state, retries_used) = match &settlement.task {
        TaskChange::Done { commit, unverified } => {
            let worktree = match (&settlement.landed_on, commit) {
                (None, _) => Some(settlement.worktree.as_str()),
                (Some(base), Some(_)) => Some(base.as_str()),
                // Without a commit nothing can be missing elsewhere.
                (Some(_), None) => None,
            };
            let state = NewState::Done {
                worktree,
                commit: commit.as_deref(),
                unverified: unverified.as_ref(),
            };
            (state, 0)
        }
        TaskChange::Again => (NewState::Open, retries_before),
        TaskChange::Progress => (NewState::Open, 0),
        TaskChange::Attempt { max_retries } => match retries_before.saturating_add(1) {
            used if used > own_max.unwrap_or(*max_retries) => (NewState::Failed, used),
            used => (NewState::Open, used),
        },
        TaskChange::GiveUp => (NewState::Failed, retries_before.saturating_add(1)),
    };
    transaction
        .prepare_cached("UPDATE tasks SET retries_used = ?2 WHERE id = ?1")?
        .execute(params![task.as_str(), retries_used])?;
    let sentence = match (&settlement.task, has_subtasks(transaction, task)?) {
        (TaskChange::Attempt { .. } | TaskChange::GiveUp, true) => {
            format!(
                "{} Its status now follows from its subtasks.",
                with_full_stop(attempt_summary(settlement))
            )
        }
        _ => sentence(settlement, state, (retries_used, own_max)),
    };
    let status = set_task_state(transaction, task, (state, &sentence), row.created_at)?;
    if let TaskChange::Done { commit, .. } = &settlement.task {
        to_review(transaction, task)?;
        if let Some(commit) = commit {
            put_commit(transaction, task, (commit, settlement.landed_on.as_deref()))?;
        }
    }
    Ok(status)
}

/// Records that no person has reviewed a task since a run finished it.
pub(in crate::progress) fn to_review(transaction: &Transaction<'_>, task: &TaskId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE tasks SET to_review = 1 WHERE id = ?1")?
        .execute([task.as_str()])
        .map(drop)
}

/// Adds a person's guidance to the task's description and log, even if another run has claimed the task since.
pub(super) fn add_guidance(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<()> {
    let row = &settlement.row;
    let (Some(task), Some(text)) = (&row.task, &settlement.guidance) else {
        return Ok(());
    };
    // Attribute the earlier rows to ralph and the guidance to the person.
    sign(
        transaction,
        &Author::in_iteration(AuthorKind::Ralph, row.run.clone(), row.iteration),
    )?;
    put_guidance(transaction, task, text, row.created_at)?;
    sign(
        transaction,
        &Author::in_iteration(AuthorKind::Human, row.run.clone(), row.iteration),
    )
}

/// Releases the tasks that a run has claimed, except the one whose iteration is still on record.
pub(in crate::progress) fn release(
    transaction: &Transaction<'_>,
    run: &ralph_model::RunId,
    why: &str,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let claimed: Vec<TaskId> = transaction
        .prepare_cached(
            "SELECT id FROM tasks WHERE claimed_by = ?1
             AND NOT EXISTS (SELECT 1 FROM iterations WHERE run = ?1 AND task = tasks.id) ORDER BY seq",
        )?
        .query_map([run.as_str()], |row| word_at(row, "id", TaskId::parse))?
        .collect::<rusqlite::Result<_>>()?;
    for task in claimed {
        set_task_state(transaction, &task, (NewState::Open, why), now)?;
    }
    Ok(())
}

/// The task's used retries and its own retry limit; none if the run can no longer settle it, because it was claimed
/// again since (the fencing token differs) or a person has decided about it. A claim that was only freed from a dead
/// run still counts. A status changed by another SQLite client without a new claim is ignored.
fn retries_if_claimed(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    task: &TaskId,
) -> rusqlite::Result<Option<(u32, Option<u32>)>> {
    let run = settlement.row.run.as_str();
    transaction
        .prepare_cached(
            "SELECT retries_used, max_retries FROM tasks
             WHERE id = ?1 AND fence = ?3
               AND (claimed_by = ?2 OR claimed_by IS NULL AND status NOT IN ('done', 'failed'))",
        )?
        .query_row(params![task.as_str(), run, settlement.fence.cast_signed()], |row| {
            Ok((count_at(row, "retries_used")?, row.get("max_retries")?))
        })
        .optional()
}

/// Whether a task has subtasks. An agent may have added them in its attempt, and then they are next.
fn has_subtasks(transaction: &Transaction<'_>, task: &TaskId) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached("SELECT 1 FROM tasks WHERE parent = ?1")?
        .exists([task.as_str()])
}

fn attempt_summary(settlement: &Settlement) -> String {
    let row = &settlement.row;
    let begin = format!("Attempt {} ({}): {}", row.attempt, row.run, row.outcome);
    match preview(row.reason.trim(), REASON_COLUMNS) {
        reason if reason.is_empty() => begin,
        reason => format!("{begin}: {}", reason.trim_end_matches('.')),
    }
}

/// Adds the full stop, unless the text was cut.
fn with_full_stop(sentence: String) -> String {
    match sentence.ends_with('…') {
        true => sentence,
        false => sentence + ".",
    }
}

/// The sentence for the task's log.
fn sentence(settlement: &Settlement, state: NewState<'_>, (retries_used, own_max): (u32, Option<u32>)) -> String {
    let begin = with_full_stop(attempt_summary(settlement));
    match (&settlement.task, state) {
        (TaskChange::Done { commit, unverified }, _) => {
            let commit = commit.as_ref().map(|commit| format!(" Done in commit {commit}."));
            let unverified = unverified.as_ref().map(|why| format!(" Unverified: {}.", why.words()));
            format!(
                "{begin}{}{}",
                commit.unwrap_or_default(),
                unverified.unwrap_or_default()
            )
        }
        (TaskChange::Again, _) => format!("{begin} Open again; the attempt does not count."),
        (TaskChange::Progress, _) => format!("{begin} Continues in the next iteration."),
        (TaskChange::Attempt { .. }, NewState::Failed) | (TaskChange::GiveUp, _) => {
            format!("{begin} No retries left; needs attention.")
        }
        (TaskChange::Attempt { max_retries }, _) => {
            let max_retries = own_max.unwrap_or(*max_retries);
            format!("{begin} Next: retry {retries_used} of {max_retries}.")
        }
    }
}
