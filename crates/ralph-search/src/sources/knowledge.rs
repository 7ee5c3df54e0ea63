//! Knowledge entries in the note index. Their folder is scanned only when they are asked for.
//!
//! A scan costs one stat per file. Changed files are found by the same rule as for the other notes, and only those are
//! read.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;
use ralph_notes::{Boundary, Knowledge, KnowledgeProblem, MAX_KNOWLEDGE_BYTES, links_in, read_file, title_key};

use super::{IndexPlace, State, fresh, now_ns};
use crate::DocKind;
use crate::index::{FileState, Index, IndexError, KnowledgeEntry, Update};

/// The extension of knowledge entries.
const ENDING: &str = ".md";

/// Files that cannot be read, and why. They are not in the index: another reader may have permission.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    pub(super) folder: Option<(PathBuf, io::Error)>,
    pub(super) files: Vec<(String, String)>,
}

/// The differences between the index and the folder.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// Files that must be read: they are new, or their stamps are inconclusive.
    unsure: Vec<(String, FileStamp, Option<u128>)>,
    deleted: Vec<String>,
    pub(super) unreadable: Unreadable,
}

impl Differences {
    /// Compares the folder with the index, without reading a file.
    pub(super) fn of(index: &Index, place: &IndexPlace<'_>) -> Result<Self, IndexError> {
        let mut differences = Self::default();
        let seen = match scan(&place.knowledge, place.boundary) {
            Ok((seen, unnamed)) => {
                differences.unreadable.files.extend(unnamed);
                seen
            }
            Err(error) => {
                differences.unreadable.folder = Some((place.knowledge.clone(), error));
                Vec::new()
            }
        };
        let mut sum = StampSum::default();
        for (name, stamp) in &seen {
            sum.add(name, stamp);
        }
        if index.kind_stamp(DocKind::Knowledge)?.as_deref() == Some(&sum.total.to_le_bytes()) {
            return Ok(differences);
        }
        let mut seen: HashMap<String, FileStamp> = seen.into_iter().collect();
        index.files(DocKind::Knowledge, &mut |name, file| match seen.remove(name) {
            Some(stamp) if file.stamp == stamp && fresh::is_settled(&stamp, file.indexed_ns) => {}
            Some(stamp) => differences.unsure.push((name.to_owned(), stamp, Some(file.digest))),
            None => differences.deleted.push(name.to_owned()),
        })?;
        differences
            .unsure
            .extend(seen.into_iter().map(|(name, stamp)| (name, stamp, None)));
        // Sorted, so that the same files make the same index in whatever order the folder lists them.
        differences
            .unsure
            .sort_unstable_by(|(one, ..), (other, ..)| one.cmp(other));
        differences.deleted.sort_unstable();
        Ok(differences)
    }

    /// Whether the index is up to date, and whether that is worth recording so that the next reader need not read these
    /// files.
    pub(super) fn assess(&mut self, place: &IndexPlace<'_>) -> State {
        if !self.deleted.is_empty() {
            return State::Outdated;
        }
        let mut state = State::Current;
        for (name, stamp, known) in &self.unsure {
            let now = now_ns(place);
            match (read(&place.knowledge.join(name), *stamp), known) {
                (Reading::Bytes { digest, stamp, .. }, Some(known)) if digest == *known => {
                    if fresh::is_settled(&stamp, now) {
                        state = State::NeedsRestamp;
                    }
                }
                // An unreadable file is in no index, and a deleted one matters only if it was indexed.
                (Reading::Failed(why), None) => self.unreadable.files.push((name.clone(), why)),
                (Reading::Missing, None) => {}
                _ => return State::Outdated,
            }
        }
        state
    }

