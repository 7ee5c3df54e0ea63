//! Which lessons belong in the prompt of a task, and in which order: those first whose tags match most of what is known about
//! the task, then those whose text fits best, then the newest.

use std::collections::{BTreeSet, HashMap, HashSet};

use ralph_model::{ErrorCategory, Learning, TaskId};
use ralph_store::index::{KnownTerm, Outline, Phrase, Phrases, Totals};
use ralph_store::{Searched, Store, StoreError};

use super::Reach;
use super::candidates::candidates;
use super::corpus::Corpus;
use super::learnings::outlines_of_texts;
use super::likeness::Likeness;
use super::numbers::NumberMap;
use super::question::{CommonWords, Terms};
use super::rows::Rows;
use super::score::score;

/// How many lessons are looked at for each word that may be a tag, and for all of them together. Tags that more lessons have
/// tell little; the newest stand for the rest.
const MOST_OF_WORD: usize = 128;
const MOST_TAGGED: usize = 1_500;
/// How many of those with matching tags are weighed, and of those that wait at the task.
const MOST_WEIGHED: usize = 32;
const MOST_WAITING: usize = 16;
/// How many lessons are told of that have a word of the task in a tag, and nothing to do with it.
const MOST_IRRELEVANT: usize = 5;
/// How many words of what is known about a task are looked for among tags.
const MOST_WORDS: usize = 300;
/// What a long list of files leaves of both to what comes after it, and a long description to the parent's.
const AFTER_FILES: KeptBack = KeptBack {
    words: 150,
    lessons: 750,
};
const AFTER_DESCRIPTION: KeptBack = KeptBack {
    words: 40,
    lessons: 200,
};
/// What a text's fit is compared with, so that however well it fits it counts less than one tag.
const HALF_A_TAG: f64 = 8.0;

/// What is known about a task by which lessons are chosen.
#[derive(Debug, Clone, Copy)]
pub struct LearningSignals<'a> {
    /// The task.
    pub task: &'a TaskId,
    /// Its title.
    pub title: &'a str,
    /// Its description.
    pub description: &'a str,
    /// The title and the description of the task that it is a part of.
    pub parent: Option<(&'a str, &'a str)>,
    /// The files that earlier attempts have changed or named.
    pub files: &'a [String],
    /// How the last attempt failed.
    pub category: Option<ErrorCategory>,
}

impl LearningSignals<'_> {
    /// What tags are looked for in, the most telling first, each with what it leaves to those after it.
    fn texts(&self) -> Vec<(&str, KeptBack)> {
        let nothing = KeptBack::default();
        let mut texts = vec![(self.title, nothing)];
        let category = self.category.filter(|category| *category != ErrorCategory::Unknown);
        texts.extend(category.map(|category| (category.word(), nothing)));
        texts.extend(self.files.iter().map(|file| (file.as_str(), AFTER_FILES)));
        let Some((title, description)) = self.parent else {
            texts.push((self.description, nothing));
            return texts;
        };
        texts.extend([
            (title, nothing),
            (self.description, AFTER_DESCRIPTION),
            (description, nothing),
        ]);
        texts
    }
}

/// A lesson that was looked at for a task.
#[derive(Debug, Clone, PartialEq)]
pub struct RelevantLearning {
    /// The lesson.
    pub learning: Learning,
    /// How many of its tags match, and behind the point how well its text fits; 0 where it does not belong to the task.
    pub score: f64,
    /// Whether it has not kept what it promises, or another one in the same words has not and it has no record of its own.
    pub is_refuted: bool,
    /// By what it is compared with others.
    pub likeness: Likeness,
}

impl RelevantLearning {
    /// A lesson with its score.
    #[must_use]
    pub fn of(learning: Learning, score: f64, is_refuted: bool) -> Self {
        Self {
            likeness: Likeness::of(&learning),
            learning,
            score,
            is_refuted,
        }
    }
}

/// How many words, and how many lessons, are kept for texts that come later.
#[derive(Debug, Clone, Copy, Default)]
struct KeptBack {
    words: usize,
    lessons: usize,
}

