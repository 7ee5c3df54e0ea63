//! The two files of the earlier tool: the store of learnings, and the staging area of those not yet fully reviewed.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_model::{LearningKind, format_timestamp};
use ralph_notes::{FileError, read_file};

use serde_json::Value;

use super::json::{JsonObject, JsonProblem, compact, indented, kind_of, object_of, parse, sha256};

/// Suffix of backup files.
pub(super) const BACKUP: &str = ".bak";
/// The version that is written, and …
const VERSION: &str = "1.0.0";
/// … the prefix of versions that are read.
const KNOWN_VERSIONS: &str = "1.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Store,
    Staging,
}

impl FileKind {
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Store => "ralph-learnings.json",
            Self::Staging => "staging.json",
        }
    }

    /// The name of its list.
    fn list(self) -> &'static str {
        match self {
            Self::Store => "learnings",
            Self::Staging => "staged",
        }
    }

    /// Detects the kind of a value by its lists.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let has = |kind: &Self| object.get(kind.list()).is_some();
        [Self::Store, Self::Staging].into_iter().find(has)
    }
}

/// Why a file is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    #[error("it is missing")]
    Missing,
    #[error(transparent)]
    Json(#[from] JsonProblem),
    #[error("{0}")]
    Shape(String),
    #[error("checksum mismatch")]
    Checksum,
}

/// One of the two files.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignFile {
    kind: FileKind,
    whole: JsonObject,
}

impl ForeignFile {
    /// A store of these learnings, with checksum and statistics.
    #[must_use]
    pub fn store(learnings: Vec<Value>, updated: Timestamp) -> Self {
        let kinds: Vec<&str> = LearningKind::ALL.iter().map(|kind| kind.word()).collect();
        let by_type = tally(&learnings, "type", &kinds);
        let by_task_type = tally(&learnings, "taskType", &[]);
        let stats = object_of([
            ("totalLearnings", number(learnings.len())),
            ("byType", by_type.into()),
            ("byTaskType", by_task_type.into()),
        ]);
        let learnings = Value::Array(learnings);
        let whole = object_of([
            ("version", VERSION.into()),
            ("checksum", sha256(compact(&learnings)).as_str().into()),
            ("lastUpdated", format_timestamp(updated).as_str().into()),
            ("learnings", learnings),
            ("stats", stats.into()),
        ]);
        Self {
            kind: FileKind::Store,
            whole,
        }
    }

    /// Reads a file. A well-formed file with another problem is returned with the error, because a user may want it
    /// anyway.
    ///
    /// # Errors
    /// When it is not what it should be.
    pub fn read(kind: FileKind, bytes: &[u8]) -> Result<Self, (FileProblem, Option<Self>)> {
        let value = parse(bytes).map_err(|problem| (problem.into(), None))?;
        let shape = |what: String| (FileProblem::Shape(what), None);
        let Value::Object(whole) = value else {
            return Err(shape(format!("it holds {} instead of an object", kind_of(&value))));
        };
        let name = kind.list();
        match whole.get(name) {
            Some(Value::Array(_)) => {}
            Some(other) => return Err(shape(format!("its \"{name}\" is {} instead of a list", kind_of(other)))),
            None => return Err(shape(format!("it has no \"{name}\""))),
        }
        let file = Self { kind, whole };
        match file.problem() {
            Some(problem) => Err((problem, Some(file))),
            None => Ok(file),
        }
    }

    /// The problem of a well-formed file, if any.
    fn problem(&self) -> Option<FileProblem> {
        if let Some(Value::String(version)) = self.whole.get("version")
            && !version.starts_with(KNOWN_VERSIONS)
        {
            return Some(FileProblem::Shape(format!("unsupported version {version}")));
        }
        match self.whole.get("checksum").and_then(Value::as_str) {
            Some(said) => (said != self.checksum()).then_some(FileProblem::Checksum),
            // Older staging areas have none; a store always does.
            None if self.kind == FileKind::Staging => None,
            None => Some(FileProblem::Shape("it has no checksum".to_owned())),
        }
    }

    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// The entries of its list.
    #[must_use]
    pub fn entries(&self) -> &[Value] {
        let list = self.whole.get(self.kind.list());
        list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    #[must_use]
    pub fn updated_at(&self) -> Option<Timestamp> {
        self.whole.get("lastUpdated")?.as_str()?.parse().ok()
    }

    /// The checksum of its list.
    #[must_use]
    pub fn checksum(&self) -> String {
        let list = self.whole.get(self.kind.list()).unwrap_or(&Value::Null);
        sha256(compact(list))
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        indented(&Value::Object(self.whole.clone()))
    }
}

/// How many learnings have each word under a name; words of `always` are listed even if the count is 0.
fn tally(learnings: &[Value], name: &str, always: &[&str]) -> JsonObject {
    let mut counts: JsonObject = always.iter().map(|word| ((*word).to_owned(), number(0))).collect();
    for word in learnings.iter().filter_map(|learning| learning.get(name)?.as_str()) {
        let count = counts.get(word).and_then(Value::as_u64).unwrap_or_default();
        counts.insert(word.to_owned(), (count + 1).into());
    }
    counts
}

fn number(count: usize) -> Value {
    u32::try_from(count).unwrap_or(u32::MAX).into()
}

/// The result of loading a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Loaded {
    /// The file is good.
    Good(ForeignFile),
    /// The file is bad, but its backup is good.
    Recovered {
        file: ForeignFile,
        from_backup: PathBuf,
        why: FileProblem,
        /// The file itself, if it is well-formed.
        damaged_file: Option<ForeignFile>,
    },
    /// Both are bad.
    Bad {
        why: FileProblem,
        /// What is wrong with its backup; `None` if there is none.
        backup: Option<FileProblem>,
        /// The file itself, if it is well-formed.
        damaged_file: Option<ForeignFile>,
    },
}

/// Reads a file, or its backup if the file is bad; `None` if there is neither.
///
/// # Errors
/// When a file that is there cannot be read.
pub fn load(kind: FileKind, path: &Path) -> Result<Option<Loaded>, FileError> {
    let current = read_file(path)?.map(|text| text.bytes);
    let backup_path = backup_of(path);
    if let Some(Ok(file)) = current.as_deref().map(|bytes| ForeignFile::read(kind, bytes)) {
        return Ok(Some(Loaded::Good(file)));
    }
    let backup = read_file(&backup_path)?.map(|text| text.bytes);
    Ok(load_bytes(kind, current.as_deref(), (backup.as_deref(), &backup_path)))
}

/// The same for bytes already read.
#[must_use]
pub fn load_bytes(kind: FileKind, current: Option<&[u8]>, backup: (Option<&[u8]>, &Path)) -> Option<Loaded> {
    let (backup, backup_path) = backup;
    let (why, damaged_file) = match current.map(|bytes| ForeignFile::read(kind, bytes)) {
        Some(Ok(file)) => return Some(Loaded::Good(file)),
        Some(Err(problem)) => problem,
        None => (FileProblem::Missing, None),
    };
    match backup.map(|bytes| ForeignFile::read(kind, bytes)) {
        Some(Ok(file)) => Some(Loaded::Recovered {
            file,
            from_backup: backup_path.to_owned(),
            why,
            damaged_file,
        }),
        None if current.is_none() => None,
        backup => Some(Loaded::Bad {
            why,
            backup: backup.and_then(Result::err).map(|(problem, _)| problem),
            damaged_file,
        }),
    }
}

#[must_use]
pub fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(BACKUP);
    name.into()
}
