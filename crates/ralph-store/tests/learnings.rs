//! Lessons as people keep them, and as they grow old.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use ralph_model::{
    CapturedLearning, ErrorCategory, FailureReport, Learning, LearningId, LearningSource, LearningStatus,
    NewJournalRow, NewTask, Outcome, RunId, SplitMix64, TaskId, TaskType,
};
use ralph_store::{
    AddedLearning, DoneIn, Judgement, LearningError, LearningFilter, MergeGroup, Merged, NewLearning, PruneRules,
    Settlement, Store, Wait,
};
use ralph_testkit::journal_row;

struct Bench {
    folder: tempfile::TempDir,
    store: Store,
    bits: SplitMix64,
}

fn day(day: i64) -> Timestamp {
    Timestamp::from_second(1_750_000_000).unwrap() + SignedDuration::from_hours(24 * day)
}

fn lesson(category: &str, content: &str, tags: &[&str]) -> NewLearning {
    NewLearning {
        category: category.to_owned(),
        content: content.to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        task_type: None,
    }
}

/// Prunes what is older than day 10 and was not used since day 20, and what was superseded before day 15.
fn rules() -> PruneRules<'static> {
    PruneRules {
        created_before: day(10),
        unused_since: day(20),
        unused_reason: "unused",
        superseded_before: day(15),
        superseded_reason: "superseded",
    }
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            folder,
            store,
            bits: SplitMix64::new(7),
        }
    }

    fn add(&mut self, new: &NewLearning, at: i64) -> Learning {
        match self.store.add_learning(new, &mut self.bits, day(at)).unwrap() {
            AddedLearning::Stored(learning) => learning,
            AddedLearning::Known(learning) => panic!("{learning:?} was known"),
        }
    }

    /// An iteration that drew these lessons.
    fn learn(&mut self, iteration: u32, contents: &[&str]) -> i64 {
        let row = NewJournalRow {
            task: Some(TaskId::new(1)),
            created_at: day(i64::from(iteration)),
            ..journal_row(RunId::new(1), iteration)
        };
        let captured = |content: &&str| CapturedLearning {
            category: "pitfall".to_owned(),
            tags: vec!["docker".to_owned()],
            content: (*content).to_owned(),
        };
        let settlement = Settlement {
            learnings: (u64::from(iteration) * 16..)
                .map(LearningId::new)
                .zip(contents.iter().map(captured))
                .collect(),
            ..Settlement::new(row, 0)
        };
        self.store.settle(&settlement).unwrap().journal
    }

    fn get(&self, id: &LearningId) -> Learning {
        self.store.learning(id).unwrap().unwrap()
    }

    fn listed(&self, filter: &LearningFilter) -> Vec<String> {
        let found = self.store.learning_list(filter, None).unwrap();
        found.into_iter().map(|learning| learning.content).collect()
    }

    /// Runs statements of a test's own on the database.
    fn sql(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.folder.path().join("progress.db")).unwrap();
        connection.execute_batch(sql).unwrap();
    }
}

#[test]
fn what_a_person_adds_holds_at_once_and_is_known_the_second_time() {
    let mut bench = Bench::new();
    let new = lesson("pitfall", "Never run two at once.", &["ci"]);
    let first = bench.add(&new, 1);
    assert_eq!(first.status, LearningStatus::Promoted);
    assert_eq!(first.source, LearningSource::Human);
    assert_eq!(
        (first.confidence, first.success_rate),
        (0.5, 0.0),
        "pitfalls are anti-patterns"
    );
    let again = lesson("pitfall", "never run TWO, at once", &["docker", "ci"]);
    let Ok(AddedLearning::Known(known)) = bench.store.add_learning(&again, &mut bench.bits, day(2)) else {
        panic!("it is known");
    };
    assert_eq!(known.id, first.id);
    assert_eq!(known.tags, ["ci", "docker"]);
    assert!((known.confidence - 0.55).abs() < 1e-9);
    assert_eq!((known.created_at, known.updated_at), (day(1), day(2)));
    assert_eq!(bench.store.learnings().unwrap().len(), 1);
    bench.add(&lesson("other", "Never run two at once.", &[]), 3);
    let narrow = NewLearning {
        task_type: Some(TaskType::TestFix),
        ..new
    };
    bench.add(&narrow, 4);
    let tagged = LearningFilter {
        tag: Some("docker".to_owned()),
        ..LearningFilter::default()
    };
    assert_eq!(bench.listed(&tagged), ["Never run two at once."], "new tags are found");
}

