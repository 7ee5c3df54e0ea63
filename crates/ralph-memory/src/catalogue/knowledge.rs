//! The long notes in the catalogue: their folder is looked at only where somebody asks for them.
//!
//! A look costs one stat a file. Which files have changed since is told by the same rule as for the other notes, and only
//! those are read.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;
use ralph_notes::{Knowledge, KnowledgeProblem, MAX_KNOWLEDGE_BYTES, links_in, read_file, title_key};
use ralph_store::index::{Index, IndexError, KnowledgeContent, KnowledgeFile, KnowledgeOutline, LongNote};

use super::{Catalogue, CatalogueError, CatalogueHome, CataloguePlace, fresh, now_ns};

/// How the names of files end that may be long notes.
const ENDING: &str = ".md";

/// Whether a question is about long notes, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Only about what stands on the shelves: the folder of long notes is not looked at.
    Shelves,
    /// About long notes as well.
    Everything,
}

/// Files that cannot be read, and why. They are not in the index: whoever asks next may be allowed to read them.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    /// The folder itself.
    pub(super) folder: Option<(PathBuf, io::Error)>,
    /// Single files of it.
    pub(super) files: Vec<(String, String)>,
}

impl Catalogue {
    /// All long notes, in the order of their files' names; none where the question was not about them.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_outlines(&self) -> Result<Vec<KnowledgeOutline>, IndexError> {
        match self.extent {
            Extent::Shelves => Ok(Vec::new()),
            Extent::Everything => self.index.knowledge_outlines(),
        }
    }

    /// The files in the folder of long notes that are none, in the order of their names, and why not.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_problems(&self) -> Result<Vec<(String, String)>, IndexError> {
        if self.extent == Extent::Shelves {
            return Ok(Vec::new());
        }
        let mut problems = self.index.knowledge_problems()?;
        problems.extend(self.unreadable_knowledge.files.iter().cloned());
        problems.sort();
        Ok(problems)
    }

    /// Whether the question is about long notes, too.
    pub(crate) fn knows_knowledge(&self) -> bool {
        self.extent == Extent::Everything
    }

    pub(super) fn refuse_unreadable_folder(mut self) -> Result<Self, CatalogueError> {
        match self.unreadable_knowledge.folder.take() {
            Some((path, source)) => Err(CatalogueError::Folder { path, source }),
            None => Ok(self),
        }
    }
}

/// What differs between the index and the folder.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// Files that have to be read: they are new, or their stamps do not tell what they hold.
    unsure: Vec<(String, FileStamp, Option<u128>)>,
    /// Files that are gone.
    gone: Vec<String>,
    pub(super) unreadable: Unreadable,
}

impl Differences {
    /// Compares the folder with the index, without reading a file.
    pub(super) fn of(index: &Index, place: &CataloguePlace<'_>) -> Result<Self, IndexError> {
        let mut differences = Self::default();
        let seen = match look(&place.knowledge, place.home) {
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
        if index.knowledge_sum()? == Some(sum.total) {
            return Ok(differences);
        }
        let mut seen: HashMap<String, FileStamp> = seen.into_iter().collect();
        index.knowledge_files(&mut |file| match seen.remove(file.name) {
            Some(stamp) if file.stamp == stamp && fresh::is_settled(&stamp, file.indexed_ns) => {}
            Some(stamp) => differences
                .unsure
                .push((file.name.to_owned(), stamp, Some(file.digest))),
            None => differences.gone.push(file.name.to_owned()),
        })?;
        differences
            .unsure
            .extend(seen.into_iter().map(|(name, stamp)| (name, stamp, None)));
        // The same files make the same index, in whatever order a folder tells of them.
        differences
            .unsure
            .sort_unstable_by(|(one, ..), (other, ..)| one.cmp(other));
        differences.gone.sort_unstable();
        Ok(differences)
    }

    /// Whether the index holds what the folder does, and whether it is worth noting that: then nobody has to read these
    /// files the next time.
    pub(super) fn judge(&mut self, place: &CataloguePlace<'_>) -> Judgement {
        if !self.gone.is_empty() {
            return Judgement::Stale;
        }
        let mut judgement = Judgement::Fresh;
        for (name, stamp, known) in &self.unsure {
            let now = now_ns(place);
            match (read(&place.knowledge.join(name), *stamp), known) {
                (Reading::Bytes { digest, stamp, .. }, Some(known)) if digest == *known => {
                    if fresh::is_settled(&stamp, now) {
                        judgement = Judgement::WorthNoting;
                    }
                }
                // One that cannot be read is in no index, and one that is gone only when it was there before.
                (Reading::Failed(why), None) => self.unreadable.files.push((name.clone(), why)),
                (Reading::Gone, None) => {}
                _ => return Judgement::Stale,
            }
        }
        judgement
    }

    /// Makes the index hold what the folder does.
    pub(super) fn apply(mut self, index: &Index, place: &CataloguePlace<'_>) -> Result<Unreadable, IndexError> {
        let mut gone = std::mem::take(&mut self.gone);
        let mut touched = Vec::new();
        let mut unreadable = std::mem::take(&mut self.unreadable);
        let changed = self.unsure.into_iter().filter_map(|(name, stamp, known)| {
            // Before it is read, so that a change while that goes on is later than this.
            let indexed_ns = now_ns(place);
            match read(&place.knowledge.join(&name), stamp) {
                Reading::Bytes { bytes, digest, stamp } => {
                    let file = KnowledgeFile {
                        name,
                        stamp,
                        digest,
                        indexed_ns,
                    };
                    if known == Some(digest) {
                        touched.push(file);
                        return None;
                    }
                    Some((file, content_of(bytes.as_deref())))
                }
                Reading::Failed(why) => {
                    if known.is_some() {
                        gone.push(name.clone());
                    }
                    unreadable.files.push((name, why));
                    None
                }
                Reading::Gone => {
                    gone.extend(known.map(|_| name));
                    None
                }
            }
        });
        index.change_knowledge(&[], changed)?;
        index.change_knowledge(&gone, std::iter::empty())?;
        for file in &touched {
            index.touch_knowledge(file)?;
        }
        let mut sum = StampSum::default();
        let mut tells_all = true;
        index.knowledge_files(&mut |file| {
            sum.add(file.name, &file.stamp);
            tells_all &= fresh::is_settled(&file.stamp, file.indexed_ns);
        })?;
        index.put_knowledge_sum(tells_all.then_some(sum.total))?;
        Ok(unreadable)
    }
}

/// The stamps of many files as one number, in whatever order they come.
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

/// What a comparison came to, and what has to be done about it: the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Judgement {
    /// The index holds what the folder does.
    Fresh,
    /// It does, and should be told at what time that was seen.
    WorthNoting,
    /// It does not.
    Stale,
}

