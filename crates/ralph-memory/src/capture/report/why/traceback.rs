//! Tracebacks of Python: the exception, and the innermost line of the project that led to it.

use super::block::{Block, Rank, Reader, Step, Weight};
use super::{indent, names_own_file};

/// How many lines may follow the exception.
const MAX_MESSAGE: usize = 10;

#[derive(Debug)]
struct Traceback {
    heading: Option<String>,
    indent: usize,
    /// The innermost frame of the project, and the innermost one of all.
    own: Vec<String>,
    any: Vec<String>,
    /// Which of them the next line belongs to.
    in_own: bool,
    exception: Vec<String>,
    blank: bool,
}

/// `Traceback (most recent call last):`, also behind the time and the level of a log.
pub(super) fn begin(line: &str, heading: Option<&str>) -> Option<Box<dyn Reader>> {
    line.ends_with("Traceback (most recent call last):").then(|| {
        Box::new(Traceback {
            heading: heading.map(str::to_owned),
            indent: indent(line),
            own: Vec::new(),
            any: Vec::new(),
            in_own: false,
            exception: Vec::new(),
            blank: false,
        }) as Box<dyn Reader>
    })
}

impl Reader for Traceback {
    fn take(&mut self, line: &str) -> Step {
        if !self.exception.is_empty() {
            return self.message(line);
        }
        let trimmed = line.trim_start();
        if trimmed.is_empty() {
            return Step::NotMine;
        }
        if indent(line) <= self.indent {
            self.exception.push(trimmed.to_owned());
            return Step::Taken;
        }
        if trimmed.starts_with("File \"") {
            self.in_own = names_own_file(trimmed);
            self.any = vec![line.to_owned()];
            if self.in_own {
                self.own = vec![line.to_owned()];
            }
        } else if !trimmed.chars().all(|sign| matches!(sign, '^' | '~' | ' ')) {
            self.any.push(line.to_owned());
            if self.in_own {
                self.own.push(line.to_owned());
            }
        }
        Step::Taken
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
        let source = source
            .iter()
            .take(2)
            .map(|line| line.strip_prefix("  ").unwrap_or(line));
        source.for_each(|line| block.push(Weight::Helps, line));
        block.push(Weight::Needed, first);
        more.iter().for_each(|line| block.push(Weight::Helps, line));
        Some(block)
    }
}

impl Traceback {
    /// A line after the exception: what it says further, such as how two values differ.
    fn message(&mut self, line: &str) -> Step {
        let is_difference = ["+ ", "- ", "? "].iter().any(|sign| line.starts_with(sign));
        let is_ruler = line.len() >= 10 && line.chars().all(|sign| matches!(sign, '=' | '-'));
        if is_ruler || self.exception.len() >= MAX_MESSAGE || (self.blank && !is_difference) {
            return Step::NotMine;
        }
        self.blank = line.trim().is_empty();
        if !self.blank && !line.starts_with("? ") {
            self.exception.push(line.to_owned());
        }
        Step::Taken
    }
}
