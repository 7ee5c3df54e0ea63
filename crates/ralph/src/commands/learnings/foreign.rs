//! Learnings of other stores on their way in: which files are meant, what could be had of them, what became of it.

use std::path::{Path, PathBuf};

use ralph_memory::exchange::{
    EntryProblem, FileKind, FileProblem, ForeignFile, Loaded, backup_of, load, parse, read_lessons,
};
use ralph_memory::recall::keep_foreign;
use ralph_model::{LearningStatus, count, first_line, preview};
use ralph_notes::{FileError, read_file};
use ralph_store::{ForeignLearning, Store, Taken, TakenLearning};
use serde_json::{Value, json};

use super::super::run::confirmed_config;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths;

/// How many of those that were left out or rejected are named to a person.
const NAMED: usize = 20;
/// How many columns of a learning stand where it is only mentioned.
pub(super) const MENTION_COLUMNS: usize = 60;

/// What is taken of a file that is not as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Its backup, if that is as it was written.
    Checksum,
    /// What stands in it.
    AsItStands,
}

/// What could be had of the files of another tool.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// The learnings, in their order.
    pub(crate) lessons: Vec<ForeignLearning>,
    /// The files that they come from, as a person reads them.
    sources: Vec<String>,
    /// What was left out, with its file.
    problems: Vec<(String, EntryProblem)>,
    /// What a person should know of the files.
    remarks: Vec<String>,
}

/// The files of the earlier tool in a folder, or in the folder where it keeps them in a project; those that are there, or
/// whose backups are.
pub(crate) fn files_in(folder: &Path) -> Vec<(FileKind, PathBuf)> {
    let is_there = |(_, path): &(FileKind, PathBuf)| path.exists() || backup_of(path).exists();
    let found = |folder: &Path| -> Vec<(FileKind, PathBuf)> {
        let named = |kind: FileKind| (kind, folder.join(kind.file_name()));
        [FileKind::Store, FileKind::Staging]
            .map(named)
            .into_iter()
            .filter(is_there)
            .collect()
    };
    match found(folder) {
        none if none.is_empty() => found(&folder.join(paths::EARLIER_KNOWLEDGE)),
        found => found,
    }
}

/// How many learnings of files are not here, or not as they are there.
pub(crate) fn not_taken_over(context: &Context<'_>, files: &[(FileKind, PathBuf)]) -> Result<usize, CommandError> {
    let incoming = Incoming::read(context, files, Trust::Checksum)?;
    let (_folder, mut copy) = copy_to_try(&context.project.database())?;
    let tally = Tally::of(&incoming.take_over(context, &mut copy)?);
    Ok(tally.added + tally.updated)
}

/// The files that a path means.
pub(crate) fn files_at(context: &Context<'_>, path: &Path) -> Result<Vec<(FileKind, PathBuf)>, CommandError> {
    if !path.is_dir() {
        return Ok(vec![(kind_of(path)?, path.to_owned())]);
    }
    let found = files_in(path);
    if found.is_empty() {
        let [store, staging] = [FileKind::Store, FileKind::Staging].map(FileKind::file_name);
        let shown = context.project.shown(path);
        return Err(
            CommandError::new(format!("{shown} holds neither {store} nor {staging}"))
                .hint("name the file, or the folder that holds them"),
        );
    }
    Ok(found)
}

