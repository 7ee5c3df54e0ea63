//! Exchanges learnings with an earlier tool (a JavaScript program), which keeps them in two JSON files: a store with a
//! checksum, and a staging area. Neither is trusted to be intact. Imported text passes the gate of [`crate::capture`]
//! like all input.

mod export;
mod file;
mod json;
mod learning;
mod save;
mod tables;

pub use export::{exported, transferred};
pub use file::{FileKind, FileProblem, ForeignFile, Loaded, backup_of, load, load_bytes};
pub use json::{JsonObject, JsonProblem, compact, indented, parse, sha256};
pub use learning::{EntryProblem, ReadLearnings, read_candidates, read_learnings};
pub use save::{Kept, save};
pub use tables::{csv, markdown};
