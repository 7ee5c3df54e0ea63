//! Extracts the lines of an output that explain a failure: the assertion and its values, the compiler error and its
//! location, the exception and the line that raised it, without summaries and noise.
//!
//! An output of any length is read line by line, and only candidates are kept. Related lines are collected by a reader
//! for each format; see [`block`].

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

/// The maximum length of a line that is read and kept; some programs print everything on one line.
const MAX_READ: usize = 1000;
/// The number of last lines that are kept.
const LAST_LINES: usize = 8;
/// For how many lines a test name is remembered until the reason follows.
const HEADING_LINES: usize = 5;

/// Collects the lines that explain a failure from a complete output. Known failures are only included if there are no
/// others.
#[derive(Debug, Default)]
pub struct WhyLines {
    root: PathBuf,
    known: KnownLines,
    cleaner: Stream,
    open: Option<Open>,
    heading: Option<Heading>,
    last: VecDeque<String>,
    /// New, uncertain and known blocks.
    new: Kept,
    unsure: Kept,
    old: Kept,
}

#[derive(Debug)]
struct Open {
    reader: Box<dyn Reader>,
    news: LineNews,
}

/// The name of a failed test until the reason follows.
#[derive(Debug)]
struct Heading {
    text: String,
    age: usize,
    news: LineNews,
}

/// What precedes a line.
#[derive(Debug, Clone, Copy)]
struct Before<'a> {
    heading: Option<&'a str>,
    last: &'a VecDeque<String>,
    root: &'a Path,
}

impl WhyLines {
    /// A collector for a program's output in the project `root`, with the normalised known failures.
    #[must_use]
    pub fn new(root: &Path, known: BTreeSet<String>) -> Self {
        Self {
            root: root.to_owned(),
            known: KnownLines::new(known),
            ..Self::default()
        }
    }

    /// Takes the next raw line and returns it cleaned, with secrets masked.
    pub fn take<'a>(&mut self, line: &'a str) -> Cow<'a, str> {
        // Mask before cutting: half of a secret is not recognised.
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

    /// The lines that explain the failure, cleaned and within this many characters; empty without output.
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
            let interrupted = open.reader.ends_before(line) && strong(line, before).is_some();
            let step = if interrupted {
                Step::NotPart
            } else {
                open.reader.take(line, &self.root)
            };
            if step != Step::NotPart {
                open.news = open.news.max(news);
            }
            match step {
                Step::Taken => return,
                Step::Last => return self.close(),
                Step::NotPart => {}
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

/// The lines of a whole output that explain the failure, without known failures.
#[must_use]
pub fn why_lines(output: &str, root: &Path, characters: usize) -> String {
    let mut lines = WhyLines::new(root, BTreeSet::new());
    for line in output.lines() {
        lines.take(line);
    }
    lines.pick(characters)
}

/// The reader for a multi-line format that starts with this line.
fn strong(line: &str, before: Before<'_>) -> Option<Box<dyn Reader>> {
    panic::begin(line, before.heading)
        .or_else(|| traceback::begin(line, before.heading))
        .or_else(|| tap::begin(line))
        .or_else(|| compiler::begin(line))
        .or_else(|| exception::begin(line, before))
}

/// The number of leading spaces.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line names a file of the project.
fn names_own_file(line: &str, root: &Path) -> bool {
    !named_files(line, root).is_empty()
}

#[cfg(test)]
mod tests;