    /// Brings the index up to date with the folder.
    pub(super) fn apply(self, update: &mut Update<'_>, place: &IndexPlace<'_>) -> Result<Unreadable, IndexError> {
        let kind = DocKind::Knowledge;
        let mut unreadable = self.unreadable;
        let mut deleted = self.deleted;
        for (name, stamp, known) in self.unsure {
            // Taken before reading, so that a change during the read is later than this.
            let indexed_ns = now_ns(place);
            match read(&place.knowledge.join(&name), stamp) {
                Reading::Bytes { bytes, digest, stamp } => {
                    let mut state = FileState {
                        stamp,
                        digest,
                        indexed_ns,
                        problems: String::new(),
                    };
                    if known == Some(digest) {
                        let before = update.index().file(kind, &name)?;
                        state.problems = before.map(|before| before.problems).unwrap_or_default();
                    } else {
                        match content_of(bytes.as_deref()) {
                            Ok(entry) => update.put_knowledge(&name, &entry)?,
                            Err(problem) => {
                                update.remove_knowledge(&name)?;
                                state.problems = problem.to_string();
                            }
                        }
                    }
                    update.index().put_file(kind, &name, &state)?;
                }
                Reading::Failed(why) => {
                    deleted.extend(known.map(|_| name.clone()));
                    unreadable.files.push((name, why));
                }
                Reading::Missing => deleted.extend(known.map(|_| name)),
            }
        }
        for name in &deleted {
            update.remove_knowledge(name)?;
            update.index().forget_file(kind, name)?;
        }
        let mut sum = StampSum::default();
        let mut all_settled = true;
        update.index().files(kind, &mut |name, file| {
            sum.add(name, &file.stamp);
            all_settled &= fresh::is_settled(&file.stamp, file.indexed_ns);
        })?;
        let total = sum.total.to_le_bytes();
        update
            .index()
            .put_kind_stamp(kind, all_settled.then_some(total.as_slice()))?;
        Ok(unreadable)
    }
}

/// An order-independent checksum of the stamps of many files.
#[derive(Default)]
struct StampSum {
    total: u128,
    bytes: Vec<u8>,
}

impl StampSum {
    fn add(&mut self, name: &str, stamp: &FileStamp) {
        let FileStamp {
            inode,
            size,
            mtime_ns,
            ctime_ns,
        } = *stamp;
        self.bytes.clear();
        for number in [inode, size, mtime_ns.cast_unsigned(), ctime_ns.cast_unsigned()] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.total = self.total.wrapping_add(fresh::digest(&self.bytes));
    }
}

/// The contents of a knowledge folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KnowledgeFolder {
    /// Number of knowledge entries.
    pub notes: usize,
    /// The invalid files, by name, with the reasons.
    pub skipped: Vec<(String, String)>,
}

/// Reads every file of a knowledge folder without using the index. A missing folder is empty.
///
/// # Errors
/// When the folder cannot be read.
pub fn inspect_knowledge(folder: &Path, boundary: &Boundary) -> io::Result<KnowledgeFolder> {
    let (seen, skipped) = scan(folder, boundary)?;
    let mut found = KnowledgeFolder { notes: 0, skipped };
    for (name, stamp) in seen {
        match read(&folder.join(&name), stamp) {
            Reading::Bytes { bytes, .. } => match content_of(bytes.as_deref()) {
                Ok(_) => found.notes += 1,
                Err(problem) => found.skipped.push((name, problem.to_string())),
            },
            Reading::Failed(why) => found.skipped.push((name, why)),
            Reading::Missing => {}
        }
    }
    found.skipped.sort();
    Ok(found)
}

/// The files of the folder that may be knowledge entries, with their stamps.
///
/// # Errors
/// When the folder cannot be read.
pub fn knowledge_stamps(place: &IndexPlace<'_>) -> io::Result<Vec<(String, FileStamp)>> {
    scan(&place.knowledge, place.boundary).map(|(seen, _)| seen)
}

/// File names with stamps, and files that cannot be indexed with the reasons.
type Seen = (Vec<(String, FileStamp)>, Vec<(String, String)>);

