//! The pipeline, one folder a stage: capture (what may be written, and writing it), recall (finding it again), inject
//! (what of it stands in a prompt), learn (what becomes of lessons in the long run). Stages use the store and the notes,
//! not one another, except that inject and learn may recall. The catalogue, which keeps the index of the notes in step with
//! their files, what makes lessons contradict each other, which failures are one, and the search for secrets are shared by all of them.

pub mod capture;
pub mod catalogue;
mod contradiction;
pub mod exchange;
mod failures;
pub mod inject;
pub mod learn;
mod negations;
pub mod recall;
mod sayings;
pub mod secrets;
mod telling;
