//! The error type that reaches the user: a message, a hint and an exit code.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use ralph_memory::capture::{KnowledgeError, KnowledgeRefusal, NoteRepositoryError, Refusal};
use ralph_model::LearningStatus;
use ralph_model::config::ConfigError;
use ralph_notes::FileError;
use ralph_search::SourceError;
use ralph_store::{FeatureError, LearningError, Part, StoreError, TaskError};

/// The kind of failure; it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usage,
    /// The command could not be completed.
    Failure,
    /// The reader of the output is gone, which is not a failure.
    OutputClosed,
}

#[derive(Debug)]
pub(crate) struct CommandError {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

impl CommandError {
    /// The command could not be completed.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Failure,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Usage,
            ..Self::new(message)
        }
    }

    /// Adds a hint on how to fix it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prefixes the message with a name.
    pub(crate) fn about(mut self, name: &str) -> Self {
        self.message = format!("{name}: {}", self.message);
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The message and the hint; `None` if no one reads the output.
    pub(crate) fn lines(&self) -> Option<(&str, Option<&str>)> {
        (self.kind != Kind::OutputClosed).then_some((&self.message, self.hint.as_deref()))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    pub(crate) fn code(&self) -> u8 {
        match self.kind {
            Kind::Usage => 2,
            Kind::Failure => 1,
            Kind::OutputClosed => 0,
        }
    }
}

impl From<io::Error> for CommandError {
    /// Errors of standard input and output. File errors have types of their own that name the file.
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => Kind::OutputClosed,
            _ => Kind::Failure,
        };
        Self {
            kind,
            ..Self::new(format!("cannot read standard input or write output: {error}"))
        }
    }
}

