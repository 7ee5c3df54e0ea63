//! Recall: what answers a question, or is relevant to a task, of each kind of memory. The search index finds and ranks;
//! which documents may be found, and how they are read, is decided here.

mod found;
mod journal;
mod knowledge;
mod learnings;
mod note_filter;
mod note_listing;
mod patterns;
mod relevance;
mod relevant_learnings;
mod run_learnings;
mod warnings;

use std::collections::HashSet;

use ralph_model::NoteFileKind;
use ralph_search::{Age, Doc, DocKind, Duplicates, IndexError, Limits, Score, SearchIndex, Searcher, places_in};
use ralph_store::Store;

pub use found::{Found, FoundKnowledge, day_of};
pub use journal::{related_rows, search_rows};
pub use knowledge::{Relevant, RelevantKnowledge, TaskSignals, relevant_knowledge};
pub use learnings::{best_supported, recall_learnings};
pub use note_filter::{NoteFilter, first_day};
pub use note_listing::{Newest, Superseded, count_notes, find_note, newest_notes, superseded_notes, walk_notes};
pub use patterns::{ErrorPattern, FilePatterns, example_files};
pub use relevance::{Relevance, Support};
pub use relevant_learnings::{LearningSignals, RelevantLearning, relevant_learnings};
pub use run_learnings::{RunLearning, Work, max_in_prompt, run_learnings};
pub use warnings::warnings_of;

use found::read_found;
pub use ralph_search::Reach;

#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Free text.
    pub text: &'a str,
    /// The files to search.
    pub file_kinds: &'a [NoteFileKind],
    pub knowledge: KnowledgeSearch,
    pub wanted: &'a NoteFilter,
    pub reach: Reach,
}

/// Whether knowledge entries are searched. They are found only if the index was opened with knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnowledgeSearch {
    Exclude,
    Include,
}

/// Search results, best first.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub hits: Vec<Hit>,
    /// Unknown words of the question, with the words that replaced them.
    pub corrected: Vec<(String, String)>,
    /// The searched terms.
    pub terms: HashSet<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub item: Found,
    pub age: Age,
    pub score: Score,
}

impl Answer {
    /// The ranges of the searched words in a text.
    #[must_use]
    pub fn places_in(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        places_in(text, &self.terms)
    }
}

/// Searches notes.
///
/// # Errors
/// When the index cannot be read.
pub fn recall(index: &SearchIndex, question: &Question<'_>) -> Result<Answer, IndexError> {
    recall_with_learnings(index, None, question)
}

/// Searches notes and, if there is a store, its learnings. These are found only if the index was opened with its facts.
///
/// # Errors
/// When the index or the store cannot be read.
pub fn recall_with_learnings(
    index: &SearchIndex,
    learnings: Option<&Store>,
    question: &Question<'_>,
) -> Result<Answer, IndexError> {
    let mut kinds: Vec<DocKind> = question.file_kinds.iter().copied().map(DocKind::of_file).collect();
    if question.knowledge == KnowledgeSearch::Include && index.includes_knowledge() {
        kinds.push(DocKind::Knowledge);
    }
    if learnings.is_some() && index.includes_facts() {
        kinds.push(DocKind::Learning);
    }
    let searcher = Searcher::new(index, &kinds, Limits::QUESTION)?;
    if searcher.is_empty() {
        return Ok(Answer::default());
    }
    let wanted = question.wanted;
    let mut accept = |doc: &Doc| -> Result<bool, IndexError> {
        if doc.is_superseded || wanted.is_everything() {
            return Ok(!doc.is_superseded);
        }
        let found = read_found(index, learnings, doc)?;
        Ok(found.is_some_and(|found| wanted.matches_found(&found, &doc.age)))
    };
    let answer = searcher.search(question.text, (question.reach, Duplicates::Drop), &mut accept)?;
    let mut hits = Vec::new();
    for (score, doc) in &answer.hits {
        hits.extend(read_found(index, learnings, doc)?.map(|item| Hit {
            item,
            age: doc.age.clone(),
            score: *score,
        }));
    }
    Ok(Answer {
        hits,
        terms: answer.terms(),
        corrected: answer.corrected,
    })
}
