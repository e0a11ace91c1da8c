//! Work split over the threads that the caller lends.
//!
//! A kernel never starts a thread. It is handed a [`Parallel`], cuts its output into disjoint pieces and asks for each
//! piece to be computed once. [`chunks_mut`] and its relatives do the cutting safely: whatever an implementation of
//! [`Parallel`] does (calls a task twice, or never), no two callers ever hold the same piece, and every piece is done on
//! return.

use crate::isa::Isa;
use core::marker::PhantomData;
use core::ops::Range;

/// Threads lent to a kernel, and the level of the machine it may use.
pub trait Parallel: Sync {
    /// How many tasks may run at once, this thread included.
    fn threads(&self) -> usize;

    /// Calls `f(0..tasks)`, each once, in any order, on any threads; returns when all have returned.
    fn parallel_for(&self, tasks: usize, f: &(dyn Fn(usize) + Sync));

    /// The vector instructions kernels use; the best the machine has unless overridden.
    fn isa(&self) -> Isa {
        Isa::detect()
    }
}

/// No threads but the caller's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inline;

impl Parallel for Inline {
    fn threads(&self) -> usize {
        1
    }

    fn parallel_for(&self, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..tasks).for_each(f);
    }
}

/// Inline at a chosen level, for tests and comparisons.
#[derive(Clone, Copy, Debug)]
pub struct InlineAt(pub Isa);

impl Parallel for InlineAt {
    fn threads(&self) -> usize {
        1
    }

    fn parallel_for(&self, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..tasks).for_each(f);
    }

    fn isa(&self) -> Isa {
        self.0
    }
}

/// Most tasks one kernel call is cut into.
pub const TASKS_MAX: usize = 64;

/// Work worth handing to another thread, in processor cycles (about 20 µs: crates with cheaper pools gain little below).
pub const CYCLES_PER_TASK: usize = 60_000;

/// How many tasks to cut `items` into when each takes about `cycles`: none without items, 1 when splitting does not pay, never more than the
/// items, four per thread (so that a late thread is made up for by the others), or [`TASKS_MAX`].
pub fn task_count(par: &dyn Parallel, items: usize, cycles: usize) -> usize {
    let threads = par.threads();
    if threads <= 1 || items == 0 {
        return items.min(1);
    }
    let worth = items.saturating_mul(cycles.max(1)) / CYCLES_PER_TASK;
    worth.min(items).min(threads.saturating_mul(4)).clamp(1, TASKS_MAX)
}

/// The `index`-th of `tasks` nearly equal consecutive ranges that cover `0..items`.
pub fn task_range(items: usize, tasks: usize, index: usize) -> Range<usize> {
    let (each, longer) = (items / tasks.max(1), items % tasks.max(1));
    let start = index * each + index.min(longer);
    start..start + each + usize::from(index < longer)
}

/// Calls `f` with consecutive ranges that cover `0..items`, each item in exactly one call, each item costing about
/// `cycles`.
pub fn ranges(par: &dyn Parallel, items: usize, cycles: usize, f: &(dyn Fn(Range<usize>) + Sync)) {
    let tasks = task_count(par, items, cycles);
    each_once(par, tasks, &|i| f(task_range(items, tasks, i)));
}

/// Calls `f(first_item, chunk)` with consecutive chunks of `data`, seen as items of `unit` elements that each cost about
/// `cycles` to compute; `f` is not called without items. Every element is in exactly one chunk; elements after the last whole item go to no one.
pub fn chunks_mut<T: Send>(
    par: &dyn Parallel,
    data: &mut [T],
    unit: usize,
    cycles: usize,
    f: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let items = data.len().checked_div(unit).unwrap_or(0);
    let tasks = task_count(par, items, cycles);
    let shared = Shared::new(data);
    each_once(par, tasks, &|i| {
        let range = task_range(items, tasks, i);
        // SAFETY: `each_once` calls each `i` at most once and the ranges of different `i` are disjoint, so no other
        // reference to these elements exists; `range.end <= items`, so the slice is inside `data`.
        let chunk = unsafe { shared.slice(range.start * unit, range.len() * unit) };
        f(range.start, chunk);
    });
}

/// What [`chunks_mut2`] calls.
pub type Task2<'f, A, B> = dyn Fn(usize, &mut [A], &mut [B]) + Sync + 'f;

