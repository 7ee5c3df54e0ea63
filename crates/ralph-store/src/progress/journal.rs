//! Reads journal entries and the injections of their iterations.

use jiff::Timestamp;
use ralph_model::{
    Difficulty, EntryKind, ErrorCategory, Evidence, FeatureId, Injection, InjectionReason, JournalRow, NewJournalRow,
    Outcome, RunId, StopReason, TaskId, TaskType, Tokens, Usage,
};
use rusqlite::{OptionalExtension, Params, Row, named_params, params};

use super::Store;
use super::columns::{count_at, from_json, moment, number_at, time_at, word_at, word_in};
use crate::StoreError;

/// Filter for journal entries; fields that are not set match everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JournalFilter {
    pub run: Option<RunId>,
    pub task: Option<TaskId>,
    pub outcome: Option<Outcome>,
    /// Entries that changed this path, a file with this name, or a file in this folder.
    pub file: Option<String>,
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Exclusive.
    pub until: Option<Timestamp>,
    pub limit: Option<u32>,
}

/// A recorded entry that was considered for a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedInjection {
    pub injection: Injection,
    /// Whether the agent reported that it relied on it.
    pub used: bool,
}

impl Store {
    /// A journal entry by its id.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_row(&self, id: i64) -> Result<Option<JournalRow>, StoreError> {
        self.sql(self.row("WHERE id = ?1", [id]))
    }

    /// The journal entry of an iteration.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_of_iteration(&self, run: &RunId, iteration: u32) -> Result<Option<JournalRow>, StoreError> {
        self.sql(self.row("WHERE run_id = ?1 AND iteration = ?2", params![run.as_str(), iteration]))
    }

    /// The entry of the iteration that ended last, ignoring entries that were imported later.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_last(&self) -> Result<Option<JournalRow>, StoreError> {
        self.sql(self.row("ORDER BY 1 - imported DESC, id DESC LIMIT 1", []))
    }

    /// Entries by id, in that order; missing ones are skipped.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_rows(&self, ids: &[i64]) -> Result<Vec<JournalRow>, StoreError> {
        let rows = ids.iter().map(|id| self.row("WHERE id = ?1", [id]));
        let rows: rusqlite::Result<Vec<Option<JournalRow>>> = rows.collect();
        Ok(self.sql(rows)?.into_iter().flatten().collect())
    }

    /// The last entries of a run, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_recent(&self, run: &RunId, most: u32) -> Result<Vec<JournalRow>, StoreError> {
        let mut rows = self.sql(self.rows(
            "WHERE run_id = ?1 ORDER BY iteration DESC LIMIT ?2",
            params![run.as_str(), most],
        ))?;
        rows.reverse();
        Ok(rows)
    }

    /// All entries of a task, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_of_task(&self, task: &TaskId) -> Result<Vec<JournalRow>, StoreError> {
        self.sql(self.rows("WHERE task_id = ?1 ORDER BY 1 - imported, id", [task.as_str()]))
    }

    /// The last entries of a task, oldest first, and the number of earlier ones.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_last_of_task(&self, task: &TaskId, most: u32) -> Result<(Vec<JournalRow>, u32), StoreError> {
        let snapshot = self.begin_read();
        let found = snapshot.and_then(|snapshot| {
            let mut rows = self.rows(
                "WHERE task_id = ?1 ORDER BY 1 - imported DESC, id DESC LIMIT ?2",
                params![task.as_str(), most],
            )?;
            rows.reverse();
            let all = snapshot
                .prepare_cached("SELECT count(*) AS entries FROM journal WHERE task_id = ?1")?
                .query_row([task.as_str()], |row| count_at(row, "entries"))?;
            let shown = u32::try_from(rows.len()).unwrap_or(u32::MAX);
            Ok((rows, all.saturating_sub(shown)))
        });
        self.sql(found)
    }

    /// The last counted entry of a task; interrupted iterations do not count.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_last_counted(&self, task: &TaskId) -> Result<Option<JournalRow>, StoreError> {
        self.sql(self.row(LAST_COUNTED, [task.as_str()]))
    }

    /// Whether a prompt of a task ever exceeded the model's context.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_overflowed(&self, task: &TaskId) -> Result<bool, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT 1 FROM journal WHERE task_id = ?1 AND stop_reason = 'context_overflow'")
            .and_then(|mut statement| statement.exists([task.as_str()]));
        self.sql(found)
    }

    /// Whether a task has an iteration, since it was last done or reset, that the agent reported as done but that
    /// counted neither as done nor as failed because files changed during verification.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn had_excused_attempt(&self, task: &TaskId) -> Result<bool, StoreError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM journal
                 WHERE task_id = ?1 AND outcome = 'interrupted' AND stop_reason = 'task_done'
                   AND id > (SELECT coalesce(max(id), 0) FROM journal WHERE task_id = ?1 AND outcome = 'done')
                   AND attempt > coalesce((SELECT reset_after FROM tasks WHERE id = ?1), 0)",
            )
            .and_then(|mut statement| statement.exists([task.as_str()]));
        self.sql(found)
    }

    /// Whether an attempt at a task since its last reset changed anything on disk.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn changed_before(&self, task: &TaskId) -> Result<bool, StoreError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM journal WHERE task_id = ?1 AND NOT imported AND NOT changed_nothing
                   AND attempt > coalesce((SELECT reset_after FROM tasks WHERE id = ?1), 0)",
            )
            .and_then(|mut statement| statement.exists([task.as_str()]));
        self.sql(found)
    }

    /// The usage of the attempts at a task since its last reset.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn spent_on(&self, task: &TaskId) -> Result<Usage, StoreError> {
        let spent = self
            .connection
            .prepare_cached(
                "SELECT total(cost_usd) AS cost_usd, coalesce(sum(input_tokens), 0) AS input_tokens,
                     coalesce(sum(output_tokens), 0) AS output_tokens
                 FROM journal WHERE task_id = ?1 AND NOT imported
                   AND attempt > coalesce((SELECT reset_after FROM tasks WHERE id = ?1), 0)",
            )
            .and_then(|mut statement| {
                statement.query_row([task.as_str()], |row| {
                    Ok(Usage {
                        cost_usd: row.get("cost_usd")?,
                        input_tokens: number_at(row, "input_tokens")?,
                        output_tokens: number_at(row, "output_tokens")?,
                    })
                })
            });
        self.sql(spent)
    }

    /// The entries of a worktree's runs after another entry, newest first, at most `most`.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_since(&self, journal: i64, worktree: &str, most: u32) -> Result<Vec<JournalRow>, StoreError> {
        let rows = self.rows(
            "WHERE id > ?1 AND NOT imported AND run_id IN (SELECT id FROM runs WHERE worktree = ?2)
             ORDER BY id DESC LIMIT ?3",
            params![journal, worktree, most],
        );
        self.sql(rows)
    }

    /// Removes the prompt hashes of pruned iterations.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn forget_prompts(&mut self, iterations: &[(RunId, u32)]) -> Result<(), StoreError> {
        if iterations.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            let mut statement = transaction
                .prepare_cached("UPDATE journal SET prompt_sha256 = NULL WHERE run_id = ?1 AND iteration = ?2")?;
            for (run, iteration) in iterations {
                statement.execute(params![run.as_str(), iteration])?;
            }
            Ok(())
        })
    }

    /// The entries that match a filter, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_list(&self, filter: &JournalFilter) -> Result<Vec<JournalRow>, StoreError> {
        let file = filter
            .file
            .as_deref()
            .map(|file| file.trim_start_matches("./").trim_end_matches('/'));
        let rows = self.rows(
            "WHERE (:run IS NULL OR run_id = :run)
               AND (:task IS NULL OR task_id = :task)
               AND (:outcome IS NULL OR outcome = :outcome)
               AND (:since IS NULL OR created_at >= :since)
               AND (:until IS NULL OR created_at < :until)
               AND (:file IS NULL OR EXISTS (
                   SELECT 1 FROM json_each(files_modified)
                   WHERE value = :file
                      OR substr(value, 1, length(:file) + 1) = :file || '/'
                      OR substr(value, -length(:file) - 1) = '/' || :file))
             ORDER BY 1 - imported DESC, id DESC LIMIT :limit",
            named_params! {
                ":run": filter.run.as_ref().map(RunId::as_str),
                ":task": filter.task.as_ref().map(TaskId::as_str),
                ":outcome": filter.outcome.map(Outcome::word),
                ":since": filter.since.map(moment),
                ":until": filter.until.map(moment),
                ":file": file,
                ":limit": filter.limit.map_or(-1, i64::from),
            },
        );
        self.sql(rows)
    }

    /// The entries considered for an iteration's prompt, in the order of consideration.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn injections(&self, journal: i64) -> Result<Vec<RecordedInjection>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM injections WHERE journal = ?1 ORDER BY rowid")
            .and_then(|mut statement| statement.query_map([journal], read_injection)?.collect());
        self.sql(found)
    }

    fn row(&self, which: &str, params: impl Params) -> rusqlite::Result<Option<JournalRow>> {
        self.connection
            .prepare_cached(&format!("SELECT * FROM journal {which}"))?
            .query_row(params, read_row)
            .optional()
    }

    fn rows(&self, which: &str, params: impl Params) -> rusqlite::Result<Vec<JournalRow>> {
        self.connection
            .prepare_cached(&format!("SELECT * FROM journal {which}"))?
            .query_map(params, read_row)?
            .collect()
    }
}

