//! `ralph demo`: runs the same tasks in a small project twice, with memory and without it.

mod agent;
mod project;
mod run_summary;
mod sandbox;
mod story;

use std::process::ExitCode;

use clap::Args;

pub(crate) use agent::{DemoAgentArgs, cmd_demo_agent};
use sandbox::{Memory, Sandbox};
use story::Story;

use crate::error::CommandError;
use crate::ui::Ui;

/// The exit code of an interrupted program.
const STOPPED: u8 = 130;

/// See in seconds what memory does for an agent
///
/// Creates a small project with tests in a temporary folder and runs `ralph run` on the same tasks twice: once with
/// memory in the prompts, once without. The agent is built in, so it needs no key and no network, and it acts only on
/// its prompt. `--agent` uses your own agent instead, on your account.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph demo
  ralph demo --keep          # keep both projects to look around
  ralph demo --agent claude  # use your own agent")]
pub(crate) struct DemoArgs {
    /// Keep the temporary folder and print its path
    #[arg(long)]
    keep: bool,
    /// Command of your own agent
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// Start your own agent without asking
    #[arg(long, requires = "agent")]
    yes: bool,
}

pub(crate) fn cmd_demo(ui: &Ui, args: &DemoArgs) -> Result<ExitCode, CommandError> {
    let agent = args.agent.as_deref();
    let story = Story::new(ui, agent);
    story.beginning()?;
    if agent.is_some() && !args.yes && !is_wanted(ui)? {
        return Ok(ExitCode::SUCCESS);
    }
    let sandbox = Sandbox::create(ui, agent)?;
    let result = run(&story, &sandbox);
    let is_stopped = sandbox.is_stopped();
    let closed = if args.keep { sandbox.keep(ui) } else { sandbox.remove() };
    match result {
        Err(_) if is_stopped => {
            ui.status("Stopped.");
            closed.map(|()| ExitCode::from(STOPPED))
        }
        result => result.and(closed).map(|()| ExitCode::SUCCESS),
    }
}

fn is_wanted(ui: &Ui) -> Result<bool, CommandError> {
    let answer = ui.confirm("Start it?")?;
    answer.ok_or_else(|| CommandError::usage("cannot ask for confirmation here; pass `--yes` to start your agent"))
}

fn run(story: &Story<'_>, sandbox: &Sandbox<'_>) -> Result<(), CommandError> {
    let with = sandbox.run_tasks(Memory::On)?;
    let without = sandbox.run_tasks(Memory::Off)?;
    story.trap(&with)?;
    story.prompts(&with, &without)?;
    story.numbers(&with, &without)?;
    story.end(&with, &without)
}
