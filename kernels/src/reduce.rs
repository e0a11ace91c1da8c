//! Reductions over any axes: a plan that reduces the shape to alternating kept and reduced dimensions, and folds.
//!
//! Sums of floats are kept in several lanes and added pairwise, so that the error grows with the logarithm of the
//! length within a row; halves are summed in `f32` (where TensorFlow sums columns of halves in halves, this is nearer).
//! Integer sums wrap in their own type, means divide an exact 64-bit sum, as TensorFlow's.

use crate::dims::{self, Dims, MAX_RANK, Walk};
use crate::element::{ComplexNumber, Element, Elementary, Float, Integer, Number, Real};
use crate::error::{self, Error, Result};
use crate::parallel::{Parallel, chunks_mut};

/// A fold of elements.
pub trait Fold<T: Element>: 'static {
    /// What is kept while folding.
    type Acc: Copy;
    /// Type of the result.
    type Out: Element;
    /// The fold of nothing.
    fn start() -> Self::Acc;
    /// One element more.
    fn step(acc: Self::Acc, x: T) -> Self::Acc;
    /// Two parts together.
    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The result of `n` elements.
    fn finish(acc: Self::Acc, n: usize) -> Self::Out;
}

/// How a shape is reduced along some of its axes.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    dims: Dims,
    mask: [bool; MAX_RANK],
    kept: (Dims, Dims),
    reduced: (Dims, Dims),
    inner_reduced: bool,
    len_in: usize,
    len_out: usize,
    len_group: usize,
}

impl Reduction {
    /// Reduces `dims` along `axes`, each in `[-rank, rank)`; [`Error::Argument`] for others and for an axis given twice.
    pub fn new(dims: &[usize], axes: &[i64]) -> Result<Self> {
        let mut mask = [false; MAX_RANK];
        for &a in axes {
            let slot = mask.get_mut(dims::axis(a, dims.len())?).ok_or(Error::Rank)?;
            if core::mem::replace(slot, true) {
                return Err(Error::Argument);
            }
        }
        Self::masked(dims, &mask[..dims.len().min(MAX_RANK)])
    }

    /// Reduces `dims` where `mask` is true.
    pub fn masked(dims: &[usize], mask: &[bool]) -> Result<Self> {
        error::same(mask.len(), dims.len())?;
        let dims = Dims::new(dims)?;
        let strides = dims.strides()?;
        let (mut full_mask, mut len_out, mut len_group) = ([false; MAX_RANK], 1usize, 1usize);
        // Merged dimensions, outermost first: (size, stride, reduced).
        let (mut merged, mut rank) = ([(1usize, 1usize, false); MAX_RANK], 0);
        for (i, &reduced) in mask.iter().enumerate() {
            full_mask[i] = reduced;
            let side = if reduced { &mut len_group } else { &mut len_out };
            *side = side.checked_mul(dims[i]).ok_or(Error::Overflow)?;
            if dims[i] == 1 {
                continue;
            }
            match merged[..rank].last_mut() {
                Some(last) if last.2 == reduced => *last = (last.0.saturating_mul(dims[i]), strides[i], reduced),
                _ => {
                    merged[rank] = (dims[i], strides[i], reduced);
                    rank += 1;
                }
            }
        }
        let mut plan = Self {
            dims,
            mask: full_mask,
            kept: Default::default(),
            reduced: Default::default(),
            inner_reduced: merged[..rank].last().is_some_and(|d| d.2),
            len_in: dims::count(&dims)?,
            len_out,
            len_group,
        };
        for &(size, stride, reduced) in &merged[..rank] {
            let side = if reduced { &mut plan.reduced } else { &mut plan.kept };
            side.0.push(size)?;
            side.1.push(stride)?;
        }
        Ok(plan)
    }

    /// The shape of the result: reduced axes are dropped, or kept as ones.
    pub fn output(&self, keep_dims: bool) -> Dims {
        let mut out = Dims::scalar();
        for (&size, &reduced) in self.dims.iter().zip(&self.mask) {
            if !reduced || keep_dims {
                // The rank does not grow, so the push fits.
                let _ = out.push(if reduced { 1 } else { size });
            }
        }
        out
    }

    /// Elements of the result.
    pub fn len(&self) -> usize {
        self.len_out
    }

    /// Whether the result has no elements.
    pub fn is_empty(&self) -> bool {
        self.len_out == 0
    }

