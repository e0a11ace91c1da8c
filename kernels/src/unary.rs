//! Unary operations: an operation is a value with a scalar function, [`map`] applies it to a slice.
//!
//! Operations without parameters are unit structs; those with attributes (`LeakyRelu`, …) carry them.

use crate::element::{ComplexNumber, Element, Elementary, Float, Integer, Number, Real};
use crate::error::{self, Result};
use crate::isa::{Isa, Kernel, Simd, Vectorised};
use crate::math;
use crate::parallel::{Parallel, chunks_mut};

/// Scale of `Selu`.
pub const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
/// Scale of `Selu` times its alpha: minus the limit at −∞.
pub const SELU_SCALE_ALPHA: f64 = 1.758_099_340_847_376_9;

/// A unary operation on elements.
pub trait Unary<T: Element>: Copy + Sync {
    /// Type of the result.
    type Out: Element;
    /// Whether wider vectors than the target's baseline pay: straight code of many instructions an element.
    const WIDE: bool = false;
    /// The operation on one element.
    fn apply(&self, x: T) -> Self::Out;
}

/// `out[i] = op(x[i])`; lengths must agree.
pub fn map<Op: Unary<T>, T: Element>(op: Op, x: &[T], out: &mut [Op::Out]) -> Result<()> {
    error::same(out.len(), x.len())?;
    let kernel = Map { op, x, out };
    if Op::WIDE {
        f32::run(Isa::detect(), kernel)
    } else {
        kernel.plain()
    }
    Ok(())
}

/// [`map`] on the caller's threads.
pub fn map_on<Op: Unary<T>, T: Element>(par: &dyn Parallel, op: Op, x: &[T], out: &mut [Op::Out]) -> Result<()> {
    error::same(out.len(), x.len())?;
    // Plain operations are bound by memory, at some elements a cycle; the others take a few cycles an element.
    let unit = 256;
    let cycles = if Op::WIDE { 2 * unit } else { unit / 2 };
    let whole = out.len() / unit * unit;
    let (head, tail) = out.split_at_mut(whole);
    chunks_mut(par, head, unit, cycles, &|first, out| {
        if let Some(x) = x.get(first * unit..first * unit + out.len()) {
            let _ = map(op, x, out);
        }
    });
    map(op, x.get(whole..).ok_or(error::Error::Length)?, tail)
}

/// `x[i] = op(x[i])`.
pub fn map_in_place<Op: Unary<T, Out = T>, T: Element>(op: Op, x: &mut [T]) {
    let kernel = MapInPlace { op, x };
    if Op::WIDE { f32::run(Isa::detect(), kernel) } else { kernel.plain() }
}

/// A map to be compiled for a level of machine. Results are the same at each: nothing is fused.
struct Map<'a, Op: Unary<T>, T: Element> {
    op: Op,
    x: &'a [T],
    out: &'a mut [Op::Out],
}

impl<Op: Unary<T>, T: Element> Map<'_, Op, T> {
    #[inline(always)]
    fn plain(self) {
        for (o, &x) in self.out.iter_mut().zip(self.x) {
            *o = self.op.apply(x);
        }
    }
}

impl<Op: Unary<T>, T: Element> Kernel<f32> for Map<'_, Op, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        self.plain();
    }
}

/// As [`Map`], onto itself.
struct MapInPlace<'a, Op, T> {
    op: Op,
    x: &'a mut [T],
}

impl<Op: Unary<T, Out = T>, T: Element> MapInPlace<'_, Op, T> {
    #[inline(always)]
    fn plain(self) {
        for x in self.x {
            *x = self.op.apply(*x);
        }
    }
}

impl<Op: Unary<T, Out = T>, T: Element> Kernel<f32> for MapInPlace<'_, Op, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        self.plain();
    }
}

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident<$t:ident: $bound:path>($x:ident) -> $out:ty = $body:expr $(, wide $wide:expr)?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;
        impl<$t: $bound> Unary<$t> for $name {
            type Out = $out;
            $(const WIDE: bool = $wide;)?
            #[inline(always)]
            fn apply(&self, $x: $t) -> $out { $body }
        }
    )*};
}

