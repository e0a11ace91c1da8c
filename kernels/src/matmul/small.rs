//! Products with few rows of A: bound by reading B, so B is read once and in order.

use super::{Epilogue, Float, Kernel, MatMul, Simd, activate, cycles};
use crate::parallel::{Parallel, Shared, ranges};
use core::ops::Range;

/// Columns a task takes at once, as elements: the rows of C being summed stay in the first cache.
const COLUMNS: usize = 2048;

/// One or two rows of A times B stored `k × n`.
pub(super) fn stream<T: Float>(
    par: &dyn Parallel,
    g: &MatMul,
    a: &[T],
    b: &[T],
    c: &mut [T],
    epilogue: Epilogue<'_, T>,
) {
    let shared = Shared::new(c);
    let isa = par.isa();
    let blocks = g.n.div_ceil(T::PANEL);
    ranges(par, blocks, cycles(g.m, T::PANEL, g.k) * 4, &|range| {
        let columns = range.start * T::PANEL..(range.end * T::PANEL).min(g.n);
        for start in columns.clone().step_by(COLUMNS) {
            let columns = start..(start + COLUMNS).min(columns.end);
            for i in 0..g.m {
                // SAFETY: ranges are disjoint, so this part of row `i` of C is only here.
                let row = unsafe { shared.slice(i * g.n + columns.start, columns.len()) };
                if !g.accumulate {
                    row.fill(T::ZERO);
                }
            }
            // SAFETY: as above, one row each; a single row stands for both where there is only one.
            let (row0, row1) = unsafe {
                let second = if g.m == 2 { columns.len() } else { 0 };
                (
                    shared.slice(columns.start, columns.len()),
                    shared.slice(if g.m == 2 { g.n + columns.start } else { 0 }, second),
                )
            };
            T::stream(isa, Stream { g, a, b, columns: columns.clone(), row0, row1 });
            for i in 0..g.m {
                // SAFETY: as above; the borrows of the rows have ended.
                let row = unsafe { shared.slice(i * g.n + columns.start, columns.len()) };
                finish(row, columns.start, epilogue);
            }
        }
    });
}

/// Bias and activation over part of a row.
fn finish<T: Float>(row: &mut [T], first: usize, epilogue: Epilogue<'_, T>) {
    if let Some(bias) = epilogue.bias.and_then(|b| b.get(first..)) {
        row.iter_mut().zip(bias).for_each(|(x, &b)| *x = *x + b);
    }
    if epilogue.activation != Default::default() {
        row.iter_mut().for_each(|x| *x = activate(epilogue.activation, *x));
    }
}

/// One or two rows of C, to which the product is added.
pub struct Stream<'a, T> {
    g: &'a MatMul,
    a: &'a [T],
    b: &'a [T],
    columns: Range<usize>,
    row0: &'a mut [T],
    /// Empty when A has one row.
    row1: &'a mut [T],
}

impl<T: Float> Kernel<T> for Stream<'_, T> {
    type Output = ();

    /// Four rows of B at a time are added to the rows of C.
    #[inline(always)]
    fn run<S: Simd<T>>(self, s: S) {
        let Stream { g, a, b, columns, row0, row1 } = self;
        // A's element (i, p): with two rows transposed they alternate.
        let at = |i: usize, p: usize| if g.a_transposed { p * g.m + i } else { i * g.k + p };
        let mut p = 0;
        while p + 4 <= g.k {
            let rows: [&[T]; 4] = [
                row_of(b, g.n, p, &columns),
                row_of(b, g.n, p + 1, &columns),
                row_of(b, g.n, p + 2, &columns),
                row_of(b, g.n, p + 3, &columns),
            ];
            let x = [a[at(0, p)], a[at(0, p + 1)], a[at(0, p + 2)], a[at(0, p + 3)]];
            if row1.is_empty() {
                add_rows_1(s, row0, rows, x);
            } else {
                let y = [a[at(1, p)], a[at(1, p + 1)], a[at(1, p + 2)], a[at(1, p + 3)]];
                add_rows_2(s, row0, row1, rows, x, y);
            }
            p += 4;
        }
        while p < g.k {
            let row = row_of(b, g.n, p, &columns);
            add_row(s, row0, row, a[at(0, p)]);
            if !row1.is_empty() {
                add_row(s, row1, row, a[at(1, p)]);
            }
            p += 1;
        }
    }
}

#[inline(always)]
fn row_of<'a, T>(b: &'a [T], n: usize, p: usize, columns: &Range<usize>) -> &'a [T] {
    &b[p * n + columns.start..p * n + columns.end]
}

#[inline(always)]
fn add_row<T: Float, S: Simd<T>>(s: S, c: &mut [T], row: &[T], x: T) {
    let v = s.splat(x);
    for (c, b) in c.chunks_mut(S::LANES).zip(row.chunks(S::LANES)) {
        s.store_first(c, s.mul_add(v, s.load_first(b), s.load_first(c)));
    }
}

