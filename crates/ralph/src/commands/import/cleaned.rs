//! Cleans the texts of an imported history like those of agents.

use ralph_memory::capture::clean;
use ralph_model::count;
use ralph_store::{ForeignHistory, Remark};

/// The title of a task without one.
const NO_TITLE: &str = "(no title)";

/// Removes control characters, hidden text and secrets from a history.
pub(super) fn cleaned(mut history: ForeignHistory) -> ForeignHistory {
    let mut changed = 0;
    let mut clean_text = |text: &mut String| {
        let cleaned = clean(text, usize::MAX);
        // Whitespace around a text and its line endings are not worth a remark.
        if cleaned != text.trim().replace("\r\n", "\n") {
            changed += 1;
        }
        *text = cleaned;
    };
    for feature in &mut history.features {
        clean_text(&mut feature.name);
    }
    for task in &mut history.tasks {
        clean_text(&mut task.title);
        clean_text(&mut task.description);
        task.title = task.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if task.title.is_empty() {
            NO_TITLE.clone_into(&mut task.title);
        }
        for line in &mut task.log {
            clean_text(&mut line.text);
        }
        task.log.retain(|line| !line.text.is_empty());
    }
    for iteration in &mut history.iterations {
        iteration.model.iter_mut().for_each(&mut clean_text);
        iteration.files.iter_mut().for_each(&mut clean_text);
        iteration.notes.iter_mut().for_each(&mut clean_text);
        iteration.notes = iteration.notes.take().filter(|notes| !notes.is_empty());
    }
    if changed > 0 {
        let texts = count(changed, "text has", "texts have");
        let text = format!("{texts} control characters or possible secrets, which were removed");
        history.remarks.push(Remark::new("texts", text));
    }
    history
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use ralph_model::{Priority, TaskLogLine, TaskStatus};
    use ralph_store::{ForeignStatus, ForeignTask};

    use super::*;

    #[test]
    fn control_characters_and_secrets_are_removed() {
        let at = Timestamp::UNIX_EPOCH;
        let line = |text: &str| TaskLogLine {
            at,
            text: text.to_owned(),
            author: ralph_model::Author::UNKNOWN,
        };
        let task = ForeignTask {
            id: "x".to_owned(),
            title: " \0\u{1b}[31m\n".to_owned(),
            description: format!("use ghp_{}\r\nthen", "a1B2".repeat(9)),
            status: TaskStatus::Pending,
            foreign_status: ForeignStatus::Same,
            priority: Priority(1),
            parent: None,
            feature: None,
            after: Vec::new(),
            retries_used: 0,
            max_retries: None,
            created_at: at,
            updated_at: at,
            log: vec![line(" fine\r\n"), line("\u{7}")],
        };
        let history = cleaned(ForeignHistory {
            tasks: vec![task],
            ..ForeignHistory::default()
        });
        let task = history.tasks.first().unwrap();
        assert_eq!((task.title.as_str(), task.log.len()), (NO_TITLE, 1));
        assert!(task.description.contains("[secret: ") && task.description.ends_with("\nthen"));
        let remark = "3 texts have control characters or possible secrets, which were removed";
        assert_eq!(history.remarks, [Remark::new("texts", remark)]);
    }
}
