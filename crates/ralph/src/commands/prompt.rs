//! `ralph prompt`: the prompt that an agent would get for a task now.

use clap::Args;
use ralph_memory::inject::prompt::{AttemptNumber, MemoryShare, Prompt, PromptRequest, RELATED_ROWS, about, compose};
use ralph_memory::recall::related_rows;
use ralph_model::{JournalRow, Outcome, Shelf, Task, TaskStatus, Tokens};
use ralph_store::{Store, TaskError};

use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// Write the prompt that an agent would get for a task now
///
/// The prompt goes to standard output, how much room each of its sections takes to standard error. Nothing is run: which
/// gates are red before a run begins is only known to that run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph prompt t-1a2b3c
  ralph prompt 1a2 > prompt.md            # the beginning of an id is enough")]
pub(crate) struct PromptArgs {
    /// The task's id, or the beginning of it
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
    let prompt = prompt_for(context, &store, &task)?;
    for part in &prompt.parts {
        context
            .ui
            .status(&format!("{:<18}{:>6} tokens", part.heading, part.tokens));
    }
    let all = Tokens::of_characters(prompt.text.chars().count());
    context.ui.status(&format!(
        "{:<18}{all:>6} tokens, {} of them the same in every prompt",
        "All together", prompt.fixed
    ));
    context.ui.text(&prompt.text)
}

fn prompt_for(context: &Context<'_>, store: &Store, task: &Task) -> Result<Prompt, CommandError> {
    let config = &context.config;
    let parent = match &task.parent {
        Some(parent) => store.task(parent)?,
        None => None,
    };
    let mut prerequisites = Vec::new();
    for before in &task.after {
        prerequisites.extend(store.task(before)?.filter(|task| task.status == TaskStatus::Done));
    }
    let past = store.journal_of_task(&task.id)?;
    let related = related_rows(store, &about(task), None, RELATED_ROWS)?;
    let scratchpad = context.scratchpad().read()?;
    let request = PromptRequest {
        task,
        parent: parent.as_ref(),
        prerequisites: &prerequisites,
        attempt: AttemptNumber {
            number: task.retries_used.saturating_add(1),
            of: config.execution.max_retries.saturating_add(1),
        },
        last_reason: last_reason(task, &past),
        red_gates: &[],
        gates: &config.verify.commands,
        guidance: &[],
        scratchpad: &scratchpad,
        recent: &[],
        related: &related,
        config,
        today: context.today(),
        share: MemoryShare::Whole,
    };
    // A shelf that is switched off is no matter of the prompt, also when its file cannot be read.
    let notebooks: Vec<_> = [
        (Shelf::Memories, config.memories.enabled),
        (Shelf::Guardrails, config.guardrails.enabled),
    ]
    .into_iter()
    .filter(|(_, enabled)| *enabled)
    .map(|(shelf, _)| context.notebook(shelf, Spelling::Own))
    .collect();
    context.ask_all(&notebooks, |catalogue| compose(catalogue, &request))
}

/// Why the last attempt that counted did not count as done.
fn last_reason<'a>(task: &Task, past: &'a [JournalRow]) -> Option<&'a str> {
    let counted = past.iter().rev().find(|row| row.row.outcome.is_failure().is_some())?;
    let failed = task.retries_used > 0 && counted.row.outcome != Outcome::Done;
    (failed && !counted.row.reason.is_empty()).then_some(counted.row.reason.as_str())
}
