//! The known agents, detection of installed ones, and the choice of a driver.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_model::config::CommandLine;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAgent {
    pub name: &'static str,
    pub program: &'static str,
    pub driver: Driver,
    pub install: &'static str,
    /// Arguments that mark a custom invocation, which this driver must not handle.
    pub bypass_words: &'static [&'static str],
    /// Its models from weakest to strongest, by stable names; empty if unknown.
    pub models: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    Claude,
    Codex,
    Acp,
    /// Any program: prompt in, text out.
    Command,
}

impl Driver {
    pub const ALL: &[Self] = &[Self::Claude, Self::Codex, Self::Acp, Self::Command];

    /// Its name in `agent.kind`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Acp => "acp",
            Self::Command => "command",
        }
    }

    /// The driver for a command line: the requested one, or that of the known agent, or the one for any program.
    ///
    /// # Errors
    /// If the driver does not exist or the command line names no program.
    pub fn of(kind: Option<&str>, command: &CommandLine) -> Result<Self, DriverError> {
        let words = command.words().ok_or(DriverError::NoProgram)?;
        let Some(kind) = kind else {
            let is_meant = |agent: &&KnownAgent| agent.program == file_name(&words) && !agent.is_custom(&words);
            let known = known_agents().iter().find(is_meant);
            return Ok(known.map_or(Self::Command, |agent| agent.driver));
        };
        let named = Self::ALL.iter().find(|driver| driver.word() == kind);
        named
            .copied()
            .ok_or_else(|| DriverError::UnknownKind { kind: kind.to_owned() })
    }
}

impl KnownAgent {
    /// Whether the arguments mark a custom invocation.
    fn is_custom(&self, words: &[String]) -> bool {
        let mut rest = words.iter().skip(1);
        rest.any(|word| {
            self.bypass_words.contains(&word.split('=').next().unwrap_or(word)) || word.contains("{prompt_file}")
        })
    }

    const fn acp(name: &'static str, program: &'static str, install: &'static str) -> Self {
        Self {
            name,
            program,
            driver: Driver::Acp,
            install,
            bypass_words: &["-p", "--prompt", "--output-format"],
            models: &[],
        }
    }
}

/// The agents that ralph can start on its own, in order of preference.
#[must_use]
pub fn known_agents() -> &'static [KnownAgent] {
    const AGENTS: &[KnownAgent] = &[
        KnownAgent {
            name: "Claude Code",
            program: "claude",
            driver: Driver::Claude,
            install: "npm install -g @anthropic-ai/claude-code",
            bypass_words: &[],
            models: &["haiku", "sonnet", "opus"],
        },
        KnownAgent {
            name: "Codex",
            program: "codex",
            driver: Driver::Codex,
            install: "npm install -g @openai/codex",
            bypass_words: &[],
            // The model names change every few months.
            models: &[],
        },
        KnownAgent::acp("Gemini CLI", "gemini", "npm install -g @google/gemini-cli"),
        KnownAgent {
            bypass_words: &["run"],
            ..KnownAgent::acp("OpenCode", "opencode", "npm install -g opencode-ai")
        },
        KnownAgent::acp("Qwen Code", "qwen", "npm install -g @qwen-code/qwen-code"),
        KnownAgent::acp("GitHub Copilot CLI", "copilot", "npm install -g @github/copilot"),
        KnownAgent::acp(
            "Claude Code by ACP",
            "claude-agent-acp",
            "npm install -g @agentclientprotocol/claude-agent-acp",
        ),
        KnownAgent::acp(
            "Codex by ACP",
            "codex-acp",
            "npm install -g @agentclientprotocol/codex-acp",
        ),
    ];
    AGENTS
}

/// Known coding agents that ralph does not start on its own: the user sets their non-interactive options in
/// `agent.command`.
#[must_use]
pub fn agents_by_command() -> &'static [&'static str] {
    &["cursor-agent", "goose", "aider", "amp"]
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    #[error("the agent's command names no program, or has an unclosed quote")]
    NoProgram,
    #[error("unknown driver {kind:?}; agent.kind must be {}", either(&Driver::ALL.iter().map(|driver| driver.word()).collect::<Vec<_>>()))]
    UnknownKind { kind: String },
}

