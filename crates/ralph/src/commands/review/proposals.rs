//! Proposals of agents: tasks, and commands that would change what a user wrote. The user accepts or rejects each.

use clap::Parser;
use ralph_model::{Actor, Task, TaskStatus};
use ralph_store::{Decision, Proposal, Store, TaskFilter, Which};

use super::super::task::store_to_write;
use super::act::{Acted, decide_finished, settled_elsewhere};
use super::summary::Action;
use crate::cli::{Cli, Global};
use crate::commands;
use crate::context::Context;
use crate::error::CommandError;

pub(super) fn proposed_tasks(store: &Store) -> Result<Vec<Task>, CommandError> {
    Ok(store.tasks(&TaskFilter {
        which: Which::Status(TaskStatus::Proposed),
        ..TaskFilter::default()
    })?)
}

/// Decides about proposals and finished tasks, named by id or id prefix.
pub(super) fn decide(context: &Context<'_>, ids: &[String], decision: Decision) -> Result<(), CommandError> {
    for id in ids {
        let unknown = || {
            CommandError::new(format!("nothing to decide about {id}"))
                .hint("run `ralph review --list` to see what needs review")
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

pub(super) fn decide_task(context: &Context<'_>, task: &Task, decision: Decision) -> Result<Acted, CommandError> {
    let mut store = store_to_write(context)?;
    let id = &task.id;
    let now = store.task(id)?.filter(|now| now.status == TaskStatus::Proposed);
    if now.is_none() {
        return Ok(settled_elsewhere(context, &format!("{id} is no longer proposed.")));
    }
    let at = context.clock().now();
    match decision {
        Decision::Accepted => {
            store.accept_task(id, at)?;
            context.ui.result("✅", &format!("Task accepted: {id}"))?;
            Ok(Acted::Done(Action::ProposalAccepted))
        }
        Decision::Rejected => {
            store.delete_task(id, at)?;
            context.ui.result("❌", &format!("Task rejected: {id}"))?;
            Ok(Acted::Done(Action::ProposalRejected))
        }
    }
}

/// Runs a proposed command as the user, or rejects it.
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
        return Ok(settled_elsewhere(context, &format!("{id} is already decided.")));
    }
    if decision == Decision::Accepted {
        run_proposed(context, proposal)?;
    }
    store_to_write(context)?.decide_proposal(id, decision, context.clock().now())?;
    let (sign, word, action) = match decision {
        Decision::Accepted => ("✅", "accepted", Action::ProposalAccepted),
        Decision::Rejected => ("❌", "rejected", Action::ProposalRejected),
    };
    context.ui.result(sign, &format!("Proposal {word}: {id}"))?;
    Ok(Acted::Done(action))
}

fn run_proposed(context: &Context<'_>, proposal: &Proposal) -> Result<(), CommandError> {
    let mut arguments = proposal.command.arguments.clone();
    // Accepting the proposal is the confirmation that this command needs.
    if proposal.change == "learnings delete" && !arguments.iter().any(|argument| argument == "--yes") {
        arguments.push("--yes".to_owned());
    }
    let whole = std::iter::once("ralph".to_owned()).chain(arguments.iter().cloned());
    let cli = Cli::try_parse_from(whole)
        .map_err(|error| CommandError::new(format!("cannot parse the proposed command: {error}")))?;
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
