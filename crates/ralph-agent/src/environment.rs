//! The environment of an agent: the user's, without the variables of other sessions.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ralph_model::RunId;
use ralph_model::config::Environment;
use ralph_process::MARKER_VARIABLE;

/// Session markers of other agents. With such a marker an agent may treat itself as a child of that session, refuse to
/// start, or write to its records. `*` matches any suffix.
const SESSION_MARKERS: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_PARENT_SESSION_ID",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
    "CODEX_CI",
    "CODEX_INTERNAL_*",
    "CODEX_NETWORK_PROXY_*",
    "CODEX_PERMISSION_PROFILE",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_*",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "GEMINI_CLI",
    "GEMINI_CLI_IDE_*",
    "GEMINI_CLI_NO_RELAUNCH",
    "GEMINI_CWD",
    "GEMINI_PROJECT_DIR",
    "GEMINI_SESSION_ID",
    "QWEN_CODE",
    "QWEN_CODE_IDE_*",
    "QWEN_CODE_NO_RELAUNCH",
    "OPENCODE",
    "OPENCODE_PID",
    "OPENCODE_PROCESS_ROLE",
    "OPENCODE_RUN_ID",
    "CURSOR_AGENT",
    "CURSOR_CLI",
    "CURSOR_TRACE_ID",
    "COPILOT_AGENT_*",
    "COPILOT_CLI",
    "CLINE_ACTIVE",
    "GOOSE_TERMINAL",
    "AMP_CURRENT_THREAD_ID",
    "AI_AGENT",
    "AGENT",
];

/// ralph's own settings, which a `ralph` called by the agent must not inherit. The test clock and seed are exempt,
/// because they apply to everything a test starts.
const OURS: &str = "RALPH_*";
const ALWAYS_INHERITED: &[&str] = &["RALPH_NOW", "RALPH_SEED"];

/// The variables of a clean environment.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "COLORTERM",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "ANTHROPIC_*",
    "CLAUDE_*",
    "OPENAI_*",
    "CODEX_*",
    "AZURE_OPENAI_*",
    "GEMINI_*",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_*",
    "OPENROUTER_API_KEY",
    "QWEN_*",
    "OPENCODE_*",
    "COPILOT_*",
    "CURSOR_API_KEY",
    "IS_SANDBOX",
];

/// The variables that an iteration sets for its agent.
#[derive(Debug, Clone, Copy)]
pub struct IterationVariables<'a> {
    pub run: &'a RunId,
    /// The iteration number, from 1.
    pub iteration: u32,
    /// The maximum number of iterations, if limited.
    pub total: Option<u32>,
    /// The requested model.
    pub model: Option<&'a str>,
    /// The marker for finding the agent's descendants.
    pub marker: &'a str,
    /// The folder that contains only `ralph`; put first in PATH.
    pub programs: &'a Path,
}

/// Builds the complete environment of an agent from the user's.
#[must_use]
pub fn environment_for(
    users: Vec<(OsString, OsString)>,
    which: Environment,
    variables: &IterationVariables<'_>,
) -> Vec<(OsString, OsString)> {
    let mut environment = inherited(users, which);
    let path = take(&mut environment, "PATH");
    put(&mut environment, "PATH", path_with(variables.programs, path));
    put(&mut environment, "RALPH_RUN_ID", variables.run.as_str());
    put(&mut environment, "RALPH_ITERATION", variables.iteration.to_string());
    if let Some(total) = variables.total {
        put(&mut environment, "RALPH_TOTAL", total.to_string());
    }
    if let Some(model) = variables.model {
        put(&mut environment, "RALPH_MODEL", model);
    }
    put(&mut environment, MARKER_VARIABLE, variables.marker);
    environment
}

/// The variables of the user that an agent inherits.
#[must_use]
pub fn inherited(mut users: Vec<(OsString, OsString)>, which: Environment) -> Vec<(OsString, OsString)> {
    users.retain(|(name, _)| is_inherited(name, which));
    users
}

fn is_inherited(name: &OsStr, which: Environment) -> bool {
    let is_one_of = |patterns: &[&str]| patterns.iter().any(|pattern| matches_pattern(pattern, name.as_bytes()));
    if is_one_of(ALWAYS_INHERITED) {
        return true;
    }
    if is_one_of(SESSION_MARKERS) || matches_pattern(OURS, name.as_bytes()) {
        return false;
    }
    match which {
        Environment::Inherit => true,
        Environment::Clean => is_one_of(ALLOWED),
    }
}

fn matches_pattern(pattern: &str, name: &[u8]) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning.as_bytes()),
        None => name == pattern.as_bytes(),
    }
}

fn take(environment: &mut Vec<(OsString, OsString)>, name: &str) -> Option<OsString> {
    let place = environment.iter().position(|(other, _)| other == name)?;
    Some(environment.remove(place).1)
}

fn put(environment: &mut Vec<(OsString, OsString)>, name: &str, value: impl Into<OsString>) {
    environment.push((name.into(), value.into()));
}

