//! What earlier runs taught about a piece of work: strategies, warnings, estimates and conventions, the most relevant of each
//! kind. Lessons of the same kind of work belong to it, and conventions of the whole project; of other work only those that have
//! something to do with it: that warn of an error that was met, name its files, or share words with it that tell something.

use std::cmp::Ordering;
use std::collections::HashSet;

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningKind, Signature, TaskType};
use ralph_store::index::{KnownTerm, Outline, Totals};
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

/// How many lessons of a kind are weighed: the surest of them. The rest count for nothing that could make up for that.
const MOST_WEIGHED: usize = 48;
/// How many conventions of each other kind of work are looked at for the files that they name …
const MOST_BY_FILE: usize = 16;
/// … how many warnings of a failure that was met, …
const MOST_WARNINGS: u32 = 8;
/// … and how many lessons of other work for their words.
const MOST_BY_WORDS: usize = 16;
/// How many lessons are told apart from all others by their numbers alone; of more than these, each is read to see whether it is
/// one of them. Where they are few among very many, most would be read for nothing.
const FEW: usize = 2_000;
/// How many lessons are told of that share words with the work, and have nothing to do with it.
const MOST_IRRELEVANT: usize = 3;
/// How many of each kind are told of beyond those that may stand in a prompt: some of those may be said there already.
const SPARE: usize = 3;

/// What is known about a piece of work by which lessons of earlier runs are chosen.
#[derive(Debug)]
pub struct Work<'a> {
    /// What kind of work it is.
    pub task_type: TaskType,
    /// What it is about.
    pub text: &'a str,
    /// The files that it is about.
    pub files: FilePatterns,
    /// The errors that were met at it.
    pub errors: Vec<ErrorPattern>,
    /// The failure that was met last.
    pub failure: Option<&'a Signature>,
}

/// A lesson of earlier runs.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownLesson {
    /// The lesson.
    pub learning: Learning,
    /// How well it fits the work; none where it has nothing to do with it.
    pub relevance: Option<Relevance>,
    /// Whether it names files that the work is about.
    pub by_file: bool,
}

impl KnownLesson {
    /// The most relevant first, before all others those that name the files of the work; of equals the newest, and then it
    /// must not be chance that decides.
    #[must_use]
    pub fn by_preference(&self, other: &Self) -> Ordering {
        let sum = |lesson: &Self| lesson.relevance.map_or(0.0, |relevance| relevance.sum());
        other
            .by_file
            .cmp(&self.by_file)
            .then_with(|| sum(other).total_cmp(&sum(self)))
            .then_with(|| other.learning.created_at.cmp(&self.learning.created_at))
            .then_with(|| self.learning.id.cmp(&other.learning.id))
    }
}

/// How many lessons of a kind stand in a prompt at most.
#[must_use]
pub fn most_known(kind: LearningKind, by_file: bool) -> usize {
    match kind {
        LearningKind::Strategy => 3,
        LearningKind::Antipattern => 5,
        LearningKind::Estimate => 2,
        LearningKind::Convention if by_file => 5,
        LearningKind::Convention => 3,
    }
}

/// How sure a lesson of a kind has to be.
fn least_confidence(kind: LearningKind) -> f64 {
    match kind {
        LearningKind::Strategy | LearningKind::Convention => 0.5,
        LearningKind::Antipattern | LearningKind::Estimate => 0.4,
    }
}

/// The lessons of earlier runs that belong to a piece of work, by their kinds, of each the most relevant first, and a few more
/// than may stand in a prompt. Behind them stand a few that were looked at and may not, or do not belong to it.
///
/// # Errors
/// When the database cannot be read.
pub fn known_lessons(store: &Store, work: &Work<'_>, now: Timestamp) -> Result<Vec<KnownLesson>, StoreError> {
    let mut found = Found::default();
    for kind in LearningKind::ALL.iter().copied() {
        let of_type = store.known_lessons(kind, Some(work.task_type), least_confidence(kind), MOST_WEIGHED)?;
        found.add(of_type.standing);
        found.failing.extend(of_type.failing);
    }
    // How things are done in a project is the same whatever the work is.
    let (kind, everywhere) = (LearningKind::Convention, Some(TaskType::General));
    let everywhere = store.known_lessons(kind, everywhere, least_confidence(kind), MOST_WEIGHED)?;
    found.add(everywhere.standing);
    if let Some(failure) = work.failure {
        found.warn_of(store, failure)?;
    }
    found.of_errors(store, work)?;
    found.of_other_work(store, work)?;
    let failing = std::mem::take(&mut found.failing).into_iter();
    let failing: Vec<KnownLesson> = failing.map(|learning| found.weighed(learning, work, now)).collect();
    let lessons = std::mem::take(&mut found.lessons).into_iter();
    let mut rest: Vec<KnownLesson> = lessons.map(|learning| found.weighed(learning, work, now)).collect();
    rest.sort_by(KnownLesson::by_preference);
    let mut ranked: Vec<KnownLesson> = Vec::with_capacity(rest.len());
    for kind in LearningKind::ALL.iter().copied() {
        let (mut of_kind, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|lesson| lesson.learning.kind == kind);
        let by_file = of_kind.iter().any(|lesson| lesson.by_file);
        of_kind.truncate(most_known(kind, by_file) + SPARE);
        ranked.extend(of_kind);
        rest = others;
    }
    ranked.extend(failing);
    ranked.extend(found.others.into_iter().map(|learning| KnownLesson {
        learning,
        relevance: None,
        by_file: false,
    }));
    Ok(ranked)
}

