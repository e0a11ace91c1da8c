//! Relu, relu6 and their gradients, for every real type.
//!
//! NaN stays NaN and -0.0 stays -0.0. A gradient is multiplied by one or zero rather than chosen, so that, as in
//! TensorFlow, an infinite gradient at a closed place is NaN.

use crate::isa::{Kernel, Simd, Vectorised};
use crate::number::Real;
use crate::parallel::{Parallel, chunks_mut};
use crate::{Mismatch, ensure};

/// `out = max(x, 0)`.
pub fn relu<T: Real>(par: &dyn Parallel, x: &[T], out: &mut [T]) -> Result<(), Mismatch> {
    forward::<T, false>(par, x, out)
}

/// `out = min(max(x, 0), 6)`.
pub fn relu6<T: Real>(par: &dyn Parallel, x: &[T], out: &mut [T]) -> Result<(), Mismatch> {
    forward::<T, true>(par, x, out)
}

/// [`relu`] into `x` itself.
pub fn relu_in_place<T: Real>(par: &dyn Parallel, x: &mut [T]) {
    forward_in_place::<T, false>(par, x);
}

/// [`relu6`] into `x` itself.
pub fn relu6_in_place<T: Real>(par: &dyn Parallel, x: &mut [T]) {
    forward_in_place::<T, true>(par, x);
}

/// `out = gradients` where the features are above 0, else 0. `features` may be relu's input or its output.
pub fn relu_grad<T: Real>(par: &dyn Parallel, gradients: &[T], features: &[T], out: &mut [T]) -> Result<(), Mismatch> {
    backward::<T, false>(par, gradients, features, out)
}

/// `out = gradients` where the features are above 0 and below 6, else 0.
pub fn relu6_grad<T: Real>(par: &dyn Parallel, gradients: &[T], features: &[T], out: &mut [T]) -> Result<(), Mismatch> {
    backward::<T, true>(par, gradients, features, out)
}

// These kernels are plain loops: compiled for the level, they become its vectors, whatever the number type.

#[inline(always)]
fn apply<T: Real, const CAPPED: bool>(x: T) -> T {
    let x = if T::ZERO > x { T::ZERO } else { x };
    if CAPPED && T::SIX < x { T::SIX } else { x }
}

fn forward<T: Real, const CAPPED: bool>(par: &dyn Parallel, x: &[T], out: &mut [T]) -> Result<(), Mismatch> {
    ensure(out.len() == x.len(), "out")?;
    let isa = par.isa();
    chunks_mut(par, out, 1, 1, &|first, out| {
        f32::run(isa, Forward::<T, CAPPED> { x: &x[first..first + out.len()], out });
    });
    Ok(())
}

struct Forward<'a, T, const CAPPED: bool> {
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Real, const CAPPED: bool> Kernel<f32> for Forward<'_, T, CAPPED> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        for (out, &x) in self.out.iter_mut().zip(self.x) {
            *out = apply::<T, CAPPED>(x);
        }
    }
}

fn forward_in_place<T: Real, const CAPPED: bool>(par: &dyn Parallel, x: &mut [T]) {
    let isa = par.isa();
    chunks_mut(par, x, 1, 1, &|_, x| f32::run(isa, InPlace::<T, CAPPED> { x }));
}

struct InPlace<'a, T, const CAPPED: bool> {
    x: &'a mut [T],
}

impl<T: Real, const CAPPED: bool> Kernel<f32> for InPlace<'_, T, CAPPED> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        for x in self.x {
            *x = apply::<T, CAPPED>(*x);
        }
    }
}

fn backward<T: Real, const CAPPED: bool>(
    par: &dyn Parallel,
    gradients: &[T],
    features: &[T],
    out: &mut [T],
) -> Result<(), Mismatch> {
    ensure(features.len() == gradients.len(), "features")?;
    ensure(out.len() == gradients.len(), "out")?;
    let isa = par.isa();
    chunks_mut(par, out, 1, 1, &|first, out| {
        let (gradients, features) = (&gradients[first..first + out.len()], &features[first..first + out.len()]);
        f32::run(isa, Backward::<T, CAPPED> { gradients, features, out });
    });
    Ok(())
}

struct Backward<'a, T, const CAPPED: bool> {
    gradients: &'a [T],
    features: &'a [T],
    out: &'a mut [T],
}

impl<T: Real, const CAPPED: bool> Kernel<f32> for Backward<'_, T, CAPPED> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        for ((out, &g), &x) in self.out.iter_mut().zip(self.gradients).zip(self.features) {
            // Both comparisons are always made: a branch would keep the compiler from using vectors.
            let open = (x > T::ZERO) & (!CAPPED | (x < T::SIX));
            *out = g.times(if open { T::ONE } else { T::ZERO });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machines;
    use alloc::vec;

    /// What TensorFlow answers to all kinds of numbers, at every length up to several vectors.
    #[test]
    fn every_kind_of_number() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let x = [nan, -inf, inf, -0.0, 0.0, -1.0, 7.0, 6.0, 3.0];
        let bits = |x: f32| if x.is_nan() { 1 } else { x.to_bits() };
        let check = |got: &[f32], want: [f32; 9]| {
            for (i, &g) in got.iter().enumerate() {
                assert_eq!(bits(g), bits(want[i % 9]), "at {i}: {g}");
            }
        };
        for par in machines() {
            for n in 0..70 {
                let x: alloc::vec::Vec<f32> = x.iter().copied().cycle().take(n).collect();
                let mut out = vec![9.0; n];
                relu(&par, &x, &mut out).unwrap();
                check(&out, [nan, 0.0, inf, -0.0, 0.0, 0.0, 7.0, 6.0, 3.0]);
                relu6(&par, &x, &mut out).unwrap();
                check(&out, [nan, 0.0, 6.0, -0.0, 0.0, 0.0, 6.0, 6.0, 3.0]);
                let mut y = x.clone();
                relu6_in_place(&par, &mut y);
                check(&y, [nan, 0.0, 6.0, -0.0, 0.0, 0.0, 6.0, 6.0, 3.0]);
                let mut y = x.clone();
                relu_in_place(&par, &mut y);
                check(&y, [nan, 0.0, inf, -0.0, 0.0, 0.0, 7.0, 6.0, 3.0]);
                relu_grad(&par, &vec![2.0; n], &x, &mut out).unwrap();
                check(&out, [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0]);
                relu6_grad(&par, &vec![2.0; n], &x, &mut out).unwrap();
                check(&out, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
                relu_grad(&par, &vec![inf; n], &x, &mut out).unwrap();
                check(&out, [nan, nan, inf, nan, nan, nan, inf, inf, inf]);
                relu_grad(&par, &vec![nan; n], &x, &mut out).unwrap();
                check(&out, [nan; 9]);
            }
        }
    }

    /// Integers, and slices of unequal length.
    #[test]
    fn integers_and_sizes() {
        let par = &machines()[0];
        let mut out = [0i8; 3];
        relu6(par, &[-5, 3, 100], &mut out).unwrap();
        assert_eq!(out, [0, 3, 6]);
        relu_grad(par, &[7, 7, 7], &[-5, 0, 1], &mut out).unwrap();
        assert_eq!(out, [0, 0, 7]);
        assert_eq!(relu(par, &[0i8; 2], &mut out).unwrap_err().argument, "out");
        assert_eq!(relu_grad(par, &[0i8; 3], &[0; 2], &mut out).unwrap_err().argument, "features");
    }
}
