//! Qwen Code, over ACP.

use super::RealAgent;
use super::case::{Case, Expected};
use super::sandbox::Sandbox;

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

fn set_up(sandbox: &Sandbox, url: &str) -> Result<Vec<(&'static str, String)>, String> {
    let settings = r#"{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false}}"#;
    sandbox.write_at_home(".qwen/settings.json", settings)?;
    Ok(vec![
        ("OPENAI_API_KEY", "dummy".to_owned()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("OPENAI_MODEL", "scripted-model".to_owned()),
        ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1".to_owned()),
    ])
}

fn differs(case: Case) -> Option<Expected> {
    match case {
        // It retries silently for more than 200 s, so the idle limit stops it.
        Case::RateLimited => Some(Expected::row(4, "failed", "idle")),
        // It does not report that the answer was truncated.
        Case::MaxTokens => Some(Expected::row(4, "blocked", "no_sigil")),
        // It treats an empty answer as an error.
        Case::Empty => Some(Expected::row(4, "failed", "crash")),
        _ => None,
    }
}
