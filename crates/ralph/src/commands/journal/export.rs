//! `ralph journal export`: a run as files that other tools read.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ralph_loop::state::RecordedEnd;
use ralph_memory::capture::{LoopProgress, write_loop_history};
use ralph_model::count;
use ralph_notes::{FileError, create_folder, read_file, write_new_file};
use ralph_store::{Run, Store};

use super::which::find_run;
use crate::context::Context;
use crate::error::CommandError;

/// The folder of the iterations, and the file of the whole.
const ITERATIONS: &str = "iterations";
const STATE: &str = "state.json";

/// Write a run as files that other tools read
///
/// The format `state` is a file state.json, and one for each iteration in the folder iterations. No file that says something
/// else is overwritten.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph journal export run-1a2b3c4d
  ralph journal export 1a2b --format state --to backup/run
  ralph learnings extract --from backup/run/state.json  # what it teaches")]
pub(crate) struct ExportArgs {
    /// The run, by its id or the beginning of it
    #[arg(value_name = "RUN")]
    run: String,
    /// In which form
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ExportFormat::State)]
    format: ExportFormat,
    /// The folder that the files go to, made where it is missing; one with the id of the run if nothing is given
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

/// A form in which a run is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// A loop history: state.json and iterations/
    State,
}

pub(super) fn cmd_export(context: &Context<'_>, args: &ExportArgs) -> Result<(), CommandError> {
    let ExportFormat::State = args.format;
    let unknown = || {
        CommandError::new(format!("there is no run {:?}", args.run))
            .hint("the id of a run looks like run-1a2b3c4d; `ralph journal list` shows them")
    };
    let store: Store = context.facts()?.ok_or_else(unknown)?;
    let run = find_run(&store, &args.run)?;
    let history = store.run_history(&run)?;
    let progress = match store.run(&run)? {
        None if history.iterations.is_empty() => return Err(unknown()),
        Some(run) => progress_of(&run),
        // What was taken over from another tool has rows, and no run.
        None => LoopProgress::Over,
    };
    let written = write_loop_history(&history, progress).map_err(|error| CommandError::new(error.to_string()))?;
    let folder = args.to.clone().unwrap_or_else(|| PathBuf::from(run.as_str()));
    let absolute =
        std::path::absolute(&folder).map_err(|error| CommandError::usage(format!("{}: {error}", folder.display())))?;
    // Whoever finds the whole finds its parts as well.
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
    let Some((_, sentence)) = &run.ended else {
        return LoopProgress::Running;
    };
    match RecordedEnd::of(sentence, run.end_code) {
        RecordedEnd::Complete => LoopProgress::Over,
        RecordedEnd::WentThrough => LoopProgress::WentThrough,
        RecordedEnd::Stopped => LoopProgress::Stopped,
    }
}

/// Writes files that are not there yet, all of them or none; those that say the same already stay.
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
                // What is left of it says nothing wrong, and the next try takes it as it is.
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
    CommandError::new(format!("{} is there already, and says something else", path.display()))
        .hint("name another folder with `--to`")
}
