//! The ids of the last requests, to refuse one that arrives twice.

use alloc::vec::Vec;

use hashbrown::HashSet;

/// Remembers the last ids up to a number. Seeing an id again does not make it younger.
pub(super) struct RecentIds {
    capacity: usize,
    seen: HashSet<i64>,
    /// A ring of the ids in order of arrival; grows with use up to the capacity.
    ring: Vec<i64>,
    oldest: usize,
}

impl RecentIds {
    pub(super) fn new(capacity: usize) -> RecentIds {
        RecentIds { capacity, seen: HashSet::new(), ring: Vec::new(), oldest: 0 }
    }

    /// Notes an id; false when it is among those remembered. 0 stands for no id and is never noted.
    pub(super) fn insert(&mut self, id: i64) -> bool {
        if id == 0 || self.capacity == 0 {
            return true;
        }
        if !self.seen.insert(id) {
            return false;
        }
        if self.ring.len() < self.capacity {
            self.ring.push(id);
        } else if let Some(place) = self.ring.get_mut(self.oldest) {
            self.seen.remove(place);
            *place = id;
            self.oldest = (self.oldest + 1) % self.capacity;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Just the last ids are refused, whatever they are, and a repeat does not refresh one.
    #[test]
    fn remembers_the_last() {
        let mut ids = RecentIds::new(3);
        assert!(ids.insert(0) && ids.insert(0));
        assert!(ids.insert(1) && ids.insert(-5) && ids.insert(3));
        assert!(!ids.insert(1) && !ids.insert(-5) && !ids.insert(3));
        assert!(ids.insert(4), "a new one takes the place of 1");
        assert!(ids.insert(1) && !ids.insert(3) && !ids.insert(4));
        assert!(ids.insert(-5), "which took the place of -5");
        assert_eq!((ids.ring.len(), ids.seen.len()), (3, 3));
    }
}
