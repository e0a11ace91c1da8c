//! The element types of tensors as traits: what any, a number, an ordered number, a float, an integer can do.
//!
//! Integers wrap, as TensorFlow's do. `half` and `bfloat16` are computed in `f32` and rounded once an operation.

use core::fmt::Debug;

use half::{bf16, f16};
use num_complex::Complex;

use crate::error::{Error, Result};
use crate::math;

/// A fixed-size element of a tensor.
pub trait Element: Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    /// Zero; `false`.
    const ZERO: Self;
    /// One; `true`.
    const ONE: Self;
}

/// An element with ring arithmetic, wrapping for integers.
pub trait Number: Element {
    /// The type sums are kept in: `f32` for halves, 64 bits for integers, else the type itself.
    type Wide: Number<Wide = Self::Wide>;
    /// To the accumulator, exactly.
    fn widen(self) -> Self::Wide;
    /// From the accumulator: rounded for floats, wrapped for integers.
    fn narrow(wide: Self::Wide) -> Self;
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// `self - other`.
    fn minus(self, other: Self) -> Self;
    /// `self * other`.
    fn times(self, other: Self) -> Self;
    /// `self / other`; integers truncate, and give zero for a zero divisor (callers check first).
    fn over(self, other: Self) -> Self;
    /// `-self`.
    fn negated(self) -> Self;
    /// Complex conjugate; real numbers stay.
    #[inline(always)]
    fn conj(self) -> Self {
        self
    }
    /// A count, rounded or wrapped into the type.
    fn from_count(n: usize) -> Self;
    /// The mean of `n` elements that add up to `sum`: truncated for integers; of none, NaN for reals and else zero.
    #[inline(always)]
    fn mean(sum: Self::Wide, n: usize) -> Self {
        Self::narrow(sum.over(Self::Wide::from_count(n)))
    }
    /// A constant, rounded or truncated into the type.
    fn from_f64(value: f64) -> Self;
}

/// What looks through operands for values that must not occur.
pub type Check<T> = fn(&[T]) -> Result<()>;

/// A number with an order.
pub trait Real: Number + PartialOrd {
    /// Below every value: −∞ or the least integer.
    const LOWEST: Self;
    /// Above every value: +∞ or the greatest integer.
    const HIGHEST: Self;
    /// What refuses divisors that would fault: zero for integers, nothing for floats.
    const DIVISOR: Option<Check<Self>> = None;
    /// Not a number; never for integers.
    fn is_nan(self) -> bool;
    /// Absolute value; the least integer stays itself.
    fn magnitude(self) -> Self;
    /// −1, 0 or 1 with NaN kept; of −0 it is 0.
    fn sign(self) -> Self;
    /// The larger; NaN if either is.
    fn maximum(self, other: Self) -> Self;
    /// The smaller; NaN if either is.
    fn minimum(self, other: Self) -> Self;
    /// `⌊self / other⌋`; zero for a zero integer divisor (callers check first).
    fn floor_div(self, other: Self) -> Self;
    /// Remainder with the divisor's sign.
    fn floor_mod(self, other: Self) -> Self;
    /// Quotient rounded toward zero.
    fn trunc_div(self, other: Self) -> Self;
    /// Remainder with the dividend's sign.
    fn trunc_mod(self, other: Self) -> Self;
    /// The value as `f64` (rounded for large 64-bit integers).
    fn to_f64(self) -> f64;
}

/// An integer.
pub trait Integer: Real + Ord + core::hash::Hash {
    /// Bits of the type.
    const BITS: u32;
    /// Bitwise and.
    fn bit_and(self, other: Self) -> Self;
    /// Bitwise or.
    fn bit_or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn bit_xor(self, other: Self) -> Self;
    /// Bitwise not.
    fn bit_not(self) -> Self;
    /// Shift left; the amount is clamped to `[0, BITS − 1]`.
    fn shift_left(self, by: Self) -> Self;
    /// Shift right, arithmetic for signed types; the amount is clamped to `[0, BITS − 1]`.
    fn shift_right(self, by: Self) -> Self;
    /// Wrapping power; a negative exponent gives one (callers check first).
    fn power(self, exponent: Self) -> Self;
    /// Set bits.
    fn count_ones(self) -> u8;
    /// As `i64`; values of `u64` above `i64::MAX` wrap.
    fn to_i64(self) -> i64;
    /// As an index: `None` if negative or too large.
    fn to_index(self) -> Option<usize>;
    /// A 64-bit sum as `f64`.
    fn wide_to_f64(wide: Self::Wide) -> f64;
    /// Wrapped into the type.
    fn from_i64(value: i64) -> Self;
}