/// The lessons that belong to a task, the best first, so many at most that differ. Behind them stand some that belong to it and
/// are refuted, and a few that were looked at and do not belong to it. A lesson that waits at the task belongs to it, whatever it
/// says.
///
/// # Errors
/// When the database cannot be read.
pub fn relevant_learnings(
    store: &Store,
    signals: &LearningSignals<'_>,
    most: usize,
) -> Result<Vec<RelevantLearning>, StoreError> {
    let rows = Rows::of(store, Searched::Learnings);
    let totals = rows.totals()?;
    if totals.entries == 0 {
        return Ok(Vec::new());
    }
    let standing = StandingLearnings {
        waiting: store.learnings_waiting_at(signals.task, MOST_WAITING)?,
        rows,
        totals,
    };
    let tagged = Tagged::by(store, signals, &standing.waiting)?;
    let parent = signals.parent.map(|(title, _)| title).unwrap_or_default();
    let text = format!("{}\n{}\n{parent}", signals.title, signals.description);
    let terms = Terms::of(&standing, &text, CommonWords::TellNothing)?;
    let mut weighed: Vec<(f64, i64)> = Vec::new();
    let mut met: HashSet<i64> = HashSet::new();
    let mut others: Vec<i64> = Vec::new();
    for outline in candidates(&standing, Reach::Best(most), &terms)? {
        let (number, fit) = (outline.number, fit_of_text(&terms, &totals, &outline));
        met.insert(number);
        // A word of a tag that is no tag of this task by itself says nothing.
        if fit > 0.0 || tagged.matching.contains_key(&number) || standing.waiting.contains(&number) {
            weighed.push((tagged.worth(number, fit), number));
        } else {
            others.push(number);
        }
    }
    let rest = tagged.best().into_iter().chain(standing.waiting.iter().copied());
    let rest: Vec<i64> = rest.filter(|number| met.insert(*number)).collect();
    for outline in standing.outlines(&rest)? {
        let fit = fit_of_text(&terms, &totals, &outline);
        weighed.push((tagged.worth(outline.number, fit), outline.number));
    }
    weighed.sort_by(|(worth, number), (other, later)| other.total_cmp(worth).then(later.cmp(number)));
    let (mut found, mut passed_over) = different(store, weighed, most)?;
    others.truncate(MOST_IRRELEVANT);
    passed_over.truncate(MOST_IRRELEVANT);
    found.extend(passed_over);
    let others = store.learnings_numbered(&others)?;
    found.extend(others.into_iter().map(|learning| {
        let is_refuted = !learning.may_be_shown();
        RelevantLearning::of(learning, 0.0, is_refuted)
    }));
    Ok(found)
}

/// The first of these lessons, with so many among them that say something of their own: one that was told in many ways must
/// not take the places of others. And those that were passed over, because they are refuted.
fn different(
    store: &Store,
    ranked: Vec<(f64, i64)>,
    most: usize,
) -> Result<(Vec<RelevantLearning>, Vec<RelevantLearning>), StoreError> {
    let mut found: Vec<RelevantLearning> = Vec::new();
    let mut passed_over = Vec::new();
    let mut kept = Vec::new();
    let all_fit = ranked.len() <= most;
    for (score, number) in ranked {
        if kept.len() >= most {
            break;
        }
        let Some(learning) = store.learnings_numbered(&[number])?.pop() else {
            continue;
        };
        let is_refuted = !learning.may_be_shown() || store.is_refuted_elsewhere(&learning)?;
        let relevant = RelevantLearning::of(learning, score, is_refuted);
        if is_refuted {
            passed_over.push(relevant);
            continue;
        }
        let is_near = |kept: &usize| {
            found
                .get(*kept)
                .is_some_and(|other| other.likeness.is_near(&relevant.likeness))
        };
        if !all_fit && !kept.iter().any(is_near) {
            kept.push(found.len());
        }
        found.push(relevant);
    }
    Ok((found, passed_over))
}

/// The lessons that may stand in the prompt of a task: what agents and people said, if it holds, or was learned at this very
/// task and waits.
struct StandingLearnings<'s> {
    rows: Rows<'s>,
    totals: Totals,
    waiting: Vec<i64>,
}