/// [`chunks_mut`] over two outputs with the same items: `f(first_item, chunk_of_a, chunk_of_b)`. The items are those that
/// both have.
pub fn chunks_mut2<A: Send, B: Send>(
    par: &dyn Parallel,
    (a, unit_a): (&mut [A], usize),
    (b, unit_b): (&mut [B], usize),
    cycles: usize,
    f: &Task2<'_, A, B>,
) {
    let items = a.len().checked_div(unit_a).unwrap_or(0).min(b.len().checked_div(unit_b).unwrap_or(0));
    let tasks = task_count(par, items, cycles);
    let (a, b) = (Shared::new(a), Shared::new(b));
    each_once(par, tasks, &|i| {
        let range = task_range(items, tasks, i);
        // SAFETY: as in `chunks_mut`, for each of the two slices.
        let (a, b) = unsafe {
            (a.slice(range.start * unit_a, range.len() * unit_a), b.slice(range.start * unit_b, range.len() * unit_b))
        };
        f(range.start, a, b);
    });
}

/// Calls `f` with each index below `tasks` exactly once, whatever `par` does; at most [`TASKS_MAX`] tasks run apart.
///
/// This is what makes handing out disjoint `&mut` pieces by index sound although [`Parallel`] is a safe trait.
pub(crate) fn each_once(par: &dyn Parallel, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
    if tasks <= 1 || tasks > TASKS_MAX {
        return (0..tasks).for_each(f);
    }
    claimed(par, tasks, f);
}

#[cfg(target_has_atomic = "8")]
fn claimed(par: &dyn Parallel, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let taken = [const { AtomicBool::new(false) }; TASKS_MAX];
    let once = |i: usize| {
        if i < tasks && taken.get(i).is_some_and(|t| !t.swap(true, Relaxed)) {
            f(i);
        }
    };
    par.parallel_for(tasks, &once);
    // Only does something if `par` left tasks out.
    (0..tasks).for_each(once);
}

/// A machine without atomic exchange has one core and no threads worth asking.
#[cfg(not(target_has_atomic = "8"))]
fn claimed(_: &dyn Parallel, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
    (0..tasks).for_each(f);
}

/// A mutable slice that several tasks hold at once, each taking its own part.
pub(crate) struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Shared` only gives out `&mut T` (which may be sent, as `T: Send`), and its unsafe methods make the caller
// prove that no element is given to two tasks.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub(crate) fn new(data: &'a mut [T]) -> Self {
        Shared { start: data.as_mut_ptr(), len: data.len(), borrowed: PhantomData }
    }

    /// The elements `start..start + len`.
    ///
    /// # Safety
    /// No other live reference, here or in another task, overlaps these elements, and `start + len` is at most the
    /// slice's length.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn slice(&self, start: usize, len: usize) -> &mut [T] {
        debug_assert!(start.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: the caller's promise: inside the slice borrowed for `'a`, and not aliased.
        unsafe { core::slice::from_raw_parts_mut(self.start.add(start), len) }
    }

    /// The first element's address.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// Calls some tasks twice, some never, and some that do not exist.
    struct Wrong;

    impl Parallel for Wrong {
        fn threads(&self) -> usize {
            4
        }

        fn parallel_for(&self, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
            f(0);
            f(0);
            f(tasks);
            f(usize::MAX);
        }
    }

    /// Ranges of any count cover the items once and in order.
    #[test]
    fn ranges_cover() {
        for items in [0, 1, 2, 7, 64, 100] {
            for tasks in 1..9 {
                let mut next = 0;
                for i in 0..tasks {
                    let r = task_range(items, tasks, i);
                    assert_eq!(r.start, next);
                    next = r.end;
                }
                assert_eq!(next, items);
            }
        }
    }

    /// Even a wrong `Parallel` has each task run exactly once.
    #[test]
    fn a_wrong_parallel_runs_each_task_once() {
        let calls = AtomicUsize::new(0);
        let mut data = vec![0u8; 12];
        chunks_mut(&Wrong, &mut data, 3, CYCLES_PER_TASK, &|first, chunk| {
            calls.fetch_add(1, Ordering::Relaxed);
            for (i, x) in chunk.iter_mut().enumerate() {
                *x += (first * 3 + i) as u8;
            }
        });
        assert_eq!(calls.into_inner(), 4);
        assert_eq!(data, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    }

    /// Two outputs are cut at the same items; a zero unit has none.
    #[test]
    fn two_outputs() {
        let (mut a, mut b) = (vec![0usize; 5], vec![0usize; 10]);
        chunks_mut2(&Wrong, (&mut a, 1), (&mut b, 2), CYCLES_PER_TASK, &|first, a, b| {
            for (i, x) in a.iter_mut().enumerate() {
                *x = first + i;
                b[2 * i] = first + i;
                b[2 * i + 1] = first + i;
            }
        });
        assert_eq!(a, [0, 1, 2, 3, 4]);
        assert_eq!(b, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
        chunks_mut(&Wrong, &mut a, 0, 1, &|_, _| {});
    }
}
