//! The tasks of ralph-orchestrator: a file with a JSON object a line. It reads text; the caller reads the file.

use std::collections::HashSet;

use jiff::Timestamp;
use ralph_model::{Author, Priority, TaskLogLine, TaskStatus, count, preview};
use ralph_store::{ForeignHistory, ForeignTask, Remark, StatusThere};
use serde::Deserialize;

/// How the tool is called in messages.
const TOOL: &str = "ralph-orchestrator";
/// How many columns of the parser's complaint are shown.
const SHOWN_COLUMNS: usize = 120;

/// A line of the file. What else stands there is that tool's own business.
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

/// A step in the life of a task.
#[derive(Deserialize)]
struct Transition {
    from: Option<String>,
    to: Option<String>,
    timestamp: Option<String>,
    hat: Option<String>,
}

/// What was met on the way.
#[derive(Default)]
struct Oddities {
    unreadable_times: usize,
}

/// Reads the tasks of a file; `name` is how remarks call it. Lines that cannot be read are left out and named.
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
                let text = format!("{} stands there a second time: left out", line.id);
                history.remarks.push(Remark::new(place, text));
            }
            Err(error) => history.remarks.push(Remark::new(place, complaint(&error))),
        }
    }
    history.remarks.extend(odd.into_remarks());
    history
}

/// What is wrong with a line; the parser counts its lines from the line itself.
fn complaint(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    let column = error.column();
    format!("{} (column {column}): left out", preview(text, SHOWN_COLUMNS))
}

impl Oddities {
    fn task(&mut self, line: Line) -> ForeignTask {
        let created_at = match &line.created {
            Some(text) => self.time(text),
            // Its id says when it was made.
            None => second_of(&line.id).unwrap_or(Timestamp::UNIX_EPOCH),
        };
        let changed = [&line.closed, &line.started].into_iter().flatten().next();
        let updated_at = changed.map_or(created_at, |text| self.time(text)).max(created_at);
        let (status, status_there) = status(line.status.unwrap_or_default());
        ForeignTask {
            status,
            status_there,
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
            remarks.push(Remark::new("times", format!("{times} cannot be read: 1970-01-01 here")));
        }
        remarks
    }
}

/// Where a task stands. What it waits for is found anew here.
fn status(word: String) -> (TaskStatus, StatusThere) {
    match word.as_str() {
        "closed" => (TaskStatus::Done, StatusThere::TheSame),
        "failed" => (TaskStatus::Failed, StatusThere::TheSame),
        "open" | "blocked" | "" => (TaskStatus::Pending, StatusThere::TheSame),
        "in_progress" | "in_review" => (TaskStatus::Pending, StatusThere::AtWork),
        _ => (TaskStatus::Pending, StatusThere::Unknown(word)),
    }
}

/// The moment in an id like `task-1737372000-a1b2`.
fn second_of(id: &str) -> Option<Timestamp> {
    let second = id.split('-').nth(1)?.parse().ok()?;
    Timestamp::from_second(second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_tasks_and_what_cannot_be_read_is_named() {
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
        let there: Vec<StatusThere> = history.tasks.iter().map(|task| task.status_there.clone()).collect();
        let parked = StatusThere::Unknown("parked".to_owned());
        assert_eq!(there, [StatusThere::TheSame, StatusThere::AtWork, parked]);
        assert_eq!(two.log.first().unwrap().text, "From open to in_review (by builder).");
        let remarks: Vec<String> = history
            .remarks
            .iter()
            .map(|remark| format!("{}: {}", remark.about, remark.text))
            .collect();
        assert_eq!(
            remarks,
            [
                "tasks.jsonl:4: EOF while parsing a value (column 23): left out",
                "tasks.jsonl:5: missing field `id` (column 17): left out",
                "tasks.jsonl:6: task-1737372000-a1b2 stands there a second time: left out",
                "times: 1 time cannot be read: 1970-01-01 here",
            ]
        );
    }

    #[test]
    fn any_bytes_can_be_read() {
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
