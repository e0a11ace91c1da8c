//! Broadcasting: one driver that walks N operands of any shapes, and row functions that do the work.
//!
//! A [`Broadcast`] is made once for a set of shapes. It merges dimensions that behave alike, so that two equal shapes are
//! one row, and a matrix plus a bias is a loop over rows. Operand `k` advances by [`Broadcast::inner`]`[k]` (one or zero)
//! within a row; [`Broadcast::rows`] tells where each row begins. Ranges of the output may be computed apart, in any
//! order and on any thread.

use crate::dims::{self, Dims, MAX_RANK};
use crate::error::{self, Error, Result};

/// The shape of `a` and `b` broadcast together; [`Error::Incompatible`] where neither is one and they differ.
pub fn broadcast_shapes(a: &[usize], b: &[usize]) -> Result<Dims> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut out = Dims::new(long)?;
    let skip = long.len() - short.len();
    for (o, &s) in out.as_mut_slice().iter_mut().skip(skip).zip(short) {
        *o = match (*o, s) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => return Err(Error::Incompatible),
        };
    }
    dims::count(&out)?;
    Ok(out)
}

/// The axes of the broadcast shape along which `a`'s gradient (first list) and `b`'s (second) must be summed, as
/// `BroadcastGradientArgs` gives them: where the operand has size one, and all where both have.
pub fn gradient_axes(a: &[usize], b: &[usize]) -> Result<(Dims, Dims)> {
    let out = broadcast_shapes(a, b)?;
    let mut axes = [Dims::scalar(), Dims::scalar()];
    for i in 0..out.len() {
        for (list, shape) in axes.iter_mut().zip([a, b]) {
            let size = (i + shape.len()).checked_sub(out.len()).and_then(|j| shape.get(j));
            if size.is_none_or(|&s| s == 1) {
                list.push(i)?;
            }
        }
    }
    Ok((axes[0], axes[1]))
}

/// How N operands map onto one output shape.
#[derive(Clone, Copy, Debug)]
pub struct Broadcast<const N: usize> {
    len: usize,
    rank: usize,
    sizes: [usize; MAX_RANK],
    strides: [[usize; N]; MAX_RANK],
    counts: [usize; N],
}

impl<const N: usize> Broadcast<N> {
    /// Broadcasts all of `shapes` together.
    pub fn new(shapes: [&[usize]; N]) -> Result<Self> {
        let mut out = Dims::scalar();
        for s in shapes {
            out = broadcast_shapes(&out, s)?;
        }
        Self::onto(shapes, &out)
    }

    /// Broadcasts `shapes` onto `out`; [`Error::Incompatible`] if one does not stretch to it.
    pub fn onto(shapes: [&[usize]; N], out: &[usize]) -> Result<Self> {
        let mut plan =
            Self { len: dims::count(out)?, rank: 0, sizes: [1; MAX_RANK], strides: [[0; N]; MAX_RANK], counts: [1; N] };
        if out.len() > MAX_RANK {
            return Err(Error::Rank);
        }
        // Innermost first; merged dimensions are appended, then reversed.
        for i in (0..out.len()).rev() {
            let mut steps = [0; N];
            for (k, shape) in shapes.iter().enumerate() {
                let size = match (i + shape.len()).checked_sub(out.len()) {
                    Some(j) => shape[j],
                    None => 1,
                };
                if size == out[i] && size != 1 {
                    steps[k] = plan.counts[k];
                } else if size != 1 {
                    return Err(Error::Incompatible);
                }
                plan.counts[k] = plan.counts[k].checked_mul(size).unwrap_or(0);
            }
            if out[i] == 1 {
                continue;
            }
            let merges = plan.rank > 0 && {
                let last = plan.rank - 1;
                (0..N).all(|k| match plan.strides[last][k] {
                    0 => steps[k] == 0,
                    s => steps[k] != 0 && steps[k] == s.saturating_mul(plan.sizes[last]),
                })
            };
            if merges {
                plan.sizes[plan.rank - 1] = plan.sizes[plan.rank - 1].saturating_mul(out[i]);
            } else {
                plan.sizes[plan.rank] = out[i];
                plan.strides[plan.rank] = steps;
                plan.rank += 1;
            }
        }
        if shapes.iter().any(|s| s.len() > out.len()) {
            return Err(Error::Incompatible);
        }
        if plan.rank == 0 {
            plan.rank = 1; // One element: a row of one.
        }
        plan.sizes[..plan.rank].reverse();
        plan.strides[..plan.rank].reverse();
        Ok(plan)
    }