    /// Elements folded into each one of the result.
    pub fn group(&self) -> usize {
        self.len_group
    }

    /// Folds `x` into `out`, which has [`len`](Self::len) elements.
    pub fn run<Op: Fold<T>, T: Element>(&self, x: &[T], out: &mut [Op::Out]) -> Result<()> {
        error::same(out.len(), self.len_out)?;
        self.run_part::<Op, T>(x, 0, out)
    }

    /// [`run`](Self::run) on the caller's threads, which share the results; one result is computed by one thread.
    pub fn run_on<Op: Fold<T>, T: Element>(&self, par: &dyn Parallel, x: &[T], out: &mut [Op::Out]) -> Result<()> {
        error::same(x.len(), self.len_in)?;
        error::same(out.len(), self.len_out)?;
        // Lengths are all that a part could refuse. Columns are shared by cache lines.
        let unit = if self.inner_reduced || out.len() % COLUMNS != 0 { 1 } else { COLUMNS };
        chunks_mut(par, out, unit, unit.saturating_mul(self.len_group), &|first, out| {
            let _ = self.run_part::<Op, T>(x, first * unit, out);
        });
        Ok(())
    }

    /// Folds the results from `start` on, as many as `out` holds: a part of [`run`](Self::run) for one thread.
    pub fn run_part<Op: Fold<T>, T: Element>(&self, x: &[T], start: usize, out: &mut [Op::Out]) -> Result<()> {
        error::same(x.len(), self.len_in)?;
        if start.checked_add(out.len()).is_none_or(|end| end > self.len_out) {
            return Err(Error::Length);
        }
        if self.len_group == 0 {
            out.fill(Op::finish(Op::start(), 0));
            return Ok(());
        }
        if self.inner_reduced { self.rows::<Op, T>(x, start, out) } else { self.columns::<Op, T>(x, start, out) }
    }

    /// The innermost dimension is reduced: each result folds contiguous rows.
    fn rows<Op: Fold<T>, T: Element>(&self, x: &[T], start: usize, out: &mut [Op::Out]) -> Result<()> {
        // Kept dimensions in front, reduced ones behind: rows one after another.
        if self.reduced.0.len() == 1 && self.kept.0.len() <= 1 {
            let width = self.len_group;
            let x = x.get(start * width..(start + out.len()) * width).ok_or(Error::Length)?;
            for (o, row) in out.iter_mut().zip(x.chunks_exact(width)) {
                *o = Op::finish(fold::<Op, T>(row), width);
            }
            return Ok(());
        }
        let mut kept = Walk::new(&self.kept.0, &self.kept.1)?;
        kept.seek(start);
        let last = self.reduced.0.len().saturating_sub(1);
        let width = self.reduced.0.last().copied().unwrap_or(1);
        let rows = self.len_group / width;
        for o in out {
            let mut outer = Walk::new(&self.reduced.0[..last], &self.reduced.1[..last])?;
            let mut acc = fold_rows::<Op, T>(x, kept.offset(), &mut outer, width, rows.min(ROWS_BLOCK))?;
            let mut done = rows.min(ROWS_BLOCK);
            while done < rows {
                let n = (rows - done).min(ROWS_BLOCK);
                acc = Op::merge(acc, fold_rows::<Op, T>(x, kept.offset(), &mut outer, width, n)?);
                done += n;
            }
            *o = Op::finish(acc, self.len_group);
            kept.advance();
        }
        Ok(())
    }

    /// The innermost dimension is kept: accumulators stand side by side, rows are added to them.
    fn columns<Op: Fold<T>, T: Element>(&self, x: &[T], start: usize, out: &mut [Op::Out]) -> Result<()> {
        let last = self.kept.0.len().saturating_sub(1);
        let width = self.kept.0.last().copied().unwrap_or(1);
        let mut kept = Walk::new(&self.kept.0[..last], &self.kept.1[..last])?;
        kept.seek(start / width.max(1));
        let mut column = start % width.max(1);
        let mut done = 0;
        while done < out.len() {
            let n = (width - column).min(COLUMNS).min(out.len() - done);
            let base = kept.offset() + column;
            let mut walk = Walk::new(&self.reduced.0, &self.reduced.1)?;
            let mut total = [Op::start(); COLUMNS];
            let mut left = self.len_group;
            while left > 0 {
                let mut acc = [Op::start(); COLUMNS];
                let rows = left.min(ROWS_BLOCK);
                for _ in 0..rows {
                    let at = base + walk.offset();
                    for (a, &v) in acc.iter_mut().zip(x.get(at..at + n).ok_or(Error::Length)?) {
                        *a = Op::step(*a, v);
                    }
                    walk.advance();
                }
                for (t, a) in total.iter_mut().zip(acc).take(n) {
                    *t = Op::merge(*t, a);
                }
                left -= rows;
            }
            for (o, t) in out[done..].iter_mut().zip(total).take(n) {
                *o = Op::finish(t, self.len_group);
            }
            done += n;
            column += n;
            if column == width {
                column = 0;
                kept.advance();
            }
        }
        Ok(())
    }
}

