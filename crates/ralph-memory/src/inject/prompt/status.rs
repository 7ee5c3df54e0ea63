//! `### Loop Status` and `### Stuck Loop Warning`: how the run goes. Both are ralph's own words.

use ralph_model::config::FromAgents;
use ralph_model::{Rate, TaskKind, preview};

use super::attempts::failed_the_same_way;
use super::markdown::one_line;
use super::room::Room;
use super::section::Section;
use super::{MemoryShare, PromptRequest, Round};

const STATUS: &str = "Loop Status";
const WARNING: &str = "Stuck Loop Warning";
/// The most columns of a model's name, and of why it was chosen.
const MODEL: usize = 60;
const RATIONALE: usize = 240;

/// How the run goes; nothing where none is under way. Lines that do not fit are left out. Without memory it says only which
/// iteration it is: what became of earlier ones is memory, and so is why a model was chosen.
pub(super) fn section(request: &PromptRequest<'_>, room: &mut Room) -> Section {
    let mut section = Section {
        heading: STATUS,
        ..Section::default()
    };
    let Some(round) = &request.round else { return section };
    let mut budget = room.for_section(request.config.context.status);
    let heading = format!("### {STATUS}\n\n");
    if !budget.take(heading.chars().count()) {
        return section;
    }
    let (model, model_alone) = model(round);
    let lines = match request.share {
        MemoryShare::None => vec![
            [iteration(round), String::new()],
            [attempt_alone(request), String::new()],
            [model_alone, String::new()],
        ],
        MemoryShare::Whole | MemoryShare::Half => vec![
            [iteration(round), String::new()],
            [attempt(request), String::new()],
            [rate(request.course.recent), String::new()],
            [model, model_alone],
        ],
    };
    let mut text = heading.clone();
    // Of each line the first form that fits.
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

fn iteration(round: &Round<'_>) -> String {
    let of = round.of.map(|of| format!(" of {of}")).unwrap_or_default();
    format!("- **Iteration**: {}{of}\n", round.iteration)
}

fn attempt(request: &PromptRequest<'_>) -> String {
    let failures = match request.course.consecutive_failures {
        0 => "no failure before it".to_owned(),
        1 => "1 failure before it".to_owned(),
        failures => format!("{failures} failures in a row before it"),
    };
    match request.task.kind {
        TaskKind::Once => format!("- **Attempt at this task**: {}, {failures}\n", request.attempt),
        // It has as many attempts as it likes.
        TaskKind::PromptLoop => format!("- **This assignment**: {failures}\n"),
    }
}

/// The same without what became of those before it.
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

/// The model with the reason for it, and without.
fn model(round: &Round<'_>) -> (String, String) {
    let name = preview(&one_line(round.model.unwrap_or_default()), MODEL);
    let name = if name.is_empty() { "the agent's own" } else { &name };
    let alone = format!("- **Model**: {name}\n");
    match preview(&one_line(round.rationale), RATIONALE) {
        rationale if rationale.is_empty() => (alone.clone(), alone),
        rationale => (format!("- **Model**: {name} ({rationale})\n"), alone),
    }
}

/// What is said to an agent whose task has failed too often in a row. It stands whatever room there is.
pub(super) fn stuck(request: &PromptRequest<'_>) -> Section {
    let mut section = Section {
        heading: WARNING,
        ..Section::default()
    };
    let failures = request.course.consecutive_failures;
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
                    "- Or propose how to split it: {split} proposes a subtask that can be done by itself. Propose them all, do none of them, and end with task-failed: a person accepts them."
                ),
                FromAgents::Accept => format!(
                    "- Or split it: {split} adds a subtask that can be done by itself. Add them all, do none of them, and end with task-failed: each gets a session of its own."
                ),
            };
            let advice = format!(
                "{how}
- Or, where a person has to decide or to help, end with task-failed and say in the failure-report what stands in the way."
            );
            ("task", advice)
        }
        TaskKind::PromptLoop => {
            let advice =
                "- Or do a smaller piece, and note with `ralph scratchpad append \"TEXT\"` what stands in the way.";
            ("assignment", advice.to_owned())
        }
    };
    section.text = format!(
        "### {WARNING}

This {what} has failed {times}.{} Stop repeating what was tried:

- Find out first what all attempts took for granted; it may be wrong. Then take another approach.
{advice}
",
        same.unwrap_or_default(),
    );
    section
}
