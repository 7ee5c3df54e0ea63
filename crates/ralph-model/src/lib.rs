//! The nouns of ralph: ids, notes, tasks, features, the journal, what agents say, budgets, time, configuration.
//!
//! Nothing here reads a file, the environment or the wall clock; whoever needs those hands them in.

mod author;
mod budget;
mod candidate;
mod captured;
mod clock;
pub mod config;
mod evidence;
mod facts;
mod feature;
mod figures;
mod file_stamp;
mod gist;
mod guidance;
mod injection;
mod invisible;
mod journal;
mod learning;
mod metrics;
mod moments;
mod note;
mod note_id;
mod note_or_sign;
mod report;
mod rollback;
mod run_history;
mod short_id;
mod split_mix;
mod standing_in_prompts;
mod tags;
mod task;
mod task_type;
mod text;
mod word_enum;

pub use author::{Actor, Author, AuthorKind};
pub use budget::{Budget, Tokens};
pub use candidate::Candidate;
pub use captured::{Captured, CapturedKnowledge, CapturedLearning, Control, Promise, Verdict};
pub use clock::{Clock, Entropy};
pub use evidence::{Evidence, Unverified, UnverifiedReason};
pub use facts::{Complexity, DrawnLesson, Extraction, Facts, MOST_FACT_EXAMPLES, estimate_of, with_figures};
pub use feature::{
    BehindFailed, Feature, FeatureName, FeatureNameError, FeatureStatus, MAX_FEATURE_NAME_BYTES, TaskCounts,
};
pub use figures::{EstimateFigures, read_estimate};
pub use file_stamp::FileStamp;
pub use gist::{exception_in, gist_of};
pub use guidance::{Guidance, keep_guidance, split_guidance, with_guidance};
pub use injection::{EntryKind, Injection, InjectionReason};
pub use invisible::{code_point, invisible_characters, show_invisible, without_invisible};
pub use journal::{Denial, Difficulty, ErrorCategory, JournalRow, NewJournalRow, Outcome, StopReason, Usage};
pub use learning::{Learning, LearningContent, LearningKind, LearningSource, LearningStatus, MOST_EXAMPLES};
pub use metrics::{Course, HardFailure, Rate, Subject};
pub use moments::{deserialize_moment, moment_text, serialize_moment};
pub use note::{Extra, Note, NoteKind, Shelf, ShelfWords};
pub use note_id::NoteId;
pub use note_or_sign::NoteOrSign;
pub use report::{
    Attempt, FailedAttempts, FailedGate, FailureReport, KeptReport, ReportOrigin, SAID_NOTHING, Signature, Suggestion,
};
pub use rollback::RollbackState;
pub use run_history::{PastEnd, PastError, PastIteration, RunHistory};
pub use short_id::{FeatureId, LearningId, ProposalId, RollbackId, RunId, TaskId};
pub use split_mix::SplitMix64;
pub use standing_in_prompts::{StandingRule, counted_success_rate, whole_percent};
pub use tags::{TagError, Tags};
pub use task::{NewTask, Priority, Task, TaskKind, TaskLogLine, TaskProposal, TaskStatus};
pub use task_type::TaskType;
pub use text::{
    beginning_in_words, count, display_width, duration, first_line, pieces, preview, short_number, size, slug,
};
