//! Which lessons that come in are known in other words.

use std::collections::{BTreeSet, HashMap, HashSet};

use ralph_model::{Learning, LearningKind, LearningStatus, TaskType};
use ralph_store::index::KnownTerm;
use ralph_store::{LearningOutline, Outdated, Retold, Searched, Store, StoreError, encode_term};

use super::numbers::NumberMap;
use super::rows::Rows;
use super::said::Said;
use crate::contradiction::{Nearby, Reading};

/// By how many of its words, the rarest that are known, one is looked for. Two that say nearly the same share one of them.
const MOST_WORDS: usize = 6;
/// How many places in the lists of these words are looked at: a word that very many lessons hold tells next to nothing, and would
/// take long. The rarest are looked at however many hold them.
const MOST_PLACES: u64 = 2_000;
const LEAST_WORDS: usize = 2;
/// How many lessons are looked at, those first that share most of these words, then the newest …
const MOST_LOOKED_AT: usize = 48;
/// … and how many of them, that hold or wait and share more than rare words, are read and compared.
const MOST_COMPARED: usize = 24;
/// How often lessons that come in are compared because others came in meanwhile. After the last time they are kept in any case.
const MOST_COMPARISONS: usize = 5;

/// Which lessons that come in say nearly what another one says, in their order: a known one that holds or waits and is of the
/// same kind and for the same kind of work, or one that comes in before them.
///
/// # Errors
/// When the database cannot be read.
pub fn retold<'a>(
    store: &Store,
    coming_in: impl IntoIterator<Item = Said<'a>>,
) -> Result<Vec<Option<Retold>>, StoreError> {
    let rows = Rows::of(store, Searched::Learnings);
    let _one_look = store.moment()?;
    let state = store.lessons_state()?;
    let mut found = Vec::new();
    let mut earlier: Nearby<(usize, Said<'a>)> = Nearby::default();
    for (place, said) in coming_in.into_iter().enumerate() {
        // Estimates are the same by what they are about, whatever their words. And what is known in these very words is told
        // again, not retold.
        if said.kind == LearningKind::Estimate || store.knows_these_words(said.kind, said.task_type, said.content)? {
            found.push(Some(Retold::default().as_of(state)));
            continue;
        }
        let reading = said.reading();
        let retold = match known(&rows, &reading, said.task_type)? {
            Some(known) => Some(Retold::known(known.id, &known.content)),
            None => earlier
                .find(&reading, |(_, other)| fits(other.task_type, said.task_type))
                .map(|(place, other)| Retold::earlier(*place, other.content)),
        };
        if retold.is_none() {
            earlier.add((place, said), reading);
        }
        found.push(Some(retold.unwrap_or_default().as_of(state)));
    }
    Ok(found)
}

/// Keeps lessons with what came of comparing them. Where others come in between the two, they are compared anew, or what two
/// processes bring in other words at the same time would be there twice.
///
/// # Errors
/// When they cannot be compared or kept.
pub fn keep_compared<T, E: From<StoreError> + Outdated>(
    store: &mut Store,
    compare: impl Fn(&Store) -> Result<Vec<Option<Retold>>, StoreError>,
    mut keep: impl FnMut(&mut Store, Vec<Option<Retold>>) -> Result<T, E>,
) -> Result<T, E> {
    for _ in 1..MOST_COMPARISONS {
        let found = compare(store)?;
        match keep(store, found) {
            Err(error) if error.is_outdated() => {}
            done => return done,
        }
    }
    let found = compare(store)?.into_iter();
    keep(store, found.map(|retold| retold.map(Retold::whenever)).collect())
}

/// Whether what is for one kind of work may be said of another; none is every kind.
fn fits(one: Option<TaskType>, other: Option<TaskType>) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// The known lesson that says nearly the same; of several the surest, of equals the oldest.
fn known(rows: &Rows<'_>, reading: &Reading, task_type: Option<TaskType>) -> Result<Option<Learning>, StoreError> {
    let mut near: Vec<Learning> = Vec::new();
    let sharing = sharing_words(rows, reading)?;
    let outlines = rows.store.learning_outlines(&sharing)?;
    let may_say_it = |outline: &LearningOutline| may_stand(outline) && shares_half(&outline.terms, reading);
    let numbers: Vec<i64> = outlines
        .into_iter()
        .filter(may_say_it)
        .map(|outline| outline.number)
        .take(MOST_COMPARED)
        .collect();
    for learning in rows.store.learnings_numbered(&numbers)? {
        let fits = learning.kind == reading.kind() && fits(learning.task_type, task_type);
        if fits && Reading::of(&learning).says_nearly(reading) {
            near.push(learning);
        }
    }
    Ok(near.into_iter().min_by(|one, other| {
        let surer = other.confidence.total_cmp(&one.confidence);
        surer.then_with(|| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)))
    }))
}

