//! The memory pipeline, with a folder per stage: capture (validate and write), recall (search), inject (choose what
//! goes into the prompt) and learn (maintain learnings). Stages use the store and the notes but not each other, except
//! that inject and learn may recall. They share similarity, failure signatures and secret
//! detection.

pub mod capture;
pub mod exchange;
pub mod inject;
pub mod learn;
pub mod recall;
pub mod secrets;
mod similarity;
mod text_category;