/// What stands in a folder of long notes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LookedAt {
    /// How many long notes there are.
    pub notes: usize,
    /// The files that are none, in the order of their names, and why not.
    pub skipped: Vec<(String, String)>,
}

/// Reads every file of a folder of long notes, whatever an index says of it. A folder that is not there is empty.
///
/// # Errors
/// When the folder cannot be read.
pub fn look_at_knowledge(folder: &Path, home: &dyn CatalogueHome) -> io::Result<LookedAt> {
    let (seen, skipped) = look(folder, home)?;
    let mut looked = LookedAt { notes: 0, skipped };
    for (name, stamp) in seen {
        match read(&folder.join(&name), stamp) {
            Reading::Bytes { bytes, .. } => match content_of(bytes.as_deref()) {
                KnowledgeContent::Note(_) => looked.notes += 1,
                KnowledgeContent::Problem(why) => looked.skipped.push((name, why)),
            },
            Reading::Failed(why) => looked.skipped.push((name, why)),
            Reading::Gone => {}
        }
    }
    looked.skipped.sort();
    Ok(looked)
}

/// The files of the folder that may be knowledge entries, with their stamps.
pub(crate) fn knowledge_stamps(place: &CataloguePlace<'_>) -> io::Result<Vec<(String, FileStamp)>> {
    look(&place.knowledge, place.home).map(|(seen, _)| seen)
}

/// The names of files, with their stamps; and what cannot be named, with the reason.
type Seen = (Vec<(String, FileStamp)>, Vec<(String, String)>);

/// The files of the folder that may be long notes. A folder that is not there is empty.
fn look(folder: &Path, home: &dyn CatalogueHome) -> io::Result<Seen> {
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
            if let Some(leads_to) = home.leads_outside(&entry.path()) {
                unnamed.push((
                    name,
                    format!("it is a link to outside the project, {}", leads_to.display()),
                ));
                continue;
            }
            fs::metadata(entry.path())
        } else if kind.is_file() {
            entry.metadata()
        } else {
            continue;
        };
        // What is gone in this moment, and what a link leads to in vain, is not there.
        if let Some(metadata) = metadata.ok().filter(Metadata::is_file) {
            seen.push((name, FileStamp::of(&metadata)));
        }
    }
    Ok((seen, unnamed))
}

/// What came of reading a file.
enum Reading {
    /// Its bytes; none of them where there are too many for a note.
    Bytes {
        bytes: Option<Vec<u8>>,
        digest: u128,
        stamp: FileStamp,
    },
    /// It is gone.
    Gone,
    /// It cannot be read, for this reason.
    Failed(String),
}

fn read(path: &Path, stamp: FileStamp) -> Reading {
    if usize::try_from(stamp.size).is_ok_and(|size| size > MAX_KNOWLEDGE_BYTES) {
        // Its length is all that has to be known of it.
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
        Ok(None) => Reading::Gone,
        Err(error) => Reading::Failed(format!("it cannot be read: {}", error.reason())),
    }
}

fn content_of(bytes: Option<&[u8]>) -> KnowledgeContent {
    let note = bytes.map_or(Err(KnowledgeProblem::TooLarge), Knowledge::parse);
    match note {
        Err(problem) => KnowledgeContent::Problem(problem.to_string()),
        Ok(note) => {
            let links = links_in(&note.body);
            KnowledgeContent::Note(Box::new(LongNote {
                title_key: title_key(&note.title),
                link_keys: links.iter().map(|title| title_key(title)).collect(),
                title: note.title,
                tags: note.tags,
                feature: note.feature,
                created_at: note.created_at,
                links,
                body: note.body,
            }))
        }
    }
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
    fn a_sum_tells_every_other_set_of_files_and_no_other_order() {
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
