//! Lessons as a body of texts that can be asked: those that may be found.

use ralph_model::{Learning, LearningStatus};
use ralph_store::index::{Age, KnownTerm, Outline, Totals};
use ralph_store::{LearningOutline, LearningQuery, Searched, Store, StoreError};

use super::corpus::{Corpus, Forgiving};
use super::question::Terms;
use super::relevance::Support;
use super::rows::Rows;
use super::{Answer, Found, Hit, Reach, fitting};

/// Lessons have no files; all of them count as one.
pub(super) const LEARNINGS_SOURCE: i64 = i64::MIN;

/// One is a match that has so many in a hundred of the words that the best match has of a question.
const MATCHING_PERCENT: usize = 70;

/// How many lessons are weighed where only the best are wanted.
const MOST_WEIGHED: usize = 128;

/// Finds lessons that fit a question, of those that are wanted: all of them, or of very many the best. They are found as among
/// all notes, but for what matches far less of the question than the best does: so they can be put in any other order.
///
/// # Errors
/// When the database cannot be read.
pub fn recall_learnings(store: &Store, text: &str, wanted: &LearningQuery, reach: Reach) -> Result<Answer, StoreError> {
    let learnings = Learnings {
        wanted: Some(wanted),
        ..Learnings::of(store)
    };
    let reach = match reach {
        Reach::Best(most) => Reach::Best(most.max(MOST_WEIGHED)),
        Reach::All => Reach::All,
    };
    let fitting = fitting(&learnings, &[LEARNINGS_SOURCE], reach, text)?;
    let words = |outline: &Outline| words_in(outline, &fitting.terms);
    let most = fitting.found.iter().map(|(_, outline)| words(outline)).max();
    let mut hits = Vec::new();
    for (score, outline) in &fitting.found {
        if words(outline) * 100 < most.unwrap_or_default() * MATCHING_PERCENT {
            continue;
        }
        let learning = learnings.learning(outline.number)?;
        hits.extend(learning.map(|learning| Hit {
            item: Found::Learning(Box::new(learning)),
            age: outline.age.clone(),
            score: *score,
        }));
    }
    Ok(Answer {
        hits,
        forgiven: fitting.forgiven,
        terms: fitting.terms.all(),
        ..Answer::default()
    })
}

/// The best supported of the lessons that are wanted, so many of them, the best first and of equals the newest.
///
/// # Errors
/// When the database cannot be read.
pub fn best_supported(store: &Store, wanted: &LearningQuery, reach: Reach) -> Result<Vec<Learning>, StoreError> {
    let mut strengths: Vec<(f64, i64)> = Vec::new();
    let most = match reach {
        Reach::Best(most) => most,
        Reach::All => usize::MAX,
    };
    let better =
        |(support, number): &(f64, i64), (other, later): &(f64, i64)| other.total_cmp(support).then(later.cmp(number));
    let mut worst = f64::NEG_INFINITY;
    store.learning_strengths(wanted, &mut |strength| {
        let support = Support::of_strength(&strength).total();
        if support < worst {
            return;
        }
        strengths.push((support, strength.number));
        // Of many few are kept: whenever there are twice as many as are wanted, the worse half goes.
        if strengths.len() >= most.saturating_mul(2) {
            strengths.sort_unstable_by(better);
            strengths.truncate(most);
            worst = strengths.last().map_or(worst, |(support, _)| *support);
        }
    })?;
    strengths.sort_unstable_by(better);
    strengths.truncate(most);
    let numbers: Vec<i64> = strengths.into_iter().map(|(_, number)| number).collect();
    store.learnings_numbered(&numbers)
}

/// How many of the words of a question an entry holds, common ones too.
fn words_in(outline: &Outline, terms: &Terms) -> usize {
    let holds = |number: &u32| outline.terms.contains(number) || outline.tag_terms.contains(number);
    terms.known.iter().filter(|asked| holds(&asked.known.number)).count()
}

/// Whether somebody may find a lesson: what holds, and what waits.
fn may_be_found(outline: &LearningOutline) -> bool {
    let status = match outline.status {
        LearningStatus::Promoted | LearningStatus::Validated | LearningStatus::Pending => true,
        LearningStatus::Rejected | LearningStatus::Pruned => false,
    };
    status && !outline.is_superseded
}

/// Outlines of lessons' texts alone: which lesson it is and what tags it has is looked at elsewhere.
pub(super) fn outlines_of_texts(rows: &Rows<'_>, texts: Vec<(i64, String)>) -> Vec<Outline> {
    let outline = |(number, terms): (i64, String)| Outline {
        number,
        source: LEARNINGS_SOURCE,
        id: String::new(),
        age: Age::default(),
        terms: rows.numbers_of(&terms),
        tag_terms: Vec::new(),
    };
    texts.into_iter().map(outline).collect()
}

/// The lessons that a question is about.
pub(super) struct Learnings<'s> {
    pub(super) rows: Rows<'s>,
    /// Only these.
    wanted: Option<&'s LearningQuery>,
}

impl<'s> Learnings<'s> {
    pub(super) fn of(store: &'s Store) -> Self {
        Self {
            rows: Rows::of(store, Searched::Learnings),
            wanted: None,
        }
    }

    /// The outlines of those that may be found.
    fn found(&self, numbers: &[i64]) -> Result<Vec<LearningOutline>, StoreError> {
        if let Some(wanted) = self.wanted {
            return self.rows.store.wanted_outlines(numbers, wanted);
        }
        let mut outlines = self.rows.store.learning_outlines(numbers)?;
        outlines.retain(may_be_found);
        Ok(outlines)
    }

    /// A lesson by its number.
    pub(super) fn learning(&self, number: i64) -> Result<Option<Learning>, StoreError> {
        Ok(self.rows.store.learnings_numbered(&[number])?.pop())
    }
}

impl Forgiving for Learnings<'_> {
    fn all_terms(&self, visit: &mut dyn FnMut(&str, u64)) -> Result<(), StoreError> {
        self.rows.plain_terms(visit)
    }
}

impl Corpus for Learnings<'_> {
    type Error = StoreError;

    const ALIKE: usize = 32;

    fn totals(&self) -> Result<Totals, StoreError> {
        self.rows.totals()
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, StoreError> {
        self.rows.term(term)
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), StoreError> {
        self.rows.with(term, visit)
    }

    fn outlines(&self, numbers: &[i64]) -> Result<Vec<Outline>, StoreError> {
        let day = |outline: &LearningOutline| outline.created_at.strftime("%Y-%m-%d").to_string();
        let found = self.found(numbers)?.into_iter();
        Ok(found
            .map(|outline| Outline {
                number: outline.number,
                source: LEARNINGS_SOURCE,
                id: outline.id.to_string(),
                age: Age {
                    created: day(&outline),
                    second: outline.created_at.as_second(),
                    place: outline.number,
                },
                terms: self.rows.numbers_of(&outline.terms),
                tag_terms: self.rows.numbers_of(&outline.tag_terms),
            })
            .collect())
    }

    /// Whoever asks for lessons by themselves wants to see each: it may be the one to reject.
    fn may_stand_for_both(&self, _one: i64, _other: i64) -> Result<bool, StoreError> {
        Ok(self.wanted.is_none())
    }

    fn text(&self, number: i64) -> Result<String, StoreError> {
        let learning = self.learning(number)?;
        Ok(learning.map(|learning| learning.content).unwrap_or_default())
    }
}
