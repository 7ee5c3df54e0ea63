//! Reads the database of RefoundAI's ralph. SQLite checks neither types nor encodings, so everything is read as far as
//! possible, and the rest is reported in remarks.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use ralph_model::{Author, Outcome, Priority, TaskLogLine, TaskStatus, count};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::{ForeignFeature, ForeignHistory, ForeignIteration, ForeignStatus, ForeignTask, Remark};

/// The formats that introduced features with retries, and iterations.
const WITH_FEATURES: i64 = 2;
const WITH_JOURNAL: i64 = 3;

/// The other tool's default retry limit.
const USUAL_RETRIES: u32 = 3;

/// The tool's name in messages.
const TOOL: &str = "RefoundAI's ralph";

pub(super) fn read_history(connection: &Connection) -> rusqlite::Result<ForeignHistory> {
    // One consistent snapshot.
    let transaction = rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Deferred)?;
    let mut odd = Oddities::default();
    let format = crate::migrate::version(&transaction)?;
    let features = match format >= WITH_FEATURES {
        true => read_features(&transaction, &mut odd)?,
        false => Vec::new(),
    };
    let mut tasks = read_tasks(&transaction, format, &mut odd)?;
    read_dependencies(&transaction, &mut tasks, &mut odd)?;
    read_logs(&transaction, &mut tasks, &mut odd)?;
    let iterations = match format >= WITH_JOURNAL {
        true => read_iterations(&transaction, &mut odd)?,
        false => Vec::new(),
    };
    odd.model_choices = count_model_choices(&transaction)?;
    Ok(ForeignHistory {
        tool: TOOL.to_owned(),
        features,
        tasks,
        iterations,
        remarks: odd.into_remarks(),
    })
}

fn read_features(connection: &Connection, odd: &mut Oddities) -> rusqlite::Result<Vec<ForeignFeature>> {
    let sql = "SELECT id, name, spec_path, plan_path, created_at, updated_at FROM features ORDER BY rowid";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut features = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(id) = odd.id(row, "features")? else { continue };
        let created_at = odd.time(row, "created_at")?;
        features.push(ForeignFeature {
            name: odd.text(row, "name")?.unwrap_or_default(),
            spec: odd.text(row, "spec_path")?,
            plan: odd.text(row, "plan_path")?,
            updated_at: odd.time(row, "updated_at")?.max(created_at),
            created_at,
            id,
        });
    }
    Ok(features)
}

fn read_tasks(connection: &Connection, format: i64, odd: &mut Oddities) -> rusqlite::Result<Vec<ForeignTask>> {
    let newer = match format >= WITH_FEATURES {
        true => "feature_id, retry_count, max_retries",
        false => "NULL AS feature_id, NULL AS retry_count, NULL AS max_retries",
    };
    let sql = format!(
        "SELECT id, title, description, status, parent_id, priority, created_at, updated_at, {newer} FROM tasks ORDER BY rowid"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut tasks = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(id) = odd.id(row, "tasks")? else { continue };
        let created_at = odd.time(row, "created_at")?;
        let (status, foreign_status) = status(odd.text(row, "status")?.unwrap_or_default());
        tasks.push(ForeignTask {
            title: odd.text(row, "title")?.unwrap_or_default(),
            description: odd.text(row, "description")?.unwrap_or_default(),
            status,
            foreign_status,
            priority: Priority(odd.small(row, "priority")?),
            parent: odd.text(row, "parent_id")?,
            feature: odd.text(row, "feature_id")?,
            after: Vec::new(),
            retries_used: odd.small(row, "retry_count")?,
            max_retries: match row.get_ref("max_retries")? {
                ValueRef::Null => None,
                _ => Some(odd.small(row, "max_retries")?).filter(|retries| *retries != USUAL_RETRIES),
            },
            updated_at: odd.time(row, "updated_at")?.max(created_at),
            created_at,
            log: Vec::new(),
            id,
        });
    }
    Ok(tasks)
}

/// Maps a status. Blocked tasks are recomputed here.
fn status(word: String) -> (TaskStatus, ForeignStatus) {
    match TaskStatus::parse(&word) {
        Some(status @ (TaskStatus::Done | TaskStatus::Failed)) => (status, ForeignStatus::Same),
        Some(TaskStatus::Pending | TaskStatus::Blocked | TaskStatus::Proposed) => {
            (TaskStatus::Pending, ForeignStatus::Same)
        }
        Some(TaskStatus::InProgress) => (TaskStatus::Pending, ForeignStatus::InProgress),
        None => (TaskStatus::Pending, ForeignStatus::Unknown(word)),
    }
}

