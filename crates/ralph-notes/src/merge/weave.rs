//! Determines the order of the merged file: a three-way merge of pieces in which entries never conflict.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::side::{Piece, PieceKey};

/// A piece with the number that identifies it in comparisons.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    symbol: u32,
    pub(super) piece: Piece<'a>,
}

/// Assigns equal numbers to equal pieces.
#[derive(Debug, Default)]
pub(super) struct Symbols<'a>(HashMap<PieceKey<'a>, u32>);

impl<'a> Symbols<'a> {
    pub(super) fn tokens(&mut self, pieces: &[Piece<'a>]) -> Vec<Token<'a>> {
        pieces
            .iter()
            .map(|piece| {
                let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
                let symbol = *self.0.entry(piece.key()).or_insert(next);
                Token { symbol, piece: *piece }
            })
            .collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Ours,
    Theirs,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item<'a> {
    Text(&'a [u8]),
    /// A possible position of an entry. Another step decides whether it is used; the same id may occur more than once.
    Entry {
        id: &'a str,
        lead: &'a [u8],
        origin: Origin,
    },
    /// A conflict marker in prose, without its line break.
    Marker(&'static str),
}

/// Corresponding parts of the three files.
#[derive(Clone, Copy)]
pub(super) struct Three<'t, 'a> {
    pub(super) base: &'t [Token<'a>],
    pub(super) ours: &'t [Token<'a>],
    pub(super) theirs: &'t [Token<'a>],
}

pub(super) fn weave<'a>(files: Three<'_, 'a>) -> Woven<'a> {
    let mut woven = Woven::default();
    woven.merge(files);
    woven
}

#[derive(Debug, Default)]
pub(super) struct Woven<'a> {
    pub(super) items: Vec<Item<'a>>,
    /// The number of conflicts in prose.
    pub(super) conflicts: usize,
}

impl<'a> Woven<'a> {
    /// Merges the parts between the pieces that all three files share.
    fn merge(&mut self, three: Three<'_, 'a>) {
        for step in steps(three) {
            match step {
                Step::Same(base, ours, theirs) => self.put_same(base, ours, theirs),
                Step::Differ(stretch) => {
                    if !self.merge_one_sided(stretch) {
                        self.merge_sections(stretch);
                    }
                }
            }
        }
    }

    /// Handles a part that only one side changed, or that both changed in the same way.
    fn merge_one_sided(&mut self, three: Three<'_, 'a>) -> bool {
        let Three { base, ours, theirs } = three;
        if same(ours, base) {
            self.put_all(theirs, Origin::Theirs);
        } else if same(theirs, base) || same(ours, theirs) {
            let origin = if same(ours, theirs) { Origin::Both } else { Origin::Ours };
            self.put_all(ours, origin);
        } else {
            return false;
        }
        true
    }

    /// Merges a part that both sides changed section by section, because each may have added its own section.
    fn merge_sections(&mut self, three: Three<'_, 'a>) {
        let [base, ours, theirs] = [three.base, three.ours, three.theirs].map(runs);
        let only_theirs = theirs.iter().filter(|run| find(&ours, run.key).is_none());
        for run in ours.iter().chain(only_theirs) {
            let [base, ours, theirs] = [&base, &ours, &theirs].map(|runs| find(runs, run.key));
            let stretch = Three {
                base: base.map_or(&[], |run| run.tokens),
                ours: ours.map_or(&[], |run| run.tokens),
                theirs: theirs.map_or(&[], |run| run.tokens),
            };
            let untouched = base.is_some_and(|base| same(base.tokens, run.tokens));
            let taken_away = untouched && (ours.is_none() || theirs.is_none());
            if let Some(title) = run.title.filter(|_| !taken_away) {
                self.items.push(Item::Text(title.piece.bytes()));
            }
            if !self.merge_one_sided(stretch) {
                self.merge_run(stretch);
            }
        }
    }

