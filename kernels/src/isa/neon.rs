//! NEON, which every aarch64 has.

use super::portable::{MAGIC_F32, MAGIC_F64};
use super::{Kernel, Simd};
use core::arch::aarch64::*;

/// Token: the machine is an aarch64.
#[derive(Clone, Copy)]
pub(super) struct Neon(());

/// Runs `kernel`; NEON needs no function of its own.
#[inline]
pub(super) fn run_neon<T: Copy + Default, K: Kernel<T>>(kernel: K) -> K::Output
where
    Neon: Simd<T>,
{
    kernel.run(Neon(()))
}

/// The vectors of one type, from the names of its intrinsics.
macro_rules! simd {
    (
        $t:ty, $v:ty, lanes $lanes:literal, tile $rows:literal x $vectors:literal,
        $dup:ident $add:ident $sub:ident $mul:ident $div:ident $fma:ident $gt:ident $bsl:ident $load:ident $store:ident,
        |$n:ident| $pow2:expr
    ) => {
        // SAFETY of every block here: NEON is part of the target's baseline; pointers are the caller's promise.
        #[allow(unused_unsafe, clippy::undocumented_unsafe_blocks)]
        impl Simd<$t> for Neon {
            type V = $v;
            const LANES: usize = $lanes;
            const TILE_ROWS: usize = $rows;
            const TILE_VECTORS: usize = $vectors;

            #[inline(always)]
            fn splat(self, x: $t) -> $v {
                unsafe { $dup(x) }
            }
            #[inline(always)]
            fn add(self, a: $v, b: $v) -> $v {
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            fn sub(self, a: $v, b: $v) -> $v {
                unsafe { $sub(a, b) }
            }
            #[inline(always)]
            fn mul(self, a: $v, b: $v) -> $v {
                unsafe { $mul(a, b) }
            }
            #[inline(always)]
            fn div(self, a: $v, b: $v) -> $v {
                unsafe { $div(a, b) }
            }
            #[inline(always)]
            fn mul_add(self, a: $v, b: $v, c: $v) -> $v {
                unsafe { $fma(c, a, b) }
            }
            #[inline(always)]
            fn max(self, a: $v, b: $v) -> $v {
                unsafe { $bsl($gt(a, b), a, b) }
            }
            #[inline(always)]
            fn min(self, a: $v, b: $v) -> $v {
                unsafe { $bsl($gt(b, a), a, b) }
            }
            #[inline(always)]
            fn select_gt(self, a: $v, b: $v, yes: $v, no: $v) -> $v {
                unsafe { $bsl($gt(a, b), yes, no) }
            }
            #[inline(always)]
            fn pow2(self, $n: $v) -> $v {
                // Adding the constant leaves the biased exponent in the lowest bits of the sum.
                unsafe { $pow2 }
            }
            #[inline(always)]
            unsafe fn load(self, p: *const $t) -> $v {
                unsafe { $load(p) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t, v: $v) {
                unsafe { $store(p, v) }
            }
        }
    };
}

// 6 × 4 accumulators and 4 vectors of B leave four of 32 registers for the rows of A.
simd!(
    f32, float32x4_t, lanes 4, tile 6 x 4,
    vdupq_n_f32 vaddq_f32 vsubq_f32 vmulq_f32 vdivq_f32 vfmaq_f32 vcgtq_f32 vbslq_f32 vld1q_f32 vst1q_f32,
    |n| vreinterpretq_f32_u32(vshlq_n_u32::<23>(vreinterpretq_u32_f32(vaddq_f32(n, vdupq_n_f32(MAGIC_F32)))))
);
simd!(
    f64, float64x2_t, lanes 2, tile 6 x 4,
    vdupq_n_f64 vaddq_f64 vsubq_f64 vmulq_f64 vdivq_f64 vfmaq_f64 vcgtq_f64 vbslq_f64 vld1q_f64 vst1q_f64,
    |n| vreinterpretq_f64_u64(vshlq_n_u64::<52>(vreinterpretq_u64_f64(vaddq_f64(n, vdupq_n_f64(MAGIC_F64)))))
);
