//! Goes through the inbox item by item at a terminal. Each answer is carried out before the next item.

use std::collections::BTreeSet;
use std::process::ExitCode;

use ralph_memory::learn::Conflict;
use ralph_model::{LearningId, Task};
use ralph_store::{FailedTask, FinishedTask, Proposal};

use super::act::{Acted, act, show_changes};
use super::inbox::{Inbox, MissingNote, Proposed};
use super::summary::{Action, Summary};
use super::{list, render};
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::{Asker, INTERRUPTED, Key, Line, Pressed, Style, text_columns};
use crate::wrap::wrapped;

/// The indent of continuation lines in the help for keys.
const HELP_INDENT: &str = "   ";

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Failed(Box<FailedTask>),
    Finished(Box<FinishedTask>),
    Conflict(Box<Conflict>),
    Learning(Box<Proposed>),
    /// A proposed task.
    Task(Box<Task>),
    /// A proposed command.
    Proposal(Box<Proposal>),
    Vanished(Box<MissingNote>),
}

const SKIP: Key = ('s', "skip");
const LATER: Key = ('l', "later");
const HELP: Key = ('?', "help");
/// The same as `l`, so it is not shown.
const QUIT: Key = ('q', "");

const OF_FAILED: [Key; 6] = [('y', "retry"), ('n', "leave it"), SKIP, LATER, HELP, QUIT];
const OF_FINISHED: [Key; 8] = [
    ('y', "accept"),
    ('n', "send back"),
    ('u', "undo"),
    ('d', "diff"),
    ('s', "next"),
    LATER,
    HELP,
    QUIT,
];
const OF_CONFLICT: [Key; 7] = [
    ('1', "keep the first"),
    ('2', "keep the second"),
    ('b', "keep both"),
    SKIP,
    LATER,
    HELP,
    QUIT,
];
const OF_LEARNING: [Key; 7] = [
    ('y', "promote"),
    ('n', "reject"),
    ('e', "edit"),
    SKIP,
    LATER,
    HELP,
    QUIT,
];
const OF_PROPOSAL: [Key; 6] = [('y', "accept"), ('n', "reject"), SKIP, LATER, HELP, QUIT];
const OF_VANISHED: [Key; 6] = [('y', "restore"), ('n', "delete"), SKIP, LATER, HELP, QUIT];

