//! What other programs call: the hooks of coding agents, one file an event.
//!
//! Nothing here reads a file of the project, the environment or the clock, and nothing prints: the command hands in what
//! is needed and writes the answer.

pub mod hooks;
