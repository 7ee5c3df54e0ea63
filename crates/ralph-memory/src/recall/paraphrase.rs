//! Finds incoming learnings that are already known in other words.

use std::collections::{HashMap, HashSet};

use ralph_model::{Learning, LearningKind, LearningStatus, TaskType};
use ralph_store::index::KnownTerm;
use ralph_store::{LearningDoc, Outdated, Paraphrase, Searched, Store, StoreError, encode_term};

use super::learning_input::LearningInput;
use super::numbers::NumberMap;
use super::rows::Rows;
use crate::similarity::{LearningFeatures, Neighbours};

/// How many of its rarest known words a learning is looked up by. Two near-duplicates share one of them.
const MOST_WORDS: usize = 6;
/// Limit on the postings read: a word in very many learnings is not distinctive and would take long. The rarest words
/// are always read.
const MAX_POSTINGS: u64 = 2_000;
const LEAST_WORDS: usize = 2;
/// How many outlines are checked: those that share most of these words first, then the newest …
const MOST_LOOKED_AT: usize = 48;
/// … and how many of them are read and compared.
const MOST_COMPARED: usize = 24;
/// How often incoming learnings are compared again because others were stored meanwhile. After the last time they are
/// stored in any case.
const MOST_COMPARISONS: usize = 5;

/// For each incoming learning, its near-duplicate: a known one that is active or proposed and of the same kind and kind
/// of work, or an earlier one of the same batch.
///
/// # Errors
/// When the database cannot be read.
pub fn find_paraphrases<'a>(
    store: &Store,
    coming_in: impl IntoIterator<Item = LearningInput<'a>>,
) -> Result<Vec<Option<Paraphrase>>, StoreError> {
    let rows = Rows::of(store, Searched::Learnings);
    let _snapshot = store.snapshot()?;
    let state = store.learnings_state()?;
    let mut found = Vec::new();
    let mut earlier: Neighbours<(usize, LearningInput<'a>)> = Neighbours::default();
    for (place, said) in coming_in.into_iter().enumerate() {
        // Estimates are identified by their subject, not their words. And an exact duplicate is not a paraphrase.
        if said.kind == LearningKind::Estimate
            || store.has_learning_with_words(said.kind, said.task_type, said.content)?
        {
            found.push(Some(Paraphrase::default().as_of(state)));
            continue;
        }
        let features = said.features();
        let paraphrase = match known(&rows, &features, said.task_type)? {
            Some(known) => Some(Paraphrase::known(known.id, &known.content)),
            None => earlier
                .near_duplicate(&features, |(_, other)| fits(other.task_type, said.task_type))
                .map(|(place, other)| Paraphrase::earlier(*place, other.content)),
        };
        if paraphrase.is_none() {
            earlier.add((place, said), features);
        }
        found.push(Some(paraphrase.unwrap_or_default().as_of(state)));
    }
    Ok(found)
}

/// Compares and stores learnings. If others are stored in between, compares again; otherwise two processes could store
/// the same learning in different words.
///
/// # Errors
/// When they cannot be compared or kept.
pub fn keep_compared<T, E: From<StoreError> + Outdated>(
    store: &mut Store,
    compare: impl Fn(&Store) -> Result<Vec<Option<Paraphrase>>, StoreError>,
    mut keep: impl FnMut(&mut Store, Vec<Option<Paraphrase>>) -> Result<T, E>,
) -> Result<T, E> {
    for _ in 1..MOST_COMPARISONS {
        let found = compare(store)?;
        match keep(store, found) {
            Err(error) if error.is_outdated() => {}
            done => return done,
        }
    }
    let found = compare(store)?.into_iter();
    keep(
        store,
        found.map(|paraphrase| paraphrase.map(Paraphrase::whenever)).collect(),
    )
}

/// Whether learnings for these two kinds of work may be the same; `None` is every kind.
fn fits(one: Option<TaskType>, other: Option<TaskType>) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// The known near-duplicate; of several the one with the highest confidence, then the oldest.
fn known(
    rows: &Rows<'_>,
    features: &LearningFeatures,
    task_type: Option<TaskType>,
) -> Result<Option<Learning>, StoreError> {
    let mut near: Vec<Learning> = Vec::new();
    let sharing = sharing_words(rows, features)?;
    let outlines = rows.store.learning_docs(&sharing)?;
    let may_be_near = |outline: &LearningDoc| is_live(outline) && shares_half(&outline.terms, features);
    let numbers: Vec<i64> = outlines
        .into_iter()
        .filter(may_be_near)
        .map(|outline| outline.number)
        .take(MOST_COMPARED)
        .collect();
    for learning in rows.store.learnings_numbered(&numbers)? {
        let fits = learning.kind == features.kind() && fits(learning.task_type, task_type);
        if fits && LearningFeatures::of(&learning).is_near(features) {
            near.push(learning);
        }
    }
    Ok(near.into_iter().min_by(|one, other| {
        let surer = other.confidence.total_cmp(&one.confidence);
        surer.then_with(|| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)))
    }))
}

