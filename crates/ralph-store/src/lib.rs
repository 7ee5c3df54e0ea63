//! SQL, and no SQL elsewhere. `Store` is the database of facts, `progress.db`; its methods are whole units of work that
//! speak in the nouns of ralph-model. `index` is the search index, which is derived and may be thrown away. What a fact
//! means is decided elsewhere.

mod error;
pub mod index;
mod migrate;
mod open;
mod progress;
mod sys;

pub use error::StoreError;
pub use open::Wait;
pub use progress::{
    AtWork, Claim, ClaimAnswer, ClaimRequest, DeletedFeature, DoneIn, FeatureChange, FeatureError, FileRecord,
    ForeignDatabase, ForeignError, ForeignFeature, ForeignHistory, ForeignIteration, ForeignTask, Health, Heed,
    ImportItem, Imported, ImportedFeature, ImportedHistory, IterationRecord, JournalFilter, JournalOutline, KnownNote,
    LearningOutline, ListPlace, Look, NewPause, NewRun, NoteAction, NoteChange, NoteFile, NoteVersion, OtherPause,
    OutboxFile, Overview, ParentChange, Pause, PauseChange, PauseReason, Phase, Presence, Reach, RecordedInjection,
    Remark, RowCaptures, Run, RunProcess, Scope, Searched, Settled, Settlement, Standing, Start, Store, Tally,
    TaskChange, TaskError, TaskFilter, TaskNews, TaskUpdate, TasksOfFeature, WaitsFor, Which, encode_term,
    journal_terms, lesson_of, task_type_of,
};
