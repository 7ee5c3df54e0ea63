//! The database of facts, `progress.db`. Each method of `Store` is one unit of work in the types of ralph-model.

mod backup;
mod error;
mod file_system;
mod guard;
mod migrate;
mod open;
mod owner;
mod place;
mod progress;
mod sys;

pub use backup::{Backup, Backups, remove_if_exists};
pub use error::StoreError;
pub use file_system::FileSystem;
pub use guard::{Change, Part};
pub use open::{Wait, chown_to_folder_owner};
pub use owner::belongs_to_another_tool;
pub use place::{DatabasePlace, PlaceRef};
pub use progress::{
    AddedLearning, AgentPauseChange, AtWork, CheckoutRecord, Claim, ClaimAnswer, ClaimRequest, DayFigures,
    DeletedFeature, DeletedTask, DoneIn, EvidenceChange, FailedTask, FailureFigures, FeatureChange, FeatureError,
    Figures, FileRecord, FinishedTask, ForeignDatabase, ForeignError, ForeignFeature, ForeignHistory, ForeignIteration,
    ForeignLearning, ForeignLearningStatus, ForeignStatus, ForeignTask, HardFailureQuery, Health, ImportItem,
    ImportOutcome, Imported, ImportedFeature, ImportedHistory, ImportedLearning, IterationRecord, JournalFilter,
    Judged, Judgement, KnownNote, LandingRecord, LastSeen, LearningError, LearningEvidence, LearningFilter,
    LearningQuery, LearningStrength, ListPlace, LogReset, MergeCandidate, MergeGroup, Merged, ModelFigures,
    NewLearning, NewPause, NewRun, NoteAction, NoteChange, NoteFile, NoteVersion, OpenRun, OutboxFile, Overview,
    ParentChange, Pause, PauseChange, PausePolicy, PauseReason, Phase, Place, Presence, PruneRules, Reach,
    ReadSnapshot, RecordCounts, RecordedEnd, RecordedInjection, Remark, Review, RowCaptures, Run, RunFigures,
    RunProcess, Scope, ScopeCounts, Settled, Settlement, Showing, Start, Stats, StatsFilter, Store, Tally, TaskChange,
    TaskError, TaskFigures, TaskFilter, TaskSummary, TaskTypeOf, TaskUpdate, TasksOfFeature, Taught, TypeFigures,
    UnverifiedCounts, Verdict, WaitsFor, Which, normalized,
};
pub use progress::{
    AgentNote, CommitStep, Kept, KnowledgeChange, KnowledgeRecord, KnowledgeState, KnowledgeVersion, LearningStep,
    LoggedEntry, NoteStep, Rollback, RollbackPlan, RollbackTarget, ScratchpadChange, StepChange, TaskCommit, TaskStep,
};
pub use progress::{
    ChangedFact, Cleared, Clearing, ConflictDecision, Decision, DeletedLearnings, FactKind, Holds, JudgedLearnings,
    LearningFault, LearningStats, LearningUpdate, LearningVersion, LoggedChange, NewProposal, OpenIteration, Proposal,
    ProposedCommand, ProposedLearning, PruneFilter, Revision, RunLearnings, SearchText,
};
pub use sys::boot;
