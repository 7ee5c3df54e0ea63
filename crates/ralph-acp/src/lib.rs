//! Agents that speak the Agent Client Protocol, over the trait of ralph-agent: gemini, opencode, qwen, copilot, and claude
//! and codex by their adapters. The protocol is spoken without input and output (`conversation.rs`), in lines; its types
//! come from a crate that changes often, which `schema.rs` keeps to itself.

mod conversation;
mod driver;
mod ends;
mod introduction;
mod permission;
mod schema;
mod speakers;
mod tools;
mod usage;
mod wire;

pub use driver::{AcpAgent, replay};
pub use introduction::{Acquaintance, Offer};
