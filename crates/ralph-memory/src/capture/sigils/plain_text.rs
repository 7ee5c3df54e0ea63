//! Which parts of an answer are the agent's own words: no fenced code, no block quotes, no repeat of the prompt.
//!
//! Blocks are told apart as Markdown does it, with two exceptions. Indented text is no code, because agents indent. And a
//! line that begins with a sigil begins a block, so that a stray backtick above it does not take it along.

use std::collections::HashMap;
use std::ops::Range;

use super::Name;
use super::tags::{begins_with_sigil, lone_sigil};

/// The shortest row of backticks or tildes that fences code.
const LEAST_FENCE: usize = 3;

/// The most digits of the number of a list item.
const MOST_ITEM_DIGITS: usize = 9;

/// The blocks of a text from `start` on that may hold sigils, in order. What stands before `start` is read only to know
/// whether it leaves a fence open.
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

/// What a line is to the block before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// It opens a fence.
    Fence(Fence),
    /// It closes one.
    FenceEnd,
    /// Code, a quote, or blank.
    Apart,
    /// A heading, an item of a list, or one that begins with a sigil.
    NewBlock,
    /// It goes on with the block before it.
    Words,
}

/// The row of signs that opened a fence.
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
        let content = without_item_sign(line);
        match Fence::at(content) {
            // A row of backticks with another one behind it is code within a line.
            Some((fence, info)) if fence.sign == b'~' || !info.contains('`') => return Self::Fence(fence),
            _ => {}
        }
        if content.is_empty() || content.starts_with('>') {
            Self::Apart
        } else if content.len() < line.len() || line.starts_with('#') || begins_with_sigil(line) {
            Self::NewBlock
        } else {
            Self::Words
        }
    }
}

impl Fence {
    /// The row with which a line begins, and what follows it.
    fn at(line: &str) -> Option<(Self, &str)> {
        let sign = *line.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
        let length = line.bytes().take_while(|byte| *byte == sign).count();
        (length >= LEAST_FENCE).then_some((Self { sign, length }, line.get(length..)?))
    }
}

/// A line without the signs that make it an item of a list, or of a list in a list.
fn without_item_sign(mut line: &str) -> &str {
    loop {
        let digits = line
            .bytes()
            .take(MOST_ITEM_DIGITS)
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

/// The lines of a prompt, in which a repeat of it is recognised.
#[derive(Debug)]
pub(super) struct PromptLines {
    /// The number of each different line.
    numbers: HashMap<String, usize>,
    /// The lines in order, by their numbers.
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

    /// Where the agent's own words begin, if the text begins with a part of the prompt: whole lines, whatever their quote
    /// signs and white space.
    pub(super) fn echo_end(&self, text: &str) -> usize {
        // Only lines that the prompt has, up to the first that it has not.
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
            .get(..longest_beginning(&numbers, &self.lines))
            .unwrap_or_default();
        // An answer of one word is no echo, though the prompt says how it is spelled.
        if echoed
            .iter()
            .all(|(_, line, _)| lone_sigil(line).is_some_and(Name::has_fixed_words))
        {
            return 0;
        }
        let end = echoed.last().map_or(0, |(_, _, range)| range.end);
        // Whoever begins with a tag that the prompt has on a line by itself, and ends it in words of their own, repeats
        // nothing from there on.
        let opened = echoed
            .iter()
            .rev()
            .find_map(|(_, line, range)| Some((lone_opening(line)?, range)));
        match opened {
            Some((name, range)) if first_end(text, range.end, name).is_some_and(|closed| closed >= end) => range.start,
            _ => end,
        }
    }
}

/// The name of the sigil that a line opens, if it does nothing else.
fn lone_opening(line: &str) -> Option<Name> {
    let inside = line.trim().strip_prefix('<')?.strip_suffix('>')?;
    let name = inside.split_whitespace().next()?;
    (!inside.contains(['<', '>']) && !inside.ends_with('/')).then(|| Name::parse(name.as_bytes()))?
}

/// Where the first end tag of a sigil begins, from a place in the text on.
fn first_end(text: &str, from: usize, name: Name) -> Option<usize> {
    let ends = text.get(from..)?.match_indices("</");
    let is_of = |at: usize| {
        let word = text.get(from + at + 2..).unwrap_or_default().trim_start();
        let word = word.split(|c: char| matches!(c, '<' | '>') || c.is_whitespace()).next();
        word.is_some_and(|word| Name::parse(word.as_bytes()) == Some(name))
    };
    ends.map(|(at, _)| at).find(|at| is_of(*at)).map(|at| from + at)
}

/// A line without quote signs, and with single spaces.
fn bare(line: &str) -> String {
    let line = line.trim_start_matches(|c: char| c == '>' || c.is_whitespace());
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many items at the beginning of `wanted` stand in `all` side by side (Knuth, Morris and Pratt).
fn longest_beginning(wanted: &[usize], all: &[usize]) -> usize {
    // For each length, the longest shorter beginning that also ends there.
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

/// The lines of a text with their places, line breaks included.
fn lines(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((line, start..*at))
    })
}
