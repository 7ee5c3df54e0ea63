//! Tests of settling learnings: validation, deduplication, confidence and use counts.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ralph_model::config::Promote;
use ralph_model::{Author, AuthorKind, Learning, LearningKind, LearningStatus, TaskId, TaskType};

use super::*;
use crate::progress::normalized;

/// An iteration that reports learnings.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) run: u64,
    pub(super) outcome: Outcome,
    pub(super) task_type: TaskType,
    pub(super) promote: Promote,
    pub(super) evidence: Evidence,
    /// Category, text and tag of each.
    pub(super) learnings: Vec<(&'static str, &'static str, &'static str)>,
    /// Learnings in its prompt, and one that was too long for it.
    pub(super) shown: Vec<LearningId>,
    pub(super) over: Option<LearningId>,
}

impl Told {
    pub(super) fn once(outcome: Outcome, text: &'static str) -> Self {
        Self {
            run: 1,
            outcome,
            task_type: TaskType::BugFix,
            promote: Promote::Evidence,
            evidence: Evidence::Gates,
            learnings: vec![("tool_usage", text, "a")],
            shown: Vec::new(),
            over: None,
        }
    }
}

fn injection(id: &LearningId, reason: InjectionReason) -> Injection {
    Injection {
        kind: EntryKind::Learning,
        id: id.to_string(),
        reason,
        ..injections().remove(0)
    }
}

/// Settles iterations of one run in order.
pub(super) struct Story {
    pub(super) bench: Bench,
    iterations: BTreeMap<u64, u32>,
    /// Number of learning ids handed out.
    ids: u64,
}

impl Story {
    fn new() -> Self {
        let mut bench = Bench::new();
        for run in 1..=3 {
            bench.begin(&RunId::new(run), "w");
        }
        Self {
            bench,
            iterations: BTreeMap::new(),
            ids: 0,
        }
    }

    pub(super) fn of(reported: &[Told]) -> Self {
        let mut story = Self::new();
        for reported in reported {
            story.tell(reported);
        }
        story
    }

    /// Settles an iteration and returns its journal id.
    pub(super) fn tell(&mut self, reported: &Told) -> i64 {
        let run = RunId::new(reported.run);
        let iteration = self.iterations.entry(reported.run).or_default();
        *iteration += 1;
        let fence = self.bench.claim(&run, *iteration);
        let shown = reported.shown.iter().map(|id| injection(id, InjectionReason::Shown));
        let over = reported
            .over
            .iter()
            .map(|id| injection(id, InjectionReason::OverBudget));
        let injections: Vec<Injection> = shown.chain(over).collect();
        self.bench.store.record_start(&run, &start(&injections)).unwrap();
        let mut settlement = settlement(reported.outcome, fence);
        settlement.row.run = run;
        settlement.row.iteration = *iteration;
        settlement.row.task_type = reported.task_type;
        settlement.task = TaskChange::Again;
        settlement.promote = reported.promote;
        settlement.row.evidence = reported.evidence;
        for (category, content, tag) in &reported.learnings {
            self.ids += 1;
            let learning = CapturedLearning {
                category: (*category).to_owned(),
                tags: vec![(*tag).to_owned()],
                content: (*content).to_owned(),
            };
            settlement.learnings.push((LearningId::new(self.ids), learning));
        }
        self.bench.store.settle(&settlement).unwrap().journal
    }

    pub(super) fn learnings(&self) -> Vec<Learning> {
        self.bench.store.learnings().unwrap()
    }

    pub(super) fn only(&self) -> Learning {
        let [only] = self.learnings().try_into().unwrap();
        only
    }
}

#[track_caller]
fn check(reported: &[Told], status: LearningStatus, confidence: f64) {
    let only = Story::of(reported).only();
    assert_eq!(only.status, status, "{reported:?}");
    assert!(
        (only.confidence - confidence).abs() < 1e-9,
        "{reported:?}: {}",
        only.confidence
    );
}

