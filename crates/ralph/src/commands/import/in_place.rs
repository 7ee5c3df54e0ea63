//! Replaces another tool's database with ours. If anything fails on the way, the original stays in place with
//! everything that belongs to it. Otherwise the finished one is in place, with the original next to it.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_notes::write_new_file;
use ralph_search::task_type_of;
use ralph_store::{ForeignDatabase, ForeignHistory, ImportedHistory, Store};

use super::cleaned::cleaned;
use crate::error::CommandError;

/// The suffix of the unfinished database.
const UNFINISHED: &str = ".importing";
/// The suffix of the original.
const KEPT: &str = ".refound";

/// The name under which the original will be kept, unless it is taken.
pub(super) fn kept_name(path: &Path) -> PathBuf {
    beside(path, KEPT)
}

/// Replaces a database. Returns its history, the result of the import, and where the original is kept.
pub(super) fn take_over(
    path: &Path,
    now: Timestamp,
) -> Result<(ForeignHistory, ImportedHistory, PathBuf), CommandError> {
    // A link to a database stays a link.
    let path = &fs::canonicalize(path).map_err(|error| failed(path, &error))?;
    let unfinished = beside(path, UNFINISHED);
    // From here on no other process can access it.
    let mut original = ForeignDatabase::hold(path)?;
    let history = cleaned(original.read()?);
    let replaced = build(&unfinished, &history, now).and_then(|imported| {
        original.gather_into_one_file()?;
        let kept = keep(path, &mut original)?;
        // The new database gets the permissions of the original.
        fs::metadata(path)
            .and_then(|original| fs::set_permissions(&unfinished, original.permissions()))
            .and_then(|()| fs::rename(&unfinished, path))
            .map_err(|error| failed(path, &error))?;
        Ok((imported, kept))
    });
    drop(original);
    match replaced {
        Ok((imported, kept)) => {
            sync_folder(path)?;
            Ok((history, imported, kept))
        }
        Err(error) => {
            // If this fails, the next attempt removes it.
            drop(Store::remove_unused(&unfinished));
            Err(error)
        }
    }
}

/// Creates the new database and syncs it to disk. Replaces one that an earlier attempt left.
fn build(path: &Path, history: &ForeignHistory, now: Timestamp) -> Result<ImportedHistory, CommandError> {
    Store::remove_unused(path)?;
    let mut store = Store::open_or_create(path)?;
    let imported = store.import_history(history, task_type_of, now)?;
    store.close_into_one_file()?;
    Ok(imported)
}

/// Gives the original a second name. An earlier attempt may have done so already. Without hard links, SQLite copies it:
/// opening the file any other way would give up its lock.
fn keep(path: &Path, database: &mut ForeignDatabase) -> Result<PathBuf, CommandError> {
    let original = fs::metadata(path).map_err(|error| failed(path, &error))?;
    let is_original = |name: &Path| {
        fs::metadata(name).is_ok_and(|other| (other.dev(), other.ino()) == (original.dev(), original.ino()))
    };
    let mut number = 1;
    let name = loop {
        let name = match number {
            1 => beside(path, KEPT),
            number => beside(path, &format!("{KEPT}-{number}")),
        };
        if is_original(&name) {
            return Ok(name);
        }
        if fs::symlink_metadata(&name).is_err() {
            break name;
        }
        number += 1;
    };
    if fs::hard_link(path, &name).is_err() {
        write_new_file(&name, &database.bytes()?)?;
        fs::set_permissions(&name, original.permissions()).map_err(|error| failed(&name, &error))?;
    }
    sync_folder(path)?;
    Ok(name)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(ending);
    name.into()
}

fn sync_folder(path: &Path) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| failed(folder, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::new(format!("cannot replace {}: {error}", path.display()))
}
