//! The inbox as a list, with the commands that settle its items.

use ralph_memory::learn::Conflict;
use ralph_model::{Task, count};
use ralph_store::{FailedTask, FinishedTask, Proposal};

use super::inbox::{Inbox, MissingNote, Proposed};
use super::render;
use crate::ui::{Line, Style, commands};

/// The extra indent of commands.
const INDENT: &str = "  ";

/// A group of items with its heading.
struct Section<'a, T> {
    head: String,
    all: &'a [T],
}

pub(super) fn lines(inbox: &Inbox, width: usize) -> Vec<Line> {
    let groups = [
        failed(inbox).lines(width, render::failed, commands_of_task),
        unverified(inbox).lines(width, render::finished, commands_of_finished),
        finished(inbox).lines(width, render::finished, commands_of_finished),
        conflicts(inbox).lines(width, render::conflict, commands_of_conflict),
        learnings(inbox).lines(width, render::proposed, commands_of_learning),
        proposed_tasks(inbox).lines(width, render::proposed_task, |task| {
            commands_of_proposal(task.id.as_str())
        }),
        proposals(inbox).lines(width, render::proposal, |proposal| {
            commands_of_proposal(proposal.id.as_str())
        }),
        vanished(inbox).lines(width, render::vanished, commands_of_note),
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

impl<T> Section<'_, T> {
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

fn failed(inbox: &Inbox) -> Section<'_, FailedTask> {
    let all = inbox.failed();
    Section {
        head: count(all.len(), "task has failed", "tasks have failed"),
        all,
    }
}

fn unverified(inbox: &Inbox) -> Section<'_, FinishedTask> {
    let all = inbox.unverified();
    Section {
        head: count(all.len(), "done task is unverified", "done tasks are unverified"),
        all,
    }
}

fn finished(inbox: &Inbox) -> Section<'_, FinishedTask> {
    let all = inbox.finished();
    Section {
        head: count(all.len(), "finished task to review", "finished tasks to review"),
        all,
    }
}

fn conflicts(inbox: &Inbox) -> Section<'_, Conflict> {
    let all = inbox.conflicts();
    Section {
        head: count(
            all.len(),
            "pair of conflicting learnings",
            "pairs of conflicting learnings",
        ),
        all,
    }
}

fn learnings(inbox: &Inbox) -> Section<'_, Proposed> {
    let all = inbox.proposed();
    Section {
        head: count(all.len(), "learning to review", "learnings to review"),
        all,
    }
}

fn proposed_tasks(inbox: &Inbox) -> Section<'_, Task> {
    let all = inbox.proposed_tasks();
    Section {
        head: count(all.len(), "task is proposed", "tasks are proposed"),
        all,
    }
}

fn proposals(inbox: &Inbox) -> Section<'_, Proposal> {
    let all = inbox.proposals();
    Section {
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

fn vanished(inbox: &Inbox) -> Section<'_, MissingNote> {
    let all = inbox.vanished();
    Section {
        head: count(
            all.len(),
            "note disappeared from its file",
            "notes disappeared from their files",
        ),
        all,
    }
}

fn commands_of_task(task: &FailedTask) -> Vec<(String, &'static str)> {
    let id = &task.id;
    vec![
        (format!("ralph task show {id}"), "show all attempts"),
        (format!("ralph task reset {id}"), "try again"),
    ]
}

fn commands_of_finished(task: &FinishedTask) -> Vec<(String, &'static str)> {
    let id = &task.id;
    let mut commands = vec![(format!("ralph task done {id}"), "accept it")];
    match &task.commit {
        Some(_) => {
            commands.insert(0, (format!("ralph diff {id}"), "show its changes"));
            commands.push((format!("ralph undo {id}"), "revert and reopen it"));
        }
        None => commands.push((format!("ralph task reset {id}"), "reopen it")),
    }
    commands
}

fn commands_of_conflict(conflict: &Conflict) -> Vec<(String, &'static str)> {
    let (one, other) = (&conflict.one.id, &conflict.other.id);
    vec![
        (format!("ralph learnings supersede {other} {one}"), "keep the first"),
        (format!("ralph learnings supersede {one} {other}"), "keep the second"),
        (
            format!("ralph learnings conflicts --both-hold {one} {other}"),
            "keep both",
        ),
    ]
}

fn commands_of_learning(proposed: &Proposed) -> Vec<(String, &'static str)> {
    let id = &proposed.learning.id;
    let promote = if proposed.learning.has_text() {
        (format!("ralph learnings promote {id}"), "promote it")
    } else {
        (
            format!("ralph learnings update {id} --content TEXT"),
            "add the missing text",
        )
    };
    vec![promote, (format!("ralph learnings reject {id}"), "reject it")]
}

fn commands_of_note(missing: &MissingNote) -> Vec<(String, &'static str)> {
    let (command, id) = (missing.kind.words().command, &missing.note.id);
    vec![
        (format!("{command} restore {id}"), "restore it"),
        (format!("{command} delete {id}"), "delete it for good"),
    ]
}

/// Problems in note files, which the user fixes in the files.
pub(super) fn problems(inbox: &Inbox, width: usize) -> Vec<Line> {
    let all = inbox.problems();
    let section = Section {
        head: format!(
            "{} in note files, to be fixed there",
            count(all.len(), "problem", "problems")
        ),
        all,
    };
    section.lines(width, render::problem, |_| Vec::new())
}
