//! Conditions and sets of conditions, each numbered once.

use alloc::vec::Vec;

use hashbrown::HashMap;

use super::analyse::ValueId;
use crate::graph::NodeId;

/// The number of a set of gates; equal sets have equal numbers. 0 is the empty set.
pub(super) type SetId = u32;

/// A condition on which nodes are alive, or an event that they wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Gate {
    /// The predicate, a value of dtype bool, is `side`.
    Taken { pred: ValueId, side: bool },
    /// A group of Merges received their values.
    Merge(u32),
    /// The value of a non-constant Enter arrived.
    Entry(NodeId),
    /// Loop invariants entered from a block of the parent frame arrived; `frame` is the child.
    Invariants { source: SetId, frame: u32 },
    /// Values left a frame from a block of it.
    Exit { source: SetId },
    /// A ControlTrigger fired.
    Trigger(NodeId),
    /// A node has all of its very many conditions, or what it waits for.
    Join(NodeId),
    /// A tensor of a partial run was fed.
    Fed(NodeId),
}

/// Sets with more gates than this are replaced by a gate of their own, so that sets stay small whatever the graph.
pub(super) const GATES_MAX: usize = 24;

/// The table of sets.
pub(super) struct Sets {
    gates: HashMap<Gate, u32>,
    kinds: Vec<Gate>,
    sets: Vec<Vec<u32>>,
    numbers: HashMap<Vec<u32>, SetId>,
}

impl Sets {
    pub(super) fn new() -> Sets {
        let mut numbers = HashMap::new();
        numbers.insert(Vec::new(), 0);
        Sets { gates: HashMap::new(), kinds: Vec::new(), sets: alloc::vec![Vec::new()], numbers }
    }

    fn number(&mut self, set: Vec<u32>) -> SetId {
        if let Some(&id) = self.numbers.get(&set) {
            return id;
        }
        let id = self.sets.len() as SetId;
        self.sets.push(set.clone());
        self.numbers.insert(set, id);
        id
    }

    fn gate(&mut self, gate: Gate) -> u32 {
        let next = self.gates.len() as u32;
        let number = *self.gates.entry(gate).or_insert(next);
        if number == next {
            self.kinds.push(gate);
        }
        number
    }

    /// The gates of a set.
    pub(super) fn gates(&self, set: SetId) -> impl Iterator<Item = Gate> {
        self.sets[set as usize].iter().filter_map(|&gate| self.kinds.get(gate as usize).copied())
    }

    /// A set without the gates that `drop` names.
    pub(super) fn without(&mut self, set: SetId, drop: impl Fn(Gate) -> bool) -> SetId {
        let kept = |gate: &u32| self.kinds.get(*gate as usize).is_none_or(|&kind| !drop(kind));
        let set = self.sets[set as usize].iter().copied().filter(kept).collect();
        self.number(set)
    }

    /// The set of one gate.
    pub(super) fn single(&mut self, gate: Gate) -> SetId {
        let gate = self.gate(gate);
        self.number(alloc::vec![gate])
    }

    /// A set with one gate more.
    pub(super) fn with(&mut self, set: SetId, gate: Gate) -> SetId {
        let single = self.single(gate);
        self.union(set, single)
    }

    /// The union of two sets.
    pub(super) fn union(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        let (x, y) = (&self.sets[a as usize], &self.sets[b as usize]);
        let mut merged = Vec::with_capacity(x.len() + y.len());
        let (mut i, mut j) = (0, 0);
        while let (Some(&p), Some(&q)) = (x.get(i), y.get(j)) {
            merged.push(p.min(q));
            i += usize::from(p <= q);
            j += usize::from(q <= p);
        }
        merged.extend_from_slice(x.get(i..).unwrap_or_default());
        merged.extend_from_slice(y.get(j..).unwrap_or_default());
        self.number(merged)
    }

    /// The number of gates in a set.
    pub(super) fn size(&self, set: SetId) -> usize {
        self.sets[set as usize].len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal sets have one number, however they were made.
    #[test]
    fn unions() {
        let mut sets = Sets::new();
        let a = sets.single(Gate::Merge(0));
        let b = sets.single(Gate::Merge(1));
        let c = sets.single(Gate::Merge(2));
        let ab = sets.union(a, b);
        let bc = sets.union(b, c);
        let left = sets.union(ab, c);
        let right = sets.union(a, bc);
        assert_eq!(left, right);
        assert_eq!(sets.size(left), 3);
        assert_eq!(sets.union(left, b), left);
        assert_eq!(sets.union(0, a), a);
        assert_ne!(ab, bc);
    }
}
