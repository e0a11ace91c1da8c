//! The distributions: outputs of a generator in TensorFlow's order and number formats.
//!
//! Each function fills a slice from a position. For outputs from index `i` on (a multiple of [`Random::GROUP`]), skip
//! `i / GROUP` blocks for the plain distributions and [`truncated_blocks`] for the truncated one.

use half::{bf16, f16};

use super::libc::{logf, sincosf};
use super::{Philox, Words};
use crate::error::{Error, Result};

/// A type that distributions over the reals come in.
pub trait Random: Copy {
    /// Outputs of one block of four words.
    const GROUP: usize;
    /// Uniform numbers in [0, 1) from a block.
    fn uniform(block: [u32; 4]) -> [Self; 4];
    /// Standard normal numbers from a block.
    fn normal(block: [u32; 4]) -> [Self; 4];
    /// Two standard normal numbers from the next words, in the precision that decides about truncation.
    fn pair(words: &mut Words) -> [(Self, bool); 2];
}

/// The smallest uniform number a normal one is made from.
const UNIFORM_LEAST: f64 = 1.0e-7;
/// Normal numbers of this magnitude and above are drawn again.
const TRUNCATION: f64 = 2.0;

#[inline(always)]
fn unit_f32(x: u32) -> f32 {
    f32::from_bits(0x3f80_0000 | x & 0x007f_ffff) - 1.0
}

#[inline(always)]
pub(super) fn unit_f64(x0: u32, x1: u32) -> f64 {
    f64::from_bits(1023 << 52 | ((x0 & 0x000f_ffff) as u64) << 32 | x1 as u64) - 1.0
}

#[inline(always)]
fn box_muller_f32(x0: u32, x1: u32) -> [f32; 2] {
    let u = unit_f32(x0);
    let u = if u < UNIFORM_LEAST as f32 { UNIFORM_LEAST as f32 } else { u };
    let angle = (core::f64::consts::TAU * unit_f32(x1) as f64) as f32;
    let radius = libm::sqrtf(-2.0 * logf(u));
    let (sin, cos) = sincosf(angle);
    [sin * radius, cos * radius]
}

#[inline(always)]
fn box_muller_f64(x: [u32; 4]) -> [f64; 2] {
    let u = unit_f64(x[0], x[1]);
    let u = if u < UNIFORM_LEAST { UNIFORM_LEAST } else { u };
    let angle = core::f64::consts::TAU * unit_f64(x[2], x[3]);
    let radius = libm::sqrt(-2.0 * libm::log(u));
    [libm::sin(angle) * radius, libm::cos(angle) * radius]
}

fn normal_f32(b: [u32; 4]) -> [f32; 4] {
    let ([a, b], [c, d]) = (box_muller_f32(b[0], b[1]), box_muller_f32(b[2], b[3]));
    [a, b, c, d]
}

fn pair_f32(words: &mut Words) -> [(f32, bool); 2] {
    let (x0, x1) = (words.word(), words.word());
    box_muller_f32(x0, x1).map(|v| (v, v.abs() < TRUNCATION as f32))
}

impl Random for f32 {
    const GROUP: usize = 4;
    #[inline(always)]
    fn uniform(block: [u32; 4]) -> [f32; 4] {
        block.map(unit_f32)
    }
    fn normal(block: [u32; 4]) -> [f32; 4] {
        normal_f32(block)
    }
    fn pair(words: &mut Words) -> [(f32, bool); 2] {
        pair_f32(words)
    }
}

impl Random for f64 {
    const GROUP: usize = 2;
    fn uniform(b: [u32; 4]) -> [f64; 4] {
        [unit_f64(b[0], b[1]), unit_f64(b[2], b[3]), 0.0, 0.0]
    }
    fn normal(block: [u32; 4]) -> [f64; 4] {
        let [a, b] = box_muller_f64(block);
        [a, b, 0.0, 0.0]
    }
    fn pair(words: &mut Words) -> [(f64, bool); 2] {
        let x = [words.word(), words.word(), words.word(), words.word()];
        box_muller_f64(x).map(|v| (v, v.abs() < TRUNCATION))
    }
}

macro_rules! halves {
    ($($t:ident $mask:literal $one:literal;)*) => {$(
        impl Random for $t {
            const GROUP: usize = 4;
            fn uniform(block: [u32; 4]) -> [$t; 4] {
                block.map(|x| $t::from_f32($t::from_bits($one | x as u16 & $mask).to_f32() - 1.0))
            }
            fn normal(block: [u32; 4]) -> [$t; 4] {
                normal_f32(block).map($t::from_f32)
            }
            fn pair(words: &mut Words) -> [($t, bool); 2] {
                pair_f32(words).map(|(v, keep)| ($t::from_f32(v), keep))
            }
        }
    )*};
}
halves! { f16 0x3ff 0x3c00; bf16 0x7f 0x3f80; }

