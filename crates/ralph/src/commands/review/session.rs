//! The inbox item by item at a terminal: each is shown and asked about, and what is answered is done before the next.

use std::collections::BTreeSet;
use std::process::ExitCode;

use ralph_memory::learn::Conflict;
use ralph_model::{LearningId, Task};
use ralph_store::{FailedTask, FinishedTask, Proposal};

use super::act::{Acted, act, show_changes};
use super::inbox::{GoneNote, Inbox, Proposed};
use super::tally::{Deed, Tally};
use super::{drawn, list};
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::{Asker, INTERRUPTED, Key, Line, Pressed, Style, text_columns};
use crate::wrap::wrapped;

/// What stands before the second line of what a key does.
const HELP_INDENT: &str = "   ";

/// Something that a person is asked about.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Failed(Box<FailedTask>),
    Finished(Box<FinishedTask>),
    Conflict(Box<Conflict>),
    Lesson(Box<Proposed>),
    /// A task that an agent proposes.
    Task(Box<Task>),
    /// A command that an agent proposes.
    Proposal(Box<Proposal>),
    Vanished(Box<GoneNote>),
}

/// What every item can be answered with.
const SKIP: Key = ('s', "skip");
const LATER: Key = ('l', "later");
const HELP: Key = ('?', "help");
/// Whoever presses it means the same as by `l`, so it is not shown beside it.
const QUIT: Key = ('q', "");

const OF_FAILED: [Key; 6] = [('y', "try it again"), ('n', "leave it"), SKIP, LATER, HELP, QUIT];
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
    ('1', "the first holds"),
    ('2', "the second"),
    ('b', "both"),
    SKIP,
    LATER,
    HELP,
    QUIT,
];
const OF_LESSON: [Key; 7] = [
    ('y', "promote"),
    ('n', "reject"),
    ('e', "edit"),
    SKIP,
    LATER,
    HELP,
    QUIT,
];
const OF_PROPOSAL: [Key; 6] = [('y', "accept"), ('n', "reject"), SKIP, LATER, HELP, QUIT];
const OF_VANISHED: [Key; 6] = [('y', "bring it back"), ('n', "let it go"), SKIP, LATER, HELP, QUIT];

impl Item {
    fn keys(&self) -> &'static [Key] {
        match self {
            Self::Failed(_) => &OF_FAILED,
            Self::Finished(_) => &OF_FINISHED,
            Self::Conflict(_) => &OF_CONFLICT,
            Self::Lesson(_) => &OF_LESSON,
            Self::Task(_) | Self::Proposal(_) => &OF_PROPOSAL,
            Self::Vanished(_) => &OF_VANISHED,
        }
    }

    /// What the keys do, in sentences.
    fn help(&self) -> &'static [Key] {
        match self {
            Self::Failed(_) => &[
                (
                    'y',
                    "It is open again, with all its retries, and the next run tries it. What was tried stays known.",
                ),
                ('n', "It stays failed, and what waits for it goes on waiting."),
            ],
            Self::Finished(_) => &[
                (
                    'y',
                    "Accept it: the task is done, and you are not asked about it again.",
                ),
                (
                    'n',
                    "Send it back with a comment: the task is open again, and the next attempt improves the code that is there.",
                ),
                (
                    'u',
                    "Undo it: its commit is reverted, the task is open again, and what memory got from it is rolled back.",
                ),
                ('d', "Show its changes again."),
            ],
            Self::Conflict(_) => &[
                ('1', "The first holds, and takes the place of the second."),
                ('2', "The second holds, and takes the place of the first."),
                ('b', "They do not contradict each other: both hold."),
            ],
            Self::Lesson(_) => &[
                ('y', "It holds, and stands in the prompts that it fits."),
                ('n', "It does not hold, and no agent sees it. You may say why."),
                ('e', "Put it into other words, in your editor; then it holds."),
            ],
            Self::Task(_) => &[
                ('y', "The task is accepted, and the next run works on it."),
                ('n', "The task is rejected and deleted."),
            ],
            Self::Proposal(_) => &[
                ('y', "The command is carried out now, in your name."),
                ('n', "Nothing changes."),
            ],
            Self::Vanished(_) => &[
                ('y', "It comes back into its file, as it last was."),
                (
                    'n',
                    "It may stay gone, and nobody is told of it any more; it stays on record.",
                ),
            ],
        }
    }

    /// Reads what speaks for a lesson, in the moment in which it is asked about.
    fn read_evidence(&mut self, context: &Context<'_>) -> Result<(), CommandError> {
        match (self, context.facts()?) {
            (Self::Lesson(lesson), Some(store)) => lesson.read_evidence(&store),
            _ => Ok(()),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Failed(_) => "a failed task",
            Self::Finished(task) if task.unverified.is_some() => "a done task that is unverified",
            Self::Finished(_) => "a finished task",
            Self::Conflict(_) => "two lessons that contradict each other",
            Self::Lesson(_) => "a lesson to judge",
            Self::Task(_) => "a task that an agent proposes",
            Self::Proposal(_) => "a change that an agent proposes",
            Self::Vanished(_) => "a note that is gone without having been deleted",
        }
    }

    fn lines(&self, width: usize) -> Vec<Line> {
        match self {
            Self::Failed(task) => {
                let more = format!("    all of it: ralph task show {}", task.id);
                let mut lines = drawn::failed(task, width);
                lines.push((Some(Style::Faint), more));
                lines
            }
            Self::Finished(task) => {
                let more = format!("    all of it: ralph task show {}", task.id);
                let mut lines = drawn::finished(task, width);
                lines.push((Some(Style::Faint), more));
                lines
            }
            Self::Conflict(conflict) => drawn::conflict(conflict, width),
            Self::Lesson(lesson) => drawn::proposed(lesson, width),
            Self::Task(task) => drawn::proposed_task(task, width),
            Self::Proposal(proposal) => drawn::proposal(proposal, width),
            Self::Vanished(gone) => drawn::vanished(gone, width),
        }
    }
}

