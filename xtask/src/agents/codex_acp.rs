//! Codex, by ACP through its adapter.

use super::{RealAgent, codex};

pub(super) const AGENT: RealAgent = RealAgent {
    name: "codex-acp",
    package: "@agentclientprotocol/codex-acp",
    program: "codex-acp",
    driver: "acp",
    set_up: codex::set_up,
    patience_s: 45,
    tells_usage: true,
    differs: codex::differs,
};
