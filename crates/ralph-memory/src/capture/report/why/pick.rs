//! Chooses the blocks of an output that fit the limit.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::message::message_line;
use super::super::normal::normalised;
use super::block::{Block, Order, Rank, Weight};
use super::indent;
use crate::capture::clean;

/// How many blocks of a rank are kept: the first and the last.
const FIRST_BLOCKS: usize = 16;
const LAST_BLOCKS: usize = 8;
/// The maximum number of remembered blocks for deduplication.
const MAX_SEEN: usize = 10_000;
/// How much of a line is kept if it does not fit, in characters. It does not depend on other lines, so that equal
/// failures look equal. Less than the minimum is useless.
const CUT_LINE: usize = 150;
const MIN_CUT: usize = 20;

/// Blocks of an output that may be useful.
#[derive(Debug, Default)]
pub(super) struct Kept {
    causes: Blocks,
    errors: Blocks,
    words: Blocks,
    met: usize,
}

/// The blocks of a rank, with their positions.
#[derive(Debug, Default)]
struct Blocks {
    first: Vec<(usize, Block)>,
    last: VecDeque<(usize, Block)>,
    seen: HashSet<u64>,
}

impl Blocks {
    fn keep(&mut self, place: usize, block: Block) {
        let mut hasher = DefaultHasher::new();
        for line in block.text(Some(Weight::Needed)).lines() {
            // With a location, another location is another failure; a log line with other numbers is the same.
            match block.rank {
                Rank::Cause => line.trim().hash(&mut hasher),
                Rank::Error => message_line(line).hash(&mut hasher),
                Rank::Word => normalised(line.trim()).hash(&mut hasher),
            }
        }
        if self.seen.len() < MAX_SEEN && !self.seen.insert(hasher.finish()) {
            return;
        }
        if self.first.len() < FIRST_BLOCKS {
            self.first.push((place, block));
            return;
        }
        if self.last.len() == LAST_BLOCKS {
            self.last.pop_front();
        }
        self.last.push_back((place, block));
    }

    fn all(self) -> Vec<(usize, Block)> {
        self.first.into_iter().chain(self.last).collect()
    }
}

impl Kept {
    pub(super) fn keep(&mut self, block: Block) {
        self.met += 1;
        let blocks = match block.rank {
            Rank::Cause => &mut self.causes,
            Rank::Error => &mut self.errors,
            Rank::Word => &mut self.words,
        };
        blocks.keep(self.met, block);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.met == 0
    }

    /// The lines that explain the failure, within this many characters. Without any, the last lines.
    pub(super) fn pick(self, last: &[String], characters: usize) -> String {
        let (causes, errors, words) = (self.causes.all(), self.errors.all(), self.words.all());
        let mut shown = Shown::new(characters);
        if !causes.is_empty() {
            let end = causes.last().map_or(0, |(place, _)| *place);
            shown.in_order(causes);
            // Errors after all causes may be another failure, or the decisive one.
            shown.in_order(errors.into_iter().filter(|(place, _)| *place > end).collect());
        } else if !errors.is_empty() {
            shown.first_and_last(errors);
        } else if !words.is_empty() {
            shown.first_and_last(words);
        } else {
            shown.last_lines(last);
        }
        shown.text()
    }
}

/// The chosen lines.
struct Shown {
    room: usize,
    parts: Vec<(usize, String)>,
}

impl Shown {
    fn new(characters: usize) -> Self {
        Self {
            // Each part counts with a line break, which the last one does not have.
            room: characters + 1,
            parts: Vec::new(),
        }
    }

    /// The first block, and those after it that fit.
    fn in_order(&mut self, mut blocks: Vec<(usize, Block)>) {
        if blocks.iter().all(|(_, block)| block.order == Order::Any) {
            let places: Vec<usize> = blocks.iter().map(|(place, _)| *place).collect();
            blocks.sort_by_cached_key(|(_, block)| normalised(&block.text(None)));
            // Makes the result independent of the order.
            let sorted = blocks.into_iter().zip(places);
            blocks = sorted.map(|((_, block), place)| (place, block)).collect();
        }
        for (place, block) in blocks {
            self.add(place, &block);
        }
    }

