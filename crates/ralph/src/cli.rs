//! The command line as a whole; each command describes itself in its own file.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ralph_model::Actor;

use crate::commands::{
    blame, branches, completions, config, demo, diff, doctor, feature, guardrails, hook, import, init, journal,
    knowledge, learnings, man, memory, merge_driver, prompt, recall, remember, review, rollback, run, scratchpad,
    setup, stats, status, task, why,
};
use crate::ui::ColorChoice;

/// Memory for coding agents that work in a loop.
///
/// ralph keeps what was learned, decided and mended in plain Markdown that people, agents and git share, and never loses
/// it: every change is locked, durable and on record.
#[derive(Debug, Parser)]
#[command(name = "ralph", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  ralph demo                            # what the memory is good for
  ralph init                            # set this project up
  ralph task add \"mend the login page\"  # something to be done
  ralph run                             # an agent works on the tasks
  ralph status                          # what was done, what waits for you
  ralph review                          # what failed, and what to do
  ralph remember \"the tests fail without --locked\" --tags ci
  ralph recall \"why do the tests fail\"  # what is known about it
  ralph memory prime --budget 2000      # the notes for a session's beginning")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The project's folder, instead of the one found from the working folder upwards
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,
    /// When to use colours, whatever the configuration says
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<ColorChoice>,
    /// Whether `--` stood among the arguments, so that what follows is meant as it is.
    #[arg(skip)]
    pub(crate) text_after_dashes: bool,
    /// Who gives the command. Commands that only read do not ask, and have a person here.
    #[arg(skip = Actor::Person)]
    pub(crate) actor: Actor,
    /// The arguments, without the program's name, as an agent's proposal repeats them.
    #[arg(skip)]
    pub(crate) arguments: Vec<String>,
    /// What a person accepts as the input of a proposed command, instead of standard input.
    #[arg(skip)]
    pub(crate) input: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::RunArgs),
    Status(status::StatusArgs),
    Remember(remember::RememberArgs),
    Recall(recall::RecallArgs),
    Review(review::ReviewArgs),
    Why(why::WhyArgs),
    Init(init::InitArgs),
    /// Connect a coding agent with this project's notes
    #[command(subcommand)]
    Setup(setup::SetupCommand),
    Doctor(doctor::DoctorArgs),
    Demo(demo::DemoArgs),
    #[command(hide = true)]
    DemoAgent(demo::DemoAgentArgs),
    /// Keep what is to be done: tasks, their parts, and what has to wait for what
    #[command(subcommand)]
    Task(task::TaskCommand),
    /// Keep what belongs together: features, with a specification, a plan and tasks
    #[command(subcommand)]
    Feature(feature::FeatureCommand),
    /// Keep what holds for the project: patterns, decisions, fixes, context
    #[command(subcommand)]
    Memory(memory::MemoryCommand),
    /// Keep what holds for the current work: fixes, decisions, patterns
    #[command(subcommand)]
    Guardrails(guardrails::GuardrailsCommand),
    /// Keep the state of the current work: what is done, what is next, what is in the way
    #[command(subcommand)]
    Scratchpad(scratchpad::ScratchpadCommand),
    /// Keep what takes more than a line: long notes, each in a file of its own
    #[command(subcommand)]
    Knowledge(knowledge::KnowledgeCommand),
    /// Keep what iterations teach: learnings, with what speaks for them
    #[command(subcommand)]
    Learnings(learnings::LearningsCommand),
    /// Read what happened: every iteration, and how it ended
    #[command(subcommand)]
    Journal(journal::JournalCommand),
    Diff(diff::DiffArgs),
    Branches(branches::BranchesArgs),
    Blame(blame::BlameArgs),
    Undo(rollback::UndoArgs),
    Rollback(rollback::RollbackArgs),
    Stats(stats::StatsArgs),
    Prompt(prompt::PromptArgs),
    Config(config::ConfigArgs),
    /// Take over what another tool has on record
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// The same commands as ralph-orchestrator spells them
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// What coding agents call at their events; `ralph setup` tells them to
    #[command(subcommand)]
    Hook(hook::HookCommand),
    MergeDriver(merge_driver::MergeDriverArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// `ralph memory`; a new file goes to .ralph/agent/memories.md
    #[command(subcommand)]
    Memory(memory::MemoryCommand),
}

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
    /// As it stands in the file
    Markdown,
    /// Only ids
    Quiet,
}

/// The format of a result, with its short form.
#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormatArgs {
    pub(crate) fn get(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}