#[test]
fn texts_without_letters_are_not_one_lesson() {
    let mut bench = Bench::new();
    bench.add(&lesson("other", "→ ←", &[]), 1);
    bench.add(&lesson("other", "!!!", &[]), 1);
    let known = bench
        .store
        .add_learning(&lesson("other", "!!!", &[]), &mut bench.bits, day(2));
    assert!(matches!(known, Ok(AddedLearning::Known(_))), "{known:?}");
}

#[test]
fn a_person_who_says_what_was_taken_out_brings_it_back() {
    let mut bench = Bench::new();
    let (rejected, pruned) = (lesson("other", "one", &[]), lesson("other", "two", &[]));
    let ids = [bench.add(&rejected, 1).id, bench.add(&pruned, 1).id];
    bench
        .store
        .judge_learnings(&ids[..1], Judgement::Reject("no"), day(2))
        .unwrap();
    bench.store.prune_learnings(&rules(), 10, day(40)).unwrap();
    assert_eq!(bench.get(&ids[1]).status, LearningStatus::Pruned);
    for (new, id) in [rejected, pruned].iter().zip(&ids) {
        bench.store.add_learning(new, &mut bench.bits, day(41)).unwrap();
        let back = bench.get(id);
        assert_eq!((back.status, back.reason), (LearningStatus::Promoted, None));
    }
}

#[test]
fn ids_are_found_by_any_beginning() {
    let mut bench = Bench::new();
    bench.learn(1, &["a", "b"]);
    bench.learn(2, &["c"]);
    let find = |text: &str| bench.store.find_learning(text).map(|id| id.to_string());
    for text in ["learn-00000020", "LEARN-0000002", " 0000002", "00000020"] {
        assert_eq!(find(text).unwrap(), "learn-00000020", "{text}");
    }
    for text in ["", "  ", "learn-", "zz", "learn-5", "t-00000020", "000000200"] {
        let error = find(text).unwrap_err();
        assert!(matches!(error, LearningError::Unknown { .. }), "{text}: {error}");
        assert!(error.to_string().starts_with("Learning not found: "), "{error}");
    }
    assert_eq!(
        find("0000001").unwrap_err().to_string(),
        "0000001 is the beginning of several ids: learn-00000010 (a), learn-00000011 (b)"
    );
}

#[test]
fn lists_are_filtered_and_the_newest_stands_first() {
    let mut bench = Bench::new();
    bench.learn(1, &["Mount the socket before docker compose."]);
    bench.add(&lesson("code_structure", "One file a command", &["cli"]), 2);
    let typed = NewLearning {
        task_type: Some(TaskType::Performance),
        ..lesson("tool_usage", "Tests are failing without --locked", &["cargo"])
    };
    bench.add(&typed, 3);
    let all = LearningFilter::default();
    let (docker, file, tests) = (
        "Mount the socket before docker compose.",
        "One file a command",
        "Tests are failing without --locked",
    );
    assert_eq!(bench.listed(&all), [tests, file, docker]);
    assert_eq!(bench.store.learning_list(&all, Some(1)).unwrap().len(), 1);
    let check = |filter: LearningFilter, found: &[&str]| assert_eq!(bench.listed(&filter), found, "{filter:?}");
    let text = |text: &str| LearningFilter {
        text: Some(text.to_owned()),
        ..LearningFilter::default()
    };
    check(text("failing test"), &[tests]);
    check(text("test failed locked"), &[tests]);
    check(text("cargo"), &[tests]);
    check(text("cargo docker"), &[]);
    check(text("the and not"), &[]);
    check(text("\" OR ' ; --"), &[]);
    let category = Some("code_structure".to_owned());
    check(
        LearningFilter {
            category,
            ..all.clone()
        },
        &[file],
    );
    let task = Some(TaskId::new(1));
    check(LearningFilter { task, ..all.clone() }, &[docker]);
    let task_type = Some(TaskType::Performance);
    check(
        LearningFilter {
            task_type,
            ..all.clone()
        },
        &[tests],
    );
    let kind = Some(ralph_model::LearningKind::Antipattern);
    check(LearningFilter { kind, ..all.clone() }, &[docker]);
    let statuses = vec![LearningStatus::Rejected];
    check(LearningFilter { statuses, ..all }, &[]);
}