#[test]
fn learnings_of_done_work_are_active_at_once() {
    use LearningStatus::{Promoted, Validated};
    use Outcome::{Blocked, Done, Failed, Interrupted, Retried};
    let reported = |outcomes: &[Outcome]| -> Vec<Told> {
        let tell = |outcome: &Outcome| Told::once(*outcome, "Look first.");
        outcomes.iter().map(tell).collect()
    };
    check(&reported(&[Done]), Promoted, 0.5);
    for outcome in [Failed, Retried, Blocked, Interrupted] {
        check(&reported(&[outcome]), Validated, 0.5);
    }
    check(&reported(&[Failed, Blocked]), Promoted, 0.55);
    check(&reported(&[Failed, Done]), Promoted, 0.55);
    check(&reported(&[Done, Failed, Retried]), Promoted, 0.595);
    // An interrupted attempt and its retry count once.
    check(&reported(&[Interrupted, Failed]), Validated, 0.5);
    check(&reported(&[Interrupted, Interrupted]), Validated, 0.5);
    check(&reported(&[Failed, Interrupted]), Validated, 0.5);
    check(&reported(&[Interrupted, Failed, Failed]), Promoted, 0.55);
    check(&reported(&[Interrupted, Done]), Promoted, 0.5);
}

#[test]
fn done_without_evidence_promotes_nothing() {
    let mut reported = Told::once(Outcome::Done, "Look first.");
    reported.evidence = Evidence::None;
    check(std::slice::from_ref(&reported), LearningStatus::Validated, 0.5);
    check(&[reported.clone(), reported], LearningStatus::Promoted, 0.55);
}

#[test]
fn repeating_an_injected_learning_after_failure_adds_nothing() {
    let first = Told::once(Outcome::Failed, "Look first.");
    let mut echo = first.clone();
    echo.shown = vec![LearningId::new(1)];
    let done = Told {
        outcome: Outcome::Done,
        ..echo.clone()
    };
    check(&[first.clone(), echo.clone()], LearningStatus::Validated, 0.5);
    check(
        &[first.clone(), echo.clone(), echo.clone()],
        LearningStatus::Validated,
        0.5,
    );
    check(
        &[first.clone(), echo.clone(), first.clone()],
        LearningStatus::Promoted,
        0.55,
    );
    check(&[first.clone(), done], LearningStatus::Promoted, 0.55);
    // It was not in the prompt, so the agent found it independently.
    let mut unread = first.clone();
    unread.over = Some(LearningId::new(1));
    check(&[first, unread], LearningStatus::Promoted, 0.55);
}

#[test]
fn unvalidated_learnings_are_validated_by_the_configuration() {
    for (promote, of_done) in [(Promote::Evidence, "promoted"), (Promote::Review, "validated")] {
        let mut story = Story::of(&[
            Told::once(Outcome::Done, "Look first."),
            Told::once(Outcome::Failed, "Listen."),
            Told::once(Outcome::Done, "!?"),
        ]);
        story
            .bench
            .sql("UPDATE learnings SET status = 'pending', reason = NULL");
        story.tell(&Told {
            promote,
            learnings: Vec::new(),
            ..Told::once(Outcome::Failed, "")
        });
        assert_eq!(
            story
                .bench
                .texts("SELECT status || coalesce(': ' || reason, '') FROM learnings ORDER BY seq"),
            [of_done, "validated", "rejected: Missing required fields"]
        );
    }
}

