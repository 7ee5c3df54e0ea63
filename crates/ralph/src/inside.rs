//! Decides what a command may do inside an iteration. Every command has a class; for an agent it is allowed, becomes a
//! proposal, or is refused. This prevents accidents and is not a security boundary.

use std::process::ExitCode;

use ralph_memory::capture::{SecretPolicy, accept};
use ralph_model::{Actor, NoteFileKind};
use ralph_store::{LearningError, NewProposal, ProposedCommand, Store, Wait};

use crate::classes::Class;
use crate::cli::{Command, Global, ToolsCommand};
use crate::commands::config::ConfigCommand;
use crate::commands::feature::FeatureCommand;
use crate::commands::guardrails::GuardrailsCommand;
use crate::commands::hook::HookCommand;
use crate::commands::import::ImportCommand;
use crate::commands::journal::JournalCommand;
use crate::commands::knowledge::{self, KnowledgeCommand};
use crate::commands::learnings::LearningsCommand;
use crate::commands::memory::MemoryCommand;
use crate::commands::notes::{NoteFamily, NotesCommand};
use crate::commands::scratchpad::ScratchpadCommand;
use crate::commands::setup::SetupCommand;
use crate::commands::task::{TaskCommand, store_to_write};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;
use crate::ui::Ui;
use crate::{actor, classes, commands};

/// Finds out who runs a command, then runs, proposes or refuses it.
pub(crate) fn run(ui: &Ui, mut global: Global, command: Option<Command>) -> Result<ExitCode, CommandError> {
    let Some(command) = command else {
        return commands::run(ui, &global, None);
    };
    let words = words(&command);
    let class = match classes::of(words) {
        Class::ReadUnlessChanging if changes(&command) => Class::Refused,
        Class::ReadUnlessChanging => Class::Read,
        class => class,
    };
    if class == Class::Read {
        return commands::run(ui, &global, Some(command));
    }
    global.actor = actor::find(&global);
    if global.actor == Actor::Person {
        return commands::run(ui, &global, Some(command));
    }
    match class {
        Class::Refused => Err(refusal(words)),
        Class::Propose => match proposed_targets(ui, &global, &command)? {
            Some(targets) => propose(ui, &global, words, &targets),
            None => commands::run(ui, &global, Some(command)),
        },
        Class::Read | Class::ReadUnlessChanging | Class::Note | Class::TaskAdd => {
            commands::run(ui, &global, Some(command))
        }
    }
}

/// The error for a command that agents may not run, and what they can do instead.
fn refusal(words: &str) -> CommandError {
    let refused = CommandError::new(format!("`ralph {words}` is refused inside an iteration"));
    let hint = match words {
        "task done" => "report it in your final message: <task-done>ID</task-done>",
        "task fail" => "report it in your final message: <task-failed>ID reason</task-failed>",
        words if words.starts_with("task ") => {
            "report your own task with <task-done>ID</task-done> or <task-failed>ID reason</task-failed>; \
             `ralph task add` proposes a new one"
        }
        _ => "only the user can run it, outside the run",
    };
    refused.hint(hint)
}

/// A name in a command and the id that it refers to.
struct Target {
    named: String,
    id: String,
}

