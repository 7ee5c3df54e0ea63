//! `ralph demo`: a small project, a trap, and the same tasks done twice, with memory and without it.

mod agent;
mod facts;
mod project;
mod stage;
mod story;

use std::process::ExitCode;

use clap::Args;

pub(crate) use agent::{DemoAgentArgs, cmd_demo_agent};
use stage::{Memory, Stage};
use story::Story;

use crate::error::CommandError;
use crate::ui::Ui;

/// The exit code of a program that was asked to stop.
const STOPPED: u8 = 130;

/// See in a few seconds what the memory is good for
///
/// Creates a small project with tests in a temporary folder and runs `ralph run` there twice over the same tasks: once with
/// the memory in the prompts, once without. The agent is built in, so it takes no key and no network. It acts by what
/// its prompt says, and by nothing else. `--agent` takes your own agent instead, on your account.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph demo
  ralph demo --keep          # and look around in the two projects afterwards
  ralph demo --agent claude  # the same with your own agent")]
pub(crate) struct DemoArgs {
    /// Leave the temporary folder there, and say where it is
    #[arg(long)]
    keep: bool,
    /// The command of your own agent
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
    let stage = Stage::set_up(ui, agent)?;
    let told = tell(&story, &stage);
    let is_stopped = stage.is_stopped();
    let closed = if args.keep { stage.keep(ui) } else { stage.take_down() };
    match told {
        Err(_) if is_stopped => {
            ui.status("Stopped.");
            closed.map(|()| ExitCode::from(STOPPED))
        }
        told => told.and(closed).map(|()| ExitCode::SUCCESS),
    }
}

fn is_wanted(ui: &Ui) -> Result<bool, CommandError> {
    let answer = ui.confirm("Start it?")?;
    answer.ok_or_else(|| CommandError::usage("nobody can be asked here whether to start your agent; `--yes` starts it"))
}

fn tell(story: &Story<'_>, stage: &Stage<'_>) -> Result<(), CommandError> {
    let with = stage.perform(Memory::On)?;
    let without = stage.perform(Memory::Off)?;
    story.trap(&with)?;
    story.prompts(&with, &without)?;
    story.numbers(&with, &without)?;
    story.end(&with, &without)
}
