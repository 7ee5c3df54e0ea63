//! Answers the hooks of coding agents, one module per event.
//!
//! This crate reads no project files, environment, or clock, and prints nothing: the command passes in what is needed
//! and writes the answer.

pub mod hooks;
