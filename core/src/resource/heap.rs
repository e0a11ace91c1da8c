//! A heap of ranked things whose order among equal ranks is that of the C++ library TensorFlow is built with: which of
//! several elements of one priority leaves first can be seen from outside.

use alloc::vec::Vec;

/// The smallest rank on top.
pub(super) struct Heap<T>(Vec<(i64, T)>);

impl<T> Default for Heap<T> {
    fn default() -> Heap<T> {
        Heap(Vec::new())
    }
}

impl<T> Heap<T> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn rank(&self, at: usize) -> i64 {
        self.0.get(at).map_or(i64::MAX, |e| e.0)
    }

    pub(super) fn push(&mut self, rank: i64, value: T) {
        self.0.push((rank, value));
        self.rise(self.0.len() - 1);
    }

    /// Lets an element rise past parents of larger ranks.
    fn rise(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.rank(parent) <= self.rank(at) {
                return;
            }
            self.0.swap(at, parent);
            at = parent;
        }
    }

    /// Takes the top out: the last element sinks from there all the way down past the smaller children, and rises again.
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.0.is_empty() {
            return None;
        }
        let (_, top) = self.0.swap_remove(0);
        let (len, mut at) = (self.0.len(), 0);
        loop {
            let right = 2 * at + 2;
            let child = match right {
                _ if right < len && self.rank(right) > self.rank(right - 1) => right - 1,
                _ if right < len => right,
                _ if right == len => right - 1,
                _ => break,
            };
            self.0.swap(at, child);
            at = child;
        }
        self.rise(at);
        Some(top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks come out in order; equal ones in the order that libstdc++'s heap has.
    #[test]
    fn order() {
        let mut heap = Heap::default();
        for (i, rank) in [3, 1, 3, 1, 2, 1].into_iter().enumerate() {
            heap.push(rank, i);
        }
        let out: Vec<usize> = core::iter::from_fn(|| heap.pop()).collect();
        assert_eq!(out, [1, 5, 3, 4, 0, 2]);
        assert_eq!(heap.len(), 0);
    }
}
