//! Index of the largest and the smallest element along an axis.
//!
//! As TensorFlow: the first of equals; NaN never wins; where nothing is above −∞ (or below +∞), index 0.

use crate::dims;
use crate::element::{Integer, Real};
use crate::error::{self, Error, Result};

/// Indices of the largest along `axis` of `dims`; `out` has the other dimensions' elements.
pub fn arg_max<T: Real, I: Integer>(x: &[T], dims: &[usize], axis: usize, out: &mut [I]) -> Result<()> {
    arg(x, dims, axis, out, T::LOWEST, |v, best| v > best)
}

/// Indices of the smallest along `axis` of `dims`.
pub fn arg_min<T: Real, I: Integer>(x: &[T], dims: &[usize], axis: usize, out: &mut [I]) -> Result<()> {
    arg(x, dims, axis, out, T::HIGHEST, |v, best| v < best)
}

/// Columns searched side by side.
const COLUMNS: usize = 64;

#[inline(always)]
fn arg<T: Real, I: Integer>(
    x: &[T],
    dims: &[usize],
    axis: usize,
    out: &mut [I],
    start: T,
    better: impl Fn(T, T) -> bool,
) -> Result<()> {
    let (outer, n, inner) = dims::around(dims, axis)?;
    error::same(x.len(), dims::count(dims)?)?;
    error::same(out.len(), outer.checked_mul(inner).ok_or(Error::Overflow)?)?;
    if out.is_empty() {
        return Ok(());
    }
    // An empty axis has no index to give.
    if n == 0 {
        return Err(Error::Argument);
    }
    for (slab, out) in x.chunks_exact(n * inner).zip(out.chunks_exact_mut(inner)) {
        if inner == 1 {
            let mut best = (start, 0);
            for (i, &v) in slab.iter().enumerate() {
                if better(v, best.0) {
                    best = (v, i);
                }
            }
            out[0] = I::from_i64(best.1 as i64);
            continue;
        }
        for (block, out) in out.chunks_mut(COLUMNS).enumerate() {
            let mut best = [start; COLUMNS];
            out.fill(I::ZERO);
            for (i, row) in slab.chunks_exact(inner).enumerate() {
                let index = I::from_i64(i as i64);
                for ((b, o), &v) in best.iter_mut().zip(&mut *out).zip(&row[block * COLUMNS..]) {
                    if better(v, *b) {
                        (*b, *o) = (v, index);
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_of_equals_and_nan_never() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let cases: [(&[f32], i64, i64); 6] = [
            (&[1.0, nan, 5.0, nan, 2.0], 2, 0),
            (&[nan, 1.0, 5.0, 2.0], 2, 1),
            (&[nan, nan], 0, 0),
            (&[-inf, -inf], 0, 0),
            (&[inf, inf], 0, 0),
            (&[3.0, 1.0, 3.0, 1.0], 0, 1),
        ];
        for (x, max, min) in cases {
            let mut out = [0i64];
            arg_max(x, &[x.len()], 0, &mut out).unwrap();
            assert_eq!(out[0], max, "{x:?}");
            arg_min(x, &[x.len()], 0, &mut out).unwrap();
            assert_eq!(out[0], min, "{x:?}");
        }
    }

    #[test]
    fn along_any_axis() {
        let x: [i32; 200] = core::array::from_fn(|i| (i * 37 % 100) as i32);
        for axis in 0..3 {
            let dims = [2, 1, 100];
            let (outer, n, inner) = dims::around(&dims, axis).unwrap();
            let mut out = [0u16; 200];
            arg_max(&x, &dims, axis, &mut out[..outer * inner]).unwrap();
            for (i, &o) in out[..outer * inner].iter().enumerate() {
                let at = |k: usize| x[i / inner * n * inner + k * inner + i % inner];
                let want = (0..n).max_by_key(|&k| (at(k), usize::MAX - k)).unwrap();
                assert_eq!(o as usize, want);
            }
        }
        assert_eq!(arg_max(&[] as &[f32], &[1, 0], 1, &mut [0i32]), Err(Error::Argument));
        arg_max(&[] as &[f32], &[0, 2], 1, &mut [] as &mut [i32]).unwrap();
    }
}
