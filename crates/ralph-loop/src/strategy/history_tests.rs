//! Checks the choice over histories in a real database against a simple reimplementation of the rules.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ralph_memory::capture::found_tags;
use ralph_model::{Difficulty, ErrorCategory, NewJournalRow, Outcome, Priority, RunId, StopReason, TaskId, TaskKind};
use ralph_model::{FailureReport, ReportOrigin, TaskStatus};
use ralph_search::task_type_of;
use ralph_store::Settlement;
use ralph_testkit::journal_row;

use super::*;

/// The tasks of all histories as title and description. The model is chosen for the first one.
const TASKS: [(&str, &str); 5] = [
    ("Implement the lexer", "It goes to src/lexer.rs; cargo builds it."),
    ("Implement the parser", "src/parser.rs reads what src/lexer.rs gives."),
    ("Implement a counter", "Count words in count.py; cargo is not asked."),
    ("Fix the crash of the lexer", "src/lexer.rs, once more."),
    ("Implement comments", "Nothing is named here."),
];

#[derive(Debug, Clone)]
struct Step {
    task: usize,
    outcome: Outcome,
    model: Option<&'static str>,
    difficulty: Option<Difficulty>,
    /// The files it changed, and those in its report.
    changed: Vec<&'static str>,
    reported: Vec<&'static str>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let task = prop::sample::select(vec![0, 1, 1, 1, 2, 2, 3, 4]);
    let outcome = prop_oneof![
        4 => Just(Outcome::Done),
        2 => Just(Outcome::Failed),
        1 => Just(Outcome::Retried),
        1 => Just(Outcome::Blocked),
        1 => Just(Outcome::Interrupted),
    ];
    let model = prop::sample::select(vec![
        None,
        Some("a"),
        Some("a"),
        Some("b"),
        Some("b"),
        Some("c"),
        Some("other"),
    ]);
    let difficulty = prop::sample::select(vec![
        None,
        Some(Difficulty::Easy),
        Some(Difficulty::Hard),
        Some(Difficulty::Hard),
        Some(Difficulty::Blocked),
    ]);
    let files = || prop::sample::subsequence(vec!["deep/src/Lexer.rs", "count.py", "src/relexer.rs"], 0..3);
    let step = (task, outcome, model, difficulty, files(), files()).prop_map(
        |(task, outcome, model, difficulty, changed, reported)| Step {
            task,
            outcome,
            model,
            difficulty,
            changed,
            reported,
        },
    );
    // With mostly successes, the weakest model becomes an option.
    let well = |(step, luck): (Step, u8)| match luck {
        0 => step,
        _ => Step {
            outcome: Outcome::Done,
            ..step
        },
    };
    // An old start followed by many unrelated iterations.
    let long = (prop::collection::vec(step.clone(), 1..8), 90..110_usize);
    let long = long.prop_map(|(mut steps, quiet)| {
        let other = Step {
            task: 2,
            outcome: Outcome::Done,
            model: Some("c"),
            difficulty: None,
            changed: Vec::new(),
            reported: Vec::new(),
        };
        steps.resize(steps.len() + quiet, other);
        steps
    });
    prop_oneof![
        1 => long,
        2 => prop::collection::vec(step.clone(), 0..12),
        2 => prop::collection::vec(step.clone(), 0..30),
        2 => prop::collection::vec((step, 0u8..6).prop_map(well), 5..30),
    ]
}