/// The functions real floats and complex numbers share.
pub trait Elementary: Number {
    /// The common functions (`exp`, `ln`, `tanh`, `sigmoid`, rounding, …) are straight code that compilers vectorise.
    const STRAIGHT: bool = false;
    /// e to the power.
    fn exp(self) -> Self;
    /// e to the power, minus one.
    fn exp_m1(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Natural logarithm of one plus the value.
    fn ln_1p(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// One over the square root.
    fn rsqrt(self) -> Self;
    /// `1 / (1 + e^−x)`.
    fn sigmoid(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Sine.
    fn sin(self) -> Self;
    /// Cosine.
    fn cos(self) -> Self;
    /// Tangent.
    fn tan(self) -> Self;
    /// Inverse sine.
    fn asin(self) -> Self;
    /// Inverse cosine.
    fn acos(self) -> Self;
    /// Inverse tangent.
    fn atan(self) -> Self;
    /// Hyperbolic sine.
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// Inverse hyperbolic cosine.
    fn acosh(self) -> Self;
    /// Inverse hyperbolic tangent.
    fn atanh(self) -> Self;
    /// To a power.
    fn powf(self, exponent: Self) -> Self;
}

/// A real float.
pub trait Float: Real + Elementary {
    /// The type that composed functions are computed in: `f32` for halves, else the type itself.
    type Native: Float<Native = Self::Native>;
    /// To the computing type, exactly.
    fn to_native(self) -> Self::Native;
    /// From the computing type, rounded.
    fn from_native(native: Self::Native) -> Self;
    /// Distance from one to the next value.
    const EPSILON: Self;
    /// The least finite value.
    const MIN: Self;
    /// Toward −∞.
    fn floor(self) -> Self;
    /// Toward +∞.
    fn ceil(self) -> Self;
    /// To the nearest, ties to even.
    fn round_even(self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Either infinity.
    fn is_infinite(self) -> bool;
    /// Error function.
    fn erf(self) -> Self;
    /// One minus the error function, accurate in the tail.
    fn erfc(self) -> Self;
    /// Logarithm of the absolute gamma function.
    fn lgamma(self) -> Self;
    /// Angle of `(other, self)`.
    fn atan2(self, other: Self) -> Self;
}

macro_rules! element {
    ($($t:ty: $zero:expr, $one:expr;)*) => {$(
        impl Element for $t { const ZERO: Self = $zero; const ONE: Self = $one; }
    )*};
}
element! {
    bool: false, true;
    u8: 0, 1; u16: 0, 1; u32: 0, 1; u64: 0, 1; i8: 0, 1; i16: 0, 1; i32: 0, 1; i64: 0, 1;
    f32: 0.0, 1.0; f64: 0.0, 1.0; f16: f16::ZERO, f16::ONE; bf16: bf16::ZERO, bf16::ONE;
    Complex<f32>: Complex::new(0.0, 0.0), Complex::new(1.0, 0.0);
    Complex<f64>: Complex::new(0.0, 0.0), Complex::new(1.0, 0.0);
}

macro_rules! integers {
    ($($t:ident: $wide:ident, $magnitude:expr, $sign:expr;)*) => {$(
        impl Number for $t {
            type Wide = $wide;
            #[inline(always)] fn widen(self) -> $wide { self as $wide }
            #[inline(always)] fn narrow(wide: $wide) -> Self { wide as $t }
            #[inline(always)] fn plus(self, o: Self) -> Self { self.wrapping_add(o) }
            #[inline(always)] fn minus(self, o: Self) -> Self { self.wrapping_sub(o) }
            #[inline(always)] fn times(self, o: Self) -> Self { self.wrapping_mul(o) }
            #[inline(always)] fn over(self, o: Self) -> Self { self.trunc_div(o) }
            #[inline(always)] fn negated(self) -> Self { self.wrapping_neg() }
            #[inline(always)] fn from_count(n: usize) -> Self { n as $t }
            #[inline(always)] fn from_f64(value: f64) -> Self { value as $t }
        }
        impl Real for $t {
            const LOWEST: Self = $t::MIN;
            const HIGHEST: Self = $t::MAX;
            const DIVISOR: Option<Check<Self>> =
                Some(|b| if b.contains(&0) { Err(Error::DivisionByZero) } else { Ok(()) });
            #[inline(always)] fn is_nan(self) -> bool { false }
            #[inline(always)] fn magnitude(self) -> Self { $magnitude(self) }
            #[inline(always)] fn sign(self) -> Self { $sign(self) }
            #[inline(always)] fn maximum(self, o: Self) -> Self { self.max(o) }
            #[inline(always)] fn minimum(self, o: Self) -> Self { self.min(o) }
            #[inline(always)] fn floor_div(self, o: Self) -> Self {
                let q = self.trunc_div(o);
                let r = self.trunc_mod(o);
                if r != 0 && (r < $t::ZERO) != (o < $t::ZERO) { q.wrapping_sub(1) } else { q }
            }
            #[inline(always)] fn floor_mod(self, o: Self) -> Self {
                let r = self.trunc_mod(o);
                if r != 0 && (r < $t::ZERO) != (o < $t::ZERO) { r.wrapping_add(o) } else { r }
            }
            #[inline(always)] fn trunc_div(self, o: Self) -> Self { if o == 0 { 0 } else { self.wrapping_div(o) } }
            #[inline(always)] fn trunc_mod(self, o: Self) -> Self { if o == 0 { 0 } else { self.wrapping_rem(o) } }
            #[inline(always)] fn to_f64(self) -> f64 { self as f64 }
        }
        impl Integer for $t {
            const BITS: u32 = $t::BITS;
            #[inline(always)] fn bit_and(self, o: Self) -> Self { self & o }
            #[inline(always)] fn bit_or(self, o: Self) -> Self { self | o }
            #[inline(always)] fn bit_xor(self, o: Self) -> Self { self ^ o }
            #[inline(always)] fn bit_not(self) -> Self { !self }
            #[inline(always)] fn shift_left(self, by: Self) -> Self { self << by.clamp(0, ($t::BITS - 1) as $t) }
            #[inline(always)] fn shift_right(self, by: Self) -> Self { self >> by.clamp(0, ($t::BITS - 1) as $t) }
            #[inline] fn power(self, exponent: Self) -> Self {
                let (mut base, mut e, mut result) = (self, exponent, 1 as $t);
                while e > 0 {
                    if e & 1 == 1 { result = result.wrapping_mul(base); }
                    base = base.wrapping_mul(base);
                    e >>= 1;
                }
                result
            }
            #[inline(always)] fn count_ones(self) -> u8 { $t::count_ones(self) as u8 }
            #[inline(always)] fn to_i64(self) -> i64 { self as i64 }
            #[inline(always)] fn to_index(self) -> Option<usize> { usize::try_from(self).ok() }
            #[inline(always)] fn wide_to_f64(wide: $wide) -> f64 { wide as f64 }
            #[inline(always)] fn from_i64(value: i64) -> Self { value as $t }
        }
    )*};
}
integers! {
    i8: i64, i8::wrapping_abs, i8::signum; i16: i64, i16::wrapping_abs, i16::signum;
    i32: i64, i32::wrapping_abs, i32::signum; i64: i64, i64::wrapping_abs, i64::signum;
    u8: u64, core::convert::identity, |x| (x != 0) as u8; u16: u64, core::convert::identity, |x| (x != 0) as u16;
    u32: u64, core::convert::identity, |x| (x != 0) as u32; u64: u64, core::convert::identity, |x| (x != 0) as u64;
}

macro_rules! native_floats {
    ($($t:ident: $fmod:path, $trunc:path, $floor:path, $ceil:path, $round:path, $erf:path, $erfc:path, $lgamma:path,
        $atan2:path, $exp:path, $expm1:path, $log:path, $log1p:path, $sqrt:path, $sigmoid:path, $tanh:path, $sin:path,
        $cos:path, $tan:path, $asin:path, $acos:path, $atan:path, $sinh:path, $cosh:path, $asinh:path, $acosh:path,
        $atanh:path, $pow:path;)*) => {$(
        impl Number for $t {
            type Wide = $t;
            #[inline(always)] fn widen(self) -> $t { self }
            #[inline(always)] fn narrow(wide: $t) -> Self { wide }
            #[inline(always)] fn plus(self, o: Self) -> Self { self + o }
            #[inline(always)] fn minus(self, o: Self) -> Self { self - o }
            #[inline(always)] fn times(self, o: Self) -> Self { self * o }
            #[inline(always)] fn over(self, o: Self) -> Self { self / o }
            #[inline(always)] fn negated(self) -> Self { -self }
            #[inline(always)] fn from_count(n: usize) -> Self { n as $t }
            #[inline(always)] fn from_f64(value: f64) -> Self { value as $t }
        }
        impl Real for $t {
            const LOWEST: Self = $t::NEG_INFINITY;
            const HIGHEST: Self = $t::INFINITY;
            #[inline(always)] fn is_nan(self) -> bool { self != self }
            #[inline(always)] fn magnitude(self) -> Self { $t::from_bits(self.to_bits() & ($t::MAX.to_bits() | $t::INFINITY.to_bits())) }
            #[inline(always)] fn sign(self) -> Self { if self > 0.0 { 1.0 } else if self < 0.0 { -1.0 } else { self + 0.0 } }
            #[inline(always)] fn maximum(self, o: Self) -> Self { if self > o || self != self { self } else { o } }
            #[inline(always)] fn minimum(self, o: Self) -> Self { if self < o || self != self { self } else { o } }
            #[inline(always)] fn floor_div(self, o: Self) -> Self { $floor(self / o) }
            #[inline(always)] fn floor_mod(self, o: Self) -> Self {
                let r = $fmod(self, o);
                if r != 0.0 && (r < 0.0) != (o < 0.0) { r + o } else { r }
            }
            #[inline(always)] fn trunc_div(self, o: Self) -> Self { $trunc(self / o) }
            #[inline(always)] fn trunc_mod(self, o: Self) -> Self { $fmod(self, o) }
            #[inline(always)] fn to_f64(self) -> f64 { self as f64 }
        }
        impl Elementary for $t {
            // The `f64` functions are libm's, which branch.
            const STRAIGHT: bool = size_of::<$t>() == 4;
            #[inline(always)] fn exp(self) -> Self { $exp(self) }
            #[inline(always)] fn exp_m1(self) -> Self { $expm1(self) }
            #[inline(always)] fn ln(self) -> Self { $log(self) }
            #[inline(always)] fn ln_1p(self) -> Self { $log1p(self) }
            #[inline(always)] fn sqrt(self) -> Self { $sqrt(self) }
            #[inline(always)] fn rsqrt(self) -> Self { 1.0 / $sqrt(self) }
            #[inline(always)] fn sigmoid(self) -> Self { $sigmoid(self) }
            #[inline(always)] fn tanh(self) -> Self { $tanh(self) }
            #[inline(always)] fn sin(self) -> Self { $sin(self) }
            #[inline(always)] fn cos(self) -> Self { $cos(self) }
            #[inline(always)] fn tan(self) -> Self { $tan(self) }
            #[inline(always)] fn asin(self) -> Self { $asin(self) }
            #[inline(always)] fn acos(self) -> Self { $acos(self) }
            #[inline(always)] fn atan(self) -> Self { $atan(self) }
            #[inline(always)] fn sinh(self) -> Self { $sinh(self) }
            #[inline(always)] fn cosh(self) -> Self { $cosh(self) }
            #[inline(always)] fn asinh(self) -> Self { $asinh(self) }
            #[inline(always)] fn acosh(self) -> Self { $acosh(self) }
            #[inline(always)] fn atanh(self) -> Self { $atanh(self) }
            #[inline(always)] fn powf(self, exponent: Self) -> Self { $pow(self, exponent) }
        }
        impl Float for $t {
            type Native = $t;
            #[inline(always)] fn to_native(self) -> $t { self }
            #[inline(always)] fn from_native(native: $t) -> Self { native }
            const EPSILON: Self = $t::EPSILON;
            const MIN: Self = $t::MIN;
            #[inline(always)] fn floor(self) -> Self { $floor(self) }
            #[inline(always)] fn ceil(self) -> Self { $ceil(self) }
            #[inline(always)] fn round_even(self) -> Self { $round(self) }
            #[inline(always)] fn is_finite(self) -> bool { self.magnitude() < $t::INFINITY }
            #[inline(always)] fn is_infinite(self) -> bool { self.magnitude() == $t::INFINITY }
            #[inline(always)] fn erf(self) -> Self { $erf(self) }
            #[inline(always)] fn erfc(self) -> Self { $erfc(self) }
            #[inline(always)] fn lgamma(self) -> Self {
                if self == $t::NEG_INFINITY { $t::INFINITY } else { $lgamma(self) }
            }
            #[inline(always)] fn atan2(self, o: Self) -> Self { $atan2(self, o) }
        }
    )*};
}