#[test]
fn a_persons_word_is_kept_and_all_or_none_are_judged() {
    let mut bench = Bench::new();
    bench.learn(1, &["a", "b"]);
    let ids = [LearningId::new(16), LearningId::new(17)];
    let missing = [ids[0].clone(), LearningId::new(99)];
    let refused = bench.store.judge_learnings(&missing, Judgement::Reject("x"), day(2));
    assert!(matches!(refused, Err(LearningError::Unknown { .. })), "{refused:?}");
    assert_ne!(
        bench.get(&ids[0]).status,
        LearningStatus::Rejected,
        "nothing has changed"
    );
    let reason = Judgement::Reject("it was the cache");
    assert_eq!(bench.store.judge_learnings(&ids, reason, day(2)).unwrap(), ids);
    let rejected = bench.get(&ids[1]);
    assert_eq!(rejected.status, LearningStatus::Rejected);
    assert_eq!(rejected.reason.as_deref(), Some("it was the cache"));
    assert_eq!(
        bench.store.judge_learnings(&ids, reason, day(3)).unwrap(),
        [] as [LearningId; 0]
    );
    bench
        .store
        .judge_learnings(&ids[..1], Judgement::Promote, day(4))
        .unwrap();
    let promoted = bench.get(&ids[0]);
    assert_eq!((promoted.status, promoted.reason), (LearningStatus::Promoted, None));
    assert_eq!(promoted.updated_at, day(4));
}

#[test]
fn old_unused_and_superseded_lessons_are_pruned_and_come_back() {
    let mut bench = Bench::new();
    let ids: Vec<LearningId> = [
        "old",
        "old but used",
        "old but supported",
        "young",
        "superseded",
        "just superseded",
    ]
    .into_iter()
    .zip([1, 1, 1, 12, 12, 12])
    .map(|(content, at)| bench.add(&lesson("other", content, &[]), at).id)
    .collect();
    bench.sql(&format!(
        "UPDATE learnings SET last_used_at = '{:.3}' WHERE content = 'old but used';
         UPDATE learnings SET updated_at = '{:.3}' WHERE content = 'old but supported';
         UPDATE learnings SET superseded_by = '{}' WHERE content LIKE '%superseded';
         UPDATE learnings SET updated_at = '{:.3}' WHERE content = 'just superseded';",
        day(21),
        day(21),
        ids[3],
        day(16)
    ));
    let before: Vec<Learning> = ids.iter().map(|id| bench.get(id)).collect();
    let told = |found: &[(Learning, String)]| -> Vec<(String, String)> {
        let told = found
            .iter()
            .map(|(learning, why)| (learning.content.clone(), why.clone()));
        told.collect()
    };
    let expected = [("old", "unused"), ("superseded", "superseded")].map(|(text, why)| (text.into(), why.into()));
    assert_eq!(told(&bench.store.learnings_to_prune(&rules()).unwrap()), expected);
    assert_eq!(
        ids.iter().map(|id| bench.get(id)).collect::<Vec<_>>(),
        before,
        "looking changes nothing"
    );
    assert_eq!(
        told(&bench.store.prune_learnings(&rules(), 1, day(50)).unwrap()),
        expected[..1]
    );
    assert_eq!(
        told(&bench.store.prune_learnings(&rules(), 9, day(50)).unwrap()),
        expected[1..]
    );
    assert_eq!(told(&bench.store.prune_learnings(&rules(), 9, day(50)).unwrap()), []);
    let gone = bench.get(&ids[4]);
    assert_eq!(gone.status, LearningStatus::Pruned);
    assert_eq!(gone.reason.as_deref(), Some("superseded"));
    assert_eq!(
        gone.superseded_by.as_ref(),
        Some(&ids[3]),
        "what took its place is still told"
    );
    let both = [ids[0].clone(), ids[4].clone()];
    let refused = bench
        .store
        .restore_learnings(&[both[0].clone(), ids[1].clone()], day(51));
    assert_eq!(
        refused.unwrap_err().to_string(),
        format!("{} is promoted, not pruned, so there is nothing to bring back", ids[1])
    );
    assert_eq!(bench.get(&ids[0]).status, LearningStatus::Pruned, "all or none");
    let back = bench.store.restore_learnings(&both, day(51)).unwrap();
    let told: Vec<_> = back
        .iter()
        .map(|learning| (learning.status, &learning.superseded_by))
        .collect();
    assert_eq!(
        told,
        [(LearningStatus::Promoted, &None), (LearningStatus::Promoted, &None)]
    );
    assert_eq!(bench.get(&ids[3]), before[3], "what had taken its place is as it was");
    assert_eq!(
        bench.store.learnings_to_prune(&rules()).unwrap(),
        [],
        "a person's word counts as use"
    );
}

