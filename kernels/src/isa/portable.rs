//! Vectors as small arrays, for machines of which nothing is known: the compiler finds the baseline vectors itself.

use super::Simd;

/// The token of the level that every machine has.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

macro_rules! portable {
    ($t:ty, $bits:ty, $lanes:literal, $magic:expr, $shift:literal) => {
        impl Simd<$t> for Portable {
            type V = [$t; $lanes];
            const LANES: usize = $lanes;
            const TILE_ROWS: usize = 4;
            const TILE_VECTORS: usize = 2;

            #[inline(always)]
            fn splat(self, x: $t) -> Self::V {
                [x; $lanes]
            }
            #[inline(always)]
            fn add(self, a: Self::V, b: Self::V) -> Self::V {
                core::array::from_fn(|i| a[i] + b[i])
            }
            #[inline(always)]
            fn sub(self, a: Self::V, b: Self::V) -> Self::V {
                core::array::from_fn(|i| a[i] - b[i])
            }
            #[inline(always)]
            fn mul(self, a: Self::V, b: Self::V) -> Self::V {
                core::array::from_fn(|i| a[i] * b[i])
            }
            #[inline(always)]
            fn div(self, a: Self::V, b: Self::V) -> Self::V {
                core::array::from_fn(|i| a[i] / b[i])
            }
            #[inline(always)]
            fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                core::array::from_fn(|i| a[i] * b[i] + c[i])
            }
            #[inline(always)]
            fn max(self, a: Self::V, b: Self::V) -> Self::V {
                core::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            fn min(self, a: Self::V, b: Self::V) -> Self::V {
                core::array::from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            fn select_gt(self, a: Self::V, b: Self::V, yes: Self::V, no: Self::V) -> Self::V {
                core::array::from_fn(|i| if a[i] > b[i] { yes[i] } else { no[i] })
            }
            #[inline(always)]
            fn pow2(self, n: Self::V) -> Self::V {
                // Adding the constant leaves the biased exponent in the lowest bits of the sum.
                core::array::from_fn(|i| <$t>::from_bits(((n[i] + $magic).to_bits()) << $shift))
            }
            #[inline(always)]
            unsafe fn load(self, p: *const $t) -> Self::V {
                // SAFETY: the caller's promise.
                unsafe { p.cast::<Self::V>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t, v: Self::V) {
                // SAFETY: the caller's promise.
                unsafe { p.cast::<Self::V>().write_unaligned(v) }
            }
        }
    };
}

/// 1.5 · 2^23 plus the bias of an f32's exponent.
pub(super) const MAGIC_F32: f32 = 12_582_912.0 + 127.0;
/// 1.5 · 2^52 plus the bias of an f64's exponent.
pub(super) const MAGIC_F64: f64 = 6_755_399_441_055_744.0 + 1023.0;

portable!(f32, u32, 4, MAGIC_F32, 23);
portable!(f64, u64, 2, MAGIC_F64, 52);
