//! The lines of an output that say why: the assertion and its values, the compiler's error and where it stands, the
//! exception and the line that raised it. Not the counts at the end, not the noise around them.
//!
//! An output is read line by line as it is printed, however long it is, and only what may say why is kept. What belongs
//! together is read together, by a reader for each form that tools have; see [`block`].

mod block;
mod compiler;
mod exception;
mod news;
mod panic;
mod pick;
mod plain;
mod tap;
mod traceback;

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use block::{Reader, Step};
use news::{KnownLines, LineNews, News};
use pick::Kept;

use super::named_files::named_files;
use crate::capture::clean;
use crate::capture::transcript::Stream;

/// How much of a line is looked at and kept, in characters: some programs print everything in one.
const MAX_READ: usize = 1000;
/// How many of the last lines are kept.
const LAST_LINES: usize = 8;
/// For how many lines the name of a test is remembered, until it says why it failed.
const HEADING_LINES: usize = 5;

/// Collects the lines of an output that say why, from all of it, however much that is. Of failures that were known before,
/// nothing is told where there are others.
#[derive(Debug, Default)]
pub struct WhyLines {
    root: PathBuf,
    known: KnownLines,
    cleaner: Stream,
    open: Option<Open>,
    heading: Option<Heading>,
    last: VecDeque<String>,
    /// What is new, what may be, and what was known.
    new: Kept,
    unsure: Kept,
    old: Kept,
}

/// What is being read.
#[derive(Debug)]
struct Open {
    reader: Box<dyn Reader>,
    news: LineNews,
}

/// The name of a test, until it says why it failed.
#[derive(Debug)]
struct Heading {
    text: String,
    age: usize,
    news: LineNews,
}

/// What stands before a line.
#[derive(Debug, Clone, Copy)]
struct Before<'a> {
    heading: Option<&'a str>,
    last: &'a VecDeque<String>,
    root: &'a Path,
}

impl WhyLines {
    /// A collector for what a program prints in the project that is the folder `root`, of which these failures are known,
    /// each in its normal form.
    #[must_use]
    pub fn new(root: &Path, known: BTreeSet<String>) -> Self {
        Self {
            root: root.to_owned(),
            known: KnownLines::new(known),
            ..Self::default()
        }
    }

    /// Takes the next line as the program printed it, and returns it as it may be kept, without secrets.
    pub fn take<'a>(&mut self, line: &'a str) -> Cow<'a, str> {
        // A secret must be masked before the line is cut: half of one is none that can be found.
        let clean = self.cleaner.clean_line(line);
        self.take_clean(&clean.chars().take(MAX_READ).collect::<String>());
        clean
    }

    fn take_clean(&mut self, line: &str) {
        let line = line.trim_end();
        let news = self.known.news_of(line);
        self.read(line, news);
        if let Some(heading) = &mut self.heading {
            heading.age += 1;
        }
        self.heading.take_if(|heading| heading.age > HEADING_LINES);
        if let Some(heading) = plain::heading(line) {
            self.heading = Some(Heading {
                text: heading.to_owned(),
                age: 0,
                news,
            });
        }
        if !line.trim().is_empty() {
            if self.last.len() == LAST_LINES {
                self.last.pop_front();
            }
            self.last.push_back(line.to_owned());
        }
    }

    /// The lines that say why, in at most so many characters, cleaned; empty when nothing was printed.
    #[must_use]
    pub fn pick(mut self, characters: usize) -> String {
        self.close();
        let last: Vec<String> = self.last.into_iter().collect();
        let unknown: Vec<String> = last.iter().filter(|line| !self.known.has(line)).cloned().collect();
        let (kept, last) = if !self.new.is_empty() {
            (self.new, unknown)
        } else if !self.unsure.is_empty() {
            (self.unsure, unknown)
        } else if self.old.is_empty() && !unknown.is_empty() {
            (self.old, unknown)
        } else {
            (self.old, last)
        };
        clean(&kept.pick(&last, characters), characters)
    }

    fn read(&mut self, line: &str, news: LineNews) {
        let before = Before {
            heading: self.heading.as_ref().map(|heading| heading.text.as_str()),
            last: &self.last,
            root: &self.root,
        };
        if let Some(open) = &mut self.open {
            let interrupted = open.reader.gives_way_to(line) && strong(line, before).is_some();
            let step = if interrupted {
                Step::NotMine
            } else {
                open.reader.take(line, &self.root)
            };
            if step != Step::NotMine {
                open.news = open.news.max(news);
            }
            match step {
                Step::Taken => return,
                Step::Last => return self.close(),
                Step::NotMine => {}
            }
        }
        let heading_news = self.heading.as_ref().map_or(news, |heading| heading.news);
        let next = match strong(line, before) {
            Some(reader) => Some((reader, news.max(heading_news))),
            None => plain::begin(line).map(|reader| (reader, news)),
        };
        self.close();
        self.open = next.map(|(reader, news)| Open { reader, news });
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let Some(block) = open.reader.block() else { return };
        match open.news.of_block() {
            News::New => self.new.keep(block),
            News::Unsure => self.unsure.keep(block),
            News::Old => self.old.keep(block),
        }
    }
}

/// The lines of a whole output that say why, in at most so many characters, where nothing is known of before.
#[must_use]
pub fn why_lines(output: &str, root: &Path, characters: usize) -> String {
    let mut lines = WhyLines::new(root, BTreeSet::new());
    for line in output.lines() {
        lines.take(line);
    }
    lines.pick(characters)
}

/// The reader of what begins with this line, if it is of a form that says why and goes over several lines.
fn strong(line: &str, before: Before<'_>) -> Option<Box<dyn Reader>> {
    panic::begin(line, before.heading)
        .or_else(|| traceback::begin(line, before.heading))
        .or_else(|| tap::begin(line))
        .or_else(|| compiler::begin(line))
        .or_else(|| exception::begin(line, before))
}

/// How many spaces stand before a line.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line names a file of the project, as far as one can tell from its name.
fn names_own_file(line: &str, root: &Path) -> bool {
    !named_files(line, root).is_empty()
}

#[cfg(test)]
mod tests;
