//! Who reads a value, and who reads it last: the last reader may take its memory.

use alloc::vec::Vec;

use hashbrown::HashMap;

use super::analyse::{Item, Link, Place, Plan, Taken, ValueId};
use super::sets::SetId;

/// How often and where values are read.
pub(super) struct Uses {
    /// Reads by items of the value's own block.
    pub(super) local: Vec<u32>,
    /// All reads: items, moves, conditions.
    pub(super) all: Vec<u32>,
    /// The readers of values that others than items of their own block read.
    readers: HashMap<ValueId, Vec<Reader>>,
}

/// Who comes last is not asked of values with more readers than this: each is compared with each.
const READERS_MAX: usize = 32;

/// Who reads a value: an item of a block, or a tail edge of one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reader {
    set: SetId,
    condition: Option<(ValueId, bool)>,
    is_item: bool,
}

impl Reader {
    fn item(set: SetId) -> Reader {
        Reader { set, condition: None, is_item: true }
    }

    fn moved(link: &Link) -> Reader {
        Reader { set: link.from, condition: link.condition.map(|c| (c.pred, c.side)), is_item: false }
    }

    /// Whether of the two at most one comes to read, as on the sides of a Switch.
    fn excludes(&self, other: &Reader, plan: &Plan) -> bool {
        let sides = |reader: &Reader| {
            let taken = plan.taken.get(&reader.set).map_or(&[][..], Vec::as_slice);
            taken.iter().copied().chain(reader.condition)
        };
        sides(self).any(|(pred, side)| sides(other).any(|other| other == (pred, !side)))
    }
}

impl Uses {
    pub(super) fn count(plan: &Plan) -> Uses {
        let zeros = alloc::vec![0; plan.values.len()];
        let mut uses = Uses { local: zeros.clone(), all: zeros, readers: HashMap::new() };
        for (set, block) in &plan.blocks {
            for item in &block.items {
                let mut read = |value: ValueId| {
                    let own = matches!(plan.values.get(value as usize),
                        Some(Place::Slot { set: home, .. }) if home == set);
                    uses.all[value as usize] += 1;
                    uses.local[value as usize] += u32::from(own);
                };
                match item {
                    Item::Run { inputs, .. } => inputs.iter().for_each(|&v| read(v)),
                    Item::Deref { from, .. } | Item::Fetch { from, .. } => read(*from),
                    Item::Unfed { .. } => {}
                }
            }
        }
        for link in &plan.links {
            for &(from, _) in &link.moves {
                uses.all[from as usize] += 1;
            }
            if let Some(Taken { pred, .. }) = link.condition {
                uses.all[pred as usize] += 1;
            }
        }
        uses.find_readers(plan);
        uses
    }

    fn find_readers(&mut self, plan: &Plan) {
        let slot = |value: ValueId| matches!(plan.values.get(value as usize), Some(Place::Slot { .. }));
        let mut readers: HashMap<ValueId, Vec<Reader>> = HashMap::new();
        let mut add = |value: ValueId, reader: Reader| {
            if slot(value) && !self.is_local(value) {
                readers.entry(value).or_default().push(reader);
            }
        };
        for (&set, block) in &plan.blocks {
            for item in &block.items {
                match item {
                    Item::Run { inputs, .. } => inputs.iter().for_each(|&v| add(v, Reader::item(set))),
                    Item::Deref { from, .. } | Item::Fetch { from, .. } => add(*from, Reader::item(set)),
                    Item::Unfed { .. } => {}
                }
            }
        }
        for link in &plan.links {
            for &(from, _) in &link.moves {
                add(from, Reader::moved(link));
            }
            if let Some(Taken { pred, .. }) = link.condition {
                // A condition is read for each edge, taken or not.
                add(pred, Reader { condition: None, ..Reader::moved(link) });
            }
        }
        self.readers = readers;
    }

    /// Of a value that is not local: how often items of block `set` read it, when nobody else comes to read it after them.
    pub(super) fn last_reads(&self, plan: &Plan, value: ValueId, set: SetId) -> Option<u32> {
        let readers = self.readers.get(&value).filter(|readers| readers.len() <= READERS_MAX)?;
        let this = Reader::item(set);
        let (own, others): (Vec<&Reader>, Vec<&Reader>) = readers.iter().partition(|&&reader| reader == this);
        others.iter().all(|other| this.excludes(other, plan)).then_some(own.len() as u32)
    }

    /// Whether nobody comes to read a value after the edge that moves it; items of the edge's block read it before.
    pub(super) fn is_last_move(&self, plan: &Plan, value: ValueId, link: &Link) -> bool {
        let few = self.readers.get(&value).filter(|readers| readers.len() <= READERS_MAX);
        let Some(readers) = few else { return false };
        let this = Reader::moved(link);
        let same = readers.iter().filter(|&&reader| reader == this).count();
        let own = Reader::item(link.from);
        same == 1 && readers.iter().all(|r| *r == this || *r == own || this.excludes(r, plan))
    }

    /// Whether only items of the value's own block read it.
    pub(super) fn is_local(&self, value: ValueId) -> bool {
        self.local[value as usize] == self.all[value as usize]
    }
}
