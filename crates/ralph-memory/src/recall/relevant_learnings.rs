//! Selects and ranks the learnings for the prompt of a task: by matching tags first, then by text relevance, then by
//! age.

use std::collections::{BTreeSet, HashMap, HashSet};

use ralph_model::{ErrorCategory, Learning, TaskId};
use ralph_search::{
    CommonWords, Doc, Index, IndexError, Limits, Phrase, Phrases, Question, Reach, Searcher, fact_number, row_of_fact,
};
use ralph_store::{Store, StoreError};

use super::learnings::{KIND, KINDS};
use crate::similarity::LearningFeatures;

/// Limits per word that may be a tag, and for all words together. Tags of more learnings are not distinctive; the
/// newest represent the rest.
const MOST_OF_WORD: usize = 128;
const MOST_TAGGED: usize = 1_500;
/// How many tagged learnings are scored, and how many that are proposed for the task.
const MAX_SCORED: usize = 32;
const MOST_WAITING: usize = 16;
/// How many irrelevant learnings (a word of the task in a tag, nothing else in common) are reported.
const MOST_IRRELEVANT: usize = 5;
/// Maximum number of words of the task to look up among tags.
const MOST_WORDS: usize = 300;
/// Budget that a long list of files leaves for the texts after it, and a long description for the parent's.
const AFTER_FILES: KeptBack = KeptBack {
    words: 150,
    learnings: 750,
};
const AFTER_DESCRIPTION: KeptBack = KeptBack {
    words: 40,
    learnings: 200,
};
/// Scale for text relevance, so that it always counts less than one tag.
const HALF_A_TAG: f64 = 8.0;

/// The properties of a task that learnings are selected by.
#[derive(Debug, Clone, Copy)]
pub struct LearningSignals<'a> {
    pub task: &'a TaskId,
    pub title: &'a str,
    pub description: &'a str,
    /// Title and description of the parent task.
    pub parent: Option<(&'a str, &'a str)>,
    /// Files that earlier attempts changed or named.
    pub files: &'a [String],
    pub category: Option<ErrorCategory>,
}

impl LearningSignals<'_> {
    /// The texts to match tags against, most significant first, each with the budget it leaves to later ones.
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

/// A learning considered for a task.
#[derive(Debug, Clone, PartialEq)]
pub struct RelevantLearning {
    pub learning: Learning,
    /// The number of matching tags plus its text relevance as a fraction; 0 if it is not relevant.
    pub score: f64,
    /// Whether its own record refutes it, or that of another learning in the same words if it has none.
    pub is_refuted: bool,
    pub features: LearningFeatures,
}

impl RelevantLearning {
    #[must_use]
    pub fn of(learning: Learning, score: f64, is_refuted: bool) -> Self {
        Self {
            features: LearningFeatures::of(&learning),
            learning,
            score,
            is_refuted,
        }
    }
}

/// Budget reserved for later texts.
#[derive(Debug, Clone, Copy, Default)]
struct KeptBack {
    words: usize,
    learnings: usize,
}

/// The learnings relevant to a task, best first, with at most `most` distinct ones. They are followed by some refuted
/// ones and a few irrelevant ones. A learning proposed for the task itself is always relevant.
///
/// # Errors
/// When the index or the store cannot be read.
pub fn relevant_learnings(
    (index, store): (&Index, &Store),
    signals: &LearningSignals<'_>,
    most: usize,
) -> Result<Vec<RelevantLearning>, IndexError> {
    let _snapshot = store.snapshot()?;
    let searcher = Searcher::new(index, &KINDS, Limits::PROMPT)?;
    if searcher.is_empty() {
        return Ok(Vec::new());
    }
    let waiting = store.proposed_learnings_at(signals.task, MOST_WAITING)?;
    let tagged = Tagged::by((index, store), signals, &waiting)?;
    let parent = signals.parent.map(|(title, _)| title).unwrap_or_default();
    let text = format!("{}\n{}\n{parent}", signals.title, signals.description);
    let question = searcher.question(&text, CommonWords::Ignore)?;
    let mut scored: Vec<(f64, i64)> = Vec::new();
    let mut seen: HashSet<i64> = HashSet::new();
    let mut others: Vec<i64> = Vec::new();
    let mut accept = |doc: &Doc| -> Result<bool, IndexError> {
        let row = doc.age.place;
        Ok(waiting.contains(&row) || store.is_active_report(row)?)
    };
    for doc in searcher.candidates(&question, Reach::Best(most), &mut accept)? {
        let row = doc.age.place;
        let fit = fit_of_text(&searcher, &question, doc);
        seen.insert(row);
        // A single word shared with a longer tag means nothing.
        if fit > 0.0 || tagged.matching.contains_key(&row) || waiting.contains(&row) {
            scored.push((tagged.worth(row, fit), row));
        } else {
            others.push(row);
        }
    }
    let rest = tagged.best().into_iter().chain(waiting.iter().copied());
    let rest = rest.filter(|row| seen.insert(*row)).map(|row| fact_number(KIND, row));
    for doc in index.docs(rest)? {
        if accept(&doc)? {
            let row = doc.age.place;
            scored.push((tagged.worth(row, fit_of_text(&searcher, &question, doc)), row));
        }
    }
    scored.sort_by(|(worth, number), (other, later)| other.total_cmp(worth).then(later.cmp(number)));
    let (mut found, mut skipped) = distinct(store, scored, most)?;
    others.truncate(MOST_IRRELEVANT);
    skipped.truncate(MOST_IRRELEVANT);
    found.extend(skipped);
    let others = store.learnings_numbered(&others)?;
    found.extend(others.into_iter().map(|learning| {
        let is_refuted = !learning.is_eligible();
        RelevantLearning::of(learning, 0.0, is_refuted)
    }));
    Ok(found)
}

