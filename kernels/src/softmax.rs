//! Softmax and log-softmax over the last dimension, for every floating-point type.
//!
//! Three passes a row: the maximum, the sum of `exp(x - maximum)`, the results; the exponentials are taken again in the
//! third pass, which costs less than a store and a load of them in f16 and never rounds twice. f16 and bf16 are computed in
//! f32. A row that holds NaN or +∞, or nothing but -∞, is NaN all over, as in TensorFlow.

use crate::exp::Exponential;
use crate::isa::{Isa, Kernel, Simd};
use crate::number::Floating;
use crate::parallel::{Parallel, chunks_mut};
use crate::{Mismatch, ensure};

/// `out = exp(x) / sum(exp(x))` of each row of `classes` numbers. Both slices hold whole rows.
pub fn softmax<T: Floating>(par: &dyn Parallel, classes: usize, logits: &[T], out: &mut [T]) -> Result<(), Mismatch> {
    each_row(par, classes, logits, out, Finish::Softmax)
}

/// `out = x - ln(sum(exp(x)))` of each row of `classes` numbers. Both slices hold whole rows.
pub fn log_softmax<T: Floating>(
    par: &dyn Parallel,
    classes: usize,
    logits: &[T],
    out: &mut [T],
) -> Result<(), Mismatch> {
    each_row(par, classes, logits, out, Finish::LogSoftmax)
}

fn each_row<T: Floating>(
    par: &dyn Parallel,
    classes: usize,
    logits: &[T],
    out: &mut [T],
    finish: Finish<'_, T>,
) -> Result<(), Mismatch> {
    ensure(out.len() == logits.len(), "out")?;
    ensure(if classes == 0 { logits.is_empty() } else { logits.len().is_multiple_of(classes) }, "logits")?;
    let isa = par.isa();
    chunks_mut(par, out, classes, cycles(classes), &|first, out| {
        for (x, out) in logits[first * classes..].chunks(classes).zip(out.chunks_mut(classes)) {
            row(isa, x, out, finish);
        }
    });
    Ok(())
}

/// About how many cycles a row takes.
pub(crate) fn cycles(classes: usize) -> usize {
    classes.saturating_mul(4).saturating_add(50)
}

/// What a row of exponentials is turned into.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub enum Finish<'a, T> {
    /// Probabilities.
    Softmax,
    /// Their logarithms.
    LogSoftmax,
    /// Probabilities less one at this class: the gradient of the cross entropy.
    LessOneAt(usize),
    /// Probabilities less these: the gradient of the cross entropy. As many as there are classes.
    Less(&'a [T]),
}

/// One row. Gives the cross entropy for [`Finish::LessOneAt`] and [`Finish::Less`], else nothing of use.
pub(crate) fn row<T: Floating>(isa: Isa, x: &[T], out: &mut [T], finish: Finish<'_, T>) -> T {
    T::softmax_row(isa, x, out, finish)
}

/// Numbers widened at once.
const CHUNK: usize = 64;

pub(crate) struct Row<'a, T> {
    pub(crate) x: &'a [T],
    pub(crate) out: &'a mut [T],
    pub(crate) finish: Finish<'a, T>,
}

impl<T: Floating> Kernel<T::Wide> for Row<'_, T> {
    type Output = T::Wide;

    #[inline(always)]
    fn run<S: Simd<T::Wide>>(self, s: S) -> T::Wide {
        let Row { x, out, finish } = self;
        let low = <T::Wide as Exponential>::MINUS_INFINITY;
        let mut max = s.splat(low);
        for chunk in x.chunks(CHUNK) {
            let wide = widened(chunk, low);
            for part in wide[..chunk.len().next_multiple_of(S::LANES)].chunks(S::LANES) {
                // NaN is passed over here and comes back through the sum.
                max = s.max(s.load_first(part), max);
            }
        }
        let max = s.lanes(max)[..S::LANES].iter().fold(low, |max, &x| if x > max { x } else { max });

        let max_v = s.splat(max);
        let mut sum = s.splat(T::EMPTY);
        for chunk in x.chunks(CHUNK) {
            let wide = widened(chunk, low);
            for part in wide[..chunk.len().next_multiple_of(S::LANES)].chunks(S::LANES) {
                sum = s.add(sum, T::Wide::exp_v(s, s.sub(s.load_first(part), max_v)));
            }
        }
        let sum = s.lanes(sum).iter().fold(T::EMPTY, |sum, &x| sum + x);

        let (ln_sum, sum_v) = (sum.ln(), s.splat(sum));
        let ln_sum_v = s.splat(ln_sum);
        let mut loss = s.splat(T::EMPTY);
        let mut first = 0;
        for (chunk, out) in x.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
            // Past the end stands the maximum, so that nothing infinite meets the labels' zeros there.
            let mut wide = widened(chunk, max);
            let end = chunk.len().next_multiple_of(S::LANES);
            match finish {
                Finish::LogSoftmax => {
                    for part in wide[..end].chunks_mut(S::LANES) {
                        let shifted = s.sub(s.load_first(part), max_v);
                        s.store_first(part, s.sub(shifted, ln_sum_v));
                    }
                }
                Finish::Softmax | Finish::LessOneAt(_) => {
                    for part in wide[..end].chunks_mut(S::LANES) {
                        let e = T::Wide::exp_v(s, s.sub(s.load_first(part), max_v));
                        s.store_first(part, s.div(e, sum_v));
                    }
                    if let Finish::LessOneAt(label) = finish
                        && let Some(x) = label.checked_sub(first).filter(|&i| i < chunk.len())
                    {
                        loss = s.splat(ln_sum - (chunk[x].widen() - max));
                        wide[x] = wide[x] - T::ONE.widen();
                    }
                }
                Finish::Less(labels) => {
                    let labels = widened(&labels[first..first + chunk.len()], T::EMPTY);
                    for (part, label) in wide[..end].chunks_mut(S::LANES).zip(labels.chunks(S::LANES)) {
                        let shifted = s.sub(s.load_first(part), max_v);
                        let label = s.load_first(label);
                        loss = s.mul_add(label, s.sub(ln_sum_v, shifted), loss);
                        s.store_first(part, s.sub(s.div(T::Wide::exp_v(s, shifted), sum_v), label));
                    }
                }
            }
            for (out, &x) in out.iter_mut().zip(&wide) {
                *out = T::narrow(x);
            }
            first += chunk.len();
        }
        match finish {
            Finish::Less(_) => s.lanes(loss).iter().fold(T::EMPTY, |sum, &x| sum + x),
            _ => s.lanes(loss)[0],
        }
    }
}

