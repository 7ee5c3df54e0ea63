//! Errors of requests about learnings, worded for the user who made them.

use ralph_model::{LearningId, LearningKind, LearningStatus, preview};

use crate::StoreError;

/// Maximum width of the quoted text in a list of matches.
const MENTION_COLUMNS: usize = 40;

/// Why a learning could not be found or changed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum LearningError {
    #[error("Learning not found: {}", if text.trim().is_empty() { "\"\"" } else { text })]
    Unknown { text: String },
    #[error("{text} matches several ids: {}", named(candidates, *more))]
    Ambiguous {
        text: String,
        /// The first matches with their texts.
        candidates: Vec<(LearningId, String)>,
        /// The number of further matches.
        more: usize,
    },
    #[error("{id} is {status}, not pruned, so it cannot be restored")]
    NotPruned { id: LearningId, status: LearningStatus },
    #[error("{id} is {status}, not pending; use `ralph learnings promote` or `reject` to change its status")]
    NotPending { id: LearningId, status: LearningStatus },
    #[error("{id} would be a duplicate of {other}, which is {status}")]
    SaysTheSame {
        id: LearningId,
        other: LearningId,
        status: LearningStatus,
    },
    #[error("{id} has the numbers of kind {is}, so its kind cannot change to {wanted}")]
    OtherNumbers {
        id: LearningId,
        is: LearningKind,
        wanted: LearningKind,
    },
    #[error("{id} is of kind {kind} and has no figures to change")]
    NoFigures { id: LearningId, kind: LearningKind },
    #[error("{id} cannot conflict with itself")]
    SettlesItself { id: LearningId },
    #[error("{id} cannot supersede itself")]
    SupersedesItself { id: LearningId },
    #[error("{old} supersedes {new}, so {new} cannot supersede {old}")]
    SupersedesInACycle { old: LearningId, new: LearningId },
    #[error("{id} is superseded by {by}")]
    SupersededItself { id: LearningId, by: LearningId },
    #[error("{id} is {status}; only active and proposed learnings can supersede or be superseded")]
    IsOut { id: LearningId, status: LearningStatus },
    #[error("{id} has no text, so it cannot be promoted; set one with `ralph learnings update {id} --content TEXT`")]
    NoText { id: LearningId },
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn named(candidates: &[(LearningId, String)], more: usize) -> String {
    let names = candidates
        .iter()
        .map(|(id, content)| format!("{id} ({})", preview(content, MENTION_COLUMNS)));
    let more = (more > 0).then(|| format!("and {more} more"));
    names.chain(more).collect::<Vec<_>>().join(", ")
}

/// An error before the path of the database is known.
#[derive(Debug)]
pub(super) enum LearningTrouble {
    Learning(LearningError),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for LearningTrouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<LearningError> for LearningTrouble {
    fn from(error: LearningError) -> Self {
        Self::Learning(error)
    }
}
