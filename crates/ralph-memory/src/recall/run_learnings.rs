//! Selects the learnings of earlier runs for a piece of work: strategies, anti-patterns, estimates and conventions, the
//! most relevant of each kind. Those of the same kind of work and the conventions of the whole project are included;
//! those of other work only if they warn of an error that occurred, name files of the work, or share distinctive words
//! with it.

use std::cmp::Ordering;
use std::collections::HashSet;

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningKind, Signature, TaskType};
use ralph_search::{CommonWords, Doc, Index, IndexError, Limits, Reach, Searcher, fact_number};
use ralph_store::{Store, StoreError};

use super::learnings::{KIND, KINDS};
use super::patterns::{ErrorPattern, FilePatterns};
use super::relevance::Relevance;
use super::relevant_learnings::fit_of_text;

/// How many learnings of a kind are scored: those with the highest confidence. No other term makes up for a low one.
const MAX_SCORED: usize = 48;
/// How many conventions of each other kind of work are checked for the files they name …
const MOST_BY_FILE: usize = 16;
/// … how many warnings of a failure that occurred, …
const MOST_WARNINGS: u32 = 8;
/// … and how many learnings of other work for their words.
const MOST_BY_WORDS: usize = 16;
/// Up to this many learnings are prefetched as a set of numbers; beyond that, each candidate is read to check it. A few
/// among very many would otherwise cost mostly useless reads.
const FEW: usize = 2_000;
/// The search runs in every iteration, before its agent can start.
const LIMITS: Limits = Limits {
    postings: 1_000,
    candidates: MOST_BY_WORDS,
    ..Limits::PROMPT
};
/// How many irrelevant learnings that share words with the work are reported.
const MOST_IRRELEVANT: usize = 3;
/// Spare learnings of each kind beyond the prompt's limit: some may be in the prompt already.
const SPARE: usize = 3;

/// The properties of a piece of work that learnings of earlier runs are selected by.
#[derive(Debug)]
pub struct Work<'a> {
    pub task_type: TaskType,
    pub text: &'a str,
    pub files: FilePatterns,
    /// Errors that occurred.
    pub errors: Vec<ErrorPattern>,
    /// The last failure.
    pub failure: Option<&'a Signature>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunLearning {
    pub learning: Learning,
    /// Its relevance; `None` if it is irrelevant.
    pub relevance: Option<Relevance>,
    /// Whether it names files of the work.
    pub by_file: bool,
}

impl RunLearning {
    /// Learnings that name files of the work first, then the most relevant, then the newest, then by id to be
    /// deterministic.
    #[must_use]
    pub fn by_preference(&self, other: &Self) -> Ordering {
        let sum = |learning: &Self| learning.relevance.map_or(0.0, |relevance| relevance.sum());
        other
            .by_file
            .cmp(&self.by_file)
            .then_with(|| sum(other).total_cmp(&sum(self)))
            .then_with(|| other.learning.created_at.cmp(&self.learning.created_at))
            .then_with(|| self.learning.id.cmp(&other.learning.id))
    }
}

/// The maximum number of learnings of a kind in a prompt.
#[must_use]
pub fn max_in_prompt(kind: LearningKind, by_file: bool) -> usize {
    match kind {
        LearningKind::Strategy => 3,
        LearningKind::Antipattern => 5,
        LearningKind::Estimate => 2,
        LearningKind::Convention if by_file => 5,
        LearningKind::Convention => 3,
    }
}

/// The minimum confidence of a kind.
fn least_confidence(kind: LearningKind) -> f64 {
    match kind {
        LearningKind::Strategy | LearningKind::Convention => 0.5,
        LearningKind::Antipattern | LearningKind::Estimate => 0.4,
    }
}

/// The learnings of earlier runs relevant to a piece of work, by kind, each kind by relevance, and a few more than the
/// prompt's limit. They are followed by a few that are not eligible or not relevant.
///
/// # Errors
/// When the index or the store cannot be read.
pub fn run_learnings(
    (index, store): (&Index, &Store),
    work: &Work<'_>,
    now: Timestamp,
) -> Result<Vec<RunLearning>, IndexError> {
    let _snapshot = store.snapshot()?;
    let mut found = Found::default();
    for kind in LearningKind::ALL.iter().copied() {
        let of_type = store.run_learnings(kind, Some(work.task_type), least_confidence(kind), MAX_SCORED)?;
        found.add(of_type.standing);
        found.failing.extend(of_type.failing);
    }
    // Conventions hold whatever the kind of work.
    let (kind, everywhere) = (LearningKind::Convention, Some(TaskType::General));
    let everywhere = store.run_learnings(kind, everywhere, least_confidence(kind), MAX_SCORED)?;
    found.add(everywhere.standing);
    if let Some(failure) = work.failure {
        found.add_warnings_of(store, failure)?;
    }
    found.add_for_errors((index, store), work)?;
    found.add_other_work((index, store), work)?;
    let failing = std::mem::take(&mut found.failing).into_iter();
    let failing: Vec<RunLearning> = failing.map(|learning| found.scored(learning, work, now)).collect();
    let learnings = std::mem::take(&mut found.learnings).into_iter();
    let mut rest: Vec<RunLearning> = learnings.map(|learning| found.scored(learning, work, now)).collect();
    rest.sort_by(RunLearning::by_preference);
    let mut ranked: Vec<RunLearning> = Vec::with_capacity(rest.len());
    for kind in LearningKind::ALL.iter().copied() {
        let (mut of_kind, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|learning| learning.learning.kind == kind);
        let by_file = of_kind.iter().any(|learning| learning.by_file);
        of_kind.truncate(max_in_prompt(kind, by_file) + SPARE);
        ranked.extend(of_kind);
        rest = others;
    }
    ranked.extend(failing);
    ranked.extend(found.others.into_iter().map(|learning| RunLearning {
        learning,
        relevance: None,
        by_file: false,
    }));
    Ok(ranked)
}