fn blocks<T: Random>(mut generator: Philox, out: &mut [T], f: impl Fn([u32; 4]) -> [T; 4]) {
    for group in out.chunks_mut(T::GROUP) {
        for (o, v) in group.iter_mut().zip(f(generator.step())) {
            *o = v;
        }
    }
}

/// Uniform numbers in [0, 1) (`RandomUniform`).
pub fn uniform<T: Random>(generator: Philox, out: &mut [T]) {
    blocks(generator, out, T::uniform);
}

/// Normal numbers of mean zero and deviation one (`RandomStandardNormal`).
pub fn standard_normal<T: Random>(generator: Philox, out: &mut [T]) {
    blocks(generator, out, T::normal);
}

/// Blocks between the groups of a truncated distribution.
pub const fn truncated_blocks<T: Random>() -> u64 {
    64 * T::GROUP as u64
}

/// Normal numbers, those of magnitude two and above drawn again (`TruncatedNormal`).
pub fn truncated_normal<T: Random>(generator: Philox, out: &mut [T]) {
    for (i, group) in out.chunks_mut(T::GROUP).enumerate() {
        let mut words = Words::new(generator.skipped((i as u64).wrapping_mul(truncated_blocks::<T>())));
        let mut kept = 0;
        while kept < group.len() {
            for (v, keep) in T::pair(&mut words) {
                if let (true, Some(slot)) = (keep, group.get_mut(kept)) {
                    *slot = v;
                    kept += 1;
                }
            }
        }
    }
}

/// An integer type that uniform integers come in.
pub trait RandomInteger: Copy {
    /// Outputs of one block.
    const GROUP: usize;
    /// All values alike.
    fn whole(block: [u32; 4]) -> [Self; 4];
    /// `low + bits mod (high − low)`.
    fn within(self, low: Self, high: Self) -> Self;
    /// Whether the range is not empty.
    fn ordered(low: Self, high: Self) -> bool;
}

macro_rules! random_integers {
    ($($t:ident $u:ident $group:literal $whole:expr;)*) => {$(
        impl RandomInteger for $t {
            const GROUP: usize = $group;
            #[inline(always)]
            fn whole(block: [u32; 4]) -> [$t; 4] { $whole(block) }
            #[inline(always)]
            fn within(self, low: $t, high: $t) -> $t {
                let range = (high as $u).wrapping_sub(low as $u);
                // An empty range gives its bound; callers refuse it first.
                low.wrapping_add((self as $u).checked_rem(range).unwrap_or(0) as $t)
            }
            fn ordered(low: $t, high: $t) -> bool { low < high }
        }
    )*};
}

fn pairs(b: [u32; 4]) -> [u64; 4] {
    [b[0] as u64 | (b[1] as u64) << 32, b[2] as u64 | (b[3] as u64) << 32, 0, 0]
}

random_integers! {
    i32 u32 4 |b: [u32; 4]| b.map(|x| x as i32);
    u32 u32 4 |b: [u32; 4]| b;
    i64 u64 2 |b: [u32; 4]| pairs(b).map(|x| x as i64);
    u64 u64 2 |b: [u32; 4]| pairs(b);
}

/// Uniform integers in `[low, high)` (`RandomUniformInt`); [`Error::Argument`] if that is empty and outputs are wanted.
pub fn uniform_int<T: RandomInteger>(mut generator: Philox, low: T, high: T, out: &mut [T]) -> Result<()> {
    if !out.is_empty() && !T::ordered(low, high) {
        return Err(Error::Argument);
    }
    for group in out.chunks_mut(T::GROUP) {
        for (o, v) in group.iter_mut().zip(T::whole(generator.step())) {
            *o = v.within(low, high);
        }
    }
    Ok(())
}

