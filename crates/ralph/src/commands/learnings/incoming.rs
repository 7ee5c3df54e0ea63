//! Reads learnings from other stores and imports them: finds the files, loads them and reports the result.

use std::path::{Path, PathBuf};

use ralph_memory::exchange::{
    EntryProblem, FileKind, FileProblem, ForeignFile, Loaded, backup_of, load, parse, read_learnings,
};
use ralph_model::{LearningStatus, count, first_line, preview};
use ralph_notes::{FileError, read_file};
use ralph_store::{ForeignLearning, ImportOutcome, ImportedLearning, Store};
use serde_json::{Value, json};

use super::super::run::confirmed_config;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths;

/// How many skipped or rejected entries are listed for a person.
const NAMED: usize = 20;
/// Columns of a learning's text in a message about it.
pub(super) const MENTION_COLUMNS: usize = 60;

/// What to do with a file whose checksum does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Use its backup, if the backup is valid.
    Checksum,
    Any,
}

/// Learnings read from another store, ready to import.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    pub(crate) learnings: Vec<ForeignLearning>,
    /// Display paths of the files.
    sources: Vec<String>,
    /// Skipped entries, each with its file.
    problems: Vec<(String, EntryProblem)>,
    /// Remarks about the files.
    remarks: Vec<String>,
}

/// The store and staging files in a folder, or in the project's usual place for them, that exist or have a backup.
pub(crate) fn files_in(folder: &Path) -> Vec<(FileKind, PathBuf)> {
    let exists = |(_, path): &(FileKind, PathBuf)| path.exists() || backup_of(path).exists();
    let found = |folder: &Path| -> Vec<(FileKind, PathBuf)> {
        let named = |kind: FileKind| (kind, folder.join(kind.file_name()));
        [FileKind::Store, FileKind::Staging]
            .map(named)
            .into_iter()
            .filter(exists)
            .collect()
    };
    match found(folder) {
        none if none.is_empty() => found(&folder.join(paths::EARLIER_KNOWLEDGE)),
        found => found,
    }
}

/// How many learnings an import of these files would add or update.
pub(crate) fn count_changes(context: &Context<'_>, files: &[(FileKind, PathBuf)]) -> Result<usize, CommandError> {
    let incoming = Incoming::read(context, files, Trust::Checksum)?;
    let (_folder, mut copy) = copy_to_try(&context.project.database())?;
    let tally = Tally::of(&incoming.take_over(context, &mut copy)?);
    Ok(tally.added + tally.updated)
}

/// The files to read for a path.
pub(crate) fn files_at(context: &Context<'_>, path: &Path) -> Result<Vec<(FileKind, PathBuf)>, CommandError> {
    if !path.is_dir() {
        return Ok(vec![(kind_of(path)?, path.to_owned())]);
    }
    let found = files_in(path);
    if found.is_empty() {
        let [store, staging] = [FileKind::Store, FileKind::Staging].map(FileKind::file_name);
        let shown = context.project.shown(path);
        return Err(
            CommandError::new(format!("{shown} contains neither {store} nor {staging}"))
                .hint("name the file, or the folder that contains them"),
        );
    }
    Ok(found)
}

/// Tells a store from a staging file by its content, else by its name.
fn kind_of(path: &Path) -> Result<FileKind, FileError> {
    let text = read_file(path)?;
    let by_content = text.and_then(|text| FileKind::of(&parse(&text.bytes).ok()?));
    let is_staging = path
        .file_name()
        .is_some_and(|name| name == FileKind::Staging.file_name());
    let by_name = if is_staging { FileKind::Staging } else { FileKind::Store };
    Ok(by_content.unwrap_or(by_name))
}

impl Incoming {
    /// Reads all files, or fails if one of them is unusable.
    pub(crate) fn read(
        context: &Context<'_>,
        files: &[(FileKind, PathBuf)],
        trust: Trust,
    ) -> Result<Self, CommandError> {
        let mut incoming = Self::default();
        for (kind, path) in files {
            let shown = context.project.shown(path).to_string();
            let Some(loaded) = load(*kind, path)? else {
                return Err(CommandError::new(format!("{shown} does not exist")));
            };
            let file = incoming.usable(context, &shown, loaded, trust)?;
            let read = read_learnings(&file, context.clock().now());
            incoming.learnings.extend(read.learnings);
            let named = |problem: EntryProblem| (shown.clone(), problem);
            incoming.problems.extend(read.problems.into_iter().map(named));
            if read.masked > 0 {
                let learnings = count(read.masked, "learning", "learnings");
                let remark = format!("{shown}: masked a likely secret in {learnings}.");
                incoming.remarks.push(remark);
            }
            incoming.sources.push(shown);
        }
        Ok(incoming)
    }

    pub(crate) fn of(context: &Context<'_>, database: &Path, learnings: Vec<ForeignLearning>) -> Self {
        Self {
            learnings,
            sources: vec![context.project.shown(database).to_string()],
            ..Self::default()
        }
    }

    fn usable(
        &mut self,
        context: &Context<'_>,
        shown: &str,
        loaded: Loaded,
        trust: Trust,
    ) -> Result<ForeignFile, CommandError> {
        let used_anyway = |why: &FileProblem| format!("{shown}: {why}; used anyway.");
        match (loaded, trust) {
            (Loaded::Good(file), _) => Ok(file),
            (
                Loaded::Recovered {
                    why,
                    damaged_file: Some(file),
                    ..
                }
                | Loaded::Bad {
                    why,
                    damaged_file: Some(file),
                    ..
                },
                Trust::Any,
            ) => {
                self.remarks.push(used_anyway(&why));
                Ok(file)
            }
            (
                Loaded::Recovered {
                    file, from_backup, why, ..
                },
                _,
            ) => {
                let backup = context.project.shown(&from_backup);
                self.remarks
                    .push(format!("{shown}: {why}; used its valid backup {backup} instead."));
                Ok(file)
            }
            (
                Loaded::Bad {
                    why,
                    backup,
                    damaged_file,
                },
                _,
            ) => Err(refused(shown, &why, backup.as_ref(), damaged_file.is_some())),
        }
    }

