//! Which reported learnings are stored as one.

use ralph_model::{CapturedLearning, LearningId, NewJournalRow, RunId, TaskType};
use ralph_store::{Settlement, Store};
use ralph_testkit::journal_row;

use ralph_search::text_features;

struct Bench {
    _folder: tempfile::TempDir,
    store: Store,
    iteration: u32,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            _folder: folder,
            store,
            iteration: 0,
        }
    }

    /// Settles an iteration that reports learnings of a category.
    fn report(&mut self, task_type: TaskType, category: &str, contents: &[&str]) {
        self.iteration += 1;
        let captured = |content: &&str| CapturedLearning {
            category: category.to_owned(),
            tags: vec!["make".to_owned(), format!("tag{}", self.iteration)],
            content: (*content).to_owned(),
        };
        let learnings: Vec<(LearningId, CapturedLearning)> = (u64::from(self.iteration) * 100..)
            .map(LearningId::new)
            .zip(contents.iter().map(captured))
            .collect();
        let row = NewJournalRow {
            task_type,
            ..journal_row(RunId::new(1), self.iteration)
        };
        let settlement = Settlement {
            features: contents.iter().map(|content| text_features(content)).collect(),
            learnings,
            ..Settlement::new(row, 0)
        };
        self.store.settle(&settlement).unwrap();
    }

    fn texts(&self) -> Vec<(String, usize)> {
        let learnings = self.store.learnings().unwrap().into_iter();
        learnings
            .map(|learning| (learning.content, learning.examples.len()))
            .collect()
    }
}

fn texts(expected: &[(&str, usize)]) -> Vec<(String, usize)> {
    expected
        .iter()
        .map(|(text, examples)| ((*text).to_owned(), *examples))
        .collect()
}

#[test]
fn paraphrases_are_one_learning() {
    let mut bench = Bench::new();
    let bug = TaskType::BugFix;
    bench.report(bug, "tool_usage", &["Run the migrations before the integration tests"]);
    bench.report(
        bug,
        "tool_usage",
        &["Run migrations before running the integration tests."],
    );
    bench.report(
        bug,
        "tool_usage",
        &["Before the integration tests: run the migrations!"],
    );
    assert_eq!(
        bench.texts(),
        texts(&[("Run the migrations before the integration tests", 2)])
    );
    // Two paraphrases in one iteration.
    bench.report(
        bug,
        "tool_usage",
        &["Keep the lock file short", "The lock file: keep it short"],
    );
    assert_eq!(
        bench.texts(),
        texts(&[
            ("Run the migrations before the integration tests", 2),
            ("Keep the lock file short", 1),
        ])
    );
}

#[test]
fn similar_ids_are_not_paraphrases() {
    let mut bench = Bench::new();
    for id in ["t-e259c5", "t-974e5c", "t-3c259e", "t-c259e5"] {
        bench.report(TaskType::BugFix, "pitfall", &[&format!("Learned of {id}.")]);
    }
    assert_eq!(bench.texts().len(), 4, "{:?}", bench.texts());
}

#[test]
fn conflicts_and_other_kinds_are_not_merged() {
    let mut bench = Bench::new();
    let bug = TaskType::BugFix;
    bench.report(bug, "tool_usage", &["Build the parser with -j 4"]);
    bench.report(bug, "tool_usage", &["Build the parser with -j 8"]);
    bench.report(bug, "tool_usage", &["Never build the parser with -j 4"]);
    bench.report(bug, "pitfall", &["The parser: build it with -j 4"]);
    bench.report(TaskType::Refactor, "tool_usage", &["The parser: build it with -j 4"]);
    assert_eq!(bench.texts().len(), 5, "{:?}", bench.texts());
    assert!(bench.texts().iter().all(|(_, examples)| *examples == 0));
    let learnings = bench.store.learnings().unwrap();
    let why = crate::similarity::conflict(&learnings[0], &learnings[1]);
    assert!(why.is_some(), "-j 4 and -j 8 conflict");
}

#[test]
fn rejected_learning_is_not_reinforced_by_a_paraphrase() {
    let mut bench = Bench::new();
    let bug = TaskType::BugFix;
    bench.report(bug, "tool_usage", &["Build the parser with -j 4"]);
    let [known] = bench.store.learnings().unwrap().try_into().unwrap();
    let reject = ralph_store::Judgement::Reject("no");
    bench
        .store
        .judge_learnings(&[known.id], reject, known.created_at)
        .unwrap();
    bench.report(bug, "tool_usage", &["Use -j4 to build the parser"]);
    assert_eq!(
        bench.texts(),
        texts(&[("Build the parser with -j 4", 0), ("Use -j4 to build the parser", 0)])
    );
}
