//! Coding agent hooks: input and answer of each event.

pub mod session_start;
