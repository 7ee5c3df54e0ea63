//! SQL, and no SQL elsewhere. `Store` is the database of facts, `progress.db`; its methods are whole units of work that
//! speak in the nouns of ralph-model. `index` is the search index, which is derived and may be thrown away. What a fact
//! means is decided elsewhere.

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
    AddedLearning, AtWork, CheckoutRecord, Claim, ClaimAnswer, ClaimRequest, DayFigures, DeletedFeature, DeletedTask,
    DoneIn, EvidenceChange, FailedTask, FailureFigures, FeatureChange, FeatureError, Figures, FileRecord, FinishedTask,
    ForeignDatabase, ForeignError, ForeignFeature, ForeignHistory, ForeignIteration, ForeignLearning, ForeignStanding,
    ForeignTask, HardLike, Health, Heed, ImportItem, Imported, ImportedFeature, ImportedHistory, IterationRecord,
    JournalFilter, JournalOutline, Judged, Judgement, KnownNote, LandingRecord, LearningError, LearningEvidence,
    LearningFilter, LearningOutline, LearningQuery, LearningStrength, LessonsState, ListPlace, LogReset, Look,
    MergeCandidate, MergeGroup, Merged, ModelFigures, Moment, NewLearning, NewPause, NewRun, NoteAction, NoteChange,
    NoteFile, NoteVersion, OpenRun, OtherPause, OutboxFile, Overview, ParentChange, Pause, PauseChange, PauseReason,
    Phase, Place, Presence, PruneRules, Reach, RecordCounts, RecordedInjection, Remark, Retold, Review, RowCaptures,
    Run, RunFigures, RunProcess, Scope, Seals, Searched, Settled, Settlement, Showing, Standing, Start, Stats,
    StatsFilter, StatusThere, Store, Taken, TakenLearning, Tally, TaskChange, TaskError, TaskFigures, TaskFilter,
    TaskNews, TaskUpdate, TasksOfFeature, Taught, TypeFigures, UnverifiedCounts, Verdict, WaitsFor, Which, encode_term,
    journal_terms, lesson_of, task_type_of,
};
pub use progress::{
    AgentNote, CommitStep, Kept, KnowledgeChange, KnowledgeRecord, KnowledgeState, KnowledgeVersion, LearningStep,
    LoggedEntry, NoteStep, Rollback, RollbackPlan, RollbackTarget, ScratchpadChange, StepChange, TaskCommit, TaskStep,
};
pub use progress::{
    Cleared, Clearing, Decision, DeletedLearnings, Holds, JudgedLearnings, KnownLessons, LearningFault,
    LearningFaultKind, LearningStats, LearningUpdate, LearningVersion, LoggedChange, MendedLearnings, NewProposal,
    OpenIteration, Proposal, ProposedCommand, ProposedLearning, PruneFilter, UnreadableLearning, Weighed,
};