    /// Elements of the output.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the output has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Elements each operand must have.
    pub fn counts(&self) -> [usize; N] {
        self.counts
    }

    /// What each operand advances by within a row: one or zero.
    pub fn inner(&self) -> [usize; N] {
        self.strides[self.rank - 1].map(|s| s.min(1))
    }

    /// Calls `f(operand offsets, output offset from start, row length)` for each stretch of the outputs
    /// `start .. start + len`. Stops at the first error.
    pub fn rows(
        &self,
        start: usize,
        len: usize,
        f: &mut dyn FnMut([usize; N], usize, usize) -> Result<()>,
    ) -> Result<()> {
        if start.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(Error::Length);
        }
        if len == 0 {
            return Ok(());
        }
        let outer = self.rank - 1;
        let width = self.sizes[outer];
        // Where `start` is, in each dimension and operand.
        let mut at = [0usize; MAX_RANK];
        let mut offsets = [0usize; N];
        let mut row = start / width;
        for d in (0..outer).rev() {
            at[d] = row % self.sizes[d];
            row /= self.sizes[d];
            for (o, s) in offsets.iter_mut().zip(self.strides[d]) {
                *o += at[d] * s;
            }
        }
        let mut column = start % width;
        let mut done = 0;
        loop {
            let n = (width - column).min(len - done);
            let mut here = offsets;
            for (o, s) in here.iter_mut().zip(self.strides[outer]) {
                *o += column * s;
            }
            f(here, done, n)?;
            done += n;
            if done == len {
                return Ok(());
            }
            column = 0;
            let mut d = outer;
            while d > 0 {
                d -= 1;
                at[d] += 1;
                for (o, s) in offsets.iter_mut().zip(self.strides[d]) {
                    *o += s;
                }
                if at[d] < self.sizes[d] {
                    break;
                }
                for (o, s) in offsets.iter_mut().zip(self.strides[d]) {
                    *o -= self.sizes[d] * s;
                }
                at[d] = 0;
            }
        }
    }
}

/// The three rows of a binary operation. A row that stands still has one element.
#[derive(Debug)]
pub struct Rows<A, B, O> {
    /// `a[i] ∘ b[i]`.
    pub both: fn(&[A], &[B], &mut [O]),
    /// `a ∘ b[i]`.
    pub left: fn(&A, &[B], &mut [O]),
    /// `a[i] ∘ b`.
    pub right: fn(&[A], &B, &mut [O]),
}

impl<A, B, O> Clone for Rows<A, B, O> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A, B, O> Copy for Rows<A, B, O> {}

impl Broadcast<2> {
    /// Runs `rows` for the outputs from `start` on, as many as `out` holds.
    pub fn run<A, B, O>(&self, rows: Rows<A, B, O>, a: &[A], b: &[B], start: usize, out: &mut [O]) -> Result<()> {
        error::same(a.len(), self.counts[0])?;
        error::same(b.len(), self.counts[1])?;
        let [step_a, step_b] = self.inner();
        let len = out.len();
        self.rows(start, len, &mut |[i, j], at, n| {
            let out = out.get_mut(at..at + n).ok_or(Error::Length)?;
            // Where neither moves the row has one element.
            let row_a = a.get(i..i + if step_a == 0 { 1 } else { n }).ok_or(Error::Length)?;
            let row_b = b.get(j..j + if step_b == 0 { 1 } else { n }).ok_or(Error::Length)?;
            match (row_a, row_b) {
                (row_a, [b]) if step_a != 0 => (rows.right)(row_a, b, out),
                ([a], row_b) => (rows.left)(a, row_b, out),
                (row_a, row_b) => (rows.both)(row_a, row_b, out),
            }
            Ok(())
        })
    }
}

