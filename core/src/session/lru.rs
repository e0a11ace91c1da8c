//! A map that keeps what was used last, up to a number of entries.

use core::hash::Hash;

use hashbrown::{Equivalent, HashMap};

/// A bounded map. Keys are compared whole, not by hash. Finding costs one look-up; only adding to a full map looks at all
/// entries, and what is added is far dearer to make than that.
pub(super) struct Lru<K, V> {
    capacity: usize,
    clock: u64,
    map: HashMap<K, (V, u64)>,
}

impl<K: Hash + Eq + Clone, V> Lru<K, V> {
    pub(super) fn new(capacity: usize) -> Lru<K, V> {
        Lru { capacity: capacity.max(1), clock: 0, map: HashMap::new() }
    }

    /// The value of a key, which is then the youngest.
    pub(super) fn get<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q) -> Option<&V> {
        self.clock += 1;
        let (value, used) = self.map.get_mut(key)?;
        *used = self.clock;
        Some(value)
    }

    /// Adds a value, or replaces that of its key; answers the one that had to go, for the caller to drop where no lock
    /// is held.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.clock += 1;
        let mut gone = None;
        if self.map.len() >= self.capacity && !self.map.contains_key(&key) {
            let oldest = self.map.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            gone = oldest.and_then(|key| self.map.remove(&key)).map(|(value, _)| value);
        }
        let replaced = self.map.insert(key, (value, self.clock)).map(|(value, _)| value);
        gone.or(replaced)
    }

    /// Takes everything out.
    pub(super) fn take(&mut self) -> HashMap<K, (V, u64)> {
        core::mem::take(&mut self.map)
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound holds and the one unused for longest goes.
    #[test]
    fn evicts_the_oldest() {
        let mut lru = Lru::new(2);
        assert_eq!(lru.insert("a", 1), None);
        assert_eq!(lru.insert("b", 2), None);
        assert_eq!(lru.get("a"), Some(&1));
        assert_eq!(lru.insert("c", 3), Some(2));
        assert_eq!(lru.len(), 2);
        assert_eq!(lru.get("a"), Some(&1));
        assert_eq!(lru.get("b"), None);
        assert_eq!(lru.insert("c", 4), Some(3), "a replaced value comes back");
        assert_eq!(lru.take().len(), 2);
        assert_eq!(lru.len(), 0);
    }
}