#[test]
fn proposed_learning_is_validated_with_its_iteration() {
    let mut story = Story::new();
    let settle = |story: &mut Story, run, outcome| {
        story.tell(&Told {
            run,
            learnings: Vec::new(),
            ..Told::once(outcome, "")
        })
    };
    let propose = |story: &mut Story, content: &str, run, iteration| {
        let new = NewLearning {
            category: "tool_usage".to_owned(),
            content: content.to_owned(),
            tags: Vec::new(),
            task_type: None,
            features: TextFeatures::default(),
        };
        let author = Author {
            kind: AuthorKind::Agent,
            run,
            iteration,
        };
        let store = &mut story.bench.store;
        store.acting_as(author, |store| {
            store
                .propose_learning(&new, &mut FixedEntropy(content.len() as u64 + 100), at(1))
                .unwrap();
        });
    };
    propose(&mut story, "Of the run.", Some(RunId::new(2)), Some(1));
    propose(&mut story, "Of no known run.", None, None);
    settle(&mut story, 1, Outcome::Done);
    let statuses = |story: &Story| story.bench.texts("SELECT status FROM learnings ORDER BY seq");
    assert_eq!(statuses(&story), ["pending", "pending"]);
    let journal = settle(&mut story, 2, Outcome::Done);
    assert_eq!(statuses(&story), ["promoted", "pending"]);
    let captured = story.bench.store.captures(journal).unwrap().learnings;
    assert_eq!(captured.len(), 1, "it is a learning of the iteration");
    let learnings = story.learnings();
    let learning = learnings
        .iter()
        .find(|learning| learning.content == "Of the run.")
        .unwrap();
    assert_eq!(learning.source_loops, [RunId::new(2).to_string()]);
    assert_eq!(learning.task_type, Some(TaskType::BugFix));
}

#[test]
fn reported_learnings_are_captures_of_their_iterations() {
    let mut story = Story::new();
    let rows = [
        story.tell(&Told::once(Outcome::Failed, "Look first.")),
        story.tell(&Told {
            learnings: vec![("tool_usage", "look FIRST", "b"), ("pitfall", "Listen.", "c")],
            ..Told::once(Outcome::Failed, "")
        }),
    ];
    let reported = rows.map(|row| -> Vec<String> {
        let learnings = story.bench.store.captures(row).unwrap().learnings;
        learnings.into_iter().map(|learning| learning.content).collect()
    });
    assert_eq!(reported, [vec!["Look first."], vec!["Look first.", "Listen."]]);
}

#[test]
fn different_operators_make_two_learnings() {
    let story = Story::of(&[
        Told::once(Outcome::Done, "Check that a == b"),
        Told::once(Outcome::Done, "Check that a != b."),
        Told::once(Outcome::Done, "check that `a == b`!"),
    ]);
    let texts: Vec<String> = story.learnings().into_iter().map(|learning| learning.content).collect();
    assert_eq!(texts, ["Check that a == b", "Check that a != b."]);
}

#[test]
fn learning_is_proposed_at_every_task_that_reported_it() {
    let mut story = Story::of(&[Told::once(Outcome::Failed, "Look first.")]);
    story.bench.sql("UPDATE journal SET task_id = 't-00000f'");
    story.bench.sql("UPDATE learnings SET task = 't-00000f'");
    let task = task();
    let waiting = |story: &Story, task: &TaskId| story.bench.store.proposed_learnings_at(task, 9).unwrap();
    assert!(waiting(&story, &task).is_empty());
    story.tell(&Told::once(Outcome::Interrupted, "look first"));
    assert_eq!(waiting(&story, &task), [1]);
    assert_eq!(waiting(&story, &TaskId::new(0xf)), [1]);
    story.bench.sql("UPDATE learnings SET status = 'promoted'");
    assert!(waiting(&story, &task).is_empty());
}

#[test]
fn interrupted_attempt_does_not_hide_suggestions() {
    let mut bench = Bench::new();
    let run = RunId::new(1);
    bench.begin(&run, "w");
    let task = task();
    let mut iteration = 0;
    let mut suggest = |bench: &mut Bench, outcome, text: Option<&str>| {
        iteration += 1;
        let fence = bench.claim(&run, iteration);
        let mut settlement = settlement(outcome, fence);
        settlement.row.iteration = iteration;
        settlement.row.attempt = iteration;
        settlement.row.run = run.clone();
        settlement.task = TaskChange::Again;
        settlement.suggestion = text.map(str::to_owned);
        bench.store.settle(&settlement).unwrap();
        bench
            .store
            .last_suggestion(&task)
            .unwrap()
            .map(|found| (found.attempt, found.text))
    };
    let vendor = Some((2, "Vendor it".to_owned()));
    assert_eq!(
        suggest(&mut bench, Outcome::Failed, Some("Ask")),
        Some((1, "Ask".to_owned()))
    );
    assert_eq!(suggest(&mut bench, Outcome::Interrupted, Some("Vendor it")), vendor);
    assert_eq!(suggest(&mut bench, Outcome::Interrupted, None), vendor);
    // It was tried and failed.
    assert_eq!(suggest(&mut bench, Outcome::Failed, Some("  ")), None);
    assert_eq!(suggest(&mut bench, Outcome::Failed, None), None);
    assert_eq!(suggest(&mut bench, Outcome::Done, Some("Late")), None);
    assert_eq!(
        suggest(&mut bench, Outcome::Interrupted, Some("Anew")),
        Some((7, "Anew".to_owned()))
    );
}

