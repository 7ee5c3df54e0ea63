//! What an answer does. Before it is done, it is looked whether what was shown still stands so.

use ralph_memory::capture::{Draft, SecretPolicy, accept};
use ralph_model::{Extra, Learning, LearningId, LearningStatus, NoteKind, Shelf, Tags, with_figures};
use ralph_store::{Decision, FailedTask, FinishedTask, Holds, Judged, LearningError, Reach, Store, Verdict};

use super::super::diff;
use super::super::learnings::{NO_REASON, learning_text};
use super::super::rollback::undo_task;
use super::super::task::store_to_write;
use super::conflicts::choose;
use super::inbox::{GoneNote, Proposed, vanished_from};
use super::proposals::{decide_proposal, decide_task};
use super::session::Item;
use super::tally::Deed;
use crate::by_hand::{edited, keep};
use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::paths::Spelling;
use crate::ui::{Asker, Ending, Heard, Pressed, stage};
use crate::waiting_work;

/// What came of an answer.
pub(super) enum Acted {
    /// It is done.
    Done(Deed),
    /// Of two lessons that contradict each other the new one has taken the place of the old one.
    Chosen { old: LearningId, new: LearningId },
    /// Nothing was done, and the question stands.
    NotYet,
    /// Nothing was done, because somebody else has changed it; it stands so now.
    Changed(Item),
}

/// Does what a key says about an item.
pub(super) fn act(context: &Context<'_>, asker: &mut Asker, item: &Item, key: char) -> Result<Acted, CommandError> {
    match (item, key) {
        (Item::Failed(_), 'n') => Ok(Acted::Done(Deed::Left)),
        (Item::Failed(task), 'y') => try_again(context, task),
        (Item::Finished(task), 'y') => decide_finished(context, task, Decision::Accepted),
        (Item::Finished(task), 'n') => send_back(context, asker, task),
        (Item::Finished(task), 'u') => undo(context, asker, task),
        (Item::Finished(task), 'd') => show_changes(context, task).map(|()| Acted::NotYet),
        (Item::Conflict(conflict), '1') => choose(context, conflict, Holds::One),
        (Item::Conflict(conflict), '2') => choose(context, conflict, Holds::Other),
        (Item::Conflict(conflict), 'b') => choose(context, conflict, Holds::Both),
        (Item::Lesson(lesson), 'y') => judge(context, lesson, Verdict::Promote),
        (Item::Lesson(lesson), 'n') => reject(context, asker, lesson),
        (Item::Lesson(lesson), 'e') => reword(context, asker, lesson),
        (Item::Task(task), 'y') => decide_task(context, task, Decision::Accepted),
        (Item::Task(task), 'n') => decide_task(context, task, Decision::Rejected),
        (Item::Proposal(proposal), 'y') => decide_proposal(context, proposal, Decision::Accepted),
        (Item::Proposal(proposal), 'n') => decide_proposal(context, proposal, Decision::Rejected),
        (Item::Vanished(gone), 'y' | 'n') => bring_back_or_let_go(context, gone, key),
        _ => Ok(Acted::NotYet),
    }
}

/// Says that somebody else was faster.
pub(super) fn overtaken(context: &Context<'_>, sentence: &str) -> Acted {
    context.ui.status(sentence);
    Acted::Done(Deed::Overtaken)
}

fn try_again(context: &Context<'_>, task: &FailedTask) -> Result<Acted, CommandError> {
    let mut store = store_to_write(context)?;
    let gone = || {
        overtaken(
            context,
            &format!("{} has not failed any more: somebody else has seen to it.", task.id),
        )
    };
    match store.failed_task(&task.id)? {
        None => return Ok(gone()),
        Some(now) if now != *task => return Ok(Acted::Changed(Item::Failed(Box::new(now)))),
        Some(_) => {}
    }
    // Only what has failed: it may be in a run's hands by now.
    if store
        .reset_task(&task.id, Reach::FailedBelow, context.clock().now())?
        .is_empty()
    {
        return Ok(gone());
    }
    context.ui.result("🔄", &format!("Task reset: {}", task.id))?;
    Ok(Acted::Done(Deed::Reset))
}

