//! A value of the wrong type in a learning is reported and blocks nothing else.

use ralph_store::LearningFaultKind;
use ralph_testkit::corrupt_row;

use super::*;

/// A value of the wrong type for each column except `seq`.
#[expect(clippy::disallowed_methods, reason = "no method of the store does this")]
fn wrong_values(bench: &Bench) -> Vec<(String, String)> {
    let connection = rusqlite::Connection::open(bench.folder.path().join("progress.db")).unwrap();
    let sql = "SELECT name, \"notnull\" FROM pragma_table_info('learnings') WHERE name <> 'seq'";
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let columns: Vec<(String, bool)> = columns.map(Result::unwrap).collect();
    // One bit turns text into bytes, and no bit changes the type of a number.
    let as_bytes = |column: &str| format!("CAST(coalesce({column}, 'x') AS BLOB)");
    let bytes = columns.iter().map(|(column, _)| (column.clone(), as_bytes(column)));
    let nothing = columns.iter().filter(|(_, is_never_empty)| *is_never_empty);
    let nothing = nothing.map(|(column, _)| (column.clone(), "NULL".to_owned()));
    bytes.chain(nothing).collect()
}

#[expect(clippy::disallowed_methods, reason = "simulates disk damage")]
fn damage(bench: &Bench, column: &str, value: &str, id: &LearningId) {
    let connection = rusqlite::Connection::open(bench.folder.path().join("progress.db")).unwrap();
    let triggers: Vec<(String, String)> = connection
        .prepare(
            "SELECT name, sql FROM sqlite_schema
             WHERE type = 'trigger' AND tbl_name = 'learnings' AND sql LIKE '%UPDATE OF%'",
        )
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let (names, kept): (Vec<String>, Vec<String>) = triggers.into_iter().unzip();
    for name in names {
        connection.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    let change = format!("UPDATE learnings SET {column} = {value} WHERE id = '{id}'");
    corrupt_row(&connection, "learnings", &change);
    connection.execute_batch(&kept.join(";")).unwrap();
}

#[test]
fn wrong_column_types_are_reported_and_block_nothing() {
    for (column, value) in wrong_values(&Bench::new()) {
        let when = format!("{column} = {value}");
        let mut bench = Bench::new();
        let first = bench.add(&learning("other", "Run the tests first", &["ci"]), 1);
        let second = bench.add(&learning("other", "Keep the lock short", &["ci"]), 2);
        damage(&bench, &column, &value, &first.id);
        let unreadable = |bench: &Bench| -> Vec<String> {
            let faults = bench.store.verify_learnings();
            let faults = faults.unwrap_or_else(|error| panic!("{when}: {error}"));
            let unreadable = faults
                .into_iter()
                .filter(|fault| fault.kind == LearningFaultKind::Unreadable);
            unreadable.filter_map(|fault| fault.id).collect()
        };
        let named = unreadable(&bench);
        assert_eq!(named.len(), 1, "{when}");
        let health = bench.store.health().unwrap();
        assert_eq!(
            (health.faults, health.unfit_learnings.is_empty()),
            (Vec::new(), false),
            "{when}"
        );
        bench.learn(1, &["The daemon needs a socket"]);
        bench
            .store
            .judge_learnings(&[second.id], Judgement::Reject("no"), day(3))
            .unwrap();
        let repaired = bench.store.repair_learnings(day(4));
        repaired.unwrap_or_else(|error| panic!("{when}: {error}"));
        match column.as_str() {
            // It is ambiguous which one is meant.
            "id" => continue,
            // Dangling references are removed in any case.
            "journal" | "superseded_by" => assert_eq!(unreadable(&bench), [""; 0], "{when}"),
            _ => assert_eq!(unreadable(&bench), [first.id.as_str()], "{when}"),
        }
        let deleted = bench.store.delete_learnings(&[first.id], day(5));
        deleted.unwrap_or_else(|error| panic!("{when}: {error}"));
        bench.store.repair_learnings(day(6)).unwrap();
        assert_eq!(bench.store.verify_learnings().unwrap(), [], "{when}");
    }
}
