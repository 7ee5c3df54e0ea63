//! Claude Code, over ACP through its adapter.

use super::{RealAgent, claude};

pub(super) const AGENT: RealAgent = RealAgent {
    name: "claude-acp",
    package: "@agentclientprotocol/claude-agent-acp",
    program: "claude-agent-acp",
    driver: "acp",
    set_up: claude::set_up,
    patience_s: 45,
    tells_usage: true,
    too_slow: &[],
    differs: |_| None,
};
