//! GitHub Copilot, by ACP, with a model of one's own.

use super::RealAgent;
use super::case::{Case, Expected};
use super::place::Place;

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

/// It needs no settings.
fn set_up(_place: &Place, url: &str) -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![
        ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
        ("COPILOT_PROVIDER_API_KEY", "dummy".to_owned()),
        ("COPILOT_MODEL", "scripted-model".to_owned()),
        ("COPILOT_OFFLINE", "true".to_owned()),
    ])
}

fn differs(case: Case) -> Option<Expected> {
    match case {
        // It does not say that the answer was cut, and has a text of its own where the model has none.
        Case::MaxTokens | Case::Empty => Some(Expected::row(4, "blocked", "no_sigil")),
        _ => None,
    }
}
