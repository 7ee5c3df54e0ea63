//! Parses the tasks of ralph-orchestrator, one JSON object per line.

use std::collections::HashSet;

use jiff::Timestamp;
use ralph_model::{Author, Priority, TaskLogLine, TaskStatus, count, preview};
use ralph_store::{ForeignHistory, ForeignStatus, ForeignTask, Remark};
use serde::Deserialize;

/// The tool's name in messages.
const TOOL: &str = "ralph-orchestrator";
/// The columns of a parse error that are shown.
const SHOWN_COLUMNS: usize = 120;

/// A line of the file; other keys are ignored.
#[derive(Deserialize)]
struct Line {
    id: String,
    title: String,
    description: Option<String>,
    status: Option<String>,
    priority: Option<u32>,
    #[serde(default)]
    blocked_by: Vec<String>,
    created: Option<String>,
    started: Option<String>,
    closed: Option<String>,
    #[serde(default)]
    transitions: Vec<Transition>,
}

/// A change of a task's status.
#[derive(Deserialize)]
struct Transition {
    from: Option<String>,
    to: Option<String>,
    timestamp: Option<String>,
    hat: Option<String>,
}

/// Oddities that were found while reading.
#[derive(Default)]
struct Oddities {
    unreadable_times: usize,
}

/// Parses the tasks of a file, which remarks call `name`. Unreadable lines are skipped and remarked on.
pub(super) fn read_tasks(name: &str, bytes: &[u8]) -> ForeignHistory {
    let mut history = ForeignHistory {
        tool: TOOL.to_owned(),
        ..ForeignHistory::default()
    };
    let mut odd = Oddities::default();
    let mut seen = HashSet::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let place = format!("{name}:{}", index + 1);
        let text = String::from_utf8_lossy(line);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_str::<Line>(text) {
            Ok(line) if seen.insert(line.id.clone()) => history.tasks.push(odd.task(line)),
            Ok(line) => {
                let text = format!("{} is a duplicate: skipped", line.id);
                history.remarks.push(Remark::new(place, text));
            }
            Err(error) => history.remarks.push(Remark::new(place, parse_error(&error))),
        }
    }
    history.remarks.extend(odd.into_remarks());
    history
}

/// Describes a parse error; the parser counts lines from the current line.
fn parse_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    let column = error.column();
    format!("{} (column {column}): skipped", preview(text, SHOWN_COLUMNS))
}

impl Oddities {
    fn task(&mut self, line: Line) -> ForeignTask {
        let created_at = match &line.created {
            Some(text) => self.time(text),
            // The id contains the creation time.
            None => second_of(&line.id).unwrap_or(Timestamp::UNIX_EPOCH),
        };
        let changed = [&line.closed, &line.started].into_iter().flatten().next();
        let updated_at = changed.map_or(created_at, |text| self.time(text)).max(created_at);
        let (status, foreign_status) = status(line.status.unwrap_or_default());
        ForeignTask {
            status,
            foreign_status,
            title: line.title,
            description: line.description.unwrap_or_default(),
            priority: line.priority.map_or_else(Priority::default, Priority),
            parent: None,
            feature: None,
            after: line.blocked_by,
            retries_used: 0,
            max_retries: None,
            created_at,
            updated_at,
            log: line
                .transitions
                .iter()
                .map(|step| self.log_line(step, updated_at))
                .collect(),
            id: line.id,
        }
    }

    fn log_line(&mut self, step: &Transition, otherwise: Timestamp) -> TaskLogLine {
        let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "?".to_owned());
        let hat = step.hat.as_ref().map(|hat| format!(" (by {hat})")).unwrap_or_default();
        TaskLogLine {
            at: step.timestamp.as_ref().map_or(otherwise, |text| self.time(text)),
            text: format!("From {} to {}{hat}.", word(&step.from), word(&step.to)),
            author: Author::UNKNOWN,
        }
    }

    fn time(&mut self, text: &str) -> Timestamp {
        text.trim().parse().unwrap_or_else(|_| {
            self.unreadable_times += 1;
            Timestamp::UNIX_EPOCH
        })
    }

    fn into_remarks(self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        if self.unreadable_times > 0 {
            let times = count(self.unreadable_times, "time", "times");
            remarks.push(Remark::new(
                "times",
                format!("{times} cannot be read: set to 1970-01-01"),
            ));
        }
        remarks
    }
}

