//! Carries out the answers of a review, after checking that the item has not changed since it was shown.

use ralph_memory::capture::{Draft, SecretPolicy, accept};
use ralph_model::{Extra, Learning, LearningId, LearningStatus, NoteFileKind, NoteKind, Tags};
use ralph_search::text_features;
use ralph_store::{Decision, FailedTask, FinishedTask, Holds, Judged, LearningError, Reach, Store, Verdict};

use super::super::diff;
use super::super::learnings::{NO_REASON, learning_text};
use super::super::rollback::undo_task;
use super::super::task::store_to_write;
use super::conflicts::choose;
use super::inbox::{MissingNote, Proposed, vanished_from};
use super::proposals::{decide_proposal, decide_task};
use super::session::Item;
use super::summary::Action;
use crate::accept_task;
use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::paths::Spelling;
use crate::text_editor::{edited, keep};
use crate::ui::{Answer, Asker, Pressed, TextEnd, shared_terminal};

/// The result of an answer.
pub(super) enum Acted {
    Done(Action),
    /// Of two conflicting learnings, the new one supersedes the old one.
    Chosen {
        old: LearningId,
        new: LearningId,
    },
    /// Nothing was done; ask again.
    NotYet,
    /// Nothing was done, because someone else changed the item; this is its current state.
    Changed(Item),
}

/// Applies a key to an item.
pub(super) fn act(context: &Context<'_>, asker: &mut Asker, item: &Item, key: char) -> Result<Acted, CommandError> {
    match (item, key) {
        (Item::Failed(_), 'n') => Ok(Acted::Done(Action::Left)),
        (Item::Failed(task), 'y') => retry(context, task),
        (Item::Finished(task), 'y') => decide_finished(context, task, Decision::Accepted),
        (Item::Finished(task), 'n') => send_back(context, asker, task),
        (Item::Finished(task), 'u') => undo(context, asker, task),
        (Item::Finished(task), 'd') => show_changes(context, task).map(|()| Acted::NotYet),
        (Item::Conflict(conflict), '1') => choose(context, conflict, Holds::One),
        (Item::Conflict(conflict), '2') => choose(context, conflict, Holds::Other),
        (Item::Conflict(conflict), 'b') => choose(context, conflict, Holds::Both),
        (Item::Learning(learning), 'y') => judge(context, learning, Verdict::Promote),
        (Item::Learning(learning), 'n') => reject(context, asker, learning),
        (Item::Learning(learning), 'e') => reword(context, asker, learning),
        (Item::Task(task), 'y') => decide_task(context, task, Decision::Accepted),
        (Item::Task(task), 'n') => decide_task(context, task, Decision::Rejected),
        (Item::Proposal(proposal), 'y') => decide_proposal(context, proposal, Decision::Accepted),
        (Item::Proposal(proposal), 'n') => decide_proposal(context, proposal, Decision::Rejected),
        (Item::Vanished(missing), 'y' | 'n') => restore_or_delete(context, missing, key),
        _ => Ok(Acted::NotYet),
    }
}

/// Reports that someone else settled the item first.
pub(super) fn settled_elsewhere(context: &Context<'_>, sentence: &str) -> Acted {
    context.ui.status(sentence);
    Acted::Done(Action::SettledElsewhere)
}

fn retry(context: &Context<'_>, task: &FailedTask) -> Result<Acted, CommandError> {
    let mut store = store_to_write(context)?;
    let settled = || {
        settled_elsewhere(
            context,
            &format!("{} is no longer failed: someone else has handled it.", task.id),
        )
    };
    match store.failed_task(&task.id)? {
        None => return Ok(settled()),
        Some(now) if now != *task => return Ok(Acted::Changed(Item::Failed(Box::new(now)))),
        Some(_) => {}
    }
    // Reset only failed tasks: a run may have claimed it by now.
    if store
        .reset_task(&task.id, Reach::FailedBelow, context.clock().now())?
        .is_empty()
    {
        return Ok(settled());
    }
    context.ui.result("🔄", &format!("Task reset: {}", task.id))?;
    Ok(Acted::Done(Action::Reset))
}