/// The top learnings, with up to `most` distinct ones among them (many wordings of one learning must not crowd out
/// others), and the skipped ones, which are refuted.
fn distinct(
    store: &Store,
    ranked: Vec<(f64, i64)>,
    most: usize,
) -> Result<(Vec<RelevantLearning>, Vec<RelevantLearning>), StoreError> {
    let mut found: Vec<RelevantLearning> = Vec::new();
    let mut skipped = Vec::new();
    let mut kept = Vec::new();
    let all_fit = ranked.len() <= most;
    for (score, number) in ranked {
        if kept.len() >= most {
            break;
        }
        let Some(learning) = store.learnings_numbered(&[number])?.pop() else {
            continue;
        };
        let is_refuted = !learning.is_eligible() || store.is_refuted_elsewhere(&learning)?;
        let relevant = RelevantLearning::of(learning, score, is_refuted);
        if is_refuted {
            skipped.push(relevant);
            continue;
        }
        let is_near = |kept: &usize| {
            found
                .get(*kept)
                .is_some_and(|other| other.features.is_near(&relevant.features))
        };
        if !all_fit && !kept.iter().any(is_near) {
            kept.push(found.len());
        }
        found.push(relevant);
    }
    Ok((found, skipped))
}

/// The text relevance of a learning; 0 if it shares only common words or a single one: among few learnings every word
/// is rare, and the end of a line has nothing to do with the end of a day. A name is enough on its own. Tags are
/// matched separately.
pub(super) fn fit_of_text(searcher: &Searcher<'_>, question: &Question, mut doc: Doc) -> f64 {
    doc.ignore_tags();
    let shared = question.shared(&doc);
    if !shared.has_name && shared.distinctive < 2 {
        return 0.0;
    }
    searcher.score(question, &doc).total()
}

/// The number of matching tags by learning number.
#[derive(Default)]
struct Tagged {
    matching: HashMap<i64, u32>,
}

impl Tagged {
    fn by(
        (index, store): (&Index, &Store),
        signals: &LearningSignals<'_>,
        waiting: &[i64],
    ) -> Result<Self, IndexError> {
        let mut tags: HashMap<String, Vec<i64>> = HashMap::new();
        let mut note = |tag: &str, learning: i64| match tags.get_mut(tag) {
            Some(known) => known.push(learning),
            None => drop(tags.insert(tag.to_owned(), vec![learning])),
        };
        for (row, learning) in waiting.iter().zip(store.learnings_numbered(waiting)?) {
            for tag in &learning.tags {
                note(tag, *row);
            }
        }
        let mut phrases = Phrases::default();
        let (mut looked_at, mut words_left) = (0, MOST_WORDS);
        for (text, kept_back) in signals.texts() {
            let of_text = Phrases::of([text]);
            // Sorted, because hash order is random.
            let words: BTreeSet<&str> = of_text.words().filter(|word| !phrases.have(word)).collect();
            for word in words {
                if looked_at + kept_back.learnings >= MOST_TAGGED || words_left <= kept_back.words {
                    break;
                }
                words_left -= 1;
                looked_at += index.tagged(KIND, word, MOST_OF_WORD, &mut |tag, number| {
                    note(tag, row_of_fact(number));
                })?;
            }
            phrases.append(of_text);
        }
        let mut tagged = Self::default();
        for (tag, mut learnings) in tags {
            if Phrase::of(&tag).is_some_and(|phrase| phrases.hold(&phrase)) {
                // Two words may have led to the same learning.
                learnings.sort_unstable();
                learnings.dedup();
                for learning in learnings {
                    *tagged.matching.entry(learning).or_default() += 1;
                }
            }
        }
        Ok(tagged)
    }

    /// The learnings with the most matching tags; ties go to the newest.
    fn best(&self) -> Vec<i64> {
        let mut ranked: Vec<(u32, i64)> = self.matching.iter().map(|(number, tags)| (*tags, *number)).collect();
        ranked.sort_unstable_by(|one, other| other.cmp(one));
        ranked.into_iter().map(|(_, number)| number).take(MAX_SCORED).collect()
    }

    /// The score of a learning with this text relevance.
    fn worth(&self, number: i64, fit: f64) -> f64 {
        let tags = self.matching.get(&number).copied().unwrap_or_default();
        f64::from(tags) + fit / (fit + HALF_A_TAG)
    }
}
