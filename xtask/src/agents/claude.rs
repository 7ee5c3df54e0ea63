//! Claude Code, with stream-json.

use super::RealAgent;
use super::case::{Case, Expected};
use super::sandbox::Sandbox;

pub(crate) const AGENT: RealAgent = RealAgent {
    name: "claude",
    package: "@anthropic-ai/claude-code",
    program: "claude",
    driver: "claude",
    set_up,
    patience_s: 30,
    tells_usage: true,
    too_slow: &[],
    differs,
};

pub(super) fn set_up(_sandbox: &Sandbox, url: &str) -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", "dummy".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        // The default is ten retries over several minutes.
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
    ])
}

fn differs(case: Case) -> Option<Expected> {
    match case {
        // The setting that permits the tool is printed.
        Case::Denied => Some(Expected {
            printed: vec!["not allowed to use Bash", "allow = [\"python3 -c "],
            ..case.expected()
        }),
        _ => None,
    }
}
