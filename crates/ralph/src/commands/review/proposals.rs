//! What agents propose: tasks, and commands that would change what a person wrote. A person accepts or rejects each.

use clap::Parser;
use ralph_model::{Actor, Task, TaskStatus};
use ralph_store::{Decision, Proposal, Store, TaskFilter, Which};

use super::super::task::store_to_write;
use super::act::{Acted, decide_finished, overtaken};
use super::tally::Deed;
use crate::cli::{Cli, Global};
use crate::commands;
use crate::context::Context;
use crate::error::CommandError;

/// The tasks that agents propose.
pub(super) fn proposed_tasks(store: &Store) -> Result<Vec<Task>, CommandError> {
    Ok(store.tasks(&TaskFilter {
        which: Which::Status(TaskStatus::Proposed),
        ..TaskFilter::default()
    })?)
}

/// Decides about proposals and finished tasks, which are named by their ids or the beginnings of these.
pub(super) fn decide(context: &Context<'_>, ids: &[String], decision: Decision) -> Result<(), CommandError> {
    for id in ids {
        let unknown = || {
            CommandError::new(format!("there is nothing to decide about {id}"))
                .hint("`ralph review --list` shows what there is")
        };
        let store = context.facts()?.ok_or_else(unknown)?;
        if let Some(proposal) = store.find_proposal(id)? {
            drop(store);
            decide_proposal(context, &proposal, decision)?;
            continue;
        }
        let task = store
            .find_task(id)
            .ok()
            .map(|id| store.task(&id))
            .transpose()?
            .flatten();
        drop(store);
        let task = task.ok_or_else(unknown)?;
        let finished = context
            .facts()?
            .map(|store| store.finished_task(&task.id))
            .transpose()?;
        match finished.flatten() {
            Some(task) => {
                decide_finished(context, &task, decision)?;
            }
            None if task.status == TaskStatus::Proposed => {
                decide_task(context, &task, decision)?;
            }
            None => return Err(unknown()),
        }
    }
    Ok(())
}

/// Accepts a proposed task, or deletes it.
pub(super) fn decide_task(context: &Context<'_>, task: &Task, decision: Decision) -> Result<Acted, CommandError> {
    let mut store = store_to_write(context)?;
    let id = &task.id;
    let now = store.task(id)?.filter(|now| now.status == TaskStatus::Proposed);
    if now.is_none() {
        return Ok(overtaken(context, &format!("{id} is not proposed any more.")));
    }
    let at = context.clock().now();
    match decision {
        Decision::Accepted => {
            store.accept_task(id, at)?;
            context.ui.result("✅", &format!("Task accepted: {id}"))?;
            Ok(Acted::Done(Deed::ProposalAccepted))
        }
        Decision::Rejected => {
            store.delete_task(id, at)?;
            context.ui.result("❌", &format!("Task rejected: {id}"))?;
            Ok(Acted::Done(Deed::Refused))
        }
    }
}

/// Carries out a proposed command as the person, or leaves it.
pub(super) fn decide_proposal(
    context: &Context<'_>,
    proposal: &Proposal,
    decision: Decision,
) -> Result<Acted, CommandError> {
    let id = &proposal.id;
    let is_open = context
        .facts()?
        .map(|store| store.find_proposal(id.as_str()))
        .transpose()?;
    if is_open.flatten().is_none() {
        return Ok(overtaken(context, &format!("{id} is decided already.")));
    }
    if decision == Decision::Accepted {
        carry_out(context, proposal)?;
    }
    store_to_write(context)?.decide_proposal(id, decision, context.clock().now())?;
    let (sign, word, deed) = match decision {
        Decision::Accepted => ("✅", "accepted", Deed::ProposalAccepted),
        Decision::Rejected => ("❌", "rejected", Deed::Refused),
    };
    context.ui.result(sign, &format!("Proposal {word}: {id}"))?;
    Ok(Acted::Done(deed))
}

fn carry_out(context: &Context<'_>, proposal: &Proposal) -> Result<(), CommandError> {
    let mut arguments = proposal.command.arguments.clone();
    // Accepting it is the confirmation that this command asks for.
    if proposal.change == "learnings delete" && !arguments.iter().any(|argument| argument == "--yes") {
        arguments.push("--yes".to_owned());
    }
    let whole = std::iter::once("ralph".to_owned()).chain(arguments.iter().cloned());
    let cli = Cli::try_parse_from(whole)
        .map_err(|error| CommandError::new(format!("the proposed command cannot be read: {error}")))?;
    let global = Global {
        root: Some(context.project.root.clone()),
        color: None,
        text_after_dashes: arguments.iter().any(|argument| argument == "--"),
        actor: Actor::Person,
        arguments,
        input: proposal.command.input.clone(),
    };
    commands::run(context.ui, &global, cli.command).map(drop)
}

/// The command as a person would type it.
pub(super) fn command_line(proposal: &Proposal) -> String {
    let words = proposal.command.arguments.iter().map(|word| {
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./,:=@".contains(character);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    });
    let words: Vec<String> = std::iter::once("ralph".to_owned()).chain(words).collect();
    words.join(" ")
}
