//! The loop: a task, a fresh session, its outcome, again. What happens next is a pure function of what was; a driver does
//! what it says.

pub mod changes;
