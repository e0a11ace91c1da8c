//! TensorFlow's random numbers, bit for bit: the generator, its streams and the distributions.
//!
//! [`Philox`] is a position in one of 2^64 streams; [`Stream`] is what a stateful kernel keeps from run to run. The
//! functions of [`fill`] turn a position into outputs. Outputs depend on their index only, so that parts of them can be
//! computed apart.

pub mod fill;
pub mod libc;
pub mod shuffle;

/// Multipliers of the two lanes of a round.
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// What the key grows by each round.
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
/// Rounds of the cipher.
const ROUNDS: usize = 10;
/// Blocks that a run reserves for each output, used or not.
const BLOCKS_PER_OUTPUT: u64 = 256;

/// Philox 4x32-10: a 128-bit counter under a 64-bit key. Each step gives four words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    counter: [u32; 4],
    key: [u32; 2],
}

impl Philox {
    /// The stream of the attributes `seed` and `seed2`, both as given (zeros are seeds here; a kernel whose seeds are both
    /// zero takes random ones first).
    pub fn new(seed: i64, seed2: i64) -> Self {
        Self::from_key(seed as u64, [0, seed2 as u64])
    }

    /// From a key and a counter, low half first, as the V2 stateless operations get them.
    pub fn from_key(key: u64, counter: [u64; 2]) -> Self {
        let [a, b] = counter;
        Self {
            counter: [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32],
            key: [key as u32, (key >> 32) as u32],
        }
    }

    /// From the two seeds of a V1 stateless operation, scrambled as TensorFlow does.
    pub fn scrambled(seed: [i64; 2]) -> Self {
        let mut scrambler = Self::from_key(0x0246_1e29_3ec8_f720, seed.map(|s| s as u64));
        let [k0, k1, c2, c3] = scrambler.step();
        Self { counter: [0, 0, c2, c3], key: [k0, k1] }
    }

    /// The key, as `StatelessRandomGetKeyCounter` gives it.
    pub fn key(&self) -> u64 {
        self.key[0] as u64 | (self.key[1] as u64) << 32
    }

    /// The counter, low half first.
    pub fn counter(&self) -> [u64; 2] {
        let c = self.counter.map(u64::from);
        [c[0] | c[1] << 32, c[2] | c[3] << 32]
    }

    /// Moves on by `blocks` steps.
    pub fn skip(&mut self, blocks: u64) {
        let [low, high] = self.counter();
        let (low, carry) = low.overflowing_add(blocks);
        *self = Self::from_key(self.key(), [low, high.wrapping_add(carry as u64)]);
    }

    /// The position `blocks` steps on.
    pub fn skipped(mut self, blocks: u64) -> Self {
        self.skip(blocks);
        self
    }

    /// The next four words.
    #[inline]
    pub fn step(&mut self) -> [u32; 4] {
        let (mut c, mut k) = (self.counter, self.key);
        for round in 0..ROUNDS {
            if round > 0 {
                k = [k[0].wrapping_add(KEY_STEPS[0]), k[1].wrapping_add(KEY_STEPS[1])];
            }
            let a = MULTIPLIERS[0] as u64 * c[0] as u64;
            let b = MULTIPLIERS[1] as u64 * c[2] as u64;
            c = [(b >> 32) as u32 ^ c[1] ^ k[0], b as u32, (a >> 32) as u32 ^ c[3] ^ k[1], a as u32];
        }
        for word in &mut self.counter {
            *word = word.wrapping_add(1);
            if *word != 0 {
                break;
            }
        }
        c
    }
}

/// One word of the generator at a time.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    generator: Philox,
    block: [u32; 4],
    used: usize,
}

impl Words {
    /// The words from `generator` on.
    pub fn new(generator: Philox) -> Self {
        Self { generator, block: [0; 4], used: 4 }
    }

    /// The next word.
    #[inline]
    pub fn word(&mut self) -> u32 {
        if self.used == 4 {
            self.block = self.generator.step();
            self.used = 0;
        }
        let word = self.block[self.used & 3];
        self.used += 1;
        word
    }
}

/// The state of a stateful random kernel: where the next run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(Philox);

impl Stream {
    /// The stream of a kernel with these seeds; if both are zero, of the two words of `entropy`.
    pub fn new(seed: i64, seed2: i64, entropy: impl FnOnce() -> [u64; 2]) -> Self {
        if seed == 0 && seed2 == 0 {
            let [a, b] = entropy();
            return Self(Philox::from_key(a, [0, b]));
        }
        Self(Philox::new(seed, seed2))
    }

    /// Where a run of `outputs` outputs begins; the stream moves on by 256 blocks an output.
    pub fn reserve(&mut self, outputs: u64) -> Philox {
        self.reserve_blocks(outputs.wrapping_mul(BLOCKS_PER_OUTPUT))
    }

    /// Where a run begins that needs `words` words exactly (`RandomShuffle`).
    pub fn reserve_words(&mut self, words: u64) -> Philox {
        self.reserve_blocks(words.div_ceil(4))
    }

    /// Where a run begins that needs `blocks` blocks.
    pub fn reserve_blocks(&mut self, blocks: u64) -> Philox {
        let start = self.0;
        self.0.skip(blocks);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generator's published test vectors.
    #[test]
    fn known_answers() {
        let step = |c: [u64; 2], k: u64| Philox::from_key(k, c).step();
        assert_eq!(step([0, 0], 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(step([u64::MAX; 2], u64::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = step([0x85a3_08d3_243f_6a88, 0x0370_7344_1319_8a2e], 0x299f_31d0_a409_3822);
        assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn skipping_is_stepping() {
        for start in [[0, 0], [u64::MAX - 1, 7], [u32::MAX as u64 - 1, u64::MAX]] {
            let (mut a, b) = (Philox::from_key(5, start), Philox::from_key(5, start));
            for n in 0..5 {
                assert_eq!(a, b.skipped(n));
                a.step();
            }
        }
        let mut s = Stream::new(1, 0, || [0; 2]);
        assert_eq!(s.reserve(3), Philox::new(1, 0));
        assert_eq!(s.reserve_words(5), Philox::new(1, 0).skipped(768));
        assert_eq!(s.reserve(0), Philox::new(1, 0).skipped(770));
        assert_eq!(Stream::new(0, 0, || [1, 0]), Stream::new(1, 0, || [0; 2]));
    }

    /// `StatelessRandomGetKeyCounter` of TensorFlow 2.21.
    #[test]
    fn scrambling() {
        let p = Philox::scrambled([123_456_789_012_345, -5]);
        assert_eq!((p.key(), p.counter()), (196_952_857_762_271_728, [0, 5_456_215_037_937_133_272]));
    }
}
