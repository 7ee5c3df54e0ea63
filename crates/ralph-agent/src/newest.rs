//! A bounded list, because an agent may call millions of tools in a turn.

use std::collections::VecDeque;

const MAX_ENTRIES: usize = 4096;
/// The longest id that is kept, in characters.
const ID_CHARACTERS: usize = 128;

/// The newest few thousand entries; older ones are dropped.
#[derive(Debug)]
pub(crate) struct Newest<T>(VecDeque<T>);

impl<T> Default for Newest<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Newest<T> {
    pub(crate) fn push(&mut self, entry: T) {
        if self.0.len() == MAX_ENTRIES {
            self.0.pop_front();
        }
        self.0.push_back(entry);
    }
}

impl<T> IntoIterator for Newest<T> {
    type Item = T;
    type IntoIter = std::collections::vec_deque::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T> Newest<(String, T)> {
    /// The newest entry with this id.
    pub(crate) fn get(&self, id: &str) -> Option<&T> {
        let id = short(id);
        self.0
            .iter()
            .rev()
            .find(|(other, _)| *other == id)
            .map(|(_, entry)| entry)
    }
}

/// Shortens an id; those of agents are short anyway.
pub(crate) fn short(id: &str) -> String {
    id.chars().take(ID_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_entries_are_kept() {
        let mut newest = Newest::default();
        for number in 0..1_000_000_usize {
            newest.push((number.to_string(), number));
        }
        assert_eq!(newest.0.len(), MAX_ENTRIES);
        assert_eq!(newest.get("999999"), Some(&999_999));
        assert_eq!(newest.get("5"), None);
        assert_eq!(newest.into_iter().next(), Some(("995904".to_owned(), 995_904)));
    }

    #[test]
    fn long_id_is_cut() {
        let mut newest = Newest::default();
        let id = "x".repeat(1 << 20);
        newest.push((short(&id), ()));
        assert_eq!(newest.get(&id), Some(&()));
        assert_eq!(short(&id).len(), ID_CHARACTERS);
    }
}
