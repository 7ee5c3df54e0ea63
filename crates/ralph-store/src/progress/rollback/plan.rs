//! Plans a rollback.

use ralph_model::{Author, LearningId, TaskId};
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, Row, params};
use serde_json::Value;

use super::{Kept, LearningStep, NoteStep, ROLLED_BACK, RollbackPlan, RollbackTarget, StepChange, TaskStep, UNDONE};
use crate::progress::authorship::author_at;
use crate::progress::columns::word_at;
use crate::progress::note_log::{NoteAction, NoteFile, Presence};

/// The task `?3` and its descendants.
pub(super) const TASKS: &str = "(WITH RECURSIVE whole(id) AS (
        SELECT ?3 UNION SELECT tasks.id FROM whole CROSS JOIN tasks ON tasks.parent = whole.id)
    SELECT id FROM whole)";

/// Condition for rows that belong to the target: a run (`?1`), one iteration of it (`?2`), or a task (`?3`).
fn of_target() -> String {
    format!(
        "coalesce(run = ?1 AND (?2 IS NULL OR iteration = ?2)
             OR (run, iteration) IN (SELECT run_id, iteration FROM journal WHERE task_id IN {TASKS}), 0)"
    )
}

impl RollbackTarget {
    /// The parameters of [`of_target`].
    pub(super) fn values(&self) -> (Option<&str>, Option<u32>, Option<&str>) {
        match self {
            Self::Run(run) => (Some(run.as_str()), None, None),
            Self::Iteration(run, iteration) => (Some(run.as_str()), Some(*iteration), None),
            Self::Task(task) => (None, None, Some(task.as_str())),
        }
    }
}

/// The part of a note log row that a plan needs.
struct LogRow {
    seq: i64,
    file: i64,
    place: NoteFile,
    note: String,
    is_present: bool,
    fields: [String; 5],
    author: Author,
    is_targets: bool,
}

impl LogRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get("seq")?,
            file: row.get("file")?,
            place: NoteFile {
                worktree: row.get("worktree")?,
                path: row.get("path")?,
            },
            note: row.get("note")?,
            is_present: word_at(row, "action", NoteAction::parse)?.presence() == Presence::Present,
            fields: [
                row.get("kind")?,
                row.get("content")?,
                row.get("tags")?,
                row.get("created")?,
                row.get("extra")?,
            ],
            author: author_at(row)?,
            is_targets: row.get("is_targets")?,
        })
    }

    /// Whether two rows leave the note in the same state; no row means that the note never existed.
    fn same_state(one: Option<&Self>, other: Option<&Self>) -> bool {
        let state = |row: Option<&Self>| row.filter(|row| row.is_present).map(|row| row.fields.clone());
        state(one) == state(other)
    }
}

pub(super) fn plan(connection: &Connection, worktree: &str, target: &RollbackTarget) -> rusqlite::Result<RollbackPlan> {
    let mut plan = RollbackPlan::default();
    for rows in note_rows(connection, target)? {
        plan_note(&mut plan, worktree, &rows);
    }
    plan_learnings(connection, &mut plan, target)?;
    let of_target = of_target();
    plan.proposals = connection
        .prepare_cached(&format!(
            "SELECT id FROM proposals WHERE state = 'open' AND {of_target} ORDER BY seq"
        ))?
        .query_map(target.values(), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    plan.tasks = connection
        .prepare_cached(&format!(
            "SELECT * FROM tasks WHERE status = 'proposed' AND id IN (
                 SELECT task FROM task_log WHERE author = 'agent' AND {of_target})
             ORDER BY seq"
        ))?
        .query_map(target.values(), read_task)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(plan)
}

/// The log rows of every note that the target changed, grouped by file and note, in order.
fn note_rows(connection: &Connection, target: &RollbackTarget) -> rusqlite::Result<Vec<Vec<LogRow>>> {
    let of_target = of_target();
    let sql = format!(
        "SELECT note_log.*, worktree, path, {of_target} AS is_targets
         FROM note_log JOIN note_files ON note_files.id = note_log.file
         WHERE (file, note) IN (SELECT file, note FROM note_log WHERE {of_target})
         ORDER BY file, note, seq"
    );
    let mut groups: Vec<Vec<LogRow>> = Vec::new();
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(target.values(), LogRow::read)?;
    for row in rows {
        let row = row?;
        match groups.last_mut() {
            Some(group)
                if group
                    .last()
                    .is_some_and(|last| (last.file, &last.note) == (row.file, &row.note)) =>
            {
                group.push(row);
            }
            _ => groups.push(vec![row]),
        }
    }
    Ok(groups)
}

