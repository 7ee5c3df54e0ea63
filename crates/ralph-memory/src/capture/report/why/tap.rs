//! Failed tests of the Test Anything Protocol: `not ok` and its details.

use std::path::Path;

use super::super::failure_lines::only_counts;
use super::super::normal::normalised;
use super::block::{Block, Rank, Reader, Step, Weight};
use super::{indent, names_own_file};

/// The maximum number of lines of an error.
const MAX_ERROR: usize = 10;
/// The maximum number of detail lines that are read.
const MAX_READ: usize = 80;

#[derive(Debug)]
struct NotOk {
    first: String,
    indent: usize,
    state: State,
    read: usize,
    key: String,
    place: Option<String>,
    name: Option<String>,
    error: Vec<String>,
    values: Vec<String>,
    call: Option<String>,
    kind: String,
    /// Comment lines, as simple scripts print them.
    remarks: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The details may begin on the next line.
    Before,
    Within,
}

/// `not ok 1 - adds prices`.
pub(super) fn begin(line: &str) -> Option<Box<dyn Reader>> {
    let trimmed = line.trim_start();
    trimmed.strip_prefix("not ok ")?;
    if trimmed.contains("# TODO") {
        return None;
    }
    Some(Box::new(NotOk {
        first: trimmed.to_owned(),
        indent: indent(line),
        state: State::Before,
        read: 0,
        key: String::new(),
        place: None,
        name: None,
        error: Vec::new(),
        values: Vec::new(),
        call: None,
        kind: String::new(),
        remarks: Vec::new(),
    }))
}

/// `# expected 2, found 3`; but not the name of another test or a count.
fn is_remark(trimmed: &str) -> bool {
    trimmed.starts_with('#') && !trimmed.starts_with("# Subtest") && !only_counts(&normalised(trimmed))
}

impl Reader for NotOk {
    fn take(&mut self, line: &str, root: &Path) -> Step {
        let trimmed = line.trim();
        self.read += 1;
        match self.state {
            State::Before if trimmed == "---" => self.state = State::Within,
            State::Before if is_remark(trimmed) && self.remarks.len() < MAX_ERROR => {
                self.remarks.push(trimmed.to_owned());
            }
            State::Before => return Step::NotPart,
            State::Within if trimmed == "..." => return Step::Last,
            State::Within if self.read > MAX_READ => return Step::NotPart,
            State::Within => self.known(line, root),
        }
        Step::Taken
    }

    fn block(self: Box<Self>) -> Option<Block> {
        // The subtests explain it.
        if self.kind == "'subtestsFailed'" {
            return None;
        }
        // A whole file failed: its output above explains it.
        let is_file = self.error.first().is_some_and(|error| error == "'test failed'");
        let mut block = Block::new(if is_file { Rank::Word } else { Rank::Cause });
        block.push(Weight::Needed, &self.first);
        if let Some(place) = &self.place {
            block.push(Weight::Needed, &format!("  location: {place}"));
        }
        if let Some(name) = self.name.as_ref().filter(|name| *name != "'AssertionError'") {
            block.push(Weight::Needed, &format!("  name: {name}"));
        }
        match self.error.as_slice() {
            [only] => block.push(Weight::Needed, &format!("  error: {only}")),
            lines => lines.iter().enumerate().for_each(|(at, line)| {
                let weight = if at < 4 { Weight::Needed } else { Weight::Helps };
                block.push(weight, line);
            }),
        }
        if self.error.len() <= 1 {
            self.values.iter().for_each(|line| block.push(Weight::Helps, line));
        }
        self.remarks.iter().for_each(|line| block.push(Weight::Helps, line));
        if let Some(call) = &self.call {
            block.push(Weight::Helps, call);
        }
        Some(block)
    }
}

impl NotOk {
    /// Takes a detail line: a key and its value, or a continuation.
    fn known(&mut self, line: &str, root: &Path) {
        let trimmed = line.trim();
        let is_key = indent(line) <= self.indent + 2;
        if let Some((key, value)) = trimmed.split_once(": ").filter(|_| is_key) {
            key.clone_into(&mut self.key);
            match key {
                "location" => self.place = Some(value.to_owned()),
                "name" => self.name = Some(value.to_owned()),
                "failureType" => value.clone_into(&mut self.kind),
                "expected" | "actual" => self.values.push(format!("  {trimmed}")),
                "error" | "message" if !value.starts_with(['|', '>']) => self.error.push(value.to_owned()),
                _ => {}
            }
        } else if trimmed.ends_with(':') && is_key {
            trimmed.trim_end_matches(':').clone_into(&mut self.key);
        } else if matches!(self.key.as_str(), "error" | "message") {
            if !trimmed.is_empty() && self.error.len() < MAX_ERROR {
                let deeper: String = " ".repeat(indent(line).saturating_sub(self.indent + 2));
                self.error.push(format!("{deeper}{trimmed}"));
            }
        } else if self.key == "stack" && self.call.is_none() && names_own_file(trimmed, root) {
            self.call = Some(format!("    at {}", trimmed.trim_start_matches("at ")));
        }
    }
}
