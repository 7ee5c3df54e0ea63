//! Codex, as `codex exec --json`, which prints one JSON record a line. How its turn ended is told by `turn.completed` or
//! `turn.failed`, never by the code that the program ends with.
//!
//! What it is not allowed to do can rarely be seen: a command that the sandbox stops is an item that failed, like one that
//! fails by itself, and what its rules refuse is told to the model alone, without any record. Only an item that says
//! `declined` is a denial.

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

/// The options that say what it may do, other than by the key of its configuration.
const DECIDING: &[&str] = &[
    "-s",
    "--sandbox",
    "--full-auto",
    "--approve-for-me",
    "--dangerously-bypass-approvals-and-sandbox",
    "--yolo",
];

/// Whether the shells that it opens are login shells. Those of many systems set PATH anew, and then a command that the
/// agent calls is not found where this turn's environment has it: `ralph` above all.
const LOGIN_SHELL: &str = "allow_login_shell";

/// What makes it look at files and nothing else: its sandbox lets commands run, and write nowhere. The MCP servers of the
/// user's settings are outside of the sandbox, and can only be left out by their names or together with all of the settings,
/// a provider of models among them.
const READ_ONLY: &[&str] = &["-s", "read-only"];

/// Codex.
pub struct CodexAgent {
    words: Vec<String>,
    clock: Arc<dyn Clock + Send + Sync>,
}

impl CodexAgent {
    /// What it is called on record.
    pub(crate) const NAME: &str = "codex";

    /// Codex as a command line starts it; what makes it work by itself and speak in records is added.
    ///
    /// # Errors
    /// When the line names no program.
    pub fn new(command: &CommandLine, clock: Arc<dyn Clock + Send + Sync>) -> Result<Self, DriverError> {
        let words = command.words().ok_or(DriverError::NoProgram)?;
        Ok(Self { words, clock })
    }

    fn has(&self, option: &str) -> bool {
        has_option(&self.words, option)
    }

    /// Whether a key of its configuration is set in the command: `-c key=value`.
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
        // Whether a folder is under git is not its to judge here: the person has chosen it.
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
                // Its sandbox lets commands write in the folder that it works in.
                let more = turn.also_writable.iter();
                for folder in more.filter(|_| granted == Some(Permissions::Edit)) {
                    add(&["--add-dir", &folder.to_string_lossy()]);
                }
            }
        }
        if let Some(model) = turn.model.filter(|_| !self.chooses_model()) {
            add(&["-m", model]);
        }
        // Standard input is the whole prompt.
        if !self.words.iter().any(|word| word == "-") {
            add(&["-"]);
        }
        words
    }

    fn chooses_model(&self) -> bool {
        self.has("-m") || self.has("--model") || self.sets("model")
    }

    /// Where its own words begin. It may be started by another program (`npx @openai/codex@latest`); a program of unknown
    /// name is taken to hand on what follows its words.
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

    /// Who writes one of these options into the command has decided.
    fn permissions(&self, asked: Permissions) -> Option<Permissions> {
        let decided = DECIDING.iter().any(|option| self.has(option)) || self.sets("sandbox_mode");
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
        // It never says which model answers.
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
