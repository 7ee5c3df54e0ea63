//! What stands in the record of an iteration of the time before its turn: the files, what was asked for, and what evidence
//! rests on. An agent may change a task while it works on it, and also its gates; its work is measured by what they were
//! before.

use ralph_model::Task;
use serde::{Deserialize, Serialize};

use crate::basis::EvidenceBasis;
use crate::changes::Snapshot;
use crate::state::Place;

/// What was so before a turn. The files alone can be read from it as well.
#[derive(Serialize)]
pub(super) struct Before<'a> {
    #[serde(flatten)]
    pub(super) files: &'a Snapshot,
    pub(super) place: Place,
    pub(super) asked: Asked,
    pub(super) basis: EvidenceBasis,
}

/// What evidence rested on, as a record tells; none where it does not.
pub(super) fn basis_on_record(before: Option<&str>) -> Option<EvidenceBasis> {
    #[derive(Deserialize)]
    struct OnRecord {
        basis: Option<EvidenceBasis>,
    }
    serde_json::from_str::<OnRecord>(before?).ok()?.basis
}

/// Where the work was done, as a record tells.
pub(super) fn place_on_record(before: Option<&str>) -> Place {
    #[derive(Deserialize)]
    struct OnRecord {
        #[serde(default)]
        place: Place,
    }
    let on_record = before.and_then(|before| serde_json::from_str::<OnRecord>(before).ok());
    on_record.map(|on_record| on_record.place).unwrap_or_default()
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    task: Words,
    /// Of the task that it is a part of.
    parent: Option<Words>,
}

/// What a task says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Words {
    title: String,
    description: String,
}

impl Words {
    fn of(task: &Task) -> Self {
        Self {
            title: task.title.clone(),
            description: task.description.clone(),
        }
    }

    fn put_into(self, task: &mut Task) {
        (task.title, task.description) = (self.title, self.description);
    }
}

impl Asked {
    pub(super) fn of(task: &Task, parent: Option<&Task>) -> Self {
        Self {
            task: Words::of(task),
            parent: parent.map(Words::of),
        }
    }

    /// What a record tells; none where it was written by a version that did not keep it.
    pub(super) fn on_record(before: Option<&str>) -> Option<Self> {
        #[derive(Deserialize)]
        struct OnRecord {
            asked: Option<Asked>,
        }
        serde_json::from_str::<OnRecord>(before?).ok()?.asked
    }

    /// Lets a task and the one that it is a part of say this again. Whether they had come to say something else.
    pub(super) fn put_into(self, task: &mut Task, parent: Option<&mut Task>) -> bool {
        let was_rewritten = Self::of(task, parent.as_deref()) != self;
        self.task.put_into(task);
        if let (Some(words), Some(parent)) = (self.parent, parent) {
            words.put_into(parent);
        }
        was_rewritten
    }
}