#[test]
fn alike_lessons_become_one_with_the_evidence_of_all() {
    let mut bench = Bench::new();
    let journal = [bench.learn(1, &["first"]), bench.learn(2, &["second"])];
    let third = bench.add(&lesson("pitfall", "third", &["compose"]), 3).id;
    let (first, second) = (LearningId::new(16), LearningId::new(32));
    let all = [first.clone(), second.clone(), third.clone()];
    bench.store.judge_learnings(&all, Judgement::Promote, day(4)).unwrap();
    bench.sql(&format!(
        "UPDATE learnings SET confidence = 0.8, use_count = 3, successes = 2, last_used_at = '{:.3}' WHERE content = 'first';
         UPDATE learnings SET use_count = 4, successes = 1 WHERE content = 'third';",
        day(4)
    ));
    let before = all.clone().map(|id| bench.get(&id));
    let group = MergeGroup {
        newest: third.clone(),
        others: vec![second.clone(), first.clone(), third.clone(), LearningId::new(0xfff)],
    };
    let merged = bench.store.merge_learnings(&[group.clone()], day(5)).unwrap();
    assert_eq!(merged, Merged { merged: 2, into: 1 });
    let one = bench.get(&third);
    assert_eq!(
        (one.content.as_str(), one.examples.as_slice()),
        ("third", ["second".to_owned(), "first".to_owned()].as_slice())
    );
    assert_eq!(one.tags, ["compose", "docker"]);
    assert_eq!((one.use_count, one.successes, one.confidence), (7, 3, 0.8));
    assert_eq!(one.source_loops, ["run-00000001"]);
    assert_eq!(one.last_used_at, Some(day(4)));
    let gone = bench.get(&first);
    assert_eq!(
        (gone.status, gone.superseded_by.as_ref()),
        (LearningStatus::Pruned, Some(&third))
    );
    let reason = format!("Merged into {third}.");
    assert_eq!(gone.reason.as_deref(), Some(reason.as_str()));
    let taught: Vec<i64> = bench
        .store
        .learning_evidence(&third)
        .unwrap()
        .taught
        .iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(taught, journal);
    let by_example = LearningFilter {
        text: Some("second docker".to_owned()),
        statuses: vec![LearningStatus::Promoted],
        ..LearningFilter::default()
    };
    assert_eq!(
        bench.listed(&by_example),
        ["third"],
        "it is found by what was merged into it"
    );
    assert_eq!(
        bench.store.merge_learnings(&[group], day(6)).unwrap(),
        Merged::default(),
        "once"
    );
    let again = bench
        .store
        .add_learning(&lesson("pitfall", "Second!", &[]), &mut bench.bits, day(6));
    assert!(
        matches!(again, Ok(AddedLearning::Known(known)) if known.id == third),
        "a merged one is known"
    );
    bench.store.restore_learnings(&[first.clone(), second], day(7)).unwrap();
    let one = bench.get(&third);
    assert_eq!((one.examples.len(), one.use_count, one.successes), (0, 4, 1));
    assert_eq!(timeless(&bench.get(&first)), timeless(&before[0]));
    let candidates = bench.store.merge_candidates(9).unwrap();
    let ids: Vec<&LearningId> = candidates.iter().map(|candidate| &candidate.id).collect();
    assert_eq!(ids, [&third], "what a person brought back is left alone");
}

/// A lesson without when it last changed.
fn timeless(learning: &Learning) -> Learning {
    Learning {
        updated_at: Timestamp::UNIX_EPOCH,
        ..learning.clone()
    }
}

