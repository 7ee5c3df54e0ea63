//! Tests of pruning learnings and shortening old reports.

use ralph_model::{
    ErrorCategory, FailureReport, Learning, LearningId, LearningStatus, NewJournalRow, NewTask, Outcome, RunId,
};
use ralph_store::{DoneIn, PruneRules, Settlement};
use ralph_testkit::journal_row;

use crate::{Bench, day, learning};

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

/// Learnings of different ages; the first and the fifth are due for pruning.
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
    .map(|(content, at)| bench.add(&learning("other", content, &[]), at).id)
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
fn old_unused_and_superseded_learnings_are_pruned() {
    let (mut bench, ids) = aged();
    let before: Vec<Learning> = ids.iter().map(|id| bench.get(id)).collect();
    let pairs = |found: &[(Learning, String)]| -> Vec<(String, String)> {
        let pairs = found
            .iter()
            .map(|(learning, why)| (learning.content.clone(), why.clone()));
        pairs.collect()
    };
    let expected = [("old", "unused"), ("superseded", "superseded")].map(|(text, why)| (text.into(), why.into()));
    assert_eq!(pairs(&bench.store.learnings_to_prune(&rules()).unwrap()), expected);
    assert_eq!(
        ids.iter().map(|id| bench.get(id)).collect::<Vec<_>>(),
        before,
        "looking changes nothing"
    );
    assert_eq!(
        pairs(&bench.store.prune_learnings(&rules(), 1, day(50)).unwrap()),
        expected[..1]
    );
    assert_eq!(
        pairs(&bench.store.prune_learnings(&rules(), 9, day(50)).unwrap()),
        expected[1..]
    );
    assert_eq!(pairs(&bench.store.prune_learnings(&rules(), 9, day(50)).unwrap()), []);
    let gone = bench.get(&ids[4]);
    assert_eq!(gone.status, LearningStatus::Pruned);
    assert_eq!(gone.reason.as_deref(), Some("superseded"));
    assert_eq!(gone.superseded_by.as_ref(), Some(&ids[3]), "the successor is returned");
}

#[test]
fn pruned_learnings_come_back_all_or_none() {
    let (mut bench, ids) = aged();
    let place = bench.get(&ids[3]);
    bench.store.prune_learnings(&rules(), 9, day(50)).unwrap();
    let both = [ids[0].clone(), ids[4].clone()];
    let refused = bench
        .store
        .restore_learnings(&[both[0].clone(), ids[1].clone()], day(51));
    assert_eq!(
        refused.unwrap_err().to_string(),
        format!("{} is promoted, not pruned, so it cannot be restored", ids[1])
    );
    assert_eq!(bench.get(&ids[0]).status, LearningStatus::Pruned, "all or none");
    let back = bench.store.restore_learnings(&both, day(51)).unwrap();
    let pairs: Vec<_> = back
        .iter()
        .map(|learning| (learning.status, &learning.superseded_by))
        .collect();
    assert_eq!(
        pairs,
        [
            (LearningStatus::Promoted, &None),
            (LearningStatus::Promoted, &Some(ids[3].clone()))
        ],
        "it is still superseded"
    );
    assert_eq!(bench.get(&ids[3]), place, "the successor is unchanged");
    assert_eq!(
        bench.store.learnings_to_prune(&rules()).unwrap(),
        [],
        "an action of a user counts as use"
    );
}

#[test]
fn reports_of_long_finished_tasks_are_shortened() {
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
        let stays = |kept: &ralph_model::StoredReport| {
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
fn only_old_reports_of_deleted_tasks_are_shortened() {
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
