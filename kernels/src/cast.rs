//! Conversion between all numeric types with the results of TensorFlow on an x86 CPU.
//!
//! Floats go to integers by truncation; what does not fit (NaN, infinities, large values) gives the value the machine's
//! conversion gives: through `i32` for types below 32 bits (the least `i32`, then wrapped: zero), the least value for
//! `i32` and `i64`, the middle of the range for `u32` and `u64`. (TensorFlow itself gives several answers for such values
//! in the small types, depending on the position in the vector.) Complex numbers give their real part. Booleans are one
//! and zero; anything not zero is true.

use half::{bf16, f16};
use num_complex::Complex;

use crate::element::Element;
use crate::error::{self, Result};

/// A conversion of elements.
pub trait CastTo<O: Element>: Element {
    /// The converted value.
    fn cast_to(self) -> O;
}

/// `out[i]` = `x[i]` converted.
pub fn cast<T: CastTo<O>, O: Element>(x: &[T], out: &mut [O]) -> Result<()> {
    error::same(out.len(), x.len())?;
    for (o, &x) in out.iter_mut().zip(x) {
        *o = x.cast_to();
    }
    Ok(())
}

/// Float to `i32` as `cvttsd2si` does.
#[inline(always)]
fn to_i32(x: f64) -> i32 {
    if x > -2_147_483_649.0 && x < 2_147_483_648.0 { x as i32 } else { i32::MIN }
}

#[inline(always)]
fn to_i64(x: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x) { x as i64 } else { i64::MIN }
}

#[inline(always)]
fn to_u32(x: f64) -> u32 {
    if (2_147_483_648.0..4_294_967_296.0).contains(&x) { x as u32 } else { to_i32(x) as u32 }
}

#[inline(always)]
fn to_u64(x: f64) -> u64 {
    if (9_223_372_036_854_775_808.0..18_446_744_073_709_551_616.0).contains(&x) { x as u64 } else { to_i64(x) as u64 }
}

macro_rules! casts {
    ($from:ty: $x:ident; $($to:ty = $body:expr;)*) => {$(
        impl CastTo<$to> for $from {
            #[inline(always)]
            fn cast_to(self) -> $to {
                let $x = self;
                $body
            }
        }
    )*};
}

/// From a real float, given as expressions of its `f32` and `f64` values.
macro_rules! from_floats {
    ($($from:ty: $x:ident, $single:expr, $double:expr;)*) => {$(
        casts! { $from: $x;
            i8 = to_i32($double) as i8; i16 = to_i32($double) as i16; i32 = to_i32($double); i64 = to_i64($double);
            u8 = to_i32($double) as u8; u16 = to_i32($double) as u16; u32 = to_u32($double); u64 = to_u64($double);
            bool = $double != 0.0; f16 = f16::from_f32($single); bf16 = bf16::from_f32($single); f32 = $single;
            f64 = $double; Complex<f32> = Complex::new($single, 0.0); Complex<f64> = Complex::new($double, 0.0);
        }
    )*};
}

from_floats! {
    f16: x, x.to_f32(), x.to_f32() as f64;
    bf16: x, x.to_f32(), x.to_f32() as f64;
    f32: x, x, x as f64;
    f64: x, x as f32, x;
}

macro_rules! from_integers {
    ($($from:ident)*) => {$(
        casts! { $from: x;
            i8 = x as i8; i16 = x as i16; i32 = x as i32; i64 = x as i64;
            u8 = x as u8; u16 = x as u16; u32 = x as u32; u64 = x as u64;
            bool = x != 0; f16 = f16::from_f32(x as f32); bf16 = bf16::from_f32(x as f32); f32 = x as f32;
            f64 = x as f64; Complex<f32> = Complex::new(x as f32, 0.0); Complex<f64> = Complex::new(x as f64, 0.0);
        }
    )*};
}

from_integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

casts! { bool: x;
    i8 = x as i8; i16 = x as i16; i32 = x as i32; i64 = x as i64;
    u8 = x as u8; u16 = x as u16; u32 = x as u32; u64 = x as u64;
    bool = x; f16 = f16::from_f32(x as u8 as f32); bf16 = bf16::from_f32(x as u8 as f32); f32 = x as u8 as f32;
    f64 = x as u8 as f64; Complex<f32> = Complex::new(x as u8 as f32, 0.0);
    Complex<f64> = Complex::new(x as u8 as f64, 0.0);
}

macro_rules! from_complex {
    ($($from:ident)*) => {$(
        casts! { Complex<$from>: x;
            i8 = x.re.cast_to(); i16 = x.re.cast_to(); i32 = x.re.cast_to(); i64 = x.re.cast_to();
            u8 = x.re.cast_to(); u16 = x.re.cast_to(); u32 = x.re.cast_to(); u64 = x.re.cast_to();
            bool = x.re != 0.0; f16 = x.re.cast_to(); bf16 = x.re.cast_to(); f32 = x.re.cast_to(); f64 = x.re.cast_to();
            Complex<f32> = Complex::new(x.re as f32, x.im as f32); Complex<f64> = Complex::new(x.re as f64, x.im as f64);
        }
    )*};
}

from_complex! { f32 f64 }

/// A float whose lowest mantissa bits can be cleared, for conversions with the attribute `Truncate`.
pub trait Truncate: Element {
    /// The value with only the mantissa bits that a target with `bits` of them keeps.
    fn truncated(self, bits: u32) -> Self;
}

