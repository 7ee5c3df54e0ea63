//! Puts a database of ours in the place of another tool's. Whatever happens on the way, either the original stands there with
//! all that belongs to it, or the finished one does and the original beside it.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_notes::write_new_file;
use ralph_store::{ForeignDatabase, ForeignHistory, ImportedHistory, Store};

use super::cleaned::cleaned;
use crate::error::CommandError;

/// What the new database is called before it is finished.
const UNFINISHED: &str = ".importing";
/// What the original is called afterwards.
const KEPT: &str = ".refound";

/// What the original will be called, if that is not taken.
pub(super) fn kept_name(path: &Path) -> PathBuf {
    beside(path, KEPT)
}

/// Takes over a database; what it held, what that did, and where the original is kept.
pub(super) fn take_over(
    path: &Path,
    now: Timestamp,
) -> Result<(ForeignHistory, ImportedHistory, PathBuf), CommandError> {
    // A link to a database stays one.
    let path = &fs::canonicalize(path).map_err(|error| failed(path, &error))?;
    let unfinished = beside(path, UNFINISHED);
    // From here on until the end nobody else gets at it.
    let mut original = ForeignDatabase::hold(path)?;
    let history = cleaned(original.read()?);
    let replaced = build(&unfinished, &history, now).and_then(|imported| {
        original.gather_into_one_file()?;
        let kept = keep(path, &mut original)?;
        // Whoever may read and write the one may the other.
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
            // What cannot be removed now is removed by the next try.
            drop(Store::remove_unused(&unfinished));
            Err(error)
        }
    }
}

/// Makes the new database, whole and on the disk. One that an earlier try has left is of no use.
fn build(path: &Path, history: &ForeignHistory, now: Timestamp) -> Result<ImportedHistory, CommandError> {
    Store::remove_unused(path)?;
    let mut store = Store::open_or_create(path)?;
    let imported = store.import_history(history, now)?;
    store.close_into_one_file()?;
    Ok(imported)
}

/// Gives the original a second name, which it keeps. An earlier try may have done so already. Where there are no links it is
/// copied, by SQLite: whoever else opened the file would give up the lock on it.
fn keep(path: &Path, database: &mut ForeignDatabase) -> Result<PathBuf, CommandError> {
    let original = fs::metadata(path).map_err(|error| failed(path, &error))?;
    let is_it = |name: &Path| {
        fs::metadata(name).is_ok_and(|other| (other.dev(), other.ino()) == (original.dev(), original.ino()))
    };
    let mut number = 1;
    let name = loop {
        let name = match number {
            1 => beside(path, KEPT),
            number => beside(path, &format!("{KEPT}-{number}")),
        };
        if is_it(&name) {
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
