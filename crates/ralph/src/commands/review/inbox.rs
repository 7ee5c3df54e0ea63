//! Collects what needs review from the database and the note files.

use clap::ValueEnum;
use ralph_memory::learn::{Conflict, conflicts};
use ralph_model::{FailedGate, JournalRow, Learning, Note, NoteFileKind, Task};
use ralph_store::{FailedTask, FinishedTask, Proposal, Review, Store};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::super::learnings::iteration_as_json;
use super::proposals::proposed_tasks;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// The groups of items in the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// Failed tasks
    Failed,
    /// Done tasks that no gate or verifier confirmed
    Unverified,
    /// Done and verified tasks that you have not reviewed
    Finished,
    /// Conflicting learnings
    Conflicts,
    /// Proposed learnings
    Notes,
    /// Tasks and changes proposed by agents
    Proposals,
    /// Notes missing from their files without being deleted
    Vanished,
    /// Unreadable entries in note files
    Problems,
}

/// The groups read from the database together.
const FROM_STORE: [Group; 4] = [Group::Failed, Group::Unverified, Group::Finished, Group::Notes];

/// A proposed learning with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Proposed {
    pub(super) learning: Learning,
    /// The iterations that taught it, oldest first, each with the gate it failed; empty until the evidence is read.
    pub(super) taught_in: Vec<(JournalRow, Option<FailedGate>)>,
}

/// A note that is missing from its file without being deleted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MissingNote {
    pub(super) kind: NoteFileKind,
    pub(super) file: String,
    /// Its last known content.
    pub(super) note: Note,
}

/// An entry in a note file that cannot be read, or that conflicts with another one since a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct FileProblem {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) problem: String,
}

/// Everything that needs review, in display order. Groups that were not requested are none.
#[derive(Debug, Default, Serialize)]
pub(super) struct Inbox {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failed_tasks: Option<Vec<FailedTask>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unverified_tasks: Option<Vec<FinishedTask>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) finished_tasks: Option<Vec<FinishedTask>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) conflicts: Option<Vec<Conflict>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) learnings: Option<Vec<Proposed>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) proposed_tasks: Option<Vec<Task>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) proposals: Option<Vec<Proposal>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) vanished: Option<Vec<MissingNote>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problems: Option<Vec<FileProblem>>,
}

impl Inbox {
    /// Collects all groups, or only one.
    pub(super) fn read(context: &Context<'_>, only: Option<Group>) -> Result<Self, CommandError> {
        let wants = |group: Group| only.is_none_or(|only| only == group);
        let store = context.facts()?;
        let review = match &store {
            Some(store) if FROM_STORE.into_iter().any(wants) => store.review()?,
            _ => Review::default(),
        };
        let (unverified, finished) = review
            .finished_tasks
            .into_iter()
            .partition(|task| task.unverified.is_some());
        // The evidence is read when a learning is shown: there may be many.
        let learnings = review.learnings.into_iter().map(Proposed::without_evidence).collect();
        let conflicts = match &store {
            Some(store) if wants(Group::Conflicts) => conflicts(store)?,
            _ => Vec::new(),
        };
        let (tasks, proposals) = match &store {
            Some(store) if wants(Group::Proposals) => (proposed_tasks(store)?, store.open_proposals()?),
            _ => (Vec::new(), Vec::new()),
        };
        let (mut vanished, mut problems) = (Vec::new(), Vec::new());
        for kind in [NoteFileKind::Memories, NoteFileKind::Guardrails] {
            if wants(Group::Vanished) {
                vanished.extend(vanished_from(context, store.as_ref(), kind)?);
            }
            if wants(Group::Problems) {
                problems.extend(problems_in(context, kind)?);
            }
        }
        Ok(Self {
            failed_tasks: wants(Group::Failed).then_some(review.failed_tasks),
            unverified_tasks: wants(Group::Unverified).then_some(unverified),
            finished_tasks: wants(Group::Finished).then_some(finished),
            conflicts: wants(Group::Conflicts).then_some(conflicts),
            learnings: wants(Group::Notes).then_some(learnings),
            proposed_tasks: wants(Group::Proposals).then_some(tasks),
            proposals: wants(Group::Proposals).then_some(proposals),
            vanished: wants(Group::Vanished).then_some(vanished),
            problems: wants(Group::Problems).then_some(problems),
        })
    }