/// Lessons that were found, each once.
#[derive(Default)]
struct Found {
    lessons: Vec<Learning>,
    met: HashSet<LearningId>,
    /// Those that warn of the failure that was met last, in whatever words.
    warning: HashSet<LearningId>,
    /// Those that would belong to it, and may stand in no prompt.
    failing: Vec<Learning>,
    /// Those that share words with the work, and have nothing to do with it.
    others: Vec<Learning>,
}

impl Found {
    fn add(&mut self, lessons: Vec<Learning>) {
        for learning in lessons.into_iter().filter(Learning::may_be_shown) {
            if learning.confidence >= least_confidence(learning.kind) && self.met.insert(learning.id.clone()) {
                self.lessons.push(learning);
            }
        }
    }

    fn warn_of(&mut self, store: &Store, failure: &Signature) -> Result<(), StoreError> {
        let lessons = store.lessons_warning_of(failure, MOST_WARNINGS)?;
        self.warning.extend(lessons.iter().map(|learning| learning.id.clone()));
        self.add(lessons);
        Ok(())
    }

    /// Warnings of the errors that were met, however unsure they are beside others of the same work.
    fn of_errors(&mut self, store: &Store, work: &Work<'_>) -> Result<(), StoreError> {
        if work.errors.is_empty() {
            return Ok(());
        }
        let warnings = Texts::of(store, Taught::Warnings)?;
        let asked = |error| ErrorPattern::asked(error).into_iter().map(move |text| (error, text));
        for (error, text) in work.errors.iter().flat_map(asked) {
            let terms = Terms::of(&warnings, &text, CommonWords::AreMeant)?;
            let alike = candidates(&warnings, Reach::Best(MOST_BY_WORDS), &terms)?;
            let numbers: Vec<i64> = alike.into_iter().map(|outline| outline.number).collect();
            let mut lessons = store.learnings_numbered(&numbers)?;
            lessons.retain(|learning| error.is_in(learning));
            self.add(lessons);
        }
        Ok(())
    }

    fn weighed(&self, learning: Learning, work: &Work<'_>, now: Timestamp) -> KnownLesson {
        let found = ErrorPattern::count_in(&work.errors, &learning);
        let errors = u32::try_from(found).unwrap_or(u32::MAX);
        let at_least = u32::from(self.warning.contains(&learning.id));
        KnownLesson {
            relevance: Some(Relevance::of(
                &learning,
                Some(work.task_type),
                errors.max(at_least),
                now,
            )),
            by_file: work.files.match_lesson(&learning),
            learning,
        }
    }

    fn of_other_work(&mut self, store: &Store, work: &Work<'_>) -> Result<(), StoreError> {
        if !store.has_lessons_of_other_work(work.task_type)? {
            return Ok(());
        }
        if !work.files.is_empty() {
            let kind = LearningKind::Convention;
            let types = TaskType::ALL.iter().copied().map(Some).chain([None]);
            for task_type in types.filter(|task_type| *task_type != Some(work.task_type)) {
                let known = store.known_lessons(kind, task_type, least_confidence(kind), MOST_BY_FILE)?;
                let mut lessons = known.standing;
                lessons.retain(|learning| work.files.match_lesson(learning));
                self.add(lessons);
            }
        }
        self.by_words(store, work)
    }

    fn by_words(&mut self, store: &Store, work: &Work<'_>) -> Result<(), StoreError> {
        let other = Texts::of(store, Taught::AtOtherWork(work.task_type))?;
        let terms = Terms::of(&other, work.text, CommonWords::TellNothing)?;
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
        others.retain(|learning| !self.met.contains(&learning.id));
        others.truncate(MOST_IRRELEVANT);
        self.others = others;
        Ok(())
    }
}

/// Lessons that are looked for by the words of their texts.
#[derive(Clone, Copy)]
enum Taught {
    /// Warnings and conventions that runs taught at other kinds of work than this.
    AtOtherWork(TaskType),
    /// All warnings that they taught.
    Warnings,
}

/// The texts of such lessons.
struct Texts<'s> {
    rows: Rows<'s>,
    totals: Totals,
    taught: Taught,
    /// Their numbers, if they are few.
    few: Option<HashSet<i64>>,
}

impl<'s> Texts<'s> {
    fn of(store: &'s Store, taught: Taught) -> Result<Self, StoreError> {
        let rows = Rows::of(store, Searched::Learnings);
        Ok(Self {
            totals: rows.totals()?,
            few: match taught {
                Taught::AtOtherWork(task_type) => store.few_of_other_work(task_type, FEW)?,
                Taught::Warnings => store.few_warnings(FEW)?,
            },
            rows,
            taught,
        })
    }
}

impl Corpus for Texts<'_> {
    type Error = StoreError;

    const ALIKE: usize = 32;
    /// Every iteration asks, before its agent can begin.
    const MOST_PLACES: u64 = 1_000;
    const MOST_CANDIDATES: usize = MOST_BY_WORDS;

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

    /// The outlines of their texts.
    fn outlines(&self, numbers: &[i64]) -> Result<Vec<Outline>, StoreError> {
        let texts = match self.taught {
            Taught::AtOtherWork(task_type) => self.rows.store.texts_of_other_work(numbers, task_type)?,
            Taught::Warnings => self.rows.store.texts_of_warnings(numbers)?,
        };
        Ok(outlines_of_texts(&self.rows, texts))
    }

    fn text(&self, number: i64) -> Result<String, StoreError> {
        let learning = self.rows.store.learnings_numbered(&[number])?.pop();
        Ok(learning.map(|learning| learning.content).unwrap_or_default())
    }
}
