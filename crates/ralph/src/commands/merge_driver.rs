//! `ralph merge-driver`: merges two versions of a notes file for git.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ralph_model::{NoteFileKind, count};
use ralph_notes::{Document, merge, read_file};

use crate::cli::Global;
use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::paths::{Project, Spelling};
use crate::ui::Ui;

/// Merge two versions of a notes file, for git
///
/// Merges entry by entry, without conflicts: additions, changes and deletions from both sides are combined. If both
/// sides changed an entry, both versions are kept, theirs under a new id that refers to the other. Other text is merged
/// line by line, with git's conflict markers. The result replaces OURS.
///
/// `ralph init` registers the driver in .gitattributes and in the repository's configuration. A clone has only the
/// attributes: until `ralph init` runs there, or if git does not find ralph, git merges the notes as text.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 merged, 97 merged with conflict markers, 98 left to git, 129 failed. After 98 and 129 OURS is unchanged.

Examples:
  ralph init
  ralph merge-driver base.md ours.md theirs.md .agent/memories.md"
)]
pub(crate) struct MergeDriverArgs {
    /// Common ancestor; an empty file if there is none
    #[arg(allow_hyphen_values = true)]
    base: PathBuf,
    /// Our version; replaced by the result
    #[arg(allow_hyphen_values = true)]
    ours: PathBuf,
    /// Their version
    #[arg(allow_hyphen_values = true)]
    theirs: PathBuf,
    /// Path of the file in the worktree, which tells memories from guardrails
    #[arg(allow_hyphen_values = true)]
    path: Option<PathBuf>,
}

/// How many notes changed on both sides are listed.
const CONFLICTS_NAMED: usize = 5;
/// Exit code for conflict markers in the result. The command that git runs recognises ralph by it, so it must not be a
/// common code of other programs and shells.
const MARKERS_LEFT: u8 = 97;
/// Exit code for an unchanged file. The command that git runs then falls back to git's own text merge.
const LEFT_TO_GIT: u8 = 98;
/// Exit code that makes git stop. Git treats codes up to 128 as a merge with conflicts, ready to be committed.
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
    let kind =
        kind_by_path(ui, global, args.path.as_deref()).unwrap_or_else(|| kind_by_content(&[&base, &ours, &theirs]));
    let merged = match merge(kind, &base, &ours, &theirs) {
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
            "{ours} was changed on both sides; kept the other version as {theirs}."
        ));
    }
    let more = merged.entry_conflicts.len().saturating_sub(CONFLICTS_NAMED);
    if more > 0 {
        let (more, command) = (count(more, "more note was", "more notes were"), kind.words().command);
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
        None => Err(CommandError::new(format!("file not found: {}", path.display()))),
    }
}

/// Writes a temporary file and renames it, so that a full disk leaves the file unchanged. It is git's private file, so
/// it needs no lock and no sync.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
    file.persist(path)?;
    Ok(())
}

/// The kind of a notes file by its path: from the configuration, else from its name. An unreadable configuration is
/// ignored: it may be part of the same merge.
fn kind_by_path(ui: &Ui, global: &Global, path: Option<&Path>) -> Option<NoteFileKind> {
    let path = env::working_folder().ok()?.join(path?);
    let kinds = [NoteFileKind::Guardrails, NoteFileKind::Memories];
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
        let mut kinds = kinds.into_iter();
        kinds.find(|kind| context.note_repository(*kind, Spelling::Own).path == path)
    });
    let by_name = || kinds.into_iter().find(|kind| path.ends_with(kind.file_name()));
    configured.or_else(by_name)
}

/// The kind with which more entries parse.
fn kind_by_content(texts: &[&[u8]]) -> NoteFileKind {
    let entries = |kind| -> usize {
        let count = |text: &&[u8]| Document::parse(kind, text).entries().len();
        texts.iter().map(count).sum()
    };
    if entries(NoteFileKind::Guardrails) > entries(NoteFileKind::Memories) {
        NoteFileKind::Guardrails
    } else {
        NoteFileKind::Memories
    }
}
