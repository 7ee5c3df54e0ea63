//! Exceptions of JavaScript, Java and others: a name, a message and a stack.

use std::collections::VecDeque;
use std::path::Path;

use ralph_model::exception_in;

use super::block::{Block, Rank, Reader, Step, Weight};
use super::{Before, names_own_file};

/// The maximum number of lines between the exception and its first call.
const MAX_MESSAGE: usize = 10;

#[derive(Debug)]
struct Exception {
    heading: Vec<String>,
    first: String,
    message: Vec<String>,
    call: Option<String>,
    has_calls: bool,
}

/// `TypeError: …`, `AssertionError [ERR_ASSERTION]: …`, `java.lang.IllegalStateException: …`.
pub(super) fn begin(line: &str, before: Before<'_>) -> Option<Box<dyn Reader>> {
    let text = exception_in(line)?;
    let source = shown_source(before.last, before.root);
    let mut before: Vec<String> = before.heading.map(str::to_owned).into_iter().collect();
    before.extend(source.into_iter().flatten());
    Some(Box::new(Exception {
        heading: before,
        first: text.to_owned(),
        message: Vec::new(),
        call: None,
        has_calls: false,
    }))
}

/// The file, source line and mark that Node prints before an exception without project calls.
fn shown_source(last: &VecDeque<String>, root: &Path) -> Option<[String; 2]> {
    let mut before = last.iter().rev().map(|line| line.trim_start_matches("# "));
    let (mark, source, place) = (before.next()?, before.next()?, before.next()?);
    let is_mark = !mark.trim().is_empty() && mark.trim().chars().all(|c| c == '^');
    let is_place = place
        .rsplit_once(':')
        .is_some_and(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()));
    (is_mark && is_place && names_own_file(place, root)).then(|| [place.to_owned(), source.to_owned()])
}

impl Reader for Exception {
    fn take(&mut self, line: &str, root: &Path) -> Step {
        let text = line.trim().trim_start_matches("# ").trim_start();
        if text.starts_with("at ") {
            self.has_calls = true;
            if self.call.is_none() && names_own_file(text, root) {
                self.call = Some(format!("    {}", text.trim_end_matches(" {")));
            }
            return Step::Taken;
        }
        if self.has_calls || self.message.len() >= MAX_MESSAGE {
            return Step::NotPart;
        }
        self.message.push(text.to_owned());
        Step::Taken
    }

    fn ends_before(&self, _line: &str) -> bool {
        !self.has_calls
    }

    fn block(self: Box<Self>) -> Option<Block> {
        let mut block = Block::new(if self.has_calls { Rank::Cause } else { Rank::Error });
        self.heading.iter().for_each(|line| block.push(Weight::Helps, line));
        block.push(Weight::Needed, &self.first);
        // Without calls, the following lines may not belong to it.
        if self.has_calls {
            self.message.iter().for_each(|line| block.push(Weight::Helps, line));
        }
        if let Some(call) = &self.call {
            block.push(Weight::Needed, call);
        }
        Some(block)
    }
}
