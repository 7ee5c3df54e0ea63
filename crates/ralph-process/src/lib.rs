//! Child processes: the only place that starts one.

mod command;
pub mod editor;

pub use command::command;
