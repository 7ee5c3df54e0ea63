//! The domain types of ralph: ids, notes, tasks, features, the journal, agent reports, budgets, time and configuration.
//!
//! Nothing here reads files, the environment or the clock; callers pass them in.

mod author;
mod budget;
mod candidate;
mod captured;
mod clock;
pub mod config;
mod eligibility;
mod evidence;
mod facts;
mod feature;
mod figures;
mod file_stamp;
mod guidance;
mod headline;
mod injection;
mod invisible;
mod journal;
mod learning;
mod metrics;
mod note;
mod note_id;
mod note_or_sign;
mod report;
mod rollback;
mod run_history;
mod short_id;
mod split_mix;
mod tags;
mod task;
mod task_type;
mod text;
mod text_features;
mod timestamps;
mod word_enum;

pub use author::{Actor, Author, AuthorKind};
pub use budget::{Budget, Tokens};
pub use candidate::Candidate;
pub use captured::{Captured, CapturedKnowledge, CapturedLearning, Control, Promise, Verdict};
pub use clock::{Clock, Entropy};
pub use eligibility::{EligibilityRule, counted_success_rate, whole_percent};
pub use evidence::{Evidence, Unverified, UnverifiedReason};
pub use facts::{Complexity, ExtractedLearning, Extraction, Facts, MAX_FACT_EXAMPLES, estimate_of, with_figures};
pub use feature::{
    BehindFailed, Feature, FeatureName, FeatureNameError, FeatureStatus, MAX_FEATURE_NAME_BYTES, TaskCounts,
};
pub use figures::EstimateFigures;
pub use file_stamp::FileStamp;
pub use guidance::{Guidance, keep_guidance, split_guidance, with_guidance};
pub use headline::{exception_in, headline_of};
pub use injection::{EntryKind, Injection, InjectionReason};
pub use invisible::{code_point, invisible_characters, show_invisible, without_invisible};
pub use journal::{Denial, Difficulty, EndKind, ErrorCategory, JournalRow, NewJournalRow, Outcome, StopReason, Usage};
pub use learning::{Learning, LearningContent, LearningKind, LearningSource, LearningStatus, MAX_EXAMPLES};
pub use metrics::{HardFailure, Rate, Subject, TrackRecord};
pub use note::{Extra, Note, NoteFileKind, NoteFileNouns, NoteKind};
pub use note_id::NoteId;
pub use note_or_sign::NoteOrSign;
pub use report::{
    Attempt, FailedAttempts, FailedGate, FailureReport, ReportOrigin, Signature, StoredReport, Suggestion,
};
pub use rollback::RollbackState;
pub use run_history::{PastEnd, PastError, PastIteration, RunHistory};
pub use short_id::{FeatureId, LearningId, ProposalId, RollbackId, RunId, TaskId};
pub use split_mix::SplitMix64;
pub use tags::{TagError, Tags};
pub use task::{NewTask, Priority, Task, TaskKind, TaskLogLine, TaskProposal, TaskStatus};
pub use task_type::TaskType;
pub use text::{
    count, display_width, duration, first_line, pieces, preview, short_number, size, slug, truncate_at_word,
};
pub use text_features::{TextFeatures, are_most, common, prefix_len};
pub use timestamps::{deserialize_timestamp, format_timestamp, serialize_timestamp};
