//! The inbox as a list, with the commands that do something about what is in it.

use ralph_memory::learn::Conflict;
use ralph_model::{Task, count};
use ralph_store::{FailedTask, FinishedTask, Proposal};

use super::drawn;
use super::inbox::{GoneNote, Inbox, Proposed};
use crate::ui::{Line, Style, commands};

/// What stands before a command, beside the columns that every command stands behind.
const INDENT: &str = "  ";

/// A group of things that wait: its head and its things.
struct Shown<'a, T> {
    head: String,
    all: &'a [T],
}

/// All of it within a width.
pub(super) fn lines(inbox: &Inbox, width: usize) -> Vec<Line> {
    let groups = [
        failed(inbox).lines(width, drawn::failed, commands_of_task),
        unverified(inbox).lines(width, drawn::finished, commands_of_finished),
        finished(inbox).lines(width, drawn::finished, commands_of_finished),
        conflicts(inbox).lines(width, drawn::conflict, commands_of_conflict),
        lessons(inbox).lines(width, drawn::proposed, commands_of_lesson),
        proposed_tasks(inbox).lines(width, drawn::proposed_task, |task| {
            commands_of_proposal(task.id.as_str())
        }),
        proposals(inbox).lines(width, drawn::proposal, |proposal| {
            commands_of_proposal(proposal.id.as_str())
        }),
        vanished(inbox).lines(width, drawn::vanished, commands_of_note),
        problems(inbox, width),
    ];
    let mut lines = Vec::new();
    for group in groups.into_iter().filter(|group| !group.is_empty()) {
        if !lines.is_empty() {
            lines.push((None, String::new()));
        }
        lines.extend(group);
    }
    lines
}

impl<T> Shown<'_, T> {
    fn lines(
        &self,
        width: usize,
        draw: impl Fn(&T, usize) -> Vec<Line>,
        help: impl Fn(&T) -> Vec<(String, &'static str)>,
    ) -> Vec<Line> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![(Some(Style::Strong), self.head.clone())];
        for (place, thing) in self.all.iter().enumerate() {
            let help = help(thing);
            if place > 0 && !help.is_empty() {
                lines.push((None, String::new()));
            }
            lines.extend(draw(thing, width));
            let helping = commands(&help, width.saturating_sub(INDENT.len()));
            lines.extend(
                helping
                    .into_iter()
                    .map(|line| (Some(Style::Faint), format!("{INDENT}{line}"))),
            );
        }
        lines
    }
}

fn failed(inbox: &Inbox) -> Shown<'_, FailedTask> {
    let all = inbox.failed();
    Shown {
        head: count(all.len(), "task has failed", "tasks have failed"),
        all,
    }
}

fn unverified(inbox: &Inbox) -> Shown<'_, FinishedTask> {
    let all = inbox.unverified();
    Shown {
        head: count(all.len(), "done task is unverified", "done tasks are unverified"),
        all,
    }
}

fn finished(inbox: &Inbox) -> Shown<'_, FinishedTask> {
    let all = inbox.finished();
    Shown {
        head: count(all.len(), "finished task to review", "finished tasks to review"),
        all,
    }
}

fn conflicts(inbox: &Inbox) -> Shown<'_, Conflict> {
    let all = inbox.conflicts();
    Shown {
        head: count(
            all.len(),
            "pair of lessons contradicts each other",
            "pairs of lessons contradict each other",
        ),
        all,
    }
}

fn lessons(inbox: &Inbox) -> Shown<'_, Proposed> {
    let all = inbox.proposed();
    Shown {
        head: count(all.len(), "lesson waits", "lessons wait"),
        all,
    }
}

fn proposed_tasks(inbox: &Inbox) -> Shown<'_, Task> {
    let all = inbox.proposed_tasks();
    Shown {
        head: count(all.len(), "task is proposed", "tasks are proposed"),
        all,
    }
}

fn proposals(inbox: &Inbox) -> Shown<'_, Proposal> {
    let all = inbox.proposals();
    Shown {
        head: count(all.len(), "change is proposed", "changes are proposed"),
        all,
    }
}

fn commands_of_proposal(id: &str) -> Vec<(String, &'static str)> {
    vec![
        (format!("ralph review --accept {id}"), "accept it"),
        (format!("ralph review --reject {id}"), "reject it"),
    ]
}

fn vanished(inbox: &Inbox) -> Shown<'_, GoneNote> {
    let all = inbox.vanished();
    Shown {
        head: format!(
            "{} gone without having been deleted",
            count(all.len(), "note is", "notes are")
        ),
        all,
    }
}

fn commands_of_task(task: &FailedTask) -> Vec<(String, &'static str)> {
    let id = &task.id;
    vec![
        (format!("ralph task show {id}"), "every attempt at it"),
        (format!("ralph task reset {id}"), "let it be tried again"),
    ]
}

fn commands_of_finished(task: &FinishedTask) -> Vec<(String, &'static str)> {
    let id = &task.id;
    let mut commands = vec![(format!("ralph task done {id}"), "accept it")];
    match &task.commit {
        Some(_) => {
            commands.insert(0, (format!("ralph diff {id}"), "show its changes"));
            commands.push((format!("ralph undo {id}"), "revert it and reopen it"));
        }
        None => commands.push((format!("ralph task reset {id}"), "reopen it")),
    }
    commands
}

fn commands_of_conflict(conflict: &Conflict) -> Vec<(String, &'static str)> {
    let (one, other) = (&conflict.one.id, &conflict.other.id);
    vec![
        (format!("ralph learnings supersede {other} {one}"), "the first holds"),
        (format!("ralph learnings supersede {one} {other}"), "the second holds"),
        (
            format!("ralph learnings conflicts --both-hold {one} {other}"),
            "both hold",
        ),
    ]
}

fn commands_of_lesson(proposed: &Proposed) -> Vec<(String, &'static str)> {
    let id = &proposed.learning.id;
    let holds = if proposed.learning.has_text() {
        (format!("ralph learnings promote {id}"), "it holds")
    } else {
        (
            format!("ralph learnings update {id} --content TEXT"),
            "say what it teaches",
        )
    };
    vec![holds, (format!("ralph learnings reject {id}"), "it does not")]
}

fn commands_of_note(gone: &GoneNote) -> Vec<(String, &'static str)> {
    let (command, id) = (gone.shelf.words().command, &gone.note.id);
    vec![
        (format!("{command} restore {id}"), "bring it back"),
        (format!("{command} delete {id}"), "it may stay gone"),
    ]
}

/// What is wrong in files, which is mended there.
pub(super) fn problems(inbox: &Inbox, width: usize) -> Vec<Line> {
    let all = inbox.problems();
    let shown = Shown {
        head: format!(
            "{} in files of notes, to be mended there",
            count(all.len(), "place is wrong", "places are wrong")
        ),
        all,
    };
    shown.lines(width, drawn::problem, |_| Vec::new())
}
