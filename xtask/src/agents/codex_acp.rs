//! Codex, over ACP through its adapter.

use super::case::{Case, Expected};
use super::{RealAgent, codex};

pub(super) const AGENT: RealAgent = RealAgent {
    name: "codex-acp",
    package: "@agentclientprotocol/codex-acp",
    program: "codex-acp",
    driver: "acp",
    set_up: codex::set_up,
    patience_s: 45,
    tells_usage: true,
    too_slow: &[],
    differs,
};

fn differs(case: Case) -> Option<Expected> {
    match case {
        // It does not report that the answer was truncated.
        Case::MaxTokens => Some(Expected::row(4, "blocked", "no_sigil")),
        _ => codex::differs(case),
    }
}
