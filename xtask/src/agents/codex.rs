//! Codex, with `exec --json`.

use super::RealAgent;
use super::case::{Case, Expected};
use super::sandbox::Sandbox;

pub(super) const AGENT: RealAgent = RealAgent {
    name: "codex",
    package: "@openai/codex",
    program: "codex",
    driver: "codex",
    set_up,
    patience_s: 45,
    tells_usage: true,
    too_slow: &[],
    differs,
};

/// Configures a custom model provider with few retries.
pub(super) fn set_up(sandbox: &Sandbox, url: &str) -> Result<Vec<(&'static str, String)>, String> {
    let settings = format!(
        "model = \"gpt-5\"\nmodel_provider = \"scripted\"\n\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\nenv_key = \"SCRIPTED_KEY\"\n\
         wire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 1\n"
    );
    sandbox.write_at_home(".codex/config.toml", &settings)?;
    Ok(vec![("SCRIPTED_KEY", "dummy".to_owned())])
}

pub(super) fn differs(case: Case) -> Option<Expected> {
    match case {
        // Its sandbox fails the write inside the command, which only the model learns of.
        Case::Denied => Some(Expected::row(4, "blocked", "no_sigil")),
        _ => None,
    }
}
