//! One row that holds what its table does not allow, as a disk or another tool leaves it, keeps nobody from the next schema.

use ralph_model::LearningId;
use ralph_testkit::past_its_types;

use super::compare::texts;
use super::{EVIDENCE, SEALED_STANDING, database_in};
use crate::open::connect_for_test;
use crate::{Judgement, LearningFaultKind, Store, Wait};

/// Rows of which a value is of a type, or is nothing, that the table does not allow.
const DAMAGE: [(&str, &str); 7] = [
    (
        "learnings",
        "UPDATE learnings SET confidence = 'sure' WHERE id = 'learn-00000003'",
    ),
    (
        "learnings",
        "UPDATE learnings SET content = x'00ff' WHERE id = 'learn-00000003'",
    ),
    (
        "learnings",
        "UPDATE learnings SET use_count = NULL WHERE id = 'learn-00000003'",
    ),
    (
        "learnings",
        "UPDATE learnings SET status = 'lost' WHERE id = 'learn-00000003'",
    ),
    ("journal", "UPDATE journal SET duration_ms = 'long' WHERE id = 2"),
    ("journal", "UPDATE journal SET cost_usd = NULL WHERE id = 2"),
    (
        "learning_sources",
        "UPDATE learning_sources SET journal = 'none' WHERE learning = 7 AND journal = 4",
    ),
];

#[test]
fn a_database_with_one_row_of_a_wrong_type_opens_and_has_every_step() {
    for step in [EVIDENCE, SEALED_STANDING] {
        for (table, damage) in DAMAGE {
            let folder = step.before();
            let path = database_in(folder.path());
            let connection = connect_for_test(&path);
            past_its_types(&connection, table, damage);
            let rows = format!("SELECT count(*) || '' FROM {table}");
            let before = texts(&connection, &rows);
            let mut store = Store::open_existing(&path, Wait::Long)
                .unwrap_or_else(|error| panic!("{damage}: {error}"))
                .unwrap();
            assert_eq!(texts(&connection, &rows), before, "{damage}");
            let now = "2025-01-24T12:00:00Z".parse().unwrap();
            let other = [LearningId::parse("learn-00000001").unwrap()];
            let reject = Judgement::Reject("no");
            let judged = store.judge_learnings(&other, reject, now).unwrap();
            assert_eq!(judged, other, "{damage}");
            let is_named = store.verify_learnings().unwrap().iter().any(|fault| {
                fault.kind == LearningFaultKind::Unreadable && fault.id.as_deref() == Some("learn-00000003")
            });
            assert_eq!(is_named, table == "learnings", "{damage}");
        }
    }
}
