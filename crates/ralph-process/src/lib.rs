//! Child processes: the only place that starts one.

mod command;
pub mod editor;
pub mod git;

pub use command::command;