/// Indexes of tasks by id.
fn places(tasks: &[ForeignTask]) -> HashMap<String, usize> {
    let places = tasks.iter().enumerate().map(|(place, task)| (task.id.clone(), place));
    places.collect()
}

fn read_dependencies(connection: &Connection, tasks: &mut [ForeignTask], odd: &mut Oddities) -> rusqlite::Result<()> {
    let places = places(tasks);
    let mut statement = connection.prepare("SELECT blocker_id, blocked_id FROM dependencies ORDER BY rowid")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (blocker, blocked) = (odd.text(row, "blocker_id")?, odd.text(row, "blocked_id")?);
        let (blocker, blocked) = (blocker.unwrap_or_default(), blocked.unwrap_or_default());
        match places.get(&blocked).and_then(|place| tasks.get_mut(*place)) {
            Some(task) => task.after.push(blocker),
            None => odd.remarks.push(Remark::new(
                blocked,
                format!("missing, but listed as depending on {blocker}: skipped"),
            )),
        }
    }
    Ok(())
}

fn read_logs(connection: &Connection, tasks: &mut [ForeignTask], odd: &mut Oddities) -> rusqlite::Result<()> {
    let places = places(tasks);
    let mut statement = connection.prepare("SELECT task_id, message, timestamp FROM task_logs ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let task = odd.text(row, "task_id")?.unwrap_or_default();
        match places.get(&task).and_then(|place| tasks.get_mut(*place)) {
            Some(task) => task.log.push(TaskLogLine {
                at: odd.time(row, "timestamp")?,
                text: odd.text(row, "message")?.unwrap_or_default(),
                author: Author::UNKNOWN,
            }),
            None => odd.lost_log_lines += 1,
        }
    }
    Ok(())
}

fn read_iterations(connection: &Connection, odd: &mut Oddities) -> rusqlite::Result<Vec<ForeignIteration>> {
    let sql =
        "SELECT id, run_id, iteration, task_id, feature_id, outcome, model, duration_secs, cost_usd, files_modified,
                      notes, created_at
               FROM journal ORDER BY id";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut iterations = Vec::new();
    while let Some(row) = rows.next()? {
        let word = odd.text(row, "outcome")?.unwrap_or_default();
        let outcome = Outcome::parse(&word);
        iterations.push(ForeignIteration {
            number: row.get("id")?,
            run: odd.text(row, "run_id")?.unwrap_or_default(),
            iteration: odd.small(row, "iteration")?,
            task: odd.text(row, "task_id")?,
            feature: odd.text(row, "feature_id")?,
            outcome: outcome.unwrap_or(Outcome::Interrupted),
            unknown_outcome: outcome.is_none().then_some(word),
            model: odd.text(row, "model")?,
            duration_ms: milliseconds(real(row, "duration_secs")?),
            cost_usd: real(row, "cost_usd")?,
            files: odd.files(row)?,
            notes: odd.text(row, "notes")?,
            created_at: odd.time(row, "created_at")?,
        });
    }
    Ok(iterations)
}

fn count_model_choices(connection: &Connection) -> rusqlite::Result<usize> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'model_overrides')";
    if !connection.query_row(sql, [], |row| row.get(0))? {
        return Ok(0);
    }
    let rows: i64 = connection.query_row("SELECT count(*) FROM model_overrides", [], |row| row.get(0))?;
    Ok(usize::try_from(rows).unwrap_or_default())
}

/// Parses a time in RFC 3339, or as SQLite's `datetime('now')` writes it: in UTC, without an offset.
fn moment(text: &str) -> Option<Timestamp> {
    let in_utc = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    text.parse().ok().or_else(|| Some(in_utc()?.timestamp()))
}

/// A number that is finite and not negative.
fn real(row: &Row<'_>, column: &str) -> rusqlite::Result<f64> {
    #[expect(clippy::cast_precision_loss, reason = "costs and seconds are small")]
    let number = match row.get_ref(column)? {
        ValueRef::Real(number) => number,
        ValueRef::Integer(number) => number as f64,
        _ => 0.0,
    };
    Ok(if number.is_finite() { number.max(0.0) } else { 0.0 })
}

