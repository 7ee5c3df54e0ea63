//! Selects the learnings of earlier runs for a piece of work: strategies, anti-patterns, estimates and conventions, the
//! most relevant of each kind. Those of the same kind of work and the conventions of the whole project are included;
//! those of other work only if they warn of an error that occurred, name files of the work, or share distinctive words
//! with it.

use std::cmp::Ordering;
use std::collections::HashSet;

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningKind, Signature, TaskType};
use ralph_store::index::{DocFeatures, KnownTerm, Totals};
use ralph_store::{Searched, Store, StoreError};

use super::Reach;
use super::candidates::candidates;
use super::corpus::Corpus;
use super::learnings::outlines_of_texts;
use super::patterns::{ErrorPattern, FilePatterns};
use super::question::{CommonWords, Terms};
use super::relevance::Relevance;
use super::relevant_learnings::fit_of_text;
use super::rows::Rows;

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
/// When the database cannot be read.
pub fn run_learnings(store: &Store, work: &Work<'_>, now: Timestamp) -> Result<Vec<RunLearning>, StoreError> {
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
    found.add_for_errors(store, work)?;
    found.add_other_work(store, work)?;
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
    fn add_for_errors(&mut self, store: &Store, work: &Work<'_>) -> Result<(), StoreError> {
        if work.errors.is_empty() {
            return Ok(());
        }
        let warnings = Texts::of(store, SearchScope::Warnings)?;
        let asked = |error| ErrorPattern::asked(error).into_iter().map(move |text| (error, text));
        for (error, text) in work.errors.iter().flat_map(asked) {
            let terms = Terms::of(&warnings, &text, CommonWords::Search)?;
            let alike = candidates(&warnings, Reach::Best(MOST_BY_WORDS), &terms)?;
            let numbers: Vec<i64> = alike.into_iter().map(|outline| outline.number).collect();
            let mut learnings = store.learnings_numbered(&numbers)?;
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

    fn add_other_work(&mut self, store: &Store, work: &Work<'_>) -> Result<(), StoreError> {
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
        self.add_by_words(store, work)
    }

    fn add_by_words(&mut self, store: &Store, work: &Work<'_>) -> Result<(), StoreError> {
        let other = Texts::of(store, SearchScope::OtherWork(work.task_type))?;
        let terms = Terms::of(&other, work.text, CommonWords::Ignore)?;
        let mut fitting: Vec<(f64, i64)> = Vec::new();
        let mut irrelevant: Vec<i64> = Vec::new();
        for outline in candidates(&other, Reach::Best(MOST_BY_WORDS), &terms)? {
            match fit_of_text(&terms, &other.totals, &outline) {
                fit if fit > 0.0 => fitting.push((fit, outline.number)),
                _ => irrelevant.push(outline.number),
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

/// Which learnings are searched by their texts.
#[derive(Clone, Copy)]
enum SearchScope {
    /// Extracted warnings and conventions of other kinds of work.
    OtherWork(TaskType),
    /// All extracted warnings.
    Warnings,
}

struct Texts<'s> {
    rows: Rows<'s>,
    totals: Totals,
    scope: SearchScope,
    few: Option<HashSet<i64>>,
}

impl<'s> Texts<'s> {
    fn of(store: &'s Store, scope: SearchScope) -> Result<Self, StoreError> {
        let rows = Rows::of(store, Searched::Learnings);
        Ok(Self {
            totals: rows.totals()?,
            few: match scope {
                SearchScope::OtherWork(task_type) => store.few_of_other_work(task_type, FEW)?,
                SearchScope::Warnings => store.few_warnings(FEW)?,
            },
            rows,
            scope,
        })
    }
}

impl Corpus for Texts<'_> {
    type Error = StoreError;

    const TIE_BATCH: usize = 32;
    /// Runs in every iteration, before its agent can start.
    const MAX_POSTINGS: u64 = 1_000;
    const MAX_CANDIDATES: usize = MOST_BY_WORDS;

    fn totals(&self) -> Result<Totals, StoreError> {
        Ok(self.totals)
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, StoreError> {
        self.rows.term(term)
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), StoreError> {
        self.rows.with(term, &mut |number| {
            if self.few.as_ref().is_none_or(|few| few.contains(&number)) {
                visit(number);
            }
        })
    }

    fn outlines(&self, numbers: &[i64]) -> Result<Vec<DocFeatures>, StoreError> {
        let texts = match self.scope {
            SearchScope::OtherWork(task_type) => self.rows.store.texts_of_other_work(numbers, task_type)?,
            SearchScope::Warnings => self.rows.store.texts_of_warnings(numbers)?,
        };
        Ok(outlines_of_texts(&self.rows, texts))
    }

    fn text(&self, number: i64) -> Result<String, StoreError> {
        let learning = self.rows.store.learnings_numbered(&[number])?.pop();
        Ok(learning.map(|learning| learning.content).unwrap_or_default())
    }
}