/// Copies `input`, of shape `from`, stretched to the shape `to`.
pub fn broadcast_to<T: Clone>(input: &[T], from: &[usize], to: &[usize], out: &mut [T]) -> Result<()> {
    let plan = Broadcast::onto([from], to)?;
    error::same(input.len(), plan.counts[0])?;
    error::same(out.len(), plan.len)?;
    let [step] = plan.inner();
    plan.rows(0, plan.len, &mut |[i], at, n| {
        let out = out.get_mut(at..at + n).ok_or(Error::Length)?;
        if step == 0 {
            out.fill(input.get(i).ok_or(Error::Length)?.clone());
        } else {
            out.clone_from_slice(input.get(i..i + n).ok_or(Error::Length)?);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that merging and ranges agree with indexing element by element, over all small shapes.
    #[test]
    fn every_small_pair_of_shapes_matches_indexing() {
        let sizes = [1usize, 2, 3];
        let shapes: [[usize; 3]; 27] = core::array::from_fn(|i| [sizes[i % 3], sizes[i / 3 % 3], sizes[i / 9]]);
        let rows = Rows::<u32, u32, u32> {
            both: |a, b, o| (0..o.len()).for_each(|i| o[i] = a[i] * 100 + b[i]),
            left: |a, b, o| (0..o.len()).for_each(|i| o[i] = a * 100 + b[i]),
            right: |a, b, o| (0..o.len()).for_each(|i| o[i] = a[i] * 100 + b),
        };
        let data: [u32; 27] = core::array::from_fn(|i| i as u32);
        for a in &shapes {
            for b in &shapes {
                for skip in 0..3 {
                    let b = &b[skip..];
                    let Ok(out) = broadcast_shapes(a, b) else {
                        assert!(a[skip..].iter().zip(b).any(|(x, y)| x != y && *x != 1 && *y != 1));
                        assert!(Broadcast::new([a, b]).is_err());
                        continue;
                    };
                    let plan = Broadcast::new([a, b]).unwrap();
                    let (na, nb, n) = (dims::count(a).unwrap(), dims::count(b).unwrap(), dims::count(&out).unwrap());
                    assert_eq!((plan.counts(), plan.len()), ([na, nb], n));
                    let mut got = [0u32; 27];
                    let cut = n / 2;
                    plan.run(rows, &data[..na], &data[..nb], 0, &mut got[..cut]).unwrap();
                    plan.run(rows, &data[..na], &data[..nb], cut, &mut got[cut..n]).unwrap();
                    let index = |shape: &[usize], i: usize| {
                        let (mut rest, mut step, mut at) = (i, 1, 0);
                        for d in (0..out.len()).rev() {
                            let coordinate = rest % out[d];
                            rest /= out[d];
                            if let Some(j) = (d + shape.len()).checked_sub(out.len()) {
                                at += if shape[j] == 1 { 0 } else { coordinate * step };
                                step *= shape[j];
                            }
                        }
                        at as u32
                    };
                    for (i, &g) in got[..n].iter().enumerate() {
                        assert_eq!(g, index(a, i) * 100 + index(b, i), "{a:?} {b:?} {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn merges_what_behaves_alike() {
        let rank = |a: &[usize], b: &[usize]| Broadcast::new([a, b]).unwrap().rank;
        assert_eq!(rank(&[2, 3, 4, 5], &[2, 3, 4, 5]), 1);
        assert_eq!(rank(&[8, 7, 7, 16], &[16]), 2);
        assert_eq!(rank(&[8, 7, 7, 16], &[]), 1);
        assert_eq!(rank(&[8, 1, 7, 16], &[1, 1, 7, 16]), 2);
        assert_eq!(rank(&[1, 1], &[1]), 1);
    }

    #[test]
    fn empty_and_impossible() {
        assert_eq!(&*broadcast_shapes(&[0, 3], &[1]).unwrap(), &[0, 3]);
        assert_eq!(broadcast_shapes(&[0], &[2]), Err(Error::Incompatible));
        assert_eq!(broadcast_shapes(&[usize::MAX, 1], &[2]), Err(Error::Overflow));
        assert_eq!(broadcast_shapes(&[1; 9], &[1]), Err(Error::Rank));
        let mut out = [7; 6];
        broadcast_to(&[1, 2], &[2, 1], &[2, 3], &mut out).unwrap();
        assert_eq!(out, [1, 1, 1, 2, 2, 2]);
        assert_eq!(broadcast_to(&[1, 2], &[2], &[2, 3], &mut out), Err(Error::Incompatible));
        assert_eq!(broadcast_to(&[1, 2, 3], &[1, 1, 3], &[2, 3], &mut out), Err(Error::Incompatible));
        broadcast_to::<u8>(&[], &[0], &[2, 0], &mut []).unwrap();
        let (a, b) = gradient_axes(&[2, 3, 5], &[1, 5]).unwrap();
        assert_eq!((&*a, &*b), (&[][..], &[0, 1][..]));
    }
}
