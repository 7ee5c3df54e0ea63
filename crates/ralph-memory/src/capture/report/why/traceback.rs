//! Python tracebacks: the exception and the innermost project line that led to it.

use std::path::Path;

use ralph_model::exception_in;

use super::block::{Block, Rank, Reader, Step, Weight};
use super::{indent, names_own_file};

/// The maximum number of lines after the exception.
const MAX_MESSAGE: usize = 10;
/// The maximum number of lines of a frame: its location and source.
const MAX_FRAME: usize = 3;
/// A longer frame is not a frame.
const MAX_BELOW: usize = 20;
/// The maximum number of lines of a traceback: Python allows a thousand nested calls with three lines each.
const MAX_READ: usize = 4000;

#[derive(Debug)]
struct Traceback {
    heading: Option<String>,
    indent: usize,
    /// The innermost frame of the project, and the innermost of all.
    own: Vec<String>,
    any: Vec<String>,
    /// Which of them the next line belongs to.
    in_own: bool,
    /// The number of lines read, and of those in the last frame.
    read: usize,
    below: usize,
    exception: Vec<String>,
    blank: bool,
}

/// `Traceback (most recent call last):`, also after the time and level of a log.
pub(super) fn begin(line: &str, heading: Option<&str>) -> Option<Box<dyn Reader>> {
    line.ends_with("Traceback (most recent call last):").then(|| {
        Box::new(Traceback {
            heading: heading.map(str::to_owned),
            indent: indent(line),
            own: Vec::new(),
            any: Vec::new(),
            in_own: false,
            read: 0,
            below: 0,
            exception: Vec::new(),
            blank: false,
        }) as Box<dyn Reader>
    })
}

impl Reader for Traceback {
    fn take(&mut self, line: &str, root: &Path) -> Step {
        if !self.exception.is_empty() {
            return self.message(line);
        }
        let trimmed = line.trim_start();
        if trimmed.is_empty() {
            return Step::NotPart;
        }
        if indent(line) <= self.indent {
            self.exception.push(trimmed.to_owned());
            return Step::Taken;
        }
        let is_frame = trimmed.starts_with("File \"");
        self.read += 1;
        self.below = if is_frame { 0 } else { self.below + 1 };
        if self.read > MAX_READ || self.below > MAX_BELOW {
            return Step::NotPart;
        }
        if is_frame {
            self.in_own = names_own_file(trimmed, root);
            self.any = vec![line.to_owned()];
            if self.in_own {
                self.own = vec![line.to_owned()];
            }
        } else if !trimmed.chars().all(|sign| matches!(sign, '^' | '~' | ' ')) {
            push(&mut self.any, line);
            if self.in_own {
                push(&mut self.own, line);
            }
        }
        Step::Taken
    }

    /// A traceback ends with an exception, and the source line of a frame may look like one.
    fn ends_before(&self, line: &str) -> bool {
        let is_awaited = indent(line) <= self.indent || self.below < MAX_FRAME;
        !self.exception.is_empty() || !is_awaited || exception_in(line).is_none()
    }

    fn block(self: Box<Self>) -> Option<Block> {
        let (first, more) = self.exception.split_first()?;
        let mut block = Block::new(Rank::Cause);
        if let Some(heading) = &self.heading {
            block.push(Weight::Helps, heading);
        }
        let frame = if self.own.is_empty() { &self.any } else { &self.own };
        let (place, source) = frame
            .split_first()
            .map_or(("", &[][..]), |(place, source)| (place, source));
        block.push(Weight::Needed, place.trim_start());
        let source = source.iter().map(|line| line.strip_prefix("  ").unwrap_or(line));
        source.for_each(|line| block.push(Weight::Helps, line));
        block.push(Weight::Needed, first);
        more.iter().for_each(|line| block.push(Weight::Helps, line));
        Some(block)
    }
}

impl Traceback {
    /// A line after the exception, such as a diff of values.
    fn message(&mut self, line: &str) -> Step {
        let is_difference = ["+ ", "- ", "? "].iter().any(|sign| line.starts_with(sign));
        let is_ruler = line.len() >= 10 && line.chars().all(|sign| matches!(sign, '=' | '-'));
        if is_ruler || self.exception.len() >= MAX_MESSAGE || (self.blank && !is_difference) {
            return Step::NotPart;
        }
        self.blank = line.trim().is_empty();
        if !self.blank && !line.starts_with("? ") {
            self.exception.push(line.to_owned());
        }
        Step::Taken
    }
}

/// Adds a line to a frame unless it is full.
fn push(frame: &mut Vec<String>, line: &str) {
    if frame.len() < MAX_FRAME {
        frame.push(line.to_owned());
    }
}
