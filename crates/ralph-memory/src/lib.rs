//! The pipeline, one folder a stage: capture (what may be written, and writing it), recall (finding it again), inject
//! (what of it stands in a prompt). Stages use the store and the notes, not one another, except that inject may recall.

pub mod capture;
pub mod inject;
pub mod recall;