pub(super) fn decide_finished(
    context: &Context<'_>,
    task: &FinishedTask,
    decision: Decision,
) -> Result<Acted, CommandError> {
    let mut store = store_to_write(context)?;
    if let Some(acted) = changed_meanwhile(context, &store, task)? {
        return Ok(acted);
    }
    let id = &task.id;
    if decision == Decision::Accepted {
        accept_task::accept(context, &mut store, id)?;
        context.ui.result("✅", &format!("Task accepted: {id}"))?;
        return Ok(Acted::Done(Action::Accepted));
    }
    store.reset_task(id, Reach::Itself, context.clock().now())?;
    context.ui.result("🔄", &format!("Task reset: {id}"))?;
    Ok(Acted::Done(Action::Reset))
}

/// What to do if a finished task changed since it was shown.
fn changed_meanwhile(context: &Context<'_>, store: &Store, task: &FinishedTask) -> Result<Option<Acted>, CommandError> {
    Ok(match store.finished_task(&task.id)? {
        Some(now) if now == *task => None,
        Some(now) => Some(Acted::Changed(Item::Finished(Box::new(now)))),
        None => {
            let sentence = format!("{} no longer needs review: someone else has reviewed it.", task.id);
            Some(settled_elsewhere(context, &sentence))
        }
    })
}

/// Reopens a finished task with a comment that guides the next attempt, and keeps the code.
fn send_back(context: &Context<'_>, asker: &mut Asker, task: &FinishedTask) -> Result<Acted, CommandError> {
    let Answer::Line(comment) = asker.line("What should be different? (Enter: no comment) ") else {
        return Ok(Acted::NotYet);
    };
    if comment.trim().is_empty() {
        return decide_finished(context, task, Decision::Rejected);
    }
    let comment = accept(comment.trim(), SecretPolicy::Refuse)?;
    let mut store = store_to_write(context)?;
    if let Some(acted) = changed_meanwhile(context, &store, task)? {
        return Ok(acted);
    }
    store.send_back(&task.id, &comment, context.clock().now())?;
    context.ui.result("🔄", &format!("Task sent back: {}", task.id))?;
    context.ui.status(&format!("Guardrail for all tasks: {comment}"));
    if asker.ask(&[('y', "add it"), ('n', "only for this task")]) == Pressed::Key('y') {
        add_guardrail(context, &comment)?;
    }
    Ok(Acted::Done(Action::Reset))
}

fn add_guardrail(context: &Context<'_>, text: &str) -> Result<(), CommandError> {
    let note_repository = context.note_repository(NoteFileKind::Guardrails, Spelling::Own);
    let draft = Draft {
        kind: NoteKind::Pattern,
        content: text.to_owned(),
        tags: Tags::default(),
        extra: Extra::default(),
        secrets: SecretPolicy::Refuse,
        at: None,
    };
    let stored = context.with_entropy(|entropy| note_repository.add(&[draft], entropy))?;
    context.report_stored(&note_repository, &stored);
    let ids: Vec<String> = stored.notes.iter().map(|note| note.id.to_string()).collect();
    context
        .ui
        .result("📝", &format!("Guardrail stored: {}", ids.join(", ")))
}

/// Shows what undoing a finished task would do, and does it after confirmation.
fn undo(context: &Context<'_>, asker: &mut Asker, task: &FinishedTask) -> Result<Acted, CommandError> {
    undo_task(context, &task.id, true)?;
    if asker.ask(&[('y', "undo it"), ('n', "leave it")]) != Pressed::Key('y') {
        return Ok(Acted::NotYet);
    }
    if let Some(acted) = changed_meanwhile(context, &store_to_write(context)?, task)? {
        return Ok(acted);
    }
    undo_task(context, &task.id, false)?;
    Ok(Acted::Done(Action::Undone))
}

/// Shows the changes of a finished task in the user's pager, if git has any.
pub(super) fn show_changes(context: &Context<'_>, task: &FinishedTask) -> Result<(), CommandError> {
    let range = context
        .facts()?
        .map(|store| diff::range_of(context, &store, &task.id))
        .transpose()?;
    match range.flatten() {
        Some(range) => shared_terminal::lend(|| diff::show(context, &range)).unwrap_or(Ok(())),
        None => Ok(()),
    }
}

fn judge(context: &Context<'_>, learning: &Proposed, verdict: Verdict<'_>) -> Result<Acted, CommandError> {
    let mut store = store_to_write(context)?;
    let id = &learning.learning.id;
    let judged = match store.judge_as_seen(&learning.learning, verdict, context.clock().now()) {
        Err(LearningError::Unknown { .. }) => {
            return Ok(settled_elsewhere(
                context,
                &format!("{id} no longer exists: someone else has deleted it."),
            ));
        }
        judged => judged?,
    };
    match judged {
        Judged::ChangedMeanwhile(now) => changed(context, &store, now),
        Judged::AsSaid(_) => {
            let (sign, word, action) = match verdict {
                Verdict::Promote | Verdict::Reword(..) => ("✅", "promoted", Action::Promoted),
                Verdict::Reject(_) => ("❌", "rejected", Action::Rejected),
            };
            context.ui.result(sign, &format!("Learning {word}: {id}"))?;
            Ok(Acted::Done(action))
        }
    }
}

