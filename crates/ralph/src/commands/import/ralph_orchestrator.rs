//! `ralph import ralph-orchestrator`: imports tasks and memories.

use std::path::{Path, PathBuf};

use clap::Args;
use ralph_memory::capture::{ImportedNotes, NoteRepository};
use ralph_model::{Note, NoteFileKind};
use ralph_notes::{Document, read_file, resolve};
use ralph_store::{ForeignHistory, Remark, Tally};

use super::cleaned::cleaned;
use super::orchestrator_tasks::read_tasks;
use super::report::Report;
use super::{Mode, SourceArgs, import, lock_worktree};
use crate::commands::notes::SecretArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{Project, Spelling};

/// Import tasks and memories of ralph-orchestrator
///
/// Memories keep their ids. The other tool's files are only read. Lines that cannot be read are reported and skipped,
/// and entries that were imported before are not imported again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph import ralph-orchestrator --dry-run
  ralph import ralph-orchestrator
  ralph import ralph-orchestrator ../old-project  # a project, or a tasks.jsonl")]
pub(crate) struct RalphOrchestratorArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// The name of its tasks file.
const TASKS: &str = "tasks.jsonl";

/// The other tool's files.
struct Source {
    tasks: Option<PathBuf>,
    memories: Option<PathBuf>,
}

pub(super) fn cmd_ralph_orchestrator(context: &Context<'_>, args: &RalphOrchestratorArgs) -> Result<(), CommandError> {
    let mode = args.source.mode();
    let source = find(context, args.source.absolute()?.as_deref())?;
    let shown = |path: &PathBuf| context.project.shown(path).to_string();
    let mut report = Report {
        sources: [&source.tasks, &source.memories]
            .into_iter()
            .flatten()
            .map(shown)
            .collect(),
        ..Report::default()
    };
    let history = match &source.tasks {
        Some(path) => cleaned(read_tasks(&shown(path), &bytes_of(path)?)),
        None => ForeignHistory::default(),
    };
    let note_repository = context.note_repository(NoteFileKind::Memories, Spelling::Own);
    let (notes, mut remarks) = match &source.memories {
        Some(path) => memories(&shown(path), &bytes_of(path)?),
        None => (Vec::new(), Vec::new()),
    };
    let _lock = (mode == Mode::Real).then(|| lock_worktree(context)).transpose()?;
    if source.tasks.is_some() {
        report.history = import(context, &history, mode)?;
    }
    let is_own = match &source.memories {
        Some(path) => resolve(path)? == resolve(&note_repository.path)?,
        None => false,
    };
    if source.memories.is_some() && !is_own {
        let taken = take_in(context, &note_repository, &notes, (mode, args))?;
        report.memories = Some(Tally {
            added: taken.added.len(),
            known: taken.known,
        });
        remarks.extend(remarks_on(&taken));
        if let Some(stored) = &taken.stored {
            context.report_stored(&note_repository, stored);
        }
    }
    report.history.remarks.extend(remarks);
    report.print(context, mode, args.source.json)?;
    if is_own {
        let shown = context.project.shown(&note_repository.path);
        context
            .ui
            .status(&format!("{shown} needs no import: ralph uses it directly."));
    }
    Ok(())
}

fn take_in(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    notes: &[Note],
    (mode, args): (Mode, &RalphOrchestratorArgs),
) -> Result<ImportedNotes, CommandError> {
    let secrets = args.secrets.policy();
    Ok(match mode {
        Mode::Real => context.with_entropy(|entropy| note_repository.take_in(notes, (secrets, entropy)))?,
        Mode::DryRun => note_repository.preview_import(notes, secrets)?,
    })
}

fn remarks_on(taken: &ImportedNotes) -> Vec<Remark> {
    let renamed = taken.renamed.iter().map(|(there, here)| {
        let becomes = match here {
            Some(here) => format!("imported as {here}"),
            None => "imported under a new id".to_owned(),
        };
        Remark::new(there.to_string(), format!("its id is taken: {becomes}"))
    });
    let refused = taken
        .refused
        .iter()
        .map(|(id, why)| Remark::new(id.to_string(), format!("{why}: skipped")));
    renamed.chain(refused).collect()
}

/// The notes of a file, and remarks on unreadable parts.
fn memories(name: &str, bytes: &[u8]) -> (Vec<Note>, Vec<Remark>) {
    let document = Document::parse(NoteFileKind::Memories, bytes);
    let notes = document
        .entries()
        .iter()
        .filter_map(|entry| document.note(entry))
        .collect();
    let lines = document.line_numbers(document.problems().iter().map(|problem| problem.at));
    let problems = document.problems().iter().zip(lines);
    let remarks = problems.map(|(problem, line)| Remark::new(format!("{name}:{line}"), problem.kind.to_string()));
    (notes, remarks.collect())
}

/// Finds the files of this project, of another one, or at a given path.
fn find(context: &Context<'_>, path: Option<&Path>) -> Result<Source, CommandError> {
    let there = |paths: Vec<PathBuf>| paths.into_iter().find(|path| path.is_file());
    let in_project = |project: &Project| Source {
        tasks: there(project.orchestrator_files(TASKS).to_vec()),
        memories: there(project.orchestrator_files(NoteFileKind::Memories.file_name()).to_vec()),
    };
    let source = match path {
        None => in_project(&context.project),
        Some(folder) if folder.is_dir() => {
            let source = in_project(&Project::at(folder.to_owned()));
            Source {
                tasks: source.tasks.or_else(|| there(vec![folder.join(TASKS)])),
                memories: source
                    .memories
                    .or_else(|| there(vec![folder.join(NoteFileKind::Memories.file_name())])),
            }
        }
        Some(file)
            if file
                .file_name()
                .is_some_and(|name| name == NoteFileKind::Memories.file_name()) =>
        {
            Source {
                tasks: None,
                memories: there(vec![file.to_owned()]),
            }
        }
        Some(file) => Source {
            tasks: there(vec![file.to_owned()]),
            memories: there(vec![file.with_file_name(NoteFileKind::Memories.file_name())]),
        },
    };
    let is_missing = path.is_some_and(|path| !path.exists()) || (source.tasks.is_none() && source.memories.is_none());
    if !is_missing {
        return Ok(source);
    }
    let where_to = path.unwrap_or(&context.project.root).display();
    Err(
        CommandError::new(format!("no tasks or memories of ralph-orchestrator in {where_to}"))
            .hint("pass the project's folder, or the path of its tasks.jsonl"),
    )
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, CommandError> {
    Ok(read_file(path)?.map(|text| text.bytes).unwrap_or_default())
}