/// Returns what a command would change that belongs to the user; `None` if the command may run.
fn proposed_targets(ui: &Ui, global: &Global, command: &Command) -> Result<Option<Vec<Target>>, CommandError> {
    let context = Context::new(global, ui)?;
    let (kind, spelling, named) = match command {
        Command::Learnings(command @ LearningsCommand::Restore(_)) if command.targets().is_empty() => return Ok(None),
        Command::Learnings(learnings) => return targets_of_learnings(&context, learnings).map(Some),
        Command::Knowledge(KnowledgeCommand::Delete(args)) => {
            let (named, id) = (args.name().to_owned(), knowledge::resolve_file(&context, args.name())?);
            // A note that the user has edited by hand no longer belongs to the agent.
            context.knowledge().detect_changes(context.clock().now());
            return not_all_own(&context, vec![Target { named, id }]);
        }
        Command::Memory(MemoryCommand::Notes(notes))
        | Command::Tools(ToolsCommand::Memory(MemoryCommand::Notes(notes)))
            if notes.asks_for_editor() =>
        {
            return Err(no_change_named());
        }
        Command::Guardrails(GuardrailsCommand::Notes(notes)) if notes.asks_for_editor() => {
            return Err(no_change_named());
        }
        Command::Remember(args) => match args.supersedes() {
            Some((old, kind)) => (kind, Spelling::Own, vec![old]),
            None => return Ok(None),
        },
        Command::Memory(memory) => (NoteFileKind::Memories, Spelling::Own, memory.targets()),
        Command::Tools(ToolsCommand::Memory(memory)) => {
            (NoteFileKind::Memories, Spelling::Orchestrator, memory.targets())
        }
        Command::Guardrails(GuardrailsCommand::Notes(notes)) if notes.adds_rule() => return Ok(Some(Vec::new())),
        Command::Guardrails(guardrails) => (NoteFileKind::Guardrails, Spelling::Own, guardrails.targets()),
        _ => return Ok(None),
    };
    if named.is_empty() {
        return Ok(None);
    }
    let note_repository = context.note_repository(kind, spelling);
    let reading = note_repository.read()?;
    // A note that the user has edited by hand no longer belongs to the agent.
    context.report_findings(&note_repository, &note_repository.detect_changes(reading.stamp()));
    let document = reading.document();
    let mut targets = Vec::new();
    for named in named {
        let id = match note_repository.select(&document, named) {
            Ok(entry) => document.id(entry).to_owned(),
            Err(error) => {
                let versions = note_repository.history(named)?;
                let mut ids: Vec<String> = versions.iter().map(|version| version.note.id.to_string()).collect();
                ids.dedup();
                match <[String; 1]>::try_from(ids) {
                    Ok([one]) => one,
                    Err(_) => return Err(error.into()),
                }
            }
        };
        let named = named.to_owned();
        targets.push(Target { named, id });
    }
    not_all_own(&context, targets)
}

fn no_change_named() -> CommandError {
    CommandError::usage("inside an iteration, `edit` needs the new values as options")
        .hint("use --content, --tags or --type")
}

/// The targets, or `None` if only agents ever wrote them.
fn not_all_own(context: &Context<'_>, targets: Vec<Target>) -> Result<Option<Vec<Target>>, CommandError> {
    let store = Store::open_for_reading(&context.project.database(), Wait::Long)?;
    for target in &targets {
        let is_own = match &store {
            Some(store) => store.is_written_by_agents(&target.id)?,
            None => false,
        };
        if !is_own {
            return Ok(Some(targets));
        }
    }
    Ok(None)
}

fn targets_of_learnings(context: &Context<'_>, command: &LearningsCommand) -> Result<Vec<Target>, CommandError> {
    let named = command.targets();
    let Some(first) = named.first() else {
        return Err(CommandError::new(
            "inside an iteration, name the learnings by their ids",
        ));
    };
    let unknown = || LearningError::Unknown {
        text: (*first).to_owned(),
    };
    let store = context.facts()?.ok_or_else(unknown)?;
    let found = named.into_iter().map(|named| {
        Ok(Target {
            id: store.find_learning(named)?.to_string(),
            named: named.to_owned(),
        })
    });
    found.collect()
}

