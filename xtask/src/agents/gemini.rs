//! Gemini CLI, by ACP.

use super::RealAgent;
use super::case::{Case, Expected};
use super::place::Place;

pub(super) const AGENT: RealAgent = RealAgent {
    name: "gemini",
    package: "@google/gemini-cli",
    program: "gemini",
    driver: "acp",
    set_up,
    patience_s: 45,
    tells_usage: true,
    too_slow: &[Case::ServerError],
    differs,
};

/// Without these settings an address of one's own selects a way to log in that it does not accept without a person.
fn set_up(place: &Place, url: &str) -> Result<Vec<(&'static str, String)>, String> {
    let settings =
        r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}"#;
    place.write_at_home(".gemini/settings.json", settings)?;
    Ok(vec![
        ("GEMINI_API_KEY", "dummy".to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
        ("GEMINI_MODEL", "gemini-2.5-pro".to_owned()),
        // It starts itself again with more memory otherwise.
        ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
    ])
}

fn differs(case: Case) -> Option<Expected> {
    match case {
        // It tries again for more than 200 s without a word, so that its silence ends it.
        Case::RateLimited => Some(Expected::row(4, "failed", "idle")),
        // It does not say that the answer was cut.
        Case::MaxTokens => Some(Expected::row(4, "blocked", "no_sigil")),
        _ => None,
    }
}
