//! The two files of the earlier tool: the store of lessons, and the staging area of those that nobody has judged to the end.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_model::{LearningKind, moment_text};
use ralph_notes::{FileError, read_file};

use super::javascript::{JsObject, JsText, JsValue, JsonProblem, compact, indented, parse, sha256};

/// What stands behind the name of a file in that of its backup.
pub(super) const BACKUP: &str = ".bak";
/// The version of the files that are written, and …
const VERSION: &str = "1.0.0";
/// … how those begin that are read.
const KNOWN_VERSIONS: &str = "1.";

/// Which of the two files it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The store.
    Store,
    /// The staging area.
    Staging,
}

impl FileKind {
    /// How it is called in its folder.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Store => "ralph-learnings.json",
            Self::Staging => "staging.json",
        }
    }

    /// How its list is called.
    fn list(self) -> &'static str {
        match self {
            Self::Store => "learnings",
            Self::Staging => "staged",
        }
    }

    /// Which of the two a value is meant to be, by its lists.
    #[must_use]
    pub fn of(value: &JsValue) -> Option<Self> {
        let object = value.as_object()?;
        let has = |kind: &Self| object.get(kind.list()).is_some();
        [Self::Store, Self::Staging].into_iter().find(has)
    }
}

/// Why a file cannot be taken for what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    /// It is not there.
    #[error("it is not there")]
    Missing,
    /// It is no JSON.
    #[error(transparent)]
    Json(#[from] JsonProblem),
    /// It is JSON of another form.
    #[error("{0}")]
    Shape(String),
    /// It is not what was written.
    #[error("its checksum does not fit what it holds, so something has changed it")]
    Checksum,
}

/// One of the two files, as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignFile {
    kind: FileKind,
    whole: JsObject,
}

impl ForeignFile {
    /// A store of these lessons, with its checksum and its figures.
    #[must_use]
    pub fn store(learnings: Vec<JsValue>, updated: Timestamp) -> Self {
        let kinds: Vec<JsText> = LearningKind::ALL.iter().map(|kind| kind.word().into()).collect();
        let by_type = tally(&learnings, "type", &kinds);
        let by_task_type = tally(&learnings, "taskType", &[]);
        let stats = JsObject::from_pairs([
            ("totalLearnings", number(learnings.len())),
            ("byType", by_type.into()),
            ("byTaskType", by_task_type.into()),
        ]);
        let learnings = JsValue::List(learnings);
        let whole = JsObject::from_pairs([
            ("version", VERSION.into()),
            ("checksum", sha256(compact(&learnings)).as_str().into()),
            ("lastUpdated", moment_text(updated).as_str().into()),
            ("learnings", learnings),
            ("stats", stats.into()),
        ]);
        Self {
            kind: FileKind::Store,
            whole,
        }
    }

    /// Reads a file. What has the right form and is wrong in another way is handed back with the reason: a person may want
    /// it all the same.
    ///
    /// # Errors
    /// When it is not what it should be.
    pub fn read(kind: FileKind, bytes: &[u8]) -> Result<Self, (FileProblem, Option<Self>)> {
        let value = parse(bytes).map_err(|problem| (problem.into(), None))?;
        let shape = |what: String| (FileProblem::Shape(what), None);
        let JsValue::Object(whole) = value else {
            return Err(shape(format!("it holds {} instead of an object", value.kind())));
        };
        let name = kind.list();
        match whole.get(name) {
            Some(JsValue::List(_)) => {}
            Some(other) => return Err(shape(format!("its \"{name}\" is {} instead of a list", other.kind()))),
            None => return Err(shape(format!("it has no \"{name}\""))),
        }
        let file = Self { kind, whole };
        match file.doubt() {
            Some(problem) => Err((problem, Some(file))),
            None => Ok(file),
        }
    }

    /// What speaks against a file that has the right form.
    fn doubt(&self) -> Option<FileProblem> {
        if let Some(JsValue::Text(version)) = self.whole.get("version")
            && !version.to_text().starts_with(KNOWN_VERSIONS)
        {
            let version = version.to_text();
            return Some(FileProblem::Shape(format!(
                "it is of version {version}, which is not known"
            )));
        }
        match self.whole.get("checksum").and_then(JsValue::as_text) {
            Some(said) => (!said.is(&self.checksum())).then_some(FileProblem::Checksum),
            // The staging area has done without in the past; a store never has.
            None if self.kind == FileKind::Staging => None,
            None => Some(FileProblem::Shape("it has no checksum".to_owned())),
        }
    }