/// Whether a lesson holds or waits, and nothing has taken its place.
fn may_stand(outline: &LearningOutline) -> bool {
    let holds_or_waits = matches!(
        outline.status,
        LearningStatus::Promoted | LearningStatus::Validated | LearningStatus::Pending
    );
    holds_or_waits && !outline.is_superseded
}

/// Whether a lesson with these words may say nearly the same: then it has far more than half of them, with the reasons that are
/// given or without. To see that takes a small part of the time in which it is read.
fn shares_half(terms: &str, reading: &Reading) -> bool {
    let terms: HashSet<&str> = terms.split_ascii_whitespace().collect();
    reading.compared().any(|compared| {
        let stems = compared.stems();
        let half = stems.len().div_ceil(2);
        stems.filter(|stem| terms.contains(encode_term(stem).as_str())).count() >= half
    })
}

/// The numbers of the lessons that share most of the rare words: of those of all that is said, and of those of what is said
/// without its reasons, which another one may not give.
fn sharing_words(rows: &Rows<'_>, reading: &Reading) -> Result<Vec<i64>, StoreError> {
    let mut known: HashMap<&str, KnownTerm> = HashMap::new();
    for stem in reading.stems() {
        if let Some(term) = rows.term(stem)? {
            known.insert(stem, term);
        }
    }
    let mut looked_for: BTreeSet<&str> = BTreeSet::new();
    for compared in reading.compared() {
        looked_for.extend(rarest(compared, &known));
    }
    let mut shared: NumberMap<i64, usize> = NumberMap::default();
    for term in looked_for.into_iter().filter_map(|stem| known.get(stem)) {
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

/// The rarest known words of what is said, so many as can be looked at in a short time.
fn rarest<'r>(reading: &'r Reading, known: &HashMap<&str, KnownTerm>) -> Vec<&'r str> {
    let terms = reading
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
            *position < LEAST_WORDS || places <= MOST_PLACES
        });
    within_bounds.map(|(_, (_, stem))| stem).collect()
}

#[cfg(test)]
mod tests {
    use ralph_model::{CapturedLearning, LearningId, NewJournalRow, RunId};
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
                retold: retold(
                    &self.store,
                    learnings.iter().map(|(_, told)| Said::told(told, task_type)),
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
    fn ids_that_share_their_parts_name_different_things() {
        let mut story = Story::new();
        for id in ["t-e259c5", "t-974e5c", "t-3c259e", "t-c259e5"] {
            story.tell(TaskType::BugFix, "pitfall", &[&format!("Learned of {id}.")]);
        }
        assert_eq!(story.texts().len(), 4, "{:?}", story.texts());
    }

    #[test]
    fn one_is_found_however_rare_the_words_of_a_reason_are() {
        let mut story = Story::new();
        let bug = TaskType::BugFix;
        let known = "Start the emulator before the suite";
        story.tell(bug, "tool_usage", &[known]);
        // The words of the lesson are common, those of the reason are known and rare.
        let others: Vec<String> = ["red", "green", "blue"]
            .into_iter()
            .map(|colour| format!("The emulator and the suite start {colour} lamps of the panel"))
            .collect();
        for other in &others {
            story.tell(bug, "tool_usage", &[other]);
        }
        for rare in [
            "websockets and handshakes",
            "a deadlock in playwright",
            "fixtures of browsers",
        ] {
            story.tell(bug, "tool_usage", &[&format!("Read the page about {rare}")]);
        }
        let before = story.texts().len();
        let reason = "or every websocket handshake deadlocks in playwright's browser fixtures";
        story.tell(bug, "tool_usage", &[&format!("{known}, {reason}")]);
        let texts = story.texts();
        assert_eq!(texts.len(), before, "{texts:?}");
        assert_eq!(texts[0], (known.to_owned(), 1));
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
