//! What waits for a person, gathered from the database and the files of notes.

use clap::ValueEnum;
use ralph_memory::learn::{Conflict, conflicts};
use ralph_model::{FailedGate, JournalRow, Learning, Note, Shelf, Task};
use ralph_store::{FailedTask, FinishedTask, Proposal, Review, Store};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::super::learnings::iteration_as_json;
use super::proposals::proposed_tasks;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// What there may be in the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// Tasks that have failed
    Failed,
    /// Done tasks that nothing confirmed
    Unverified,
    /// Done and verified tasks that you have not reviewed
    Finished,
    /// Lessons that contradict each other
    Conflicts,
    /// Lessons that nobody has confirmed
    Notes,
    /// Tasks and changes that agents propose
    Proposals,
    /// Notes that are gone without having been deleted
    Vanished,
    /// Entries of note files that cannot be read
    Problems,
}

/// The groups that are read from the database together.
const FROM_STORE: [Group; 4] = [Group::Failed, Group::Unverified, Group::Finished, Group::Notes];

/// A lesson that waits to be judged, with what speaks for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Proposed {
    pub(super) learning: Learning,
    /// The iterations that told it, the oldest first, each with the gate that refused its work; none before they are read.
    pub(super) told: Vec<(JournalRow, Option<FailedGate>)>,
}

/// A note that is gone from its file without having been deleted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GoneNote {
    pub(super) shelf: Shelf,
    /// The file as it is shown.
    pub(super) file: String,
    /// What it last said.
    pub(super) note: Note,
}

/// An entry of a file of notes that cannot be read, or that contradicts another one since a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct FileProblem {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) problem: String,
}

/// Everything that waits, in the order in which it is shown. What was not asked for is none.
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
    pub(super) vanished: Option<Vec<GoneNote>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problems: Option<Vec<FileProblem>>,
}

impl Inbox {
    /// Looks for what waits; with a group only for that.
    pub(super) fn look(context: &Context<'_>, only: Option<Group>) -> Result<Self, CommandError> {
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
        // What speaks for each is read when it is shown: there may be many.
        let learnings = review.learnings.into_iter().map(Proposed::without_evidence).collect();
        let conflicts = match &store {
            Some(store) if wants(Group::Conflicts) => conflicts(store)?,
            _ => Vec::new(),
        };
        let (tasks, proposals) = match &store {
            Some(store) if wants(Group::Proposals) => (proposed_tasks(store)?, store.open_proposals()?),
            _ => (Vec::new(), Vec::new()),
        };
        if let Some(store) = &store {
            context.tell_unreadable(store);
        }
        let (mut vanished, mut problems) = (Vec::new(), Vec::new());
        for shelf in [Shelf::Memories, Shelf::Guardrails] {
            if wants(Group::Vanished) {
                vanished.extend(vanished_from(context, store.as_ref(), shelf)?);
            }
            if wants(Group::Problems) {
                problems.extend(wrong_in(context, shelf)?);
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

    /// Reads the evidence for the learnings.
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

    /// Whether a person can be asked about any of it.
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

    pub(super) fn vanished(&self) -> &[GoneNote] {
        self.vanished.as_deref().unwrap_or_default()
    }

    pub(super) fn problems(&self) -> &[FileProblem] {
        self.problems.as_deref().unwrap_or_default()
    }
}

impl Proposed {
    fn without_evidence(learning: Learning) -> Self {
        let told = Vec::new();
        Self { learning, told }
    }

    /// A lesson with what speaks for it.
    pub(super) fn with_evidence(store: &Store, learning: Learning) -> Result<Self, CommandError> {
        let mut proposed = Self::without_evidence(learning);
        proposed.read_evidence(store)?;
        Ok(proposed)
    }

    /// Reads what speaks for it.
    pub(super) fn read_evidence(&mut self, store: &Store) -> Result<(), CommandError> {
        self.told.clear();
        for row in store.learning_evidence(&self.learning.id)?.taught {
            let gate = store.report_of(row.id)?.and_then(|report| report.report.gate);
            self.told.push((row, gate));
        }
        Ok(())
    }
}

/// What is gone from a shelf without having been deleted. The file is only read.
pub(super) fn vanished_from(
    context: &Context<'_>,
    store: Option<&Store>,
    shelf: Shelf,
) -> Result<Vec<GoneNote>, CommandError> {
    let notebook = context.notebook(shelf, Spelling::Own);
    let file = context.project.shown(&notebook.path).to_string();
    let Some(log) = store else { return Ok(Vec::new()) };
    let vanished = notebook.vanished(log, &notebook.read()?.document())?;
    let gone = vanished.before.into_iter().chain(vanished.since).map(|note| GoneNote {
        shelf,
        file: file.clone(),
        note,
    });
    Ok(gone.collect())
}

/// What is wrong in the file of a shelf.
fn wrong_in(context: &Context<'_>, shelf: Shelf) -> Result<Vec<FileProblem>, CommandError> {
    let notebook = context.notebook(shelf, Spelling::Own);
    let file = context.project.shown(&notebook.path).to_string();
    let reading = notebook.read()?;
    let document = reading.document();
    let wrong = document.validate();
    let lines = document.line_numbers(wrong.iter().map(|problem| problem.at));
    let wrong = lines.zip(&wrong).map(|(line, problem)| FileProblem {
        file: file.clone(),
        line,
        problem: problem.kind.to_string(),
    });
    Ok(wrong.collect())
}

impl Serialize for Proposed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            #[serde(flatten)]
            learning: &'a Learning,
            taught_in: Vec<Value>,
        }
        let taught_in = self.told.iter().map(|(row, gate)| {
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

impl Serialize for GoneNote {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"file": self.file, "memory": self.note}).serialize(serializer)
    }
}