fn task(number: usize) -> Task {
    let (title, description) = TASKS[number];
    let at = journal_row(RunId::new(0), 0).created_at;
    Task {
        id: TaskId::new(number as u64),
        title: title.to_owned(),
        description: description.to_owned(),
        status: TaskStatus::Pending,
        unverified: None,
        kind: TaskKind::Once,
        priority: Priority::default(),
        parent: None,
        feature: None,
        after: Vec::new(),
        retries_used: 0,
        max_retries: None,
        attempts: 0,
        claimed_by: None,
        checks: Vec::new(),
        proposal: None,
        created_at: at,
        updated_at: at,
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().copied().map(str::to_owned).collect()
}

fn put(store: &mut Store, iteration: u32, step: &Step) {
    let task = task(step.task);
    let changed = strings(&step.changed);
    let row = NewJournalRow {
        tags: found_tags(&[&task.title, &task.description], &changed, None),
        task_type: task_type_of(&task.title, &task.description),
        task: Some(task.id),
        task_title: task.title,
        outcome: step.outcome,
        stop: StopReason::TaskDone,
        model: step.model.map(str::to_owned),
        difficulty: step.difficulty,
        files_modified: changed,
        ..journal_row(RunId::new(1), iteration)
    };
    let mut settlement = Settlement::new(row, 0);
    if step.outcome.is_failure() == Some(true) && !step.reported.is_empty() {
        settlement.report = Some(FailureReport {
            what_tried: "it".to_owned(),
            why_failed: "so".to_owned(),
            category: ErrorCategory::Unknown,
            relevant_files: strings(&step.reported),
            error_output: None,
            origin: ReportOrigin::Agent,
            gate: None,
        });
    }
    store.settle(&settlement).unwrap();
}

/// The same rules, evaluated backwards from the end of the history.
fn expected(rule: &Rule<'_>, history: &[Step]) -> String {
    let Rule { models, strategy, .. } = *rule;
    let strongest = models.len() - 1;
    let counts = |step: &&Step| step.outcome != Outcome::Interrupted;
    let counted: Vec<&Step> = history.iter().filter(counts).collect();
    // The last hundred iterations, whether they count or not.
    let recent = history.get(history.len().saturating_sub(100)..).unwrap_or_default();
    let long_ago = counted.len() - recent.iter().filter(counts).count();
    let mut failures = 0;
    let mut failed_on = None;
    for step in counted.iter().rev().filter(|step| step.task == 0) {
        if step.outcome == Outcome::Done {
            break;
        }
        failed_on = failed_on.or(Some(step.model));
        failures += 1;
    }
    let lately: Vec<bool> = counted
        .iter()
        .rev()
        .take(20)
        .map(|step| step.outcome == Outcome::Done)
        .collect();
    let done = lately.iter().filter(|done| **done).count();
    let goes_well = lately.len() >= 5 && 10 * done > 8 * lately.len();
    let place = match (strategy, failures) {
        (StrategyName::Escalate, 0) => 0,
        (StrategyName::Escalate, 1) => models.len() / 2,
        (StrategyName::CostOptimized, 0) if goes_well => 0,
        (StrategyName::CostOptimized, some) if rule.escalate_after.is_none_or(|after| some < after) => models.len() / 2,
        _ => strongest,
    };
    let failed_at = models.iter().position(|model| Some(Some(model.as_str())) == failed_on);
    let least = match (strategy, failed_at) {
        (_, None) => 0,
        (StrategyName::Escalate, Some(at)) => strongest.min(at + 1),
        (_, Some(at)) => at,
    };
    if failures > 0 || place == strongest {
        return models[place.max(least)].clone();
    }
    let no_stronger: BTreeSet<&str> = models[..=place].iter().map(String::as_str).collect();
    let is_feature = |step: &Step| matches!(step.task, 0 | 1 | 2 | 4);
    // Similar are the tasks above that build something new and name the lexer, changed it, or failed over it. Using the
    // same tool does not make tasks similar.
    let touches = |file: &&str| *file == "deep/src/Lexer.rs";
    let is_similar = |step: &Step| {
        let failed_over = step.outcome != Outcome::Done && step.reported.iter().any(touches);
        is_feature(step) && (matches!(step.task, 0 | 1) || step.changed.iter().any(touches) || failed_over)
    };
    let is_similar_failure = |at: usize| {
        let step = counted[at];
        let outweighed = counted[at + 1..].iter().any(|later| {
            (later.task == step.task || is_similar(later))
                && later.outcome == Outcome::Done
                && later.model.is_some_and(|model| no_stronger.contains(model))
        });
        step.task != 0
            && is_similar(step)
            && step.outcome != Outcome::Done
            && matches!(step.difficulty, Some(Difficulty::Hard | Difficulty::Blocked))
            && step.model == Some(models[place].as_str())
            && !outweighed
    };
    let lift = usize::from((long_ago..counted.len()).any(is_similar_failure));
    models[place + lift].clone()
}

fn rule(strategy: StrategyName, models: &[String]) -> Rule<'_> {
    Rule {
        models,
        asked: None,
        strategy,
        escalate_after: Some(2),
    }
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
    (folder, store)
}

