//! Errors of compilers: what is wrong, where, and the line with its mark.

use std::path::Path;

use super::block::{Block, Rank, Reader, Step, Weight};
use super::indent;
use super::plain::is_summary;

#[derive(Debug)]
struct Compiler {
    block: Block,
    /// The last line of the source that was shown, until it is marked.
    source: Option<String>,
    place: Place,
    /// Whether what follows is about a remedy, or another place.
    aside: bool,
}

/// Where the place of an error stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the line itself.
    Here,
    /// In the next line, as rustc writes it.
    Awaited,
    Found,
}

/// `error[E0308]: …` and its ` --> file:line`, or `file:line:column: error: …`.
pub(super) fn begin(line: &str) -> Option<Box<dyn Reader>> {
    let place = if line.starts_with("error[E") || (line.starts_with("error: ") && !is_summary(line)) {
        Place::Awaited
    } else if is_placed_error(line) {
        Place::Here
    } else {
        return None;
    };
    let mut block = Block::new(Rank::Cause);
    block.push(Weight::Needed, line);
    Some(Box::new(Compiler {
        block,
        source: None,
        place,
        aside: false,
    }))
}

/// `cart.c:4:20: error: …`, `cart.ts(4,20): error TS2322: …`, `cart.go:4:20: …`, `cart.py:4: error: …`.
fn is_placed_error(line: &str) -> bool {
    let Some((place, message)) = line.trim_start().split_once(": ") else {
        return false;
    };
    let Some((file, number)) = place.split_once([':', '(']) else {
        return false;
    };
    let (stem, ending) = file.rsplit_once('.').unwrap_or_default();
    let is_file = !stem.is_empty() && !file.contains(char::is_whitespace) && ending.chars().all(char::is_alphanumeric);
    let is_number = |sign: char| sign.is_ascii_digit() || matches!(sign, ':' | ',' | ')');
    let has_column = number.contains([':', ',']);
    let is_error = message.starts_with("error") || message.starts_with("fatal error");
    let is_other = ["warning", "note", "info", "help", "hint"];
    let is_other = is_other.iter().any(|word| message.starts_with(word));
    is_file && number.chars().all(is_number) && (is_error || (has_column && ending == "go" && !is_other))
}

impl Reader for Compiler {
    fn take(&mut self, line: &str, _root: &Path) -> Step {
        let trimmed = line.trim_start();
        if self.place == Place::Awaited {
            if let Some(place) = trimmed.strip_prefix("--> ") {
                self.place = Place::Found;
                self.block.push(Weight::Needed, &format!(" --> {place}"));
                return Step::Taken;
            }
            // Cargo tells of causes below each other.
            let is_cause = trimmed == "Caused by:" || (indent(line) >= 2 && !trimmed.is_empty());
            if !is_cause && !trimmed.is_empty() {
                return Step::NotMine;
            }
            self.block.push(Weight::Helps, line);
            return if self.block.is_full() { Step::Last } else { Step::Taken };
        }
        let Some((number, source)) = gutter(line) else {
            let is_aside = ["help: ", "note: ", "::: ", "--> ", "..."]
                .iter()
                .any(|word| trimmed.starts_with(word));
            self.aside |= is_aside;
            return if is_aside { Step::Taken } else { Step::NotMine };
        };
        self.show(number, source, line);
        Step::Taken
    }

    fn block(mut self: Box<Self>) -> Option<Block> {
        if self.place == Place::Awaited {
            self.block.rank = Rank::Error;
        }
        Some(self.block)
    }
}

impl Compiler {
    /// Shows a line of the source if its mark follows, and the mark.
    fn show(&mut self, number: &str, source: &str, line: &str) {
        if let Some(help) = source.trim_start().strip_prefix("= help:") {
            self.block.push(Weight::Helps, &format!("  = help:{help}"));
        } else if self.aside {
        } else if !number.is_empty() {
            self.source = Some(line.to_owned());
        } else if is_mark(source) {
            if let Some(source) = self.source.take() {
                self.block.push(Weight::Helps, &source);
            }
            self.block.push(Weight::Helps, line);
        }
    }
}

/// The number before a line of the source, and the line: ` 5 |     let sum`, `   |   ^^^ expected`, `   = help: …`.
fn gutter(line: &str) -> Option<(&str, &str)> {
    let trimmed = line.trim_start();
    if trimmed.starts_with("= ") {
        return Some(("", trimmed));
    }
    let (number, source) = line.split_once('|')?;
    let number = number.trim();
    number
        .chars()
        .all(|sign| sign.is_ascii_digit())
        .then_some((number, source))
}

/// Whether it marks a place: `^^^^ expected`. What only underlines with dashes is said beside it.
fn is_mark(source: &str) -> bool {
    source.trim_start_matches([' ', '|', '_', '-']).starts_with('^')
        || (source.contains('^') && source.trim_start().starts_with(['-', '~', '|']))
}
