//! States of ended steps, kept so that the next step of the same program finds its memory.

use alloc::boxed::Box;
use core::any::Any;

use crate::sync::Mutex;

/// How many states a program keeps: steps beyond that many at once make theirs anew.
const KEPT: usize = 4;

/// A few cells, each on a cache line of its own, of which a step takes the first that nobody else touches.
#[derive(Default)]
pub(crate) struct Idle([Cell; KEPT]);

#[derive(Default)]
#[repr(align(64))]
struct Cell(Mutex<Option<Box<dyn Any + Send + Sync>>>);

impl Idle {
    /// Takes a state out, if there is one.
    pub(crate) fn take<S: Any>(&self) -> Option<Box<S>> {
        let state = self.0.iter().find_map(|cell| cell.0.try_lock()?.take())?;
        state.downcast().ok()
    }

    /// Keeps a state, or drops it when enough are kept.
    pub(crate) fn put(&self, state: Box<dyn Any + Send + Sync>) {
        let mut state = Some(state);
        for cell in &self.0 {
            if let Some(mut kept) = cell.0.try_lock()
                && kept.is_none()
            {
                *kept = state.take();
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is put comes out again, up to the limit.
    #[test]
    fn keeps_a_few() {
        let idle = Idle::default();
        assert!(idle.take::<u32>().is_none());
        for i in 0..10u32 {
            idle.put(Box::new(i));
        }
        let count = core::iter::from_fn(|| idle.take::<u32>()).count();
        assert_eq!(count, KEPT);
    }
}