    /// Which of the two it is.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// What stands in its list.
    #[must_use]
    pub fn entries(&self) -> &[JsValue] {
        let list = self.whole.get(self.kind.list());
        list.and_then(JsValue::as_list).unwrap_or_default()
    }

    /// When it was last written, if it says so.
    #[must_use]
    pub fn updated_at(&self) -> Option<Timestamp> {
        self.whole.get("lastUpdated")?.as_text()?.to_text().parse().ok()
    }

    /// The checksum of its list.
    #[must_use]
    pub fn checksum(&self) -> String {
        let list = self.whole.get(self.kind.list()).unwrap_or(&JsValue::Null);
        sha256(compact(list))
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        indented(&JsValue::Object(self.whole.clone()))
    }
}

/// How many learnings have each word under a name; words of `always` are listed even if the count is 0.
fn tally(learnings: &[JsValue], name: &str, always: &[JsText]) -> JsObject {
    let mut counts: Vec<(JsText, usize)> = always.iter().map(|word| (word.clone(), 0)).collect();
    for learning in learnings {
        let word = learning.as_object().and_then(|object| object.get(name)?.as_text());
        let Some(word) = word else { continue };
        match counts.iter_mut().find(|(known, _)| known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word.clone(), 1)),
        }
    }
    JsObject::of(counts.into_iter().map(|(word, count)| (word, number(count))).collect())
}

fn number(count: usize) -> JsValue {
    u32::try_from(count).unwrap_or(u32::MAX).into()
}

/// What could be had of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Loaded {
    /// It is as it should be.
    Good(ForeignFile),
    /// It is not, but its backup is.
    Recovered {
        /// What the backup holds.
        file: ForeignFile,
        /// The backup.
        from_backup: PathBuf,
        /// What is wrong with the file itself.
        why: FileProblem,
        /// What stands in the file itself, if it has the right form.
        as_it_stands: Option<ForeignFile>,
    },
    /// Neither is it, nor its backup.
    Bad {
        /// What is wrong with the file itself.
        why: FileProblem,
        /// What is wrong with its backup; none where there is none.
        backup: Option<FileProblem>,
        /// What stands in the file itself, if it has the right form.
        as_it_stands: Option<ForeignFile>,
    },
}

/// Reads a file, or its backup where it is no good; none where there is neither.
///
/// # Errors
/// When a file that is there cannot be read.
pub fn load(kind: FileKind, path: &Path) -> Result<Option<Loaded>, FileError> {
    let standing = read_file(path)?.map(|text| text.bytes);
    let backup_path = backup_of(path);
    if let Some(Ok(file)) = standing.as_deref().map(|bytes| ForeignFile::read(kind, bytes)) {
        return Ok(Some(Loaded::Good(file)));
    }
    let backup = read_file(&backup_path)?.map(|text| text.bytes);
    Ok(load_bytes(kind, standing.as_deref(), (backup.as_deref(), &backup_path)))
}

/// The same of what was read before.
#[must_use]
pub fn load_bytes(kind: FileKind, standing: Option<&[u8]>, backup: (Option<&[u8]>, &Path)) -> Option<Loaded> {
    let (backup, backup_path) = backup;
    let (why, as_it_stands) = match standing.map(|bytes| ForeignFile::read(kind, bytes)) {
        Some(Ok(file)) => return Some(Loaded::Good(file)),
        Some(Err(problem)) => problem,
        None => (FileProblem::Missing, None),
    };
    match backup.map(|bytes| ForeignFile::read(kind, bytes)) {
        Some(Ok(file)) => Some(Loaded::Recovered {
            file,
            from_backup: backup_path.to_owned(),
            why,
            as_it_stands,
        }),
        None if standing.is_none() => None,
        backup => Some(Loaded::Bad {
            why,
            backup: backup.and_then(Result::err).map(|(problem, _)| problem),
            as_it_stands,
        }),
    }
}

/// The name of a file's backup.
#[must_use]
pub fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(BACKUP);
    name.into()
}
