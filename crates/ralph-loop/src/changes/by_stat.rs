//! Snapshots without git: metadata of each file that `.gitignore` does not exclude.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata};
use std::hash::Hasher;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use ignore::gitignore::Gitignore;
use ignore::{DirEntry, WalkBuilder};
use ralph_model::FileStamp;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// The maximum number of files in a project. Small in tests to keep them fast.
const MAX_FILES: usize = if cfg!(test) { 200 } else { 200_000 };

/// A file changed this shortly before the snapshot may change again within the same timestamp, in nanoseconds.
const RACY_NS: i64 = 2_000_000_000;

/// The largest file whose content is hashed.
const MAX_CONTENT: u64 = 64 << 20;

/// The metadata of a file. A list has one line per file, the path first, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    size: u64,
    mtime_ns: i64,
    ctime_ns: i64,
    inode: u64,
    mode: u32,
    /// A digest of the content, if the times are not conclusive.
    digest: Option<u64>,
}

/// Writes the list of a project's files to the scratch folder; returns its name, and why files are missing.
pub(super) fn snapshot(root: &Path, scratch: &Path, hidden: &[String]) -> Result<(String, Option<String>), String> {
    let in_scratch = |error: io::Error| format!("cannot make a snapshot in {}: {error}", scratch.display());
    let now = now_of(scratch).map_err(in_scratch)?;
    let (files, degraded) = read_all(root, scratch, hidden, now)?;
    let lines = files.iter().map(serde_json::to_string);
    let mut lines: Vec<String> = lines.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    lines.sort_unstable();
    let list = lines.join("\n");
    let name = format!("files-{:016x}.jsonl", xxhash_rust::xxh3::xxh3_64(list.as_bytes()));
    let write = || {
        let new = scratch.join("files.new");
        let mut file = BufWriter::new(File::create(&new)?);
        file.write_all(list.as_bytes())?;
        file.flush()?;
        fs::rename(new, scratch.join(&name))
    };
    write().map_err(in_scratch)?;
    Ok((name, degraded))
}

/// The files that differ between two lists.
pub(super) fn changed(root: &Path, scratch: &Path, old: &str, new: &str) -> Result<Vec<String>, String> {
    let read = |name: &str| fs::read(scratch.join(name)).map_err(|error| unreadable(scratch, name, &error));
    let (old_list, new_list) = (read(old)?, read(new)?);
    let (only_old, only_new) = lines_of_one(&old_list, &new_list);
    let entries = |lines: Vec<&[u8]>, name| {
        let entries = lines.into_iter().map(serde_json::from_slice::<(String, Entry)>);
        entries
            .collect::<Result<BTreeMap<_, _>, _>>()
            .map_err(|error| unreadable(scratch, name, &error))
    };
    let (old, new) = (entries(only_old, old)?, entries(only_new, new)?);
    let removed = old.keys().filter(|path| !new.contains_key(*path));
    let differs = |path: &str, after: &Entry| {
        old.get(path)
            .is_none_or(|before| !before.is_same(after, &root.join(path)))
    };
    let other = new.iter().filter(|(path, after)| differs(path, after));
    Ok(removed.chain(other.map(|(path, _)| path)).cloned().collect())
}

/// The lines that only one of two sorted lists has. Nearly all files and so nearly all lines are the same.
fn lines_of_one<'l>(old: &'l [u8], new: &'l [u8]) -> (Vec<&'l [u8]>, Vec<&'l [u8]>) {
    let lines = |list: &'l [u8]| list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let (mut old, mut new) = (lines(old).peekable(), lines(new).peekable());
    let (mut only_old, mut only_new) = (Vec::new(), Vec::new());
    while let (Some(before), Some(after)) = (old.peek(), new.peek()) {
        match before.cmp(after) {
            Ordering::Less => only_old.extend(old.next()),
            Ordering::Equal => drop((old.next(), new.next())),
            Ordering::Greater => only_new.extend(new.next()),
        }
    }
    only_old.extend(old);
    only_new.extend(new);
    (only_old, only_new)
}

fn unreadable(scratch: &Path, name: &str, error: &dyn std::fmt::Display) -> String {
    format!(
        "the list of files {} cannot be read: {error}",
        scratch.join(name).display()
    )
}

/// The files that the project's `.gitignore` excludes.
pub(super) fn ignored(root: &Path, files: &[&String]) -> BTreeSet<String> {
    // Invalid lines are skipped, as they are when files are listed.
    let (ignore, _) = Gitignore::new(root.join(".gitignore"));
    let is_ignored = |file: &&&String| ignore.matched_path_or_any_parents(file.as_str(), false).is_ignore();
    files.iter().filter(is_ignored).map(|file| (*file).clone()).collect()
}

/// The current time of the file system.
pub(super) fn now_of(scratch: &Path) -> io::Result<i64> {
    DirBuilder::new().recursive(true).mode(0o700).create(scratch)?;
    let file = File::create(scratch.join("now"))?;
    Ok(FileStamp::of(&file.metadata()?).ctime_ns)
}

/// Files with their paths in the project, and why some are missing.
type Files = (Vec<(String, Entry)>, Option<String>);

