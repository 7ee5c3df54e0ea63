//! The memory pipeline, with a folder per stage: capture (validate and write), recall (search), inject (choose what
//! goes into the prompt) and learn (maintain learnings). Stages use the store and the notes but not each other, except
//! that inject and learn may recall. They share the note index, similarity, failure signatures and secret
//! detection.

pub mod capture;
pub mod exchange;
pub mod inject;
pub mod learn;
mod negations;
pub mod note_index;
pub mod recall;
pub mod secrets;
mod similarity;
mod term_rarity;
mod text_category;