#[test]
fn promote_review_leaves_the_decision_to_a_user() {
    let mut reported: Vec<Told> = [Outcome::Done, Outcome::Done, Outcome::Failed]
        .map(|outcome| Told::once(outcome, "Look first."))
        .to_vec();
    for reported in &mut reported {
        reported.promote = Promote::Review;
    }
    check(&reported, LearningStatus::Validated, 0.595);
}

#[test]
fn fault_21_duplicates_are_stored_once_with_all_evidence() {
    let mut story = Story::new();
    story.tell(&Told::once(Outcome::Failed, "Run `cargo test` first!"));
    let second = Told {
        run: 2,
        learnings: vec![
            ("tool_usage", "run cargo-test FIRST", "b"),
            ("debugging_technique", "Run cargo test first.", "c"),
            ("tool_usage", "run cargo test first", "a"),
        ],
        ..Told::once(Outcome::Blocked, "")
    };
    story.tell(&second);
    let only = story.only();
    assert_eq!(only.content, "Run `cargo test` first!");
    assert_eq!(only.category, "tool_usage");
    assert_eq!(only.tags, ["a", "b", "c"]);
    assert_eq!(only.source_loops, ["run-00000001", "run-00000002"]);
    assert_eq!(only.status, LearningStatus::Promoted);
    assert!((only.confidence - 0.55).abs() < 1e-9, "an iteration counts once");
    // Another kind or task type makes it another learning.
    story.tell(&Told {
        learnings: vec![("pitfall", "Run cargo test first", "a")],
        ..Told::once(Outcome::Done, "")
    });
    story.tell(&Told {
        task_type: TaskType::Refactor,
        ..Told::once(Outcome::Done, "Run cargo test first")
    });
    assert_eq!(story.learnings().len(), 3);
}

#[test]
fn rejected_stay_and_merged_support_the_survivor() {
    let reported = Told::once(Outcome::Failed, "Look first.");
    let mut story = Story::of(std::slice::from_ref(&reported));
    story
        .bench
        .sql("UPDATE learnings SET status = 'rejected', reason = 'no'");
    story.tell(&Told {
        run: 2,
        ..Told::once(Outcome::Done, "look first")
    });
    let only = story.only();
    assert_eq!(
        (only.status, only.reason.as_deref()),
        (LearningStatus::Rejected, Some("no"))
    );
    // It was pruned because it was unused, and is used again now.
    story
        .bench
        .sql("UPDATE learnings SET status = 'pruned', pruned_from = 'promoted', reason = 'unused'");
    story.tell(&reported);
    let only = story.only();
    assert_eq!((only.status, only.reason), (LearningStatus::Promoted, None));

    let mut story = Story::of(&[
        Told::once(Outcome::Failed, "Look first."),
        Told::once(Outcome::Failed, "Look before you leap."),
    ]);
    story.bench.sql(
        "UPDATE learnings SET status = 'pruned', superseded_by = 'learn-00000002' WHERE seq = 1;
              UPDATE learnings SET examples = '[\"Look first.\"]' WHERE seq = 2",
    );
    story.tell(&reported);
    let [member, survivor] = story.learnings().try_into().unwrap();
    assert_eq!(
        (member.status, member.superseded_by),
        (LearningStatus::Pruned, Some(survivor.id))
    );
    assert_eq!(survivor.status, LearningStatus::Promoted);
}