/// The learnings found so far, without duplicates.
#[derive(Default)]
struct Found {
    learnings: Vec<Learning>,
    seen: HashSet<LearningId>,
    /// Those that warn of the last failure, in any words.
    warning: HashSet<LearningId>,
    /// Those that are relevant but not eligible.
    failing: Vec<Learning>,
    /// Those that share words with the work but are irrelevant.
    others: Vec<Learning>,
}

impl Found {
    fn add(&mut self, learnings: Vec<Learning>) {
        for learning in learnings.into_iter().filter(Learning::is_eligible) {
            if learning.confidence >= least_confidence(learning.kind) && self.seen.insert(learning.id.clone()) {
                self.learnings.push(learning);
            }
        }
    }

    fn add_warnings_of(&mut self, store: &Store, failure: &Signature) -> Result<(), StoreError> {
        let learnings = store.learnings_warning_of(failure, MOST_WARNINGS)?;
        self.warning
            .extend(learnings.iter().map(|learning| learning.id.clone()));
        self.add(learnings);
        Ok(())
    }

    /// Adds warnings of the errors that occurred, even if their confidence is low compared with others.
    fn add_for_errors(&mut self, (index, store): (&Index, &Store), work: &Work<'_>) -> Result<(), IndexError> {
        if work.errors.is_empty() {
            return Ok(());
        }
        let few = few(store.few_warnings(FEW)?);
        let searcher = Searcher::new(index, &KINDS, LIMITS)?.among(few.as_ref());
        let mut accept = |doc: &Doc| -> Result<bool, IndexError> { Ok(store.is_run_warning(doc.age.place)?) };
        let asked = |error| ErrorPattern::asked(error).into_iter().map(move |text| (error, text));
        for (error, text) in work.errors.iter().flat_map(asked) {
            let question = searcher.question(&text, CommonWords::Search)?;
            let alike = searcher.candidates(&question, Reach::Best(MOST_BY_WORDS), &mut accept)?;
            let rows: Vec<i64> = alike.into_iter().map(|doc| doc.age.place).collect();
            let mut learnings = store.learnings_numbered(&rows)?;
            learnings.retain(|learning| error.is_in(learning));
            self.add(learnings);
        }
        Ok(())
    }

    fn scored(&self, learning: Learning, work: &Work<'_>, now: Timestamp) -> RunLearning {
        let found = ErrorPattern::count_in(&work.errors, &learning);
        let errors = u32::try_from(found).unwrap_or(u32::MAX);
        let at_least = u32::from(self.warning.contains(&learning.id));
        RunLearning {
            relevance: Some(Relevance::of(
                &learning,
                Some(work.task_type),
                errors.max(at_least),
                now,
            )),
            by_file: work.files.match_learning(&learning),
            learning,
        }
    }

    fn add_other_work(&mut self, (index, store): (&Index, &Store), work: &Work<'_>) -> Result<(), IndexError> {
        if !store.has_learnings_of_other_work(work.task_type)? {
            return Ok(());
        }
        if !work.files.is_empty() {
            let kind = LearningKind::Convention;
            let types = TaskType::ALL.iter().copied().map(Some).chain([None]);
            for task_type in types.filter(|task_type| *task_type != Some(work.task_type)) {
                let known = store.run_learnings(kind, task_type, least_confidence(kind), MOST_BY_FILE)?;
                let mut learnings = known.standing;
                learnings.retain(|learning| work.files.match_learning(learning));
                self.add(learnings);
            }
        }
        self.add_by_words((index, store), work)
    }

    fn add_by_words(&mut self, (index, store): (&Index, &Store), work: &Work<'_>) -> Result<(), IndexError> {
        let few = few(store.few_of_other_work(work.task_type, FEW)?);
        let searcher = Searcher::new(index, &KINDS, LIMITS)?.among(few.as_ref());
        let mut accept =
            |doc: &Doc| -> Result<bool, IndexError> { Ok(store.is_of_other_work(doc.age.place, work.task_type)?) };
        let question = searcher.question(work.text, CommonWords::Ignore)?;
        let mut fitting: Vec<(f64, i64)> = Vec::new();
        let mut irrelevant: Vec<i64> = Vec::new();
        for doc in searcher.candidates(&question, Reach::Best(MOST_BY_WORDS), &mut accept)? {
            let row = doc.age.place;
            match fit_of_text(&searcher, &question, doc) {
                fit if fit > 0.0 => fitting.push((fit, row)),
                _ => irrelevant.push(row),
            }
        }
        fitting.sort_by(|(fit, number), (worse, later)| worse.total_cmp(fit).then(later.cmp(number)));
        let numbers: Vec<i64> = fitting
            .into_iter()
            .map(|(_, number)| number)
            .take(MOST_BY_WORDS)
            .collect();
        self.add(store.learnings_numbered(&numbers)?);
        irrelevant.truncate(MOST_BY_WORDS);
        let warns = |learning: &Learning| work.errors.iter().any(|error| error.is_in(learning));
        let (warnings, mut others): (Vec<_>, Vec<_>) =
            store.learnings_numbered(&irrelevant)?.into_iter().partition(warns);
        self.add(warnings);
        others.retain(|learning| !self.seen.contains(&learning.id));
        others.truncate(MOST_IRRELEVANT);
        self.others = others;
        Ok(())
    }
}

/// The numbers of the documents of these learnings.
fn few(rows: Option<HashSet<i64>>) -> Option<HashSet<i64>> {
    rows.map(|rows| rows.into_iter().map(|row| fact_number(KIND, row)).collect())
}
