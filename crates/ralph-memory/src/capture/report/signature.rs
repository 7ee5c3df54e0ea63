//! Signatures of failures: a digest of the parts that do not vary between runs.

use std::collections::BTreeSet;
use std::path::Path;

use ralph_model::{FailureReport, ReportOrigin, Signature};
use xxhash_rust::xxh3::xxh3_64;

use super::log_line::is_chatter;
use super::message::{last_component, message_lines};
use super::named_files::{named_files, relative_to_root};
use crate::capture::clean;

/// The signature of a failure: its category, normalised message and files. The message is the program's output without
/// routine log lines, else the reason; its lines form a set, because parallel tests print in any order. The files are
/// those named in the output, else those listed by an agent. Files listed by ralph do not count: they may be everything
/// the attempt changed, and the next attempt may fail the same way after other changes. `root` is the project root.
#[must_use]
pub fn signature(report: &FailureReport, root: &Path) -> Signature {
    let output = report.error_output.as_deref().map(without_chatter);
    let output = output.as_deref().filter(|output| !output.trim().is_empty());
    let message = without_root(&clean(output.unwrap_or(&report.why_failed), usize::MAX), root);
    let lines = message_lines(&message);
    let named = output.map(|output| named_files(output, root)).unwrap_or_default();
    let listed = report.relevant_files.iter().map(String::as_str);
    let files: BTreeSet<String> = match report.origin {
        ReportOrigin::Agent if named.is_empty() => listed.map(|file| as_listed(file, root)).collect(),
        ReportOrigin::Agent | ReportOrigin::Ralph => named.into_iter().map(|file| project_path(file, root)).collect(),
    };
    let parts = std::iter::once(report.category.word().to_owned())
        .chain(lines)
        // No line is empty, so a message line cannot be confused with a file.
        .chain(std::iter::once(String::new()))
        .chain(files);
    let text: Vec<String> = parts.collect();
    Signature::new(xxh3_64(text.join("\n").as_bytes()))
}

/// An output without routine log lines, which vary between runs.
fn without_chatter(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !is_chatter(line)).collect();
    lines.join("\n")
}

/// A message without the project's path, which differs between worktrees.
fn without_root(message: &str, root: &Path) -> String {
    match root.to_str().filter(|_| root.parent().is_some()) {
        Some(root) => message.replace(&format!("{root}/"), "").replace(root, "."),
        None => message.to_owned(),
    }
}

/// A file relative to the project root, or the file name of one elsewhere.
fn project_path(file: &str, root: &Path) -> String {
    match relative_to_root(file, root) {
        Some(below) => below.to_string_lossy().into_owned(),
        None if file.starts_with('/') || file.contains('\\') => last_component(file).to_owned(),
        None => file.to_owned(),
    }
}

/// A file as listed by an agent, without a line number.
fn as_listed(file: &str, root: &Path) -> String {
    project_path(named_files(file, root).first().map_or(file, |name| *name), root)
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
