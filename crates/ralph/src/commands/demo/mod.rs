//! `ralph demo`: a small project, a trap, and the same tasks done twice, with the memory and without it.

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
/// Makes a small project with tests in a temporary folder and runs `ralph run` there twice over the same tasks: once with
/// the memory in the prompts, once without. The agent is built in, so it takes no key and no network. It acts by what
/// stands in its prompt, and by nothing else.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph demo
  ralph demo --keep  # and look around in the two projects afterwards")]
pub(crate) struct DemoArgs {
    /// Leave the temporary folder there, and say where it is
    #[arg(long)]
    keep: bool,
}

pub(crate) fn cmd_demo(ui: &Ui, args: &DemoArgs) -> Result<ExitCode, CommandError> {
    let stage = Stage::set_up()?;
    let told = tell(&Story::new(ui), &stage);
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

fn tell(story: &Story<'_>, stage: &Stage) -> Result<(), CommandError> {
    story.beginning()?;
    story.goes_on("With the memory")?;
    let with = stage.perform(Memory::On)?;
    story.went(&with)?;
    story.goes_on("Without it")?;
    let without = stage.perform(Memory::Off)?;
    story.went(&without)?;
    story.trap(&with)?;
    story.prompts(&with)?;
    story.difference(&with, &without)?;
    story.end()
}
