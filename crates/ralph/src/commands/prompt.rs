//! `ralph prompt`: prints the prompt that an agent would get for a task now.

use clap::Args;
use ralph_loop::strategy::{Chosen, Rule, choose_first};
use ralph_memory::inject::prompt::{IterationInfo, Materials, MemoryShare, Prompt, PromptContext, compose};
use ralph_model::config::Config;
use ralph_model::{NoteFileKind, Task, TaskStatus, Tokens};
use ralph_search::Sources;
use ralph_store::{Store, TaskError};

use super::run::models_of_agent;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

const FIRST: u32 = 1;

/// Print the prompt that an agent would get for a task
///
/// The prompt goes to standard output, the size of each section to standard error. It is the prompt of a run that
/// starts with the task now. Gates are not run, so the prompt does not mention gates that already fail.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph prompt t-1a2b3c
  ralph prompt 1a2 > prompt.md            # an id prefix is enough")]
pub(crate) struct PromptArgs {
    /// Id or id prefix of the task
    #[arg(value_name = "TASK")]
    task: String,
}

pub(crate) fn cmd_prompt(context: &Context<'_>, args: &PromptArgs) -> Result<(), CommandError> {
    let store = context.facts()?;
    let unknown = || TaskError::Unknown {
        text: args.task.clone(),
    };
    let Some(store) = store else {
        return Err(unknown().into());
    };
    let task = store.task(&store.find_task(&args.task)?)?.ok_or_else(unknown)?;
    if let Some(ended) = ended(&task) {
        context.ui.warning(&ended);
    }
    let mut config = context.configured.clone();
    config.agent.models = models_of_agent(context, &config);
    let chosen = choose_first(Rule::of(&config, None), Some(&store), Some(&task))?;
    let prompt = prompt_for(context, Some(&store), &task, (&config, &chosen))?;
    let longest = prompt.parts.iter().map(|part| part.heading.len()).max();
    let width = longest.unwrap_or_default().max(17) + 1;
    for part in &prompt.parts {
        context
            .ui
            .status(&format!("{:<width$}{:>6} tokens", part.heading, part.tokens));
    }
    let all = Tokens::of_characters(prompt.text.chars().count());
    context.ui.status(&format!(
        "{:<width$}{all:>6} tokens, {} of them identical in every prompt",
        "Total", prompt.fixed
    ));
    context.ui.text(&prompt.text)
}

/// A warning if no agent gets the task.
fn ended(task: &Task) -> Option<String> {
    let id = &task.id;
    let (state, command) = match task.status {
        TaskStatus::Done => ("is done", "task reset"),
        TaskStatus::Failed => ("has failed", "task reset"),
        TaskStatus::Proposed => ("is only proposed", "review --accept"),
        TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Blocked => return None,
    };
    Some(format!(
        "{id} {state}; no agent gets this prompt until you run `ralph {command} {id}`."
    ))
}

/// The prompt for a task in the first iteration of a run that begins now.
pub(crate) fn prompt_for(
    context: &Context<'_>,
    store: Option<&Store>,
    task: &Task,
    (config, chosen): (&Config, &Chosen),
) -> Result<Prompt, CommandError> {
    let scratchpad = context.scratchpad().read()?;
    let now = context.clock().now();
    // Kinds of notes that are switched off are not read, so an unreadable file does not matter.
    let kinds = NoteFileKind::injected(config).into_iter();
    let note_repositories: Vec<_> = kinds.map(|kind| context.note_repository(kind, Spelling::Own)).collect();
    let sources = Sources::KNOWLEDGE.and_facts(store);
    let (prompt, problems) = context.ask_about((&note_repositories, sources), |index| {
        let materials = match store {
            Some(store) => Materials::gather((index, store), task.clone(), None, now)?,
            None => Materials::of_new(task.clone()),
        };
        let feature = materials
            .feature()
            .map(|feature| context.features().read(&feature.name));
        let request = materials.request(&PromptContext {
            iteration_info: Some(IterationInfo {
                iteration: FIRST,
                of: config.limits.iterations,
                model: chosen.model.as_deref(),
                rationale: &chosen.rationale,
            }),
            feature: feature.as_ref(),
            red_gates: &[],
            broken_gates: &[],
            in_checkout: false,
            scratchpad: &scratchpad,
            config,
            today: context.today(),
            share: MemoryShare::Whole,
        });
        let prompt = compose(index, &request)?;
        Ok((prompt, feature.map(|feature| feature.problems).unwrap_or_default()))
    })?;
    for problem in &problems {
        context.ui.warning(problem);
    }
    Ok(prompt)
}