/// Accepts a finished task, or reopens it.
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
        waiting_work::accept(context, &mut store, id)?;
        context.ui.result("✅", &format!("Task accepted: {id}"))?;
        return Ok(Acted::Done(Deed::Accepted));
    }
    store.reset_task(id, Reach::Itself, context.clock().now())?;
    context.ui.result("🔄", &format!("Task reset: {id}"))?;
    Ok(Acted::Done(Deed::Reset))
}

/// What to do where a finished task is not as it was shown.
fn changed_meanwhile(context: &Context<'_>, store: &Store, task: &FinishedTask) -> Result<Option<Acted>, CommandError> {
    Ok(match store.finished_task(&task.id)? {
        Some(now) if now == *task => None,
        Some(now) => Some(Acted::Changed(Item::Finished(Box::new(now)))),
        None => {
            let sentence = format!(
                "{} does not need review any more: somebody else has reviewed it.",
                task.id
            );
            Some(overtaken(context, &sentence))
        }
    })
}

/// Reopens a finished task with a comment, which guides the next attempt. The code stays.
fn send_back(context: &Context<'_>, asker: &mut Asker, task: &FinishedTask) -> Result<Acted, CommandError> {
    let Heard::Line(comment) = asker.line("What should be different? (Enter: no comment) ") else {
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
    Ok(Acted::Done(Deed::Reset))
}

fn add_guardrail(context: &Context<'_>, text: &str) -> Result<(), CommandError> {
    let notebook = context.notebook(Shelf::Guardrails, Spelling::Own);
    let draft = Draft {
        kind: NoteKind::Pattern,
        content: text.to_owned(),
        tags: Tags::default(),
        extra: Extra::default(),
        secrets: SecretPolicy::Refuse,
        at: None,
    };
    let stored = context.with_entropy(|entropy| notebook.add(&[draft], entropy))?;
    context.report_stored(&notebook, &stored);
    let ids: Vec<String> = stored.notes.iter().map(|note| note.id.to_string()).collect();
    context
        .ui
        .result("📝", &format!("Guardrail stored: {}", ids.join(", ")))
}

/// Shows what undoing a finished task would do, and does it after a question.
fn undo(context: &Context<'_>, asker: &mut Asker, task: &FinishedTask) -> Result<Acted, CommandError> {
    undo_task(context, &task.id, true)?;
    if asker.ask(&[('y', "undo it"), ('n', "leave it")]) != Pressed::Key('y') {
        return Ok(Acted::NotYet);
    }
    if let Some(acted) = changed_meanwhile(context, &store_to_write(context)?, task)? {
        return Ok(acted);
    }
    undo_task(context, &task.id, false)?;
    Ok(Acted::Done(Deed::Undone))
}

/// Shows the changes of a finished task in the user's pager; nothing where git has none.
pub(super) fn show_changes(context: &Context<'_>, task: &FinishedTask) -> Result<(), CommandError> {
    let range = context
        .facts()?
        .map(|store| diff::range_of(context, &store, &task.id))
        .transpose()?;
    match range.flatten() {
        Some(range) => stage::lend(|| diff::show(context, &range)).unwrap_or(Ok(())),
        None => Ok(()),
    }
}

fn judge(context: &Context<'_>, lesson: &Proposed, verdict: Verdict<'_>) -> Result<Acted, CommandError> {
    let mut store = store_to_write(context)?;
    let id = &lesson.learning.id;
    let judged = match store.judge_as_seen(&lesson.learning, verdict, context.clock().now()) {
        Err(LearningError::Unknown { .. }) => {
            return Ok(overtaken(
                context,
                &format!("{id} is not there any more: somebody else has deleted it."),
            ));
        }
        judged => judged?,
    };
    match judged {
        Judged::ChangedMeanwhile(now) => changed(context, &store, now),
        Judged::AsSaid(_) => {
            let (sign, word, deed) = match verdict {
                Verdict::Promote | Verdict::Reword(_) => ("✅", "promoted", Deed::Promoted),
                Verdict::Reject(_) => ("❌", "rejected", Deed::Rejected),
            };
            context.ui.result(sign, &format!("Learning {word}: {id}"))?;
            Ok(Acted::Done(deed))
        }
    }
}

/// A lesson that somebody else has changed: one that still waits is asked about again.
fn changed(context: &Context<'_>, store: &Store, now: Learning) -> Result<Acted, CommandError> {
    match now.status {
        LearningStatus::Pending | LearningStatus::Validated => {
            let lesson = Proposed::with_evidence(store, now)?;
            Ok(Acted::Changed(Item::Lesson(Box::new(lesson))))
        }
        status => Ok(overtaken(
            context,
            &format!("{} was {status} by somebody else meanwhile.", now.id),
        )),
    }
}

fn reject(context: &Context<'_>, asker: &mut Asker, lesson: &Proposed) -> Result<Acted, CommandError> {
    let Heard::Line(reason) = asker.line("Why not? (Enter: no reason) ") else {
        return Ok(Acted::NotYet);
    };
    let reason = match reason.trim() {
        "" => NO_REASON.into(),
        reason => accept(reason, SecretPolicy::Refuse)?,
    };
    judge(context, lesson, Verdict::Reject(&reason))
}

fn reword(context: &Context<'_>, asker: &mut Asker, lesson: &Proposed) -> Result<Acted, CommandError> {
    let Learning { content, facts, .. } = &lesson.learning;
    let Some(text) = other_words(context, asker, &with_figures(content, facts.as_ref()))? else {
        context.ui.status("The text is as it was, and nothing has changed.");
        return Ok(Acted::NotYet);
    };
    if text.trim().is_empty() {
        context
            .ui
            .status("Nothing is left of the text, so nothing has changed; n rejects the lesson.");
        return Ok(Acted::NotYet);
    }
    let kept = |error| keep(text.as_bytes(), error);
    let words = learning_text(&text, SecretPolicy::Refuse).map_err(kept)?;
    let acted = judge(context, lesson, Verdict::Reword(&words)).map_err(kept)?;
    if !matches!(acted, Acted::Done(Deed::Promoted)) {
        let error = CommandError::new(format!("what you wrote of {} was not stored", lesson.learning.id));
        context.ui.error(&kept(error));
    }
    Ok(acted)
}

/// What a person makes of a text, in their editor if they have named one, else in lines that they type; none where they leave
/// it as it is.
fn other_words(context: &Context<'_>, asker: &mut Asker, before: &str) -> Result<Option<String>, CommandError> {
    if let Some(editor) = env::editor() {
        return stage::lend(|| edited(&editor, before)).unwrap_or(Ok(None));
    }
    context
        .ui
        .status("Type the new text (VISUAL and EDITOR name no editor).");
    context.ui.status("Several lines; an empty one ends them.");
    context.ui.status("No line at all leaves it as it is.");
    let (text, ending) = asker.text();
    let is_said = ending == Ending::Said && !text.trim().is_empty();
    Ok(is_said.then(|| text.trim_end().to_owned()))
}

fn bring_back_or_let_go(context: &Context<'_>, gone: &GoneNote, key: char) -> Result<Acted, CommandError> {
    let GoneNote { shelf, note, .. } = gone;
    let store = context.facts()?;
    let mut vanished = vanished_from(context, store.as_ref(), *shelf)?.into_iter();
    if !vanished.any(|other| other.note.id == note.id) {
        return Ok(overtaken(
            context,
            &format!("{} is not gone any more: somebody else has seen to it.", note.id),
        ));
    }
    let notebook = context.notebook(*shelf, Spelling::Own);
    let ids = [note.id.to_string()];
    let title = shelf.words().title;
    let (stored, sign, done, deed) = if key == 'y' {
        (notebook.restore(&ids)?, "📝", "restored", Deed::Restored)
    } else {
        (notebook.delete(&ids)?, "🗑️ ", "deleted", Deed::LetGo)
    };
    if let ralph_memory::capture::History::NotRecorded(error) = &stored.history
        && deed == Deed::LetGo
    {
        return Err(CommandError::new(format!(
            "that it may stay gone could not be written down: {error}"
        )));
    }
    context.report_stored(&notebook, &stored);
    context.ui.result(sign, &format!("{title} {done}: {}", note.id))?;
    Ok(Acted::Done(deed))
}
