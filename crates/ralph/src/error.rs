//! The one error that reaches the person: a line that says what, where and why, a hint that mends it, an exit code.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use ralph_memory::capture::{KnowledgeError, KnowledgeRefusal, NotebookError, Refusal};
use ralph_memory::catalogue::CatalogueError;
use ralph_model::LearningStatus;
use ralph_model::config::ConfigError;
use ralph_notes::FileError;
use ralph_store::{FeatureError, LearningError, Part, StoreError, TaskError};

/// What kind of failure it is; it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The arguments are wrong.
    Usage,
    /// It could not be done.
    Failure,
    /// Nobody reads the output any more, which is no failure.
    OutputClosed,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

impl CommandError {
    /// It could not be done.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Failure,
            message: message.into(),
            hint: None,
        }
    }

    /// The arguments are wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Usage,
            ..Self::new(message)
        }
    }

    /// With a line that says how to mend it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With the name of what it is about in front.
    pub(crate) fn about(mut self, name: &str) -> Self {
        self.message = format!("{name}: {}", self.message);
        self
    }

    /// What happened.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The lines to print; none when there is nobody to read them.
    pub(crate) fn lines(&self) -> Option<(&str, Option<&str>)> {
        (self.kind != Kind::OutputClosed).then_some((&self.message, self.hint.as_deref()))
    }

    /// The exit code of the program.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// The same as a number.
    pub(crate) fn code(&self) -> u8 {
        match self.kind {
            Kind::Usage => 2,
            Kind::Failure => 1,
            Kind::OutputClosed => 0,
        }
    }
}