macro_rules! truncate {
    ($($t:ident $mantissa:literal;)*) => {$(
        impl Truncate for $t {
            #[inline(always)]
            fn truncated(self, bits: u32) -> Self {
                let drop = $mantissa.min(u32::saturating_sub($mantissa, bits));
                $t::from_bits(self.to_bits() >> drop << drop)
            }
        }
    )*};
}
truncate! { f64 52; f32 23; f16 10; bf16 7; }

/// As [`cast`] to a float with `bits` bits of mantissa (`f32` 23, `f16` 10, `bf16` 7), rounding toward zero.
pub fn cast_truncated<T: Truncate + CastTo<O>, O: Element>(x: &[T], bits: u32, out: &mut [O]) -> Result<()> {
    error::same(out.len(), x.len())?;
    for (o, &x) in out.iter_mut().zip(x) {
        *o = x.truncated(bits).cast_to();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn to<T: CastTo<O>, O: Element, const N: usize>(x: [T; N]) -> [O; N] {
        let mut out = [O::ZERO; N];
        cast(&x, &mut out).unwrap();
        out
    }

    /// TensorFlow 2.21's answers (where its vector and scalar paths differ, the scalar one's).
    #[test]
    fn floats_to_integers() {
        let x = [f32::NAN, f32::INFINITY, -f32::INFINITY, 3e10, -3e10, 3e9, -2.2e9, 300.7, -300.7, -1.5, 70000.0];
        let min = i32::MIN;
        assert_eq!(to::<f32, i32, 11>(x), [min, min, min, min, min, min, min, 300, -300, -1, 70000]);
        assert_eq!(to::<f32, i8, 11>(x), [0, 0, 0, 0, 0, 0, 0, 44, -44, -1, 112]);
        assert_eq!(to::<f32, i16, 11>(x), [0, 0, 0, 0, 0, 0, 0, 300, -300, -1, 4464]);
        assert_eq!(to::<f32, u8, 11>(x), [0, 0, 0, 0, 0, 0, 0, 44, 212, 255, 112]);
        assert_eq!(to::<f32, u16, 11>(x), [0, 0, 0, 0, 0, 0, 0, 300, 65236, 65535, 4464]);
        let m = i64::MIN;
        let big = 30_000_001_024;
        assert_eq!(to::<f32, i64, 11>(x), [m, m, m, big, -big, 3_000_000_000, -2_200_000_000, 300, -300, -1, 70000]);
        let h = 1u32 << 31;
        assert_eq!(to::<f32, u32, 11>(x), [h, h, h, h, h, 3_000_000_000, h, 300, 4_294_966_996, u32::MAX, 70000]);
        let g = 1u64 << 63;
        assert_eq!(
            to::<f64, u64, 6>([f64::NAN, 1e19, -1e19, 2e19, -300.7, 1.9e19])[..5],
            [g, 10_000_000_000_000_000_000, g, g, 18_446_744_073_709_551_316,]
        );
        assert_eq!(to::<f16, i32, 2>([f16::INFINITY, f16::from_f32(-1.5)]), [min, -1]);
        assert_eq!(to::<f64, bool, 3>([f64::NAN, -0.0, 0.5]), [true, false, true]);
    }

    #[test]
    fn to_floats_and_complex() {
        assert_eq!(to::<f64, f32, 2>([1e300, 1.00000001]), [f32::INFINITY, 1.0]);
        let half = to::<i64, f16, 4>([2049, 65519, 65520, 1 << 62]).map(|h| h.to_f32());
        assert_eq!(half, [2048.0, 65504.0, f32::INFINITY, f32::INFINITY]);
        assert_eq!(to::<f64, f16, 1>([2049.0000001])[0].to_f32(), 2048.0);
        assert_eq!(to::<f32, bf16, 2>([1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0]).map(|h| h.to_f32()), [1.0, 1.015625]);
        assert_eq!(to::<i64, f32, 1>([(1 << 24) + 1]), [16_777_216.0]);
        let c = [Complex::new(1.5f32, 2.0), Complex::new(0.0, 1.0)];
        assert_eq!((to::<_, f32, 2>(c), to::<_, bool, 2>(c), to::<_, u8, 2>(c)), ([1.5, 0.0], [true, false], [1, 0]));
        assert_eq!(to::<_, Complex<f64>, 2>(c)[1], Complex::new(0.0, 1.0));
        assert_eq!(to::<bool, Complex<f32>, 1>([true]), [Complex::new(1.0, 0.0)]);
        assert_eq!(cast::<u8, f32>(&[1], &mut []), Err(Error::Length));
    }

    #[test]
    fn truncation_goes_toward_zero() {
        let mut out = [bf16::ZERO; 4];
        cast_truncated(&[1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, 3.39e38f32, -1.0078], 7, &mut out).unwrap();
        assert_eq!(out.map(|v| v.to_f32()), [1.0, 1.0078125, 3.3895314e38, -1.0]);
        let mut out = [f16::ZERO; 2];
        cast_truncated(&[1.0009f32, 65520.0], 10, &mut out).unwrap();
        assert_eq!(out.map(|v| v.to_f32()), [1.0, 65504.0]);
        let mut out = [0f32; 1];
        cast_truncated(&[-1.0 - 2f64.powi(-23) - 2f64.powi(-24)], 23, &mut out).unwrap();
        assert_eq!(out, [-1.0000001]);
    }
}
