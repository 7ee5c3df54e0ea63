//! `ralph hook …`: the commands that coding agents run on their events.
//!
//! A hook must never disturb the session that runs it. If anything goes wrong, it prints nothing, exits successfully,
//! and leaves a record that `ralph doctor` can show.

mod session_start;
pub(crate) mod trouble;

use std::io::{self, IsTerminal};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use clap::{Args, Subcommand};
use ralph_memory::inject::{PrimeFormat, PrimeRequest, prime};
use ralph_model::{Actor, NoteFileKind};
use ralph_search::{SearchIndex, Sources};

use crate::actor;
use crate::cli::Global;
use crate::context::{Context, find_project};
use crate::env;
use crate::error::CommandError;
use crate::paths::{self, Project, Spelling};
use crate::ui::Ui;

use session_start::ContextInputs;

/// How long to wait for the agent's input.
const INPUT_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    SessionStart(SessionStartArgs),
}

impl HookCommand {
    /// Builds the clap command of one event, for the quick parser.
    pub(crate) fn describe(event: &str) -> Option<clap::Command> {
        (event == "session-start").then(|| SessionStartArgs::augment_args(clap::Command::new("session-start")))
    }
}

/// Print notes for a new agent session
///
/// Reads the agent's JSON from standard input and answers with JSON. If anything fails, it prints nothing and exits
/// with 0, so that the session goes on; the reason is kept in .ralph/hook-trouble.json until the hook works again.
/// Inside a `ralph run` it prints nothing, because the prompt already contains the notes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph hook session-start < /dev/null  # output for this project
  echo '{\"cwd\": \"/src/shop\"}' | ralph hook session-start # for another")]
pub(crate) struct SessionStartArgs {}

/// Runs a hook, which always succeeds.
pub(crate) fn run(global: &Global, command: &HookCommand) -> ExitCode {
    // A panic message would appear in the middle of a session.
    panic::set_hook(Box::new(|_| {}));
    match command {
        HookCommand::SessionStart(_) => cmd_session_start(global),
    }
    ExitCode::SUCCESS
}

fn cmd_session_start(global: &Global) {
    // A run has already put the notes into the prompt, or left them out on purpose.
    if actor::find(global) != Actor::Person {
        return;
    }
    let ui = Ui::silent();
    let input = guarded(read_input);
    let cwd = input.clone().ok().flatten();
    // Without a project there is no place for a record either.
    let Ok(project) = guarded(|| find_project(global, || folder_of_session(cwd))) else {
        return;
    };
    let root = project.root.clone();
    let done = input.and_then(|_| guarded(|| print_notes(project, global, &ui)));
    // The record is a convenience; the session matters more.
    drop(guarded(|| match done {
        Ok(()) => trouble::forget(&root),
        Err(reason) => trouble::leave(&root, &reason),
    }));
}

/// Runs work that may fail or panic, and returns the reason as text.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, CommandError>) -> Result<T, String> {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(error
            .lines()
            .map_or_else(String::new, |(message, _)| message.to_owned())),
        Err(payload) => {
            let message = payload.downcast_ref::<String>().map(String::as_str);
            let message = message.or_else(|| payload.downcast_ref::<&str>().copied());
            Err(format!("ralph panicked: {}", message.unwrap_or("unknown reason")))
        }
    }
}

/// Reads the folder from the agent's input on a separate thread, so that an agent that neither writes nor closes its end does not
/// block. A terminal is not read.
fn read_input() -> Result<Option<PathBuf>, CommandError> {
    if io::stdin().is_terminal() {
        return Ok(None);
    }
    let (sender, receiver) = channel();
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || drop(sender.send(session_start::read_folder(io::stdin()))))?;
    match receiver.recv_timeout(INPUT_WAIT) {
        Ok(folder) => folder,
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(CommandError::new("cannot read the input of the hook")),
    }
}

/// The folder of a session: the one it names, the one in its environment, or the current directory.
fn folder_of_session(cwd: Option<PathBuf>) -> Result<PathBuf, CommandError> {
    let named = cwd
        .into_iter()
        .chain(env::claude_project())
        .find(|folder| folder.is_dir());
    let folder = named.map_or_else(env::working_folder, std::path::absolute);
    folder.map_err(|error| CommandError::new(format!("cannot determine the current directory: {error}")))
}

/// Reads both notes files through one note index. Missing notes are not reported, since that is for the user and not
/// for an agent.
fn print_notes(project: Project, global: &Global, ui: &Ui) -> Result<(), CommandError> {
    let context = Context::of(project, global, ui)?;
    let situation = ContextInputs {
        config: &context.config,
        today: context.today(),
        used_here: is_used(&context),
    };
    // A disabled kind of notes is skipped, even if its file is unreadable.
    let kinds: Vec<NoteFileKind> = [
        (NoteFileKind::Memories, context.config.memories.enabled),
        (NoteFileKind::Guardrails, context.config.guardrails.enabled),
    ]
    .into_iter()
    .filter_map(|(kind, enabled)| enabled.then_some(kind))
    .collect();
    let origins = context.origins();
    let text = SearchIndex::ask(&context.index(Spelling::Own), (&kinds, Sources::NOTES), |index| {
        session_start::context(&situation, |kind, wanted, budget| {
            let occasion = PrimeRequest {
                file_kind: kind,
                wanted,
                about: None,
                budget,
                format: PrimeFormat::Markdown,
                origins: &origins,
            };
            prime(index, &occasion)
        })
    })?;
    match text {
        Some(text) => ui.text(&session_start::answer(&text)),
        None => Ok(()),
    }
}

/// Returns true if ralph is used in this project.
fn is_used(context: &Context<'_>) -> bool {
    let mut files = context.index(Spelling::Own).file_kinds.into_iter();
    context.project.root.join(paths::CONFIG).exists() || files.any(|(_, notes)| notes.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_reported_as_reasons() {
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
