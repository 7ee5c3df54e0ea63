//! Single-line errors: of programs, the shell and linters, and lines with a typical word.

use std::path::Path;

use super::super::failure_lines::{may_report_failure, names_failed_item, only_counts, reports_failure};
use super::super::log_line::{Level, level_of};
use super::super::normal::normalised;
use super::block::{Block, Rank, Reader, Step, Weight};
use super::indent;

/// The maximum number of indented lines or values after an error.
const MAX_BELOW: usize = 4;
/// Prefixes of lines with the values of the error above.
const VALUES: [&str; 8] = [
    "expected", "actual", "got", "want", "wanted", "received", "left", "right",
];

/// Prefixes of error lines.
const ERRORS: [&str; 15] = [
    "error: ",
    "Error: ",
    "ERROR:",
    "ERROR ",
    "CRITICAL:",
    "CRITICAL ",
    "Critical: ",
    "error ",
    "fatal: ",
    "FATAL: ",
    "FATAL ",
    "panic: ",
    "npm ERR! ",
    "npm error ",
    "FAILED ",
];
/// System error messages, with which most programs' errors end.
const SYSTEM: [&str; 14] = [
    "No such file or directory",
    "Permission denied",
    "command not found",
    ": not found",
    "unbound variable",
    "parameter not set",
    "Is a directory",
    "Not a directory",
    "File exists",
    "No space left on device",
    "Connection refused",
    "Address already in use",
    "Operation not permitted",
    "required file not found",
];
/// Lower-case prefixes of summary lines.
const SUMMARIES: [&str; 14] = [
    "error: test failed, to rerun pass",
    "error: could not compile",
    "error: aborting due to",
    "error: doctest failed, to rerun pass",
    "error: target(s) failed",
    "error: # target failed",
    "error: recipe ",
    "error: test run failed",
    "error: process didn't exit successfully",
    "warning: build failed",
    "npm err! a complete log",
    "npm error a complete log",
    "make: * [",
    "make[#]: * [",
];

/// Whether a line only summarises others.
pub(super) fn is_summary(line: &str) -> bool {
    let lower = normalised(line.trim()).to_lowercase();
    SUMMARIES.iter().any(|beginning| lower.starts_with(beginning)) || (only_counts(&lower) && !names_failed_item(line))
}

/// The name of a failed test in a line; the reason follows.
pub(super) fn heading(line: &str) -> Option<&str> {
    let trimmed = line.trim();
    let marked = ["✖ ", "✗ ", "✕ ", "× ", "● "]
        .iter()
        .any(|mark| trimmed.starts_with(mark));
    let named = line.starts_with("FAIL: ") || line.starts_with("ERROR: ");
    let ruled = trimmed.starts_with("____") && trimmed.ends_with("____") && trimmed.contains(' ');
    let captured = line.starts_with("---- ") && line.ends_with(" stdout ----");
    let is_heading = (marked && !trimmed.ends_with(':')) || named || ruled || captured || names_failed_item(line);
    is_heading.then_some(trimmed)
}

#[derive(Debug)]
struct Plain {
    block: Block,
    indent: usize,
    below: usize,
}

/// A line that reports a failure, and the indented lines below.
pub(super) fn begin(line: &str) -> Option<Box<dyn Reader>> {
    let rank = rank(line)?;
    let mut block = Block::new(rank);
    block.push(Weight::Needed, line.trim_start());
    Some(Box::new(Plain {
        block,
        indent: indent(line),
        below: 0,
    }))
}

fn rank(line: &str) -> Option<Rank> {
    let trimmed = line.trim();
    if is_call(line) {
        return None;
    }
    let is_cause = trimmed.starts_with("--- FAIL: ") || line.starts_with("E   ");
    if is_cause {
        return Some(Rank::Cause);
    }
    let level = level_of(line);
    let has_form = ERRORS.iter().any(|beginning| trimmed.starts_with(beginning))
        || heading(line).is_some()
        || level == Some(Level::Error)
        || SYSTEM
            .iter()
            .any(|ending| trimmed.ends_with(ending) || trimmed.contains(&format!("{ending}: ")))
        || is_of_shell(trimmed)
        || is_of_linter(trimmed);
    if has_form {
        return (!is_summary(line)).then_some(Rank::Error);
    }
    let is_warning = level == Some(Level::Warning) || is_warning(trimmed);
    let reports = may_report_failure(line) && reports_failure(line) && !is_summary(line) && !is_warning;
    reports.then_some(Rank::Word)
}

/// Whether it is a stack frame of a panic or its location: `   2: core::result::unwrap_failed`, followed by `at
/// /rustc/…/library/core/src/result.rs:1867:5`. The word "failed" in it is only part of a name.
fn is_call(line: &str) -> bool {
    let trimmed = line.trim_start();
    if trimmed.starts_with("at /rustc/") {
        return true;
    }
    let Some((number, name)) = trimmed.split_once(": ").filter(|_| indent(line) > 0) else {
        return false;
    };
    let name = name.trim_start();
    let is_name = name.contains("::") || !name.contains(char::is_whitespace);
    let is_first = |c: char| c.is_alphabetic() || matches!(c, '_' | '<');
    let is_path = is_name && (name.starts_with(is_first) || name.starts_with("0x"));
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && is_path
}

fn is_warning(trimmed: &str) -> bool {
    let lower = trimmed.to_lowercase();
    lower.starts_with("warning") || lower.contains(": warning:") || lower.contains(" warn ")
}

/// `./build.sh: line 4: …`, `sh: 1: …`.
fn is_of_shell(trimmed: &str) -> bool {
    let Some((program, rest)) = trimmed.split_once(": ") else {
        return false;
    };
    let Some((line, _)) = rest.split_once(": ") else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_shell = name.ends_with("sh") || line.starts_with("line ");
    is_shell && !program.contains(char::is_whitespace) && is_number(line.strip_prefix("line ").unwrap_or(line))
}

/// `3:10  error  'x' is not defined  no-undef`.
fn is_of_linter(trimmed: &str) -> bool {
    let mut words = trimmed.split_whitespace();
    let is_place = |text: &str| {
        text.contains(':')
            && text
                .split(':')
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    words.next().is_some_and(is_place) && words.next() == Some("error")
}

impl Reader for Plain {
    fn take(&mut self, line: &str, _root: &Path) -> Step {
        let goes_on = line.starts_with("E   ")
            && self
                .block
                .lines
                .first()
                .is_some_and(|(_, first)| first.starts_with("E   "));
        let is_value = line
            .split(|c: char| !c.is_alphanumeric())
            .find(|word| !word.is_empty())
            .is_some_and(|word| VALUES.contains(&word.to_lowercase().as_str()));
        let is_set_in = indent(line) > self.indent && !line.trim().is_empty() && !is_call(line);
        // A line with only a typical word does not absorb lines in an error format.
        let is_other = || self.block.rank == Rank::Word && rank(line).is_some_and(|rank| rank != Rank::Word);
        let is_below = (is_set_in || is_value) && self.below < MAX_BELOW && !is_other();
        if !goes_on && !is_below {
            return Step::NotPart;
        }
        self.below += usize::from(!goes_on);
        self.block.push(Weight::Helps, line);
        Step::Taken
    }

    fn ends_before(&self, _line: &str) -> bool {
        true
    }

    fn block(self: Box<Self>) -> Option<Block> {
        Some(self.block)
    }
}