/// Stores the command for the user to accept or reject.
fn propose(ui: &Ui, global: &Global, words: &str, targets: &[Target]) -> Result<ExitCode, CommandError> {
    let context = Context::new(global, ui)?;
    let full = |argument: &String| {
        let target = targets.iter().find(|target| target.named == *argument);
        target.map_or_else(|| argument.clone(), |target| target.id.clone())
    };
    let reads_input = global.arguments.iter().any(|argument| argument == "-");
    let command = ProposedCommand {
        arguments: global.arguments.iter().map(full).collect(),
        input: match reads_input {
            true => Some(context.read_input(ralph_memory::capture::MAX_NOTE_BYTES)?),
            false => None,
        },
    };
    for text in command.arguments.iter().chain(&command.input) {
        if !text.trim().is_empty() {
            accept(text, SecretPolicy::Refuse)?;
        }
    }
    let target: Vec<&str> = targets.iter().map(|target| target.id.as_str()).collect();
    let new = NewProposal {
        change: words,
        target: &target.join(" "),
        command: &command,
    };
    let mut store = store_to_write(&context)?;
    let now = context.clock().now();
    let id = context.with_entropy(|entropy| store.propose(&new, entropy, now))?;
    context
        .ui
        .status("Not run: waiting for the user to accept or reject it in `ralph review`.");
    context.ui.result("📨", &format!("Proposed: {id}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns true if the flags of a read-only command make it change something.
fn changes(command: &Command) -> bool {
    match command {
        Command::Status(args) => args.changes(),
        Command::Doctor(args) => args.changes(),
        Command::Task(TaskCommand::Deps(args)) => args.changes(),
        Command::Learnings(LearningsCommand::Conflicts(args)) => args.changes(),
        Command::Learnings(LearningsCommand::Verify(args)) => args.changes(),
        _ => false,
    }
}

/// The words of a command, as listed in `classes`.
fn words(command: &Command) -> &'static str {
    match command {
        Command::Run(_) => "run",
        Command::Status(_) => "status",
        Command::Remember(_) => "remember",
        Command::Recall(_) => "recall",
        Command::Review(_) => "review",
        Command::Why(_) => "why",
        Command::Init(_) => "init",
        Command::Setup(SetupCommand::Claude(_)) => "setup claude",
        Command::Doctor(_) => "doctor",
        Command::Config(args) => match args.command {
            Some(ConfigCommand::Set(_)) => "config set",
            None => "config",
        },
        Command::Demo(_) => "demo",
        Command::Task(command) => words_of_task(command),
        Command::Feature(command) => match command {
            FeatureCommand::Create(_) => "feature create",
            FeatureCommand::List(_) => "feature list",
            FeatureCommand::Show(_) => "feature show",
            FeatureCommand::Delete(_) => "feature delete",
        },
        Command::Memory(command) => words_of_memory(command),
        Command::Tools(ToolsCommand::Memory(command)) => words_of_memory(command),
        Command::Guardrails(command) => match command {
            GuardrailsCommand::Notes(command) => words_of_notes(command, GUARDRAILS),
            GuardrailsCommand::Migrate(_) => "guardrails migrate",
            GuardrailsCommand::Promote(_) => "guardrails promote",
        },
        Command::Scratchpad(command) => match command {
            ScratchpadCommand::Show(_) => "scratchpad show",
            ScratchpadCommand::Append(_) => "scratchpad append",
            ScratchpadCommand::Clear(_) => "scratchpad clear",
        },
        Command::Knowledge(command) => match command {
            KnowledgeCommand::Add(_) => "knowledge add",
            KnowledgeCommand::Search(_) => "knowledge search",
            KnowledgeCommand::List(_) => "knowledge list",
            KnowledgeCommand::Show(_) => "knowledge show",
            KnowledgeCommand::Delete(_) => "knowledge delete",
            KnowledgeCommand::Restore(_) => "knowledge restore",
            KnowledgeCommand::Graph(_) => "knowledge graph",
        },
        Command::Learnings(command) => words_of_learnings(command),
        Command::Journal(command) => match command {
            JournalCommand::List(_) => "journal list",
            JournalCommand::Show(_) => "journal show",
            JournalCommand::Search(_) => "journal search",
            JournalCommand::Export(_) => "journal export",
        },
        Command::Diff(_) => "diff",
        Command::Branches(_) => "branches",
        Command::Blame(_) => "blame",
        Command::Undo(_) => "undo",
        Command::Rollback(_) => "rollback",
        Command::Stats(_) => "stats",
        Command::Prompt(_) => "prompt",
        Command::Import(command) => match command {
            ImportCommand::Refound(_) => "import refound",
            ImportCommand::RalphOrchestrator(_) => "import ralph-orchestrator",
        },
        Command::Hook(HookCommand::SessionStart(_)) => "hook session-start",
        Command::MergeDriver(_) => "merge-driver",
        Command::Completions(_) => "completions",
        Command::Man(_) => "man",
    }
}

fn words_of_task(command: &TaskCommand) -> &'static str {
    match command {
        TaskCommand::Add(_) => "task add",
        TaskCommand::Import(_) => "task import",
        TaskCommand::List(_) => "task list",
        TaskCommand::Tree(_) => "task tree",
        TaskCommand::Show(_) => "task show",
        TaskCommand::Update(_) => "task update",
        TaskCommand::Deps(_) => "task deps",
        TaskCommand::Done(_) => "task done",
        TaskCommand::Fail(_) => "task fail",
        TaskCommand::Reset(_) => "task reset",
        TaskCommand::Delete(_) => "task delete",
        TaskCommand::Restore(_) => "task restore",
        TaskCommand::Log(_) => "task log",
    }
}

/// The words of the verbs that memories and guardrails share, in the order of [`NotesCommand`].
type NoteWords = [&'static str; 8];
const MEMORY: NoteWords = [
    "memory add",
    "memory search",
    "memory list",
    "memory show",
    "memory edit",
    "memory delete",
    "memory restore",
    "memory validate",
];
const GUARDRAILS: NoteWords = [
    "guardrails add",
    "guardrails search",
    "guardrails list",
    "guardrails show",
    "guardrails edit",
    "guardrails delete",
    "guardrails restore",
    "guardrails validate",
];

fn words_of_memory(command: &MemoryCommand) -> &'static str {
    match command {
        MemoryCommand::Notes(command) => words_of_notes(command, MEMORY),
        MemoryCommand::Prime(_) => "memory prime",
        MemoryCommand::Init(_) => "memory init",
    }
}

fn words_of_notes<S: NoteFamily>(command: &NotesCommand<S>, words: NoteWords) -> &'static str {
    let [add, search, list, show, edit, delete, restore, validate] = words;
    match command {
        NotesCommand::Add(_) => add,
        NotesCommand::Search(_) => search,
        NotesCommand::List(_) => list,
        NotesCommand::Show(_) => show,
        NotesCommand::Edit(_) => edit,
        NotesCommand::Delete(_) => delete,
        NotesCommand::Restore(_) => restore,
        NotesCommand::Validate(_) => validate,
    }
}

