//! Comparisons and logic: binary operations whose result is a boolean.

use crate::binary::Binary;
use crate::element::{Element, Float, Real};
use crate::error::{self, Result};

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident<$t:ident: $bound:path>($a:ident, $b:ident) = $body:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;
        impl<$t: $bound> Binary<$t> for $name {
            type Out = bool;
            #[inline(always)]
            fn apply($a: $t, $b: $t) -> bool { $body }
        }
    )*};
}

ops! {
    /// `a == b`, for every element type.
    Equal<T: Element>(a, b) = a == b;
    /// `a != b`, for every element type; true if either is NaN.
    NotEqual<T: Element>(a, b) = a != b;
    /// `a < b`.
    Less<T: Real>(a, b) = a < b;
    /// `a <= b`.
    LessEqual<T: Real>(a, b) = a <= b;
    /// `a > b`.
    Greater<T: Real>(a, b) = a > b;
    /// `a >= b`.
    GreaterEqual<T: Real>(a, b) = a >= b;
}

macro_rules! logic {
    ($($(#[$doc:meta])* $name:ident($a:ident, $b:ident) = $body:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;
        impl Binary<bool> for $name {
            type Out = bool;
            #[inline(always)]
            fn apply($a: bool, $b: bool) -> bool { $body }
        }
    )*};
}

logic! {
    /// `a ∧ b`.
    LogicalAnd(a, b) = a & b;
    /// `a ∨ b`.
    LogicalOr(a, b) = a | b;
}

/// `|a − b| < tolerance` of equal lengths (`ApproximateEqual`).
pub fn approximate_equal<T: Float>(a: &[T], b: &[T], tolerance: f32, out: &mut [bool]) -> Result<()> {
    error::same(a.len(), out.len())?;
    error::same(b.len(), out.len())?;
    for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *o = a.minus(b).magnitude().to_f64() < tolerance as f64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::run;
    use half::f16;
    use num_complex::Complex;

    #[test]
    fn nan_equals_nothing_and_complex_numbers_compare() {
        let nan = f32::NAN;
        let mut out = [false; 3];
        run::<Equal, f32>((&[1.0, nan, 0.0], &[3]), (&[1.0, nan, -0.0], &[3]), &mut out).unwrap();
        assert_eq!(out, [true, false, true]);
        run::<NotEqual, f32>((&[1.0, nan, 0.0], &[3]), (&[1.0], &[]), &mut out).unwrap();
        assert_eq!(out, [false, true, true]);
        run::<LessEqual, f32>((&[1.0, nan, 0.0], &[3]), (&[1.0], &[]), &mut out).unwrap();
        assert_eq!(out, [true, false, true]);
        let c = Complex::new(1.0, f64::NAN);
        run::<Equal, Complex<f64>>((&[c], &[]), (&[c], &[]), &mut out[..1]).unwrap();
        assert!(!out[0]);
        run::<Greater, f16>((&[f16::ONE], &[]), (&[f16::ZERO], &[]), &mut out[..1]).unwrap();
        assert!(out[0]);
        run::<LogicalAnd, bool>((&[true], &[]), (&[true, false, true], &[3]), &mut out).unwrap();
        assert_eq!(out, [true, false, true]);
        approximate_equal(&[1.0f32, 1.0, nan], &[1.000001, 1.1, nan], 1e-5, &mut out).unwrap();
        assert_eq!(out, [true, false, false]);
    }
}