/// Columns folded side by side: four cache lines of `f32`.
const COLUMNS: usize = 64;
/// Rows added one after another before their sum is merged into the total.
const ROWS_BLOCK: usize = 128;
/// Elements added in lanes before halves are merged pairwise.
const LEAF: usize = 1024;
/// Independent accumulators of a row.
const LANES: usize = 16;

fn fold_rows<Op: Fold<T>, T: Element>(
    x: &[T],
    base: usize,
    outer: &mut Walk,
    width: usize,
    rows: usize,
) -> Result<Op::Acc> {
    let mut acc = Op::start();
    for _ in 0..rows {
        let at = base + outer.offset();
        acc = Op::merge(acc, fold::<Op, T>(x.get(at..at + width).ok_or(Error::Length)?));
        outer.advance();
    }
    Ok(acc)
}

/// Folds a slice: in lanes up to 1024 elements, halves pairwise above.
pub fn fold<Op: Fold<T>, T: Element>(x: &[T]) -> Op::Acc {
    if x.len() > LEAF {
        let (a, b) = x.split_at((x.len() / 2).next_multiple_of(LANES));
        return Op::merge(fold::<Op, T>(a), fold::<Op, T>(b));
    }
    let (blocks, rest) = x.as_chunks::<LANES>();
    let mut acc = Op::start();
    if !blocks.is_empty() {
        let mut lanes = [Op::start(); LANES];
        for block in blocks {
            for (lane, &v) in lanes.iter_mut().zip(block) {
                *lane = Op::step(*lane, v);
            }
        }
        let mut half = LANES / 2;
        while half > 0 {
            for i in 0..half {
                lanes[i] = Op::merge(lanes[i], lanes[i + half]);
            }
            half /= 2;
        }
        acc = lanes[0];
    }
    rest.iter().fold(acc, |acc, &v| Op::step(acc, v))
}

macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident<$t:ident: $bound:path> in $acc:ty, start $start:expr, step($a:ident, $x:ident) $step:expr,
        merge($m:ident, $n:ident) $merge:expr, finish($f:ident, $count:ident) $finish:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;
        impl<$t: $bound> Fold<$t> for $name {
            type Acc = $acc;
            type Out = $t;
            #[inline(always)]
            fn start() -> $acc { $start }
            #[inline(always)]
            fn step($a: $acc, $x: $t) -> $acc { $step }
            #[inline(always)]
            fn merge($m: $acc, $n: $acc) -> $acc { $merge }
            #[inline(always)]
            fn finish($f: $acc, $count: usize) -> $t { $finish }
        }
    )*};
}

