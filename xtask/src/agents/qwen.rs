//! Qwen Code, by ACP.

use super::RealAgent;
use super::case::{Case, Expected};
use super::place::Place;

pub(super) const AGENT: RealAgent = RealAgent {
    name: "qwen",
    package: "@qwen-code/qwen-code",
    program: "qwen",
    driver: "acp",
    set_up,
    patience_s: 45,
    tells_usage: false,
    too_slow: &[Case::UsageLimit, Case::ServerError],
    differs,
};

fn set_up(place: &Place, url: &str) -> Result<Vec<(&'static str, String)>, String> {
    let settings = r#"{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false}}"#;
    place.write_at_home(".qwen/settings.json", settings)?;
    Ok(vec![
        ("OPENAI_API_KEY", "dummy".to_owned()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("OPENAI_MODEL", "scripted-model".to_owned()),
        ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1".to_owned()),
    ])
}

fn differs(case: Case) -> Option<Expected> {
    match case {
        // It waits two minutes before it tries again, and more than 200 s in all, so that its silence ends it.
        Case::RateLimited => Some(Expected::row(4, "failed", "idle")),
        // It does not say that the answer was cut.
        Case::MaxTokens => Some(Expected::row(4, "blocked", "no_sigil")),
        // To it an answer without a word is an error of its own.
        Case::Empty => Some(Expected::row(4, "failed", "crash")),
        _ => None,
    }
}
