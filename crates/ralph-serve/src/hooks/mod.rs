//! The hooks of coding agents: what an agent says at an event, and what it is answered.

pub mod session_start;