/// Whether a learning is active or proposed, and not superseded.
fn is_live(outline: &LearningDoc) -> bool {
    let is_active_or_proposed = matches!(
        outline.status,
        LearningStatus::Promoted | LearningStatus::Validated | LearningStatus::Pending
    );
    is_active_or_proposed && !outline.is_superseded
}

/// Whether a learning with these words may be a near-duplicate; cheaper than reading it.
fn shares_half(terms: &str, features: &LearningFeatures) -> bool {
    let terms: HashSet<&str> = terms.split_ascii_whitespace().collect();
    let stems = features.stems();
    let half = stems.len().div_ceil(2);
    stems.filter(|stem| terms.contains(encode_term(stem).as_str())).count() >= half
}

/// The learnings that share most of the rarest words.
fn sharing_words(rows: &Rows<'_>, features: &LearningFeatures) -> Result<Vec<i64>, StoreError> {
    let mut known: HashMap<&str, KnownTerm> = HashMap::new();
    for stem in features.stems() {
        if let Some(term) = rows.term(stem)? {
            known.insert(stem, term);
        }
    }
    let rarest = rarest(features, &known);
    let mut shared: NumberMap<i64, usize> = NumberMap::default();
    for term in rarest.into_iter().filter_map(|stem| known.get(stem)) {
        rows.with(term, &mut |number| *shared.entry(number).or_default() += 1)?;
    }
    let mut ranked: Vec<(usize, i64)> = shared.into_iter().map(|(number, shared)| (shared, number)).collect();
    ranked.sort_unstable_by(|one, other| other.cmp(one));
    Ok(ranked
        .into_iter()
        .take(MOST_LOOKED_AT)
        .map(|(_, number)| number)
        .collect())
}

/// The rarest known words, within the limits.
fn rarest<'r>(features: &'r LearningFeatures, known: &HashMap<&str, KnownTerm>) -> Vec<&'r str> {
    let terms = features
        .stems()
        .filter_map(|stem| Some((known.get(stem)?.entries, stem)));
    let mut words: Vec<(u64, &str)> = terms.collect();
    words.sort_unstable();
    let mut places = 0;
    let within_bounds = words
        .into_iter()
        .take(MOST_WORDS)
        .enumerate()
        .take_while(|(position, (entries, _))| {
            places += entries;
            *position < LEAST_WORDS || places <= MAX_POSTINGS
        });
    within_bounds.map(|(_, (_, stem))| stem).collect()
}

#[cfg(test)]
mod tests {
    use ralph_model::{CapturedLearning, LearningId, NewJournalRow, RunId};
    use ralph_store::Settlement;
    use ralph_testkit::journal_row;

    use super::*;

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
                paraphrase: find_paraphrases(
                    &self.store,
                    learnings
                        .iter()
                        .map(|(_, told)| LearningInput::captured(told, task_type)),
                )
                .unwrap(),
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
}
