//! The exponential function on vectors, which softmax and its relatives are made of.
//!
//! `exp(x) = 2^n · exp(r)` with `n` the nearest integer to `x / ln 2`, so that `|r| ≤ ln 2 / 2`, and a polynomial for
//! `exp(r)`. The scaling is done in two steps, which makes results below the normal range come out rounded, not flushed.
//! Error: at most 2 ULP for f32 and f64, tested against `libm`; NaN gives NaN, -∞ gives 0, overflow gives ∞.

use crate::isa::{Kernel, Simd};
use crate::matmul::Float;
use crate::parallel::{Parallel, chunks_mut};
use crate::{Mismatch, ensure};

/// A type with a vector exponential and a scalar logarithm.
pub trait Exponential: Float {
    /// -∞.
    const MINUS_INFINITY: Self;
    /// `exp` of each lane.
    fn exp_v<S: Simd<Self>>(s: S, x: S::V) -> S::V;
    /// The natural logarithm.
    fn ln(self) -> Self;
}

impl Exponential for f32 {
    const MINUS_INFINITY: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn exp_v<S: Simd<f32>>(s: S, x: S::V) -> S::V {
        /// 1.5 · 2^23: adding and subtracting it rounds to an integer.
        const ROUND: f32 = 12_582_912.0;
        // ln 2 in two parts, the first with few enough bits that its products with `n` are exact.
        const LN2_HIGH: f32 = 0.693_359_4;
        const LN2_LOW: f32 = -2.121_944_4e-4;
        // Cephes' expf: minimax for (exp(r) - 1 - r) / r².
        const P: [f32; 6] = [1.987_569_2e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
        // Past these the result is 0 or ∞ anyway, and `n` still has its powers of two. NaN passes both.
        let x = s.max(s.splat(-104.0), s.min(s.splat(89.0), x));
        let round = s.splat(ROUND);
        let n = s.sub(s.mul_add(x, s.splat(core::f32::consts::LOG2_E), round), round);
        let r = s.mul_add(n, s.splat(-LN2_HIGH), x);
        let r = s.mul_add(n, s.splat(-LN2_LOW), r);
        let mut p = s.splat(P[0]);
        for c in &P[1..] {
            p = s.mul_add(p, r, s.splat(*c));
        }
        let y = s.add(s.mul_add(s.mul(r, r), p, r), s.splat(1.0));
        let half = s.sub(s.mul_add(n, s.splat(0.5), round), round);
        s.mul(s.mul(y, s.pow2(half)), s.pow2(s.sub(n, half)))
    }

    fn ln(self) -> f32 {
        libm::logf(self)
    }
}

impl Exponential for f64 {
    const MINUS_INFINITY: f64 = f64::NEG_INFINITY;

    #[inline(always)]
    fn exp_v<S: Simd<f64>>(s: S, x: S::V) -> S::V {
        /// 1.5 · 2^52.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        const LN2_HIGH: f64 = 6.931_457_519_531_25e-1;
        const LN2_LOW: f64 = 1.428_606_820_309_417_3e-6;
        // Taylor's series: the next term is below 2^-57 of the sum at |r| = ln 2 / 2.
        const P: [f64; 12] = [
            1.0 / 6_227_020_800.0,
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
        ];
        let x = s.max(s.splat(-746.0), s.min(s.splat(710.0), x));
        let round = s.splat(ROUND);
        let n = s.sub(s.mul_add(x, s.splat(core::f64::consts::LOG2_E), round), round);
        let r = s.mul_add(n, s.splat(-LN2_HIGH), x);
        let r = s.mul_add(n, s.splat(-LN2_LOW), r);
        let mut p = s.splat(P[0]);
        for c in &P[1..] {
            p = s.mul_add(p, r, s.splat(*c));
        }
        let y = s.add(s.mul_add(s.mul(r, r), p, r), s.splat(1.0));
        let half = s.sub(s.mul_add(n, s.splat(0.5), round), round);
        s.mul(s.mul(y, s.pow2(half)), s.pow2(s.sub(n, half)))
    }

    fn ln(self) -> f64 {
        libm::log(self)
    }
}

/// `out = exp(x)`, at most 2 ULP off.
pub fn exp<T: Exponential>(par: &dyn Parallel, x: &[T], out: &mut [T]) -> Result<(), Mismatch> {
    ensure(x.len() == out.len(), "out")?;
    let isa = par.isa();
    chunks_mut(par, out, 1, 2, &|first, out| {
        T::run(isa, Exp { x: x.get(first..first + out.len()).unwrap_or_default(), out });
    });
    Ok(())
}

struct Exp<'a, T> {
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Exponential> Kernel<T> for Exp<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<T>>(self, s: S) {
        for (x, out) in self.x.chunks(S::LANES).zip(self.out.chunks_mut(S::LANES)) {
            s.store_first(out, T::exp_v(s, s.load_first(x)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machines;
    use alloc::{vec, vec::Vec};

    /// Distance in representable numbers, both being positive.
    fn ulps(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    /// f32: a walk over every exponent and sign, with the true value from f64.
    #[test]
    fn f32_is_within_two_ulps() {
        let x: Vec<f32> =
            (0..=u32::MAX).step_by(4099).map(f32::from_bits).chain([-87.3, -103.9, 88.72, 88.73]).collect();
        for par in machines().iter().filter(|p| p.threads == 1) {
            let mut out = vec![0.0; x.len()];
            exp(par, &x, &mut out).unwrap();
            for (&x, &y) in x.iter().zip(&out) {
                let want = libm::exp(x.into()) as f32;
                let off = y.to_bits().abs_diff(want.to_bits());
                assert!(off <= 2 || (x.is_nan() && y.is_nan()), "{:?}: exp({x}) = {y}, want {want}", par.isa);
            }
        }
    }

    /// f64: a walk over the range and past its ends.
    #[test]
    fn f64_is_within_two_ulps() {
        let x: Vec<f64> = (-80_000..80_000).map(|i| f64::from(i) * 0.009_765_3).collect();
        for par in machines().iter().filter(|p| p.threads == 1) {
            let mut out = vec![0.0; x.len()];
            exp(par, &x, &mut out).unwrap();
            for (&x, &y) in x.iter().zip(&out) {
                let want = libm::exp(x);
                assert!(ulps(y, want) <= 2, "{:?}: exp({x}) = {y}, want {want}", par.isa);
            }
            let mut out = [1.0; 3];
            exp(par, &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY], &mut out).unwrap();
            assert!(out[0].is_nan() && out[1] == f64::INFINITY && out[2] == 0.0);
        }
    }
}
