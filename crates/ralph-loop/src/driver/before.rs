//! The state before a turn, as recorded with the iteration: files, task text and evidence basis. The agent may change
//! its task and gates while it works, so its work is measured against this record.

use ralph_model::Task;
use serde::{Deserialize, Serialize};

use crate::basis::EvidenceBasis;
use crate::changes::Snapshot;
use crate::state::Place;

/// The state before a turn. A reader that only needs the files can parse just the [`Snapshot`].
#[derive(Serialize)]
pub(super) struct Before<'a> {
    #[serde(flatten)]
    pub(super) files: &'a Snapshot,
    pub(super) place: Place,
    pub(super) asked: TaskTexts,
    pub(super) basis: EvidenceBasis,
}

/// The recorded evidence basis, if any.
pub(super) fn basis_on_record(before: Option<&str>) -> Option<EvidenceBasis> {
    #[derive(Deserialize)]
    struct OnRecord {
        basis: Option<EvidenceBasis>,
    }
    serde_json::from_str::<OnRecord>(before?).ok()?.basis
}

/// The recorded place of the work.
pub(super) fn place_on_record(before: Option<&str>) -> Place {
    #[derive(Deserialize)]
    struct OnRecord {
        #[serde(default)]
        place: Place,
    }
    let on_record = before.and_then(|before| serde_json::from_str::<OnRecord>(before).ok());
    on_record.map(|on_record| on_record.place).unwrap_or_default()
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TaskTexts {
    task: TaskText,
    /// The text of the parent task.
    parent: Option<TaskText>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TaskText {
    title: String,
    description: String,
}

impl TaskText {
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

impl TaskTexts {
    pub(super) fn of(task: &Task, parent: Option<&Task>) -> Self {
        Self {
            task: TaskText::of(task),
            parent: parent.map(TaskText::of),
        }
    }

    /// The recorded text; `None` if an older version wrote the record.
    pub(super) fn on_record(before: Option<&str>) -> Option<Self> {
        #[derive(Deserialize)]
        struct OnRecord {
            asked: Option<TaskTexts>,
        }
        serde_json::from_str::<OnRecord>(before?).ok()?.asked
    }

    /// Restores the recorded text of a task and its parent. Returns whether either had changed.
    pub(super) fn put_into(self, task: &mut Task, parent: Option<&mut Task>) -> bool {
        let was_rewritten = Self::of(task, parent.as_deref()) != self;
        self.task.put_into(task);
        if let (Some(text), Some(parent)) = (self.parent, parent) {
            text.put_into(parent);
        }
        was_rewritten
    }
}
