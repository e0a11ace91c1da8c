//! AVX2 with FMA, and AVX-512F.

use super::portable::{MAGIC_F32, MAGIC_F64};
use super::{Kernel, Simd};
use core::arch::x86_64::*;

/// Token: the machine has AVX2 and FMA.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

/// Token: the machine has AVX-512F.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

/// Runs `kernel` compiled for AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) fn run_avx2<T: Copy + Default, K: Kernel<T>>(kernel: K) -> K::Output
where
    Avx2: Simd<T>,
{
    kernel.run(Avx2(()))
}

/// Runs `kernel` compiled for AVX-512F.
#[target_feature(enable = "avx512f,avx2,fma")]
pub(super) fn run_avx512<T: Copy + Default, K: Kernel<T>>(kernel: K) -> K::Output
where
    Avx512: Simd<T>,
{
    kernel.run(Avx512(()))
}

/// A mask of the first `n` 32-bit lanes.
#[inline(always)]
fn first32(n: usize) -> __m256i {
    const ONES: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: eight of sixteen numbers from place 0 to 8.
    unsafe { ONES.as_ptr().add(8 - n.min(8)).cast::<__m256i>().read_unaligned() }
}

/// A mask of the first `n` 64-bit lanes.
#[inline(always)]
fn first64(n: usize) -> __m256i {
    const ONES: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
    // SAFETY: four of eight numbers from place 0 to 4.
    unsafe { ONES.as_ptr().add(4 - n.min(4)).cast::<__m256i>().read_unaligned() }
}