ops! {
    /// `−x`.
    Neg<T: Number>(x) -> T = x.negated();
    /// `x²`.
    Square<T: Number>(x) -> T = x.times(x);
    /// `1 / x`.
    Reciprocal<T: Elementary>(x) -> T = T::ONE.over(x);
    /// `|x|`; the least integer stays itself.
    Abs<T: Real>(x) -> T = x.magnitude();
    /// −1, 0 or 1; NaN stays.
    Sign<T: Real>(x) -> T = x.sign();
    /// `x / |x|`, zero at zero.
    SignComplex<T: ComplexNumber>(x) -> T = {
        let r = x.modulus();
        if r == T::Part::ZERO { T::ZERO } else { T::from_parts(x.real().over(r), x.imag().over(r)) }
    };
    /// `√x`.
    Sqrt<T: Elementary>(x) -> T = x.sqrt();
    /// `1 / √x`.
    Rsqrt<T: Elementary>(x) -> T = x.rsqrt();
    /// `e^x`.
    Exp<T: Elementary>(x) -> T = x.exp(), wide T::STRAIGHT;
    /// `e^x − 1`.
    Expm1<T: Elementary>(x) -> T = x.exp_m1(), wide T::STRAIGHT;
    /// `ln x`.
    Log<T: Elementary>(x) -> T = x.ln(), wide T::STRAIGHT;
    /// `ln (1 + x)`.
    Log1p<T: Elementary>(x) -> T = x.ln_1p(), wide T::STRAIGHT;
    /// `1 / (1 + e^−x)`.
    Sigmoid<T: Elementary>(x) -> T = x.sigmoid(), wide T::STRAIGHT;
    /// Hyperbolic tangent.
    Tanh<T: Elementary>(x) -> T = x.tanh(), wide T::STRAIGHT;
    /// Sine.
    Sin<T: Elementary>(x) -> T = x.sin();
    /// Cosine.
    Cos<T: Elementary>(x) -> T = x.cos();
    /// Tangent.
    Tan<T: Elementary>(x) -> T = x.tan();
    /// Inverse sine.
    Asin<T: Elementary>(x) -> T = x.asin();
    /// Inverse cosine.
    Acos<T: Elementary>(x) -> T = x.acos();
    /// Inverse tangent.
    Atan<T: Elementary>(x) -> T = x.atan();
    /// Hyperbolic sine.
    Sinh<T: Elementary>(x) -> T = x.sinh();
    /// Hyperbolic cosine.
    Cosh<T: Elementary>(x) -> T = x.cosh();
    /// Inverse hyperbolic sine.
    Asinh<T: Elementary>(x) -> T = x.asinh();
    /// Inverse hyperbolic cosine.
    Acosh<T: Elementary>(x) -> T = x.acosh();
    /// Inverse hyperbolic tangent.
    Atanh<T: Elementary>(x) -> T = x.atanh();
    /// Error function.
    Erf<T: Float>(x) -> T = x.erf(), wide T::STRAIGHT;
    /// One minus the error function.
    Erfc<T: Float>(x) -> T = x.erfc();
    /// Logarithm of |Γ(x)|.
    Lgamma<T: Float>(x) -> T = x.lgamma();
    /// Derivative of ln Γ, computed in `f64`.
    Digamma<T: Float>(x) -> T = T::from_f64(math::digamma(x.to_f64()));
    /// Toward −∞.
    Floor<T: Float>(x) -> T = x.floor(), wide T::STRAIGHT;
    /// Toward +∞.
    Ceil<T: Float>(x) -> T = x.ceil(), wide T::STRAIGHT;
    /// To the nearest integer, ties to even (`Round`, `Rint`).
    Round<T: Float>(x) -> T = x.round_even(), wide T::STRAIGHT;
    /// Not a number.
    IsNan<T: Float>(x) -> bool = x.is_nan();
    /// Either infinity.
    IsInf<T: Float>(x) -> bool = x.is_infinite();
    /// Neither infinite nor NaN.
    IsFinite<T: Float>(x) -> bool = x.is_finite();
    /// `max(x, 0)`; NaN stays.
    Relu<T: Real>(x) -> T = if x < T::ZERO { T::ZERO } else { x };
    /// `min(max(x, 0), 6)`; NaN stays.
    Relu6<T: Real>(x) -> T = {
        let six = T::from_f64(6.0);
        if x < T::ZERO { T::ZERO } else if x > six { six } else { x }
    };
    /// `ln (1 + e^x)`; `x` or `e^x` where that is exact to rounding.
    Softplus<T: Float>(x) -> T = {
        // As TensorFlow: ln ε + 2, of the element type.
        let threshold = T::EPSILON.to_native().ln().plus(T::Native::from_f64(2.0));
        let v = x.to_native();
        T::from_native(if v > threshold.negated() { v } else if v < threshold { v.exp() } else { v.exp().ln_1p() })
    }, wide T::STRAIGHT;
    /// `x / (1 + |x|)`; NaN at the infinities.
    Softsign<T: Float>(x) -> T = { let v = x.to_native(); T::from_native(v.over(T::Native::ONE.plus(v.magnitude()))) };
    /// `e^x − 1` below zero, else `x`.
    Elu<T: Float>(x) -> T = {
        let below = T::from_native(x.to_native().exp_m1());
        if x < T::ZERO { below } else { x }
    }, wide T::STRAIGHT;
    /// Scaled exponential unit.
    Selu<T: Float>(x) -> T = {
        let v = x.to_native();
        let below = T::Native::from_f64(SELU_SCALE_ALPHA).times(v.exp_m1());
        T::from_native(if v < T::Native::ZERO { below } else { T::Native::from_f64(SELU_SCALE).times(v) })
    }, wide T::STRAIGHT;
    /// Bitwise not.
    Invert<T: Integer>(x) -> T = x.bit_not();
    /// Number of set bits.
    PopulationCount<T: Integer>(x) -> u8 = x.count_ones();
    /// Complex conjugate.
    Conj<T: Number>(x) -> T = x.conj();
    /// Real part.
    RealPart<T: ComplexNumber>(x) -> T::Part = x.real();
    /// Imaginary part.
    Imag<T: ComplexNumber>(x) -> T::Part = x.imag();
    /// Absolute value of a complex number.
    ComplexAbs<T: ComplexNumber>(x) -> T::Part = x.modulus();
    /// Angle of a complex number.
    Angle<T: ComplexNumber>(x) -> T::Part = x.imag().atan2(x.real());
}

