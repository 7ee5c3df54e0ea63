//! Tests of verifying and repairing learnings.

use ralph_model::{Learning, LearningStatus};

use super::learnings::{Story, Told};
use super::*;

/// Three learnings, two of them injected: one is merged into another, and one is superseded.
fn story() -> Story {
    let tells = |learnings: &[&'static str]| Told {
        learnings: learnings
            .iter()
            .map(|text| ("tool_usage", *text, "cargo test"))
            .collect(),
        ..Told::once(Outcome::Done, "")
    };
    let mut story = Story::of(&[tells(&["Use one thread.", "Use two threads.", "Use no thread at all."])]);
    for (outcome, shown) in [
        (Outcome::Done, &[1, 2][..]),
        (Outcome::Failed, &[1]),
        (Outcome::Interrupted, &[1, 2]),
        (Outcome::Retried, &[2]),
    ] {
        story.tell(&Told {
            outcome,
            shown: shown.iter().map(|id| LearningId::new(*id)).collect(),
            ..tells(&[])
        });
    }
    let group = MergeGroup {
        newest: LearningId::new(1),
        others: vec![LearningId::new(2)],
    };
    let merged = story.bench.store.merge_learnings(&[group], at(20)).unwrap();
    assert_eq!(merged.merged, 1);
    story
}

fn faults(story: &Story) -> Vec<String> {
    let found = story.bench.store.verify_learnings().unwrap();
    let line = |fault: &LearningFault| {
        let id = fault.id.as_deref().unwrap_or("all");
        format!("{} {id}: {}", fault.kind.word(), fault.what)
    };
    found.iter().map(line).collect()
}

#[test]
fn store_operations_cause_no_faults() {
    let mut story = story();
    assert_eq!(faults(&story), [""; 0]);
    let store = &mut story.bench.store;
    let (one, two) = (LearningId::new(1), LearningId::new(2));
    let counts = |learning: &Learning| (learning.use_count, learning.successes);
    assert_eq!(counts(&store.learning(&one).unwrap().unwrap()), (4, 2));
    store.restore_learnings(std::slice::from_ref(&two), at(21)).unwrap();
    assert_eq!(faults(&story), [""; 0]);
    let store = &mut story.bench.store;
    assert_eq!(counts(&store.learning(&one).unwrap().unwrap()), (2, 1));
    store
        .judge_learnings(std::slice::from_ref(&one), Judgement::Reject("no"), at(22))
        .unwrap();
    store.delete_learnings(&[two], at(23)).unwrap();
    assert_eq!(faults(&story), [""; 0]);
}

/// Breaks a database, checks the reported problems, and that the repair leaves intact rows and those that need a user.
#[track_caller]
fn check(broken: &str, expected: &[&str], left: &[&str]) {
    let mut story = story();
    let before = story.learnings();
    story.bench.sql("PRAGMA foreign_keys = OFF");
    story.bench.sql(broken);
    assert_eq!(faults(&story), expected, "{broken}");
    let repaired = story.bench.store.repair_learnings(at(90)).unwrap();
    assert_eq!(repaired.found.len(), expected.len(), "{broken}");
    assert_eq!(faults(&story), left, "{broken}");
    assert_eq!(repaired.left.len(), left.len(), "{broken}");
    if left.is_empty() {
        assert_eq!(story.learnings(), before, "{broken}");
    }
}

#[test]
fn counts_are_recomputed_from_the_journal() {
    check(
        "UPDATE learnings SET use_count = 9 WHERE seq = 1",
        &[
            "counters learn-00000001: it counts 9 uses, 2 of them done, and a success rate of 0.778; the journal says 4, 2 \
           and 0.778",
        ],
        &[],
    );
    check(
        "UPDATE learnings SET success_rate = 0.1 WHERE seq = 2",
        &[
            "counters learn-00000002: it counts 2 uses, 1 of them done, and a success rate of 0.100; the journal says 2, 1 \
           and 0.857",
        ],
        &[],
    );
    check(
        "UPDATE learnings SET last_used_at = NULL WHERE seq = 2",
        &[
            "counters learn-00000002: it counts 2 uses, 1 of them done, and a success rate of 0.857; the journal says 2, 1 \
           and 0.857; and it was last injected 2025-06-15T15:06:50.000Z",
        ],
        &[],
    );
}

#[test]
fn search_data_is_recomputed_from_texts() {
    check(
        "UPDATE learnings SET lesson = 'else' WHERE seq = 3",
        &["derived learn-00000003: its normalized words do not match its text"],
        &[],
    );
    check(
        "UPDATE learnings SET terms = 'else' WHERE seq = 3",
        &["derived learn-00000003: its search terms do not match its text"],
        &[],
    );
    for column in ["lesson", "terms"] {
        let mut story = story();
        story.bench.sql(&format!(
            "UPDATE learnings SET {column} = CAST(x'ff41' AS TEXT) WHERE seq = 3"
        ));
        let found = faults(&story);
        assert!(found[0].starts_with("derived learn-00000003: "), "{found:?}");
        assert_eq!(
            story.bench.store.repair_learnings(at(90)).unwrap().left,
            [],
            "bytes that are not text"
        );
    }
    check(
        "DELETE FROM learning_tags WHERE learning = 3",
        &["derived learn-00000003: its search tags do not match its tags"],
        &[],
    );
    check(
        "UPDATE learning_tags SET holds = 0 WHERE learning = 3",
        &["derived learn-00000003: its search tags do not match its tags"],
        &[],
    );
    check(
        "UPDATE learning_terms SET entries = 7 WHERE term = 'thread'; DELETE FROM learning_terms WHERE term = 'two'",
        &["derived all: 2 words have wrong counts in the index of learnings"],
        &[],
    );
    check(
        "UPDATE learning_totals SET terms = 1",
        &["derived all: the index of learnings has wrong totals"],
        &[],
    );
    check(
        "INSERT INTO learnings_fts (learnings_fts, rowid, terms) VALUES ('delete', 3, 'thread')",
        &["derived all: the full-text index of learnings does not match their texts"],
        &[],
    );
}