impl Item {
    fn keys(&self) -> &'static [Key] {
        match self {
            Self::Failed(_) => &OF_FAILED,
            Self::Finished(_) => &OF_FINISHED,
            Self::Conflict(_) => &OF_CONFLICT,
            Self::Learning(_) => &OF_LEARNING,
            Self::Task(_) | Self::Proposal(_) => &OF_PROPOSAL,
            Self::Vanished(_) => &OF_VANISHED,
        }
    }

    /// What the keys do.
    fn help(&self) -> &'static [Key] {
        match self {
            Self::Failed(_) => &[
                (
                    'y',
                    "Reopen it with all its retries; the next run tries it again. Earlier attempts stay in the journal.",
                ),
                ('n', "Leave it failed; tasks that depend on it keep waiting."),
            ],
            Self::Finished(_) => &[
                ('y', "Accept it: the task is done and needs no more review."),
                (
                    'n',
                    "Send it back with a comment: the task is reopened, and the next attempt improves the existing code.",
                ),
                (
                    'u',
                    "Undo it: revert its commit, reopen the task, and roll back what it added to memory.",
                ),
                ('d', "Show its changes again."),
            ],
            Self::Conflict(_) => &[
                ('1', "Keep the first; it supersedes the second."),
                ('2', "Keep the second; it supersedes the first."),
                ('b', "Keep both; they do not conflict."),
            ],
            Self::Learning(_) => &[
                ('y', "Promote it: it is injected into matching prompts."),
                ('n', "Reject it: no agent sees it. You may give a reason."),
                ('e', "Edit its text in your editor, then promote it."),
            ],
            Self::Task(_) => &[
                ('y', "Accept the task; the next run works on it."),
                ('n', "Reject and delete the task."),
            ],
            Self::Proposal(_) => &[
                ('y', "Run the command now, in your name."),
                ('n', "Reject it; nothing changes."),
            ],
            Self::Vanished(_) => &[
                ('y', "Restore it to its file as it last was."),
                (
                    'n',
                    "Delete it: it is no longer reported as missing, but stays in the history.",
                ),
            ],
        }
    }

    /// Reads the evidence of a learning when the user is asked about it.
    fn read_evidence(&mut self, context: &Context<'_>) -> Result<(), CommandError> {
        match (self, context.facts()?) {
            (Self::Learning(learning), Some(store)) => learning.read_evidence(&store),
            _ => Ok(()),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Failed(_) => "a failed task",
            Self::Finished(task) if task.unverified.is_some() => "an unverified task",
            Self::Finished(_) => "a finished task",
            Self::Conflict(_) => "two conflicting learnings",
            Self::Learning(_) => "a learning to review",
            Self::Task(_) => "a proposed task",
            Self::Proposal(_) => "a proposed change",
            Self::Vanished(_) => "a missing note",
        }
    }

    fn lines(&self, width: usize) -> Vec<Line> {
        match self {
            Self::Failed(task) => {
                let more = format!("    details: ralph task show {}", task.id);
                let mut lines = render::failed(task, width);
                lines.push((Some(Style::Faint), more));
                lines
            }
            Self::Finished(task) => {
                let more = format!("    details: ralph task show {}", task.id);
                let mut lines = render::finished(task, width);
                lines.push((Some(Style::Faint), more));
                lines
            }
            Self::Conflict(conflict) => render::conflict(conflict, width),
            Self::Learning(learning) => render::proposed(learning, width),
            Self::Task(task) => render::proposed_task(task, width),
            Self::Proposal(proposal) => render::proposal(proposal, width),
            Self::Vanished(missing) => render::vanished(missing, width),
        }
    }
}

/// How an item was left.
enum Step {
    Next(Action),
    /// One of two learnings supersedes the other.
    Chosen {
        old: LearningId,
        new: LearningId,
    },
    /// The rest is left for later.
    Later,
    /// Ctrl+C or another stop signal.
    Stopped,
}

/// Answers about learnings in this review; questions that they already answer are skipped.
#[derive(Default)]
struct Answered {
    superseded: BTreeSet<LearningId>,
    chosen: BTreeSet<LearningId>,
}

impl Answered {
    /// Whether an earlier answer settles the item.
    fn settles(&self, item: &Item) -> bool {
        match item {
            Item::Conflict(conflict) => {
                self.superseded.contains(&conflict.one.id) || self.superseded.contains(&conflict.other.id)
            }
            Item::Learning(learning) => {
                self.superseded.contains(&learning.learning.id) || self.chosen.contains(&learning.learning.id)
            }
            Item::Failed(_) | Item::Finished(_) | Item::Task(_) | Item::Proposal(_) | Item::Vanished(_) => false,
        }
    }
}

pub(super) fn go_through(context: &Context<'_>, asker: &mut Asker, inbox: Inbox) -> Result<ExitCode, CommandError> {
    let problems = list::problems(&inbox, context.ui.width());
    let items = items(inbox);
    let all = items.len();
    let mut summary = Summary::default();
    let mut answered = Answered::default();
    let mut code = ExitCode::SUCCESS;
    for (number, mut item) in (1..).zip(items) {
        if answered.settles(&item) {
            summary.add(Action::SettledByEarlierAnswer);
            continue;
        }
        item.read_evidence(context)?;
        let head = format!("{number} of {all}: {}", item.kind());
        match settle(context, asker, item, &head)? {
            Step::Next(action) => summary.add(action),
            Step::Chosen { old, new } => {
                answered.superseded.insert(old);
                answered.chosen.insert(new);
                summary.add(Action::Settled);
            }
            Step::Later => break,
            Step::Stopped => {
                code = ExitCode::from(INTERRUPTED);
                break;
            }
        }
    }
    if !problems.is_empty() {
        context.ui.lines(&problems)?;
        context.ui.data("\n")?;
    }
    context.ui.data(&format!("{}\n", summary.sentence(all)))?;
    Ok(code)
}

