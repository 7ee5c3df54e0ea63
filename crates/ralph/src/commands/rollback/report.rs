//! Describes what a rollback does, and asks for confirmation.

use std::collections::BTreeSet;

use ralph_loop::Base;
use ralph_model::{TaskId, count, first_line, preview};
use ralph_notes::Knowledge;
use ralph_store::{Kept, LoggedEntry, Rollback, RollbackPlan, StepChange, Store};
use serde_json::{Value, json};

use super::code::short_commit;
use super::{Direction, Options, undoing_command};
use crate::context::Context;
use crate::error::CommandError;

/// A change to a task or an entry.
pub(super) struct Step {
    id: String,
    change: String,
    /// The first line of the text.
    text: String,
}

const TEXT_COLUMNS: usize = 60;

pub(super) fn describe(store: &Store, plan: &RollbackPlan, direction: Direction) -> Result<Vec<Step>, CommandError> {
    let is_revert = direction == Direction::Revert;
    let word = |revert, reapply| if is_revert { revert } else { reapply };
    let step = |id: &str, change: &str, text: &str| Step {
        id: id.to_owned(),
        change: change.to_owned(),
        text: preview(first_line(text.trim_start()), TEXT_COLUMNS),
    };
    let mut steps = Vec::new();
    for commit in &plan.commits {
        let (short, branch) = (short_commit(&commit.commit), Base::new(&*commit.base));
        let change = match direction {
            Direction::Revert => format!("reopened, {short} reverted on {}", branch.branch()),
            Direction::Reapply => format!("done, {short} back on {}", branch.branch()),
        };
        steps.push(step(commit.task.as_str(), &change, &commit.subject));
    }
    for note in &plan.notes {
        let change = match note.change {
            StepChange::Removed => word("removed", "brought back"),
            StepChange::Restored => word("restored", "changed again"),
        };
        let entry = match store.logged_entry(Some(note.from))? {
            LoggedEntry::Absent => store.logged_entry(note.to)?,
            present => present,
        };
        steps.push(step(&note.id, change, &body(&entry)));
    }
    let rejected = plan.learnings.iter().map(|step| (step, word("rejected", "as it was")));
    let freed = plan
        .freed
        .iter()
        .map(|step| (step, word("current again", "superseded")));
    for (learning, change) in rejected.chain(freed) {
        let text = store.learning(&learning.id)?.map(|learning| learning.content);
        steps.push(step(learning.id.as_str(), change, &text.unwrap_or_default()));
    }
    for id in &plan.proposals {
        let proposal = store.proposal(id)?;
        let text = proposal.map(|proposal| format!("{} {}", proposal.change, proposal.target));
        steps.push(step(id, word("rejected", "open"), &text.unwrap_or_default()));
    }
    let tasks = plan.tasks.iter();
    steps.extend(tasks.map(|task| step(task.id.as_str(), word("deleted", "proposed"), &task.title)));
    Ok(steps)
}

/// The text of an entry; for a knowledge entry, the text below its frontmatter.
fn body(entry: &LoggedEntry) -> String {
    match entry {
        LoggedEntry::Absent => String::new(),
        LoggedEntry::Note(note) => note.content.clone(),
        LoggedEntry::Scratchpad(text) => text.clone(),
        LoggedEntry::Knowledge(text) => {
            Knowledge::parse(text.as_bytes()).map_or_else(|_| text.clone(), |entry| entry.body)
        }
    }
}

/// The steps of a plan, and the entries that are kept.
pub(super) type Shown<'s> = (&'s [Step], &'s [Kept]);

fn lines(steps: &[Step]) -> String {
    let line = |Step { id, change, text }: &Step| format!("{id}: {change}: {text}\n");
    steps.iter().map(line).collect()
}

fn warn_kept(context: &Context<'_>, kept: &[Kept]) {
    for Kept { id, reason } in kept {
        context.ui.warning(&format!("Kept {id}: {reason}."));
    }
}

/// Shows what would happen and asks for confirmation.
pub(super) fn confirm(
    context: &Context<'_>,
    options: &Options,
    (steps, kept): Shown<'_>,
    question: &str,
) -> Result<(), CommandError> {
    if options.yes {
        return Ok(());
    }
    for line in lines(steps).lines() {
        context.ui.status(line);
    }
    warn_kept(context, kept);
    match context.ui.confirm(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::new("canceled; nothing was changed")),
        None => Err(
            CommandError::new("nothing was changed: cannot ask for confirmation without a terminal")
                .hint("pass --yes to skip the question, or --dry-run to see what would happen"),
        ),
    }
}

/// Reports what was done or would be done.
pub(super) fn report(
    context: &Context<'_>,
    options: &Options,
    (done, direction): (Option<&Rollback>, Direction),
    (steps, kept): Shown<'_>,
) -> Result<(), CommandError> {
    let is_undo = direction == Direction::Reapply;
    if options.json {
        let entries: Vec<Value> = steps
            .iter()
            .map(|Step { id, change, text }| json!({ "id": id, "change": change, "text": text }))
            .collect();
        return context.ui.json(&json!({
            "rollback": done.map(|rollback| &rollback.id),
            "dry_run": options.dry_run,
            "undone": is_undo && !options.dry_run,
            "entries": entries,
            "kept": kept,
        }));
    }
    warn_kept(context, kept);
    context.ui.data(&lines(steps))?;
    match done {
        _ if options.dry_run => Ok(()),
        None => context.ui.data("Nothing to roll back.\n"),
        Some(rollback) if is_undo => context.ui.result("📝", &format!("Rollback undone: {}", rollback.id)),
        Some(rollback) => {
            context
                .ui
                .status(&format!("Run `{}` to undo this.", undoing_command(rollback)));
            let tasks: BTreeSet<&TaskId> = rollback.plan.commits.iter().map(|step| &step.task).collect();
            let (sign, what) = match tasks.len() {
                0 => ("🗑️ ", format!("Rolled back {}", count(steps.len(), "entry", "entries"))),
                tasks => ("⏪", format!("Undid {}", count(tasks, "task", "tasks"))),
            };
            context.ui.result(sign, &format!("{what}: {}", rollback.id))
        }
    }
}
