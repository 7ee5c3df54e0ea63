//! Reading the journal: rows, and what stood in the prompts of their iterations.

use jiff::Timestamp;
use ralph_model::{
    Difficulty, EntryKind, ErrorCategory, Evidence, FeatureId, Injection, InjectionReason, JournalRow, NewJournalRow,
    Outcome, RunId, StopReason, TaskId, TaskType, Tokens, Usage,
};
use rusqlite::{OptionalExtension, Params, Row, named_params, params};

use super::Store;
use super::columns::{count_at, from_json, moment, number_at, time_at, word_at, word_in};
use crate::StoreError;

/// Which rows of the journal. What is not set lets everything through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JournalFilter {
    /// Only those of this run.
    pub run: Option<RunId>,
    /// Only those of this task.
    pub task: Option<TaskId>,
    /// Only those that ended so.
    pub outcome: Option<Outcome>,
    /// Only those that changed this file, one of this name, or one in this folder.
    pub file: Option<String>,
    /// Only those from this moment on.
    pub since: Option<Timestamp>,
    /// Only those before this moment.
    pub until: Option<Timestamp>,
    /// The last so many.
    pub limit: Option<u32>,
}

/// An entry that was considered for a prompt, as it is on record.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedInjection {
    /// The entry.
    pub injection: Injection,
    /// Whether the agent said that it relied on it.
    pub used: bool,
}

impl Store {
    /// A row by its number.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_row(&self, id: i64) -> Result<Option<JournalRow>, StoreError> {
        self.sql(self.row("WHERE id = ?1", [id]))
    }

    /// The row of an iteration.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_of_iteration(&self, run: &RunId, iteration: u32) -> Result<Option<JournalRow>, StoreError> {
        self.sql(self.row("WHERE run_id = ?1 AND iteration = ?2", params![run.as_str(), iteration]))
    }

    /// The row of the iteration that ended last. What was taken over from another tool may have come in after it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_last(&self) -> Result<Option<JournalRow>, StoreError> {
        self.sql(self.row("ORDER BY 1 - imported DESC, id DESC LIMIT 1", []))
    }

    /// Rows by their numbers, in that order; numbers that there are none of are passed over.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_rows(&self, ids: &[i64]) -> Result<Vec<JournalRow>, StoreError> {
        let rows = ids.iter().map(|id| self.row("WHERE id = ?1", [id]));
        let rows: rusqlite::Result<Vec<Option<JournalRow>>> = rows.collect();
        Ok(self.sql(rows)?.into_iter().flatten().collect())
    }

    /// The last rows of a run, the oldest of them first.
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

    /// Every row of a task, the oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_of_task(&self, task: &TaskId) -> Result<Vec<JournalRow>, StoreError> {
        self.sql(self.rows("WHERE task_id = ?1 ORDER BY 1 - imported, id", [task.as_str()]))
    }

    /// The last rows of a task, the oldest first, and how many there are before them.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_last_of_task(&self, task: &TaskId, most: u32) -> Result<(Vec<JournalRow>, u32), StoreError> {
        let moment = self.look();
        let found = moment.and_then(|moment| {
            let mut rows = self.rows(
                "WHERE task_id = ?1 ORDER BY 1 - imported DESC, id DESC LIMIT ?2",
                params![task.as_str(), most],
            )?;
            rows.reverse();
            let all = moment
                .prepare_cached("SELECT count(*) AS entries FROM journal WHERE task_id = ?1")?
                .query_row([task.as_str()], |row| count_at(row, "entries"))?;
            let shown = u32::try_from(rows.len()).unwrap_or(u32::MAX);
            Ok((rows, all.saturating_sub(shown)))
        });
        self.sql(found)
    }

    /// The last row of a task that counts: what was interrupted says nothing about how the work goes.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_last_counted(&self, task: &TaskId) -> Result<Option<JournalRow>, StoreError> {
        self.sql(self.row(LAST_COUNTED, [task.as_str()]))
    }

    /// Whether a prompt of a task was ever too long for the model.
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

    /// Whether an iteration of a task, since that was last done or reset, ended well in the agent's eyes and is counted neither as done
    /// nor as a failure: what changed while somebody looked at the work was forgiven.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn was_forgiven(&self, task: &TaskId) -> Result<bool, StoreError> {
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

    /// Whether an attempt at a task since it was last reset changed anything on disk.
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

    /// What the attempts at a task have used since it was last reset.
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

    /// The journal entries of runs here after another one, the newest first, at most so many.
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

    /// Removes the hashes of the recorded prompts of pruned iterations.
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

    /// The rows that a filter lets through, the newest first.
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

    /// What stood in the prompt of an iteration and what did not, in the order in which it was considered.
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

/// What was taken over from another tool happened before everything else.
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
