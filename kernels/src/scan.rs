//! Running sums and products along an axis.

use crate::element::{Number, Real};
use crate::error::{self, Error, Result};

/// The view and the manner of a scan: the tensor is `[outer, n, inner]`.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    /// Size of the axis.
    pub n: usize,
    /// Product of the dimensions behind the axis.
    pub inner: usize,
    /// Each result leaves out its own element.
    pub exclusive: bool,
    /// From the end to the start.
    pub reverse: bool,
}

impl Scan {
    /// Running `op` from `start`, each step rounded to the element type, as TensorFlow does.
    pub fn run<T: Copy>(&self, x: &[T], start: T, op: impl Fn(T, T) -> T, out: &mut [T]) -> Result<()> {
        let slab = self.n.checked_mul(self.inner).ok_or(Error::Overflow)?;
        error::same(out.len(), x.len())?;
        if x.is_empty() {
            return Ok(());
        }
        error::same(x.len().checked_rem(slab).ok_or(Error::Length)?, 0)?;
        let inner = self.inner;
        for (x, out) in x.chunks_exact(slab).zip(out.chunks_exact_mut(slab)) {
            for k in 0..self.n {
                // Rows in the order of the scan, each computed from the one before.
                let row = |k: usize| if self.reverse { self.n - 1 - k } else { k } * inner;
                let (to, from) = (row(k), if self.exclusive { k.checked_sub(1).map(row) } else { Some(row(k)) });
                for i in 0..inner {
                    let before = k.checked_sub(1).map_or(start, |k| out[row(k) + i]);
                    out[to + i] = from.map_or(start, |from| op(before, x[from + i]));
                }
            }
        }
        Ok(())
    }

    /// Running sum (`Cumsum`).
    pub fn sum<T: Number>(&self, x: &[T], out: &mut [T]) -> Result<()> {
        self.run(x, T::ZERO, T::plus, out)
    }

    /// Running product (`Cumprod`).
    pub fn product<T: Number>(&self, x: &[T], out: &mut [T]) -> Result<()> {
        self.run(x, T::ONE, T::times, out)
    }

    /// Running maximum.
    pub fn maximum<T: Real>(&self, x: &[T], out: &mut [T]) -> Result<()> {
        self.run(x, T::LOWEST, T::maximum, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn scans_both_ways() {
        let mut out = [0; 4];
        let x = [1, 2, 3, 4];
        let cases = [
            (false, false, [1, 3, 6, 10]),
            (true, false, [0, 1, 3, 6]),
            (false, true, [10, 9, 7, 4]),
            (true, true, [9, 7, 4, 0]),
        ];
        for (exclusive, reverse, want) in cases {
            Scan { n: 4, inner: 1, exclusive, reverse }.sum(&x, &mut out).unwrap();
            assert_eq!(out, want);
        }
        Scan { n: 4, inner: 1, exclusive: false, reverse: true }.product(&x, &mut out).unwrap();
        assert_eq!(out, [24, 24, 12, 4]);
        Scan { n: 2, inner: 2, exclusive: false, reverse: false }.sum(&x, &mut out).unwrap();
        assert_eq!(out, [1, 2, 4, 6]);
        assert_eq!(Scan { n: 3, inner: 1, exclusive: false, reverse: false }.sum(&x, &mut out), Err(Error::Length));
        Scan { n: 0, inner: 1, exclusive: false, reverse: false }.sum(&[] as &[f32], &mut []).unwrap();
    }

    #[test]
    fn halves_round_at_each_step() {
        let mut out = [f16::ZERO; 5000];
        Scan { n: 5000, inner: 1, exclusive: false, reverse: false }.sum(&[f16::ONE; 5000], &mut out).unwrap();
        assert_eq!(out[4999], f16::from_f32(2048.0));
    }
}
