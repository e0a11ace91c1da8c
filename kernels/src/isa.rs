//! The only place that knows the machine: detection of its vector instructions, and the operations kernels are written in.
//!
//! A kernel is written once, over [`Simd`], as the body of a [`Kernel`]; [`Vectorised::run`] calls that body inside a
//! function compiled for the level asked for. Everything below `Kernel::run` must be `#[inline(always)]`: a function that
//! is not inlined is compiled without the vector instructions.
//!
//! The tokens ([`Simd`] implementors) can only be made where the machine has been seen to have the instructions, which is
//! why their arithmetic is safe to call.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
mod neon;

pub use portable::Portable;

/// A level of vector instructions that this machine has been seen to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Level);

/// The levels there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Level {
    /// Plain loops over small arrays, which the compiler turns into the target's baseline vectors.
    Portable,
    /// 128-bit NEON, part of every aarch64.
    Neon,
    /// 256-bit AVX2 with fused multiply-add.
    Avx2,
    /// 512-bit AVX-512F.
    Avx512,
}

#[cfg(target_arch = "x86_64")]
cpufeatures::new!(has_avx2_fma, "avx2", "fma");
#[cfg(target_arch = "x86_64")]
cpufeatures::new!(has_avx512f, "avx512f", "avx2", "fma");

impl Isa {
    /// The level every machine has.
    pub const PORTABLE: Isa = Isa(Level::Portable);

    /// The best level of this machine. Looks once, then costs a load.
    pub fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512f::get() {
                return Isa(Level::Avx512);
            }
            if has_avx2_fma::get() {
                return Isa(Level::Avx2);
            }
        }
        if cfg!(target_arch = "aarch64") {
            return Isa(Level::Neon);
        }
        Isa::PORTABLE
    }

    /// Every level of this machine, plainest first.
    pub fn all() -> impl Iterator<Item = Isa> {
        [Level::Portable, Level::Neon, Level::Avx2, Level::Avx512].into_iter().filter_map(Isa::at)
    }

    /// This level, if the machine has it.
    pub fn at(level: Level) -> Option<Isa> {
        let has = match level {
            Level::Portable => true,
            Level::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => has_avx2_fma::get(),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => has_avx512f::get(),
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 | Level::Avx512 => false,
        };
        has.then_some(Isa(level))
    }

    /// Which level this is.
    pub fn level(self) -> Level {
        self.0
    }
}

/// Vectors of `T` on one level of machine.
///
/// Arithmetic is IEEE, lane by lane, except that [`mul_add`](Simd::mul_add) rounds once or twice as the machine likes.
pub trait Simd<T: Copy + Default>: Copy {
    /// A vector of [`LANES`](Simd::LANES) numbers.
    type V: Copy;
    /// Numbers in a vector; at most 16.
    const LANES: usize;
    /// Rows that a matrix-product tile of this level holds in registers.
    const TILE_ROWS: usize;
    /// Vectors in a row of that tile.
    const TILE_VECTORS: usize;

    /// `x` in every lane.
    fn splat(self, x: T) -> Self::V;
    /// `a + b`.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b`.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`.
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `if a > b { a } else { b }`: the second operand where either is NaN.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// `if a < b { a } else { b }`: the second operand where either is NaN.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// `if a > b { yes } else { no }`.
    fn select_gt(self, a: Self::V, b: Self::V, yes: Self::V, no: Self::V) -> Self::V;
    /// Two to the power of `n`, an integral number within the exponents of normal numbers.
    fn pow2(self, n: Self::V) -> Self::V;

    /// The [`LANES`](Simd::LANES) numbers at `p`.
    ///
    /// # Safety
    /// `p` is valid for reading that many, at any alignment of `T`.
    unsafe fn load(self, p: *const T) -> Self::V;

    /// Writes `v` to the [`LANES`](Simd::LANES) numbers at `p`.
    ///
    /// # Safety
    /// `p` is valid for writing that many, at any alignment of `T`.
    unsafe fn store(self, p: *mut T, v: Self::V);

    /// The first `n` numbers at `p`, zero in the other lanes.
    ///
    /// # Safety
    /// `n` is at most [`LANES`](Simd::LANES), and `p` is valid for reading `n` numbers.
    #[inline(always)]
    unsafe fn load_part(self, p: *const T, n: usize) -> Self::V {
        let mut lanes = [T::default(); 16];
        for (i, lane) in lanes.iter_mut().enumerate().take(n) {
            // SAFETY: the caller's promise, as `i < n`.
            *lane = unsafe { *p.add(i) };
        }
        // SAFETY: LANES is at most 16.
        unsafe { self.load(lanes.as_ptr()) }
    }

    /// Writes the first `n` lanes of `v` to `p`.
    ///
    /// # Safety
    /// `n` is at most [`LANES`](Simd::LANES), and `p` is valid for writing `n` numbers.
    #[inline(always)]
    unsafe fn store_part(self, p: *mut T, v: Self::V, n: usize) {
        for (i, lane) in self.lanes(v).into_iter().enumerate().take(n) {
            // SAFETY: the caller's promise, as `i < n`.
            unsafe { *p.add(i) = lane };
        }
    }

    /// The first [`LANES`](Simd::LANES) numbers of `s`, zero standing for those it does not have.
    #[inline(always)]
    fn load_first(self, s: &[T]) -> Self::V {
        if s.len() >= Self::LANES {
            // SAFETY: `s` has that many.
            unsafe { self.load(s.as_ptr()) }
        } else {
            // SAFETY: `s` has that many, and fewer than LANES.
            unsafe { self.load_part(s.as_ptr(), s.len()) }
        }
    }

