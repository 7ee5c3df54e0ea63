//! Which lessons that an agent tells are known in other words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ralph_model::{CapturedLearning, Learning, LearningId, LearningKind, LearningStatus, TaskType};
use ralph_store::{Searched, Store, StoreError};

use super::rows::Rows;
use crate::contradiction::Reading;

/// By how many of its words, the rarest that are known, one is looked for. Two that say nearly the same share one of them.
const MOST_WORDS: usize = 6;
/// A word that more lessons hold tells nothing, and would take long.
const MOST_HOLDING: u64 = 5_000;
/// How many lessons are read and compared, those first that share most of these words, then the newest.
const MOST_COMPARED: usize = 24;

/// The lessons that say nearly what another one says, by their ids: a known one that holds or waits and is of the same kind and
/// at the same kind of work, or one that stands before them here.
///
/// # Errors
/// When the database cannot be read.
pub fn retold(
    store: &Store,
    told: &[(LearningId, CapturedLearning)],
    task_type: TaskType,
) -> Result<BTreeMap<LearningId, LearningId>, StoreError> {
    let rows = Rows::of(store, Searched::Learnings);
    let mut found = BTreeMap::new();
    let mut earlier: Vec<(&LearningId, Reading)> = Vec::new();
    for (id, learning) in told {
        let kind = LearningKind::of_category(&learning.category);
        let reading = Reading::new(kind, &learning.tags, &learning.content);
        let known = match known(&rows, &reading, task_type)? {
            Some(known) => Some(known),
            None => earlier
                .iter()
                .find(|(_, earlier)| earlier.says_nearly(&reading))
                .map(|(id, _)| (*id).clone()),
        };
        match known {
            Some(known) => drop(found.insert(id.clone(), known)),
            None => earlier.push((id, reading)),
        }
    }
    Ok(found)
}

/// The known lesson that says nearly the same; of several the surest, of equals the oldest.
fn known(rows: &Rows<'_>, reading: &Reading, task_type: TaskType) -> Result<Option<LearningId>, StoreError> {
    let mut near: Vec<Learning> = Vec::new();
    for learning in rows.store.learnings_numbered(&sharing_words(rows, reading)?)? {
        let may_stand = matches!(
            learning.status,
            LearningStatus::Promoted | LearningStatus::Validated | LearningStatus::Pending
        ) && learning.superseded_by.is_none();
        let fits = learning.task_type.is_none_or(|known| known == task_type);
        if may_stand && fits && Reading::of(&learning).says_nearly(reading) {
            near.push(learning);
        }
    }
    let best = near.into_iter().min_by(|one, other| {
        let surer = other.confidence.total_cmp(&one.confidence);
        surer.then_with(|| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)))
    });
    Ok(best.map(|best| best.id))
}

/// The numbers of the lessons that share most of the rare words.
fn sharing_words(rows: &Rows<'_>, reading: &Reading) -> Result<Vec<i64>, StoreError> {
    let mut words = BTreeSet::new();
    for stem in reading.stems() {
        if let Some(term) = rows.term(stem)?.filter(|term| term.entries <= MOST_HOLDING) {
            words.insert((term.entries, term.term.clone()));
        }
    }
    let mut shared: HashMap<i64, usize> = HashMap::new();
    for (_, word) in words.into_iter().take(MOST_WORDS) {
        if let Some(term) = rows.term(&word)? {
            rows.with(&term, &mut |number| *shared.entry(number).or_default() += 1)?;
        }
    }
    let mut ranked: Vec<(usize, i64)> = shared.into_iter().map(|(number, shared)| (shared, number)).collect();
    ranked.sort_unstable_by(|one, other| other.cmp(one));
    Ok(ranked
        .into_iter()
        .take(MOST_COMPARED)
        .map(|(_, number)| number)
        .collect())
}

#[cfg(test)]
mod tests {
    use ralph_model::{NewJournalRow, RunId};
    use ralph_store::Settlement;
    use ralph_testkit::journal_row;

    use super::*;

    struct Story {
        _folder: tempfile::TempDir,
        store: Store,
        iteration: u32,
    }

    impl Story {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
            Self {
                _folder: folder,
                store,
                iteration: 0,
            }
        }

        /// Settles an iteration that tells lessons of a category.
        fn tell(&mut self, task_type: TaskType, category: &str, contents: &[&str]) {
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
                retold: retold(&self.store, &learnings, task_type).unwrap(),
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
    fn three_tellings_in_other_words_are_one_lesson() {
        let mut story = Story::new();
        let bug = TaskType::BugFix;
        story.tell(bug, "tool_usage", &["Run the migrations before the integration tests"]);
        story.tell(
            bug,
            "success_pattern",
            &["Always run migrations before running the integration tests."],
        );
        story.tell(
            bug,
            "tool_usage",
            &["Before the integration tests, the migrations must run!"],
        );
        assert_eq!(
            story.texts(),
            texts(&[("Run the migrations before the integration tests", 2)])
        );
        // Two of one iteration that nobody knew.
        story.tell(
            bug,
            "tool_usage",
            &["Keep the lock file short", "The lock file: keep it short"],
        );
        assert_eq!(
            story.texts(),
            texts(&[
                ("Run the migrations before the integration tests", 2),
                ("Keep the lock file short", 1),
            ])
        );
    }

    #[test]
    fn what_contradicts_or_is_of_another_kind_stays_by_itself() {
        let mut story = Story::new();
        let bug = TaskType::BugFix;
        story.tell(bug, "tool_usage", &["Build the parser with -j 4"]);
        story.tell(bug, "tool_usage", &["Build the parser with -j 8"]);
        story.tell(bug, "tool_usage", &["Never build the parser with -j 4"]);
        story.tell(bug, "pitfall", &["The parser: build it with -j 4"]);
        story.tell(TaskType::Refactor, "tool_usage", &["The parser: build it with -j 4"]);
        assert_eq!(story.texts().len(), 5, "{:?}", story.texts());
        assert!(story.texts().iter().all(|(_, examples)| *examples == 0));
        let learnings = story.store.learnings().unwrap();
        let why = crate::contradiction::contradiction(&learnings[0], &learnings[1]);
        assert!(why.is_some(), "-j 4 and -j 8 contradict each other");
    }

    #[test]
    fn what_was_rejected_or_replaced_is_not_strengthened_by_other_words() {
        let mut story = Story::new();
        let bug = TaskType::BugFix;
        story.tell(bug, "tool_usage", &["Build the parser with -j 4"]);
        let [known] = story.store.learnings().unwrap().try_into().unwrap();
        let reject = ralph_store::Judgement::Reject("no");
        story
            .store
            .judge_learnings(&[known.id], reject, known.created_at)
            .unwrap();
        story.tell(bug, "tool_usage", &["Use -j4 to build the parser"]);
        assert_eq!(
            story.texts(),
            texts(&[("Build the parser with -j 4", 0), ("Use -j4 to build the parser", 0)])
        );
    }
}