#[test]
fn facts_limit_the_confidence_of_extracted_learnings() {
    let reported = Told::once(Outcome::Done, "Look first.");
    let mut story = Story::of(std::slice::from_ref(&reported));
    story.bench.sql(
        r#"UPDATE learnings SET source = 'extracted', confidence = 0.9,
               facts = '{"of":"strategy","effectiveness":1.0,"iterations":2}'"#,
    );
    story.tell(&Told {
        run: 2,
        ..reported.clone()
    });
    assert_eq!(story.only().confidence, 0.9);
    assert_eq!(story.only().source_loops.len(), 2, "it was reported");
    story.bench.sql("UPDATE learnings SET facts = NULL");
    story.tell(&Told { run: 3, ..reported });
    assert!(
        (story.only().confidence - 0.91).abs() < 1e-9,
        "one without numbers gets surer"
    );
}

#[test]
fn punctuation_alone_is_rejected() {
    let mut story = Story::of(&[Told::once(Outcome::Done, "!!!"), Told::once(Outcome::Done, "→")]);
    story.tell(&Told::once(Outcome::Done, "!!!"));
    let all = story.learnings();
    assert_eq!(all.len(), 2);
    for learning in all {
        assert_eq!(learning.status, LearningStatus::Rejected);
        assert_eq!(learning.reason.as_deref(), Some("Missing required fields"));
    }
}

#[test]
fn uses_are_counted_for_injected_learnings() {
    let mut story = Story::of(&[
        Told::once(Outcome::Done, "Look first."),
        Told::once(Outcome::Done, "Listen."),
    ]);
    let [first, second] = story.learnings().try_into().unwrap();
    assert_eq!((first.use_count, first.last_used_at), (0, None));
    for outcome in [Outcome::Done, Outcome::Failed, Outcome::Interrupted] {
        story.tell(&Told {
            learnings: Vec::new(),
            shown: vec![first.id.clone(), first.id.clone(), LearningId::new(99)],
            over: Some(second.id.clone()),
            ..Told::once(outcome, "")
        });
    }
    let [first, second] = story.learnings().try_into().unwrap();
    assert_eq!((first.use_count, first.successes), (2, 1));
    assert_eq!(first.last_used_at, Some(at(10)));
    assert_eq!((second.use_count, second.successes, second.last_used_at), (0, 0, None));
}

fn any_told() -> impl Strategy<Value = Told> {
    let learning = (
        prop::sample::select(vec!["pitfall", "code_structure", "tool_usage", "odd"]),
        prop::sample::select(vec![
            "Look first.",
            "look, FIRST",
            "Größe zählt",
            "?!",
            "Run the tests",
            "run the tests!",
        ]),
        prop::sample::select(vec!["a", "src/lib.rs", "error handling", "größe", "the"]),
    );
    (
        1..=3_u64,
        prop::sample::select(Outcome::ALL.to_vec()),
        prop::sample::select(vec![TaskType::BugFix, TaskType::Feature]),
        (prop::bool::weighted(0.2), prop::bool::weighted(0.2)),
        prop::collection::vec(learning, 0..4),
        prop::collection::btree_set(1..12_u64, 0..4),
    )
        .prop_map(
            |(run, outcome, task_type, (is_reviewed, is_red), learnings, shown)| Told {
                run,
                outcome,
                task_type,
                promote: if is_reviewed {
                    Promote::Review
                } else {
                    Promote::Evidence
                },
                evidence: if is_red { Evidence::None } else { Evidence::Gates },
                learnings,
                shown: shown.into_iter().map(LearningId::new).collect(),
                over: None,
            },
        )
}

/// The expected state of a learning, computed naively from the iterations.
#[derive(Debug, Default, PartialEq)]
struct Expected {
    runs: BTreeSet<String>,
    tags: BTreeSet<String>,
    tellers: usize,
    is_promoted: bool,
}

/// The id of a learning, and how many iterations reported it without having it in the prompt.
#[derive(Default)]
struct Tellers {
    id: Option<LearningId>,
    by_themselves: usize,
}

