//! Reads and writes loop histories in another tool's format: `state.json` and a file per iteration. Texts are cleaned
//! like those of agents; unknown keys are ignored.

use std::collections::HashSet;

use ralph_model::{PastEnd, PastError, PastIteration, RunHistory, Signature, TaskType};
use ralph_search::task_type_of;
use serde::{Deserialize, Serialize, Serializer};

use super::clean;

/// The maximum length of a text, an id or a path, in characters.
const MAX_TEXT: usize = 10_000;
const MAX_NAME: usize = 500;

/// Why a text is not a valid loop history.
#[derive(Debug, thiserror::Error)]
pub enum LoopHistoryError {
    #[error("invalid loop history: {0}")]
    Form(#[from] serde_json::Error),
    /// The loop cannot be identified.
    #[error("invalid loop history: loopId is blank")]
    NoId,
    #[error("invalid loop history: the duration of iteration {number} is {duration}")]
    Duration { number: u32, duration: f64 },
}

/// A loop history as files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopFiles {
    /// The text of `state.json`.
    pub state: String,
    /// The iterations, each with its file name in the folder `iterations`.
    pub iterations: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    loop_id: String,
    #[serde(default)]
    objective: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    current_iteration: Option<serde_json::Value>,
    iterations: Vec<Iteration>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Iteration {
    #[serde(default)]
    number: Option<u32>,
    #[serde(default)]
    status: String,
    #[serde(default, serialize_with = "whole_number")]
    duration: Option<f64>,
    #[serde(default)]
    analysis: Option<Analysis>,
    #[serde(default)]
    learnings: Option<Vec<String>>,
    #[serde(default)]
    files_modified: Option<Vec<String>>,
    // The keys below are ours: a run of ralph has several tasks, and its notes are among the learnings too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_title: Option<String>,
}

/// Writes whole numbers as the other tool does: `21`, not `21.0`.
#[expect(clippy::ref_option, reason = "serde hands it over in this way")]
fn whole_number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    /// The largest number up to which all whole numbers are exact.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    match number {
        Some(number) if number.fract() == 0.0 && (0.0..=MAX_EXACT).contains(number) =>
        {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is whole and in range"
            )]
            serializer.serialize_u64(*number as u64)
        }
        number => number.serialize(serializer),
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Analysis {
    #[serde(default)]
    progress_made: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<String>>,
    /// Signatures of the errors, in the same order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_signatures: Option<Vec<Option<String>>>,
}

/// Reads a loop history.
///
/// # Errors
/// If the text is not one.
pub fn read_loop_history(text: &str) -> Result<RunHistory, LoopHistoryError> {
    let state: State = serde_json::from_str(text)?;
    let loop_id = clean(&state.loop_id, MAX_NAME);
    if loop_id.is_empty() {
        return Err(LoopHistoryError::NoId);
    }
    let objective = clean(&state.objective, MAX_TEXT);
    let of_objective = task_type_of(&objective, "");
    let iterations = (1..).zip(state.iterations);
    Ok(RunHistory {
        iterations: iterations
            .map(|(place, iteration)| past_iteration(iteration, place, of_objective))
            .collect::<Result<_, _>>()?,
        loop_id,
        objective,
    })
}

