//! Parses and edits the Markdown files for memories, guardrails, and knowledge that people and agents both change.
//!
//! A file is read as a list of spans over its bytes, and an edit is a list of patches to those bytes, so everything
//! outside the edited entry stays the same. Files are replaced whole, under a lock, and durably. This crate does not
//! check the content of notes and knows nothing about databases.

mod block;
mod boundary;
mod decode;
mod document;
mod edit;
mod file;
mod folder;
mod knowledge;
mod lines;
mod lock;
mod lookup;
mod merge;
mod patch;
mod problem;
mod relations;
mod render;
mod replace;
mod scanner;
mod signs;
mod skill;
mod span;
mod sys;
mod write;

pub use boundary::{Boundary, real_path};
pub use document::{Document, Entry};
pub use edit::Gap;
pub use file::{FileError, FileText, LockedFile, Updated, read_file, resolve};
pub use folder::LockedFolder;
pub use knowledge::{
    Knowledge, KnowledgeProblem, MAX_FILE_BYTES as MAX_KNOWLEDGE_BYTES, MAX_WORDS, capped_to_words, cleaned_tags,
    knowledge_file_name, knowledge_text, links_in, title_key, updated_knowledge,
};
pub use lines::Fences;
pub use lock::{Notice, Patience, lock_path, read_mark};
pub use lookup::Lookup;
pub use merge::{MergeError, Merged, merge};
pub use patch::Patches;
pub use problem::{Problem, ProblemKind};
pub use render::{entry_text, entry_text_by, item_text, normalise_line_breaks, quoted};
pub use replace::PlaceOutcome;
pub use signs::{Form, Sign};
pub use skill::{Skill, SkillProblem};
pub use span::Span;
pub use write::{create_folder, link_beside, move_new, write_new_file};
