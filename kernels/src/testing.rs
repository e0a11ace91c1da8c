//! What the kernels' tests share: seeded numbers, a parallel that really interleaves tasks, and comparisons.

use crate::isa::Isa;
use crate::parallel::Parallel;
use alloc::vec::Vec;

/// A small seeded generator (SplitMix64).
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// In -1..1, with few enough bits that sums of products differ little by order.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    }

    pub(crate) fn f32s(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.unit() as f32).collect()
    }

    pub(crate) fn f64s(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.unit()).collect()
    }
}

/// Claims several threads but runs tasks here, last first, at a given level.
pub(crate) struct Backwards {
    pub(crate) threads: usize,
    pub(crate) isa: Isa,
}

impl Parallel for Backwards {
    fn threads(&self) -> usize {
        self.threads
    }

    fn parallel_for(&self, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
        for i in (0..tasks).rev() {
            f(i);
        }
    }

    fn isa(&self) -> Isa {
        self.isa
    }
}

/// Every level of the machine, alone and with three claimed threads.
pub(crate) fn machines() -> Vec<Backwards> {
    let mut all = Vec::new();
    for isa in Isa::all() {
        all.push(Backwards { threads: 1, isa });
        all.push(Backwards { threads: 3, isa });
    }
    all
}

/// Panics unless the slices agree within `tolerance` of the larger magnitude (or of one), NaN agreeing with NaN.
#[track_caller]
pub(crate) fn assert_close(got: &[f32], want: &[f32], tolerance: f32, case: &str) {
    assert_eq!(got.len(), want.len(), "{case}: length");
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let same = g == w || (g.is_nan() && w.is_nan());
        assert!(same || (g - w).abs() <= tolerance * w.abs().max(1.0), "{case}: at {i} got {g} want {w}");
    }
}

/// [`assert_close`] for f64.
#[track_caller]
pub(crate) fn assert_close64(got: &[f64], want: &[f64], tolerance: f64, case: &str) {
    assert_eq!(got.len(), want.len(), "{case}: length");
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let same = g == w || (g.is_nan() && w.is_nan());
        assert!(same || (g - w).abs() <= tolerance * w.abs().max(1.0), "{case}: at {i} got {g} want {w}");
    }
}