native_floats! {
    f32: libm::fmodf, libm::truncf, math::floor, math::ceil, math::round_even, math::erf, libm::erfcf, libm::lgammaf,
        libm::atan2f, math::exp, math::exp_m1, math::ln, math::ln_1p, libm::sqrtf, math::sigmoid, math::tanh, libm::sinf,
        libm::cosf, libm::tanf, libm::asinf, libm::acosf, libm::atanf, libm::sinhf, libm::coshf, libm::asinhf, libm::acoshf,
        libm::atanhf, libm::powf;
    f64: libm::fmod, libm::trunc, libm::floor, libm::ceil, libm::rint, libm::erf, libm::erfc, libm::lgamma,
        libm::atan2, libm::exp, libm::expm1, libm::log, libm::log1p, libm::sqrt, math::sigmoid64, libm::tanh, libm::sin,
        libm::cos, libm::tan, libm::asin, libm::acos, libm::atan, libm::sinh, libm::cosh, libm::asinh, libm::acosh,
        libm::atanh, libm::pow;
}

macro_rules! halves {
    ($($t:ident;)*) => {$(
        impl Number for $t {
            type Wide = f32;
            #[inline(always)] fn widen(self) -> f32 { self.to_f32() }
            #[inline(always)] fn narrow(wide: f32) -> Self { $t::from_f32(wide) }
            #[inline(always)] fn plus(self, o: Self) -> Self { $t::from_f32(self.to_f32() + o.to_f32()) }
            #[inline(always)] fn minus(self, o: Self) -> Self { $t::from_f32(self.to_f32() - o.to_f32()) }
            #[inline(always)] fn times(self, o: Self) -> Self { $t::from_f32(self.to_f32() * o.to_f32()) }
            #[inline(always)] fn over(self, o: Self) -> Self { $t::from_f32(self.to_f32() / o.to_f32()) }
            #[inline(always)] fn negated(self) -> Self { $t::from_bits(self.to_bits() ^ 0x8000) }
            #[inline(always)] fn from_count(n: usize) -> Self { $t::from_f32(n as f32) }
            #[inline(always)] fn from_f64(value: f64) -> Self { $t::from_f32(value as f32) }
        }
        impl Real for $t {
            const LOWEST: Self = $t::NEG_INFINITY;
            const HIGHEST: Self = $t::INFINITY;
            #[inline(always)] fn is_nan(self) -> bool { (self.to_bits() & 0x7fff) > $t::INFINITY.to_bits() }
            #[inline(always)] fn magnitude(self) -> Self { $t::from_bits(self.to_bits() & 0x7fff) }
            #[inline(always)] fn sign(self) -> Self { $t::from_f32(Real::sign(self.to_f32())) }
            #[inline(always)] fn maximum(self, o: Self) -> Self {
                if self.to_f32() > o.to_f32() || Real::is_nan(self) { self } else { o }
            }
            #[inline(always)] fn minimum(self, o: Self) -> Self {
                if self.to_f32() < o.to_f32() || Real::is_nan(self) { self } else { o }
            }
            #[inline(always)] fn floor_div(self, o: Self) -> Self { $t::from_f32(math::floor(self.over(o).to_f32())) }
            #[inline(always)] fn floor_mod(self, o: Self) -> Self { $t::from_f32(self.to_f32().floor_mod(o.to_f32())) }
            #[inline(always)] fn trunc_div(self, o: Self) -> Self { $t::from_f32(libm::truncf(self.over(o).to_f32())) }
            #[inline(always)] fn trunc_mod(self, o: Self) -> Self { $t::from_f32(libm::fmodf(self.to_f32(), o.to_f32())) }
            #[inline(always)] fn to_f64(self) -> f64 { self.to_f32() as f64 }
        }
        halves! { @elementary $t; exp exp_m1 ln ln_1p sqrt rsqrt sigmoid tanh sin cos tan asin acos atan sinh cosh asinh
            acosh atanh }
        impl Float for $t {
            type Native = f32;
            #[inline(always)] fn to_native(self) -> f32 { self.to_f32() }
            #[inline(always)] fn from_native(native: f32) -> Self { $t::from_f32(native) }
            const EPSILON: Self = $t::EPSILON;
            const MIN: Self = $t::MIN;
            #[inline(always)] fn floor(self) -> Self { $t::from_f32(math::floor(self.to_f32())) }
            #[inline(always)] fn ceil(self) -> Self { $t::from_f32(math::ceil(self.to_f32())) }
            #[inline(always)] fn round_even(self) -> Self { $t::from_f32(math::round_even(self.to_f32())) }
            #[inline(always)] fn is_finite(self) -> bool { (self.to_bits() & 0x7fff) < $t::INFINITY.to_bits() }
            #[inline(always)] fn is_infinite(self) -> bool { (self.to_bits() & 0x7fff) == $t::INFINITY.to_bits() }
            #[inline(always)] fn erf(self) -> Self { $t::from_f32(Float::erf(self.to_f32())) }
            #[inline(always)] fn erfc(self) -> Self { $t::from_f32(Float::erfc(self.to_f32())) }
            #[inline(always)] fn lgamma(self) -> Self { $t::from_f32(Float::lgamma(self.to_f32())) }
            #[inline(always)] fn atan2(self, o: Self) -> Self { $t::from_f32(libm::atan2f(self.to_f32(), o.to_f32())) }
        }
    )*};
    (@elementary $t:ident; $($f:ident)*) => {
        impl Elementary for $t {
            $(#[inline(always)] fn $f(self) -> Self { $t::from_f32(Elementary::$f(self.to_f32())) })*
            #[inline(always)] fn powf(self, exponent: Self) -> Self {
                $t::from_f32(libm::powf(self.to_f32(), exponent.to_f32()))
            }
        }
    };
}
halves! { f16; bf16; }