/// Maps the status of a task. Dependencies are evaluated anew here.
fn status(word: String) -> (TaskStatus, ForeignStatus) {
    match word.as_str() {
        "closed" => (TaskStatus::Done, ForeignStatus::Same),
        "failed" => (TaskStatus::Failed, ForeignStatus::Same),
        "open" | "blocked" | "" => (TaskStatus::Pending, ForeignStatus::Same),
        "in_progress" | "in_review" => (TaskStatus::Pending, ForeignStatus::InProgress),
        _ => (TaskStatus::Pending, ForeignStatus::Unknown(word)),
    }
}

/// The time in an id like `task-1737372000-a1b2`.
fn second_of(id: &str) -> Option<Timestamp> {
    let second = id.split('-').nth(1)?.parse().ok()?;
    Timestamp::from_second(second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_lines_are_remarked_on() {
        let text = concat!(
            r#"{"id":"task-1737372000-a1b2","title":"One","description":"All","status":"closed","priority":1,"#,
            r#""blocked_by":[],"loop_id":"x","created":"2025-01-20T11:20:00+00:00","closed":"2025-01-20T12:00:00Z"}"#,
            "\n\n",
            r#"{"id":"task-1737372001-a1b2","title":"Two","status":"in_review","priority":3,"#,
            r#""blocked_by":["task-1737372000-a1b2"],"transitions":[{"from":"open","to":"in_review","#,
            r#""timestamp":"2025-01-20T11:30:00Z","hat":"builder"}]}"#,
            "\r\n",
            "{\"id\":\"task-1\",\"title\":\n",
            "{\"title\":\"no id\"}\n",
            r#"{"id":"task-1737372000-a1b2","title":"Again"}"#,
            "\n",
            r#"{"id":"x","title":"Three","status":"parked","created":"soon"}"#,
        );
        let history = read_tasks("tasks.jsonl", text.as_bytes());
        let seen: Vec<_> = history
            .tasks
            .iter()
            .map(|task| {
                (
                    task.title.as_str(),
                    task.status,
                    task.priority.0,
                    task.created_at.to_string(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("One", TaskStatus::Done, 1, "2025-01-20T11:20:00Z".to_owned()),
                ("Two", TaskStatus::Pending, 3, "2025-01-20T11:20:01Z".to_owned()),
                ("Three", TaskStatus::Pending, 5, "1970-01-01T00:00:00Z".to_owned()),
            ]
        );
        let two = history.tasks.get(1).unwrap();
        assert_eq!(two.after, ["task-1737372000-a1b2"]);
        let there: Vec<ForeignStatus> = history.tasks.iter().map(|task| task.foreign_status.clone()).collect();
        let parked = ForeignStatus::Unknown("parked".to_owned());
        assert_eq!(there, [ForeignStatus::Same, ForeignStatus::InProgress, parked]);
        assert_eq!(two.log.first().unwrap().text, "From open to in_review (by builder).");
        let remarks: Vec<String> = history
            .remarks
            .iter()
            .map(|remark| format!("{}: {}", remark.about, remark.text))
            .collect();
        assert_eq!(
            remarks,
            [
                "tasks.jsonl:4: EOF while parsing a value (column 23): skipped",
                "tasks.jsonl:5: missing field `id` (column 17): skipped",
                "tasks.jsonl:6: task-1737372000-a1b2 is a duplicate: skipped",
                "times: 1 time cannot be read: set to 1970-01-01",
            ]
        );
    }

    #[test]
    fn arbitrary_bytes_do_not_panic() {
        for bytes in [
            b"".as_slice(),
            b"\n\n",
            b"\xff\xfe{",
            b"[1,2]",
            b"null",
            "\u{feff}{}".as_bytes(),
            &[0; 100],
        ] {
            assert_eq!(read_tasks("x", bytes).tasks, []);
        }
        let deep = "[".repeat(100_000);
        assert_eq!(read_tasks("x", deep.as_bytes()).remarks.len(), 1);
    }
}