    /// Merges a part of one section that both sides changed. If only one side changed the prose, the other side's
    /// entries are inserted into it; otherwise the prose is merged separately, and the entries follow it.
    fn merge_run(&mut self, three: Three<'_, 'a>) {
        let prose = |tokens: &[Token<'a>]| -> Vec<Token<'a>> {
            tokens.iter().filter(|token| !token.piece.is_entry()).copied().collect()
        };
        let [base, ours, theirs] = [three.base, three.ours, three.theirs].map(prose);
        let ours_only = missing_entries(three.ours, three.theirs);
        let theirs_only = missing_entries(three.theirs, three.ours);
        if same(&theirs, &base) || same(&ours, &theirs) {
            let last = three.ours.iter().rposition(|token| token.piece.is_entry());
            let (before, after) = three.ours.split_at(last.map_or(three.ours.len(), |last| last + 1));
            self.put_all(before, Origin::Ours);
            self.put_all(&theirs_only, Origin::Theirs);
            self.put_all(after, Origin::Ours);
        } else if same(&ours, &base) {
            let in_base = symbols(three.base);
            let added = |token: &Token<'a>| token.piece.is_entry() && !in_base.contains(&token.symbol);
            let first = three.theirs.iter().position(added);
            let last = three.theirs.iter().rposition(|token| token.piece.is_entry());
            let at = first.or(last.map(|last| last + 1)).unwrap_or(three.theirs.len());
            let (before, after) = three.theirs.split_at(at);
            self.put_all(before, Origin::Theirs);
            self.put_all(&ours_only, Origin::Ours);
            self.put_all(after, Origin::Theirs);
        } else {
            self.merge_prose(Three {
                base: &base,
                ours: &ours,
                theirs: &theirs,
            });
            let entries: Vec<Token<'a>> = three
                .ours
                .iter()
                .filter(|token| token.piece.is_entry())
                .copied()
                .collect();
            self.put_all(&entries, Origin::Ours);
            self.put_all(&theirs_only, Origin::Theirs);
        }
    }

    /// Merges prose that both sides changed line by line.
    fn merge_prose(&mut self, three: Three<'_, 'a>) {
        for step in steps(three) {
            match step {
                Step::Same(base, ours, theirs) => self.put_same(base, ours, theirs),
                Step::Differ(stretch) => {
                    if !self.merge_one_sided(stretch) {
                        self.put_conflicts(stretch);
                    }
                }
            }
        }
    }

    /// Writes lines that both sides changed differently: common lines once, the rest between markers.
    fn put_conflicts(&mut self, three: Three<'_, 'a>) {
        let is_blank = |tokens: &[Token<'a>]| tokens.iter().all(|token| token.piece.bytes().trim_ascii().is_empty());
        let mut from = (0, 0);
        let mut matches = matching(three.ours, three.theirs);
        matches.push((three.ours.len(), three.theirs.len()));
        for (at_ours, at_theirs) in matches {
            let ours = three.ours.get(from.0..at_ours).unwrap_or_default();
            let theirs = three.theirs.get(from.1..at_theirs).unwrap_or_default();
            if is_blank(theirs) && (is_blank(ours) || three.base.is_empty()) {
                self.put_all(ours, Origin::Ours);
            } else if is_blank(ours) && three.base.is_empty() {
                self.put_all(theirs, Origin::Theirs);
            } else {
                self.conflicts += 1;
                self.items.push(Item::Marker("<<<<<<< ours"));
                self.put_all(ours, Origin::Ours);
                self.items.push(Item::Marker("======="));
                self.put_all(theirs, Origin::Theirs);
                self.items.push(Item::Marker(">>>>>>> theirs"));
            }
            if let Some(token) = three.ours.get(at_ours) {
                self.put(*token, Origin::Both);
            }
            from = (at_ours + 1, at_theirs + 1);
        }
    }

    /// Adds a piece that all three have, with the bytes of the side that changed them.
    fn put_same(&mut self, base: Token<'a>, ours: Token<'a>, theirs: Token<'a>) {
        let changed_by_ours = ours.piece.bytes() != base.piece.bytes();
        self.put(if changed_by_ours { ours } else { theirs }, Origin::Both);
    }

    fn put_all(&mut self, tokens: &[Token<'a>], origin: Origin) {
        for token in tokens {
            self.put(*token, origin);
        }
    }

    fn put(&mut self, token: Token<'a>, origin: Origin) {
        self.items.push(match token.piece {
            Piece::Entry { id, lead } => Item::Entry { id, lead, origin },
            Piece::Line(bytes) | Piece::Section { bytes, .. } => Item::Text(bytes),
        });
    }
}

fn same(a: &[Token<'_>], b: &[Token<'_>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.symbol == b.symbol)
}

fn symbols(tokens: &[Token<'_>]) -> HashSet<u32> {
    tokens.iter().map(|token| token.symbol).collect()
}

/// The entries of one side that the other does not have in this part.
fn missing_entries<'a>(from: &[Token<'a>], other: &[Token<'a>]) -> Vec<Token<'a>> {
    let there = symbols(other);
    from.iter()
        .filter(|token| token.piece.is_entry() && !there.contains(&token.symbol))
        .copied()
        .collect()
}

/// The pieces under one section heading, or before the first.
#[derive(Clone, Copy)]
struct Run<'t, 'a> {
    /// The symbol of the heading, and how many earlier headings in this part have the same one.
    key: (Option<u32>, usize),
    title: Option<Token<'a>>,
    tokens: &'t [Token<'a>],
}

/// The run before the first heading, which may be empty, then one run per heading.
fn runs<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<Run<'t, 'a>> {
    let is_title = |token: &Token<'_>| matches!(token.piece, Piece::Section { .. });
    let mut runs: Vec<Run<'t, 'a>> = Vec::new();
    let mut title = None;
    let mut rest = tokens;
    loop {
        let end = rest.iter().position(is_title).unwrap_or(rest.len());
        let (tokens, after) = rest.split_at(end);
        let symbol = title.map(|title: Token<'a>| title.symbol);
        let before = runs.iter().filter(|run| run.key.0 == symbol).count();
        let key = (symbol, before);
        runs.push(Run { key, title, tokens });
        let Some((next, after)) = after.split_first() else {
            return runs;
        };
        (title, rest) = (Some(*next), after);
    }
}

fn find<'t, 'a>(runs: &[Run<'t, 'a>], key: (Option<u32>, usize)) -> Option<Run<'t, 'a>> {
    runs.iter().find(|run| run.key == key).copied()
}

enum Step<'t, 'a> {
    Same(Token<'a>, Token<'a>, Token<'a>),
    Differ(Three<'t, 'a>),
}

/// The pieces that all three have, in order, and the parts between them.
fn steps<'t, 'a>(three: Three<'t, 'a>) -> Vec<Step<'t, 'a>> {
    let in_ours: HashMap<usize, usize> = matching(three.base, three.ours).into_iter().collect();
    let in_theirs: HashMap<usize, usize> = matching(three.base, three.theirs).into_iter().collect();
    let mut steps = Vec::new();
    let mut from = (0, 0, 0);
    for (at, base) in three.base.iter().enumerate() {
        if let (Some(&ours), Some(&theirs)) = (in_ours.get(&at), in_theirs.get(&at))
            && let (Some(our), Some(their)) = (three.ours.get(ours), three.theirs.get(theirs))
        {
            steps.extend(three.between(from.0..at, from.1..ours, from.2..theirs));
            steps.push(Step::Same(*base, *our, *their));
            from = (at + 1, ours + 1, theirs + 1);
        }
    }
    let rest = three.between(
        from.0..three.base.len(),
        from.1..three.ours.len(),
        from.2..three.theirs.len(),
    );
    steps.extend(rest);
    steps
}

impl<'t, 'a> Three<'t, 'a> {
    fn between(self, base: Range<usize>, ours: Range<usize>, theirs: Range<usize>) -> Option<Step<'t, 'a>> {
        let part = Self {
            base: self.base.get(base)?,
            ours: self.ours.get(ours)?,
            theirs: self.theirs.get(theirs)?,
        };
        let empty = part.base.is_empty() && part.ours.is_empty() && part.theirs.is_empty();
        (!empty).then_some(Step::Differ(part))
    }
}

/// The equal pieces of two lists, in the order of both.
fn matching(a: &[Token<'_>], b: &[Token<'_>]) -> Vec<(usize, usize)> {
    let (places_a, symbols_a) = shared(a, b);
    let (places_b, symbols_b) = shared(b, a);
    let place = |places: &[usize], index: usize| places.get(index).copied();
    capture_diff_slices(Algorithm::Patience, &symbols_a, &symbols_b)
        .into_iter()
        .filter_map(|op| match op {
            DiffOp::Equal {
                old_index,
                new_index,
                len,
            } => Some((old_index..old_index + len).zip(new_index..new_index + len)),
            _ => None,
        })
        .flatten()
        .filter_map(|(in_a, in_b)| Some((place(&places_a, in_a)?, place(&places_b, in_b)?)))
        .collect()
}

/// The pieces that both lists have, with their positions. Pieces in only one list cannot match, and comparing two long
/// lists with little in common takes minutes.
fn shared(tokens: &[Token<'_>], other: &[Token<'_>]) -> (Vec<usize>, Vec<u32>) {
    let there = symbols(other);
    tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| there.contains(&token.symbol))
        .map(|(place, token)| (place, token.symbol))
        .unzip()
}