impl From<ralph_loop::BranchError> for CommandError {
    fn from(error: ralph_loop::BranchError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<FileError> for CommandError {
    fn from(error: FileError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<SourceError> for CommandError {
    fn from(error: SourceError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Foreign { path } => {
                let path = path.display();
                Self::new(message).hint(format!(
                    "if it belongs to RefoundAI's ralph, run `ralph import refound`; otherwise \
                     `mv {path} {path}.other`; ralph then starts a new history"
                ))
            }
            StoreError::Lost { backup, .. } => Self::new(message).hint(restore_hint(&backup)),
            StoreError::Replaced {
                part: Part::Database, ..
            } => Self::new(message).hint("`ralph doctor --restore-backup` restores the newest backup"),
            StoreError::NoBackupFolder { .. } => {
                Self::new(message).hint("`ralph init` makes one; it needs HOME or XDG_STATE_HOME to be set")
            }
            _ => Self::new(message),
        }
    }
}

/// The hint for a database that is missing although it has a backup.
pub(crate) fn restore_hint(backup: &Path) -> String {
    let folder = backup.parent().unwrap_or(backup).display();
    format!("`ralph doctor --restore-backup` restores it; to start over without it, delete {folder}")
}

impl From<TaskError> for CommandError {
    fn from(error: TaskError) -> Self {
        let message = error.to_string();
        match error {
            TaskError::Unknown { .. } => Self::new(message).hint("`ralph task list --all` lists all tasks"),
            TaskError::NotDeleted { .. } => Self::new(message).hint("`ralph task restore --list` lists deleted tasks"),
            TaskError::ParentDeleted { parent, .. } => {
                Self::new(message).hint(format!("`ralph task restore {parent}` restores it first"))
            }
            TaskError::Ambiguous { .. } => Self::new(message).hint("use a longer prefix of the id"),
            TaskError::DependencyCycle { .. } => Self::new(message).hint("remove one of these dependencies"),
            TaskError::Claimed { .. } => {
                Self::new(message).hint("stop that run, or wait until it has finished the task")
            }
            TaskError::HasOpenSubtasks { .. } => {
                Self::new(message).hint("it becomes done when all its subtasks are done")
            }
            TaskError::HasSubtasks { task } => Self::new(message).hint(format!(
                "`ralph task tree {task}` shows them; `ralph task reset {task} --all` reopens the failed ones"
            )),
            TaskError::Proposed { task } => {
                Self::new(message).hint(format!("`ralph review --accept {task}` accepts it"))
            }
            TaskError::NotProposed { .. } => Self::new(message),
            TaskError::NoFeature { .. } => Self::new(message).hint("`ralph feature list` lists all features"),
            TaskError::TwoFeatures { feature, other, .. } => Self::usage(message).hint(format!(
                "use `--feature {other}`, or another parent; `ralph task update PARENT --feature {feature}` moves a task \
                 with its subtasks"
            )),
            TaskError::Store(error) => error.into(),
        }
    }
}

impl From<FeatureError> for CommandError {
    fn from(error: FeatureError) -> Self {
        let message = error.to_string();
        match error {
            FeatureError::Unknown { .. } => Self::new(message).hint("`ralph feature list` lists all features"),
            FeatureError::Ambiguous { .. } => Self::new(message).hint("use a longer prefix of the id, or the name"),
            FeatureError::Taken { name, .. } => {
                Self::new(message).hint(format!("`ralph feature show {name}` shows it"))
            }
            FeatureError::Task(error) => error.into(),
            FeatureError::Store(error) => error.into(),
        }
    }
}

impl From<LearningError> for CommandError {
    fn from(error: LearningError) -> Self {
        let message = error.to_string();
        match error {
            LearningError::Unknown { .. } => {
                Self::new(message).hint("`ralph learnings list --all` lists all learnings")
            }
            LearningError::Ambiguous { .. } => Self::new(message).hint("use a longer prefix of the id"),
            LearningError::NotPruned { .. } => {
                Self::new(message).hint("`ralph learnings restore --list` lists what can be restored")
            }
            LearningError::SaysTheSame { id, other, .. } => Self::new(message).hint(format!(
                "`ralph learnings show {other}` shows it; `ralph learnings supersede {id} {other}` replaces {id}"
            )),
            LearningError::OtherNumbers { .. } => {
                Self::new(message).hint("`ralph learnings add` stores your text as a new learning")
            }
            LearningError::NoFigures { id, .. } => Self::new(message).hint(format!(
                "`ralph learnings update {id} --content TEXT` changes what it says"
            )),
            LearningError::SettlesItself { .. } => Self::new(message).hint("name two active learnings"),
            LearningError::SupersedesItself { .. } => {
                Self::new(message).hint("name the old learning first, then the new one")
            }
            LearningError::SupersedesInACycle { new, .. } => {
                Self::new(message).hint(format!("`ralph learnings promote {new}` activates it again"))
            }
            LearningError::SupersededItself { by, .. } => Self::new(message).hint(format!("name {by} instead")),
            LearningError::IsOut { id, status } => {
                let verb = if status == LearningStatus::Pruned {
                    "restore"
                } else {
                    "promote"
                };
                Self::new(message).hint(format!("`ralph learnings {verb} {id}` brings it back"))
            }
            LearningError::Store(error) => error.into(),
            // The other messages already say how to fix it.
            _ => Self::new(message),
        }
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::Secret { .. } => {
                Self::usage(message).hint("remove it, or pass --allow-secret if it is not a secret")
            }
            _ => Self::usage(message),
        }
    }
}

impl From<KnowledgeRefusal> for CommandError {
    fn from(refusal: KnowledgeRefusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            KnowledgeRefusal::Body(refusal) | KnowledgeRefusal::Part { refusal, .. } => Self {
                message,
                ..refusal.into()
            },
            _ => Self::usage(message),
        }
    }
}

impl From<KnowledgeError> for CommandError {
    fn from(error: KnowledgeError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(format!("cannot write JSON: {error}"))
    }
}

impl From<NoteRepositoryError> for CommandError {
    fn from(error: NoteRepositoryError) -> Self {
        let message = error.to_string();
        match error {
            NoteRepositoryError::Refused { refusal, .. } => Self {
                message,
                ..refusal.into()
            },
            NoteRepositoryError::Exists { .. } => {
                Self::new(message).hint("--force creates a new file and keeps the old one as .bak")
            }
            NoteRepositoryError::NotFound { file_kind, .. } => {
                let command = file_kind.words().command;
                Self::new(message).hint(format!(
                    "`{command} list` shows all entries, `{command} restore --list` deleted ones"
                ))
            }
            NoteRepositoryError::IsSign { .. } => {
                Self::new(message).hint("`ralph guardrails migrate` converts all Signs to entries, which can be edited")
            }
            NoteRepositoryError::PromotedDifferently { id, .. } => Self::new(message).hint(format!(
                "bring the memory up to date with `ralph memory edit`, then `ralph guardrails delete {id}`"
            )),
            NoteRepositoryError::Ambiguous { .. } => Self::new(message).hint("use a longer prefix of the id"),
            NoteRepositoryError::Twice { .. } => {
                Self::new(message).hint("edit the file: change the id of one of them, or remove it")
            }
            NoteRepositoryError::NothingToRestore { file_kind, .. } => {
                let command = file_kind.words().command;
                Self::new(message).hint(format!("`{command} show ID --history` lists the versions"))
            }
            NoteRepositoryError::File(_)
            | NoteRepositoryError::Log(_)
            | NoteRepositoryError::CannotPromote { .. }
            | NoteRepositoryError::ChangedMeanwhile { .. } => Self::new(message),
        }
    }
}
