//! Where a run takes place and what it was asked for: all that comes from outside.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_agent::Agent;
use ralph_memory::capture::{KnowledgeFolder, Notebook, Scratchpad};
use ralph_memory::catalogue::CataloguePlace;
use ralph_memory::inject::FeaturesFolder;
use ralph_memory::inject::prompt::MemoryShare;
use ralph_model::config::Config;
use ralph_model::{Clock, TaskId};
use ralph_store::{RunProcess, Scope};

use crate::changes::OwnFiles;
use crate::checkout::Base;
use crate::guide::Guide;
use crate::rules::Rules;
use crate::state::{FirstTry, Pace, WhoVerifies};

/// Where a run takes place.
pub struct Site<'a> {
    /// The project's root, in which the agent works.
    pub root: PathBuf,
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// The database of facts.
    pub database: PathBuf,
    /// The folder of the runs' folders.
    pub runs: PathBuf,
    /// The folder of long notes.
    pub knowledge: KnowledgeFolder<'a>,
    /// The note files, which are compared with their log before and after each iteration.
    pub notes: Vec<Notebook<'a>>,
    /// The folder of what is written about features.
    pub features: FeaturesFolder,
    /// The working notes.
    pub scratchpad: Scratchpad<'a>,
    /// The files of the project that are ralph's.
    pub own: OwnFiles,
    /// Where tasks have checkouts of their own; none where all work is done in the project itself.
    pub isolation: Option<Isolation>,
    /// The rules of guardrails.
    pub rules: Rules,
    /// The index of the notes.
    pub catalogue: CataloguePlace<'a>,
    /// The configuration, as it was when the run began.
    pub config: &'a Config,
    /// The files that it was read from, or would have been.
    pub config_files: Vec<PathBuf>,
    /// The user's environment, all of it.
    pub environment: Vec<(OsString, OsString)>,
    /// This program, which the agent finds as `ralph`.
    pub program: PathBuf,
    /// This process.
    pub process: RunProcess,
    /// The present moment.
    pub clock: &'a dyn Clock,
}

impl Site<'_> {
    /// The folders outside of the agent's own in which a `ralph` that it calls has to write: in a linked worktree that of the
    /// database, which is with the main one; in a checkout also those of the project's notes.
    pub(crate) fn writable_outside(&self) -> Vec<PathBuf> {
        let database = self.database.parent().map(PathBuf::from);
        if self.isolation.is_some() {
            let notes = self.notes.iter().filter_map(|notebook| notebook.path.parent());
            let own = [self.knowledge.catalogue.knowledge.as_path(), self.runs.as_path()];
            let folders: BTreeSet<PathBuf> = notes.chain(own).map(PathBuf::from).chain(database).collect();
            // A sandbox fails whose folders do not exist, and one below another is in it anyway.
            let is_inside = |folder: &Path| folder.ancestors().skip(1).any(|above| folders.contains(above));
            let needed = folders.iter().filter(|folder| folder.is_dir() && !is_inside(folder));
            return needed.cloned().collect();
        }
        database
            .filter(|folder| !folder.starts_with(&self.root))
            .into_iter()
            .collect()
    }

    /// The scratchpad, from the root.
    pub(crate) fn scratchpad_path(&self) -> &Path {
        let path = &self.scratchpad.path;
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// The user's home folder.
    pub(crate) fn home(&self) -> Option<&Path> {
        let home = self.environment.iter().find(|(name, _)| name == "HOME");
        home.map(|(_, folder)| Path::new(folder))
    }
}

/// Where tasks have checkouts of their own, and where their work lands.
#[derive(Debug, Clone)]
pub struct Isolation {
    /// The folder of all checkouts of the project.
    pub work: PathBuf,
    /// Where the project's root is in a checkout.
    pub prefix: PathBuf,
    /// The reference that work lands on; none where a commit without a branch is checked out.
    pub base: Option<Base>,
}

impl Isolation {
    /// The project's root in the checkout of a task.
    #[must_use]
    pub fn root_of(&self, task: &TaskId) -> PathBuf {
        self.work.join(task.as_str()).join(&self.prefix)
    }
}

/// What a run is asked for.
pub struct Order {
    /// Which tasks.
    pub scope: Scope,
    /// The one task that the run is about: COMPLETE means that it is done.
    pub only_task: Option<TaskId>,
    /// The same, as a person reads it.
    pub goal: String,
    /// Who does them.
    pub agent: Box<dyn Agent>,
    /// Who looks at what is done.
    pub verifier: Verifier,
    /// The model that the person asked for.
    pub model: Option<String>,
    /// How much of the memory prompts get.
    pub share: MemoryShare,
    /// How long waits are.
    pub pace: Pace,
    /// Whether the first iteration heeds a pause of the agent.
    pub first_try: FirstTry,
    /// Who asks the person what to do differently when they stop a turn; none where nobody can be asked.
    pub guide: Option<Arc<dyn Guide>>,
}

/// Who looks at work that the gates let pass.
#[derive(Default)]
pub enum Verifier {
    /// Nobody.
    #[default]
    Nobody,
    /// A session of the agent that did it.
    SameAgent,
    /// A session of another agent.
    Another(Box<dyn Agent>),
}

impl Order {
    /// The agent that looks at finished work.
    #[must_use]
    pub fn verifying_agent(&self) -> Option<&dyn Agent> {
        match &self.verifier {
            Verifier::Nobody => None,
            Verifier::SameAgent => Some(self.agent.as_ref()),
            Verifier::Another(agent) => Some(agent.as_ref()),
        }
    }

    /// The name of the other agent that looks at finished work; none where it is the same.
    pub(crate) fn other_verifier(&self) -> Option<&str> {
        match &self.verifier {
            // Pauses are kept by the agent's name, so one of the same name is the same here.
            Verifier::Another(agent) if agent.name() != self.agent.name() => Some(agent.name()),
            Verifier::Another(_) | Verifier::SameAgent | Verifier::Nobody => None,
        }
    }

    pub(crate) fn who_verifies(&self) -> WhoVerifies {
        match (self.verifying_agent(), self.other_verifier()) {
            (None, _) => WhoVerifies::Nobody,
            (Some(_), None) => WhoVerifies::SameAgent,
            (Some(_), Some(_)) => WhoVerifies::Another,
        }
    }
}
