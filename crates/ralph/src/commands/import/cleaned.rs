//! Cleans the texts of another tool's history as those of agents are cleaned before they are kept.

use ralph_memory::capture::clean;
use ralph_model::count;
use ralph_store::{ForeignHistory, Remark};

/// The title of a task that has none.
const NO_TITLE: &str = "(no title)";

/// The history without control characters, what hides text, and secrets.
pub(super) fn cleaned(mut history: ForeignHistory) -> ForeignHistory {
    let mut changed = 0;
    let mut mend = |text: &mut String| {
        let cleaned = clean(text, usize::MAX);
        // Blanks around a text, and how its lines end, are nothing to speak of.
        if cleaned != text.trim().replace("\r\n", "\n") {
            changed += 1;
        }
        *text = cleaned;
    };
    for feature in &mut history.features {
        mend(&mut feature.name);
    }
    for task in &mut history.tasks {
        mend(&mut task.title);
        mend(&mut task.description);
        task.title = task.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if task.title.is_empty() {
            NO_TITLE.clone_into(&mut task.title);
        }
        for line in &mut task.log {
            mend(&mut line.text);
        }
        task.log.retain(|line| !line.text.is_empty());
    }
    for iteration in &mut history.iterations {
        iteration.model.iter_mut().for_each(&mut mend);
        iteration.files.iter_mut().for_each(&mut mend);
        iteration.notes.iter_mut().for_each(&mut mend);
        iteration.notes = iteration.notes.take().filter(|notes| !notes.is_empty());
    }
    if changed > 0 {
        let texts = count(changed, "text holds", "texts hold");
        let text = format!("{texts} control characters or what looks like a secret: kept without");
        history.remarks.push(Remark::new("texts", text));
    }
    history
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use ralph_model::{Priority, TaskLogLine, TaskStatus};
    use ralph_store::{ForeignTask, StatusThere};

    use super::*;

    #[test]
    fn texts_are_kept_without_control_characters_and_secrets() {
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
            status_there: StatusThere::TheSame,
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
        let remark = "3 texts hold control characters or what looks like a secret: kept without";
        assert_eq!(history.remarks, [Remark::new("texts", remark)]);
    }
}
