//! The Codex driver, which reads the JSON records of `codex exec --json`. `turn.completed` or `turn.failed` decides how
//! the turn ended, not the exit code.
//!
//! Denials are rarely visible: a command that the sandbox blocks looks like any failed item, and rule refusals are
//! reported only to the model. Only items with the status `declined` are denials.

mod errors;
mod events;
mod records;

use std::sync::Arc;

use ralph_model::Clock;
use ralph_model::config::{CommandLine, Permissions};
use ralph_process::Input;

use crate::command_words::has_option;
use crate::find::file_name;
use crate::launch::{Launch, launch};
use crate::{Access, Agent, DriverError, RunningTurn, StartError, Turn, TurnSink};
pub use errors::codex_error;
pub(crate) use records::{Records, is_record};

/// Options that set permissions, besides the configuration keys.
const PERMISSION_OPTIONS: &[&str] = &[
    "-s",
    "--sandbox",
    "--full-auto",
    "--approve-for-me",
    "--dangerously-bypass-approvals-and-sandbox",
    "--yolo",
];

/// Whether Codex opens login shells. On many systems they reset PATH, so that `ralph` in this turn's PATH is not found.
const LOGIN_SHELL: &str = "allow_login_shell";

/// Limits the agent to reading: the sandbox runs commands but blocks writes. MCP servers run outside the sandbox. They
/// can be disabled only by name, or together with all user settings, which may include a model provider.
const READ_ONLY: &[&str] = &["-s", "read-only"];

pub struct CodexAgent {
    words: Vec<String>,
    clock: Arc<dyn Clock + Send + Sync>,
}

impl CodexAgent {
    /// The recorded name.
    pub(crate) const NAME: &str = "codex";

    /// Creates the driver for a command line; adds the options for non-interactive JSON output.
    ///
    /// # Errors
    /// If the command line names no program.
    pub fn new(command: &CommandLine, clock: Arc<dyn Clock + Send + Sync>) -> Result<Self, DriverError> {
        let words = command.words().ok_or(DriverError::NoProgram)?;
        Ok(Self { words, clock })
    }

    fn has(&self, option: &str) -> bool {
        has_option(&self.words, option)
    }

    /// Whether the command sets a configuration key with `-c key=value`.
    fn sets(&self, key: &str) -> bool {
        let with_value = format!("{key}=");
        let values = self.words.iter().skip(1).map(|word| {
            let attached = ["--config=", "-c=", "-c"];
            attached
                .iter()
                .find_map(|option| word.strip_prefix(option))
                .unwrap_or(word)
        });
        values.into_iter().any(|value| value.starts_with(&with_value))
    }

    fn words_for(&self, turn: &Turn<'_>) -> Vec<String> {
        let mut words = self.words.clone();
        if !words.iter().skip(1).any(|word| word == "exec" || word == "e") {
            words.insert(self.end_of_program(), "exec".to_owned());
        }
        let mut add = |options: &[&str]| words.extend(options.iter().copied().map(String::from));
        // The user chose the folder, whether or not it is in a git repository.
        for option in ["--json", "--skip-git-repo-check"] {
            if !self.has(option) {
                add(&[option]);
            }
        }
        if !self.sets(LOGIN_SHELL) {
            add(&["-c", "allow_login_shell=false"]);
        }
        match turn.access {
            Access::ReadOnly if self.can_be_read_only() => add(READ_ONLY),
            Access::ReadOnly => {}
            Access::Work(asked) => {
                let granted = self.permissions(asked);
                add(granted
                    .map(|granted| self.permission_words(granted))
                    .unwrap_or_default());
                // The sandbox lets commands write to the working folder.
                let more = turn.also_writable.iter();
                for folder in more.filter(|_| granted == Some(Permissions::Edit)) {
                    add(&["--add-dir", &folder.to_string_lossy()]);
                }
            }
        }
        if let Some(model) = turn.model.filter(|_| !self.chooses_model()) {
            add(&["-m", model]);
        }
        // Read the prompt from standard input.
        if !self.words.iter().any(|word| word == "-") {
            add(&["-"]);
        }
        words
    }

    fn chooses_model(&self) -> bool {
        self.has("-m") || self.has("--model") || self.sets("model")
    }

    /// The index of Codex's own arguments. Another program may start it (`npx @openai/codex@latest`); an unknown
    /// program is assumed to pass on its arguments.
    fn end_of_program(&self) -> usize {
        let is_codex = |word: &String| {
            let name = file_name(std::slice::from_ref(word));
            name == Self::NAME || name.strip_prefix(Self::NAME).is_some_and(|rest| rest.starts_with('@'))
        };
        let place = self.words.iter().position(is_codex);
        place.map_or(self.words.len(), |place| place + 1)
    }
}

impl Agent for CodexAgent {
    fn name(&self) -> &str {
        Self::NAME
    }

    /// If the command has one of these options, the user has decided.
    fn permissions(&self, asked: Permissions) -> Option<Permissions> {
        let decided = PERMISSION_OPTIONS.iter().any(|option| self.has(option)) || self.sets("sandbox_mode");
        (!decided).then_some(asked)
    }

    fn permission_words(&self, granted: Permissions) -> &'static [&'static str] {
        match granted {
            Permissions::Edit => &["-s", "workspace-write"],
            Permissions::Full => &["--dangerously-bypass-approvals-and-sandbox"],
        }
    }

    fn can_be_read_only(&self) -> bool {
        self.permissions(Permissions::Edit).is_some()
    }

    fn start(&self, turn: &Turn<'_>, sink: TurnSink) -> Result<Box<dyn RunningTurn>, StartError> {
        let mut listener = Records::new(Arc::clone(&self.clock));
        // Codex does not report its model.
        listener.model = turn.model.filter(|_| !self.chooses_model()).map(str::to_owned);
        let words = self.words_for(turn);
        let input = Input::Whole(turn.prompt.as_bytes().to_vec());
        launch(Launch { words, input }, turn, listener, sink)
    }
}

#[cfg(test)]
mod ends_tests;
#[cfg(test)]
mod tests;