/// One level's vectors of one type, from the names of its intrinsics. `|a, b, yes, no| select` and `|v| pow2` are
/// expressions, for they have no common name.
macro_rules! simd {
    (
        $token:ty, $t:ty, $v:ty, lanes $lanes:literal, tile $rows:literal x $vectors:literal,
        $set1:ident $add:ident $sub:ident $mul:ident $div:ident $fma:ident $max:ident $min:ident $load:ident $store:ident,
        |$a:ident, $b:ident, $yes:ident, $no:ident| $select:expr, |$n:ident| $pow2:expr,
        |$p:ident, $count:ident| $load_part:expr, |$q:ident, $w:ident, $many:ident| $store_part:expr
    ) => {
        impl Simd<$t> for $token {
            type V = $v;
            const LANES: usize = $lanes;
            const TILE_ROWS: usize = $rows;
            const TILE_VECTORS: usize = $vectors;

            #[inline(always)]
            fn splat(self, x: $t) -> $v {
                // SAFETY: `self` exists only on a machine with this level.
                unsafe { $set1(x) }
            }
            #[inline(always)]
            fn add(self, a: $v, b: $v) -> $v {
                // SAFETY: `self` exists only on a machine with this level.
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            fn sub(self, a: $v, b: $v) -> $v {
                // SAFETY: `self` exists only on a machine with this level.
                unsafe { $sub(a, b) }
            }
            #[inline(always)]
            fn mul(self, a: $v, b: $v) -> $v {
                // SAFETY: `self` exists only on a machine with this level.
                unsafe { $mul(a, b) }
            }
            #[inline(always)]
            fn div(self, a: $v, b: $v) -> $v {
                // SAFETY: `self` exists only on a machine with this level.
                unsafe { $div(a, b) }
            }
            #[inline(always)]
            fn mul_add(self, a: $v, b: $v, c: $v) -> $v {
                // SAFETY: `self` exists only on a machine with this level.
                unsafe { $fma(a, b, c) }
            }
            #[inline(always)]
            fn max(self, a: $v, b: $v) -> $v {
                // SAFETY: `self` exists only on a machine with this level.
                unsafe { $max(a, b) }
            }
            #[inline(always)]
            fn min(self, a: $v, b: $v) -> $v {
                // SAFETY: `self` exists only on a machine with this level.
                unsafe { $min(a, b) }
            }
            #[inline(always)]
            fn select_gt(self, $a: $v, $b: $v, $yes: $v, $no: $v) -> $v {
                // SAFETY: `self` exists only on a machine with this level.
                unsafe { $select }
            }
            #[inline(always)]
            fn pow2(self, $n: $v) -> $v {
                // Adding the constant leaves the biased exponent in the lowest bits of the sum.
                // SAFETY: `self` exists only on a machine with this level.
                unsafe { $pow2 }
            }
            #[inline(always)]
            unsafe fn load(self, p: *const $t) -> $v {
                // SAFETY: `self` exists only on a machine with this level; the caller promises `p`.
                unsafe { $load(p) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t, v: $v) {
                // SAFETY: `self` exists only on a machine with this level; the caller promises `p`.
                unsafe { $store(p, v) }
            }
            #[inline(always)]
            unsafe fn load_part(self, $p: *const $t, $count: usize) -> $v {
                // SAFETY: `self` exists only on a machine with this level; masked lanes are not touched, the others are the
                // caller's promise.
                unsafe { $load_part }
            }
            #[inline(always)]
            unsafe fn store_part(self, $q: *mut $t, $w: $v, $many: usize) {
                // SAFETY: as for `load_part`.
                unsafe { $store_part }
            }
        }
    };
}

// 6 × 2 accumulators, 2 vectors of B and a broadcast use 15 of 16 registers.
simd!(
    Avx2, f32, __m256, lanes 8, tile 6 x 2,
    _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_fmadd_ps _mm256_max_ps _mm256_min_ps
    _mm256_loadu_ps _mm256_storeu_ps,
    |a, b, yes, no| _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_GT_OQ>(a, b)),
    |n| _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_castps_si256(_mm256_add_ps(n, _mm256_set1_ps(MAGIC_F32))))),
    |p, n| _mm256_maskload_ps(p, first32(n)), |p, v, n| _mm256_maskstore_ps(p, first32(n), v)
);
simd!(
    Avx2, f64, __m256d, lanes 4, tile 6 x 2,
    _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_fmadd_pd _mm256_max_pd _mm256_min_pd
    _mm256_loadu_pd _mm256_storeu_pd,
    |a, b, yes, no| _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_GT_OQ>(a, b)),
    |n| _mm256_castsi256_pd(_mm256_slli_epi64::<52>(_mm256_castpd_si256(_mm256_add_pd(n, _mm256_set1_pd(MAGIC_F64))))),
    |p, n| _mm256_maskload_pd(p, first64(n)), |p, v, n| _mm256_maskstore_pd(p, first64(n), v)
);
// 12 × 2 accumulators, 2 vectors of B; the broadcast is folded into the multiply-add's memory operand.
simd!(
    Avx512, f32, __m512, lanes 16, tile 12 x 2,
    _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_fmadd_ps _mm512_max_ps _mm512_min_ps
    _mm512_loadu_ps _mm512_storeu_ps,
    |a, b, yes, no| _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), no, yes),
    |n| _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_castps_si512(_mm512_add_ps(n, _mm512_set1_ps(MAGIC_F32))))),
    |p, n| _mm512_maskz_loadu_ps((1u32.wrapping_shl(n as u32) - 1) as __mmask16, p),
    |p, v, n| _mm512_mask_storeu_ps(p, (1u32.wrapping_shl(n as u32) - 1) as __mmask16, v)
);
simd!(
    Avx512, f64, __m512d, lanes 8, tile 12 x 2,
    _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_fmadd_pd _mm512_max_pd _mm512_min_pd
    _mm512_loadu_pd _mm512_storeu_pd,
    |a, b, yes, no| _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b), no, yes),
    |n| _mm512_castsi512_pd(_mm512_slli_epi64::<52>(_mm512_castpd_si512(_mm512_add_pd(n, _mm512_set1_pd(MAGIC_F64))))),
    |p, n| _mm512_maskz_loadu_pd((1u32.wrapping_shl(n as u32) - 1) as __mmask8, p),
    |p, v, n| _mm512_mask_storeu_pd(p, (1u32.wrapping_shl(n as u32) - 1) as __mmask8, v)
);
