//! Creating, finding and deleting features. A feature's status is computed from its tasks on every read, so the two
//! cannot disagree.

use std::collections::HashMap;

use jiff::Timestamp;
use ralph_model::{BehindFailed, Entropy, Feature, FeatureId, FeatureName, Task, TaskCounts, TaskId, TaskStatus};
use rusqlite::{Connection, Transaction, named_params, params};

use super::Store;
use super::claims::IN_SCOPE;
use super::columns::{count_at, moment, time_at, word_at};
use super::feature_error::{FeatureError, FeatureTrouble};
use super::id_prefix::{CANDIDATES_NAMED, id_prefix_of};
use super::task_rows::{TASK_COLUMNS, ids, log, read_task};
use super::task_steps::refuse_claimed;
use super::tasks::delete_with_subtasks;
use crate::StoreError;

/// What happens to the tasks of a deleted feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TasksOfFeature {
    /// They are kept without a feature.
    Keep,
    /// They are deleted with all their descendants.
    Delete,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedFeature {
    pub feature: Feature,
    /// Its tasks, which were deleted with it or now belong to no feature.
    pub tasks: Vec<Task>,
}

impl Store {
    /// Creates a feature. Ids are never reused.
    ///
    /// # Errors
    /// When the name is taken (names ignore case), or the database cannot be written.
    pub fn create_feature(
        &mut self,
        name: &FeatureName,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Feature, FeatureError> {
        self.change_features(|transaction| {
            for known in read(transaction, None)? {
                if known.name.is(name.as_str()) {
                    let (name, id) = (known.name, known.id);
                    return Err(FeatureError::Taken { name, id }.into());
                }
            }
            let id = loop {
                let id = FeatureId::new(entropy.next_bits());
                if is_free(transaction, &id)? {
                    break id;
                }
            };
            transaction
                .prepare_cached("INSERT INTO features (id, name, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)")?
                .execute(params![id.as_str(), name.as_str(), moment(now)])?;
            existing(transaction, &id)
        })
    }

    /// The feature with this name (case-insensitive) or id prefix; the `f-` may be omitted.
    ///
    /// # Errors
    /// When there is none or more than one, or the database cannot be read.
    pub fn feature(&self, text: &str) -> Result<Feature, FeatureError> {
        let wanted = text.trim();
        let mut all = self.features()?;
        if let Some(place) = all.iter().position(|feature| feature.name.is(wanted)) {
            return Ok(all.swap_remove(place));
        }
        let beginning = id_prefix_of(wanted, FeatureId::PREFIX);
        all.retain(|feature| {
            beginning
                .as_ref()
                .is_some_and(|start| feature.id.as_str().starts_with(start))
        });
        if all.len() > 1 {
            let mut candidates: Vec<_> = all.into_iter().map(|feature| (feature.id, feature.name)).collect();
            candidates.sort();
            let more = candidates.len().saturating_sub(CANDIDATES_NAMED);
            candidates.truncate(CANDIDATES_NAMED);
            return Err(FeatureError::Ambiguous {
                text: text.to_owned(),
                candidates,
                more,
            });
        }
        all.pop().ok_or_else(|| FeatureError::Unknown { text: text.to_owned() })
    }

    /// The feature with this id, if it exists.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn feature_of_id(&self, id: &FeatureId) -> Result<Option<Feature>, StoreError> {
        Ok(self.read_features(Some(id))?.pop())
    }

    /// All features, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn features(&self) -> Result<Vec<Feature>, StoreError> {
        self.read_features(None)
    }

    /// Deletes a feature.
    ///
    /// # Errors
    /// When it does not exist, a run has claimed one of its tasks, or the database cannot be written.
    pub fn delete_feature(
        &mut self,
        id: &FeatureId,
        tasks: TasksOfFeature,
        now: Timestamp,
    ) -> Result<DeletedFeature, FeatureError> {
        self.change_features(|transaction| {
            let feature = existing(transaction, id)?;
            for task in tasks_of(transaction, id)? {
                refuse_claimed(&task).map_err(FeatureError::from)?;
            }
            let own = "SELECT id FROM tasks WHERE feature = ?1 ORDER BY seq";
            let mut affected = Vec::new();
            match tasks {
                TasksOfFeature::Delete => {
                    // Descendants of the first may belong to it too; they are deleted with it.
                    let first = format!("{own} LIMIT 1");
                    while let Some(first) = ids(transaction, &first, [id.as_str()])?.first() {
                        affected.extend(delete_with_subtasks(transaction, first, now)?);
                    }
                }
                TasksOfFeature::Keep => {
                    for task in ids(transaction, own, [id.as_str()])? {
                        remove_from_feature(transaction, &task, &feature.name, now)?;
                        affected.push(super::task_steps::existing(transaction, &task)?);
                    }
                }
            }
            transaction
                .prepare_cached("DELETE FROM features WHERE id = ?1")?
                .execute([id.as_str()])?;
            Ok(DeletedFeature {
                feature,
                tasks: affected,
            })
        })
    }

    fn read_features(&self, id: Option<&FeatureId>) -> Result<Vec<Feature>, StoreError> {
        // In one transaction, so that features and tasks are consistent.
        let snapshot = self.begin_read();
        self.sql(snapshot.and_then(|snapshot| read(&snapshot, id)))
    }

    /// Runs one unit of work on features in a transaction.
    fn change_features<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, FeatureTrouble>,
    ) -> Result<T, FeatureError> {
        match self.transact(work) {
            Ok(answer) => Ok(answer),
            Err(FeatureTrouble::Feature(error)) => Err(error),
            Err(FeatureTrouble::Sql(error)) => Ok(self.sql(Err(error))?),
        }
    }
}

