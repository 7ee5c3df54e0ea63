//! Tests of the checksums of learnings.

use ralph_model::LearningKind;
use ralph_store::{ChecksumReport, Judged, JudgedLearnings, LearningUpdate, Verdict};
use ralph_testkit::run_learning;

use super::*;

fn intact_report(learnings: u64) -> ChecksumReport {
    ChecksumReport {
        learnings,
        ..ChecksumReport::default()
    }
}

#[test]
fn every_change_updates_the_checksum() {
    let mut bench = Bench::new();
    let first = bench.add(&learning("other", "Run the tests first", &["ci"]), 1);
    assert_eq!(bench.store.verify_learning_checksums().unwrap(), intact_report(1));
    let again = learning("other", "run the tests, first", &["docker"]);
    bench.store.add_learning(&again, &mut bench.bits, day(2)).unwrap();
    bench.learn(1, &["The daemon needs a socket"]);
    bench.learn(2, &["The daemon needs a socket"]);
    let reject = Judgement::Reject("no");
    bench
        .store
        .judge_learnings(std::slice::from_ref(&first.id), reject, day(3))
        .unwrap();
    assert_eq!(bench.store.verify_learning_checksums().unwrap(), intact_report(2));
}

#[test]
fn changes_that_bypass_triggers_are_reported() {
    let mut bench = Bench::new();
    let first = bench.add(&learning("other", "Run the tests first", &["ci"]), 1);
    bench.add(&learning("other", "Keep the lock short", &[]), 2);
    for change in [
        "content = 'Run the tests last'",
        "tags = '[]'",
        "facts = ''",
        "category = 'othe', kind = 'rstrategy'",
        "created_at = '2020-01-01T00:00:00.000Z'",
        "confidence = 0.01",
        "first_success_rate = 0.25",
        "status = 'rejected'",
        "reason = 'No.'",
        "superseded_by = 'learn-00000009'",
    ] {
        // Like a changed byte in the file, which no trigger sees.
        bench.sql(
            "CREATE TABLE kept AS SELECT * FROM learnings;
             DROP TRIGGER learnings_changed;
             DROP TRIGGER learnings_stood;",
        );
        bench.sql(&format!(
            "PRAGMA ignore_check_constraints = 1; UPDATE learnings SET {change} WHERE id = '{}'",
            first.id
        ));
        let seals = bench.store.verify_learning_checksums().unwrap();
        assert_eq!(seals.altered, [first.id.as_str()], "{change}");
        bench.sql(
            "UPDATE learnings SET (content, tags, facts, category, kind, created_at, confidence, first_success_rate, status,
                                   reason, superseded_by) =
                 (SELECT content, tags, facts, category, kind, created_at, confidence, first_success_rate, status, reason,
                         superseded_by FROM kept WHERE kept.id = learnings.id);
             DROP TABLE kept;
             CREATE TRIGGER learnings_changed AFTER UPDATE OF content ON learnings BEGIN SELECT 1; END;
             CREATE TRIGGER learnings_stood AFTER UPDATE OF status ON learnings BEGIN SELECT 1; END;",
        );
        assert_eq!(
            bench.store.verify_learning_checksums().unwrap(),
            intact_report(2),
            "{change}"
        );
    }
}

#[test]
fn writes_of_other_programs_get_a_checksum() {
    let mut bench = Bench::new();
    bench.add(&learning("other", "Run the tests first", &["ci"]), 1);
    bench.sql("UPDATE learnings SET content = 'Run the tests last'");
    let seals = bench.store.verify_learning_checksums().unwrap();
    assert_eq!((seals.unsealed, seals.altered), (1, Vec::new()));
    bench.learn(1, &[]);
    assert_eq!(bench.store.verify_learning_checksums().unwrap(), intact_report(1));
}

#[test]
fn altered_text_is_reported_until_a_user_fixes_it() {
    let mut bench = Bench::new();
    let first = bench.add(&learning("other", "Run the tests first", &["ci"]), 1);
    alter_words(&bench, "content = 'Run the tests last'");
    let altered = |bench: &Bench| bench.store.verify_learning_checksums().unwrap().altered;
    assert_eq!(altered(&bench), [first.id.as_str()]);
    let again = learning("other", "Run the tests first", &["docker"]);
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
    assert_eq!(bench.store.verify_learning_checksums().unwrap(), intact_report(2));
}