/// Model lists of different lengths; most models occur in the histories.
fn ladders() -> [Vec<String>; 4] {
    [&["a"][..], &["a", "b"], &["a", "b", "c"], &["z", "a", "b", "c", "d"]].map(strings)
}

/// Each strategy that uses history, with one of these model lists.
fn rules(models: &[String]) -> Vec<Rule<'_>> {
    let thresholds = [None, Some(1), Some(2), Some(3)];
    let cost_optimized = thresholds.map(|escalate_after| Rule {
        escalate_after,
        ..rule(StrategyName::CostOptimized, models)
    });
    let escalate = [rule(StrategyName::Escalate, models)];
    cost_optimized.into_iter().chain(escalate).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn choices_agree_with_a_simple_implementation(history in steps()) {
        let (_folder, mut store) = store();
        for past in 0..=history.len() {
            if let Some(last) = past.checked_sub(1) {
                put(&mut store, u32::try_from(past).unwrap(), &history[last]);
            }
            // The middle of a long history is not interesting.
            if (30..95).contains(&past) {
                continue;
            }
            for models in ladders() {
                for rule in rules(&models) {
                    let chosen = choose_first(rule, Some(&store), Some(&task(0))).unwrap();
                    let expected = expected(&rule, &history[..past]);
                    prop_assert_eq!(
                        chosen.model.as_deref(),
                        Some(expected.as_str()),
                        "{:?} after {}: {}",
                        rule,
                        past,
                        chosen.rationale
                    );
                }
            }
        }
    }
}

/// A failure of a task similar to the first one.
fn hard_failure() -> Step {
    Step {
        task: 1,
        outcome: Outcome::Failed,
        model: Some("a"),
        difficulty: Some(Difficulty::Hard),
        changed: Vec::new(),
        reported: Vec::new(),
    }
}

#[test]
fn rationale_names_the_similar_task() {
    let (_folder, mut store) = store();
    let models = strings(&["a", "b", "c"]);
    let escalate = rule(StrategyName::Escalate, &models);
    put(&mut store, 1, &hard_failure());
    let chosen = choose_first(escalate, Some(&store), Some(&task(0))).unwrap();
    let expected = Chosen {
        model: Some("b".to_owned()),
        rationale: "escalate: no failure yet; similar to t-000001, which was hard and failed on a".to_owned(),
    };
    assert_eq!(chosen, expected);
    let done = Step {
        outcome: Outcome::Done,
        ..hard_failure()
    };
    put(&mut store, 2, &done);
    let chosen = choose_first(escalate, Some(&store), Some(&task(0))).unwrap();
    assert_eq!(chosen.model.as_deref(), Some("a"), "the weakest could do it after all");
}

#[test]
fn strategies_without_history_read_none() {
    let (_folder, mut store) = store();
    put(&mut store, 1, &hard_failure());
    let models = strings(&["a", "b", "c"]);
    let past = |rule: &Rule<'_>| Past::gather(&store, &task(0), rule).unwrap();
    for strategy in [StrategyName::Fixed, StrategyName::PlanThenExecute] {
        assert_eq!(past(&rule(strategy, &models)), Past::default());
    }
    let escalate = rule(StrategyName::Escalate, &models);
    let asked = Rule {
        asked: Some("b"),
        ..escalate
    };
    assert_eq!(past(&asked), Past::default());
    assert_eq!(past(&rule(StrategyName::Escalate, &[])), Past::default());
    assert_ne!(past(&escalate), Past::default(), "the record is there");
}