fn past_iteration(iteration: Iteration, place: u32, of_loop: TaskType) -> Result<PastIteration, LoopHistoryError> {
    let number = iteration.number.unwrap_or(place);
    let duration = iteration.duration.unwrap_or_default();
    if !duration.is_finite() || duration < 0.0 {
        return Err(LoopHistoryError::Duration { number, duration });
    }
    let analysis = iteration.analysis.unwrap_or_default();
    let signatures = analysis.error_signatures.unwrap_or_default();
    let signatures = signatures.into_iter().chain(std::iter::repeat(None));
    let texts = |texts: Option<Vec<String>>, most: usize| -> Vec<String> {
        let texts = texts.unwrap_or_default().into_iter();
        texts
            .map(|text| clean(&text, most))
            .filter(|text| !text.is_empty())
            .collect()
    };
    let errors = analysis.errors.unwrap_or_default().into_iter().zip(signatures);
    let notes = iteration.notes.map(|notes| clean(&notes, MAX_TEXT));
    let notes = notes.filter(|notes| !notes.is_empty());
    let mut learned = texts(iteration.learnings, MAX_TEXT);
    if let Some(place) = learned.iter().rposition(|text| Some(text) == notes.as_ref()) {
        learned.remove(place);
    }
    Ok(PastIteration {
        number,
        journal: None,
        task: iteration.task_id.map(|task| clean(&task, MAX_NAME)),
        title: clean(&iteration.task_title.unwrap_or_default(), MAX_TEXT),
        task_type: iteration
            .task_type
            .and_then(|word| TaskType::parse(&word))
            .unwrap_or(of_loop),
        end: match iteration.status.as_str() {
            "completed" => PastEnd::Completed,
            "failed" => PastEnd::Failed,
            _ => PastEnd::Other,
        },
        progress_made: analysis.progress_made.unwrap_or_default(),
        duration_ms: duration,
        learned,
        notes,
        errors: errors
            .map(|(text, signature)| PastError {
                text: clean(&text, MAX_TEXT),
                category: None,
                signature: signature.and_then(|signature| Signature::parse(&signature)),
            })
            .collect(),
        files: texts(iteration.files_modified, MAX_NAME),
    })
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopProgress {
    /// It is running, or was killed unnoticed.
    Running,
    Over,
    /// It finished what it could; something needs attention.
    NeedsAttention,
    /// It ended early: by a limit, a person or an error.
    Stopped,
}

/// Writes a run in this format.
///
/// # Errors
/// If serialisation fails, which is not expected.
pub fn write_loop_history(history: &RunHistory, progress: LoopProgress) -> Result<LoopFiles, LoopHistoryError> {
    let written = |iteration: &Iteration| -> Result<(String, String), LoopHistoryError> {
        let name = format!("iteration-{:03}.json", iteration.number.unwrap_or_default());
        Ok((name, to_pretty_json(iteration)?))
    };
    let state = State {
        loop_id: history.loop_id.clone(),
        objective: history.objective.clone(),
        status: Some(status(history, progress).to_owned()),
        current_iteration: history.iterations.last().map(|last| last.number.into()),
        iterations: history.iterations.iter().map(to_json_iteration).collect(),
    };
    Ok(LoopFiles {
        iterations: state.iterations.iter().map(written).collect::<Result<_, _>>()?,
        state: to_pretty_json(&state)?,
    })
}

fn to_pretty_json(value: &impl Serialize) -> Result<String, LoopHistoryError> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// The status of a run, from the last iteration that says anything about the work or, if it went through all tasks,
/// from the last iteration of each.
fn status(history: &RunHistory, progress: LoopProgress) -> &'static str {
    if progress == LoopProgress::NeedsAttention {
        return if has_failed_task(history) {
            "failed"
        } else {
            "interrupted"
        };
    }
    let mut ends = history.iterations.iter().rev().map(|iteration| iteration.end);
    match (progress, ends.find(|end| *end != PastEnd::Other)) {
        (LoopProgress::Running, _) => "running",
        (LoopProgress::Over, Some(PastEnd::Completed | PastEnd::Unproven)) => "completed",
        (_, Some(PastEnd::Failed)) => "failed",
        _ => "interrupted",
    }
}

/// Whether the last known result of any task is a failure.
fn has_failed_task(history: &RunHistory) -> bool {
    let mut seen = HashSet::new();
    let ended = history
        .iterations
        .iter()
        .rev()
        .filter(|iteration| iteration.end != PastEnd::Other);
    let mut last_of_each = ended.filter(|iteration| seen.insert(iteration.task.as_deref()));
    last_of_each.any(|iteration| iteration.end == PastEnd::Failed)
}

fn to_json_iteration(iteration: &PastIteration) -> Iteration {
    let errors = &iteration.errors;
    let has_signatures = errors.iter().any(|error| error.signature.is_some());
    let signature = |error: &PastError| error.signature.as_ref().map(ToString::to_string);
    Iteration {
        number: Some(iteration.number),
        status: match iteration.end {
            PastEnd::Completed | PastEnd::Unproven => "completed",
            PastEnd::Failed => "failed",
            PastEnd::Other => "interrupted",
        }
        .to_owned(),
        duration: Some(iteration.duration_ms),
        analysis: Some(Analysis {
            progress_made: Some(iteration.progress_made),
            errors: (!errors.is_empty()).then(|| errors.iter().map(|error| error.text.clone()).collect()),
            error_signatures: has_signatures.then(|| errors.iter().map(signature).collect()),
        }),
        learnings: Some(iteration.learned.iter().chain(&iteration.notes).cloned().collect()),
        files_modified: Some(iteration.files.clone()),
        notes: iteration.notes.clone(),
        task_type: Some(iteration.task_type.word().to_owned()),
        task_id: iteration.task.clone(),
        task_title: Some(iteration.title.clone()),
    }
}

#[cfg(test)]
#[path = "loop_history_tests.rs"]
mod tests;
