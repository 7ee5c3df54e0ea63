//! Every lesson says whether it is still what was written.

use ralph_store::{LearningUpdate, Seals};

use super::*;

fn sound(learnings: u64) -> Seals {
    Seals {
        learnings,
        ..Seals::default()
    }
}

#[test]
fn whatever_changes_a_lesson_seals_it_again() {
    let mut bench = Bench::new();
    let first = bench.add(&lesson("other", "Run the tests first", &["ci"]), 1);
    assert_eq!(bench.store.learning_seals().unwrap(), sound(1));
    let again = lesson("other", "run the tests, first", &["docker"]);
    bench.store.add_learning(&again, &mut bench.bits, day(2)).unwrap();
    bench.learn(1, &["The daemon needs a socket"]);
    bench.learn(2, &["The daemon needs a socket"]);
    let reject = Judgement::Reject("no");
    bench
        .store
        .judge_learnings(std::slice::from_ref(&first.id), reject, day(3))
        .unwrap();
    assert_eq!(bench.store.learning_seals().unwrap(), sound(2));
}

#[test]
fn what_was_changed_past_the_triggers_is_told() {
    let mut bench = Bench::new();
    let first = bench.add(&lesson("other", "Run the tests first", &["ci"]), 1);
    bench.add(&lesson("other", "Keep the lock short", &[]), 2);
    for change in [
        "content = 'Run the tests last'",
        "tags = '[]'",
        "facts = ''",
        "category = 'othe', kind = 'rstrategy'",
        "created_at = '2020-01-01T00:00:00.000Z'",
    ] {
        // As if a byte in the file were another: no trigger sees that.
        bench.sql("CREATE TABLE kept AS SELECT * FROM learnings; DROP TRIGGER learnings_changed;");
        bench.sql(&format!(
            "PRAGMA ignore_check_constraints = 1; UPDATE learnings SET {change} WHERE id = '{}'",
            first.id
        ));
        let seals = bench.store.learning_seals().unwrap();
        assert_eq!(seals.altered, [first.id.as_str()], "{change}");
        bench.sql(
            "UPDATE learnings SET (content, tags, facts, category, kind, created_at) =
                 (SELECT content, tags, facts, category, kind, created_at FROM kept WHERE kept.id = learnings.id);
             DROP TABLE kept;
             CREATE TRIGGER learnings_changed AFTER UPDATE OF content ON learnings BEGIN SELECT 1; END;",
        );
        assert_eq!(bench.store.learning_seals().unwrap(), sound(2), "{change}");
    }
}

#[test]
fn what_another_program_wrote_is_sealed_with_the_next_change_of_anything() {
    let mut bench = Bench::new();
    bench.add(&lesson("other", "Run the tests first", &["ci"]), 1);
    bench.sql("UPDATE learnings SET content = 'Run the tests last'");
    let seals = bench.store.learning_seals().unwrap();
    assert_eq!((seals.unsealed, seals.altered), (1, Vec::new()));
    bench.learn(1, &[]);
    assert_eq!(bench.store.learning_seals().unwrap(), sound(1));
}

#[test]
fn what_was_altered_is_told_however_much_is_added_to_it_until_a_person_vouches() {
    let mut bench = Bench::new();
    let first = bench.add(&lesson("other", "Run the tests first", &["ci"]), 1);
    // As if a byte in the file were another: the hash stays what it was.
    bench.sql(
        "CREATE TABLE kept AS SELECT seq, hash FROM learnings;
         UPDATE learnings SET content = 'Run the tests last';
         UPDATE learnings SET hash = (SELECT hash FROM kept WHERE kept.seq = learnings.seq);
         DELETE FROM learnings_before;
         DROP TABLE kept;",
    );
    let altered = |bench: &Bench| bench.store.learning_seals().unwrap().altered;
    assert_eq!(altered(&bench), [first.id.as_str()]);
    let again = lesson("other", "Run the tests first", &["docker"]);
    bench.store.add_learning(&again, &mut bench.bits, day(2)).unwrap();
    bench.learn(1, &["Keep the lock short"]);
    assert_eq!(altered(&bench), [first.id.as_str()]);
    let vouched = LearningUpdate {
        content: Some("Run the tests first".to_owned()),
        ..LearningUpdate::default()
    };
    bench.store.update_learning(&first.id, &vouched, day(3)).unwrap();
    assert_eq!(altered(&bench), [""; 0]);
    bench.store.add_learning(&again, &mut bench.bits, day(4)).unwrap();
    assert_eq!(bench.store.learning_seals().unwrap(), sound(2));
}
