//! Exchange of lessons with an earlier tool, which keeps them in two JSON files: a store with a checksum, and a staging area.
//! Both are read and written as that tool, a JavaScript program, does it; neither is ever trusted to be whole. What comes in
//! passes the gate of [`crate::capture`] like everything else.

mod export;
mod file;
mod javascript;
mod lesson;
mod save;
mod tables;

pub use export::{exported, handed_over};
pub use file::{FileKind, FileProblem, ForeignFile, Loaded, backup_of, load, load_bytes};
pub use javascript::{JsObject, JsText, JsValue, JsonProblem, compact, indented, parse, sha256};
pub use lesson::{EntryProblem, ReadLessons, read_candidates, read_lessons};
pub use save::{Kept, save};
pub use tables::{csv, markdown};