/// Changes the text of all learnings like a changed byte in the file: the checksum stays.
fn alter_words(bench: &Bench, change: &str) {
    bench.sql(&format!(
        "CREATE TABLE kept AS SELECT seq, hash FROM learnings;
         UPDATE learnings SET {change};
         UPDATE learnings SET hash = (SELECT hash FROM kept WHERE kept.seq = learnings.seq);
         DELETE FROM learnings_before;
         DROP TABLE kept;"
    ));
}

/// Changes the status of all learnings like a changed byte in the file: the checksum stays.
fn alter_status(bench: &Bench, change: &str) {
    bench.sql(&format!(
        "CREATE TABLE kept AS SELECT seq, standing_hash FROM learnings;
         UPDATE learnings SET {change};
         UPDATE learnings SET standing_hash = (SELECT standing_hash FROM kept WHERE kept.seq = learnings.seq);
         DELETE FROM learnings_stood_before;
         DROP TABLE kept;"
    ));
}

#[test]
fn altered_status_is_reported_until_a_user_judges_it() {
    let mut bench = Bench::new();
    let first = bench.add(&learning("other", "Run the tests first", &["ci"]), 1);
    let altered = |bench: &Bench| bench.store.verify_learning_checksums().unwrap().altered;
    let ids = std::slice::from_ref(&first.id);
    let judgements = [
        Judgement::Reject("no"),
        Judgement::Promote,
        // Only the damage gave it this status.
        Judgement::Promote,
        Judgement::Reject("never"),
    ];
    let changes = [
        "confidence = 0.9",
        "superseded_by = 'learn-00000009'",
        "confidence = 0.8",
        "status = 'rejected', reason = 'never'",
    ];
    for ((judgement, change), sure) in judgements.into_iter().zip(changes).zip([0.1, 0.2, 0.3, 0.4]) {
        alter_status(&bench, change);
        assert_eq!(altered(&bench), [first.id.as_str()], "{change}");
        let surer = LearningUpdate {
            confidence: Some(sure),
            ..LearningUpdate::default()
        };
        bench.store.update_learning(&first.id, &surer, day(2)).unwrap();
        assert_eq!(
            altered(&bench),
            [first.id.as_str()],
            "{change}: the status was not set again"
        );
        assert_eq!(
            bench.store.judge_learnings(ids, judgement, day(3)).unwrap(),
            ids,
            "{change}"
        );
        assert_eq!(
            bench.store.verify_learning_checksums().unwrap(),
            intact_report(1),
            "{change}"
        );
    }
}

fn update(change: impl FnOnce(&mut LearningUpdate)) -> LearningUpdate {
    let mut update = LearningUpdate::default();
    change(&mut update);
    update
}

/// Checks the refusal to change a damaged learning without replacing the damaged part.
fn assert_refused<T: std::fmt::Debug>(bench: &Bench, before: &Learning, refused: Result<T, LearningError>, when: &str) {
    let refused = refused.unwrap_err();
    assert!(
        matches!(&refused, LearningError::Damaged { id } if *id == before.id),
        "{when}: {refused}"
    );
    assert!(
        refused.to_string().contains("`ralph learnings verify`"),
        "{when}: {refused}"
    );
    assert_eq!(bench.get(&before.id), *before, "{when}");
    assert_eq!(
        bench.store.verify_learning_checksums().unwrap().altered,
        [before.id.as_str()],
        "{when}"
    );
}

#[test]
fn only_a_new_text_changes_an_altered_one() {
    let mut bench = Bench::new();
    let id = bench.add(&learning("other", "Run the tests first", &["ci"]), 1).id;
    alter_words(&bench, "content = 'Run the tests last'");
    let damaged = bench.get(&id);
    for (when, other) in [
        ("tags", update(|update| update.tags = Some(vec!["tests".to_owned()]))),
        (
            "category",
            update(|update| update.category = Some("pitfall".to_owned())),
        ),
        ("kind", update(|update| update.kind = Some(LearningKind::Convention))),
        ("task type", update(|update| update.task_type = Some(TaskType::BugFix))),
        ("confidence", update(|update| update.confidence = Some(0.9))),
        ("success rate", update(|update| update.success_rate = Some(0.9))),
    ] {
        let refused = bench.store.update_learning(&id, &other, day(2));
        assert_refused(&bench, &damaged, refused, when);
    }
    let rejected = bench
        .store
        .judge_learnings(std::slice::from_ref(&id), Judgement::Reject("no"), day(2));
    assert_refused(&bench, &damaged, rejected, "reject");
    let seen = bench.store.judge_as_seen(&damaged, Verdict::Reject("no"), day(2));
    assert_refused(&bench, &damaged, seen, "review");
    let right = update(|update| {
        update.content = Some("Run the tests first".to_owned());
        update.tags = Some(vec!["tests".to_owned()]);
    });
    bench.store.update_learning(&id, &right, day(3)).unwrap();
    assert_eq!(bench.store.verify_learning_checksums().unwrap(), intact_report(1));
}