/// Logical not.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogicalNot;
impl Unary<bool> for LogicalNot {
    type Out = bool;
    #[inline(always)]
    fn apply(&self, x: bool) -> bool {
        !x
    }
}

/// `alpha · x` below zero, else `x`.
#[derive(Clone, Copy, Debug)]
pub struct LeakyRelu<T> {
    /// Slope below zero.
    pub alpha: T,
}
impl<T: Float> Unary<T> for LeakyRelu<T> {
    type Out = T;
    #[inline(always)]
    fn apply(&self, x: T) -> T {
        if x < T::ZERO { x.times(self.alpha) } else { x }
    }
}

/// `min(max(x, low), high)`; NaN stays.
#[derive(Clone, Copy, Debug)]
pub struct Clip<T> {
    /// Lower bound.
    pub low: T,
    /// Upper bound.
    pub high: T,
}
impl<T: Real> Unary<T> for Clip<T> {
    type Out = T;
    #[inline(always)]
    fn apply(&self, x: T) -> T {
        let x = if x < self.low { self.low } else { x };
        if x > self.high { self.high } else { x }
    }
}

/// `dy`, or `alpha · dy` where `x` is not above zero (`LeakyReluGrad`).
pub fn leaky_relu_grad<T: Float>(dy: &[T], x: &[T], alpha: T, out: &mut [T]) -> Result<()> {
    error::same(dy.len(), out.len())?;
    error::same(x.len(), out.len())?;
    for ((o, &d), &x) in out.iter_mut().zip(dy).zip(x) {
        *o = if x > T::ZERO { d } else { d.times(alpha) };
    }
    Ok(())
}

