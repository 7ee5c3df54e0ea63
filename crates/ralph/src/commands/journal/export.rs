//! `ralph journal export`: writes a run as files for other tools.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ralph_memory::capture::{LoopProgress, write_loop_history};
use ralph_model::{EndKind, count};
use ralph_notes::{FileError, create_folder, read_file, write_new_file};
use ralph_store::{Run, Store};

use super::which::find_run;
use crate::context::Context;
use crate::error::CommandError;

/// The folder of the iterations, and the file of the run.
const ITERATIONS: &str = "iterations";
const STATE: &str = "state.json";

/// Export a run as files for other tools
///
/// The `state` format writes state.json and one file per iteration in the folder iterations. Files with different
/// content are never overwritten.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph journal export run-1a2b3c4d
  ralph journal export 1a2b --format state --to backup/run
  ralph learnings extract --from backup/run/state.json  # extract its learnings")]
pub(crate) struct ExportArgs {
    /// Id or id prefix of the run
    #[arg(value_name = "RUN")]
    run: String,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ExportFormat::State)]
    format: ExportFormat,
    /// Output folder, created if missing; defaults to the id of the run
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// A loop history: state.json and iterations/
    State,
}

pub(super) fn cmd_export(context: &Context<'_>, args: &ExportArgs) -> Result<(), CommandError> {
    let ExportFormat::State = args.format;
    let unknown = || {
        CommandError::new(format!("run not found: {:?}", args.run))
            .hint("run ids look like run-1a2b3c4d; list them with `ralph journal list`")
    };
    let store: Store = context.facts()?.ok_or_else(unknown)?;
    let run = find_run(&store, &args.run)?;
    let history = store.run_history(&run)?;
    let progress = match store.run(&run)? {
        None if history.iterations.is_empty() => return Err(unknown()),
        Some(run) => progress_of(&run),
        // A run imported from another tool has journal entries but no record of the run.
        None => LoopProgress::Over,
    };
    let written = write_loop_history(&history, progress).map_err(|error| CommandError::new(error.to_string()))?;
    let folder = args.to.clone().unwrap_or_else(|| PathBuf::from(run.as_str()));
    let absolute =
        std::path::absolute(&folder).map_err(|error| CommandError::usage(format!("{}: {error}", folder.display())))?;
    // The state file comes last, so that its iterations exist when it does.
    let parts = written
        .iterations
        .iter()
        .map(|(name, text)| (absolute.join(ITERATIONS).join(name), text));
    let files: Vec<(PathBuf, &String)> = parts.chain([(absolute.join(STATE), &written.state)]).collect();
    write_all(&files)?;
    let iterations = count(history.iterations.len(), "iteration", "iterations");
    let place = folder.join(STATE);
    context
        .ui
        .data(&format!("Exported {run} with {iterations} to {}\n", place.display()))
}

fn progress_of(run: &Run) -> LoopProgress {
    match run.ended.as_ref().map(|end| end.kind) {
        None => LoopProgress::Running,
        Some(EndKind::Complete) => LoopProgress::Over,
        Some(EndKind::NeedsAttention) => LoopProgress::NeedsAttention,
        Some(EndKind::Stopped | EndKind::Killed) => LoopProgress::Stopped,
    }
}

/// Writes all missing files or none. Existing files with the same content are kept.
fn write_all(files: &[(PathBuf, &String)]) -> Result<(), CommandError> {
    let mut missing = Vec::new();
    for (path, text) in files {
        match read_file(path)? {
            None => missing.push((path, text)),
            Some(there) if there.bytes == text.as_bytes() => {}
            Some(_) => return Err(taken(path)),
        }
    }
    let mut done: Vec<&Path> = Vec::new();
    for (path, text) in missing {
        let written = path.parent().map_or(Ok(()), create_folder);
        if let Err(error) = written.and_then(|()| write_new_file(path, text.as_bytes())) {
            for path in done {
                // A file that cannot be removed is correct, and the next try accepts it.
                drop(std::fs::remove_file(path));
            }
            return Err(refused(path, error));
        }
        done.push(path);
    }
    Ok(())
}

fn refused(path: &Path, error: FileError) -> CommandError {
    if path.exists() { taken(path) } else { error.into() }
}

fn taken(path: &Path) -> CommandError {
    CommandError::new(format!("{} already exists with different content", path.display()))
        .hint("choose another folder with `--to`")
}