    /// The first block, which may cause the others, then the last ones.
    fn first_and_last(&mut self, blocks: Vec<(usize, Block)>) {
        let mut blocks = blocks.into_iter();
        let first = blocks.next();
        for (place, block) in first.into_iter().chain(blocks.rev()) {
            self.add(place, &block);
        }
    }

    fn last_lines(&mut self, lines: &[String]) {
        let mut more = Vec::new();
        for line in lines.iter().rev() {
            match self.take_room(line) {
                Some(line) => more.push(line),
                None if self.parts.is_empty() && more.is_empty() => more.push(clean(line, self.room.saturating_sub(1))),
                None => break,
            }
        }
        more.reverse();
        if !more.is_empty() {
            self.parts.push((usize::MAX, more.join("\n")));
        }
    }

    /// Adds a block with the lines that fit; skips it if none fits.
    fn add(&mut self, place: usize, block: &Block) {
        let whole = self.take_room(&block.text(None));
        let text = whole.or_else(|| {
            if self.parts.is_empty() {
                self.fitting(block)
            } else {
                None
            }
        });
        let text = text.or_else(|| self.take_room(&block.text(Some(Weight::Needed))));
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.parts.push((place, text));
        }
    }

    /// The lines of the first block that fit, needed lines first. If even its first line is too long, it is cut, and
    /// other needed lines are shortened.
    fn fitting(&mut self, block: &Block) -> Option<String> {
        let (_, message) = block.lines.iter().find(|(weight, _)| *weight == Weight::Needed)?;
        if message.chars().count() >= self.room {
            let cut = clean(message, self.room.saturating_sub(1));
            self.room = 0;
            return Some(cut);
        }
        let of = |wanted: Weight| {
            let lines = block.lines.iter().enumerate();
            lines.filter_map(move |(at, (weight, line))| (*weight == wanted).then_some((at, line.as_str())))
        };
        let mut chosen: Vec<(usize, String)> = Vec::new();
        // A value that takes all the space would leave none for the other.
        let (short, long): (Vec<_>, Vec<_>) =
            of(Weight::Needed).partition(|(_, line)| line.chars().count() <= CUT_LINE);
        for (at, line) in short {
            chosen.extend(self.take_room(line).map(|line| (at, line)));
        }
        let is_room = long.iter().map(|(_, line)| line.chars().count() + 1).sum::<usize>() <= self.room;
        let mut left = long.len();
        for (at, line) in long {
            let most = if is_room {
                usize::MAX
            } else {
                CUT_LINE.min((self.room / left).saturating_sub(1))
            };
            chosen.extend(self.take_beginning(line, most).map(|line| (at, line)));
            left -= 1;
        }
        for (at, line) in of(Weight::Helps) {
            chosen.extend(self.take_room(line).map(|line| (at, line)));
        }
        chosen.sort_unstable();
        Some(chosen.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n"))
    }

    /// The beginning of a line within this many characters; `None` if that is too short.
    fn take_beginning(&mut self, line: &str, most: usize) -> Option<String> {
        if line.chars().count() <= most {
            return self.take_room(line);
        }
        let indent = line.get(..indent(line)).unwrap_or_default();
        let room = most.saturating_sub(indent.len());
        (room >= MIN_CUT)
            .then(|| format!("{indent}{}", clean(line, room)))
            .and_then(|line| self.take_room(&line))
    }

    /// The text, if it fits.
    fn take_room(&mut self, text: &str) -> Option<String> {
        let size = text.chars().count() + 1;
        (size <= self.room).then(|| {
            self.room -= size;
            text.to_owned()
        })
    }

    fn text(mut self) -> String {
        self.parts.sort_by_key(|(place, _)| *place);
        let parts: Vec<String> = self.parts.into_iter().map(|(_, part)| part).collect();
        parts.join("\n")
    }
}