#[test]
fn only_a_new_status_changes_an_altered_one() {
    let mut bench = Bench::new();
    let other = bench.add(&learning("other", "Keep the lock short", &[]), 1).id;
    let id = bench.add(&learning("other", "Run the tests first", &["ci"]), 1).id;
    alter_status(&bench, &format!("confidence = iif(id = '{id}', 0.99, confidence)"));
    let damaged = bench.get(&id);
    for (when, change) in [
        ("tags", update(|update| update.tags = Some(vec!["tests".to_owned()]))),
        ("content", update(|update| update.content = Some("Never".to_owned()))),
    ] {
        let refused = bench.store.update_learning(&id, &change, day(2));
        assert_refused(&bench, &damaged, refused, when);
    }
    let superseded = bench.store.supersede_learning(&id, &other, day(2));
    assert_refused(&bench, &damaged, superseded, "supersede");
    let judged = bench.store.judge_as_seen(&damaged, Verdict::Promote, day(2)).unwrap();
    assert!(matches!(judged, Judged::AsSaid(_)), "{judged:?}");
    assert_eq!(bench.store.verify_learning_checksums().unwrap(), intact_report(2));
}

#[test]
fn bulk_judgement_skips_damaged_learnings() {
    type Judge = fn(&mut Store) -> JudgedLearnings;
    let validate: Judge = |store| store.validate_learnings(&[], day(2)).unwrap();
    let promote: Judge = |store| store.promote_validated(day(2)).unwrap();
    for (status, judge) in [("pending", validate), ("validated", promote)] {
        let mut bench = Bench::new();
        let altered = bench.add(&learning("other", "Run the tests first", &["ci"]), 1).id;
        let whole = bench.add(&learning("other", "Keep the lock short", &[]), 1).id;
        let words = bench.add(&learning("other", "Write the guide", &[]), 1).id;
        bench.sql(&format!("UPDATE learnings SET status = '{status}'"));
        bench.learn(1, &[]);
        alter_status(&bench, &format!("confidence = iif(id = '{altered}', 0.99, confidence)"));
        alter_words(&bench, &format!("content = iif(id = '{words}', 'Burn it', content)"));
        let damaged = [altered, words];
        let judged = judge(&mut bench.store);
        let ids: Vec<&LearningId> = judged.judged.iter().map(|learning| &learning.id).collect();
        assert_eq!(
            (ids, judged.damaged.as_slice()),
            (vec![&whole], damaged.as_slice()),
            "{status}"
        );
        for id in &damaged {
            assert_eq!(bench.get(id).status.word(), status);
        }
        let altered = bench.store.verify_learning_checksums().unwrap().altered;
        assert_eq!(altered, damaged.map(|id| id.to_string()), "{status}");
    }
}

#[test]
fn changed_rows_get_checksums_before_older_ones() {
    let mut bench = Bench::new();
    let first = bench.add(&learning("other", "Run the tests first", &["ci"]), 1);
    let waiting: Vec<_> = (1..=1_100)
        .map(|number| {
            let text = format!("Learning {number}");
            run_learning(number, LearningKind::Strategy, TaskType::BugFix, &text)
        })
        .collect();
    let mut bench = bench.with_known(&waiting);
    assert_eq!(bench.store.verify_learning_checksums().unwrap().unsealed, 1_100);
    let reject = Judgement::Reject("no");
    bench.store.judge_learnings(&[first.id], reject, day(2)).unwrap();
    let left = bench.store.verify_learning_checksums().unwrap().unsealed;
    assert_eq!(left, 101, "1,000 at once, of which the changed one is none that waited");
    bench.learn(1, &["The daemon needs a socket", "Keep the lock short"]);
    assert_eq!(bench.store.verify_learning_checksums().unwrap(), intact_report(1_103));
}
