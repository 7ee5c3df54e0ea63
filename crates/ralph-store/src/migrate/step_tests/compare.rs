//! Databases compared, value by value, before the step and after it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tempfile::TempDir;

use super::{Step, database_in};
use crate::Store;
use crate::migrate::version;
use crate::open::connect_for_test;

/// The tables of a database with their columns.
fn tables(connection: &Connection) -> BTreeMap<String, Vec<String>> {
    let sql = "SELECT schema.name, info.name FROM sqlite_schema AS schema JOIN pragma_table_info(schema.name) AS info
               WHERE schema.type = 'table' ORDER BY schema.name, info.cid";
    let mut statement = connection.prepare(sql).unwrap();
    let mut tables = BTreeMap::<String, Vec<String>>::new();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    for (table, column) in rows.map(Result::unwrap) {
        tables.entry(table).or_default().push(column);
    }
    tables
}

/// Every value of these columns, table by table.
fn values(connection: &Connection, tables: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<String>> {
    let of_table = |(table, columns): (&String, &Vec<String>)| {
        let columns: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        let sql = format!("SELECT {} FROM \"{table}\"", columns.join(", "));
        let mut statement = connection.prepare(&sql).unwrap();
        let rows = statement
            .query_map([], |row| {
                let value = |column| row.get_ref(column).map(shown);
                let values: Vec<_> = (0..columns.len()).map(value).collect::<rusqlite::Result<_>>()?;
                Ok(values.join(", "))
            })
            .unwrap();
        let mut rows: Vec<String> = rows.map(Result::unwrap).collect();
        rows.sort();
        (table.clone(), rows)
    };
    tables.iter().map(of_table).collect()
}

/// A value, so that no two look the same.
fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        other => format!("{other:?}"),
    }
}

/// What defines a database: its number, and everything that it has.
pub(super) fn schema(connection: &Connection) -> (i64, Vec<String>) {
    let sql = "SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1";
    (version(connection).unwrap(), texts(connection, sql))
}

pub(super) fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// A database before the step, to be compared with.
pub(super) struct Old {
    tables: BTreeMap<String, Vec<String>>,
    pub(super) values: BTreeMap<String, Vec<String>>,
    schema: (i64, Vec<String>),
}

impl Old {
    pub(super) fn of(folder: &TempDir, step: &Step) -> Self {
        let connection = connect_for_test(&database_in(folder.path()));
        let mut tables = tables(&connection);
        // All but what the step has to say itself of lessons that were there.
        let lessons = tables.get_mut("learnings").unwrap();
        lessons.retain(|column| !step.says_anew.contains(&column.as_str()));
        Self {
            values: values(&connection, &tables),
            schema: schema(&connection),
            tables,
        }
    }

    /// Checks that a database is the old one, without a change.
    #[track_caller]
    pub(super) fn assert_is(&self, folder: &Path, when: &str) {
        let connection = connect_for_test(&database_in(folder));
        assert_eq!(schema(&connection), self.schema, "{when}");
        assert!(
            values(&connection, &self.tables) == self.values,
            "{when}: a value changed"
        );
    }

    /// Checks that a database has had the whole step, and holds whatever the old one held.
    #[track_caller]
    pub(super) fn assert_became(&self, folder: &Path, when: &str) {
        let connection = connect_for_test(&database_in(folder));
        assert_eq!(schema(&connection), *NEW_SCHEMA, "{when}");
        assert_sound(&connection);
        let now = values(&connection, &self.tables);
        for (table, rows) in &self.values {
            assert!(now[table] == *rows, "{when}: {table} changed");
        }
    }
}

/// The schema of a database that is made anew.
static NEW_SCHEMA: LazyLock<(i64, Vec<String>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = database_in(folder.path());
    drop(Store::open_or_create(&path).unwrap());
    schema(&connect_for_test(&path))
});

/// Checks that nothing contradicts itself: the database, its references, and every table that is drawn from lessons.
#[track_caller]
pub(super) fn assert_sound(connection: &Connection) {
    assert_eq!(texts(connection, "PRAGMA integrity_check"), ["ok"]);
    assert_eq!(
        texts(connection, "SELECT \"table\" FROM pragma_foreign_key_check"),
        [""; 0]
    );
    for table in ["journal_fts", "learnings_fts"] {
        let check = format!("INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)");
        connection
            .execute_batch(&check)
            .unwrap_or_else(|error| panic!("{table}: {error}"));
    }
    let mut statement = connection
        .prepare("SELECT seq, terms, tag_terms FROM learnings")
        .unwrap();
    let lessons: Vec<(i64, String, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut holders = BTreeMap::<&str, BTreeSet<i64>>::new();
    let mut words = 0;
    let mut tags = BTreeSet::new();
    for (seq, terms, tag_terms) in &lessons {
        for term in terms.split(' ').filter(|term| !term.is_empty()) {
            holders.entry(term).or_default().insert(*seq);
            words += 1;
        }
        let pairs: Vec<(String, String)> = serde_json::from_str(tag_terms).unwrap();
        tags.extend(pairs.into_iter().map(|(word, tag)| format!("{word} {tag} {seq}")));
    }
    let expected: Vec<String> = holders
        .iter()
        .map(|(term, of)| format!("{term} {}", of.len()))
        .collect();
    let counted = "SELECT term || ' ' || entries FROM learning_terms WHERE entries <> 0 ORDER BY term";
    assert_eq!(texts(connection, counted), expected);
    let totals = texts(connection, "SELECT entries || ' ' || terms FROM learning_totals");
    assert_eq!(totals, [format!("{} {words}", lessons.len())]);
    let kept: BTreeSet<String> = texts(
        connection,
        "SELECT word || ' ' || tag || ' ' || learning FROM learning_tags",
    )
    .into_iter()
    .collect();
    assert_eq!(kept, tags);
    let wrong = "SELECT word FROM learning_tags JOIN learnings ON seq = learning
                 WHERE holds <> (status = 'promoted' AND superseded_by IS NULL AND source IN ('sigil', 'human'))";
    assert_eq!(texts(connection, wrong), [""; 0]);
}