/// Joins real and imaginary parts (`Complex`).
pub fn complex<C: ComplexNumber>(real: &[C::Part], imag: &[C::Part], out: &mut [C]) -> Result<()> {
    error::same(real.len(), out.len())?;
    error::same(imag.len(), out.len())?;
    for ((o, &re), &im) in out.iter_mut().zip(real).zip(imag) {
        *o = C::from_parts(re, im);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use half::{bf16, f16};
    use num_complex::Complex;

    fn eval<Op: Unary<T>, T: Element, const N: usize>(op: Op, x: [T; N]) -> [Op::Out; N] {
        let mut out = [Op::Out::ZERO; N];
        map(op, &x, &mut out).unwrap();
        out
    }

    fn close(found: &[f32], want: &[f32]) {
        for (i, (f, w)) in found.iter().zip(want).enumerate() {
            let same = f == w || (f.is_nan() && w.is_nan());
            assert!(same || (f - w).abs() <= 4.0 * f32::EPSILON * w.abs(), "{i}: {f} {w}");
        }
    }

    /// TensorFlow 2.21's answers at the ends and where definitions differ.
    #[test]
    fn special_values() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let x = [-inf, inf, nan, -2.0, 2.0, 0.0];
        close(&eval(Softplus, x), &[0.0, inf, nan, 0.126_928_01, 2.126_928, core::f32::consts::LN_2]);
        close(&eval(Softplus, [-15.0, 15.0, 100.0]), &[3.059_023_2e-7, 15.0, 100.0]);
        close(&eval(Softsign, x), &[nan, nan, nan, -0.666_666_7, 0.666_666_7, 0.0]);
        close(&eval(Elu, x), &[-1.0, inf, nan, -0.864_664_73, 2.0, 0.0]);
        close(&eval(Selu, x), &[-1.758_099_3, inf, nan, -1.520_166_5, 2.101_402, 0.0]);
        close(&eval(LeakyRelu { alpha: 0.2 }, x), &[-inf, inf, nan, -0.4, 2.0, 0.0]);
        close(&eval(Clip { low: -1.0, high: 1.0 }, x), &[-1.0, 1.0, nan, -1.0, 1.0, 0.0]);
        close(&eval(Relu, x), &[0.0, inf, nan, 0.0, 2.0, 0.0]);
        close(&eval(Relu6, [7.0, nan, -1.0]), &[6.0, nan, 0.0]);
        close(&eval(Rsqrt, [0.0, -0.0, -1.0, inf, 4.0]), &[inf, -inf, nan, 0.0, 0.5]);
        close(&eval(Reciprocal, [0.0, -0.0, inf]), &[inf, -inf, 0.0]);
        close(&eval(Round, [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]), &[-2.0, -2.0, 0.0, 0.0, 2.0, 2.0]);
        close(
            &eval(Lgamma, [0.0, -1.0, 0.5, -0.5, inf, -inf, 10.0]),
            &[inf, inf, 0.572_364_9, 1.265_512_1, inf, inf, 12.801_827],
        );
        assert_eq!(eval(IsInf, x), [true, true, false, false, false, false]);
        assert_eq!(eval(IsFinite, [f16::INFINITY, f16::NAN, f16::ONE]), [false, false, true]);
        assert_eq!(eval(IsNan, [bf16::NAN, bf16::ONE]), [true, false]);
    }

    #[test]
    fn threads_change_nothing() {
        let x: [f32; 5000] = core::array::from_fn(|i| i as f32 * 0.01 - 25.0);
        let (mut one, mut many) = ([0f32; 5000], [0f32; 5000]);
        for n in [0, 1, 255, 256, 5000] {
            map(Tanh, &x[..n], &mut one[..n]).unwrap();
            for par in crate::testing::machines() {
                many.fill(9.0);
                map_on(&par, Tanh, &x[..n], &mut many[..n]).unwrap();
                assert_eq!(one[..n], many[..n]);
            }
        }
    }

    #[test]
    fn integers_complex_and_lengths() {
        assert_eq!(eval(Abs, [i8::MIN, -3]), [i8::MIN, 3]);
        assert_eq!(eval(Neg, [i32::MIN, 3]), [i32::MIN, -3]);
        assert_eq!(eval(PopulationCount, [-1i64, 3]), [64, 2]);
        assert_eq!(eval(Relu, [-3i8, 3]), [0, 3]);
        let c = Complex::new(3.0f32, 4.0);
        assert_eq!(eval(ComplexAbs, [c]), [5.0]);
        assert_eq!(eval(SignComplex, [c, Complex::new(0.0, 0.0)]), [Complex::new(0.6, 0.8), Complex::new(0.0, 0.0)]);
        assert_eq!(eval(Conj, [c]), [Complex::new(3.0, -4.0)]);
        let mut out = [Complex::new(0.0f32, 0.0)];
        complex(&[1.0], &[2.0], &mut out).unwrap();
        assert_eq!(out[0].im, 2.0);
        assert_eq!(map(Neg, &[1i32], &mut []), Err(Error::Length));
        map(Neg, &[] as &[f32], &mut []).unwrap();
        // The limit at large real parts, where the formula alone gives NaN.
        assert_eq!(eval(Tanh, [Complex::new(200.0f32, 1.0)]), [Complex::new(1.0, 0.0)]);
    }
}
