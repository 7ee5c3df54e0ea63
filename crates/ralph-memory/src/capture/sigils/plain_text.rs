//! Finds the agent's own words in an answer: no fenced code, no block quotes, no echo of the prompt.
//!
//! Blocks follow Markdown with two exceptions: indented text is not code, because agents indent; and a line that begins
//! with a sigil starts a block, so that a stray backtick above does not hide it.

use std::collections::HashMap;
use std::ops::Range;

use super::Name;
use super::tags::{lone_sigil, starts_with_sigil};

/// The minimum length of a code fence.
const MIN_FENCE: usize = 3;

/// The maximum digits of a list item's number.
const MAX_ITEM_DIGITS: usize = 9;

/// The blocks from `start` on that may contain sigils, in order. The text before `start` is only read for unclosed
/// fences.
pub(super) fn own_blocks(text: &str, start: usize) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut open = None;
    let mut goes_on = false;
    for (line, range) in lines(text) {
        let kind = Line::of(line, open);
        match kind {
            Line::Fence(fence) => open = Some(fence),
            Line::FenceEnd => open = None,
            Line::Words | Line::NewBlock if range.start >= start => match blocks.last_mut() {
                Some(block) if goes_on && kind == Line::Words => block.end = range.end,
                _ => blocks.push(range),
            },
            _ => {}
        }
        goes_on = matches!(kind, Line::Words | Line::NewBlock) && !blocks.is_empty();
    }
    blocks
}

/// How a line relates to the block before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Fence(Fence),
    FenceEnd,
    /// Code, a quote or blank.
    Apart,
    /// A heading, a list item or a line that begins with a sigil.
    NewBlock,
    /// It continues the block.
    Words,
}

/// The fence that opened a code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    sign: u8,
    length: usize,
}

impl Line {
    fn of(line: &str, open: Option<Fence>) -> Self {
        let line = line.trim();
        if let Some(open) = open {
            let closes = Fence::at(line).is_some_and(|(fence, rest)| {
                fence.sign == open.sign && fence.length >= open.length && rest.trim().is_empty()
            });
            return if closes { Self::FenceEnd } else { Self::Apart };
        }
        let content = without_list_marker(line);
        match Fence::at(content) {
            // Backticks followed by more backticks are inline code.
            Some((fence, info)) if fence.sign == b'~' || !info.contains('`') => return Self::Fence(fence),
            _ => {}
        }
        if content.is_empty() || content.starts_with('>') {
            Self::Apart
        } else if content.len() < line.len() || line.starts_with('#') || starts_with_sigil(line) {
            Self::NewBlock
        } else {
            Self::Words
        }
    }
}

impl Fence {
    /// The fence at the start of a line, and the text after it.
    fn at(line: &str) -> Option<(Self, &str)> {
        let sign = *line.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
        let length = line.bytes().take_while(|byte| *byte == sign).count();
        (length >= MIN_FENCE).then_some((Self { sign, length }, line.get(length..)?))
    }
}

/// A line without list markers, also nested ones.
fn without_list_marker(mut line: &str) -> &str {
    loop {
        let digits = line
            .bytes()
            .take(MAX_ITEM_DIGITS)
            .take_while(u8::is_ascii_digit)
            .count();
        let after = match line.as_bytes().get(digits) {
            Some(b'-' | b'*' | b'+') if digits == 0 => line.get(1..),
            Some(b'.' | b')') if digits > 0 => line.get(digits + 1..),
            _ => None,
        };
        match after {
            Some(after) if after.starts_with([' ', '\t']) => line = after.trim_start(),
            _ => return line,
        }
    }
}

/// The lines of a prompt, for recognising an echo of it.
#[derive(Debug)]
pub(super) struct PromptLines {
    /// The number of each distinct line.
    numbers: HashMap<String, usize>,
    /// The line numbers in order.
    lines: Vec<usize>,
}