folds! {
    /// Sum; of nothing, zero.
    Sum<T: Number> in T::Wide, start T::Wide::ZERO, step(a, x) a.plus(x.widen()), merge(a, b) a.plus(b),
        finish(a, _n) T::narrow(a);
    /// Product; of nothing, one.
    Prod<T: Number> in T::Wide, start T::Wide::ONE, step(a, x) a.times(x.widen()), merge(a, b) a.times(b),
        finish(a, _n) T::narrow(a);
    /// Mean; of nothing, NaN, or zero for integers and complex numbers.
    Mean<T: Number> in T::Wide, start T::Wide::ZERO, step(a, x) a.plus(x.widen()), merge(a, b) a.plus(b),
        finish(a, n) T::mean(a, n);
    /// Largest, NaN if any is; of nothing, −∞ or the least integer.
    Max<T: Real> in T, start T::LOWEST, step(a, x) a.maximum(x), merge(a, b) a.maximum(b), finish(a, _n) a;
    /// Smallest, NaN if any is; of nothing, +∞ or the greatest integer.
    Min<T: Real> in T, start T::HIGHEST, step(a, x) a.minimum(x), merge(a, b) a.minimum(b), finish(a, _n) a;
    /// Square root of the sum of squares of real floats.
    EuclideanNorm<T: Float> in T::Native, start T::Native::ZERO,
        step(a, x) { let v = x.to_native(); a.plus(v.times(v)) }, merge(a, b) a.plus(b),
        finish(a, _n) T::from_native(a.sqrt());
    /// Square root of the sum of squared magnitudes of complex numbers.
    EuclideanNormComplex<T: ComplexNumber> in T, start T::ZERO, step(a, x) a.plus(x.times(x.conj())),
        merge(a, b) a.plus(b), finish(a, _n) Elementary::sqrt(a);
    /// Square root, truncated, of the sum of squares of integers.
    EuclideanNormInteger<T: Integer> in T::Wide, start T::Wide::ZERO,
        step(a, x) { let v = x.widen(); a.plus(v.times(v)) }, merge(a, b) a.plus(b),
        finish(a, _n) T::from_f64(libm::sqrt(T::wide_to_f64(a)));
    /// Sum of squares over two (`L2Loss`).
    HalfSumOfSquares<T: Float> in T::Native, start T::Native::ZERO,
        step(a, x) { let v = x.to_native(); a.plus(v.times(v)) }, merge(a, b) a.plus(b),
        finish(a, _n) T::from_native(a.times(T::Native::from_f64(0.5)));
}

/// Conjunction; of nothing, true.
#[derive(Clone, Copy, Debug, Default)]
pub struct All;
impl Fold<bool> for All {
    type Acc = bool;
    type Out = bool;
    #[inline(always)]
    fn start() -> bool {
        true
    }
    #[inline(always)]
    fn step(acc: bool, x: bool) -> bool {
        acc & x
    }
    #[inline(always)]
    fn merge(a: bool, b: bool) -> bool {
        a & b
    }
    #[inline(always)]
    fn finish(acc: bool, _n: usize) -> bool {
        acc
    }
}

