//! How an attempt failed: the agent's report completed by ralph, or ralph's own report.

use std::path::{Component, Path};

use ralph_memory::capture::{MAX_REASON, category_of, clean, named_files, signature};
use ralph_model::{ErrorCategory, FailedGate, FailureReport, ReportOrigin, Signature, StopReason};

use crate::gates::{GateEnd, GateResult};
use crate::state::PendingSettlement;

/// How many files ralph's own report names.
const MAX_FILES: usize = 10;

/// How an attempt failed, for the settlement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed {
    /// `None` if the attempt did not fail and the agent reported no failure.
    pub(crate) report: Option<FailureReport>,
    /// Identifies the same failure in other attempts.
    pub(crate) signature: Option<Signature>,
    /// The category, if known.
    pub(crate) category: Option<ErrorCategory>,
}

impl Failed {
    /// How the attempt of a pending settlement failed. An agent's report on an attempt that did not fail is kept
    /// unchanged.
    pub(crate) fn of(draft: &PendingSettlement, root: &Path) -> Self {
        let reported = draft.turn.captured.failure.clone();
        if draft.decision.outcome.is_failure() != Some(true) {
            return Self {
                category: reported.as_ref().map(|report| report.category),
                report: reported,
                signature: None,
            };
        }
        let gate = draft.refusing_gate();
        let report = match reported {
            Some(report) => completed(report, draft, gate),
            None => minimal(draft, gate, root),
        };
        let is_known = report.origin == ReportOrigin::Agent || report.category != ErrorCategory::Unknown;
        Self {
            signature: Some(signature(&report, root)),
            category: is_known.then_some(report.category),
            report: Some(report),
        }
    }
}

/// Completes the agent's report with what it could not know, since gates run later. The error is what refused the work,
/// not what the agent met and may have fixed.
fn completed(report: FailureReport, draft: &PendingSettlement, gate: Option<&GateResult>) -> FailureReport {
    let category = match report.category {
        ErrorCategory::Unknown => category(draft.decision.stop, gate),
        known => known,
    };
    FailureReport {
        category,
        error_output: output_of(gate).or(report.error_output),
        gate: gate.map(failed_gate),
        ..report
    }
}

fn minimal(draft: &PendingSettlement, gate: Option<&GateResult>, root: &Path) -> FailureReport {
    let failure_text = gate.map_or(draft.decision.reason.as_str(), |gate| gate.why.as_str());
    FailureReport {
        what_tried: draft.turn.last_words.clone(),
        why_failed: why_failed(&draft.decision.reason, gate),
        category: category(draft.decision.stop, gate),
        relevant_files: relevant_files(failure_text, &draft.files, root),
        error_output: output_of(gate),
        origin: ReportOrigin::Ralph,
        gate: gate.map(failed_gate),
    }
}

/// The reason without the gate's output, which is shown separately; any added sentences stay.
fn why_failed(reason: &str, gate: Option<&GateResult>) -> String {
    let shortened = gate.map(|gate| reason.replacen(&gate.failure(), &gate.failure_sentence(), 1));
    clean(shortened.as_deref().unwrap_or(reason), MAX_REASON)
}

fn category(stop: StopReason, gate: Option<&GateResult>) -> ErrorCategory {
    match (stop, gate) {
        (StopReason::Timeout | StopReason::Idle, _) => ErrorCategory::Timeout,
        (_, Some(gate)) if gate.end == GateEnd::TimedOut => ErrorCategory::Timeout,
        (_, Some(gate)) => category_of(&gate.why),
        (_, None) => ErrorCategory::Unknown,
    }
}

fn output_of(gate: Option<&GateResult>) -> Option<String> {
    gate.map(|gate| gate.why.clone()).filter(|why| !why.is_empty())
}

fn failed_gate(gate: &GateResult) -> FailedGate {
    FailedGate {
        command: clean(&gate.command, MAX_REASON),
        end: gate.end_in_words().to_owned(),
    }
}

/// The project files named in the failure lines, otherwise the changed files, as a place for a reader to start.
fn relevant_files(failure_text: &str, changed: &[String], root: &Path) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for name in named_files(failure_text, root) {
        let Some(file) = project_file(name, changed, root) else {
            continue;
        };
        if files.len() < MAX_FILES && !files.contains(&file) {
            files.push(file);
        }
    }
    if files.is_empty() {
        files = changed.iter().take(MAX_FILES).cloned().collect();
    }
    files
}

/// The path of a file relative to the project; `None` if it is outside. A gate may name files from a subfolder, which
/// match changed files.
fn project_file(name: &str, changed: &[String], root: &Path) -> Option<String> {
    let path = Path::new(name);
    let relative = path.strip_prefix(root).unwrap_or(path);
    let stays = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if stays && root.join(relative).is_file() {
        return Some(relative.to_string_lossy().into_owned());
    }
    let ending = format!("/{name}");
    changed.iter().find(|file| stays && file.ends_with(&ending)).cloned()
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
