//! When two attempts failed the same way: a digest of what does not differ from time to time.

use std::collections::BTreeSet;
use std::path::Path;

use ralph_model::{FailureReport, ReportOrigin, Signature};
use xxhash_rust::xxh3::xxh3_64;

use super::log_line::is_chatter;
use super::message::{last_of, message_lines};
use super::named_files::{below_root, named_files};
use crate::capture::clean;

/// What makes a failure the same as another one: its category, its message, its files. The message is what a program
/// printed, where there is anything but the routine of a log, else the reason, without what differs from time to time; its
/// lines are compared as a set, since tests that run at the same time print in any order. The files are those that the program names, else those
/// that an agent lists: what ralph lists by itself may be all that the attempt changed, and the next one fails in the same
/// way after it changed something else. The project is the folder `root`.
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
        ReportOrigin::Agent | ReportOrigin::Ralph => named.into_iter().map(|file| known_as(file, root)).collect(),
    };
    let parts = std::iter::once(report.category.word().to_owned())
        .chain(lines)
        // No line is empty, so nothing of a message can be taken for a file.
        .chain(std::iter::once(String::new()))
        .chain(files);
    let text: Vec<String> = parts.collect();
    Signature::new(xxh3_64(text.join("\n").as_bytes()))
}

/// An output without what a log tells of its routine, which is other each time.
fn without_chatter(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !is_chatter(line)).collect();
    lines.join("\n")
}

/// A message as it would be wherever the project lies: it is moved, and has worktrees.
fn without_root(message: &str, root: &Path) -> String {
    match root.to_str().filter(|_| root.parent().is_some()) {
        Some(root) => message.replace(&format!("{root}/"), "").replace(root, "."),
        None => message.to_owned(),
    }
}

/// A file as the project calls it; the name of one that lies elsewhere.
fn known_as(file: &str, root: &Path) -> String {
    match below_root(file, root) {
        Some(below) => below.to_string_lossy().into_owned(),
        None if file.starts_with('/') || file.contains('\\') => last_of(file).to_owned(),
        None => file.to_owned(),
    }
}

/// A file as an agent lists it, without the line that may stand behind it.
fn as_listed(file: &str, root: &Path) -> String {
    known_as(named_files(file, root).first().map_or(file, |name| *name), root)
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