/// Features with the counts of their tasks, oldest first: all, or the one with this id.
fn read(connection: &Connection, id: Option<&FeatureId>) -> rusqlite::Result<Vec<Feature>> {
    let which = id.map_or("feature IS NOT NULL", |_| "feature = :id");
    let id = id.map(FeatureId::as_str);
    let (mut counts, mut touched) = (
        HashMap::<FeatureId, TaskCounts>::new(),
        HashMap::<FeatureId, Timestamp>::new(),
    );
    let sql = format!(
        "WITH RECURSIVE inside(feature, id) AS (
             SELECT feature, id FROM tasks WHERE {which}
             UNION SELECT inside.feature, child.id FROM inside CROSS JOIN tasks child ON child.parent = inside.id)
         SELECT inside.feature AS feature, task.status AS status, task.behind_failed AS behind_failed,
             EXISTS (SELECT 1 FROM tasks child WHERE child.parent = task.id) AS is_parent,
             COUNT(*) AS tasks, COUNT(task.unverified) AS unverified, MAX(task.updated_at) AS updated_at
         FROM inside CROSS JOIN tasks task ON task.id = inside.id GROUP BY 1, 2, 3, 4"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = match id {
        Some(id) => statement.query(named_params! {":id": id})?,
        None => statement.query([])?,
    };
    while let Some(row) = rows.next()? {
        let feature = word_at(row, "feature", FeatureId::parse)?;
        let behind = if row.get("behind_failed")? {
            BehindFailed::Yes
        } else {
            BehindFailed::No
        };
        if !row.get::<_, bool>("is_parent")? {
            let (status, tasks) = (word_at(row, "status", TaskStatus::parse)?, count_at(row, "tasks")?);
            let counts = counts.entry(feature.clone()).or_default();
            counts.add(status, behind, tasks);
            counts.unverified += count_at(row, "unverified")?;
        }
        let at = time_at(row, "updated_at")?;
        let last = touched.entry(feature).or_insert(at);
        *last = at.max(*last);
    }
    let sql = "SELECT id, name, created_at, updated_at FROM features WHERE ?1 IS NULL OR id = ?1
               ORDER BY created_at, name";
    connection
        .prepare_cached(sql)?
        .query_map([id], |row| {
            let id = word_at(row, "id", FeatureId::parse)?;
            let tasks = counts.get(&id).copied().unwrap_or_default();
            let own = time_at(row, "updated_at")?;
            Ok(Feature {
                name: word_at(row, "name", |name| FeatureName::new(name).ok())?,
                status: tasks.status(),
                tasks,
                created_at: time_at(row, "created_at")?,
                updated_at: touched.get(&id).copied().map_or(own, |last| last.max(own)),
                id,
            })
        })?
        .collect()
}

/// Reads a feature that must exist.
fn existing(transaction: &Transaction<'_>, id: &FeatureId) -> Result<Feature, FeatureTrouble> {
    let found = read(transaction, Some(id))?.pop();
    found.ok_or_else(|| FeatureError::Unknown { text: id.to_string() }.into())
}

/// The tasks of a feature with all their descendants.
fn tasks_of(transaction: &Transaction<'_>, id: &FeatureId) -> rusqlite::Result<Vec<Task>> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks t WHERE {IN_SCOPE} ORDER BY t.seq");
    transaction
        .prepare_cached(&sql)?
        .query_map(
            named_params! {":task": None::<&str>, ":feature": id.as_str()},
            read_task,
        )?
        .collect()
}

/// Whether an id was never used: the journal names deleted features too.
pub(super) fn is_free(transaction: &Transaction<'_>, id: &FeatureId) -> rusqlite::Result<bool> {
    let sql =
        "SELECT EXISTS (SELECT 1 FROM features WHERE id = ?1) OR EXISTS (SELECT 1 FROM journal WHERE feature_id = ?1)
               OR EXISTS (SELECT 1 FROM iterations WHERE feature = ?1)";
    let is_taken: bool = transaction
        .prepare_cached(sql)?
        .query_row([id.as_str()], |row| row.get(0))?;
    Ok(!is_taken)
}

fn remove_from_feature(
    transaction: &Transaction<'_>,
    task: &TaskId,
    feature: &FeatureName,
    now: Timestamp,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE tasks SET feature = NULL, updated_at = ?2 WHERE id = ?1")?
        .execute([task.as_str(), &moment(now)])?;
    log(transaction, task, &format!("Its feature {feature} was deleted."), now)
}
