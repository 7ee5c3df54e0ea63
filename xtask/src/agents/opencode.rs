//! opencode, over ACP.

use serde_json::json;

use super::RealAgent;
use super::case::{Case, Expected};
use super::sandbox::Sandbox;

pub(super) const AGENT: RealAgent = RealAgent {
    name: "opencode",
    package: "opencode-ai",
    program: "opencode",
    driver: "acp",
    set_up,
    // Starting may take half a minute.
    patience_s: 60,
    tells_usage: true,
    too_slow: &[Case::UsageLimit, Case::ServerError],
    differs,
};

fn set_up(sandbox: &Sandbox, url: &str) -> Result<Vec<(&'static str, String)>, String> {
    let options = json!({ "baseURL": format!("{url}/v1"), "apiKey": "dummy" });
    let models = json!({ "scripted-model": { "limit": { "context": 200_000, "output": 8192 } } });
    let settings = json!({
        "provider": { "scripted": { "npm": "@ai-sdk/openai-compatible", "options": options, "models": models } },
        "model": "scripted/scripted-model",
        "small_model": "scripted/scripted-model",
        "autoupdate": false,
        "share": "disabled"
    });
    sandbox.write_at_home(".config/opencode/opencode.json", &settings.to_string())?;
    Ok(vec![
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
    ])
}

fn differs(case: Case) -> Option<Expected> {
    match case {
        // It reports every service error as a service failure.
        Case::Unauthorized | Case::Billing => Some(Case::RateLimited.expected()),
        // It does not report that the answer was truncated.
        Case::MaxTokens => Some(Expected::row(4, "blocked", "no_sigil")),
        _ => None,
    }
}
