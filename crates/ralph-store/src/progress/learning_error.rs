//! What can be wrong with a request about lessons, in words for the person who made it.

use ralph_model::{LearningId, LearningKind, LearningStatus, preview};

use crate::{Outdated, StoreError};

/// How many columns of a lesson stand where it is only mentioned.
const MENTION_COLUMNS: usize = 40;

/// Why a lesson could not be found or changed. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum LearningError {
    /// No lesson has an id that begins so.
    #[error("Learning not found: {}", if text.trim().is_empty() { "\"\"" } else { text })]
    Unknown {
        /// What was given for its id.
        text: String,
    },
    /// Several lessons have ids that begin so.
    #[error("{text} is the beginning of several ids: {}", named(candidates, *more))]
    Ambiguous {
        /// What was given for the id.
        text: String,
        /// The first lessons that could be meant, with what they say.
        candidates: Vec<(LearningId, String)>,
        /// How many others there are.
        more: usize,
    },
    /// A lesson that was not taken out cannot be brought back.
    #[error("{id} is {status}, not pruned, so there is nothing to bring back")]
    NotPruned {
        /// The lesson.
        id: LearningId,
        /// How far it has come.
        status: LearningStatus,
    },
    /// A lesson that was judged is not judged again.
    #[error(
        "{id} is {status}, not pending, so it was judged before; `ralph learnings promote` or `reject` says otherwise"
    )]
    NotPending {
        /// The lesson.
        id: LearningId,
        /// How far it has come.
        status: LearningStatus,
    },
    /// A lesson would say what another one says already.
    #[error("{id} would say the same as {other}, which is {status}")]
    SaysTheSame {
        /// The lesson.
        id: LearningId,
        /// The other one.
        other: LearningId,
        /// How far that one has come.
        status: LearningStatus,
    },
    /// The numbers behind a lesson are those of its kind.
    #[error("{id} has the numbers of a lesson of the kind {is}, so it cannot become one of the kind {wanted}")]
    OtherNumbers {
        /// The lesson.
        id: LearningId,
        /// Its kind.
        is: LearningKind,
        /// What it was to become.
        wanted: LearningKind,
    },
    /// An estimate's text names figures that cannot be read, or others than it ends with.
    #[error(
        "{id} is an estimate, and its figures cannot be read: end the text as in \": {figures}\", and name no others in it"
    )]
    UnreadFigures {
        /// The lesson.
        id: LearningId,
        /// Its figures as they stand.
        figures: String,
    },
    /// Only estimates have figures.
    #[error("{id} is of the kind {kind} and has no figures that could be changed")]
    NoFigures {
        /// The lesson.
        id: LearningId,
        /// Its kind.
        kind: LearningKind,
    },
    /// A lesson does not contradict itself.
    #[error("{id} cannot contradict itself")]
    SettlesItself {
        /// The lesson.
        id: LearningId,
    },
    /// A lesson cannot take its own place.
    #[error("{id} cannot take its own place")]
    SupersedesItself {
        /// The lesson.
        id: LearningId,
    },
    /// The old lesson has taken the place of the new one.
    #[error("{old} has taken the place of {new}, so {new} cannot take that of {old}")]
    SupersedesInARing {
        /// The one that is to leave.
        old: LearningId,
        /// The one that is to stay.
        new: LearningId,
    },
    /// Another lesson has taken the place of the new one.
    #[error("{by} has taken the place of {id}")]
    SupersededItself {
        /// The one that is to stay.
        id: LearningId,
        /// The one that stands in its place.
        by: LearningId,
    },
    /// A lesson that was rejected or taken out is in no prompt, so none takes its place, and it takes none.
    #[error("{id} is {status}; only learnings that hold or wait take the place of others, or give up theirs")]
    IsOut {
        /// The lesson.
        id: LearningId,
        /// How far it has come.
        status: LearningStatus,
    },
    /// A lesson that something else than ralph has changed is changed by nothing but what mends it.
    #[error("{id} is not what was written, so nothing was changed; `ralph learnings verify` tells what mends it")]
    Damaged {
        /// The lesson.
        id: LearningId,
    },
    /// A lesson that says nothing cannot hold.
    #[error(
        "{id} has no text, so there is nothing that could hold; `ralph learnings update {id} --content TEXT` says it"
    )]
    NoText {
        /// The lesson.
        id: LearningId,
    },
    /// The database could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Outdated for LearningError {
    fn is_outdated(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_outdated())
    }
}

fn named(candidates: &[(LearningId, String)], more: usize) -> String {
    let names = candidates
        .iter()
        .map(|(id, content)| format!("{id} ({})", preview(content, MENTION_COLUMNS)));
    let more = (more > 0).then(|| format!("and {more} more"));
    names.chain(more).collect::<Vec<_>>().join(", ")
}

/// An error before it is known which database it concerns.
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