fn items(inbox: Inbox) -> Vec<Item> {
    let failed = inbox.failed_tasks.into_iter().flatten().map(Box::new).map(Item::Failed);
    let finished = inbox.unverified_tasks.into_iter().chain(inbox.finished_tasks).flatten();
    let finished = finished.map(Box::new).map(Item::Finished);
    let conflicts = inbox.conflicts.into_iter().flatten().map(Box::new).map(Item::Conflict);
    let learnings = inbox.learnings.into_iter().flatten().map(Box::new).map(Item::Learning);
    let vanished = inbox.vanished.into_iter().flatten().map(Box::new).map(Item::Vanished);
    let proposed_tasks = inbox.proposed_tasks.into_iter().flatten().map(Box::new).map(Item::Task);
    let proposals = inbox.proposals.into_iter().flatten().map(Box::new).map(Item::Proposal);
    let tasks = failed.chain(finished);
    let proposed = proposed_tasks.chain(proposals);
    tasks
        .chain(conflicts)
        .chain(learnings)
        .chain(proposed)
        .chain(vanished)
        .collect()
}

fn settle(context: &Context<'_>, asker: &mut Asker, mut item: Item, head: &str) -> Result<Step, CommandError> {
    show(context, &item, head)?;
    loop {
        let key = match asker.ask(item.keys()) {
            Pressed::Stopped => return Ok(Step::Stopped),
            Pressed::End | Pressed::Key('l' | 'q') => return Ok(Step::Later),
            Pressed::Key('s') => return Ok(Step::Next(Action::Left)),
            Pressed::Key(key) => key,
        };
        if key == '?' {
            explain(context, &item)?;
            continue;
        }
        match act(context, asker, &item, key) {
            Ok(Acted::Done(action)) => {
                context.ui.data("\n")?;
                return Ok(Step::Next(action));
            }
            Ok(Acted::Chosen { old, new }) => {
                context.ui.data("\n")?;
                return Ok(Step::Chosen { old, new });
            }
            Ok(Acted::NotYet) => {}
            Ok(Acted::Changed(now)) => {
                context
                    .ui
                    .status("Someone else has changed it. This is its current state:");
                item = now;
                show(context, &item, head)?;
            }
            // After an error the user can answer differently.
            Err(error) => drop(context.ui.error(&error)),
        }
    }
}

fn show(context: &Context<'_>, item: &Item, head: &str) -> Result<(), CommandError> {
    if let Item::Finished(task) = item
        && let Err(error) = show_changes(context, task)
    {
        // The user can decide without the changes.
        let _code = context.ui.error(&error);
    }
    let mut lines = vec![(Some(Style::Strong), head.to_owned())];
    lines.extend(item.lines(context.ui.width()));
    lines.push((None, String::new()));
    context.ui.lines(&lines)
}

fn explain(context: &Context<'_>, item: &Item) -> Result<(), CommandError> {
    let common = [
        ('s', "Leave it as it is and continue with the next."),
        ('l', "Leave this and the rest for later, like q and Ctrl+D."),
    ];
    let columns = text_columns(context.ui.width(), HELP_INDENT.len());
    let mut lines: Vec<Line> = Vec::new();
    for (key, does) in item.help().iter().chain(&common) {
        let keys = std::iter::once(format!("{key}  ")).chain(std::iter::repeat(HELP_INDENT.to_owned()));
        let texts = keys.zip(wrapped(does, columns));
        lines.extend(texts.map(|(key, text)| (None, format!("{key}{text}"))));
    }
    lines.push((None, String::new()));
    context.ui.lines(&lines)
}