/// Disjunction; of nothing, false.
#[derive(Clone, Copy, Debug, Default)]
pub struct Any;
impl Fold<bool> for Any {
    type Acc = bool;
    type Out = bool;
    #[inline(always)]
    fn start() -> bool {
        false
    }
    #[inline(always)]
    fn step(acc: bool, x: bool) -> bool {
        acc | x
    }
    #[inline(always)]
    fn merge(a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn finish(acc: bool, _n: usize) -> bool {
        acc
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use num_complex::Complex;

    fn all_of<Op: Fold<T>, T: Element>(x: &[T]) -> Op::Out {
        let mut out = [Op::Out::ZERO];
        Reduction::new(&[x.len()], &[0]).unwrap().run::<Op, T>(x, &mut out).unwrap();
        out[0]
    }

    /// Proves every axis mask of small shapes against element-by-element addition, whole and in two parts.
    #[test]
    fn every_mask_matches_indexing() {
        let data: [i32; 3 * 70 * 2 * 5] = core::array::from_fn(|i| (i * i % 1013) as i32);
        for dims in [[3, 70, 2, 5], [1, 3, 1, 70], [5, 1, 70, 3]] {
            let n = dims::count(&dims).unwrap();
            for bits in 0..16usize {
                let mask: [bool; 4] = core::array::from_fn(|d| bits >> d & 1 == 1);
                let plan = Reduction::masked(&dims, &mask).unwrap();
                let mut want = [0i32; 3 * 70 * 2 * 5];
                for (i, v) in data[..n].iter().enumerate() {
                    let (mut rest, mut at, mut step) = (i, 0, 1);
                    for d in (0..4).rev() {
                        if !mask[d] {
                            at += rest % dims[d] * step;
                            step *= dims[d];
                        }
                        rest /= dims[d];
                    }
                    want[at] += v;
                }
                let mut got = [0i32; 3 * 70 * 2 * 5];
                let len = plan.len();
                plan.run_part::<Sum, i32>(&data[..n], 0, &mut got[..len / 3]).unwrap();
                plan.run_part::<Sum, i32>(&data[..n], len / 3, &mut got[len / 3..len]).unwrap();
                assert_eq!(got[..len], want[..len], "{dims:?} {mask:?}");
                for par in crate::testing::machines() {
                    got.fill(-1);
                    plan.run_on::<Sum, i32>(&par, &data[..n], &mut got[..len]).unwrap();
                    assert_eq!(got[..len], want[..len], "{dims:?} {mask:?}");
                }
            }
        }
    }

    #[test]
    fn shapes_and_bad_axes() {
        let plan = Reduction::new(&[2, 3, 4], &[-1, 0]).unwrap();
        assert_eq!((&*plan.output(false), &*plan.output(true)), (&[3][..], &[1, 3, 1][..]));
        assert_eq!((plan.len(), plan.group()), (3, 8));
        assert_eq!(Reduction::new(&[2], &[1]).unwrap_err(), Error::Argument);
        assert_eq!(Reduction::new(&[2, 2], &[1, -1]).unwrap_err(), Error::Argument);
        assert_eq!(plan.run::<Sum, i32>(&[1; 23], &mut [0; 3]), Err(Error::Length));
        assert_eq!(plan.run::<Sum, i32>(&[1; 24], &mut [0; 4]), Err(Error::Length));
        // Nothing reduced, a scalar, and no elements at all.
        let mut out = [0; 2];
        Reduction::new(&[2], &[]).unwrap().run::<Sum, i32>(&[4, 5], &mut out).unwrap();
        assert_eq!(out, [4, 5]);
        Reduction::new(&[], &[]).unwrap().run::<Sum, i32>(&[4], &mut out[..1]).unwrap();
        Reduction::new(&[0, 3], &[1]).unwrap().run::<Sum, i32>(&[], &mut []).unwrap();
        Reduction::new(&[0, 2], &[0]).unwrap().run::<Sum, i32>(&[], &mut out).unwrap();
        assert_eq!(out, [0, 0]);
    }

    /// TensorFlow 2.21's answers for nothing, NaN and narrow types.
    #[test]
    fn special_values() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        assert_eq!((all_of::<Max, f32>(&[]), all_of::<Min, f32>(&[])), (-inf, inf));
        assert_eq!((all_of::<Max, i8>(&[]), all_of::<Min, u16>(&[])), (-128, 65535));
        assert_eq!((all_of::<Sum, f32>(&[]), all_of::<Prod, f16>(&[])), (0.0, f16::ONE));
        assert!(all_of::<Mean, f32>(&[]).is_nan() && all_of::<Mean, i32>(&[]) == 0);
        assert_eq!(all_of::<Mean, Complex<f32>>(&[]), Complex::new(0.0, 0.0));
        assert!(all_of::<Max, f32>(&[1.0, nan, 2.0]).is_nan() && all_of::<Min, f32>(&[nan, 1.0]).is_nan());
        assert_eq!((all_of::<Sum, i8>(&[100; 3]), all_of::<Mean, i8>(&[100; 3])), (44, 100));
        assert_eq!((all_of::<Mean, i32>(&[-1, -2, -2]), all_of::<Mean, u8>(&[1, 2, 2])), (-1, 1));
        assert_eq!(all_of::<EuclideanNormInteger, i32>(&[3, 5]), 5);
        assert_eq!(all_of::<EuclideanNorm, f32>(&[3.0, 4.0]), 5.0);
        assert_eq!(all_of::<EuclideanNormComplex, Complex<f64>>(&[Complex::new(3.0, 4.0)]), Complex::new(5.0, 0.0));
        assert_eq!((all_of::<All, bool>(&[]), all_of::<Any, bool>(&[])), (true, false));
        assert_eq!((all_of::<All, bool>(&[true, false]), all_of::<Any, bool>(&[false, true])), (false, true));
        assert_eq!(all_of::<Sum, f16>(&[f16::ONE; 5000]), f16::from_f32(5000.0));
        assert_eq!(all_of::<Sum, bf16>(&[bf16::ONE; 5000]), bf16::from_f32(5000.0));
    }

    #[test]
    fn long_sums_stay_accurate() {
        static TENTHS: [f32; 1 << 16] = [0.1; 1 << 16];
        let want = 0.1f32 as f64 * TENTHS.len() as f64;
        assert!((all_of::<Sum, f32>(&TENTHS) as f64 / want - 1.0).abs() < 1e-6);
        let mut out = [0f32; 4];
        Reduction::new(&[1 << 14, 4], &[0]).unwrap().run::<Sum, f32>(&TENTHS, &mut out).unwrap();
        assert!((out[3] as f64 / (want / 4.0) - 1.0).abs() < 4e-6, "{}", out[3]);
    }
}