/// Imported entries are older than all others.
pub(super) const LAST_COUNTED: &str =
    "WHERE task_id = ?1 AND outcome <> 'interrupted' ORDER BY imported, id DESC LIMIT 1";

pub(super) fn read_row(row: &Row<'_>) -> rusqlite::Result<JournalRow> {
    let files: String = row.get("files_modified")?;
    let tags: String = row.get("tags")?;
    let denials: String = row.get("denials")?;
    Ok(JournalRow {
        id: row.get("id")?,
        prompt_sha256: row.get("prompt_sha256")?,
        row: NewJournalRow {
            run: word_at(row, "run_id", RunId::parse)?,
            iteration: count_at(row, "iteration")?,
            task: word_in(row, "task_id", TaskId::parse)?,
            task_title: row.get("task_title")?,
            task_type: word_at(row, "task_type", TaskType::parse)?,
            tags: from_json(&tags, "tags")?,
            feature: word_in(row, "feature_id", FeatureId::parse)?,
            attempt: count_at(row, "attempt")?,
            outcome: word_at(row, "outcome", Outcome::parse)?,
            stop: word_at(row, "stop_reason", StopReason::parse)?,
            reason: row.get("reason")?,
            model: row.get("model")?,
            model_rationale: row.get("model_rationale")?,
            duration_ms: number_at(row, "duration_ms")?,
            usage: Usage {
                cost_usd: row.get("cost_usd")?,
                input_tokens: number_at(row, "input_tokens")?,
                output_tokens: number_at(row, "output_tokens")?,
            },
            files_modified: from_json(&files, "files_modified")?,
            changed_nothing: row.get("changed_nothing")?,
            evidence: word_at(row, "evidence", Evidence::parse)?,
            notes: row.get("notes")?,
            difficulty: word_in(row, "difficulty", Difficulty::parse)?,
            error_category: word_in(row, "error_category", ErrorCategory::parse)?,
            malformed_sigils: count_at(row, "malformed_sigils")?,
            denials: from_json(&denials, "denials")?,
            created_at: time_at(row, "created_at")?,
        },
    })
}

fn read_injection(row: &Row<'_>) -> rusqlite::Result<RecordedInjection> {
    Ok(RecordedInjection {
        injection: Injection {
            kind: word_at(row, "kind", EntryKind::parse)?,
            id: row.get("entry")?,
            digest: number_at(row, "digest")?,
            section: row.get("section")?,
            rank: count_at(row, "rank")?,
            tokens: Tokens(count_at(row, "tokens")?),
            score: row.get("score")?,
            reason: word_at(row, "reason", InjectionReason::parse)?,
        },
        used: row.get("used")?,
    })
}