    pub(super) fn read_evidence(&mut self, context: &Context<'_>) -> Result<(), CommandError> {
        let learnings = self.learnings.iter_mut().flatten();
        let Some(store) = context.facts()? else {
            return Ok(());
        };
        for proposed in learnings {
            proposed.read_evidence(&store)?;
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.has_questions() && self.problems().is_empty()
    }

    /// Whether the user can be asked about any item.
    pub(super) fn has_questions(&self) -> bool {
        !(self.failed().is_empty()
            && self.unverified().is_empty()
            && self.finished().is_empty()
            && self.conflicts().is_empty()
            && self.proposed().is_empty()
            && self.proposed_tasks().is_empty()
            && self.proposals().is_empty()
            && self.vanished().is_empty())
    }

    pub(super) fn failed(&self) -> &[FailedTask] {
        self.failed_tasks.as_deref().unwrap_or_default()
    }

    pub(super) fn unverified(&self) -> &[FinishedTask] {
        self.unverified_tasks.as_deref().unwrap_or_default()
    }

    pub(super) fn finished(&self) -> &[FinishedTask] {
        self.finished_tasks.as_deref().unwrap_or_default()
    }

    pub(super) fn conflicts(&self) -> &[Conflict] {
        self.conflicts.as_deref().unwrap_or_default()
    }

    pub(super) fn proposed(&self) -> &[Proposed] {
        self.learnings.as_deref().unwrap_or_default()
    }

    pub(super) fn proposed_tasks(&self) -> &[Task] {
        self.proposed_tasks.as_deref().unwrap_or_default()
    }

    pub(super) fn proposals(&self) -> &[Proposal] {
        self.proposals.as_deref().unwrap_or_default()
    }

    pub(super) fn vanished(&self) -> &[MissingNote] {
        self.vanished.as_deref().unwrap_or_default()
    }

    pub(super) fn problems(&self) -> &[FileProblem] {
        self.problems.as_deref().unwrap_or_default()
    }
}

impl Proposed {
    fn without_evidence(learning: Learning) -> Self {
        let taught_in = Vec::new();
        Self { learning, taught_in }
    }

    pub(super) fn with_evidence(store: &Store, learning: Learning) -> Result<Self, CommandError> {
        let mut proposed = Self::without_evidence(learning);
        proposed.read_evidence(store)?;
        Ok(proposed)
    }

    pub(super) fn read_evidence(&mut self, store: &Store) -> Result<(), CommandError> {
        self.taught_in.clear();
        for row in store.learning_evidence(&self.learning.id)?.taught {
            let gate = store.report_of(row.id)?.and_then(|report| report.report.gate);
            self.taught_in.push((row, gate));
        }
        Ok(())
    }
}

/// Notes that are missing from a file without being deleted.
pub(super) fn vanished_from(
    context: &Context<'_>,
    store: Option<&Store>,
    kind: NoteFileKind,
) -> Result<Vec<MissingNote>, CommandError> {
    let note_repository = context.note_repository(kind, Spelling::Own);
    let file = context.project.shown(&note_repository.path).to_string();
    let Some(log) = store else { return Ok(Vec::new()) };
    let vanished = note_repository.vanished(log, &note_repository.read()?.document())?;
    let missing = vanished
        .before
        .into_iter()
        .chain(vanished.since)
        .map(|note| MissingNote {
            kind,
            file: file.clone(),
            note,
        });
    Ok(missing.collect())
}

fn problems_in(context: &Context<'_>, kind: NoteFileKind) -> Result<Vec<FileProblem>, CommandError> {
    let note_repository = context.note_repository(kind, Spelling::Own);
    let file = context.project.shown(&note_repository.path).to_string();
    let reading = note_repository.read()?;
    let document = reading.document();
    let problems = document.validate();
    let lines = document.line_numbers(problems.iter().map(|problem| problem.at));
    let problems = lines.zip(&problems).map(|(line, problem)| FileProblem {
        file: file.clone(),
        line,
        problem: problem.kind.to_string(),
    });
    Ok(problems.collect())
}

impl Serialize for Proposed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            #[serde(flatten)]
            learning: &'a Learning,
            taught_in: Vec<Value>,
        }
        let taught_in = self.taught_in.iter().map(|(row, gate)| {
            let mut iteration = iteration_as_json(row);
            if let Some(object) = iteration.as_object_mut() {
                object.insert("gate".to_owned(), json!(gate));
            }
            iteration
        });
        let whole = Whole {
            learning: &self.learning,
            taught_in: taught_in.collect(),
        };
        whole.serialize(serializer)
    }
}

impl Serialize for MissingNote {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"file": self.file, "memory": self.note}).serialize(serializer)
    }
}