/// A complex number.
pub trait ComplexNumber: Elementary {
    /// The type of its parts.
    type Part: Float<Native = Self::Part>;
    /// Real part.
    fn real(self) -> Self::Part;
    /// Imaginary part.
    fn imag(self) -> Self::Part;
    /// From its parts.
    fn from_parts(real: Self::Part, imag: Self::Part) -> Self;
    /// Absolute value, without overflow in between.
    fn modulus(self) -> Self::Part;
}

macro_rules! complexes {
    ($($p:ident $hypot:path;)*) => {$(
        impl Number for Complex<$p> {
            type Wide = Self;
            #[inline(always)] fn widen(self) -> Self { self }
            #[inline(always)] fn narrow(wide: Self) -> Self { wide }
            #[inline(always)] fn plus(self, o: Self) -> Self { self + o }
            #[inline(always)] fn minus(self, o: Self) -> Self { self - o }
            #[inline(always)] fn times(self, o: Self) -> Self { self * o }
            #[inline(always)] fn over(self, o: Self) -> Self { self / o }
            #[inline(always)] fn negated(self) -> Self { -self }
            #[inline(always)] fn conj(self) -> Self { Complex::new(self.re, -self.im) }
            #[inline(always)] fn mean(sum: Self, n: usize) -> Self { if n == 0 { sum } else { sum / n as $p } }
            #[inline(always)] fn from_count(n: usize) -> Self { Complex::new(n as $p, 0.0) }
            #[inline(always)] fn from_f64(value: f64) -> Self { Complex::new(value as $p, 0.0) }
        }
        impl ComplexNumber for Complex<$p> {
            type Part = $p;
            #[inline(always)] fn real(self) -> $p { self.re }
            #[inline(always)] fn imag(self) -> $p { self.im }
            #[inline(always)] fn from_parts(re: $p, im: $p) -> Self { Complex::new(re, im) }
            #[inline(always)] fn modulus(self) -> $p { $hypot(self.re, self.im) }
        }
        impl Elementary for Complex<$p> {
            fn exp(self) -> Self { Complex::exp(self) }
            fn exp_m1(self) -> Self { Complex::exp(self) - 1.0 }
            fn ln(self) -> Self { Complex::ln(self) }
            fn ln_1p(self) -> Self { Complex::ln(self + 1.0) }
            fn sqrt(self) -> Self { Complex::sqrt(self) }
            fn rsqrt(self) -> Self { Self::ONE / Complex::sqrt(self) }
            fn sigmoid(self) -> Self { Self::ONE / (Complex::exp(-self) + 1.0) }
            fn tanh(self) -> Self {
                // sinh 2a / (cosh 2a + cos 2b) overflows to NaN where the limit is ±1.
                if self.re.magnitude() > 20.0 && !self.im.is_nan() {
                    Complex::new(Real::sign(self.re), 0.0)
                } else {
                    Complex::tanh(self)
                }
            }
            fn sin(self) -> Self { Complex::sin(self) }
            fn cos(self) -> Self { Complex::cos(self) }
            fn tan(self) -> Self { Complex::tan(self) }
            fn asin(self) -> Self { Complex::asin(self) }
            fn acos(self) -> Self { Complex::acos(self) }
            fn atan(self) -> Self { Complex::atan(self) }
            fn sinh(self) -> Self { Complex::sinh(self) }
            fn cosh(self) -> Self { Complex::cosh(self) }
            fn asinh(self) -> Self { Complex::asinh(self) }
            fn acosh(self) -> Self { Complex::acosh(self) }
            fn atanh(self) -> Self { Complex::atanh(self) }
            fn powf(self, exponent: Self) -> Self { Complex::powc(self, exponent) }
        }
    )*};
}
complexes! { f32 libm::hypotf; f64 libm::hypot; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_floor_like_tensorflow() {
        assert_eq!(i8::MIN.floor_div(-1), i8::MIN);
        assert_eq!(i8::MIN.floor_mod(-1), 0);
        for (x, y, q, r) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1)] {
            assert_eq!((i32::floor_div(x, y), i32::floor_mod(x, y)), (q, r), "{x} {y}");
        }
        assert_eq!(200u8.floor_div(7), 28);
        assert_eq!(3i8.power(40), 33);
        assert_eq!(3i16.power(40), -6111);
        assert_eq!(1i8.shift_left(100), i8::MIN);
        assert_eq!((-5i32).shift_right(-1), -5);
        assert_eq!((-5i32).shift_right(100), -1);
        assert_eq!(0i32.power(0), 1);
        assert_eq!(i32::MIN.magnitude(), i32::MIN);
    }

    #[test]
    fn floats_keep_nan_and_signs() {
        assert!(Real::maximum(f32::NAN, 1.0).is_nan() && Real::maximum(1f32, f32::NAN).is_nan());
        assert!(f16::NAN.minimum(f16::ONE).is_nan() && bf16::ONE.maximum(bf16::NAN).is_nan());
        assert!(Real::sign(-0.0f32).is_sign_positive() && Real::sign(f64::NAN).is_nan());
        assert_eq!(3f32.floor_mod(f32::INFINITY), 3.0);
        assert_eq!((-3f32).floor_mod(f32::INFINITY), f32::INFINITY);
        assert!((-0f32).floor_mod(2.0).is_sign_negative());
        assert_eq!(f64::NEG_INFINITY.lgamma(), f64::INFINITY);
        assert_eq!(Real::magnitude(f16::NEG_INFINITY), f16::INFINITY);
    }
}