impl From<io::Error> for CommandError {
    /// Errors of standard input and output; files have errors of their own that name them.
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => Kind::OutputClosed,
            _ => Kind::Failure,
        };
        Self {
            kind,
            ..Self::new(format!("cannot read the input or write the output: {error}"))
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

impl From<CatalogueError> for CommandError {
    fn from(error: CatalogueError) -> Self {
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
                    "`ralph import refound` takes it over if it is that of RefoundAI's ralph; else `mv {path} {path}.other`, \
                     and ralph starts a history of its own"
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

/// What to do about a database that is missing although it has a backup.
pub(crate) fn restore_hint(backup: &Path) -> String {
    let folder = backup.parent().unwrap_or(backup).display();
    format!("`ralph doctor --restore-backup` restores it; to start over without it, delete {folder}")
}

impl From<TaskError> for CommandError {
    fn from(error: TaskError) -> Self {
        let message = error.to_string();
        match error {
            TaskError::Unknown { .. } => Self::new(message).hint("`ralph task list --all` shows what there is"),
            TaskError::NotDeleted { .. } => Self::new(message).hint("`ralph task restore --list` shows what there is"),
            TaskError::ParentDeleted { parent, .. } => {
                Self::new(message).hint(format!("`ralph task restore {parent}` brings that back first"))
            }
            TaskError::Ambiguous { .. } => Self::new(message).hint("give more of the id"),
            TaskError::Ring { .. } => Self::new(message).hint("leave one of these out"),
            TaskError::Claimed { .. } => Self::new(message).hint("stop that run, or wait until it is through with it"),
            TaskError::HasOpenParts { .. } => Self::new(message).hint("it is done by itself when they are"),
            TaskError::HasParts { task } => Self::new(message).hint(format!(
                "`ralph task tree {task}` shows them; `ralph task reset {task} --all` opens those again that failed"
            )),
            TaskError::Proposed { task } => Self::new(message).hint(format!("`ralph review --accept {task}` accepts it")),
            TaskError::NotProposed { .. } => Self::new(message),
            TaskError::NoFeature { .. } => Self::new(message).hint("`ralph feature list` shows what there is"),
            TaskError::TwoFeatures { feature, other, .. } => Self::usage(message).hint(format!(
                "say `--feature {other}`, or give it another parent; `ralph task update PARENT --feature {feature}` moves a \
                 task with all of its parts"
            )),
            TaskError::Store(error) => error.into(),
        }
    }
}

impl From<FeatureError> for CommandError {
    fn from(error: FeatureError) -> Self {
        let message = error.to_string();
        match error {
            FeatureError::Unknown { .. } => Self::new(message).hint("`ralph feature list` shows what there is"),
            FeatureError::Ambiguous { .. } => Self::new(message).hint("give more of the id, or the name"),
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
                Self::new(message).hint("`ralph learnings list --all` shows what there is")
            }
            LearningError::Ambiguous { .. } => Self::new(message).hint("give more of the id"),
            LearningError::NotPruned { .. } => {
                Self::new(message).hint("`ralph learnings restore --list` shows what can be brought back")
            }
            LearningError::SaysTheSame { id, other, .. } => Self::new(message).hint(format!(
                "`ralph learnings show {other}` shows it; `ralph learnings supersede {id} {other}` puts it in the place of {id}"
            )),
            LearningError::OtherNumbers { .. } => {
                Self::new(message).hint("`ralph learnings add` keeps what you want to say as a learning of its own")
            }
            LearningError::UnreadFigures { id, .. } => Self::new(message).hint(format!(
                "`ralph learnings update {id} --iterations N --seconds S` changes the figures alone"
            )),
            LearningError::NoFigures { id, .. } => Self::new(message).hint(format!(
                "`ralph learnings update {id} --content TEXT` changes what it says"
            )),
            LearningError::SettlesItself { .. } => Self::new(message).hint("name two learnings of which both hold"),
            LearningError::SupersedesItself { .. } => {
                Self::new(message).hint("name the old learning first, then the new one")
            }
            LearningError::SupersedesInARing { new, .. } => {
                Self::new(message).hint(format!("`ralph learnings promote {new}` gives it its place back"))
            }
            LearningError::SupersededItself { by, .. } => Self::new(message).hint(format!("name {by} instead")),
            LearningError::IsOut { id, status } => {
                let verb = if status == LearningStatus::Pruned { "restore" } else { "promote" };
                Self::new(message).hint(format!("`ralph learnings {verb} {id}` brings it back"))
            }
            LearningError::Store(error) => error.into(),
            // These say themselves what mends them.
            _ => Self::new(message),
        }
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::Secret { .. } => Self::usage(message).hint("take it out, or pass --allow-secret if it is none"),
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

impl From<NotebookError> for CommandError {
    fn from(error: NotebookError) -> Self {
        let message = error.to_string();
        match error {
            NotebookError::Refused { refusal, .. } => Self {
                message,
                ..refusal.into()
            },
            NotebookError::Exists { .. } => {
                Self::new(message).hint("--force starts anew and keeps the old file as .bak")
            }
            NotebookError::NotFound { shelf, .. } => {
                let command = shelf.words().command;
                Self::new(message).hint(format!(
                    "`{command} list` shows what there is, `{command} restore --list` what is gone"
                ))
            }
            NotebookError::IsSign { .. } => {
                Self::new(message).hint("`ralph guardrails migrate` makes entries of all Signs, which can be changed")
            }
            NotebookError::PromotedDifferently { id, .. } => Self::new(message).hint(format!(
                "bring the memory up to date with `ralph memory edit`, then `ralph guardrails delete {id}`"
            )),
            NotebookError::Ambiguous { .. } => Self::new(message).hint("give more of the id"),
            NotebookError::Twice { .. } => {
                Self::new(message).hint("give one of them another id, or remove it, in the file")
            }
            NotebookError::NothingToRestore { shelf, .. } => {
                let command = shelf.words().command;
                Self::new(message).hint(format!("`{command} show ID --history` lists the versions"))
            }
            NotebookError::File(_)
            | NotebookError::Log(_)
            | NotebookError::HeldBack { .. }
            | NotebookError::ChangedMeanwhile { .. } => Self::new(message),
        }
    }
}
