//! Gemini CLI, over ACP.

use super::RealAgent;
use super::case::{Case, Expected};
use super::sandbox::Sandbox;

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

/// Without these settings a custom URL selects a login method that needs a person.
fn set_up(sandbox: &Sandbox, url: &str) -> Result<Vec<(&'static str, String)>, String> {
    let settings =
        r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}"#;
    sandbox.write_at_home(".gemini/settings.json", settings)?;
    Ok(vec![
        ("GEMINI_API_KEY", "dummy".to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
        ("GEMINI_MODEL", "gemini-2.5-pro".to_owned()),
        // Otherwise it restarts itself with more memory.
        ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
    ])
}

fn differs(case: Case) -> Option<Expected> {
    match case {
        // It retries silently for more than 200 s, so the idle limit stops it.
        Case::RateLimited => Some(Expected::row(4, "failed", "idle")),
        // It does not report that the answer was truncated.
        Case::MaxTokens => Some(Expected::row(4, "blocked", "no_sigil")),
        _ => None,
    }
}
