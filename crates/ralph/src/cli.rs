//! The top level of the command line; each command describes itself in its own file.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ralph_model::Actor;

use crate::commands::{
    blame, branches, completions, config, demo, diff, doctor, feature, guardrails, hook, import, init, journal,
    knowledge, learnings, man, memory, merge_driver, prompt, recall, remember, review, rollback, run, scratchpad,
    setup, stats, status, task, why,
};
use crate::ui::ColorChoice;

/// Run coding agents in a loop, with memory.
///
/// ralph works through a list of tasks with a coding agent and remembers what each iteration taught. Memories,
/// guardrails and knowledge are Markdown files in your repository; tasks, learnings and the journal are in a local
/// database.
#[derive(Debug, Parser)]
#[command(name = "ralph", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  ralph demo                            # see it work without an agent
  ralph init                            # set up this project
  ralph task add \"Fix the login page\"   # add a task
  ralph run                             # let an agent work on the tasks
  ralph status                          # see progress and what needs attention
  ralph review                          # decide on learnings and failed tasks
  ralph remember \"the tests fail without --locked\" --tags ci
  ralph recall \"why do the tests fail\"  # search everything ralph remembers
  ralph memory prime --budget 2000      # print memories for a new session")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Project root [default: found from the current directory upwards]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,
    /// When to use colors [default: from the configuration]
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<ColorChoice>,
    /// Whether the arguments contain `--`, so that the text after it is taken literally.
    #[arg(skip)]
    pub(crate) text_after_dashes: bool,
    /// Who runs the command. It is not determined for read-only commands.
    #[arg(skip = Actor::Person)]
    pub(crate) actor: Actor,
    /// The arguments without the program's name, stored when an agent's command becomes a proposal.
    #[arg(skip)]
    pub(crate) arguments: Vec<String>,
    /// The stored input of an accepted proposal, read instead of standard input.
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
    /// Connect a coding agent to this project
    #[command(subcommand)]
    Setup(setup::SetupCommand),
    Doctor(doctor::DoctorArgs),
    Demo(demo::DemoArgs),
    /// Manage tasks, subtasks and dependencies
    #[command(subcommand)]
    Task(task::TaskCommand),
    /// Manage features: a specification, a plan and tasks
    #[command(subcommand)]
    Feature(feature::FeatureCommand),
    /// Manage memories: patterns, decisions, fixes and context
    #[command(subcommand)]
    Memory(memory::MemoryCommand),
    /// Manage guardrails for the current work
    #[command(subcommand)]
    Guardrails(guardrails::GuardrailsCommand),
    /// Manage the scratchpad, the agent's working notes
    #[command(subcommand)]
    Scratchpad(scratchpad::ScratchpadCommand),
    /// Manage knowledge entries, one Markdown file each
    #[command(subcommand)]
    Knowledge(knowledge::KnowledgeCommand),
    /// Manage learnings from past iterations
    #[command(subcommand)]
    Learnings(learnings::LearningsCommand),
    /// Read the journal of past iterations
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
    /// Import data from another tool
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Run commands under the names that ralph-orchestrator uses
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Respond to a coding agent's hooks, installed by `ralph setup`
    #[command(subcommand)]
    Hook(hook::HookCommand),
    MergeDriver(merge_driver::MergeDriverArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Manage memories; a new file is created at .ralph/agent/memories.md
    #[command(subcommand)]
    Memory(memory::MemoryCommand),
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
    /// As written in the file
    Markdown,
    /// Only ids
    Quiet,
}

/// The output format and its short form.
#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// Output format
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