fn read_all(root: &Path, scratch: &Path, hidden: &[String], now: i64) -> Result<Files, String> {
    let left_out: Vec<_> = hidden.iter().map(|path| root.join(path)).collect();
    let scratch = scratch.to_owned();
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .git_ignore(true)
        .require_git(false)
        .filter_entry(move |entry| {
            let path = entry.path();
            // Compare as bytes: comparing paths by component is too slow for every file.
            let is_left_out = |other: &PathBuf| other.as_os_str() == path.as_os_str();
            entry.file_name() != ".git" && !is_left_out(&scratch) && !left_out.iter().any(is_left_out)
        })
        .build();
    let mut files = Vec::new();
    let mut degraded = None;
    for entry in walk {
        let read = entry.map_err(|error| error.to_string()).and_then(|entry| {
            Entry::of(root, &entry, now).map_err(|error| format!("{}: {error}", entry.path().display()))
        });
        match read {
            Ok(file) => files.extend(file),
            Err(error) => degraded = Some(format!("not every file could be read: {error}")),
        }
        if files.len() > MAX_FILES {
            return Err(format!(
                "{} has more than {MAX_FILES} files, so its changes are not tracked",
                root.display()
            ));
        }
    }
    Ok((files, degraded))
}

impl Entry {
    /// The path and entry of a file or link; `None` for anything else, and for files that are already removed.
    fn of(root: &Path, entry: &DirEntry, now: i64) -> io::Result<Option<(String, Self)>> {
        let path = entry.path();
        let metadata = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata?,
        };
        if !(metadata.is_file() || metadata.is_symlink()) {
            return Ok(None);
        }
        let name = path_inside(root, path).to_string_lossy().into_owned();
        let stamp = FileStamp::of(&metadata);
        let racy = stamp.mtime_ns.max(stamp.ctime_ns) > now.saturating_sub(RACY_NS);
        let digest = if racy { digest(path, &metadata) } else { None };
        let entry = Self {
            size: stamp.size,
            mtime_ns: stamp.mtime_ns,
            ctime_ns: stamp.ctime_ns,
            inode: stamp.inode,
            mode: metadata.mode(),
            digest,
        };
        Ok(Some((name, entry)))
    }

    /// Whether a file is unchanged. If the times are not conclusive, the content decides.
    fn is_same(&self, after: &Self, path: &Path) -> bool {
        if (self.size, self.mode) != (after.size, after.mode) {
            return false;
        }
        if self.digest.is_some() {
            let now = || digest(path, &fs::symlink_metadata(path).ok()?);
            return self.digest == after.digest.or_else(now);
        }
        (self.mtime_ns, self.ctime_ns, self.inode) == (after.mtime_ns, after.ctime_ns, after.inode)
    }
}

/// The path relative to the root of the walk. As bytes: by component takes several times as long.
fn path_inside<'p>(root: &Path, path: &'p Path) -> &'p OsStr {
    let inside = path.as_os_str().as_bytes().strip_prefix(root.as_os_str().as_bytes());
    let inside = inside.map(|inside| inside.strip_prefix(b"/").unwrap_or(inside));
    inside.map_or(path.as_os_str(), OsStr::from_bytes)
}

/// A digest of a file's content or a link's target; `None` if it is too large or unreadable.
fn digest(path: &Path, metadata: &Metadata) -> Option<u64> {
    let mut hasher = Xxh3::new();
    if metadata.is_symlink() {
        hasher.write(fs::read_link(path).ok()?.as_os_str().as_encoded_bytes());
    } else if metadata.len() <= MAX_CONTENT {
        let mut file = File::open(path).ok()?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer).ok()? {
                0 => break,
                read => hasher.write(buffer.get(..read)?),
            }
        }
    } else {
        return None;
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_files_are_compared_by_metadata() {
        let old = Entry {
            size: 3,
            mtime_ns: 1,
            ctime_ns: 2,
            inode: 4,
            mode: 0o100_644,
            digest: None,
        };
        let check = |change: fn(&mut Entry), same: bool| {
            let mut new = old.clone();
            change(&mut new);
            assert_eq!(old.is_same(&new, Path::new("/nowhere")), same, "{new:?}");
        };
        check(|_| {}, true);
        check(|new| new.digest = Some(5), true);
        check(|new| new.size = 4, false);
        check(|new| new.mtime_ns = 2, false);
        check(|new| new.ctime_ns = 3, false);
        check(|new| new.inode = 5, false);
        check(|new| new.mode = 0o100_755, false);
    }

    #[test]
    fn recent_files_are_compared_by_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        File::create(&path).unwrap().write_all(b"one").unwrap();
        let racy = Entry {
            size: 3,
            mtime_ns: 1,
            ctime_ns: 2,
            inode: 4,
            mode: 0o100_644,
            digest: digest(&path, &fs::metadata(&path).unwrap()),
        };
        let later = Entry {
            digest: None,
            ..racy.clone()
        };
        assert!(racy.is_same(&later, &path));
        File::create(&path).unwrap().write_all(b"two").unwrap();
        assert!(!racy.is_same(&later, &path));
        assert!(!racy.is_same(&later, Path::new("/nowhere")));
    }

    #[test]
    fn lines_of_one_list_are_found() {
        let check = |old: &str, new: &str, expected: (&[&str], &[&str])| {
            let bytes =
                |lines: &[&str]| -> Vec<Vec<u8>> { lines.iter().map(|line| line.as_bytes().to_vec()).collect() };
            let (only_old, only_new) = lines_of_one(old.as_bytes(), new.as_bytes());
            assert_eq!(only_old, bytes(expected.0), "{old:?} {new:?}");
            assert_eq!(only_new, bytes(expected.1), "{old:?} {new:?}");
        };
        check("", "", (&[], &[]));
        check("a\nb\nc", "a\nb\nc", (&[], &[]));
        check("", "a\nb", (&[], &["a", "b"]));
        check("a\nb", "", (&["a", "b"], &[]));
        check("a\nb1\nc", "a\nb2\nc", (&["b1"], &["b2"]));
        check("b\nd", "a\nb\nc\nd\ne", (&[], &["a", "c", "e"]));
        check("a\nc\nz", "b\nc\ny", (&["a", "z"], &["b", "y"]));
    }
}
