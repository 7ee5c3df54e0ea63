//! Which agents there are, which of them is installed, and which driver speaks to one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_model::config::CommandLine;

/// An agent that ralph knows by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAgent {
    /// What people call it.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The driver that speaks to it.
    pub driver: Driver,
    /// How it is installed.
    pub install: &'static str,
    /// The words by which a user runs it in a way of his own, without that driver.
    pub own_way: &'static [&'static str],
    /// Its models from the weakest to the strongest, by names that last; empty where they are not known.
    pub models: &'static [&'static str],
}

/// A way of speaking to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// Claude Code's records.
    Claude,
    /// The records of `codex exec --json`.
    Codex,
    /// The Agent Client Protocol.
    Acp,
    /// Any program: the prompt in, text out.
    Command,
}

impl Driver {
    /// Every driver.
    pub const ALL: &[Self] = &[Self::Claude, Self::Codex, Self::Acp, Self::Command];

    /// Its name, as `agent.kind` has it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Acp => "acp",
            Self::Command => "command",
        }
    }

    /// The driver for a command line: the one that is asked for, else the one of the agent whose program it starts, else
    /// the one for any program.
    ///
    /// # Errors
    /// When there is no such driver, or the line names no program.
    pub fn of(kind: Option<&str>, command: &CommandLine) -> Result<Self, DriverError> {
        let words = command.words().ok_or(DriverError::NoProgram)?;
        let Some(kind) = kind else {
            let is_meant = |agent: &&KnownAgent| agent.program == file_name(&words) && !agent.runs_own_way(&words);
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
    /// Whether the words that start it say that it is run in a way of the user's own.
    fn runs_own_way(&self, words: &[String]) -> bool {
        let mut rest = words.iter().skip(1);
        rest.any(|word| {
            self.own_way.contains(&word.split('=').next().unwrap_or(word)) || word.contains("{prompt_file}")
        })
    }

    /// One that speaks ACP.
    const fn acp(name: &'static str, program: &'static str, install: &'static str) -> Self {
        Self {
            name,
            program,
            driver: Driver::Acp,
            install,
            own_way: &["-p", "--prompt", "--output-format"],
            models: &[],
        }
    }
}

/// The agents that ralph starts by itself, the first choice first.
#[must_use]
pub fn known_agents() -> &'static [KnownAgent] {
    const AGENTS: &[KnownAgent] = &[
        KnownAgent {
            name: "Claude Code",
            program: "claude",
            driver: Driver::Claude,
            install: "npm install -g @anthropic-ai/claude-code",
            own_way: &[],
            models: &["haiku", "sonnet", "opus"],
        },
        KnownAgent {
            name: "Codex",
            program: "codex",
            driver: Driver::Codex,
            install: "npm install -g @openai/codex",
            own_way: &[],
            // They are called otherwise every few months.
            models: &[],
        },
        KnownAgent::acp("Gemini CLI", "gemini", "npm install -g @google/gemini-cli"),
        KnownAgent {
            own_way: &["run"],
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

/// The programs of coding agents that ralph knows by their names and does not start by itself: how each is made to work
/// without a person stands in the user's `agent.command`.
#[must_use]
pub fn agents_by_command() -> &'static [&'static str] {
    &["cursor-agent", "goose", "aider", "amp"]
}

/// Why there is no driver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The command line has no first word.
    #[error("the agent's command names no program, or has a quote that nobody closes")]
    NoProgram,
    /// There is no driver of this name.
    #[error("there is no driver {kind:?}; agent.kind is {}", either(&Driver::ALL.iter().map(|driver| driver.word()).collect::<Vec<_>>()))]
    UnknownKind {
        /// The name.
        kind: String,
    },
}

/// The first known agent whose program is in one of these folders, and where it is.
#[must_use]
pub fn first_on_path(folders: &[PathBuf]) -> Option<(KnownAgent, PathBuf)> {
    on_path(folders).next()
}

/// Every known agent whose program is in one of these folders, and where it is, the first choice first.
pub fn on_path(folders: &[PathBuf]) -> impl Iterator<Item = (KnownAgent, PathBuf)> {
    known_agents().iter().filter_map(|agent| {
        let mut places = folders.iter().map(|folder| folder.join(agent.program));
        Some((*agent, places.find(|place| can_run(place))?))
    })
}

/// The name of the program that words start, without its folder.
#[must_use]
pub fn file_name(words: &[String]) -> &str {
    let program = words.first().map(String::as_str).unwrap_or_default();
    Path::new(program)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(program)
}

/// Whether a file is a program.
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
    fn a_driver_is_chosen_by_kind_then_by_program() {
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
            Err(r#"there is no driver "codecs"; agent.kind is "claude", "codex", "acp" or "command""#),
        );
        let no_program = "the agent's command names no program, or has a quote that nobody closes";
        check(None, "'claude", Err(no_program));
    }

    #[test]
    fn who_runs_a_known_agent_in_a_way_of_his_own_is_left_alone() {
        check(None, "gemini -p go --yolo", Ok("command"));
        check(None, "qwen --output-format=json", Ok("command"));
        check(None, "opencode run", Ok("command"));
        check(None, "copilot {prompt_file}", Ok("command"));
        check(Some("acp"), "opencode run", Ok("acp"));
    }

    #[test]
    fn the_first_program_on_the_path_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        for place in [&one, &two] {
            std::fs::create_dir(place).unwrap();
        }
        let folders = [one.clone(), two.clone()];
        // A file that nobody may run is no program.
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
