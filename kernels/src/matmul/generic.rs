//! Matrix products of every other number type: plain loops, sums in a type wide enough.

use super::{MatMul, check};
use crate::Mismatch;
use crate::parallel::{Parallel, chunks_mut};
use half::{bf16, f16};
use num_complex::Complex;

/// Numbers that can be multiplied and summed: integers wrap round, f16 and bf16 are summed in f32 and rounded once.
pub trait Arithmetic: Copy + Send + Sync {
    /// What products are summed in.
    type Sum: Copy + Send + Sync;
    /// An empty sum.
    const EMPTY: Self::Sum;
    /// The sum of one number.
    fn widen(self) -> Self::Sum;
    /// `sum + a · b`.
    fn add_product(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    /// `a + b`.
    fn add(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// The sum as a number.
    fn narrow(sum: Self::Sum) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Arithmetic for $t {
            type Sum = $t;
            const EMPTY: $t = 0;
            #[inline(always)]
            fn widen(self) -> $t { self }
            #[inline(always)]
            fn add_product(sum: $t, a: $t, b: $t) -> $t { sum.wrapping_add(a.wrapping_mul(b)) }
            #[inline(always)]
            fn add(a: $t, b: $t) -> $t { a.wrapping_add(b) }
            #[inline(always)]
            fn narrow(sum: $t) -> $t { sum }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! themselves {
    ($($t:ty, $zero:expr;)*) => {$(
        impl Arithmetic for $t {
            type Sum = $t;
            const EMPTY: $t = $zero;
            #[inline(always)]
            fn widen(self) -> $t { self }
            #[inline(always)]
            fn add_product(sum: $t, a: $t, b: $t) -> $t { sum + a * b }
            #[inline(always)]
            fn add(a: $t, b: $t) -> $t { a + b }
            #[inline(always)]
            fn narrow(sum: $t) -> $t { sum }
        }
    )*};
}

themselves!(f32, 0.0; f64, 0.0; Complex<f32>, Complex { re: 0.0, im: 0.0 }; Complex<f64>, Complex { re: 0.0, im: 0.0 };);

macro_rules! in_f32 {
    ($($t:ty)*) => {$(
        impl Arithmetic for $t {
            type Sum = f32;
            const EMPTY: f32 = 0.0;
            #[inline(always)]
            fn widen(self) -> f32 { self.to_f32() }
            #[inline(always)]
            fn add_product(sum: f32, a: $t, b: $t) -> f32 { sum + a.to_f32() * b.to_f32() }
            #[inline(always)]
            fn add(a: f32, b: f32) -> f32 { a + b }
            #[inline(always)]
            fn narrow(sum: f32) -> $t { <$t>::from_f32(sum) }
        }
    )*};
}

in_f32!(f16 bf16);

/// Columns summed at once.
const WIDTH: usize = 16;

/// `C = op(A) · op(B)`, plus C when accumulating, for any [`Arithmetic`] type. Sizes as [`super::matmul`]; no scratch.
pub fn matmul_plain<T: Arithmetic>(
    par: &dyn Parallel,
    g: &MatMul,
    a: &[T],
    b: &[T],
    c: &mut [T],
) -> Result<(), Mismatch> {
    check(g, a.len(), Some(b.len()), c.len(), None)?;
    let (a_row, a_col) = if g.a_transposed { (1, g.m) } else { (g.k, 1) };
    chunks_mut(par, c, g.n, g.n.saturating_mul(g.k), &|first, rows| {
        for (i, row) in rows.chunks_mut(g.n).enumerate() {
            let a_first = (first + i) * a_row;
            for (block, out) in row.chunks_mut(WIDTH).enumerate() {
                let j = block * WIDTH;
                let mut sums = [T::EMPTY; WIDTH];
                if g.b_transposed {
                    for (sum, y) in sums.iter_mut().zip(b[j * g.k..].chunks(g.k.max(1))).take(out.len()) {
                        for (p, &y) in y.iter().enumerate() {
                            *sum = T::add_product(*sum, a[a_first + p * a_col], y);
                        }
                    }
                } else {
                    for p in 0..g.k {
                        let x = a[a_first + p * a_col];
                        let from = &b[p * g.n + j..p * g.n + j + out.len()];
                        for (sum, &y) in sums.iter_mut().zip(from) {
                            *sum = T::add_product(*sum, x, y);
                        }
                    }
                }
                for (to, &sum) in out.iter_mut().zip(&sums) {
                    *to = T::narrow(if g.accumulate { T::add(to.widen(), sum) } else { sum });
                }
            }
        }
    });
    Ok(())
}