/// Uniform integers of the whole type (`StatelessRandomUniformFullInt`).
pub fn uniform_full_int<T: RandomInteger>(mut generator: Philox, out: &mut [T]) {
    for group in out.chunks_mut(T::GROUP) {
        for (o, v) in group.iter_mut().zip(T::whole(generator.step())) {
            *o = v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn digest(values: impl Iterator<Item = u64>) -> u64 {
        values.fold(0u64, |h, v| (h.rotate_left(5) ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Digests of 1000 outputs of TensorFlow 2.21's stateless operations with seed [123456789012345, −5].
    #[test]
    fn distributions_equal_tensorflow() {
        fn check<T: Random + Default>(bits: fn(T) -> u64, want: [u64; 3]) {
            let start = Philox::scrambled([123_456_789_012_345, -5]);
            let mut out = [T::default(); 1000];
            let fills: [fn(Philox, &mut [T]); 3] = [uniform, standard_normal, truncated_normal];
            for (i, (fill, want)) in fills.into_iter().zip(want).enumerate() {
                if want != 0 {
                    fill(start, &mut out);
                    assert_eq!(digest(out.iter().map(|&v| bits(v))), want, "{i} {}", core::any::type_name::<T>());
                }
            }
        }
        let half = |v: f16| v.to_bits() as u64;
        let brain = |v: bf16| v.to_bits() as u64;
        check::<f32>(|v| v.to_bits() as u64, [0x0512_708d_679e_3255, 0x9e17_8c8c_9281_e5a2, 0x94b8_b4f3_862e_2860]);
        check::<f64>(f64::to_bits, [0x4e07_518b_982e_e77a, 0, 0]);
        check::<f16>(half, [0x186c_8f2f_2f62_9680, 0xf9d0_8224_72c6_5548, 0x44a8_d16b_c240_0a15]);
        check::<bf16>(brain, [0x1684_da14_7aab_2af5, 0xf1cc_6294_57fe_810b, 0xc9c0_99ce_dd06_7207]);
    }

    /// `TruncatedNormal` of sizes that end within a group, and the second run of 2^20 outputs with seeds 87654321 and 5.
    #[test]
    fn runs_continue_and_groups_may_be_cut() {
        let mut out = [0f32; 4096];
        for (n, want) in [(127, 0xa336_39b9_6862_438e), (3000, 0x2441_75d9_6cec_ee43)] {
            truncated_normal(Philox::new(1, 2), &mut out[..n]);
            assert_eq!(digest(out[..n].iter().map(|v| v.to_bits() as u64)), want, "{n}");
        }
        let mut stream = Stream::new(87_654_321, 5, || [0; 2]);
        stream.reserve(1 << 20);
        let second = stream.reserve(1 << 20);
        truncated_normal(second, &mut out);
        assert_eq!(digest(out.iter().map(|v| v.to_bits() as u64)), 0xf01c_a9f5_d367_abfa);
        // A part computed apart is the same.
        let mut part = [0f32; 8];
        truncated_normal(second.skipped(100 * truncated_blocks::<f32>()), &mut part);
        assert_eq!(part, out[400..408]);
    }

    /// Normal numbers in `f64` agree with TensorFlow's to the last place but one.
    #[test]
    fn doubles_are_near() {
        let mut out = [0f64; 3];
        truncated_normal(Philox::scrambled([123_456_789_012_345, -5]), &mut out);
        for (v, want) in out.iter().zip([0.828_177_18, -0.725_096_5, -0.542_761_96]) {
            assert!((v - want).abs() < 1e-7, "{v} {want}");
        }
    }

    #[test]
    fn integers_equal_tensorflow() {
        fn two_runs<T: RandomInteger + Default>(low: T, high: T) -> [T; 2000] {
            let mut stream = Stream::new(-3, 0, || [0; 2]);
            let mut out = [T::default(); 2000];
            for run in out.chunks_mut(1000) {
                uniform_int(stream.reserve(1000), low, high, run).unwrap();
            }
            out
        }
        let small = two_runs(-7i32, 1_000_003);
        assert_eq!(digest(small.iter().map(|&v| v as u32 as u64)), 0xec1a_e467_8791_695d);
        let large = two_runs(-7i64, 1_000_003);
        assert_eq!(digest(large.iter().map(|&v| v as u64)), 0x0dc6_62e1_f714_c26d);
        let mut whole = [0u64; 1000];
        uniform_full_int(Philox::scrambled([7, 8]), &mut whole);
        assert_eq!(digest(whole.iter().copied()), 0x2a3c_4b2e_2368_fc5d);
        let mut whole = [0u32; 1000];
        uniform_full_int(Philox::scrambled([7, 8]), &mut whole);
        assert_eq!(digest(whole.iter().map(|&v| v as u64)), 0x21be_a011_ab32_54cc);
        let none = Philox::new(1, 1);
        assert_eq!(uniform_int(none, 3i32, 3, &mut [0]), Err(Error::Argument));
        uniform_int(none, 3i32, 3, &mut []).unwrap();
        uniform_int(none, i64::MIN, i64::MAX, &mut [0]).unwrap();
    }
}