impl PromptLines {
    pub(super) fn of(prompt: &str) -> Self {
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut in_order = Vec::new();
        for (line, _) in lines(prompt) {
            let bare = bare(line);
            if !bare.is_empty() {
                let next = numbers.len();
                in_order.push(*numbers.entry(bare).or_insert(next));
            }
        }
        Self {
            numbers,
            lines: in_order,
        }
    }

    /// Where the agent's own words begin if the text starts with a part of the prompt: whole lines, ignoring quote
    /// marks and white space.
    pub(super) fn echo_end(&self, text: &str) -> usize {
        // Only lines up to the first that is not in the prompt.
        let mut text_lines = Vec::new();
        for (line, range) in lines(text) {
            let bare = bare(line);
            if bare.is_empty() {
                continue;
            }
            match self.numbers.get(&bare) {
                Some(number) if text_lines.len() < self.lines.len() => text_lines.push((*number, line, range)),
                _ => break,
            }
        }
        if text_lines.is_empty() {
            return 0;
        }
        let numbers: Vec<usize> = text_lines.iter().map(|(number, _, _)| *number).collect();
        let echoed = text_lines
            .get(..longest_prefix_in(&numbers, &self.lines))
            .unwrap_or_default();
        // A one-word answer is not an echo, even if the prompt contains it.
        if echoed
            .iter()
            .all(|(_, line, _)| lone_sigil(line).is_some_and(Name::has_fixed_words))
        {
            return 0;
        }
        let end = echoed.last().map_or(0, |(_, _, range)| range.end);
        // If an echoed line only opens a tag and the agent closes it in its own words, the sigil is the agent's.
        let opened = echoed
            .iter()
            .rev()
            .find_map(|(_, line, range)| Some((opened_sigil(line)?, range)));
        match opened {
            Some((name, range)) if first_end(text, range.end, name).is_some_and(|closed| closed >= end) => range.start,
            _ => end,
        }
    }
}

/// The name of the sigil that a line opens, if it does nothing else.
fn opened_sigil(line: &str) -> Option<Name> {
    let inside = line.trim().strip_prefix('<')?.strip_suffix('>')?;
    let name = inside.split_whitespace().next()?;
    (!inside.contains(['<', '>']) && !inside.ends_with('/')).then(|| Name::parse(name.as_bytes()))?
}

/// The start of the first closing tag of a sigil after `from`.
fn first_end(text: &str, from: usize, name: Name) -> Option<usize> {
    let ends = text.get(from..)?.match_indices("</");
    let is_of = |at: usize| {
        let word = text.get(from + at + 2..).unwrap_or_default().trim_start();
        let word = word.split(|c: char| matches!(c, '<' | '>') || c.is_whitespace()).next();
        word.is_some_and(|word| Name::parse(word.as_bytes()) == Some(name))
    };
    ends.map(|(at, _)| at).find(|at| is_of(*at)).map(|at| from + at)
}

/// A line without quote marks and with single spaces.
fn bare(line: &str) -> String {
    let line = line.trim_start_matches(|c: char| c == '>' || c.is_whitespace());
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The length of the longest prefix of `wanted` that occurs in `all` (Knuth, Morris and Pratt).
fn longest_prefix_in(wanted: &[usize], all: &[usize]) -> usize {
    // For each length, the longest shorter prefix that ends there too.
    let mut shorter = vec![0; wanted.len() + 1];
    let step = |shorter: &[usize], mut length: usize, item: usize| -> usize {
        loop {
            if wanted.get(length) == Some(&item) {
                return length + 1;
            } else if length == 0 {
                return 0;
            }
            length = shorter.get(length).copied().unwrap_or(0);
        }
    };
    let mut length = 0;
    for (index, item) in wanted.iter().enumerate().skip(1) {
        length = step(&shorter, length, *item);
        if let Some(place) = shorter.get_mut(index + 1) {
            *place = length;
        }
    }
    let (mut length, mut longest) = (0, 0);
    for item in all {
        length = step(&shorter, length, *item);
        longest = longest.max(length);
    }
    longest
}

/// The lines of a text with their ranges, including line breaks.
fn lines(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((line, start..*at))
    })
}