/// Which of the two a file is: by what it holds, else by its name.
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
    /// Reads files. Nothing is taken of any of them if one is no good.
    pub(crate) fn read(
        context: &Context<'_>,
        files: &[(FileKind, PathBuf)],
        trust: Trust,
    ) -> Result<Self, CommandError> {
        let mut incoming = Self::default();
        for (kind, path) in files {
            let shown = context.project.shown(path).to_string();
            let Some(loaded) = load(*kind, path)? else {
                return Err(CommandError::new(format!("{shown} is not there")));
            };
            let file = incoming.usable(context, &shown, loaded, trust)?;
            let read = read_lessons(&file, context.clock().now());
            incoming.lessons.extend(read.lessons);
            let named = |problem: EntryProblem| (shown.clone(), problem);
            incoming.problems.extend(read.problems.into_iter().map(named));
            if read.masked > 0 {
                let lessons = count(read.masked, "learning holds", "learnings hold");
                let remark = format!("{shown}: {lessons} what looks like a secret: kept without it.");
                incoming.remarks.push(remark);
            }
            incoming.sources.push(shown);
        }
        Ok(incoming)
    }

    /// Learnings of another project.
    pub(crate) fn of(context: &Context<'_>, database: &Path, lessons: Vec<ForeignLearning>) -> Self {
        Self {
            lessons,
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
        let as_it_stands = |why: &FileProblem| format!("{shown}: {why}; taken as it stands.");
        match (loaded, trust) {
            (Loaded::Good(file), _) => Ok(file),
            (
                Loaded::Recovered {
                    why,
                    as_it_stands: Some(file),
                    ..
                }
                | Loaded::Bad {
                    why,
                    as_it_stands: Some(file),
                    ..
                },
                Trust::AsItStands,
            ) => {
                self.remarks.push(as_it_stands(&why));
                Ok(file)
            }
            (
                Loaded::Recovered {
                    file, from_backup, why, ..
                },
                _,
            ) => {
                let backup = context.project.shown(&from_backup);
                self.remarks.push(format!(
                    "{shown}: {why}; its backup {backup} is good and was taken instead."
                ));
                Ok(file)
            }
            (
                Loaded::Bad {
                    why,
                    backup,
                    as_it_stands,
                },
                _,
            ) => Err(refused(shown, &why, backup.as_ref(), as_it_stands.is_some())),
        }
    }

    /// Takes the learnings over, or tries it on a copy.
    pub(crate) fn take_over(
        &self,
        context: &Context<'_>,
        store: &mut Store,
    ) -> Result<Vec<TakenLearning>, CommandError> {
        let (promote, now) = (confirmed_config(context)?.learning.promote, context.clock().now());
        let taken = context.with_entropy(|entropy| {
            keep_foreign(store, &self.lessons, |store, lessons| {
                store.import_learnings(lessons, promote, entropy, now)
            })
        });
        context.tell_unreadable(store);
        Ok(taken?)
    }

    /// What was left out and what a person should know, said beside the result.
    pub(crate) fn tell_remarks(&self, context: &Context<'_>) {
        for remark in &self.remarks {
            context.ui.warning(remark);
        }
        for (file, problem) in self.problems.iter().take(NAMED) {
            let id = problem.id.iter().map(|id| format!(" ({id})")).collect::<String>();
            let (number, why) = (problem.number, &problem.why);
            context
                .ui
                .warning(&format!("{file}: entry {number}{id} was left out: {why}."));
        }
        let more = self.problems.len().saturating_sub(NAMED);
        if more > 0 {
            context
                .ui
                .warning(&format!("{more} more were left out; --json names all."));
        }
    }

    /// Names what was rejected, and why.
    pub(crate) fn tell_rejected(&self, context: &Context<'_>, taken: &[TakenLearning]) {
        let all = self.lessons.iter().zip(taken);
        let rejected: Vec<_> = all.filter(|(_, taken)| is_rejected(taken)).collect();
        for (lesson, taken) in rejected.iter().take(NAMED) {
            let text = preview(first_line(&lesson.content), MENTION_COLUMNS);
            let reason = taken.reason.as_deref().unwrap_or("no reason is given");
            context.ui.status(&format!("Rejected: \"{text}\": {reason}."));
        }
        let more = rejected.len().saturating_sub(NAMED);
        if more > 0 {
            context
                .ui
                .status(&format!("{more} more were rejected; --json names all."));
        }
    }

    /// The same for programs, with what became of each learning.
    pub(crate) fn json(&self, taken: &[TakenLearning]) -> Value {
        let tally = Tally::of(taken);
        let problem = |(file, problem): &(String, EntryProblem)| json!({ "file": file, "entry": problem.number, "id": problem.id, "why": problem.why });
        let rejected = |taken: &&TakenLearning| taken.status == LearningStatus::Rejected;
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
        Some(problem) => format!("its backup is no good either: {problem}"),
        None => "it has no backup".to_owned(),
    };
    let error = CommandError::new(format!("{shown}: {why}; {backup}"));
    if can_be_forced {
        error.hint("`ralph learnings import FILE --force` takes it as it stands; look at it before")
    } else {
        error.hint("bring it back from a copy of yours; nothing was imported")
    }
}

/// A copy of this project's database to try something out in, an empty one where there is none; it goes with the folder.
pub(crate) fn copy_to_try(database: &Path) -> Result<(tempfile::TempDir, Store), CommandError> {
    let folder = tempfile::tempdir()
        .map_err(|error| CommandError::new(format!("cannot make a temporary folder to try it out in: {error}")))?;
    let store = Store::copy_to_try(database, &folder.path().join("copy.db"))?;
    Ok((folder, store))
}

/// How many learnings became what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) added: usize,
    pub(crate) updated: usize,
    pub(crate) strengthened: usize,
    pub(crate) unchanged: usize,
    pub(crate) rejected: usize,
}

impl Tally {
    pub(crate) fn of(taken: &[TakenLearning]) -> Self {
        let mut tally = Self::default();
        for TakenLearning { taken, .. } in taken {
            let counter = match taken {
                Taken::Added => &mut tally.added,
                Taken::Updated => &mut tally.updated,
                Taken::Strengthened | Taken::Reworded => &mut tally.strengthened,
                Taken::Unchanged => &mut tally.unchanged,
            };
            *counter += 1;
        }
        tally.rejected = taken.iter().filter(|taken| is_rejected(taken)).count();
        tally
    }

    /// What became of them in words, as far as anything did.
    pub(crate) fn told(self) -> String {
        let parts = [
            (self.added, "new"),
            (self.updated, "brought up to date"),
            (self.strengthened, "known and surer now"),
            (self.unchanged, "here already"),
            (self.rejected, "of them rejected"),
        ];
        let told: Vec<String> = parts
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{number} {what}"))
            .collect();
        told.join(", ")
    }
}

/// Whether a learning was rejected just now.
fn is_rejected(taken: &TakenLearning) -> bool {
    taken.status == LearningStatus::Rejected && taken.taken != Taken::Unchanged
}