/// How an item came to its end.
enum Step {
    /// This became of it.
    Next(Deed),
    /// Of two lessons one has taken the place of the other.
    Chosen { old: LearningId, new: LearningId },
    /// The rest is for another time.
    Later,
    /// Ctrl+C, or the system wants an end.
    Stopped,
}

/// What was answered about lessons in this review. What follows from it is not asked again.
#[derive(Default)]
struct Answered {
    /// Another one has taken the place of these.
    replaced: BTreeSet<LearningId>,
    /// These hold.
    chosen: BTreeSet<LearningId>,
}

impl Answered {
    /// Whether nothing of an item waits any more.
    fn settles(&self, item: &Item) -> bool {
        match item {
            Item::Conflict(conflict) => {
                self.replaced.contains(&conflict.one.id) || self.replaced.contains(&conflict.other.id)
            }
            Item::Lesson(lesson) => {
                self.replaced.contains(&lesson.learning.id) || self.chosen.contains(&lesson.learning.id)
            }
            Item::Failed(_) | Item::Finished(_) | Item::Task(_) | Item::Proposal(_) | Item::Vanished(_) => false,
        }
    }
}

/// Goes through all of it.
pub(super) fn go_through(context: &Context<'_>, asker: &mut Asker, inbox: Inbox) -> Result<ExitCode, CommandError> {
    let problems = list::problems(&inbox, context.ui.width());
    let items = items(inbox);
    let all = items.len();
    let mut tally = Tally::default();
    let mut answered = Answered::default();
    let mut code = ExitCode::SUCCESS;
    for (number, mut item) in (1..).zip(items) {
        if answered.settles(&item) {
            tally.add(Deed::SettledAlong);
            continue;
        }
        item.read_evidence(context)?;
        let head = format!("{number} of {all}: {}", item.kind());
        match settle(context, asker, item, &head)? {
            Step::Next(deed) => tally.add(deed),
            Step::Chosen { old, new } => {
                answered.replaced.insert(old);
                answered.chosen.insert(new);
                tally.add(Deed::Settled);
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
    context.ui.data(&format!("{}\n", tally.sentence(all)))?;
    Ok(code)
}

fn items(inbox: Inbox) -> Vec<Item> {
    let failed = inbox.failed_tasks.into_iter().flatten().map(Box::new).map(Item::Failed);
    let finished = inbox.unverified_tasks.into_iter().chain(inbox.finished_tasks).flatten();
    let finished = finished.map(Box::new).map(Item::Finished);
    let conflicts = inbox.conflicts.into_iter().flatten().map(Box::new).map(Item::Conflict);
    let lessons = inbox.learnings.into_iter().flatten().map(Box::new).map(Item::Lesson);
    let vanished = inbox.vanished.into_iter().flatten().map(Box::new).map(Item::Vanished);
    let proposed_tasks = inbox.proposed_tasks.into_iter().flatten().map(Box::new).map(Item::Task);
    let proposals = inbox.proposals.into_iter().flatten().map(Box::new).map(Item::Proposal);
    let tasks = failed.chain(finished);
    let proposed = proposed_tasks.chain(proposals);
    tasks
        .chain(conflicts)
        .chain(lessons)
        .chain(proposed)
        .chain(vanished)
        .collect()
}

/// Shows an item and asks about it until it is settled or left.
fn settle(context: &Context<'_>, asker: &mut Asker, mut item: Item, head: &str) -> Result<Step, CommandError> {
    show(context, &item, head)?;
    loop {
        let key = match asker.ask(item.keys()) {
            Pressed::Stopped => return Ok(Step::Stopped),
            Pressed::End | Pressed::Key('l' | 'q') => return Ok(Step::Later),
            Pressed::Key('s') => return Ok(Step::Next(Deed::Left)),
            Pressed::Key(key) => key,
        };
        if key == '?' {
            explain(context, &item)?;
            continue;
        }
        match act(context, asker, &item, key) {
            Ok(Acted::Done(deed)) => {
                context.ui.data("\n")?;
                return Ok(Step::Next(deed));
            }
            Ok(Acted::Chosen { old, new }) => {
                context.ui.data("\n")?;
                return Ok(Step::Chosen { old, new });
            }
            Ok(Acted::NotYet) => {}
            Ok(Acted::Changed(now)) => {
                context
                    .ui
                    .status("Somebody else has changed it meanwhile. This is how it stands now:");
                item = now;
                show(context, &item, head)?;
            }
            // What could not be done can be answered otherwise.
            Err(error) => drop(context.ui.error(&error)),
        }
    }
}

fn show(context: &Context<'_>, item: &Item, head: &str) -> Result<(), CommandError> {
    if let Item::Finished(task) = item
        && let Err(error) = show_changes(context, task)
    {
        // It can be decided about without them.
        let _code = context.ui.error(&error);
    }
    let mut lines = vec![(Some(Style::Strong), head.to_owned())];
    lines.extend(item.lines(context.ui.width()));
    lines.push((None, String::new()));
    context.ui.lines(&lines)
}

fn explain(context: &Context<'_>, item: &Item) -> Result<(), CommandError> {
    let common = [
        ('s', "Leave it as it is, and go on with the next."),
        ('l', "Leave it and all the rest for later; q and Ctrl+D do the same."),
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
