//! All SQL of the workspace. `Store` is the database of facts, `progress.db`; each method is one unit of work in the
//! types of ralph-model. `index` is the search index, which is derived and may be deleted at any time.

mod backup;
mod error;
mod file_system;
mod guard;
pub mod index;
mod migrate;
mod open;
mod owner;
mod place;
mod progress;
mod sys;

pub use backup::{Backup, Backups};
pub use error::{Outdated, StoreError};
pub use file_system::FileSystem;
pub use guard::{Change, Part};
pub use open::Wait;
pub use place::{DatabasePlace, PlaceRef};
pub use progress::{
    AddedLearning, AgentPauseChange, AtWork, CheckoutRecord, Claim, ClaimAnswer, ClaimRequest, DayFigures,
    DeletedFeature, DeletedTask, DoneIn, EvidenceChange, FailedTask, FailureFigures, FeatureChange, FeatureError,
    Figures, FileRecord, FinishedTask, ForeignDatabase, ForeignError, ForeignFeature, ForeignHistory, ForeignIteration,
    ForeignLearning, ForeignLearningStatus, ForeignStatus, ForeignTask, HardFailureQuery, Health, ImportItem,
    ImportOutcome, Imported, ImportedFeature, ImportedHistory, ImportedLearning, IterationRecord, JournalDoc,
    JournalFilter, Judged, Judgement, KnownNote, LandingRecord, LastSeen, LearningDoc, LearningError, LearningEvidence,
    LearningFilter, LearningQuery, LearningStrength, LearningsState, ListPlace, LogReset, MergeCandidate, MergeGroup,
    Merged, ModelFigures, NewLearning, NewPause, NewRun, NoteAction, NoteChange, NoteFile, NoteVersion, OpenRun,
    OutboxFile, Overview, Paraphrase, ParentChange, Pause, PauseChange, PausePolicy, PauseReason, Phase, Place,
    Presence, PruneRules, Reach, ReadSnapshot, RecordCounts, RecordedEnd, RecordedInjection, Remark, Review,
    RowCaptures, Run, RunFigures, RunProcess, Scope, ScopeCounts, Searched, Settled, Settlement, Showing, Start, Stats,
    StatsFilter, Store, Tally, TaskChange, TaskError, TaskFigures, TaskFilter, TaskSummary, TaskUpdate, TasksOfFeature,
    Taught, TypeFigures, UnverifiedCounts, Verdict, WaitsFor, Which, encode_term, journal_terms, normalized,
    task_type_of,
};
pub use progress::{
    AgentNote, CommitStep, Kept, KnowledgeChange, KnowledgeRecord, KnowledgeState, KnowledgeVersion, LearningStep,
    LoggedEntry, NoteStep, Rollback, RollbackPlan, RollbackTarget, ScratchpadChange, StepChange, TaskCommit, TaskStep,
};
pub use progress::{
    Cleared, Clearing, ConflictDecision, Decision, DeletedLearnings, Holds, JudgedLearnings, LearningFault,
    LearningStats, LearningUpdate, LearningVersion, LoggedChange, NewProposal, OpenIteration, Proposal,
    ProposedCommand, ProposedLearning, PruneFilter, RunLearnings,
};