fn milliseconds(seconds: f64) -> u64 {
    let duration = std::time::Duration::try_from_secs_f64(seconds).unwrap_or(std::time::Duration::MAX);
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Problems found while reading.
#[derive(Default)]
struct Oddities {
    remarks: Vec<Remark>,
    unreadable_texts: usize,
    unreadable_times: usize,
    unreadable_files: usize,
    numbers_out_of_range: usize,
    without_id: BTreeMap<&'static str, usize>,
    lost_log_lines: usize,
    model_choices: usize,
}

impl Oddities {
    /// A text, with invalid bytes replaced.
    fn text(&mut self, row: &Row<'_>, column: &str) -> rusqlite::Result<Option<String>> {
        let bytes = match row.get_ref(column)? {
            ValueRef::Null => return Ok(None),
            ValueRef::Integer(number) => return Ok(Some(number.to_string())),
            ValueRef::Real(number) => return Ok(Some(number.to_string())),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        };
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.unreadable_texts += 1;
        }
        Ok(Some(text.into_owned()))
    }

    /// A record's id. In SQLite even a primary key may be NULL.
    fn id(&mut self, row: &Row<'_>, table: &'static str) -> rusqlite::Result<Option<String>> {
        let id = self.text(row, "id")?;
        if id.is_none() {
            *self.without_id.entry(table).or_default() += 1;
        }
        Ok(id)
    }

    fn time(&mut self, row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
        let text = self.text(row, column)?.unwrap_or_default();
        Ok(moment(text.trim()).unwrap_or_else(|| {
            self.unreadable_times += 1;
            Timestamp::UNIX_EPOCH
        }))
    }

    /// A small number that is never negative; 0 where there is none.
    fn small(&mut self, row: &Row<'_>, column: &str) -> rusqlite::Result<u32> {
        let number = match row.get_ref(column)? {
            ValueRef::Null => 0,
            ValueRef::Integer(number) => number,
            _ => -1,
        };
        let most = i64::from(u32::MAX);
        if !(0..=most).contains(&number) {
            self.numbers_out_of_range += 1;
        }
        Ok(u32::try_from(number.clamp(0, most)).unwrap_or_default())
    }

    /// The files of an iteration, stored as JSON.
    fn files(&mut self, row: &Row<'_>) -> rusqlite::Result<Vec<String>> {
        let Some(text) = self.text(row, "files_modified")?.filter(|text| !text.trim().is_empty()) else {
            return Ok(Vec::new());
        };
        Ok(serde_json::from_str(&text).unwrap_or_else(|_| {
            self.unreadable_files += 1;
            Vec::new()
        }))
    }

    fn into_remarks(self) -> Vec<Remark> {
        let mut remarks = self.remarks;
        let mut add = |number: usize, about: &str, (one, many): (&str, &str), what: &str| {
            if number > 0 {
                remarks.push(Remark::new(about, format!("{} {what}", count(number, one, many))));
            }
        };
        for (table, number) in &self.without_id {
            add(*number, table, ("row has", "rows have"), "no id: skipped");
        }
        let lines = ("line is", "lines are");
        add(self.lost_log_lines, "task_logs", lines, "about missing tasks: skipped");
        let texts = ("text is", "texts are");
        add(
            self.unreadable_texts,
            "texts",
            texts,
            "not UTF-8: invalid bytes were replaced by �",
        );
        let times = ("time", "times");
        add(
            self.unreadable_times,
            "times",
            times,
            "cannot be read: set to 1970-01-01",
        );
        let numbers = ("number is", "numbers are");
        add(self.numbers_out_of_range, "numbers", numbers, "out of range: clamped");
        let lists = ("list of files", "lists of files");
        add(self.unreadable_files, "journal", lists, "cannot be read: skipped");
        let choices = ("model choice was", "model choices were");
        add(
            self.model_choices,
            "model_overrides",
            choices,
            "not imported: ralph stores models with iterations",
        );
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_in_both_formats() {
        for (text, expected) in [
            ("2026-02-18T09:03:00Z", Some("2026-02-18T09:03:00Z")),
            ("2026-02-18T10:03:00+01:00", Some("2026-02-18T09:03:00Z")),
            ("2026-02-18 09:03:00", Some("2026-02-18T09:03:00Z")),
            ("2026-02-18 09:03:00.5", Some("2026-02-18T09:03:00.5Z")),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(
                moment(text).map(|moment| moment.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
