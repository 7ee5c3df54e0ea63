//! What a settlement makes of the task, if it is still the run's to settle.

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, TaskId, TaskStatus, preview};
use rusqlite::{OptionalExtension, Transaction, params};

use super::{Settlement, TaskChange};
use crate::progress::authorship::sign;
use crate::progress::columns::{count_at, word_at};
use crate::progress::rollback::put_commit;
use crate::progress::task_steps::put_guidance;
use crate::progress::transitions::{Said, say};

/// How much of a reason stands in the log of a task. All of it is in the journal.
const REASON_COLUMNS: usize = 200;

/// Changes the task, and says where it stands then; nothing happens when the claim is no longer the run's.
pub(super) fn change(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<Option<TaskStatus>> {
    let row = &settlement.row;
    let Some(task) = &row.task else { return Ok(None) };
    let Some((retries_before, own_max)) = retries_if_held(transaction, settlement, task)? else {
        return Ok(None);
    };
    let (said, retries_used) = match &settlement.task {
        TaskChange::Done { commit, unverified } => {
            let worktree = match (&settlement.landed_on, commit) {
                (None, _) => Some(settlement.worktree.as_str()),
                (Some(base), Some(_)) => Some(base.as_str()),
                // Without a commit there is nothing that could be missing elsewhere.
                (Some(_), None) => None,
            };
            let said = Said::Done {
                worktree,
                commit: commit.as_deref(),
                unverified: unverified.as_ref(),
            };
            (said, 0)
        }
        TaskChange::Again => (Said::Open, retries_before),
        TaskChange::Progress => (Said::Open, 0),
        TaskChange::Attempt { max_retries } => match retries_before.saturating_add(1) {
            used if used > own_max.unwrap_or(*max_retries) => (Said::Failed, used),
            used => (Said::Open, used),
        },
        TaskChange::GiveUp => (Said::Failed, retries_before.saturating_add(1)),
    };
    transaction
        .prepare_cached("UPDATE tasks SET retries_used = ?2 WHERE id = ?1")?
        .execute(params![task.as_str(), retries_used])?;
    let sentence = match (&settlement.task, has_parts(transaction, task)?) {
        (TaskChange::Attempt { .. } | TaskChange::GiveUp, true) => {
            format!(
                "{} Where it stands now follows from its parts.",
                ended(beginning(settlement))
            )
        }
        _ => sentence(settlement, said, (retries_used, own_max)),
    };
    let status = say(transaction, task, (said, &sentence), row.created_at)?;
    if let TaskChange::Done { commit, .. } = &settlement.task {
        to_review(transaction, task)?;
        if let Some(commit) = commit {
            put_commit(transaction, task, (commit, settlement.landed_on.as_deref()))?;
        }
    }
    Ok(status)
}

/// Notes that no person has looked at a task since a run finished it.
pub(in crate::progress) fn to_review(transaction: &Transaction<'_>, task: &TaskId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE tasks SET to_review = 1 WHERE id = ?1")?
        .execute([task.as_str()])
        .map(drop)
}

/// Adds what a person said to the description of the task and to its log. It is theirs, so it is kept whoever has the task
/// by now.
pub(super) fn add_guidance(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<()> {
    let row = &settlement.row;
    let (Some(task), Some(text)) = (&row.task, &settlement.guidance) else {
        return Ok(());
    };
    // The run writes it down, but a person said it.
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

/// Lets the tasks go that a run holds, except the one whose iteration is still on record.
pub(in crate::progress) fn release(
    transaction: &Transaction<'_>,
    run: &ralph_model::RunId,
    why: &str,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let held: Vec<TaskId> = transaction
        .prepare_cached(
            "SELECT id FROM tasks WHERE claimed_by = ?1
             AND NOT EXISTS (SELECT 1 FROM iterations WHERE run = ?1 AND task = tasks.id) ORDER BY seq",
        )?
        .query_map([run.as_str()], |row| word_at(row, "id", TaskId::parse))?
        .collect::<rusqlite::Result<_>>()?;
    for task in held {
        say(transaction, &task, (Said::Open, why), now)?;
    }
    Ok(())
}

/// How many retries the task has used, and how many it may by its own word; none when it is no longer the run's to settle: another claim has been made since,
/// which the number tells, or a person has decided about it. A claim that was only taken from a dead run still counts. Only
/// another client of SQLite can change the status of a task without its claim, and its word does not count.
fn retries_if_held(
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

/// Whether a task has parts. An agent may have added them in its attempt, and then they are what is done next.
fn has_parts(transaction: &Transaction<'_>, task: &TaskId) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached("SELECT 1 FROM tasks WHERE parent = ?1")?
        .exists([task.as_str()])
}

/// Which attempt it was and how it ended.
fn beginning(settlement: &Settlement) -> String {
    let row = &settlement.row;
    let begin = format!("Attempt {} ({}): {}", row.attempt, row.run, row.outcome);
    match preview(row.reason.trim(), REASON_COLUMNS) {
        reason if reason.is_empty() => begin,
        reason => format!("{begin}: {}", reason.trim_end_matches('.')),
    }
}

/// A sentence with its end, unless it was cut.
fn ended(sentence: String) -> String {
    match sentence.ends_with('…') {
        true => sentence,
        false => sentence + ".",
    }
}

/// What happened, for the log of the task.
fn sentence(settlement: &Settlement, said: Said<'_>, (retries_used, own_max): (u32, Option<u32>)) -> String {
    let begin = ended(beginning(settlement));
    match (&settlement.task, said) {
        (TaskChange::Done { commit, unverified }, _) => {
            let commit = commit.as_ref().map(|commit| format!(" Done in commit {commit}."));
            let unverified = unverified.as_ref().map(|why| format!(" Unverified: {}.", why.words()));
            format!(
                "{begin}{}{}",
                commit.unwrap_or_default(),
                unverified.unwrap_or_default()
            )
        }
        (TaskChange::Again, _) => format!("{begin} It is open as before; the attempt does not count."),
        (TaskChange::Progress, _) => format!("{begin} It goes on."),
        (TaskChange::Attempt { .. }, Said::Failed) | (TaskChange::GiveUp, _) => {
            format!("{begin} Its retries are used up, so it waits for a person.")
        }
        (TaskChange::Attempt { max_retries }, _) => {
            let max_retries = own_max.unwrap_or(*max_retries);
            format!("{begin} It is tried again: retry {retries_used} of {max_retries}.")
        }
    }
}