/// PATH with a folder put first; uses the system default if there is no PATH.
fn path_with(folder: &Path, path: Option<OsString>) -> OsString {
    let mut whole = folder.as_os_str().to_owned();
    whole.push(":");
    whole.push(
        path.filter(|path| !path.is_empty())
            .unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()),
    );
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(which: Environment, users: &[(&str, &str)], expected: &[&str]) {
        let run = RunId::new(7);
        let variables = IterationVariables {
            run: &run,
            iteration: 2,
            total: Some(9),
            model: Some("big"),
            marker: "mark",
            programs: Path::new("/run/bin"),
        };
        let users = users.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let mut found: Vec<String> = environment_for(users.collect(), which, &variables)
            .into_iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        found.sort();
        assert_eq!(found, expected);
    }

    const USERS: &[(&str, &str)] = &[
        ("PATH", "/bin"),
        ("HOME", "/home/u"),
        ("LC_ALL", "C"),
        ("https_proxy", "http://p"),
        ("ANTHROPIC_API_KEY", "k"),
        ("AWS_SECRET", "s"),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ("CODEX_SANDBOX_NETWORK_DISABLED", "1"),
        ("GEMINI_CLI", "1"),
        ("RALPH_AGENT_COMMAND", "x"),
        ("RALPH_MODEL", "small"),
        ("RALPH_NOW", "2025-01-20T11:20:00Z"),
    ];

    #[test]
    fn inherited_environment_excludes_other_sessions() {
        check(
            Environment::Inherit,
            USERS,
            &[
                "ANTHROPIC_API_KEY=k",
                "AWS_SECRET=s",
                "CLAUDE_CODE_MAX_RETRIES=2",
                "HOME=/home/u",
                "LC_ALL=C",
                "PATH=/run/bin:/bin",
                "RALPH_ITERATION=2",
                "RALPH_MARKER=mark",
                "RALPH_MODEL=big",
                "RALPH_NOW=2025-01-20T11:20:00Z",
                "RALPH_RUN_ID=run-00000007",
                "RALPH_TOTAL=9",
                "https_proxy=http://p",
            ],
        );
    }

    #[test]
    fn clean_environment_has_what_an_agent_needs() {
        check(
            Environment::Clean,
            &[USERS, &[("TERM", "dumb"), ("EDITOR", "vi")]].concat(),
            &[
                "ANTHROPIC_API_KEY=k",
                "CLAUDE_CODE_MAX_RETRIES=2",
                "HOME=/home/u",
                "LC_ALL=C",
                "PATH=/run/bin:/bin",
                "RALPH_ITERATION=2",
                "RALPH_MARKER=mark",
                "RALPH_MODEL=big",
                "RALPH_NOW=2025-01-20T11:20:00Z",
                "RALPH_RUN_ID=run-00000007",
                "RALPH_TOTAL=9",
                "TERM=dumb",
                "https_proxy=http://p",
            ],
        );
    }

    #[test]
    fn session_markers_are_removed_but_credentials_stay() {
        for which in [Environment::Inherit, Environment::Clean] {
            for mark in [
                "CLAUDECODE",
                "CLAUDE_CODE_ENTRYPOINT",
                "CLAUDE_CODE_SESSION_ID",
                "CODEX_CI",
                "CODEX_SANDBOX",
                "CODEX_SANDBOX_NETWORK_DISABLED",
                "CODEX_THREAD_ID",
                "CODEX_TOOL_CALL_ID",
                "GEMINI_CLI",
                "GEMINI_CLI_NO_RELAUNCH",
                "OPENCODE",
                "OPENCODE_PID",
                "QWEN_CODE",
                "COPILOT_CLI",
            ] {
                assert!(!is_inherited(OsStr::new(mark), which), "{mark}");
            }
            for kept in [
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "ANTHROPIC_BASE_URL",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CONFIG_DIR",
                "OPENAI_API_KEY",
                "CODEX_ACCESS_TOKEN",
                "CODEX_API_KEY",
                "CODEX_CA_CERTIFICATE",
                "CODEX_HOME",
                "GEMINI_API_KEY",
                "GEMINI_CLI_HOME",
                "GEMINI_CLI_TRUST_WORKSPACE",
                "GOOGLE_GEMINI_BASE_URL",
                "OPENCODE_API_KEY",
                "OPENCODE_CONFIG",
                "OPENCODE_DISABLE_AUTOUPDATE",
                "QWEN_CODE_SUPPRESS_YOLO_WARNING",
                "COPILOT_GITHUB_TOKEN",
                "COPILOT_PROVIDER_API_KEY",
            ] {
                assert!(is_inherited(OsStr::new(kept), which), "{kept}");
            }
        }
    }

    #[test]
    fn missing_path_uses_the_system_default() {
        let path = path_with(Path::new("/run/bin"), None);
        assert_eq!(path, "/run/bin:/usr/local/bin:/usr/bin:/bin");
        assert_eq!(path_with(Path::new("/run/bin"), Some(OsString::new())), path);
    }
}
