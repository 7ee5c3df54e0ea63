//! The lines of an output that say why: the assertion and its values, the compiler's error and where it stands, the
//! exception and the line that raised it. Not the counts at the end, not the noise around them.
//!
//! An output is read line by line as it is printed, however long it is, and only what may say why is kept. What belongs
//! together is read together, by a reader for each form that tools have; see [`block`].

mod block;
mod compiler;
mod exception;
mod panic;
mod pick;
mod plain;
mod tap;
mod traceback;

use std::collections::VecDeque;

use block::{Reader, Step};
use pick::Kept;

use super::named_files::named_files;
use crate::capture::clean;

/// How much of a line is looked at and kept, in characters: some programs print everything in one.
const MAX_READ: usize = 1000;
/// How many of the last lines are kept.
const LAST_LINES: usize = 8;
/// For how many lines the name of a test is remembered, until it says why it failed.
const HEADING_LINES: usize = 5;

/// Collects the lines of an output that say why, from all of it, however much that is.
#[derive(Debug, Default)]
pub struct WhyLines {
    open: Option<Box<dyn Reader>>,
    heading: Option<(String, usize)>,
    last: VecDeque<String>,
    kept: Kept,
}

impl WhyLines {
    /// Takes the next line as the program printed it.
    pub fn take(&mut self, line: &str) {
        let line = visible(line);
        self.read(&line);
        if let Some((_, age)) = &mut self.heading {
            *age += 1;
        }
        self.heading.take_if(|(_, age)| *age > HEADING_LINES);
        if let Some(heading) = plain::heading(&line) {
            self.heading = Some((heading.to_owned(), 0));
        }
        if !line.trim().is_empty() {
            if self.last.len() == LAST_LINES {
                self.last.pop_front();
            }
            self.last.push_back(line);
        }
    }

    /// The lines that say why, in at most so many characters, cleaned; empty when nothing was printed.
    #[must_use]
    pub fn pick(mut self, characters: usize) -> String {
        self.close();
        let last: Vec<String> = self.last.into_iter().collect();
        clean(&self.kept.pick(&last, characters), characters)
    }

    fn read(&mut self, line: &str) {
        if let Some(open) = &mut self.open {
            let interrupted = open.gives_way() && strong(line, None, &self.last).is_some();
            match if interrupted { Step::NotMine } else { open.take(line) } {
                Step::Taken => return,
                Step::Last => return self.close(),
                Step::NotMine => self.close(),
            }
        }
        let heading = self.heading.as_ref().map(|(heading, _)| heading.as_str());
        self.open = strong(line, heading, &self.last).or_else(|| plain::begin(line));
    }

    fn close(&mut self) {
        if let Some(block) = self.open.take().and_then(Reader::block) {
            self.kept.keep(block);
        }
    }
}

/// The lines of a whole output that say why, in at most so many characters.
#[must_use]
pub fn why_lines(output: &str, characters: usize) -> String {
    let mut lines = WhyLines::default();
    output.lines().for_each(|line| lines.take(line));
    lines.pick(characters)
}

/// The reader of what begins with this line, if it is of a form that says why and goes over several lines.
fn strong(line: &str, heading: Option<&str>, last: &VecDeque<String>) -> Option<Box<dyn Reader>> {
    panic::begin(line, heading)
        .or_else(|| traceback::begin(line, heading))
        .or_else(|| tap::begin(line))
        .or_else(|| compiler::begin(line))
        .or_else(|| exception::begin(line, heading, last))
}

/// A line as one reads it: without escape sequences, and no longer than it makes sense.
fn visible(line: &str) -> String {
    let line: String = line.chars().take(MAX_READ).collect();
    let has_control = line.contains(|sign: char| sign.is_control() && sign != '\t');
    // Cleaning takes the spaces at the beginning away, which say what belongs to what: so they do not stand there.
    if has_control {
        let clean = clean(&format!("|{line}"), MAX_READ);
        clean.strip_prefix('|').unwrap_or(&clean).to_owned()
    } else {
        line.trim_end().to_owned()
    }
}

/// How many spaces stand before a line.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line names a file of the project, as far as one can tell from its name.
fn names_own_file(line: &str) -> bool {
    !named_files(line).is_empty()
}

#[cfg(test)]
mod tests;
