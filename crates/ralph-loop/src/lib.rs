//! The loop: a task, a fresh session, its outcome, again. What happens next is a pure function of what was (`state`); a
//! driver does what it says.

pub mod changes;
pub mod gates;
pub mod settle;
pub mod state;
pub mod strategy;
mod summary;

pub use summary::{StopCause, TurnSummary};