#[inline(always)]
fn widened<T: Floating>(chunk: &[T], rest: T::Wide) -> [T::Wide; CHUNK] {
    let mut wide = [rest; CHUNK];
    for (to, x) in wide.iter_mut().zip(chunk) {
        *to = x.widen();
    }
    wide
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rng, assert_close, assert_close64, machines};
    use alloc::{format, vec, vec::Vec};
    use half::{bf16, f16};

    fn plain(x: &[f64], log: bool) -> Vec<f64> {
        let max = x.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x));
        let sum: f64 = x.iter().map(|&x| libm::exp(x - max)).sum();
        x.iter().map(|&x| if log { x - max - libm::log(sum) } else { libm::exp(x - max) / sum }).collect()
    }

    /// Every type and width of row against the plain formula.
    #[test]
    fn agrees_with_the_formula() {
        let mut rng = Rng(3);
        for classes in [1usize, 2, 3, 10, 15, 16, 17, 63, 64, 65, 200] {
            let x: Vec<f64> = rng.f32s(classes * 3).iter().map(|&x| f64::from(x) * 8.0).collect();
            let want = |log| x.chunks(classes).flat_map(|x| plain(x, log)).collect::<Vec<_>>();
            let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
            for par in machines() {
                let case = format!("{classes} {:?}", par.isa);
                let mut got = vec![0.0; x.len()];
                softmax(&par, classes, &x, &mut got).unwrap();
                assert_close64(&got, &want(false), 1e-14, &case);
                log_softmax(&par, classes, &x, &mut got).unwrap();
                assert_close64(&got, &want(true), 1e-14, &case);
                let to_f32 = |x: Vec<f64>| x.iter().map(|&x| x as f32).collect::<Vec<_>>();
                let mut got = vec![0.0; x.len()];
                softmax(&par, classes, &narrow, &mut got).unwrap();
                assert_close(&got, &to_f32(want(false)), 1e-6, &case);
                log_softmax(&par, classes, &narrow, &mut got).unwrap();
                assert_close(&got, &to_f32(want(true)), 1e-6, &case);
            }
        }
    }

    /// Halves are computed in f32 and rounded once.
    #[test]
    fn halves() {
        for par in machines() {
            let x = [0.0f32, 1.0, 2.0];
            let mut out = [f16::ZERO; 3];
            softmax(&par, 3, &x.map(f16::from_f32), &mut out).unwrap();
            assert_eq!(out, [0.090_030_57f32, 0.244_728_48, 0.665_240_9].map(f16::from_f32));
            let mut out = [bf16::ZERO; 3];
            log_softmax(&par, 3, &x.map(bf16::from_f32), &mut out).unwrap();
            assert_eq!(out, [-2.407_606f32, -1.407_606, -0.40760595].map(bf16::from_f32));
        }
    }

    /// TensorFlow's answers to what is not finite.
    #[test]
    fn nan_and_infinity() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        for par in machines() {
            for row in [[nan, 1.0, 2.0], [1.0, nan, 2.0], [inf, 1.0, 2.0], [-inf; 3], [inf, inf, 0.0]] {
                let mut out = [0.0; 3];
                softmax(&par, 3, &row, &mut out).unwrap();
                assert!(out.iter().all(|x| x.is_nan()), "{row:?} {out:?}");
                log_softmax(&par, 3, &row, &mut out).unwrap();
                assert!(out.iter().all(|x| x.is_nan()), "{row:?} {out:?}");
            }
            let mut out = [0.0; 3];
            softmax(&par, 3, &[1e4, -1e4, -inf], &mut out).unwrap();
            assert_eq!(out, [1.0, 0.0, 0.0]);
            log_softmax(&par, 3, &[1e4, -1e4, -inf], &mut out).unwrap();
            assert_eq!(out, [0.0, -2e4, -inf]);
        }
    }

    /// No rows are fine, half rows are not.
    #[test]
    fn sizes() {
        let par = &machines()[0];
        assert_eq!(softmax::<f32>(par, 0, &[], &mut []), Ok(()));
        assert_eq!(softmax::<f32>(par, 5, &[], &mut []), Ok(()));
        assert_eq!(softmax(par, 2, &[0.0f32; 3], &mut [0.0; 3]).unwrap_err().argument, "logits");
        assert_eq!(softmax(par, 0, &[0.0f32; 3], &mut [0.0; 3]).unwrap_err().argument, "logits");
        assert_eq!(softmax(par, 3, &[0.0f32; 3], &mut [0.0; 2]).unwrap_err().argument, "out");
    }
}
