//! `ralph merge-driver`: what git calls to merge a notes file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ralph_model::{Shelf, count};
use ralph_notes::{Document, merge, read_file};

use crate::cli::Global;
use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::paths::{Project, Spelling};
use crate::ui::Ui;

/// Merge two versions of a notes file; git calls it
///
/// Entries are merged one by one and never conflict: added, changed and deleted ones come together, and of an entry that
/// both sides changed both versions are kept, theirs under an id of its own that names the other one. Other text is merged
/// line by line, and conflicts there get git's markers. The result replaces OURS.
///
/// `ralph init` registers it in .gitattributes and in the repository's configuration. A clone has the attributes but not
/// the configuration; until `ralph init` runs there, git merges the notes as text. It also does where git finds no ralph.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 merged, 97 merged with markers in other text; OURS was not touched: 98 left to git, 129 failed.

Examples:
  ralph init
  ralph merge-driver base.md ours.md theirs.md .agent/memories.md"
)]
pub(crate) struct MergeDriverArgs {
    /// The version that both sides came from; empty when there was none
    #[arg(allow_hyphen_values = true)]
    base: PathBuf,
    /// Our version, which the result replaces
    #[arg(allow_hyphen_values = true)]
    ours: PathBuf,
    /// Their version
    #[arg(allow_hyphen_values = true)]
    theirs: PathBuf,
    /// The file's path in the worktree, which tells memories from guardrails
    #[arg(allow_hyphen_values = true)]
    path: Option<PathBuf>,
}

/// How many notes that both sides changed are named.
const CONFLICTS_NAMED: usize = 5;
/// The exit code for markers in the result; the line that git runs tells by it that this was ralph, so it is one that other
/// programs and shells do not end with.
const MARKERS_LEFT: u8 = 97;
/// The exit code for a file that was not touched; the line that git runs leads from it to git's own merge of texts.
const LEFT_TO_GIT: u8 = 98;
/// The exit code that makes git stop. Up to 128 it would take the file for one with conflicts, ready to be committed.
const STOP: u8 = 129;

pub(crate) fn cmd_merge_driver(ui: &Ui, global: &Global, args: &MergeDriverArgs) -> ExitCode {
    match merge_files(ui, global, args) {
        Ok(code) => code,
        Err(error) => {
            ui.error(&error);
            ExitCode::from(STOP)
        }
    }
}

fn merge_files(ui: &Ui, global: &Global, args: &MergeDriverArgs) -> Result<ExitCode, CommandError> {
    let [base, ours, theirs] = [read(&args.base)?, read(&args.ours)?, read(&args.theirs)?];
    let shelf = shelf(ui, global, args.path.as_deref()).unwrap_or_else(|| shelf_by_content(&[&base, &ours, &theirs]));
    let merged = match merge(shelf, &base, &ours, &theirs) {
        Ok(merged) => merged,
        Err(error) => {
            ui.warning(&format!("{error}, so git merges it as text."));
            return Ok(ExitCode::from(LEFT_TO_GIT));
        }
    };
    if merged.bytes != ours {
        replace(&args.ours, &merged.bytes)
            .map_err(|error| CommandError::new(format!("cannot write {}: {error}", args.ours.display())))?;
    }
    for (ours, theirs) in merged.entry_conflicts.iter().take(CONFLICTS_NAMED) {
        ui.warning(&format!(
            "{ours} was changed on both sides; the other version is kept as {theirs}."
        ));
    }
    let more = merged.entry_conflicts.len().saturating_sub(CONFLICTS_NAMED);
    if more > 0 {
        let (more, command) = (count(more, "more note was", "more notes were"), shelf.words().command);
        ui.warning(&format!(
            "{more} changed on both sides; `{command} validate` lists all."
        ));
    }
    Ok(if merged.prose_conflicts == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(MARKERS_LEFT)
    })
}

fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    match read_file(path)? {
        Some(text) => Ok(text.bytes),
        None => Err(CommandError::new(format!("there is no file {}", path.display()))),
    }
}

/// Writes beside the file and renames, so that a full disk leaves it as it is. The file is git's own and nobody else's:
/// it needs no lock and no sync.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
    file.persist(path)?;
    Ok(())
}

/// The shelf of a path: by the configuration, else by its name. A configuration that cannot be read, perhaps because it is
/// being merged too, does not stand in the way.
fn shelf(ui: &Ui, global: &Global, path: Option<&Path>) -> Option<Shelf> {
    let path = env::working_folder().ok()?.join(path?);
    let shelves = [Shelf::Guardrails, Shelf::Memories];
    let global = Global {
        root: Some(match &global.root {
            Some(root) => root.clone(),
            None => Project::around(path.parent()?).root,
        }),
        color: global.color,
        text_after_dashes: global.text_after_dashes,
        actor: global.actor.clone(),
        arguments: Vec::new(),
        input: None,
    };
    let configured = Context::new(&global, ui).ok().and_then(|context| {
        let mut shelves = shelves.into_iter();
        shelves.find(|shelf| context.notebook(*shelf, Spelling::Own).path == path)
    });
    let by_name = || shelves.into_iter().find(|shelf| path.ends_with(shelf.file_name()));
    configured.or_else(by_name)
}

/// The shelf as which more entries can be read.
fn shelf_by_content(texts: &[&[u8]]) -> Shelf {
    let entries = |shelf| -> usize {
        let count = |text: &&[u8]| Document::parse(shelf, text).entries().len();
        texts.iter().map(count).sum()
    };
    if entries(Shelf::Guardrails) > entries(Shelf::Memories) {
        Shelf::Guardrails
    } else {
        Shelf::Memories
    }
}