#[test]
fn dangling_references_are_removed() {
    check(
        "INSERT INTO learning_sources (learning, journal) VALUES (3, 999), (77, 1);
         INSERT INTO learning_signatures VALUES ('x', 77);
         INSERT INTO settled_conflicts VALUES ('learn-00000001', 'learn-00000077', '');",
        &[
            "reference learn-00000003: an iteration that reported it is missing from the journal",
            "reference number 77: iterations refer to a missing learning",
            "reference number 77: failure signatures refer to a missing learning",
            "reference learn-00000001 and learn-00000077: a settled conflict refers to a missing learning",
        ],
        &[],
    );
    let mut story = story();
    story
        .bench
        .sql("UPDATE learnings SET superseded_by = 'learn-00000077' WHERE seq = 3");
    assert_eq!(
        faults(&story),
        ["replaced learn-00000003: the learning that supersedes it is missing"]
    );
    assert_eq!(story.bench.store.repair_learnings(at(90)).unwrap().left, []);
    let replaced = &story.learnings()[2];
    assert_eq!(
        (replaced.status, replaced.reason.as_deref(), &replaced.superseded_by),
        (
            LearningStatus::Rejected,
            Some("learn-00000077 had taken its place, and is not there any more"),
            &None
        ),
        "it does not hold again by itself"
    );
    story
        .bench
        .sql("UPDATE learnings SET superseded_by = 'learn-00000077' WHERE seq = 2");
    let found = faults(&story);
    assert_eq!(
        found[1..],
        ["reference learn-00000002: the learning that it was merged into is missing"],
        "{found:?}"
    );
    assert_eq!(story.bench.store.repair_learnings(at(90)).unwrap().left, []);
    let merged = &story.learnings()[1];
    assert_eq!((merged.status, &merged.superseded_by), (LearningStatus::Pruned, &None));
}

#[test]
fn faults_that_need_a_user_are_reported_only() {
    let twice = ["duplicate learn-00000003: it is a duplicate of learn-00000001"];
    check(
        "UPDATE learnings SET lesson = (SELECT lesson FROM learnings WHERE seq = 1), content = 'use ONE thread!',
             terms = (SELECT terms FROM learnings WHERE seq = 1) WHERE seq = 3",
        &[
            "derived learn-00000003: its search terms do not match its text",
            twice[0],
        ],
        &twice,
    );
    let dependency_cycle = ["ring learn-00000001: it is in a cycle of superseded learnings, so none of them is active"];
    check(
        "UPDATE learnings SET superseded_by = 'learn-00000003' WHERE seq = 1;
         UPDATE learnings SET superseded_by = 'learn-00000001' WHERE seq = 3",
        &dependency_cycle,
        &dependency_cycle,
    );
    // Changed by another program, which leaves the search data to the triggers.
    let no_text = ["no_text learn-00000003: it is active but has no text, so it is never injected"];
    check(
        "UPDATE learnings SET content = ' ', lesson = '', terms = (SELECT terms FROM learnings WHERE seq = 3) WHERE seq = 3",
        &[
            no_text[0],
            "derived learn-00000003: its search terms do not match its text",
        ],
        &no_text,
    );
    let range = ["out_of_range learn-00000003: its confidence is 1.5, which is not between 0 and 1"];
    check("UPDATE learnings SET confidence = 1.5 WHERE seq = 3", &range, &range);
}

#[test]
fn external_changes_are_reported_until_a_user_fixes_them() {
    let mut story = story();
    story.bench.sql(
        "DROP TRIGGER learnings_changed;
         UPDATE learnings SET category = 'sabotage' WHERE seq = 3",
    );
    let found = faults(&story);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("changed learn-00000003: its text does not match its checksum"),
        "{found:?}"
    );
    assert_eq!(story.bench.store.repair_learnings(at(90)).unwrap().left.len(), 1);
    story.bench.sql(
        "CREATE TRIGGER learnings_changed AFTER UPDATE OF category, content ON learnings BEGIN
             UPDATE learnings SET hash = NULL WHERE seq = new.seq;
         END",
    );
    let vouched = LearningUpdate {
        content: Some("Use no thread at all.".to_owned()),
        ..LearningUpdate::default()
    };
    let store = &mut story.bench.store;
    store.update_learning(&LearningId::new(3), &vouched, at(30)).unwrap();
    assert_eq!(faults(&story), [""; 0]);
}

#[test]
fn checksum_that_is_not_text_is_a_mismatch() {
    let story = story();
    story
        .bench
        .sql("UPDATE learnings SET hash = CAST(x'ff' AS TEXT) WHERE seq = 3");
    let found = faults(&story);
    assert!(
        found.len() == 1 && found[0].starts_with("changed learn-00000003: "),
        "{found:?}"
    );
}

#[test]
fn unreadable_row_is_reported_and_can_be_deleted() {
    let mut story = story();
    story
        .bench
        .sql("UPDATE learnings SET updated_at = 'yesterday' WHERE seq = 3");
    let found = faults(&story);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("unreadable learn-00000003: it cannot be read: the time \"yesterday\""));
    let three = [LearningId::new(3)];
    let deleted = story.bench.store.delete_learnings(&three, at(30)).unwrap();
    assert_eq!(deleted.deleted, three);
    assert_eq!(faults(&story), [""; 0]);
    assert_eq!(story.learnings()[1].status, LearningStatus::Pruned);
}