fn expected(story: &[Told]) -> BTreeMap<(LearningKind, TaskType, String), Expected> {
    let mut all: BTreeMap<(LearningKind, TaskType, String), Expected> = BTreeMap::new();
    let mut tellers: BTreeMap<(LearningKind, TaskType, String), Tellers> = BTreeMap::new();
    let mut asked = 0;
    for reported in story {
        let mut met = BTreeSet::new();
        for (category, content, tag) in &reported.learnings {
            asked += 1;
            let key = (
                LearningKind::of_category(category),
                reported.task_type,
                normalized(content),
            );
            let known = all.entry(key.clone()).or_default();
            let is_sound = !key.2.is_empty();
            if is_sound || known.tags.is_empty() {
                known.tags.insert((*tag).to_owned());
                known.runs.insert(RunId::new(reported.run).to_string());
            }
            if met.insert(key.clone()) {
                let counts = reported.outcome != Outcome::Interrupted;
                known.tellers += usize::from(counts);
                let tellers = tellers.entry(key).or_default();
                let id = tellers.id.get_or_insert(LearningId::new(asked));
                let is_done = reported.outcome == Outcome::Done;
                let has_read = reported.shown.contains(id);
                let is_proof = is_done && reported.evidence == Evidence::Gates;
                tellers.by_themselves += usize::from(counts && (is_proof || !has_read));
                let has_evidence = is_proof || (counts && !has_read && tellers.by_themselves > 1);
                known.is_promoted |= is_sound && has_evidence && reported.promote == Promote::Evidence;
            }
        }
    }
    all
}

fn found(
    learnings: &[Learning],
    tellers: &dyn Fn(&Learning) -> usize,
) -> BTreeMap<(LearningKind, TaskType, String), Expected> {
    let mut all = BTreeMap::new();
    for learning in learnings {
        let key = (
            learning.kind,
            learning.task_type.unwrap(),
            normalized(&learning.content),
        );
        let found = Expected {
            runs: learning.source_loops.iter().cloned().collect(),
            tags: learning.tags.iter().cloned().collect(),
            tellers: tellers(learning),
            is_promoted: learning.status == LearningStatus::Promoted,
        };
        assert!(all.insert(key, found).is_none(), "{learning:?} is there twice");
        assert!((0.5..=0.95).contains(&learning.confidence));
        assert_ne!(learning.status, LearningStatus::Pending);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_sequence_stores_each_learning_once_with_its_counts(reported in prop::collection::vec(any_told(), 0..8)) {
        let story = Story::of(&reported);
        let learnings = story.learnings();
        let tellers = |learning: &Learning| {
            let sql = format!(
                "SELECT count(*) FROM learning_sources JOIN journal ON journal.id = learning_sources.journal
                 JOIN learnings ON seq = learning WHERE learnings.id = '{}' AND outcome <> 'interrupted'",
                learning.id
            );
            usize::try_from(story.bench.number(&sql)).unwrap()
        };
        prop_assert_eq!(found(&learnings, &tellers), expected(&reported));
        for learning in &learnings {
            let counted = |condition: &str| {
                story.bench.number(&format!(
                    "SELECT count(*) FROM injections JOIN journal ON journal.id = injections.journal
                     WHERE entry = '{}' AND injections.reason = 'shown' AND {condition}", learning.id
                ))
            };
            // Earlier injections of the same id do not count; ids are assigned in order.
            let before = uses_before(&reported, learning);
            prop_assert_eq!(i64::from(learning.use_count), counted("outcome <> 'interrupted' AND NOT (outcome = 'done' AND evidence = 'none')") - before.0);
            prop_assert_eq!(i64::from(learning.successes), counted("outcome = 'done' AND evidence <> 'none'") - before.1);
        }
    }
}

/// Counted uses and successes of an id before its learning was reported.
fn uses_before(story: &[Told], learning: &Learning) -> (i64, i64) {
    let mut asked = 0;
    let (mut counted, mut done) = (0, 0);
    for reported in story {
        asked += reported.learnings.len() as u64;
        let is_there = (1..=asked).any(|id| LearningId::new(id) == learning.id);
        let is_unproven = reported.outcome == Outcome::Done && reported.evidence == Evidence::None;
        let counts = reported.outcome != Outcome::Interrupted && !is_unproven;
        if !is_there && reported.shown.contains(&learning.id) && counts {
            counted += 1;
            done += i64::from(reported.outcome == Outcome::Done);
        }
    }
    (counted, done)
}