    /// Writes as many lanes of `v` as `s` has room for.
    #[inline(always)]
    fn store_first(self, s: &mut [T], v: Self::V) {
        if s.len() >= Self::LANES {
            // SAFETY: `s` has that many.
            unsafe { self.store(s.as_mut_ptr(), v) }
        } else {
            // SAFETY: `s` has that many, and fewer than LANES.
            unsafe { self.store_part(s.as_mut_ptr(), v, s.len()) }
        }
    }

    /// The lanes of `v`; those past [`LANES`](Simd::LANES) are the default of `T`.
    #[inline(always)]
    fn lanes(self, v: Self::V) -> [T; 16] {
        let mut lanes = [T::default(); 16];
        // SAFETY: LANES is at most 16.
        unsafe { self.store(lanes.as_mut_ptr(), v) };
        lanes
    }
}

/// A computation written over any level's vectors of `T`.
pub trait Kernel<T: Copy + Default> {
    /// What it gives.
    type Output;
    /// The computation; mark it `#[inline(always)]`.
    fn run<S: Simd<T>>(self, s: S) -> Self::Output;
}

/// A number type that has vectors.
pub trait Vectorised: Copy + Default {
    /// Runs `kernel` compiled for `isa`.
    fn run<K: Kernel<Self>>(isa: Isa, kernel: K) -> K::Output;
}

macro_rules! vectorised {
    ($t:ty) => {
        impl Vectorised for $t {
            #[inline]
            fn run<K: Kernel<Self>>(isa: Isa, kernel: K) -> K::Output {
                match isa.0 {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: an `Isa` of this level is made only after the machine was seen to have it.
                    Level::Avx512 => unsafe { x86::run_avx512::<$t, K>(kernel) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: an `Isa` of this level is made only after the machine was seen to have it.
                    Level::Avx2 => unsafe { x86::run_avx2::<$t, K>(kernel) },
                    #[cfg(target_arch = "aarch64")]
                    Level::Neon => neon::run_neon::<$t, K>(kernel),
                    _ => kernel.run(Portable),
                }
            }
        }
    };
}

vectorised!(f32);
vectorised!(f64);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    struct Ops<'a>(&'a [f32], &'a [f32]);

    impl Kernel<f32> for Ops<'_> {
        type Output = Vec<Vec<f32>>;
        #[inline(always)]
        fn run<S: Simd<f32>>(self, s: S) -> Self::Output {
            let (a, b) = (s.load_first(self.0), s.load_first(self.1));
            let n = self.0.len().min(S::LANES);
            let all = [
                s.add(a, b),
                s.sub(a, b),
                s.mul(a, b),
                s.div(a, b),
                s.max(a, b),
                s.min(a, b),
                s.select_gt(a, b, s.splat(1.0), s.splat(2.0)),
                s.mul_add(a, b, a),
            ];
            all.iter().map(|&v| s.lanes(v)[..n].to_vec()).collect()
        }
    }

    /// Each operation of each level agrees bit for bit with its definition, NaN and signed zero included.
    #[test]
    fn operations_mean_what_they_say() {
        let a = [1.0f32, -0.0, f32::NAN, 2.0, f32::INFINITY, -3.0, 0.0, 7.0];
        let b = [2.0f32, 0.0, 1.0, f32::NAN, 1.0, -4.0, -0.0, 7.0];
        let bits = |v: Vec<f32>| v.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect::<Vec<_>>();
        for isa in Isa::all() {
            for n in 0..=8 {
                let got = f32::run(isa, Ops(&a[..n], &b[..n]));
                let n = got[0].len();
                type Op = fn(f32, f32) -> f32;
                let ops: [Op; 8] = [
                    |a, b| a + b,
                    |a, b| a - b,
                    |a, b| a * b,
                    |a, b| a / b,
                    |a, b| if a > b { a } else { b },
                    |a, b| if a < b { a } else { b },
                    |a, b| if a > b { 1.0 } else { 2.0 },
                    |a, b| a * b + a,
                ];
                for (i, op) in ops.iter().enumerate() {
                    let want = a.iter().zip(&b).take(n).map(|(&a, &b)| op(a, b)).collect();
                    assert_eq!(bits(got[i].clone()), bits(want), "{isa:?} op {i}");
                }
            }
        }
    }

    struct Pow2;

    impl Kernel<f64> for Pow2 {
        type Output = [[f64; 16]; 3];
        #[inline(always)]
        fn run<S: Simd<f64>>(self, s: S) -> Self::Output {
            [-1022.0, 0.0, 1023.0].map(|n| s.lanes(s.pow2(s.splat(n))))
        }
    }

    impl Kernel<f32> for Pow2 {
        type Output = [[f32; 16]; 3];
        #[inline(always)]
        fn run<S: Simd<f32>>(self, s: S) -> Self::Output {
            [-126.0, 0.0, 127.0].map(|n| s.lanes(s.pow2(s.splat(n))))
        }
    }

    /// Powers of two are exact from the smallest normal to the largest.
    #[test]
    fn powers_of_two() {
        for isa in Isa::all() {
            let got = f32::run(isa, Pow2).map(|l| l[0]);
            assert_eq!(got, [f32::MIN_POSITIVE, 1.0, 1.7014118e38]);
            let got = f64::run(isa, Pow2).map(|l| l[0]);
            assert_eq!(got, [f64::MIN_POSITIVE, 1.0, 8.98846567431158e307]);
        }
    }

    /// Portable is first and every detected level is among them.
    #[test]
    fn detection() {
        let all: Vec<_> = Isa::all().collect();
        assert_eq!(all[0], Isa::PORTABLE);
        assert!(all.contains(&Isa::detect()));
    }
}