#[test]
fn merges_are_counted_from_the_last_one() {
    let mut bench = Bench::new();
    assert_eq!(bench.store.iterations_since_merge().unwrap(), None);
    bench.learn(1, &["a"]);
    bench.store.record_merge(day(1)).unwrap();
    assert_eq!(bench.store.iterations_since_merge().unwrap(), Some(0));
    bench.learn(2, &["b"]);
    bench.learn(3, &[]);
    assert_eq!(bench.store.iterations_since_merge().unwrap(), Some(2));
    bench.store.record_merge(day(3)).unwrap();
    assert_eq!(bench.store.iterations_since_merge().unwrap(), Some(0));
    assert_eq!(bench.store.active_learnings().unwrap(), 2);
}

#[test]
fn evidence_says_who_was_shown_a_lesson_and_how_that_ended() {
    let mut bench = Bench::new();
    let taught = bench.learn(1, &["a"]);
    let shown = bench.learn(2, &[]);
    bench.sql(&format!(
        "INSERT INTO injections VALUES ({shown}, 'learning', 'learn-00000010', 0, 'Learnings', 1, 5, 0.5, 'shown', 1);
         INSERT INTO injections VALUES ({taught}, 'learning', 'learn-00000010', 0, 'Learnings', 1, 5, 0.5, 'over_budget', 0);"
    ));
    let evidence = bench.store.learning_evidence(&LearningId::new(16)).unwrap();
    assert_eq!(evidence.taught.iter().map(|row| row.id).collect::<Vec<_>>(), [taught]);
    let shown_in: Vec<_> = evidence.shown.iter().map(|shown| (shown.row.id, shown.used)).collect();
    assert_eq!(shown_in, [(shown, true)]);
    assert_eq!(evidence.shown[0].row.row.outcome, Outcome::Done);
}

#[test]
fn long_texts_of_reports_go_when_their_task_is_done_for_long() {
    let mut bench = Bench::new();
    let mut journal = Vec::new();
    for (number, title) in (1..).zip(["done", "open", "just done"]) {
        let task = bench
            .store
            .add_task(&NewTask::titled(title), &mut bench.bits, day(0))
            .unwrap()
            .id;
        let row = NewJournalRow {
            task: Some(task.clone()),
            outcome: Outcome::Failed,
            ..journal_row(RunId::new(1), number)
        };
        let report = FailureReport {
            what_tried: "I changed the parser.\nThen the lexer.".to_owned(),
            why_failed: "x".repeat(500),
            category: ErrorCategory::TestFailure,
            relevant_files: vec!["src/lib.rs".to_owned()],
            error_output: Some("assertion failed".to_owned()),
            origin: ralph_model::ReportOrigin::Agent,
            gate: None,
        };
        let settlement = Settlement {
            report: Some(report),
            signature: Some(ralph_model::Signature::new(5)),
            suggestion: Some("try less".to_owned()),
            ..Settlement::new(row, 0)
        };
        journal.push(bench.store.settle(&settlement).unwrap().journal);
        let here = DoneIn {
            worktree: String::new(),
            commit: None,
        };
        match title {
            "done" => drop(bench.store.finish_task(&task, &here, day(1)).unwrap()),
            "just done" => drop(bench.store.finish_task(&task, &here, day(8)).unwrap()),
            _ => {}
        }
    }
    let whole = bench.store.report_of(journal[0]).unwrap().unwrap();
    assert_eq!(bench.store.shorten_reports(day(5), 9, day(10)).unwrap(), 1);
    assert_eq!(bench.store.shorten_reports(day(5), 9, day(10)).unwrap(), 0);
    let short = bench.store.report_of(journal[0]).unwrap().unwrap();
    assert!(short.shortened && !whole.shortened);
    assert_eq!(short.report.what_tried, "I changed the parser.…");
    assert_eq!(short.report.why_failed.chars().count(), 120);
    assert_eq!(short.report.error_output, None);
    let stays = |kept: &ralph_model::KeptReport| {
        let report = kept.report.clone();
        (
            report.category,
            report.relevant_files,
            kept.signature.clone(),
            kept.suggestion.clone(),
        )
    };
    assert_eq!(stays(&short), stays(&whole));
    for other in &journal[1..] {
        assert_eq!(bench.store.report_of(*other).unwrap().unwrap().report, whole.report);
    }
}

