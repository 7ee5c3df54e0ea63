//! GitHub Copilot, by ACP, with a model of one's own.

use super::RealAgent;
use super::place::Place;

pub(super) const AGENT: RealAgent = RealAgent {
    name: "copilot",
    package: "@github/copilot",
    program: "copilot",
    driver: "acp",
    set_up,
    patience_s: 30,
    tells_usage: true,
    differs: |_| None,
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