/// The files of the folder that may be knowledge entries. A missing folder is empty.
fn scan(folder: &Path, boundary: &Boundary) -> io::Result<Seen> {
    let mut seen = Vec::new();
    let mut unnamed = Vec::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((seen, unnamed)),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = match entry.file_name().into_string() {
            Ok(name) => name,
            Err(name) => {
                let shown = name.to_string_lossy().into_owned();
                if shown.ends_with(ENDING) && !shown.starts_with('.') {
                    unnamed.push((shown, "its name is not UTF-8".to_owned()));
                }
                continue;
            }
        };
        if name.starts_with('.') || !name.ends_with(ENDING) {
            continue;
        }
        let kind = entry.file_type()?;
        let metadata = if kind.is_symlink() {
            if let Some(leads_to) = boundary.outside(&entry.path()) {
                unnamed.push((name, format!("it links outside the project, to {}", leads_to.display())));
                continue;
            }
            fs::metadata(entry.path())
        } else if kind.is_file() {
            entry.metadata()
        } else {
            continue;
        };
        // A file that was just deleted and a dangling link do not exist.
        if let Some(metadata) = metadata.ok().filter(Metadata::is_file) {
            seen.push((name, FileStamp::of(&metadata)));
        }
    }
    Ok((seen, unnamed))
}

enum Reading {
    /// Its bytes; `None` if the file is too large.
    Bytes {
        bytes: Option<Vec<u8>>,
        digest: u128,
        stamp: FileStamp,
    },
    Missing,
    /// It cannot be read, for this reason.
    Failed(String),
}

fn read(path: &Path, stamp: FileStamp) -> Reading {
    if usize::try_from(stamp.size).is_ok_and(|size| size > MAX_KNOWLEDGE_BYTES) {
        // Its size is all that matters.
        return Reading::Bytes {
            bytes: None,
            digest: u128::from(stamp.size),
            stamp,
        };
    }
    match read_file(path) {
        Ok(Some(text)) => Reading::Bytes {
            digest: fresh::digest(&text.bytes),
            stamp: text.stamp,
            bytes: Some(text.bytes),
        },
        Ok(None) => Reading::Missing,
        Err(error) => Reading::Failed(format!("it cannot be read: {}", error.reason())),
    }
}

fn content_of(bytes: Option<&[u8]>) -> Result<KnowledgeEntry, KnowledgeProblem> {
    let note = bytes.map_or(Err(KnowledgeProblem::TooLarge), Knowledge::parse)?;
    let links = links_in(&note.body);
    Ok(KnowledgeEntry {
        title_key: title_key(&note.title),
        link_keys: links.iter().map(|title| title_key(title)).collect(),
        title: note.title,
        tags: note.tags,
        feature: note.feature,
        created_at: note.created_at,
        links,
        body: note.body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(files: &[(&str, u64)]) -> u128 {
        let mut sum = StampSum::default();
        for (name, inode) in files {
            let stamp = FileStamp {
                inode: *inode,
                size: 1,
                mtime_ns: 2,
                ctime_ns: 3,
            };
            sum.add(name, &stamp);
        }
        sum.total
    }

    #[test]
    fn stamp_sum_depends_on_files_but_not_on_order() {
        let known = sum(&[("a.md", 1), ("b.md", 2)]);
        assert_eq!(known, sum(&[("b.md", 2), ("a.md", 1)]));
        for other in [
            sum(&[]),
            sum(&[("a.md", 1)]),
            sum(&[("a.md", 2), ("b.md", 1)]),
            sum(&[("a.md", 1), ("b.md", 3)]),
            sum(&[("a.md", 1), ("c.md", 2)]),
            sum(&[("a.md", 1), ("b.md", 2), ("b.md", 2)]),
        ] {
            assert_ne!(known, other);
        }
        let of = |stamp: FileStamp| {
            let mut sum = StampSum::default();
            sum.add("a.md", &stamp);
            sum.total
        };
        let stamp = FileStamp {
            inode: 1,
            size: 1,
            mtime_ns: 2,
            ctime_ns: 3,
        };
        assert_ne!(of(stamp), of(FileStamp { size: 2, ..stamp }));
        assert_ne!(of(stamp), of(FileStamp { mtime_ns: 3, ..stamp }));
        assert_ne!(of(stamp), of(FileStamp { ctime_ns: 2, ..stamp }));
    }
}
