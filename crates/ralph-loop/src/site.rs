//! The input of a run from outside: where it works, and what it should do.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_agent::Agent;
use ralph_memory::capture::{KnowledgeFolder, NoteRepository, Scratchpad};
use ralph_memory::inject::FeaturesFolder;
use ralph_memory::inject::prompt::MemoryShare;
use ralph_model::config::Config;
use ralph_model::{Clock, TaskId};
use ralph_search::IndexPlace;
use ralph_store::{RunProcess, Scope};

use crate::changes::OwnFiles;
use crate::checkout::Base;
use crate::guide::Guide;
use crate::rules::Rules;
use crate::state::{FirstTry, VerifierKind, WaitTimes};

pub struct Site<'a> {
    /// The project's root, in which the agent works.
    pub root: PathBuf,
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    pub database: PathBuf,
    /// The folder of all run folders.
    pub runs: PathBuf,
    /// The folder of knowledge entries.
    pub knowledge: KnowledgeFolder<'a>,
    /// The note files, which are compared with their log before and after each iteration.
    pub notes: Vec<NoteRepository<'a>>,
    /// The folder with the texts of features.
    pub features: FeaturesFolder,
    pub scratchpad: Scratchpad<'a>,
    /// The project files that belong to ralph.
    pub own: OwnFiles,
    /// The setup for separate checkouts; `None` if all work is done in the project itself.
    pub isolation: Option<Isolation>,
    pub rules: Rules,
    pub index: IndexPlace<'a>,
    /// The configuration at the start of the run.
    pub config: &'a Config,
    /// The files it was read from, whether they exist or not.
    pub config_files: Vec<PathBuf>,
    /// The user's whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// This program, which the agent can run as `ralph`.
    pub program: PathBuf,
    pub process: RunProcess,
    pub clock: &'a dyn Clock,
}

impl Site<'_> {
    /// The folders outside the agent's own that a `ralph` it calls must write to: in a linked worktree that of the
    /// database, in a checkout also those of the project's notes.
    pub(crate) fn writable_outside(&self) -> Vec<PathBuf> {
        let database = self.database.parent().map(PathBuf::from);
        if self.isolation.is_some() {
            let notes = self
                .notes
                .iter()
                .filter_map(|note_repository| note_repository.path.parent());
            let own = [self.knowledge.index.knowledge.as_path(), self.runs.as_path()];
            let folders: BTreeSet<PathBuf> = notes.chain(own).map(PathBuf::from).chain(database).collect();
            // A sandbox fails if its folders do not exist, and subfolders are included anyway.
            let is_inside = |folder: &Path| folder.ancestors().skip(1).any(|above| folders.contains(above));
            let needed = folders.iter().filter(|folder| folder.is_dir() && !is_inside(folder));
            return needed.cloned().collect();
        }
        database
            .filter(|folder| !folder.starts_with(&self.root))
            .into_iter()
            .collect()
    }

    /// The scratchpad's path, relative to the root.
    pub(crate) fn scratchpad_path(&self) -> &Path {
        let path = &self.scratchpad.path;
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// A path for display: relative to the root if it is below it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        let home = self.environment.iter().find(|(name, _)| name == "HOME");
        home.map(|(_, folder)| Path::new(folder))
    }
}

/// The setup for separate checkouts, and where their work lands.
#[derive(Debug, Clone)]
pub struct Isolation {
    /// The folder of all checkouts of the project.
    pub work: PathBuf,
    /// The path of the project's root inside a checkout.
    pub prefix: PathBuf,
    /// The reference that work lands on; `None` for a detached HEAD.
    pub base: Option<Base>,
}

impl Isolation {
    /// The project's root in the checkout of a task.
    #[must_use]
    pub fn root_of(&self, task: &TaskId) -> PathBuf {
        self.work.join(task.as_str()).join(&self.prefix)
    }
}

/// What a run should do.
pub struct Order {
    pub scope: Scope,
    /// The only task of the run, if it has just one: then COMPLETE means it is done.
    pub only_task: Option<TaskId>,
    /// The goal, for display.
    pub goal: String,
    pub agent: Box<dyn Agent>,
    pub verifier: Verifier,
    /// The model the user asked for.
    pub model: Option<String>,
    /// How much memory goes into prompts.
    pub share: MemoryShare,
    pub wait_times: WaitTimes,
    /// Whether the first iteration respects a pause of the agent.
    pub first_try: FirstTry,
    /// Asks the user for guidance when they stop a turn; `None` if unattended.
    pub guide: Option<Arc<dyn Guide>>,
    /// The command that continues the run, for display.
    pub again: String,
}

/// Who verifies work that passed the gates.
#[derive(Default)]
pub enum Verifier {
    #[default]
    None,
    /// Another session of the same agent.
    SameAgent,
    Other(Box<dyn Agent>),
}

impl Order {
    /// The agent that verifies finished work.
    #[must_use]
    pub fn verifying_agent(&self) -> Option<&dyn Agent> {
        match &self.verifier {
            Verifier::None => None,
            Verifier::SameAgent => Some(self.agent.as_ref()),
            Verifier::Other(agent) => Some(agent.as_ref()),
        }
    }

    /// The name of the verifier, if it is another agent.
    pub(crate) fn other_verifier(&self) -> Option<&str> {
        match &self.verifier {
            // Pauses are stored by agent name, so an agent with the same name counts as the same.
            Verifier::Other(agent) if agent.name() != self.agent.name() => Some(agent.name()),
            Verifier::Other(_) | Verifier::SameAgent | Verifier::None => None,
        }
    }

    pub(crate) fn verifier_kind(&self) -> VerifierKind {
        match (self.verifying_agent(), self.other_verifier()) {
            (None, _) => VerifierKind::None,
            (Some(_), None) => VerifierKind::SameAgent,
            (Some(_), Some(_)) => VerifierKind::OtherAgent,
        }
    }
}