    /// Imports the learnings into a store, which may be a copy for a dry run.
    pub(crate) fn take_over(
        &self,
        context: &Context<'_>,
        store: &mut Store,
    ) -> Result<Vec<ImportedLearning>, CommandError> {
        let (promote, now) = (confirmed_config(context)?.learning.promote, context.clock().now());
        let taken = context.with_entropy(|entropy| store.import_learnings(&self.learnings, promote, entropy, now));
        Ok(taken?)
    }

    /// Warns about remarks and skipped entries.
    pub(crate) fn report_remarks(&self, context: &Context<'_>) {
        for remark in &self.remarks {
            context.ui.warning(remark);
        }
        for (file, problem) in self.problems.iter().take(NAMED) {
            let id = problem.id.iter().map(|id| format!(" ({id})")).collect::<String>();
            let (number, why) = (problem.number, &problem.why);
            context
                .ui
                .warning(&format!("{file}: skipped entry {number}{id}: {why}."));
        }
        let more = self.problems.len().saturating_sub(NAMED);
        if more > 0 {
            context.ui.warning(&format!("{more} more skipped; --json lists all."));
        }
    }

    /// Lists rejected learnings with their reasons.
    pub(crate) fn report_rejected(&self, context: &Context<'_>, taken: &[ImportedLearning]) {
        let all = self.learnings.iter().zip(taken);
        let rejected: Vec<_> = all.filter(|(_, taken)| is_rejected(taken)).collect();
        for (learning, taken) in rejected.iter().take(NAMED) {
            let text = preview(first_line(&learning.content), MENTION_COLUMNS);
            let reason = taken.reason.as_deref().unwrap_or("no reason given");
            context.ui.status(&format!("Rejected: \"{text}\": {reason}."));
        }
        let more = rejected.len().saturating_sub(NAMED);
        if more > 0 {
            context.ui.status(&format!("{more} more rejected; --json lists all."));
        }
    }

    /// The result for `--json`.
    pub(crate) fn json(&self, taken: &[ImportedLearning]) -> Value {
        let tally = Tally::of(taken);
        let problem = |(file, problem): &(String, EntryProblem)| json!({ "file": file, "entry": problem.number, "id": problem.id, "why": problem.why });
        let rejected = |taken: &&ImportedLearning| taken.status == LearningStatus::Rejected;
        json!({
            "sources": self.sources,
            "added": tally.added,
            "updated": tally.updated,
            "strengthened": tally.strengthened,
            "unchanged": tally.unchanged,
            "rejected": taken.iter().filter(rejected).map(|taken| json!({ "id": taken.id, "reason": taken.reason })).collect::<Vec<_>>(),
            "left_out": self.problems.iter().map(problem).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}

fn refused(shown: &str, why: &FileProblem, backup: Option<&FileProblem>, can_be_forced: bool) -> CommandError {
    let backup = match backup {
        Some(problem) => format!("its backup is not usable either: {problem}"),
        None => "it has no backup".to_owned(),
    };
    let error = CommandError::new(format!("{shown}: {why}; {backup}"));
    if can_be_forced {
        error.hint("check the file, then import it with `ralph learnings import FILE --force`")
    } else {
        error.hint("restore it from a backup; nothing was imported")
    }
}

/// A temporary copy of the project's database for a dry run, deleted with the folder; empty if there is no database.
pub(crate) fn copy_to_try(database: &Path) -> Result<(tempfile::TempDir, Store), CommandError> {
    let folder =
        tempfile::tempdir().map_err(|error| CommandError::new(format!("cannot create a temporary folder: {error}")))?;
    let store = Store::copy_to_try(database, &folder.path().join("copy.db"))?;
    Ok((folder, store))
}

/// Counts of imported learnings by result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) added: usize,
    pub(crate) updated: usize,
    pub(crate) strengthened: usize,
    pub(crate) unchanged: usize,
    pub(crate) rejected: usize,
}

impl Tally {
    pub(crate) fn of(taken: &[ImportedLearning]) -> Self {
        let mut tally = Self::default();
        for ImportedLearning { taken, .. } in taken {
            let counter = match taken {
                ImportOutcome::Added => &mut tally.added,
                ImportOutcome::Updated => &mut tally.updated,
                ImportOutcome::Strengthened | ImportOutcome::Reworded => &mut tally.strengthened,
                ImportOutcome::Unchanged => &mut tally.unchanged,
            };
            *counter += 1;
        }
        tally.rejected = taken.iter().filter(|taken| is_rejected(taken)).count();
        tally
    }

    /// The non-zero counts as text.
    pub(crate) fn summary(self) -> String {
        let parts = [
            (self.added, "new"),
            (self.updated, "updated"),
            (self.strengthened, "reinforced"),
            (self.unchanged, "unchanged"),
            (self.rejected, "rejected"),
        ];
        let shown: Vec<String> = parts
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{number} {what}"))
            .collect();
        shown.join(", ")
    }
}

/// Whether this import rejected the learning.
fn is_rejected(taken: &ImportedLearning) -> bool {
    taken.status == LearningStatus::Rejected && taken.taken != ImportOutcome::Unchanged
}
