//! Random permutations and draws from categorical distributions, as TensorFlow makes them.

use super::{Philox, Stream, Words};
use crate::element::{Integer, Real};
use crate::error::{self, Error, Result};

/// Shuffles `order` (`RandomShuffle`): each place swaps with one at or after it. Takes `len − 1` words.
pub fn shuffle<T>(words: &mut Words, order: &mut [T]) {
    let n = order.len();
    for i in 0..n.saturating_sub(1) {
        let j = words.word() as usize % (n - i);
        order.swap(i, i + j);
    }
}

/// Where a run of `Multinomial` begins that draws `samples` from each of `rows` distributions.
pub fn reserve_multinomial(stream: &mut Stream, rows: usize, samples: usize) -> Result<Philox> {
    let each = samples.checked_next_multiple_of(4).and_then(|n| n.checked_mul(2));
    let outputs = each.and_then(|n| n.checked_mul(rows)).ok_or(Error::Overflow)?;
    Ok(stream.reserve(outputs as u64))
}

/// Draws classes from unnormalised log-probabilities, `[rows, classes]`, into `out`, `[rows, samples]` (`Multinomial`).
/// `scratch` holds `classes` sums. Logits that are not finite are never drawn.
pub fn multinomial<T: Real, I: Integer>(
    generator: Philox,
    logits: &[T],
    classes: usize,
    samples: usize,
    scratch: &mut [f64],
    out: &mut [I],
) -> Result<()> {
    error::same(scratch.len(), classes)?;
    if out.is_empty() {
        return Ok(());
    }
    let rows = logits.len().checked_div(classes).ok_or(Error::Argument)?;
    error::same(logits.len(), rows * classes)?;
    error::same(out.len(), rows.checked_mul(samples).ok_or(Error::Overflow)?)?;
    let mut words = Words::new(generator);
    for (logits, out) in logits.chunks_exact(classes).zip(out.chunks_exact_mut(samples)) {
        let finite = |v: &T| Some(v.to_f64()).filter(|v| v.abs() < f64::INFINITY);
        let largest = logits.iter().filter_map(finite).fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for (sum, logit) in scratch.iter_mut().zip(logits) {
            total += finite(logit).map_or(0.0, |v| libm::exp(v - largest));
            *sum = total;
        }
        for o in out {
            let (x0, x1) = (words.word(), words.word());
            let wanted = super::fill::unit_f64(x0, x1) * total;
            *o = I::from_i64(scratch.partition_point(|&sum| sum <= wanted) as i64);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two runs of TensorFlow 2.21's `Multinomial` with seed 4, seed2 9.
    #[test]
    fn draws_like_tensorflow() {
        let logits = [0.1f32, 0.5, -1.0, 3.0, 1.0, 0.0];
        let mut stream = Stream::new(4, 9, || [0; 2]);
        for want in [[2, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1], [0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0]]
        {
            let mut out = [0i64; 16];
            let start = reserve_multinomial(&mut stream, 2, 8).unwrap();
            multinomial(start, &logits, 3, 8, &mut [0.0; 3], &mut out).unwrap();
            assert_eq!(out, want);
        }
        let none = Philox::new(1, 1);
        assert_eq!(multinomial(none, &[] as &[f32], 0, 1, &mut [], &mut [0i32]), Err(Error::Argument));
        let never = multinomial(none, &[f32::NAN, 0.0], 2, 1, &mut [0.0; 2], &mut [0i32]);
        assert_eq!(never, Ok(()));
    }

    /// Two runs of TensorFlow 2.21's `RandomShuffle` with seed 4, seed2 9.
    #[test]
    fn shuffles_like_tensorflow() {
        let runs: [&[i32]; 4] = [
            &[4, 3, 0, 1, 2],
            &[3, 2, 1, 0, 4],
            &[9, 13, 7, 6, 16, 19, 15, 11, 12, 10, 3, 2, 18, 4, 17, 1, 14, 5, 0, 8],
            &[4, 3, 5, 8, 2, 12, 11, 10, 16, 19, 1, 18, 0, 7, 13, 14, 6, 17, 15, 9],
        ];
        for pair in runs.chunks(2) {
            let mut stream = Stream::new(4, 9, || [0; 2]);
            for want in pair {
                let mut order: [i32; 20] = core::array::from_fn(|i| i as i32);
                let order = &mut order[..want.len()];
                shuffle(&mut Words::new(stream.reserve_words(want.len() as u64 - 1)), order);
                assert_eq!(order, *want);
            }
        }
        shuffle(&mut Words::new(crate::random::Philox::new(1, 1)), &mut [] as &mut [u8]);
    }
}
