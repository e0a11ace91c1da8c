//! What a kernel that takes every number type needs to know of one.

use half::{bf16, f16};
use num_complex::Complex;

/// Numbers that can be multiplied and summed: integers wrap round, f16 and bf16 are summed in f32 and rounded once.
pub trait Arithmetic: Copy + Send + Sync {
    /// What products are summed in.
    type Sum: Copy + Send + Sync;
    /// An empty sum.
    const EMPTY: Self::Sum;
    /// The sum of one number.
    fn widen(self) -> Self::Sum;
    /// `sum + a · b`.
    fn add_product(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    /// `a + b`.
    fn add(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// The sum as a number.
    fn narrow(sum: Self::Sum) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Arithmetic for $t {
            type Sum = $t;
            const EMPTY: $t = 0;
            #[inline(always)]
            fn widen(self) -> $t { self }
            #[inline(always)]
            fn add_product(sum: $t, a: $t, b: $t) -> $t { sum.wrapping_add(a.wrapping_mul(b)) }
            #[inline(always)]
            fn add(a: $t, b: $t) -> $t { a.wrapping_add(b) }
            #[inline(always)]
            fn narrow(sum: $t) -> $t { sum }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! themselves {
    ($($t:ty, $zero:expr;)*) => {$(
        impl Arithmetic for $t {
            type Sum = $t;
            const EMPTY: $t = $zero;
            #[inline(always)]
            fn widen(self) -> $t { self }
            #[inline(always)]
            fn add_product(sum: $t, a: $t, b: $t) -> $t { sum + a * b }
            #[inline(always)]
            fn add(a: $t, b: $t) -> $t { a + b }
            #[inline(always)]
            fn narrow(sum: $t) -> $t { sum }
        }
    )*};
}

themselves!(f32, 0.0; f64, 0.0; Complex<f32>, Complex { re: 0.0, im: 0.0 }; Complex<f64>, Complex { re: 0.0, im: 0.0 };);

macro_rules! in_f32 {
    ($($t:ty)*) => {$(
        impl Arithmetic for $t {
            type Sum = f32;
            const EMPTY: f32 = 0.0;
            #[inline(always)]
            fn widen(self) -> f32 { self.to_f32() }
            #[inline(always)]
            fn add_product(sum: f32, a: $t, b: $t) -> f32 { sum + a.to_f32() * b.to_f32() }
            #[inline(always)]
            fn add(a: f32, b: f32) -> f32 { a + b }
            #[inline(always)]
            fn narrow(sum: f32) -> $t { <$t>::from_f32(sum) }
        }
    )*};
}

in_f32!(f16 bf16);

/// Numbers with an order.
pub trait Real: Arithmetic + PartialOrd {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// 6.
    const SIX: Self;
    /// The lowest finite number.
    const LOWEST: Self;
    /// The product, rounded or wrapped round to this type.
    fn times(self, other: Self) -> Self;
}

macro_rules! real_integers {
    ($($t:ty)*) => {$(
        impl Real for $t {
            const ZERO: $t = 0;
            const ONE: $t = 1;
            const SIX: $t = 6;
            const LOWEST: $t = <$t>::MIN;
            #[inline(always)]
            fn times(self, other: $t) -> $t { self.wrapping_mul(other) }
        }
    )*};
}

real_integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! real_floats {
    ($($t:ty, $zero:expr, $one:expr, $six:expr;)*) => {$(
        impl Real for $t {
            const ZERO: $t = $zero;
            const ONE: $t = $one;
            const SIX: $t = $six;
            const LOWEST: $t = <$t>::MIN;
            #[inline(always)]
            fn times(self, other: $t) -> $t { self * other }
        }
    )*};
}

real_floats!(
    f32, 0.0, 1.0, 6.0;
    f64, 0.0, 1.0, 6.0;
    f16, f16::ZERO, f16::ONE, f16::from_f32_const(6.0);
    bf16, bf16::ZERO, bf16::ONE, bf16::from_f32_const(6.0);
);

/// Floating-point numbers of any width, computed with in f32 or f64.
pub trait Floating: Real + Arithmetic<Sum = Self::Wide> + crate::compiled::RowLoop {
    /// f64 for f64, f32 for the others.
    type Wide: crate::matmul::Float + crate::exp::Exponential;
    /// The wide number divided by a count.
    fn over(sum: Self::Wide, count: usize) -> Self::Wide;
}

impl Floating for f64 {
    type Wide = f64;
    #[inline(always)]
    fn over(sum: f64, count: usize) -> f64 {
        sum / count as f64
    }
}

macro_rules! floating {
    ($($t:ty)*) => {$(
        impl Floating for $t {
            type Wide = f32;
            #[inline(always)]
            fn over(sum: f32, count: usize) -> f32 { sum / count as f32 }
        }
    )*};
}

floating!(f32 f16 bf16);