impl Corpus for StandingLearnings<'_> {
    type Error = StoreError;

    const ALIKE: usize = 32;
    /// Every iteration asks, before its agent can begin.
    const MOST_PLACES: u64 = 2_000;
    const MOST_CANDIDATES: usize = 32;

    fn totals(&self) -> Result<Totals, StoreError> {
        Ok(self.totals)
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, StoreError> {
        self.rows.term(term)
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), StoreError> {
        self.rows.with(term, visit)
    }

    /// The outlines of their texts; tags are looked at by themselves.
    fn outlines(&self, numbers: &[i64]) -> Result<Vec<Outline>, StoreError> {
        let texts = self.rows.store.standing_texts(numbers, &self.waiting)?;
        Ok(outlines_of_texts(&self.rows, texts))
    }

    fn text(&self, number: i64) -> Result<String, StoreError> {
        let learning = self.rows.store.learnings_numbered(&[number])?.pop();
        Ok(learning.map(|learning| learning.content).unwrap_or_default())
    }
}

/// How well the text of a lesson fits; not at all where it shares only common words, or a single one: where lessons are few
/// every word is rare, and the end of a line has nothing to do with the end of a day. A name tells enough by itself.
pub(super) fn fit_of_text(terms: &Terms, totals: &Totals, outline: &Outline) -> f64 {
    let asked = |number: &u32| terms.by_number.get(number).and_then(|at| terms.known.get(*at));
    let telling = outline.terms.iter().filter_map(asked).filter(|asked| asked.telling);
    let has_name = telling.clone().any(|asked| asked.is_name);
    let words: HashSet<u32> = telling.map(|asked| asked.known.number).collect();
    if !has_name && words.len() < 2 {
        return 0.0;
    }
    score(terms, totals, outline).total()
}

/// Lessons by their tags: how many match, by the number of the lesson.
#[derive(Default)]
struct Tagged {
    matching: NumberMap<i64, u32>,
}

impl Tagged {
    fn by(store: &Store, signals: &LearningSignals<'_>, waiting: &[i64]) -> Result<Self, StoreError> {
        let mut tags: HashMap<String, Vec<i64>> = HashMap::new();
        let mut note = |tag: &str, learning: i64| match tags.get_mut(tag) {
            Some(known) => known.push(learning),
            None => drop(tags.insert(tag.to_owned(), vec![learning])),
        };
        for learning in waiting {
            for tag in store.tags_of_learning(*learning)? {
                note(&tag, *learning);
            }
        }
        let mut phrases = Phrases::default();
        let (mut looked_at, mut words_left) = (0, MOST_WORDS);
        for (text, kept_back) in signals.texts() {
            let of_text = Phrases::of([text]);
            // Which comes first must not be the decision of a hash.
            let words: BTreeSet<&str> = of_text.words().filter(|word| !phrases.have(word)).collect();
            for word in words {
                if looked_at + kept_back.lessons >= MOST_TAGGED || words_left <= kept_back.words {
                    break;
                }
                words_left -= 1;
                looked_at += store.learnings_tagged(word, MOST_OF_WORD, &mut note)?;
            }
            phrases.append(of_text);
        }
        let mut tagged = Self::default();
        for (tag, mut learnings) in tags {
            if Phrase::of(&tag).is_some_and(|phrase| phrases.hold(&phrase)) {
                // Two words may have led to the same one.
                learnings.sort_unstable();
                learnings.dedup();
                for learning in learnings {
                    *tagged.matching.entry(learning).or_default() += 1;
                }
            }
        }
        Ok(tagged)
    }

    /// The lessons with the most matching tags, of equals the newest.
    fn best(&self) -> Vec<i64> {
        let mut ranked: Vec<(u32, i64)> = self.matching.iter().map(|(number, tags)| (*tags, *number)).collect();
        ranked.sort_unstable_by(|one, other| other.cmp(one));
        ranked
            .into_iter()
            .map(|(_, number)| number)
            .take(MOST_WEIGHED)
            .collect()
    }

    /// What a lesson is worth whose text fits so well.
    fn worth(&self, number: i64, fit: f64) -> f64 {
        let tags = self.matching.get(&number).copied().unwrap_or_default();
        f64::from(tags) + fit / (fit + HALF_A_TAG)
    }
}
