//! The driver for the Agent Client Protocol: gemini, opencode, qwen, copilot, and claude and codex through their
//! adapters. The protocol logic does no I/O (`conversation.rs`). Its types come from a crate that changes often, so
//! only `schema.rs` uses that crate.

mod acp_agents;
mod conversation;
mod driver;
mod ends;
mod permission;
mod probe;
mod schema;
mod tools;
mod usage;
mod wire;

pub use driver::{AcpAgent, replay};
pub use probe::{AgentInfo, Offer};
