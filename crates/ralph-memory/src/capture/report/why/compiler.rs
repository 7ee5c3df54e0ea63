//! Compiler errors: the message, the location and the marked source line.

use std::path::Path;

use super::block::{Block, Rank, Reader, Step, Weight};
use super::indent;
use super::plain::is_summary;

#[derive(Debug)]
struct Compiler {
    block: Block,
    /// The last source line, until its mark follows.
    source: Option<String>,
    place: Place,
    /// Whether a hint or another location follows.
    aside: bool,
}

/// Where the location of an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Here,
    /// On the next line, as in rustc.
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
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, ':' | ',' | ')');
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
            // Cargo lists causes below each other.
            let is_cause = trimmed == "Caused by:" || (indent(line) >= 2 && !trimmed.is_empty());
            if !is_cause && !trimmed.is_empty() {
                return Step::NotPart;
            }
            self.block.push(Weight::Helps, line);
            return if self.block.is_full() { Step::Last } else { Step::Taken };
        }
        let Some((number, source)) = gutter(line) else {
            let is_aside = ["help: ", "note: ", "::: ", "--> ", "..."]
                .iter()
                .any(|word| trimmed.starts_with(word));
            self.aside |= is_aside;
            return if is_aside { Step::Taken } else { Step::NotPart };
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
    /// Adds a source line with its mark.
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

/// The line number and the text of a source line: ` 5 |     let sum`, `   |   ^^^ expected`, `   = help: …`.
fn gutter(line: &str) -> Option<(&str, &str)> {
    let trimmed = line.trim_start();
    if trimmed.starts_with("= ") {
        return Some(("", trimmed));
    }
    let (number, source) = line.split_once('|')?;
    let number = number.trim();
    number.chars().all(|c| c.is_ascii_digit()).then_some((number, source))
}

/// Whether it marks a location: `^^^^ expected`. Underlines of dashes are secondary.
fn is_mark(source: &str) -> bool {
    source.trim_start_matches([' ', '|', '_', '-']).starts_with('^')
        || (source.contains('^') && source.trim_start().starts_with(['-', '~', '|']))
}