/// Handles a learning that someone else changed: ask again if it still needs review.
fn changed(context: &Context<'_>, store: &Store, now: Learning) -> Result<Acted, CommandError> {
    match now.status {
        LearningStatus::Pending | LearningStatus::Validated => {
            let learning = Proposed::with_evidence(store, now)?;
            Ok(Acted::Changed(Item::Learning(Box::new(learning))))
        }
        status => Ok(settled_elsewhere(
            context,
            &format!("{} was {status} by someone else in the meantime.", now.id),
        )),
    }
}

fn reject(context: &Context<'_>, asker: &mut Asker, learning: &Proposed) -> Result<Acted, CommandError> {
    let Answer::Line(reason) = asker.line("Why not? (Enter: no reason) ") else {
        return Ok(Acted::NotYet);
    };
    let reason = match reason.trim() {
        "" => NO_REASON.into(),
        reason => accept(reason, SecretPolicy::Refuse)?,
    };
    judge(context, learning, Verdict::Reject(&reason))
}

fn reword(context: &Context<'_>, asker: &mut Asker, learning: &Proposed) -> Result<Acted, CommandError> {
    let Some(text) = edit_text(context, asker, &learning.learning.content)? else {
        context.ui.status("The text is unchanged; nothing was saved.");
        return Ok(Acted::NotYet);
    };
    if text.trim().is_empty() {
        context
            .ui
            .status("The text is empty, so nothing was saved; press n to reject the learning.");
        return Ok(Acted::NotYet);
    }
    let kept = |error| keep(text.as_bytes(), error);
    let words = learning_text(&text, SecretPolicy::Refuse).map_err(kept)?;
    let features = text_features(&words);
    let acted = judge(context, learning, Verdict::Reword(&words, &features)).map_err(kept)?;
    if !matches!(acted, Acted::Done(Action::Promoted)) {
        let error = CommandError::new(format!("your text for {} was not saved", learning.learning.id));
        context.ui.error(&kept(error));
    }
    Ok(acted)
}

/// Lets the user edit a text in their editor or, without one, type a new text; none if it is unchanged.
fn edit_text(context: &Context<'_>, asker: &mut Asker, before: &str) -> Result<Option<String>, CommandError> {
    if let Some(editor) = env::editor() {
        return shared_terminal::lend(|| edited(&editor, before)).unwrap_or(Ok(None));
    }
    context.ui.status("Type the new text (VISUAL and EDITOR are not set).");
    context.ui.status("Finish with an empty line.");
    context.ui.status("Enter nothing to leave it as it is.");
    let (text, ending) = asker.text();
    let is_said = ending == TextEnd::Complete && !text.trim().is_empty();
    Ok(is_said.then(|| text.trim_end().to_owned()))
}

fn restore_or_delete(context: &Context<'_>, missing: &MissingNote, key: char) -> Result<Acted, CommandError> {
    let MissingNote { kind, note, .. } = missing;
    let store = context.facts()?;
    let mut vanished = vanished_from(context, store.as_ref(), *kind)?.into_iter();
    if !vanished.any(|other| other.note.id == note.id) {
        return Ok(settled_elsewhere(
            context,
            &format!("{} is no longer missing: someone else has handled it.", note.id),
        ));
    }
    let note_repository = context.note_repository(*kind, Spelling::Own);
    let ids = [note.id.to_string()];
    let title = kind.words().title;
    let (stored, sign, done, action) = if key == 'y' {
        (note_repository.restore(&ids)?, "📝", "restored", Action::Restored)
    } else {
        (note_repository.delete(&ids)?, "🗑️ ", "deleted", Action::Deleted)
    };
    if let ralph_memory::capture::History::NotRecorded(error) = &stored.history
        && action == Action::Deleted
    {
        return Err(CommandError::new(format!("cannot record the deletion: {error}")));
    }
    context.report_stored(&note_repository, &stored);
    context.ui.result(sign, &format!("{title} {done}: {}", note.id))?;
    Ok(Acted::Done(action))
}
