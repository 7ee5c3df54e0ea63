//! One file per command: its arguments, whose doc comments are its help, and its implementation.

pub(crate) mod blame;
pub(crate) mod branches;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod feature;
pub(crate) mod guardrails;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod journal;
pub(crate) mod knowledge;
pub(crate) mod learnings;
pub(crate) mod man;
pub(crate) mod memory;
pub(crate) mod merge_driver;
pub(crate) mod notes;
pub(crate) mod prompt;
pub(crate) mod recall;
pub(crate) mod remember;
pub(crate) mod review;
pub(crate) mod rollback;
pub(crate) mod run;
pub(crate) mod scratchpad;
pub(crate) mod setup;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod task;
pub(crate) mod why;

use std::process::ExitCode;

use crate::cli::{Command, Global, ToolsCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;
use crate::ui::Ui;

/// Runs a command; without one, shows the status.
pub(crate) fn run(ui: &Ui, global: &Global, command: Option<Command>) -> Result<ExitCode, CommandError> {
    let project = || Context::new(global, ui);
    match command {
        None => status::cmd_status(&project()?, &status::StatusArgs::default())?,
        Some(Command::Status(args)) => status::cmd_status(&project()?, &args)?,
        Some(Command::Remember(args)) => remember::cmd_remember(&project()?, args)?,
        Some(Command::Recall(args)) => recall::cmd_recall(&project()?, &args)?,
        Some(Command::Review(args)) => return review::cmd_review(&project()?, &args),
        Some(Command::Why(args)) => why::cmd_why(&project()?, &args)?,
        Some(Command::Knowledge(command)) => knowledge::run(&project()?, command)?,
        Some(Command::Learnings(command)) => learnings::run(&project()?, command)?,
        Some(Command::Journal(command)) => journal::run(&project()?, &command)?,
        Some(Command::Diff(args)) => diff::cmd_diff(&project()?, &args)?,
        Some(Command::Branches(args)) => branches::cmd_branches(&project()?, &args)?,
        Some(Command::Blame(args)) => blame::cmd_blame(&project()?, &args)?,
        Some(Command::Undo(args)) => rollback::cmd_undo(&project()?, &args)?,
        Some(Command::Rollback(args)) => rollback::cmd_rollback(&project()?, &args)?,
        Some(Command::Config(args)) => config::cmd_config(&project()?, &args)?,
        Some(Command::Stats(args)) => stats::cmd_stats(&project()?, &args)?,
        Some(Command::Prompt(args)) => prompt::cmd_prompt(&project()?, &args)?,
        Some(Command::Init(args)) => init::cmd_init(&project()?, &args)?,
        Some(Command::Setup(command)) => return setup::run(&project()?, &command),
        Some(Command::Hook(command)) => return Ok(hook::run(global, &command)),
        Some(Command::Doctor(args)) => return doctor::cmd_doctor(ui, global, &args),
        Some(Command::Run(args)) => return run::cmd_run(ui, project(), &args),
        Some(Command::Demo(args)) => return demo::cmd_demo(ui, &args),
        Some(Command::Man(args)) => man::cmd_man(ui, &args)?,
        Some(Command::Completions(args)) => completions::cmd_completions(ui, &args)?,
        Some(Command::MergeDriver(args)) => return Ok(merge_driver::cmd_merge_driver(ui, global, &args)),
        Some(Command::Memory(command)) => return memory::run(&project()?, command, Spelling::Own),
        Some(Command::Guardrails(command)) => return guardrails::run(&project()?, command),
        Some(Command::Scratchpad(command)) => scratchpad::run(&project()?, command)?,
        Some(Command::Import(command)) => import::run(&project()?, &command)?,
        Some(Command::Task(command)) => task::run(&project()?, command)?,
        Some(Command::Feature(command)) => feature::run(&project()?, &command)?,
        Some(Command::Tools(ToolsCommand::Memory(command))) => {
            return memory::run(&project()?, command, Spelling::Orchestrator);
        }
    }
    Ok(ExitCode::SUCCESS)
}
