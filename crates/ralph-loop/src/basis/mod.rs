//! The basis of an iteration's evidence: the configuration, the scripts that gates run, and the programs that git runs
//! automatically.
//!
//! A passing gate says nothing about the work if the agent changed what the gate does. So each item is recorded before
//! the agent starts and compared after it ends. An item is a display name and a digest.

mod git_programs;
mod scripts;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_model::{FileStamp, TaskId};
use ralph_store::EvidenceChange;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(crate) use git_programs::GitPrograms;

/// The largest file whose content is read, in bytes. For larger ones only size, times and inode are compared. Small in
/// tests to keep them fast.
const MAX_CONTENT: u64 = if cfg!(test) { 1 << 16 } else { 16 << 20 };

/// Digests by item name.
type Items = BTreeMap<String, String>;

/// The evidence basis at one point in time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct EvidenceBasis {
    /// The commands whose scripts are among the items.
    commands: Vec<String>,
    /// The user's home folder, `~` in commands.
    home: Option<PathBuf>,
    items: Items,
    pub(crate) git: GitPrograms,
}

impl EvidenceBasis {
    /// The current basis of these commands.
    pub(crate) fn of(
        root: &Path,
        git: GitPrograms,
        home: Option<&Path>,
        configuration: &[PathBuf],
        commands: &[String],
    ) -> Self {
        let mut items = scripts::items(root, home, commands);
        for file in configuration {
            items.extend(digest_of_file(file).map(|digest| (shown(root, file), digest)));
        }
        Self {
            commands: commands.to_vec(),
            home: home.map(Path::to_owned),
            items,
            git,
        }
    }

    /// The current basis of the same commands.
    pub(crate) fn now(&self, root: &Path, git: GitPrograms, configuration: &[PathBuf]) -> Self {
        Self::of(root, git, self.home.as_deref(), configuration, &self.commands)
    }

    /// The names of added, changed and removed items.
    pub(crate) fn changed(&self, after: &Self) -> BTreeSet<String> {
        let mut changed = differing(&self.items, &after.items);
        changed.extend(self.git.changed(&after.git));
        changed
    }

    /// The digest of an item, if it exists.
    pub(crate) fn digest(&self, name: &str) -> Option<&String> {
        self.items.get(name).or_else(|| self.git.digest(name))
    }
}

/// The changes that count against a task's evidence: those of its own agent, and unreviewed ones of earlier agents. If
/// an item no longer matches what an agent left, the user has since changed or restored it.
pub(crate) fn counted_changes(
    task: &TaskId,
    (before, after): (&EvidenceBasis, &EvidenceBasis),
    unreviewed: &[EvidenceChange],
) -> Vec<EvidenceChange> {
    let in_commits = before.git.changed_for_commits(&after.git);
    let is_as_left = |change: &&EvidenceChange, now: &EvidenceBasis| now.digest(&change.name) == change.after.as_ref();
    let by_this_one = before.changed(after).into_iter().map(|name| {
        let by_earlier_one = unreviewed
            .iter()
            .find(|change| change.name == name && is_as_left(change, before));
        EvidenceChange {
            task: task.clone(),
            before: match by_earlier_one {
                Some(change) => change.before.clone(),
                None => before.digest(&name).cloned(),
            },
            after: after.digest(&name).cloned(),
            in_commits: in_commits.contains(&name),
            name,
        }
    });
    let mut counted: Vec<EvidenceChange> = by_this_one.filter(|change| change.before != change.after).collect();
    counted.extend(unreviewed.iter().filter(|change| is_as_left(change, after)).cloned());
    counted
}

/// The distinct names of the changes.
pub(crate) fn names(changes: &[EvidenceChange]) -> BTreeSet<String> {
    changes.iter().map(|change| change.name.clone()).collect()
}

/// Why nothing is committed.
pub(crate) fn changed_without_review(changes: &[EvidenceChange]) -> String {
    let names: Vec<String> = names(changes).into_iter().collect();
    format!("{} changed without review", names.join(", "))
}

fn differing(before: &Items, after: &Items) -> BTreeSet<String> {
    let names = before.keys().chain(after.keys());
    let changed = names.filter(|name| before.get(*name) != after.get(*name));
    changed.cloned().collect()
}

/// A digest of a file, following links; `None` if it does not exist.
fn digest_of_file(path: &Path) -> Option<String> {
    match try_digest(path) {
        Ok(digest) => Some(digest),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(format!("unreadable: {}", error.kind())),
    }
}

fn try_digest(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Ok("not a file".to_owned());
    }
    let kind = match metadata.permissions().mode() & 0o111 {
        0 => "file",
        _ => "program",
    };
    if metadata.len() > MAX_CONTENT {
        return Ok(format!("{kind} {:?}", FileStamp::of(&metadata)));
    }
    let mut content = Vec::new();
    File::open(path)?.take(MAX_CONTENT).read_to_end(&mut content)?;
    Ok(format!("{kind} {}", digest_of(&content)))
}

fn digest_of(content: &[u8]) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(content) {
        // Writing to a string cannot fail.
        let _written = write!(digits, "{byte:02x}");
    }
    digits
}

/// The display name of a path, relative to a folder if inside it.
fn shown(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}
