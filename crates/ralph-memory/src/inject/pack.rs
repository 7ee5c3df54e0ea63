//! Packs whole items into a budget: first a share for each group, so that no group starves another, then the rest in
//! order of preference. An item that does not fit is skipped, and the next is tried.

use ralph_model::Budget;

/// A candidate; items are in order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Counted from 0.
    pub group: usize,
    /// In characters.
    pub size: usize,
}

/// Sizes of the text around the items, in characters.
#[derive(Debug, Clone, Copy)]
pub struct Sizes<'a> {
    /// Once, if there is any item.
    pub frame: usize,
    /// Once for each group with an item.
    pub group: &'a [usize],
    /// At the end, if an item was left out.
    pub note: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packed {
    /// The positions of the chosen items, ascending.
    pub chosen: Vec<usize>,
    /// Whether the note about items left out fits.
    pub note_fits: bool,
}

/// Chooses items for a budget.
#[must_use]
pub fn pack(items: &[Item], sizes: &Sizes<'_>, budget: Budget) -> Packed {
    let mut all = Choice::new(items, sizes, budget);
    if (0..items.len()).all(|position| all.take(position)) {
        return all.packed(true);
    }
    let mut room = budget;
    let note_fits = room.take(sizes.note);
    let mut choice = Choice::new(items, sizes, room);
    let mut groups: Vec<usize> = items.iter().map(|item| item.group).collect();
    groups.sort_unstable();
    groups.dedup();
    for group in &groups {
        let mut share = room.share(groups.len());
        for (position, item) in items.iter().enumerate().filter(|(_, item)| item.group == *group) {
            if share.take(item.size + choice.opening(*group)) && !choice.take(position) {
                share.give_back(item.size + choice.opening(*group));
            }
        }
    }
    for position in 0..items.len() {
        choice.take(position);
    }
    choice.packed(note_fits)
}

struct Choice<'a> {
    items: &'a [Item],
    sizes: &'a Sizes<'a>,
    budget: Budget,
    chosen: Vec<bool>,
    opened: Vec<usize>,
}

impl<'a> Choice<'a> {
    fn new(items: &'a [Item], sizes: &'a Sizes<'a>, budget: Budget) -> Self {
        Self {
            items,
            sizes,
            budget,
            chosen: vec![false; items.len()],
            opened: Vec::new(),
        }
    }

    /// The overhead of the first item of a group.
    fn opening(&self, group: usize) -> usize {
        let frame = if self.opened.is_empty() { self.sizes.frame } else { 0 };
        if self.opened.contains(&group) {
            0
        } else {
            frame + self.sizes.group.get(group).copied().unwrap_or_default()
        }
    }

    /// Takes an item if it fits or was taken before.
    fn take(&mut self, position: usize) -> bool {
        let (Some(item), Some(chosen)) = (self.items.get(position), self.chosen.get(position)) else {
            return false;
        };
        if *chosen {
            return true;
        }
        let fits = self.budget.take(item.size + self.opening(item.group));
        if fits {
            if !self.opened.contains(&item.group) {
                self.opened.push(item.group);
            }
            if let Some(chosen) = self.chosen.get_mut(position) {
                *chosen = true;
            }
        }
        fits
    }

    fn packed(self, note_fits: bool) -> Packed {
        Packed {
            chosen: self
                .chosen
                .iter()
                .enumerate()
                .filter(|(_, chosen)| **chosen)
                .map(|(position, _)| position)
                .collect(),
            note_fits,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ralph_model::Tokens;

    use super::*;

    const SIZES: Sizes<'_> = Sizes {
        frame: 8,
        group: &[4, 4, 4],
        note: 12,
    };

    fn chosen(items: &[(usize, usize)], tokens: u32) -> Vec<usize> {
        let items: Vec<Item> = items
            .iter()
            .map(|(group, size)| Item {
                group: *group,
                size: *size,
            })
            .collect();
        pack(&items, &SIZES, Budget::of(Tokens(tokens))).chosen
    }

    #[test]
    fn everything_is_included_while_it_fits() {
        assert_eq!(chosen(&[(0, 40), (1, 40), (2, 40)], 35), [0, 1, 2]);
        assert_eq!(chosen(&[(0, 4000), (1, 4000)], 0), [0, 1], "0 is unlimited");
    }

    #[test]
    fn fault_20_one_group_does_not_starve_the_others() {
        let items: Vec<(usize, usize)> = (0..20).map(|n| (usize::from(n >= 18), 40)).collect();
        let kept = chosen(&items, 100);
        assert!(kept.contains(&18) && kept.contains(&0), "{kept:?}");
    }

    #[test]
    fn fault_20_one_large_item_does_not_block_those_after_it() {
        assert_eq!(chosen(&[(0, 4000), (0, 40), (0, 40)], 40), [1, 2]);
    }

    proptest! {
        #[test]
        fn packing_respects_the_budget_and_fills_it(
            items in prop::collection::vec((0usize..3, 0usize..200), 0..30), tokens in 1u32..200
        ) {
            let kept = chosen(&items, tokens);
            let mut groups: Vec<usize> = kept.iter().map(|p| items[*p].0).collect();
            groups.sort_unstable();
            groups.dedup();
            let mut used: usize = kept.iter().map(|p| items[*p].1).sum();
            used += groups.len() * 4 + if kept.is_empty() { 0 } else { 8 };
            if kept.len() < items.len() {
                for (position, (group, size)) in items.iter().enumerate() {
                    let opening = if groups.contains(group) { 0 } else { 4 + if kept.is_empty() { 8 } else { 0 } };
                    let fits = used + size + opening + 12 <= tokens as usize * 4;
                    prop_assert!(kept.contains(&position) || !fits, "{position} would have fitted");
                }
            }
            prop_assert!(used <= tokens as usize * 4);
        }
    }
}