#[test]
fn two_stores_that_merge_and_restore_at_once_leave_whole_lessons() {
    let mut bench = Bench::new();
    let contents: Vec<String> = (0..40).map(|number| format!("lesson {number}")).collect();
    let ids: Vec<LearningId> = contents
        .iter()
        .zip(1..)
        .map(|(content, at)| bench.add(&lesson("other", content, &["a"]), at).id)
        .collect();
    let path = bench.folder.path().join("progress.db");
    let groups: Vec<MergeGroup> = ids
        .chunks(4)
        .map(|part| MergeGroup {
            newest: part[3].clone(),
            others: part[..3].iter().rev().cloned().collect(),
        })
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut store = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
                for group in &groups {
                    store.merge_learnings(std::slice::from_ref(group), day(50)).unwrap();
                }
            });
        }
        scope.spawn(|| {
            let mut store = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
            for id in &ids {
                // It may not be merged yet, or it is the one that stays.
                drop(store.restore_learnings(std::slice::from_ref(id), day(51)));
            }
        });
    });
    assert_eq!(said(&bench.store), contents.iter().cloned().collect());
    for learning in bench.store.learnings().unwrap() {
        let members = learning.examples.len();
        assert!(members <= 3, "{learning:?}");
        assert_eq!(
            learning.status == LearningStatus::Pruned,
            learning.superseded_by.is_some()
        );
    }
}

/// All that lessons which are not pruned say.
fn said(store: &Store) -> BTreeSet<String> {
    let all = store.learnings().unwrap().into_iter();
    let standing = all.filter(|learning| learning.status != LearningStatus::Pruned);
    standing
        .flat_map(|learning| learning.examples.into_iter().chain([learning.content]))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn merging_loses_nothing_and_restoring_gives_everything_back(
        drawn in proptest::collection::vec((proptest::collection::vec("[a-e]", 0..4), 0_u32..5), 2..14),
        rounds in proptest::collection::vec(proptest::collection::vec(0_usize..14, 2..6), 1..5),
        order in any::<u64>(),
    ) {
        let mut bench = Bench::new();
        let mut ids = Vec::new();
        for (number, (tags, uses)) in (0..).zip(&drawn) {
            let tags: BTreeSet<&str> = tags.iter().map(String::as_str).collect();
            let new = lesson("other", &format!("lesson number {number}"), &tags.into_iter().collect::<Vec<_>>());
            let id = bench.add(&new, number).id;
            bench.sql(&format!("UPDATE learnings SET use_count = {uses}, successes = {uses} / 2 WHERE id = '{id}'"));
            ids.push(id);
        }
        let before: Vec<Learning> = ids.iter().map(|id| bench.get(id)).collect();
        for round in &rounds {
            let members: BTreeSet<usize> = round.iter().copied().filter(|at| *at < ids.len()).collect();
            let mut members = members.into_iter().rev().map(|at| ids[at].clone());
            let Some(newest) = members.next() else { continue };
            let group = MergeGroup { newest, others: members.collect() };
            bench.store.merge_learnings(&[group], day(100)).unwrap();
        }
        let contents: BTreeSet<String> = before.iter().map(|learning| learning.content.clone()).collect();
        prop_assert_eq!(said(&bench.store), contents.clone());
        let standing: Vec<Learning> = ids.iter().map(|id| bench.get(id)).filter(|learning| learning.status != LearningStatus::Pruned).collect();
        let uses = |learnings: &[Learning]| learnings.iter().map(|learning| learning.use_count).sum::<u32>();
        prop_assert_eq!(uses(&standing), uses(&before));
        for learning in &standing {
            let texts: Vec<&String> = learning.examples.iter().chain([&learning.content]).collect();
            let parts = before.iter().filter(|part| texts.contains(&&part.content));
            let tags: BTreeSet<&String> = parts.flat_map(|part| &part.tags).collect();
            prop_assert_eq!(learning.tags.iter().collect::<BTreeSet<_>>(), tags);
        }
        let mut pruned: Vec<LearningId> = ids.iter().filter(|id| bench.get(id).status == LearningStatus::Pruned).cloned().collect();
        let by = usize::try_from(order % 7).unwrap() % pruned.len().max(1);
        pruned.rotate_left(by);
        for id in &pruned {
            bench.store.restore_learnings(std::slice::from_ref(id), day(101)).unwrap();
        }
        prop_assert_eq!(said(&bench.store), contents);
        for (id, before) in ids.iter().zip(&before) {
            let after = bench.get(id);
            let told = |learning: &Learning| (learning.content.clone(), learning.examples.clone(), learning.use_count, learning.successes, learning.status, learning.superseded_by.clone());
            prop_assert_eq!(told(&after), told(before));
        }
    }
}
