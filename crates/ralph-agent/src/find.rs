//! Which agents there are, which of them is installed, and which driver speaks to one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_model::Clock;
use ralph_model::config::CommandLine;

use crate::{Agent, CommandAgent};

/// An agent that ralph knows by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAgent {
    /// What people call it.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The driver that speaks to it; a value of `agent.kind`.
    pub driver: &'static str,
}

const COMMAND: &str = "command";

/// The drivers, by the names that `agent.kind` takes.
const DRIVERS: [&str; 1] = [COMMAND];

/// The agents that ralph starts by itself, the first choice first.
#[must_use]
pub fn known_agents() -> &'static [KnownAgent] {
    &[]
}

/// Why there is no driver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The command line has no first word.
    #[error("the agent's command names no program, or has a quote that nobody closes")]
    NoProgram,
    /// There is no driver of this name.
    #[error("there is no driver {kind:?}; agent.kind is {}", either(&DRIVERS))]
    UnknownKind {
        /// The name.
        kind: String,
    },
}

/// The driver for a command line: the one that is asked for, else the one of the agent whose program it starts, else the
/// one for any program. The clock tells it what `resets 3pm` means.
///
/// # Errors
/// When there is no such driver, or the line names no program.
pub fn driver_for(
    kind: Option<&str>,
    command: &CommandLine,
    clock: Arc<dyn Clock + Send + Sync>,
) -> Result<Box<dyn Agent>, DriverError> {
    let words = command.words().ok_or(DriverError::NoProgram)?;
    let known = known_agents().iter().find(|agent| agent.program == file_name(&words));
    match kind.or(known.map(|agent| agent.driver)).unwrap_or(COMMAND) {
        COMMAND => {
            drop(clock);
            Ok(Box::new(CommandAgent::new(command)?))
        }
        other => Err(DriverError::UnknownKind { kind: other.to_owned() }),
    }
}

/// The first known agent whose program is in one of these folders, and where it is.
#[must_use]
pub fn first_on_path(folders: &[PathBuf]) -> Option<(KnownAgent, PathBuf)> {
    known_agents().iter().find_map(|agent| {
        let mut places = folders.iter().map(|folder| folder.join(agent.program));
        Some((*agent, places.find(|place| can_run(place))?))
    })
}

/// The name of the program, without its folder.
pub(crate) fn file_name(words: &[String]) -> &str {
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
