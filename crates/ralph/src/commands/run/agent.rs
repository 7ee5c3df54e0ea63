//! Chooses the agent: the one named by a flag, else the configured one, else the first that is installed.

use std::sync::Arc;

use ralph_agent::{Agent, known_agents, on_path, program_name};
use ralph_loop::agent_for;
use ralph_model::config::{AgentKind, CommandLine, Config};

use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::programs::find_program;
use crate::project_env::ProgramClock;

pub(super) struct ChosenAgent {
    pub(super) driver: Box<dyn Agent>,
    /// Why it was chosen.
    pub(super) how: &'static str,
    /// The configured models, if they belong to this agent.
    pub(super) models: Vec<String>,
    has_other_models: bool,
}

impl ChosenAgent {
    /// The agent and its permissions, for people.
    pub(super) fn describe(&self, config: &Config) -> String {
        let (name, how) = (self.driver.name(), self.how);
        let granted = self.driver.permissions(config.agent.permissions);
        let permissions = granted.map(|granted| match self.driver.permission_words(granted) {
            [] => format!(", permissions: {granted}"),
            words => format!(", permissions: {granted} ({})", words.join(" ")),
        });
        let models = if self.has_other_models {
            "; the configured models belong to another agent and are ignored"
        } else {
            ""
        };
        format!("{name} ({how}){}{models}", permissions.unwrap_or_default())
    }
}

/// Chooses the agent, and fails if it cannot be started, before any task is created.
pub(super) fn chosen(context: &Context<'_>, config: &Config, flag: Option<&str>) -> Result<ChosenAgent, CommandError> {
    let kind = kind_for(config, flag);
    let (command, how) = match flag {
        Some(line) => (CommandLine::Line(line.to_owned()), "from --agent"),
        None => configured_or_found(config)?,
    };
    let clock = Arc::new(ProgramClock::from_environment()?);
    let refused = |message: String| {
        CommandError::new(message).hint("set `[agent] command` in .ralph.toml, or pass --agent COMMAND")
    };
    let driver = agent_for(kind, &command, clock).map_err(|error| refused(error.to_string()))?;
    let words = command.words().unwrap_or_default();
    if let Some(program) = words.first() {
        find_program(program, &context.project.root)
            .map_err(|why| refused(format!("cannot start the agent: {why}")))?;
    }
    let has_other_models = !config.agent.models.is_empty() && !are_its_models(config, flag, &words);
    Ok(ChosenAgent {
        driver,
        how,
        models: if has_other_models {
            Vec::new()
        } else {
            config.agent.models.clone()
        },
        has_other_models,
    })
}

/// The configured models, if they belong to the agent that a run would start, or if no agent can be started.
pub(crate) fn models_of_agent(context: &Context<'_>, config: &Config) -> Vec<String> {
    match chosen(context, config, None) {
        Ok(agent) => agent.models,
        Err(_) => config.agent.models.clone(),
    }
}

/// Whether the configured models belong to the agent that these words start. They belong to the configured command. If
/// a flag names another agent, or none is configured, model names known for only one agent decide. An unknown program
/// that is not configured has no models.
fn are_its_models(config: &Config, flag: Option<&str>, words: &[String]) -> bool {
    let program = program_name(words);
    let configured = config.agent.command.as_ref().and_then(CommandLine::words);
    if let Some(configured) = &configured
        && (flag.is_none() || program_name(configured) == program)
    {
        return true;
    }
    let known = |program: &str| known_agents().iter().find(|agent| agent.program == program);
    let models = &config.agent.models;
    let named_by = known_agents()
        .iter()
        .find(|agent| !agent.models.is_empty() && models.iter().all(|model| agent.models.contains(&model.as_str())));
    match (known(program), named_by) {
        (None, _) => false,
        // An adapter such as `claude-agent-acp` takes the same model names.
        (Some(_), Some(owner)) => program.split('-').next() == Some(owner.program),
        (Some(_), None) => configured.is_none(),
    }
}

