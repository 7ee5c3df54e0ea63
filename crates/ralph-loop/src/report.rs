//! How an attempt failed: what the agent reports of it, completed by what ralph saw, or else what ralph saw alone.

use std::path::{Component, Path};

use ralph_memory::capture::{MOST_REASON, category_of, clean, named_files, signature};
use ralph_model::{ErrorCategory, FailedGate, FailureReport, ReportOrigin, SAID_NOTHING, Signature, StopReason};

use crate::gates::{GateEnd, GateResult};
use crate::state::Draft;

/// The most files that ralph names by itself.
const MOST_FILES: usize = 10;

/// How an attempt failed, for its settlement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed {
    /// The report; none of an attempt that did not fail, and of which the agent says nothing of the kind.
    pub(crate) report: Option<FailureReport>,
    /// What makes it the same failure as another one.
    pub(crate) signature: Option<Signature>,
    /// Its category, as far as somebody can tell.
    pub(crate) category: Option<ErrorCategory>,
}

impl Failed {
    /// How the attempt of a draft failed. What an agent reports of one that did not fail is kept as it is.
    pub(crate) fn of(draft: &Draft, root: &Path) -> Self {
        let said = draft.turn.captured.failure.clone();
        if draft.ruling.outcome.is_failure() != Some(true) {
            return Self {
                category: said.as_ref().map(|said| said.category),
                report: said,
                signature: None,
            };
        }
        let gate = draft.refusing_gate();
        let report = match said {
            Some(said) => completed(said, draft, gate),
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

/// What an agent reports, with what it could not know: the gates speak after it. What refused the work is the error, not
/// what the agent met on its way and may have mended.
fn completed(said: FailureReport, draft: &Draft, gate: Option<&GateResult>) -> FailureReport {
    let category = match said.category {
        ErrorCategory::Unknown => category(draft.ruling.stop, gate),
        known => known,
    };
    FailureReport {
        category,
        error_output: output_of(gate).or(said.error_output),
        gate: gate.map(failed_gate),
        ..said
    }
}

/// What ralph saw.
fn minimal(draft: &Draft, gate: Option<&GateResult>, root: &Path) -> FailureReport {
    let telling = gate.map_or(draft.ruling.reason.as_str(), |gate| gate.why.as_str());
    FailureReport {
        what_tried: what_tried(draft),
        why_failed: why_failed(&draft.ruling.reason, gate),
        category: category(draft.ruling.stop, gate),
        relevant_files: relevant_files(telling, &draft.files, root),
        error_output: output_of(gate),
        origin: ReportOrigin::Ralph,
        gate: gate.map(failed_gate),
    }
}

/// What the agent said last; of one that said nothing, what it changed.
fn what_tried(draft: &Draft) -> String {
    let said = draft.turn.last_words.as_str();
    if !said.is_empty() {
        return said.to_owned();
    }
    let named: Vec<&str> = draft.files.iter().take(MOST_FILES).map(String::as_str).collect();
    let more = match draft.files.len().saturating_sub(MOST_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let told = if named.is_empty() {
        format!("{SAID_NOTHING}, and changed no file.")
    } else {
        format!("{SAID_NOTHING}. It changed {}{more}.", named.join(", "))
    };
    clean(&told, MOST_REASON)
}

/// The reason without the lines of the gate, which stand by themselves; what was added behind them stays.
fn why_failed(reason: &str, gate: Option<&GateResult>) -> String {
    let lines = gate.map(|gate| gate.why.as_str()).filter(|why| !why.is_empty());
    let around = lines.and_then(|why| reason.split_once(&format!(":\n{why}")));
    match around {
        Some((sentence, more)) => clean(&format!("{sentence}.{more}"), MOST_REASON),
        None => clean(reason, MOST_REASON),
    }
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
        command: clean(&gate.command, MOST_REASON),
        end: gate.end_in_words().to_owned(),
    }
}

/// The files of the project that the telling lines name, else those that the attempt changed: for a reader who looks for a
/// place to begin.
fn relevant_files(telling: &str, changed: &[String], root: &Path) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for name in named_files(telling, root) {
        let Some(file) = project_file(name, changed, root) else {
            continue;
        };
        if files.len() < MOST_FILES && !files.contains(&file) {
            files.push(file);
        }
    }
    if files.is_empty() {
        files = changed.iter().take(MOST_FILES).cloned().collect();
    }
    files
}

/// A file as the project calls it; none for one that is not in it. A gate that works in a folder of the project names
/// files from there: then one that was changed may be meant.
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
