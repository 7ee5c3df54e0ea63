//! `### Loop Status` and `### Stuck Loop Warning`, in ralph's own words.

use ralph_model::config::FromAgents;
use ralph_model::{Rate, TaskKind, preview};

use super::attempts::failed_the_same_way;
use super::markdown::one_line;
use super::section::Section;
use super::section_budgets::SectionBudgets;
use super::{IterationInfo, MemoryShare, PromptRequest};

const STATUS: &str = "Loop Status";
const WARNING: &str = "Stuck Loop Warning";
/// Maximum width of a model name and of the rationale.
const MODEL: usize = 60;
const RATIONALE: usize = 240;

/// The status of the run; empty outside of one. Lines that do not fit are omitted. Without memory it has only the
/// iteration and the model: results of earlier iterations are memory.
pub(super) fn section(request: &PromptRequest<'_>, room: &mut SectionBudgets) -> Section {
    let mut section = Section {
        heading: STATUS,
        ..Section::default()
    };
    let Some(iteration_info) = &request.iteration_info else {
        return section;
    };
    let mut budget = room.for_section(request.config.context.status);
    let heading = format!("### {STATUS}\n\n");
    if !budget.take(heading.chars().count()) {
        return section;
    }
    let (model, model_alone) = model(iteration_info);
    let lines = match request.share {
        MemoryShare::None => vec![
            [iteration(iteration_info), String::new()],
            [attempt_alone(request), String::new()],
            [model_alone, String::new()],
        ],
        MemoryShare::Whole | MemoryShare::Half => vec![
            [iteration(iteration_info), String::new()],
            [attempt(request), String::new()],
            [rate(request.track_record.recent), String::new()],
            [model, model_alone],
        ],
    };
    let mut text = heading.clone();
    // The first variant of each line that fits.
    for forms in lines {
        let fitting = forms.iter().find(|form| budget.take(form.chars().count()));
        text.push_str(fitting.map(String::as_str).unwrap_or_default());
    }
    if text != heading {
        room.spend(&text);
        section.text = text;
    }
    section
}

fn iteration(iteration_info: &IterationInfo<'_>) -> String {
    let of = iteration_info.of.map(|of| format!(" of {of}")).unwrap_or_default();
    format!("- **Iteration**: {}{of}\n", iteration_info.iteration)
}

fn attempt(request: &PromptRequest<'_>) -> String {
    let failures = match request.track_record.consecutive_failures {
        0 => "no previous failures".to_owned(),
        1 => "1 previous failure".to_owned(),
        failures => format!("{failures} consecutive failures"),
    };
    match request.task.kind {
        TaskKind::Once => format!("- **Attempt at this task**: {}, {failures}\n", request.attempt),
        // Its attempts are unlimited.
        TaskKind::PromptLoop => format!("- **This assignment**: {failures}\n"),
    }
}

/// Without the results of earlier attempts.
fn attempt_alone(request: &PromptRequest<'_>) -> String {
    match request.task.kind {
        TaskKind::Once => format!("- **Attempt at this task**: {}\n", request.attempt),
        TaskKind::PromptLoop => String::new(),
    }
}

fn rate(recent: Rate) -> String {
    let Rate { done, of } = recent;
    match (of, recent.share()) {
        (0, _) => "- **Success rate**: no iterations yet\n".to_owned(),
        (_, Some(_)) => format!("- **Success rate**: {done}/{of} of the last iterations\n"),
        (_, None) => format!("- **Success rate**: {done}/{of}, too few to tell\n"),
    }
}

/// The model with and without the rationale.
fn model(iteration_info: &IterationInfo<'_>) -> (String, String) {
    let name = preview(&one_line(iteration_info.model.unwrap_or_default()), MODEL);
    let name = if name.is_empty() { "agent's default" } else { &name };
    let alone = format!("- **Model**: {name}\n");
    match preview(&one_line(iteration_info.rationale), RATIONALE) {
        rationale if rationale.is_empty() => (alone.clone(), alone),
        rationale => (format!("- **Model**: {name} ({rationale})\n"), alone),
    }
}

/// The warning for a task that failed too often in a row. It ignores the budget.
pub(super) fn stuck(request: &PromptRequest<'_>) -> Section {
    let mut section = Section {
        heading: WARNING,
        ..Section::default()
    };
    let failures = request.track_record.consecutive_failures;
    let stuck_after = request.config.strategy.stuck_after;
    if !stuck_after.is_some_and(|after| after > 0 && failures >= after) {
        return section;
    }
    let times = match failures {
        1 => "once".to_owned(),
        failures => format!("{failures} times in a row"),
    };
    let same = failed_the_same_way(request.attempts, request.earlier_attempts).map(|same| format!(" {same}"));
    let (what, advice) = match request.task.kind {
        TaskKind::Once => {
            let split = format!("`ralph task add \"TITLE\" --parent {}`", request.task.id);
            let how = match request.config.tasks.from_agents {
                FromAgents::Propose => format!(
                    "- Or propose to split it: {split} proposes a self-contained subtask. Propose all of them, do none, and end with task-failed; a person accepts them."
                ),
                FromAgents::Accept => format!(
                    "- Or split it: {split} adds a self-contained subtask. Add all of them, do none, and end with task-failed; each gets its own session."
                ),
            };
            let advice = format!(
                "{how}
- Or, if a person must decide or help, end with task-failed and name the obstacle in the failure-report."
            );
            ("task", advice)
        }
        TaskKind::PromptLoop => {
            let advice = "- Or do a smaller step, and record the obstacle with `ralph scratchpad append \"TEXT\"`.";
            ("assignment", advice.to_owned())
        }
    };
    section.text = format!(
        "### {WARNING}

This {what} has failed {times}.{} Stop repeating what was tried:

- First find an assumption that all attempts shared; it may be wrong. Then try another approach.
{advice}
",
        same.unwrap_or_default(),
    );
    section
}