/// Old failures of any run do not pin a model: the strongest one is for failures of this task, until it is done.
#[test]
fn fault_5_one_past_failure_pins_no_model() {
    let (_folder, mut store) = store();
    let models = strings(&["a", "b", "c"]);
    let model = |store: &Store, strategy| {
        let chosen = choose_first(rule(strategy, &models), Some(store), Some(&task(0))).unwrap();
        chosen.model.unwrap()
    };
    let step = |task, outcome| Step {
        task,
        outcome,
        difficulty: None,
        ..hard_failure()
    };
    for iteration in 1..=4 {
        put(&mut store, iteration, &step(2, Outcome::Failed));
    }
    assert_eq!(
        model(&store, StrategyName::CostOptimized),
        "b",
        "failures of another task"
    );
    assert_eq!(model(&store, StrategyName::Escalate), "a");
    for iteration in 5..=6 {
        put(&mut store, iteration, &step(0, Outcome::Failed));
        put(&mut store, iteration + 100, &step(0, Outcome::Interrupted));
    }
    assert_eq!(model(&store, StrategyName::CostOptimized), "c", "failures of its own");
    assert_eq!(model(&store, StrategyName::Escalate), "c");
    put(&mut store, 7, &step(0, Outcome::Done));
    assert_eq!(model(&store, StrategyName::CostOptimized), "b", "it was done since");
    assert_eq!(model(&store, StrategyName::Escalate), "a");
    for iteration in 8..=27 {
        put(&mut store, iteration, &step(2, Outcome::Done));
    }
    assert_eq!(model(&store, StrategyName::CostOptimized), "a", "all is well again");
}

/// The weaker of two models failed once at a hard task. Similar tasks start with the stronger one, but not forever.
#[test]
fn fault_5_one_hard_failure_pins_no_model_for_similar_tasks() {
    let models = strings(&["a", "b"]);
    let escalate = rule(StrategyName::Escalate, &models);
    let model = |store: &Store| {
        let chosen = choose_first(escalate, Some(store), Some(&task(0))).unwrap();
        chosen.model.unwrap()
    };
    let done = |task, model| Step {
        task,
        outcome: Outcome::Done,
        model: Some(model),
        ..hard_failure()
    };
    // The weaker model gets another chance, whatever the stronger one does.
    let (_folder, mut aged) = store();
    put(&mut aged, 1, &hard_failure());
    for iteration in 2..=past::SIMILAR_WITHIN {
        put(&mut aged, iteration, &done(1, "b"));
    }
    assert_eq!(model(&aged), "b");
    put(&mut aged, past::SIMILAR_WITHIN + 1, &done(1, "b"));
    assert_eq!(model(&aged), "a", "it was long ago");
    // A similar task was done with the weaker model since; unrelated tasks do not count.
    let (_folder, mut outweighed) = store();
    put(&mut outweighed, 1, &hard_failure());
    put(&mut outweighed, 2, &done(2, "a"));
    put(&mut outweighed, 3, &done(3, "a"));
    assert_eq!(model(&outweighed), "b");
    let over_the_lexer = Step {
        changed: vec!["deep/src/Lexer.rs"],
        ..done(4, "a")
    };
    put(&mut outweighed, 4, &over_the_lexer);
    assert_eq!(model(&outweighed), "a");
    put(&mut outweighed, 5, &hard_failure());
    assert_eq!(model(&outweighed), "b", "it failed again");
    // Both tasks name the same tool.
    let (_folder, mut same_tool) = store();
    let only_cargo = Step {
        task: 2,
        ..hard_failure()
    };
    put(&mut same_tool, 1, &only_cargo);
    assert_eq!(model(&same_tool), "a");
}

/// A choice raised by a similar task stays raised after a failure.
#[test]
fn failed_raised_choice_is_not_followed_by_a_weaker_model() {
    let (_folder, mut store) = store();
    let models = strings(&["a", "b", "c"]);
    let next = |store: &Store, strategy| choose_first(rule(strategy, &models), Some(store), Some(&task(0))).unwrap();
    put(&mut store, 1, &hard_failure());
    assert_eq!(next(&store, StrategyName::Escalate).model.as_deref(), Some("b"));
    let failed = Step {
        task: 0,
        model: Some("b"),
        ..hard_failure()
    };
    put(&mut store, 2, &failed);
    let interrupted = Step {
        outcome: Outcome::Interrupted,
        model: Some("a"),
        ..failed
    };
    put(&mut store, 3, &interrupted);
    let expected = Chosen {
        model: Some("c".to_owned()),
        rationale: "escalate: 1 failure; above b, on which the last attempt failed".to_owned(),
    };
    assert_eq!(next(&store, StrategyName::Escalate), expected);
}