fn plan_note(plan: &mut RollbackPlan, worktree: &str, rows: &[LogRow]) {
    let Some(first) = rows.iter().position(|row| row.is_targets) else {
        return;
    };
    let before = first.checked_sub(1).and_then(|before| rows.get(before));
    let Some(now) = rows.last() else { return };
    if LogRow::same_state(before, Some(now)) {
        return;
    }
    let mut keep = |reason: String| {
        plan.kept.push(Kept {
            id: now.note.clone(),
            reason,
        });
    };
    if now.place.worktree != worktree {
        let name = match now.place.worktree.as_str() {
            "" => "the main worktree".to_owned(),
            name => format!("the worktree {name}"),
        };
        return keep(format!("in {name}: run the command there"));
    }
    // An undone rollback leaves the note as the target left it.
    let left_by_target = rows.iter().rfind(|row| row.is_targets);
    let later = rows.iter().skip(first).rev().find(|row| !row.is_targets);
    if let Some(later) = later.filter(|_| !LogRow::same_state(left_by_target, Some(now))) {
        return keep(format!("changed afterwards ({})", later.author));
    }
    plan.notes.push(NoteStep {
        id: now.note.clone(),
        path: now.place.path.clone(),
        from: now.seq,
        to: before.map(|row| row.seq),
        change: match before {
            Some(before) if before.is_present => StepChange::Restored,
            _ => StepChange::Removed,
        },
    });
}

/// Plans to reject the learnings whose only sources are in the target. One that a person judged or changed stays.
fn plan_learnings(connection: &Connection, plan: &mut RollbackPlan, target: &RollbackTarget) -> rusqlite::Result<()> {
    let sql = format!(
        "WITH entries AS (
                   SELECT id FROM journal WHERE run_id = ?1 AND (?2 IS NULL OR iteration = ?2) OR task_id IN {TASKS})
               SELECT id, status, reason, superseded_by, pruned_from,
                   EXISTS (SELECT 1 FROM learning_log
                           WHERE learning_log.learning = learnings.id AND author = 'human'
                             AND action NOT IN (?4, ?5)) AS is_a_persons
               FROM learnings
               WHERE status NOT IN ('rejected', 'pruned') AND source <> 'human'
                 AND seq IN (SELECT learning FROM learning_sources WHERE journal IN entries)
                 AND seq NOT IN (SELECT learning FROM learning_sources WHERE journal NOT IN entries)
               ORDER BY seq"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let (run, iteration, task) = target.values();
    let values = params![run, iteration, task, ROLLED_BACK, UNDONE];
    let rows = statement.query_map(values, |row| {
        Ok((read_learning_step(row)?, row.get::<_, bool>("is_a_persons")?))
    })?;
    for row in rows {
        match row? {
            (step, true) => plan.kept.push(Kept {
                id: step.id.to_string(),
                reason: "a person judged or changed it".to_owned(),
            }),
            (step, false) => plan.learnings.push(step),
        }
    }
    let mut statement = connection.prepare_cached("SELECT * FROM learnings WHERE superseded_by = ?1 ORDER BY seq")?;
    for step in &plan.learnings {
        let freed = statement.query_map([step.id.as_str()], read_learning_step)?;
        plan.freed.extend(freed.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    Ok(())
}

fn read_learning_step(row: &Row<'_>) -> rusqlite::Result<LearningStep> {
    Ok(LearningStep {
        id: word_at(row, "id", LearningId::parse)?,
        status: row.get("status")?,
        reason: row.get("reason")?,
        superseded_by: row.get("superseded_by")?,
        pruned_from: row.get("pruned_from")?,
    })
}

fn read_task(row: &Row<'_>) -> rusqlite::Result<TaskStep> {
    let statement: &rusqlite::Statement<'_> = row.as_ref();
    let mut columns = serde_json::Map::new();
    for name in statement.column_names() {
        let value = match row.get::<_, SqlValue>(name)? {
            SqlValue::Integer(number) => Value::from(number),
            SqlValue::Real(number) => Value::from(number),
            SqlValue::Text(text) => Value::from(text),
            SqlValue::Null | SqlValue::Blob(_) => Value::Null,
        };
        columns.insert(name.to_owned(), value);
    }
    Ok(TaskStep {
        id: word_at(row, "id", TaskId::parse)?,
        title: row.get("title")?,
        row: columns,
    })
}
