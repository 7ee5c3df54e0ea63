//! Whatever happens to lessons, the tables that are drawn from them by triggers say the same as they do.

use std::path::Path;

use proptest::prelude::*;
use rusqlite::Connection;

use super::compare::assert_sound;
use crate::migrate::{MIGRATIONS, migrate};

/// What may happen to a lesson.
#[derive(Debug, Clone)]
enum Change {
    Put(String, Vec<String>),
    Say(i64, String, Vec<String>),
    Use(i64),
    Judge(i64, &'static str),
    Delete(i64),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let text = "([a-c]|ä|\"|\\\\| |\n|src/lib\\.rs|0x61){0,6}";
    let tags = proptest::collection::vec(text, 0..4);
    let which = 0_i64..8;
    let change = prop_oneof![
        3 => (text, tags.clone()).prop_map(|(text, tags)| Change::Put(text, tags)),
        2 => (which.clone(), text, tags).prop_map(|(which, text, tags)| Change::Say(which, text, tags)),
        1 => which.clone().prop_map(Change::Use),
        2 => (which.clone(), proptest::sample::select(vec!["promoted", "validated", "pruned"]))
            .prop_map(|(which, status)| Change::Judge(which, status)),
        1 => which.prop_map(Change::Delete),
    ];
    proptest::collection::vec(change, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_happens_to_lessons_the_tables_drawn_from_them_agree(changes in changes()) {
        let connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "foreign_keys", true).unwrap();
        migrate(&connection, Path::new(""), MIGRATIONS).unwrap();
        for change in changes {
            let done = match &change {
                Change::Put(text, tags) => connection.execute(
                    "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, source,
                                            source_loops, status, created_at, updated_at, terms, tag_terms)
                     SELECT 'learn-' || coalesce(max(seq), 0), 'strategy', 'other', ?1, ?2, 0.5, 1.0, 'sigil', '[]',
                            'pending', '', '', learning_terms_of(?1, ?2), tag_terms_of(?2) FROM learnings",
                    [text, &serde_json::to_string(tags).unwrap()],
                ),
                Change::Say(which, text, tags) => connection.execute(
                    "UPDATE learnings SET content = ?2, terms = learning_terms_of(?2, ?3), tag_terms = tag_terms_of(?3)
                     WHERE seq = ?1",
                    rusqlite::params![which, text, serde_json::to_string(tags).unwrap()],
                ),
                Change::Use(which) => {
                    connection.execute("UPDATE learnings SET use_count = use_count + 1 WHERE seq = ?1", [which])
                }
                Change::Judge(which, status) => connection.execute(
                    "UPDATE learnings SET status = ?2, superseded_by = iif(?2 = 'pruned', 'learn-1', NULL) WHERE seq = ?1",
                    rusqlite::params![which, status],
                ),
                Change::Delete(which) => connection.execute("DELETE FROM learnings WHERE seq = ?1", [which]),
            };
            prop_assert!(done.is_ok(), "{change:?}: {done:?}");
            assert_sound(&connection);
        }
    }
}