fn words_of_learnings(command: &LearningsCommand) -> &'static str {
    match command {
        LearningsCommand::Add(_) => "learnings add",
        LearningsCommand::List(_) => "learnings list",
        LearningsCommand::Show(_) => "learnings show",
        LearningsCommand::Query(_) => "learnings query",
        LearningsCommand::Extract(_) => "learnings extract",
        LearningsCommand::Promote(_) => "learnings promote",
        LearningsCommand::Reject(_) => "learnings reject",
        LearningsCommand::Prune(_) => "learnings prune",
        LearningsCommand::Restore(_) => "learnings restore",
        LearningsCommand::Stage(_) => "learnings stage",
        LearningsCommand::Validate(_) => "learnings validate",
        LearningsCommand::Update(_) => "learnings update",
        LearningsCommand::Delete(_) => "learnings delete",
        LearningsCommand::Clear(_) => "learnings clear",
        LearningsCommand::Stats(_) => "learnings stats",
        LearningsCommand::Conflicts(_) => "learnings conflicts",
        LearningsCommand::Supersede(_) => "learnings supersede",
        LearningsCommand::Verify(_) => "learnings verify",
        LearningsCommand::Export(_) => "learnings export",
        LearningsCommand::Import(_) => "learnings import",
        LearningsCommand::Merge(_) => "learnings merge",
    }
}
