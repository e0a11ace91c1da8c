//! Random permutations and draws from categorical distributions, as TensorFlow makes them.

use super::Words;

/// Shuffles `order` (`RandomShuffle`): each place swaps with one at or after it. Takes `len − 1` words.
pub fn shuffle<T>(words: &mut Words, order: &mut [T]) {
    let n = order.len();
    for i in 0..n.saturating_sub(1) {
        let j = words.word() as usize % (n - i);
        order.swap(i, i + j);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

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
