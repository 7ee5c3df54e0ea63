//! The facts of a story as another SQLite client reads them.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value};

/// Queries for the facts that SPEC's tables hold. When a column is renamed, the query changes and the rows stay.
const TABLES: &[(&str, &str)] = &[
    (
        "tasks",
        "SELECT id, title, description, status, kind, priority, parent, retries_used, attempts, unverified, checks FROM tasks ORDER BY seq",
    ),
    ("dependencies", "SELECT task, after FROM dependencies ORDER BY task, after"),
    ("runs", "SELECT id, kind, agent, goal, branch, end_code, ended_at IS NOT NULL AS ended FROM runs ORDER BY seq"),
    (
        "journal",
        "SELECT run_id, iteration, task_id, task_title, attempt, outcome, stop_reason, model, files_modified, changed_nothing, notes,
                difficulty, error_category, malformed_sigils, evidence, unverified FROM journal ORDER BY id",
    ),
    (
        "failure_reports",
        "SELECT journal, what_tried, why_failed, category, relevant_files, suggestion, origin, gate FROM failure_reports ORDER BY journal",
    ),
    (
        "learnings",
        "SELECT id, kind, category, task_type, content, tags, round(confidence, 3) AS confidence, round(success_rate, 3) AS success_rate,
                use_count, source, source_loops,
                CASE status WHEN 'pending' THEN 'proposed' WHEN 'validated' THEN 'proposed' WHEN 'promoted' THEN 'active'
                            WHEN 'pruned' THEN 'retired' ELSE status END AS status,
                superseded_by FROM learnings ORDER BY seq",
    ),
    (
        "injections",
        "SELECT journal.run_id, journal.iteration, injections.kind, injections.entry, injections.section,
                CASE injections.reason WHEN 'shown' THEN 'injected' ELSE injections.reason END AS reason
         FROM injections JOIN journal ON journal.id = injections.journal ORDER BY injections.journal, section, rank",
    ),
    ("note_log", "SELECT note, action, kind, content, tags, author, run, iteration FROM note_log ORDER BY seq"),
    ("outbox", "SELECT count(*) AS unwritten FROM outbox WHERE state <> 'done'"),
];

/// Every table with its rows.
#[expect(clippy::disallowed_methods, reason = "another client reads what the command wrote")]
pub(crate) fn of(database: &Path) -> Vec<(&'static str, Vec<Value>)> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    TABLES
        .iter()
        .map(|(table, query)| (*table, rows(&connection, query)))
        .collect()
}

fn rows(connection: &Connection, query: &str) -> Vec<Value> {
    let mut statement = connection
        .prepare(query)
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let read = |row: &rusqlite::Row<'_>| {
        let mut object = Map::new();
        for (at, name) in names.iter().enumerate() {
            object.insert(name.clone(), value(row.get_ref(at)?));
        }
        Ok(Value::Object(object))
    };
    statement
        .query_map([], read)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into(),
    }
}
