//! `ralph hook …`: what coding agents call at their events.
//!
//! A hook must never disturb the session that calls it: whatever goes wrong, it says nothing, ends well, and leaves a
//! trace that a person can be shown later.

pub(crate) mod trouble;

use std::io::{self, IsTerminal};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use clap::{Args, Subcommand};
use ralph_memory::catalogue::Catalogue;
use ralph_memory::inject::{Occasion, PrimeFormat, prime};
use ralph_model::{Actor, Shelf};
use ralph_serve::hooks::session_start::{self, SessionStart, Situation};

use crate::actor;
use crate::cli::Global;
use crate::context::{Context, find_project};
use crate::env;
use crate::error::CommandError;
use crate::paths::{self, Project, Spelling};
use crate::ui::Ui;

/// How long an agent may take to say what happened; one that says nothing is not waited for any longer.
const INPUT_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    SessionStart(SessionStartArgs),
}

impl HookCommand {
    /// The description of an event, for whoever does not need all of them.
    pub(crate) fn describe(event: &str) -> Option<clap::Command> {
        (event == "session-start").then(|| SessionStartArgs::augment_args(clap::Command::new("session-start")))
    }
}

/// Give the notes of earlier sessions to one that begins
///
/// Reads the agent's JSON from standard input and answers with JSON. Whatever goes wrong, it prints nothing and ends
/// with 0, so that the session goes on; the reason is kept in .ralph/hook-trouble.json until it works again. Inside a
/// `ralph run` it prints nothing, because the prompt has the notes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph hook session-start < /dev/null                    # what is given here
  echo '{\"cwd\": \"/src/shop\"}' | ralph hook session-start  # … and there")]
pub(crate) struct SessionStartArgs {}

/// Runs a hook; it always ends well.
pub(crate) fn run(global: &Global, command: &HookCommand) -> ExitCode {
    // The message of a panic would stand in the middle of somebody's session.
    panic::set_hook(Box::new(|_| {}));
    match command {
        HookCommand::SessionStart(_) => cmd_session_start(global),
    }
    ExitCode::SUCCESS
}

fn cmd_session_start(global: &Global) {
    // A run has put the notes into the prompt, or has left them out on purpose.
    if actor::find(global) != Actor::Person {
        return;
    }
    let ui = Ui::silent();
    let input = guarded(read_input);
    let cwd = input.as_ref().ok().and_then(|input| input.cwd.clone());
    // Without a project there is no place for a trace either.
    let Ok(project) = guarded(|| find_project(global, || folder_of_session(cwd))) else {
        return;
    };
    let root = project.root.clone();
    let done = input.and_then(|_| guarded(|| give_notes(project, global, &ui)));
    // The trace is a convenience. Where it cannot be left, the session matters more.
    drop(guarded(|| match done {
        Ok(()) => trouble::forget(&root),
        Err(reason) => trouble::leave(&root, &reason),
    }));
}

/// Does work that may fail or panic, and says why it did.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, CommandError>) -> Result<T, String> {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(error
            .lines()
            .map_or_else(String::new, |(message, _)| message.to_owned())),
        Err(payload) => {
            let said = payload.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| payload.downcast_ref::<&str>().copied());
            Err(format!("ralph panicked: {}", said.unwrap_or("it did not say why")))
        }
    }
}

/// Reads what the agent says, on a thread of its own, so that an agent that neither speaks nor closes its end is not waited
/// for. A person at a terminal has nothing to say.
fn read_input() -> Result<SessionStart, CommandError> {
    if io::stdin().is_terminal() {
        return Ok(SessionStart::default());
    }
    let (sender, receiver) = channel();
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || drop(sender.send(SessionStart::read(io::stdin()))))?;
    match receiver.recv_timeout(INPUT_WAIT) {
        Ok(input) => input.map_err(|error| CommandError::new(error.to_string())),
        Err(RecvTimeoutError::Timeout) => Ok(SessionStart::default()),
        Err(RecvTimeoutError::Disconnected) => Err(CommandError::new("the input of the hook could not be read")),
    }
}

/// The folder that a session works in: the one it names, the one of its environment, else the one we were started in.
fn folder_of_session(cwd: Option<PathBuf>) -> Result<PathBuf, CommandError> {
    let named = cwd
        .into_iter()
        .chain(env::claude_project())
        .find(|folder| folder.is_dir());
    let folder = named.map_or_else(env::working_folder, std::path::absolute);
    folder.map_err(|error| CommandError::new(format!("cannot tell the working folder: {error}")))
}

/// Both shelves are asked through one opening of the catalogue. The log is left alone: what vanished is told to a person,
/// not to an agent.
fn give_notes(project: Project, global: &Global, ui: &Ui) -> Result<(), CommandError> {
    let context = Context::of(project, global, ui)?;
    let situation = Situation {
        config: &context.config,
        today: context.today(),
        used_here: is_used(&context),
    };
    // A shelf that is switched off is no matter of the session, also when its file cannot be read.
    let shelves: Vec<Shelf> = [
        (Shelf::Memories, context.config.memories.enabled),
        (Shelf::Guardrails, context.config.guardrails.enabled),
    ]
    .into_iter()
    .filter_map(|(shelf, enabled)| enabled.then_some(shelf))
    .collect();
    let origins = context.origins();
    let text = Catalogue::ask(&context.catalogue(Spelling::Own), &shelves, |catalogue| {
        session_start::context(&situation, |shelf, wanted, budget| {
            let occasion = Occasion {
                shelf,
                wanted,
                about: None,
                budget,
                format: PrimeFormat::Markdown,
                origins: &origins,
            };
            prime(catalogue, &occasion)
        })
    })?;
    match text {
        Some(text) => ui.text(&session_start::answer(&text)),
        None => Ok(()),
    }
}

/// Whether anybody has used ralph in this project.
fn is_used(context: &Context<'_>) -> bool {
    let mut shelves = context.catalogue(Spelling::Own).shelves.into_iter();
    context.project.root.join(paths::CONFIG).exists() || shelves.any(|(_, notes)| notes.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_reason_like_any_other() {
        assert_eq!(guarded(|| Ok(1)), Ok(1));
        let failed = guarded(|| Err::<(), _>(CommandError::new("no").hint("try again")));
        assert_eq!(failed, Err("no".to_owned()));
        let count = 3;
        let panicked = guarded(|| -> Result<(), CommandError> { panic!("at {count}") });
        assert_eq!(panicked, Err("ralph panicked: at 3".to_owned()));
        let panicked = guarded(|| -> Result<(), CommandError> { panic!("at once") });
        assert_eq!(panicked, Err("ralph panicked: at once".to_owned()));
    }
}