#[inline(always)]
fn add_rows_1<T: Float, S: Simd<T>>(s: S, c: &mut [T], rows: [&[T]; 4], x: [T; 4]) {
    let n = c.len();
    let [r0, r1, r2, r3] = rows.map(|r| &r[..n]);
    let [x0, x1, x2, x3] = [s.splat(x[0]), s.splat(x[1]), s.splat(x[2]), s.splat(x[3])];
    let whole = n / S::LANES * S::LANES;
    let mut j = 0;
    while j < whole {
        // SAFETY: `j + LANES <= n`, the length of all five slices.
        unsafe {
            let sum = s.mul_add(x0, s.load(r0.as_ptr().add(j)), s.load(c.as_ptr().add(j)));
            let sum = s.mul_add(x1, s.load(r1.as_ptr().add(j)), sum);
            let sum = s.mul_add(x2, s.load(r2.as_ptr().add(j)), sum);
            let sum = s.mul_add(x3, s.load(r3.as_ptr().add(j)), sum);
            s.store(c.as_mut_ptr().add(j), sum);
        }
        j += S::LANES;
    }
    while j < n {
        c[j] = c[j] + x[0] * r0[j] + x[1] * r1[j] + x[2] * r2[j] + x[3] * r3[j];
        j += 1;
    }
}

#[inline(always)]
fn add_rows_2<T: Float, S: Simd<T>>(s: S, c: &mut [T], d: &mut [T], rows: [&[T]; 4], x: [T; 4], y: [T; 4]) {
    let n = c.len().min(d.len());
    let [r0, r1, r2, r3] = rows.map(|r| &r[..n]);
    let [x0, x1, x2, x3] = [s.splat(x[0]), s.splat(x[1]), s.splat(x[2]), s.splat(x[3])];
    let [y0, y1, y2, y3] = [s.splat(y[0]), s.splat(y[1]), s.splat(y[2]), s.splat(y[3])];
    let whole = n / S::LANES * S::LANES;
    let mut j = 0;
    while j < whole {
        // SAFETY: `j + LANES <= n`, no more than the length of any of the six slices.
        unsafe {
            let (b0, b1) = (s.load(r0.as_ptr().add(j)), s.load(r1.as_ptr().add(j)));
            let (b2, b3) = (s.load(r2.as_ptr().add(j)), s.load(r3.as_ptr().add(j)));
            let sum = s.mul_add(x1, b1, s.mul_add(x0, b0, s.load(c.as_ptr().add(j))));
            s.store(c.as_mut_ptr().add(j), s.mul_add(x3, b3, s.mul_add(x2, b2, sum)));
            let sum = s.mul_add(y1, b1, s.mul_add(y0, b0, s.load(d.as_ptr().add(j))));
            s.store(d.as_mut_ptr().add(j), s.mul_add(y3, b3, s.mul_add(y2, b2, sum)));
        }
        j += S::LANES;
    }
    while j < n {
        c[j] = c[j] + x[0] * r0[j] + x[1] * r1[j] + x[2] * r2[j] + x[3] * r3[j];
        d[j] = d[j] + y[0] * r0[j] + y[1] * r1[j] + y[2] * r2[j] + y[3] * r3[j];
        j += 1;
    }
}

/// Few rows of A times B stored `n × k`: each row of B is read once, against all rows of A.
pub(super) fn dot<T: Float>(par: &dyn Parallel, g: &MatMul, a: &[T], b: &[T], c: &mut [T], epilogue: Epilogue<'_, T>) {
    let shared = Shared::new(c);
    let isa = par.isa();
    ranges(par, g.n, cycles(g.m, 1, g.k) * 2, &|columns| {
        for j in columns {
            for i in 0..g.m {
                let row = b.get(j * g.k..(j + 1) * g.k).unwrap_or_default();
                let sum = if g.a_transposed {
                    row.iter().enumerate().fold(T::ZERO, |sum, (p, &y)| sum + a[p * g.m + i] * y)
                } else {
                    T::dot(isa, a.get(i * g.k..(i + 1) * g.k).unwrap_or_default(), row)
                };
                // SAFETY: column `j` belongs to this task alone.
                let to = unsafe { &mut shared.slice(i * g.n + j, 1)[0] };
                let sum = if g.accumulate { *to + sum } else { sum };
                let sum = epilogue.bias.and_then(|b| b.get(j)).map_or(sum, |&b| sum + b);
                *to = activate(epilogue.activation, sum);
            }
        }
    });
}

/// The sum of products of two slices of the same length.
pub(crate) struct Dot<'a, T>(pub(crate) &'a [T], pub(crate) &'a [T]);

impl<T: Float> Kernel<T> for Dot<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run<S: Simd<T>>(self, s: S) -> T {
        let n = self.0.len().min(self.1.len());
        let (a, b) = (&self.0[..n], &self.1[..n]);
        let mut sums = [s.splat(T::ZERO); 4];
        let mut p = 0;
        while p + 4 * S::LANES <= n {
            for (u, sum) in sums.iter_mut().enumerate() {
                let at = p + u * S::LANES;
                // SAFETY: `at + LANES <= n`, the length of both slices.
                *sum = unsafe { s.mul_add(s.load(a.as_ptr().add(at)), s.load(b.as_ptr().add(at)), *sum) };
            }
            p += 4 * S::LANES;
        }
        while p + S::LANES <= n {
            // SAFETY: `p + LANES <= n`, the length of both slices.
            sums[0] = unsafe { s.mul_add(s.load(a.as_ptr().add(p)), s.load(b.as_ptr().add(p)), sums[0]) };
            p += S::LANES;
        }
        let sum = s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3]));
        let mut total = T::ZERO;
        for lane in s.lanes(sum) {
            total = total + lane;
        }
        while p < n {
            total = total + a[p] * b[p];
            p += 1;
        }
        total
    }
}
