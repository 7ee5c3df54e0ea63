//! A map that keeps its values in insertion order.

use std::collections::HashMap;
use std::hash::Hash;

pub(super) struct InOrder<K, V> {
    places: HashMap<K, usize>,
    values: Vec<V>,
}

impl<K, V> Default for InOrder<K, V> {
    fn default() -> Self {
        Self {
            places: HashMap::new(),
            values: Vec::new(),
        }
    }
}

impl<K: Hash + Eq + Clone, V> InOrder<K, V> {
    /// Changes the value of a key, inserting it if needed.
    pub(super) fn change(&mut self, key: &K, new: impl FnOnce() -> V, change: impl FnOnce(&mut V)) {
        let place = match self.places.get(key) {
            Some(place) => *place,
            None => {
                self.places.insert(key.clone(), self.values.len());
                self.values.push(new());
                self.values.len() - 1
            }
        };
        if let Some(value) = self.values.get_mut(place) {
            change(value);
        }
    }

    pub(super) fn into_values(self) -> Vec<V> {
        self.values
    }
}