/// The configured kind, if it applies to the chosen agent: it belongs to the configured command, and a known program
/// has its own kind.
fn kind_for(config: &Config, flag: Option<&str>) -> Option<&'static str> {
    let words = flag.and_then(|line| CommandLine::Line(line.to_owned()).words());
    let is_known = words.is_some_and(|words| {
        let program = program_name(&words);
        known_agents().iter().any(|agent| agent.program == program)
    });
    let is_its_own = flag.is_none() || (config.agent.command.is_none() && !is_known);
    config.agent.kind.filter(|_| is_its_own).map(AgentKind::word)
}

/// The configured agent command, else the first installed agent; and which of the two it is.
pub(crate) fn configured_or_found(config: &Config) -> Result<(CommandLine, &'static str), CommandError> {
    match &config.agent.command {
        Some(command) => Ok((command.clone(), "configured")),
        None => Ok((
            CommandLine::Line(first_installed(config.agent.kind.map(AgentKind::word))?),
            "found on the PATH",
        )),
    }
}

fn first_installed(kind: Option<&str>) -> Result<String, CommandError> {
    let folders = env::program_folders();
    let mut installed = on_path(&folders).map(|(agent, _)| agent);
    match installed.find(|agent| kind.is_none_or(|kind| kind == agent.driver.word())) {
        Some(agent) => Ok(agent.program.to_owned()),
        None => {
            let known: Vec<&str> = known_agents().iter().map(|agent| agent.program).collect();
            let message = format!(
                "no agent is configured, and none of these is on the PATH: {}",
                known.join(", ")
            );
            let first = known_agents().first().map(|agent| agent.install).unwrap_or_default();
            Err(CommandError::new(message).hint(format!(
                "install the first with `{first}`, or set `[agent] command` in .ralph.toml (or pass --agent COMMAND) \
                 to any program that reads a prompt from standard input"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(configured: Option<&str>, models: &[&str], flag: Option<&str>, started: &str, expected: bool) {
        let mut config = Config::default();
        config.agent.command = configured.map(|line| CommandLine::Line(line.to_owned()));
        config.agent.models = models.iter().map(|model| (*model).to_owned()).collect();
        let words: Vec<String> = started.split(' ').map(str::to_owned).collect();
        let found = are_its_models(&config, flag, &words);
        assert_eq!(found, expected, "{configured:?} {models:?} {flag:?} {started}");
    }

    #[test]
    fn kind_applies_only_to_the_configured_command() {
        let check = |command: Option<&str>, flag: Option<&str>, expected: Option<&str>| {
            let mut config = Config::default();
            config.agent.kind = Some(AgentKind::Claude);
            config.agent.command = command.map(|line| CommandLine::Line(line.to_owned()));
            assert_eq!(kind_for(&config, flag), expected, "{command:?} {flag:?}");
        };
        check(None, None, Some("claude"));
        check(Some("my-claude"), None, Some("claude"));
        check(Some("my-claude"), Some("/x/codex"), None);
        check(Some("my-claude"), Some("other"), None);
        check(None, Some("/x/codex exec"), None);
        check(None, Some("my-claude"), Some("claude"));
    }

    #[test]
    fn models_belong_to_the_agent_they_were_configured_for() {
        let claudes = ["haiku", "sonnet", "opus"];
        // No configured command; the names are those of claude's models.
        check(None, &claudes, None, "claude", true);
        check(None, &claudes, None, "codex", false);
        check(None, &claudes, Some("codex"), "codex", false);
        check(None, &claudes, Some("/opt/bin/claude"), "/opt/bin/claude", true);
        check(None, &claudes, Some("claude-agent-acp"), "claude-agent-acp", true);
        check(None, &claudes, Some("my-agent"), "my-agent", false);
        // The configured command has the configured models, whatever they are called.
        check(Some("codex exec"), &claudes, None, "codex exec", true);
        check(Some("claude"), &["a", "b"], Some("codex"), "codex", false);
        check(
            Some("claude"),
            &["a", "b"],
            Some("/x/claude --bare"),
            "/x/claude --bare",
            true,
        );
        check(Some("claude"), &["a", "b"], Some("my-agent"), "my-agent", false);
        check(
            Some("my-agent"),
            &["a", "b"],
            Some("/x/my-agent -v"),
            "/x/my-agent -v",
            true,
        );
        check(Some("my-agent"), &claudes, Some("claude"), "claude", true);
        check(None, &["gpt-9"], Some("codex"), "codex", true);
    }
}