/// The first known agent installed in one of these folders, with its path.
#[must_use]
pub fn first_on_path(folders: &[PathBuf]) -> Option<(KnownAgent, PathBuf)> {
    on_path(folders).next()
}

/// All known agents installed in these folders, with their paths, in order of preference.
pub fn on_path(folders: &[PathBuf]) -> impl Iterator<Item = (KnownAgent, PathBuf)> {
    known_agents().iter().filter_map(|agent| {
        let mut places = folders.iter().map(|folder| folder.join(agent.program));
        Some((*agent, places.find(|place| can_run(place))?))
    })
}

/// The file name of the program.
#[must_use]
pub fn file_name(words: &[String]) -> &str {
    let program = words.first().map(String::as_str).unwrap_or_default();
    Path::new(program)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(program)
}

fn can_run(file: &Path) -> bool {
    let metadata = std::fs::metadata(file);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// `"a", "b" or "c"`.
fn either(words: &[&str]) -> String {
    let mut quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let last = quoted.pop().unwrap_or_default();
    if quoted.is_empty() {
        last
    } else {
        format!("{} or {last}", quoted.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Option<&str>, command: &str, expected: Result<&str, &str>) {
        let found = Driver::of(kind, &CommandLine::Line(command.to_owned()));
        let found = found.map(Driver::word).map_err(|error| error.to_string());
        assert_eq!(
            found.as_ref().map(|word| *word).map_err(String::as_str),
            expected,
            "{kind:?} {command}"
        );
    }

    #[test]
    fn driver_is_chosen_by_kind_then_program() {
        check(None, "claude", Ok("claude"));
        check(None, "/opt/bin/claude --bare", Ok("claude"));
        check(None, "/opt/claude/run.sh -x", Ok("command"));
        check(None, "codex exec -m o3", Ok("codex"));
        check(Some("command"), "claude", Ok("command"));
        check(Some("claude"), "my-wrapper", Ok("claude"));
        check(None, "gemini --yolo", Ok("acp"));
        check(None, "opencode", Ok("acp"));
        check(None, "/usr/bin/codex-acp", Ok("acp"));
        check(Some("command"), "gemini", Ok("command"));
        check(Some("acp"), "my-wrapper", Ok("acp"));
        check(
            Some("codecs"),
            "codex",
            Err(r#"unknown driver "codecs"; agent.kind must be "claude", "codex", "acp" or "command""#),
        );
        let no_program = "the agent's command names no program, or has an unclosed quote";
        check(None, "'claude", Err(no_program));
    }

    #[test]
    fn custom_invocation_uses_the_command_driver() {
        check(None, "gemini -p go --yolo", Ok("command"));
        check(None, "qwen --output-format=json", Ok("command"));
        check(None, "opencode run", Ok("command"));
        check(None, "copilot {prompt_file}", Ok("command"));
        check(Some("acp"), "opencode run", Ok("acp"));
    }

    #[test]
    fn first_program_on_path_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        for place in [&one, &two] {
            std::fs::create_dir(place).unwrap();
        }
        let folders = [one.clone(), two.clone()];
        // A file without execute permission does not count.
        std::fs::File::create(one.join("claude")).unwrap();
        assert_eq!(first_on_path(&folders), None);
        std::os::unix::fs::symlink("/bin/sh", one.join("codex")).unwrap();
        let (agent, place) = first_on_path(&folders).unwrap();
        assert_eq!((agent.driver, place), (Driver::Codex, one.join("codex")));
        std::os::unix::fs::symlink("/bin/sh", two.join("claude")).unwrap();
        let (agent, place) = first_on_path(&folders).unwrap();
        assert_eq!((agent.driver, place), (Driver::Claude, two.join("claude")));
        let all: Vec<&str> = on_path(&folders).map(|(agent, _)| agent.program).collect();
        assert_eq!(all, ["claude", "codex"]);
    }
}
