//! The search index of one worktree: every kind of memory in one derived file that may be deleted at any time, brought
//! up to date with the note files and the fact store before each search; the tokenizer, ranking, and what counts as a
//! near-duplicate.
//!
//! Not here: what is searched for and why. Callers pass a text, the kinds to search and a condition.

mod index;
mod kinds;
mod negations;
mod ranking;
mod similarity;
mod sources;
mod task_type;
mod tokenizer;

pub use index::{
    Age, Change, Doc, Index, IndexError, IndexFileState, KnowledgeAge, KnowledgeMetadata, KnownTerm, Neighbours,
    Totals, fact_number, row_of_fact,
};
pub use kinds::{DocId, DocKind};
pub use ranking::{
    CommonWords, Duplicates, Limits, Question, Reach, Score, SearchAnswer, Searcher, is_distinctive, places_in,
};
pub use similarity::{TextFacts, features_of, text_features};
pub use sources::{
    FileChange, IndexPlace, KnowledgeFolder, NoteFileState, Problems, SearchIndex, SourceError, Sources, follow,
    inspect_knowledge, knowledge_stamps,
};
pub use task_type::task_type_of;
pub use tokenizer::{Phrase, Phrases, is_name, places_of, terms_of};
