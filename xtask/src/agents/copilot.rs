//! GitHub Copilot, over ACP, with a custom model provider.

use super::RealAgent;
use super::case::{Case, Expected};
use super::sandbox::Sandbox;

pub(super) const AGENT: RealAgent = RealAgent {
    name: "copilot",
    package: "@github/copilot",
    program: "copilot",
    driver: "acp",
    set_up,
    patience_s: 30,
    tells_usage: true,
    too_slow: &[Case::UsageLimit],
    differs,
};

fn set_up(_sandbox: &Sandbox, url: &str) -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![
        ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
        ("COPILOT_PROVIDER_API_KEY", "dummy".to_owned()),
        ("COPILOT_MODEL", "scripted-model".to_owned()),
        ("COPILOT_OFFLINE", "true".to_owned()),
    ])
}

fn differs(case: Case) -> Option<Expected> {
    match case {
        // It does not report that the answer was truncated, and fills in its own text for an empty answer.
        Case::MaxTokens | Case::Empty => Some(Expected::row(4, "blocked", "no_sigil")),
        _ => None,
    }
}
