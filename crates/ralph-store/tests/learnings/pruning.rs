//! Lessons and reports that grow old.

use ralph_model::{
    ErrorCategory, FailureReport, Learning, LearningId, LearningStatus, NewJournalRow, NewTask, Outcome, RunId,
};
use ralph_store::{DoneIn, PruneRules, Settlement};
use ralph_testkit::journal_row;

use crate::{Bench, day, lesson};

/// Prunes what is older than day 10 and was not used since day 20, and what was superseded before day 15.
pub(crate) fn rules() -> PruneRules<'static> {
    PruneRules {
        created_before: day(10),
        unused_since: day(20),
        unused_reason: "unused",
        superseded_before: day(15),
        superseded_reason: "superseded",
    }
}

/// Lessons of all ages: the first and the fifth are to go.
fn aged() -> (Bench, Vec<LearningId>) {
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
    (bench, ids)
}

#[test]
fn old_unused_and_superseded_lessons_are_pruned() {
    let (mut bench, ids) = aged();
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
}

#[test]
fn pruned_lessons_come_back_all_or_none() {
    let (mut bench, ids) = aged();
    let place = bench.get(&ids[3]);
    bench.store.prune_learnings(&rules(), 9, day(50)).unwrap();
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
        [
            (LearningStatus::Promoted, &None),
            (LearningStatus::Promoted, &Some(ids[3].clone()))
        ],
        "what was replaced is replaced still"
    );
    assert_eq!(bench.get(&ids[3]), place, "what had taken its place is as it was");
    assert_eq!(
        bench.store.learnings_to_prune(&rules()).unwrap(),
        [],
        "a person's word counts as use"
    );
}

#[test]
fn long_texts_of_reports_go_when_their_task_is_done_for_long() {
    let mut bench = Bench::new();
    let mut journal = Vec::new();
    for (number, title) in (1..).zip(["done", "open", "just done", "deleted"]) {
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
            suggestion: Some("Try less.\nThen more.".to_owned()),
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
            "deleted" => drop(bench.store.delete_task(&task, day(1)).unwrap()),
            _ => {}
        }
    }
    let whole = bench.store.report_of(journal[0]).unwrap().unwrap();
    assert_eq!(bench.store.shorten_reports(day(5), 9, day(10)).unwrap(), 2);
    assert_eq!(bench.store.shorten_reports(day(5), 9, day(10)).unwrap(), 0);
    for gone in [journal[0], journal[3]] {
        let short = bench.store.report_of(gone).unwrap().unwrap();
        assert!(short.shortened && !whole.shortened);
        assert_eq!(short.report.what_tried, "I changed the parser.…");
        assert_eq!(short.report.why_failed.chars().count(), 120);
        assert_eq!(short.report.error_output, None);
        assert_eq!(short.suggestion.as_deref(), Some("Try less.…"));
        let stays = |kept: &ralph_model::KeptReport| {
            let report = kept.report.clone();
            (report.category, report.relevant_files, kept.signature.clone())
        };
        assert_eq!(stays(&short), stays(&whole));
    }
    for other in &journal[1..3] {
        assert_eq!(bench.store.report_of(*other).unwrap().unwrap().report, whole.report);
    }
}

#[test]
fn a_long_suggestion_alone_is_a_long_text_and_a_young_report_of_a_deleted_task_is_whole() {
    let mut bench = Bench::new();
    let task = bench
        .store
        .add_task(&NewTask::titled("deleted"), &mut bench.bits, day(0))
        .unwrap()
        .id;
    let row = NewJournalRow {
        task: Some(task.clone()),
        outcome: Outcome::Failed,
        created_at: day(3),
        ..journal_row(RunId::new(1), 1)
    };
    let settlement = Settlement {
        report: Some(FailureReport {
            what_tried: "All.".to_owned(),
            why_failed: "Nothing.".to_owned(),
            category: ErrorCategory::TestFailure,
            relevant_files: Vec::new(),
            error_output: None,
            origin: ralph_model::ReportOrigin::Agent,
            gate: None,
        }),
        suggestion: Some("y".repeat(200)),
        ..Settlement::new(row, 0)
    };
    let journal = bench.store.settle(&settlement).unwrap().journal;
    bench.store.delete_task(&task, day(4)).unwrap();
    assert_eq!(
        bench.store.shorten_reports(day(3), 9, day(10)).unwrap(),
        0,
        "it is young"
    );
    assert_eq!(bench.store.shorten_reports(day(4), 9, day(10)).unwrap(), 1);
    let suggestion = bench.store.report_of(journal).unwrap().unwrap().suggestion.unwrap();
    assert_eq!(suggestion.chars().count(), 120);
}
