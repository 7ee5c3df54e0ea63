//! Ticks the boxes of a checklist whose tasks are done. This happens when a run ends, because changing the file earlier
//! could conflict with work that lands.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ralph_model::{TaskId, TaskStatus};
use ralph_notes::Patches;
use ralph_store::{ImportItem, Store, StoreError, Wait};

use crate::changed_file::change_file;
use crate::checklist::{parse_checklist, with_ticks};
use crate::context::Context;
use crate::error::CommandError;

/// A Markdown file with boxes, and the parent task of its items.
pub(super) struct Checklist {
    pub(super) path: PathBuf,
    pub(super) task: TaskId,
}

impl Checklist {
    /// Ticks the boxes of done tasks; a failure is only a warning.
    pub(super) fn tick(&self, context: &Context<'_>) {
        if let Err(error) = self.try_tick(context) {
            let why = error
                .lines()
                .map_or_else(String::new, |(message, _)| message.to_owned());
            let file = self.path.display();
            context.ui.warning(&format!("Cannot tick the boxes in {file}: {why}."));
        }
    }

    fn try_tick(&self, context: &Context<'_>) -> Result<(), CommandError> {
        let Some(store) = Store::open_for_reading(&context.project.fact_store(), Wait::Long)? else {
            return Ok(());
        };
        let text = super::target::read(&self.path)?;
        if self.ticked(&store, &text)?.is_none() {
            return Ok(());
        }
        change_file(&self.path, &context.patience(), |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let ticked = self.ticked(&store, &text)?;
            Ok(Patches::whole(
                bytes,
                ticked.map_or_else(|| bytes.to_vec(), String::into_bytes),
            ))
        })
    }

    /// The text with more boxes ticked; none if there is nothing to tick.
    fn ticked(&self, store: &Store, text: &str) -> Result<Option<String>, StoreError> {
        let items = parse_checklist(text).unwrap_or_default();
        let done = done_items(store, &self.task, &items)?;
        let new: Vec<usize> = (0..items.len())
            .filter(|place| done.get(*place) == Some(&true) && items.get(*place).is_some_and(|item| !item.done))
            .collect();
        Ok((!new.is_empty()).then(|| with_ticks(text, &new)))
    }
}

/// Which items have a done task. Among equal titles, the first item belongs to the first task, and so on.
fn done_items(store: &Store, list: &TaskId, items: &[ImportItem]) -> Result<Vec<bool>, StoreError> {
    let mut children: BTreeMap<TaskId, Vec<ralph_model::Task>> = BTreeMap::new();
    let mut tasks: Vec<Option<TaskId>> = Vec::new();
    let mut done = Vec::new();
    for item in items {
        let parent = match item.parent {
            Some(place) => tasks.get(place).cloned().flatten(),
            None => Some(list.clone()),
        };
        let mut found = None;
        if let Some(parent) = parent {
            if !children.contains_key(&parent) {
                children.insert(parent.clone(), store.children(&parent)?);
            }
            let below = children.entry(parent).or_default();
            let place = below.iter().position(|task| task.title == item.title);
            found = place.map(|place| below.remove(place));
        }
        done.push(found.as_ref().is_some_and(|task| task.status == TaskStatus::Done));
        tasks.push(found.map(|task| task.id));
    }
    Ok(done)
}
