//! Binary arithmetic: an operation is a name and a scalar function; the rows and the broadcast driver do the rest.
//!
//! ```
//! use runstep_kernels::binary::{self, Add};
//! let mut out = [0.0f32; 4];
//! binary::run::<Add, f32>((&[1.0, 2.0], &[2, 1]), (&[10.0, 20.0], &[2]), &mut out)?;
//! assert_eq!(out, [11.0, 21.0, 12.0, 22.0]);
//! # Ok::<(), runstep_kernels::error::Error>(())
//! ```

use crate::broadcast::{Broadcast, Rows};
use crate::element::{Check, Element, Elementary, Float, Integer, Number, Real};
use crate::error::{self, Error, Result};
use crate::parallel::{Parallel, chunks_mut};

/// A binary operation on elements.
pub trait Binary<T: Element>: 'static {
    /// Type of the result.
    type Out: Element;
    /// The operation on one pair.
    fn apply(a: T, b: T) -> Self::Out;
    /// What the second operand must not hold, if anything.
    const CHECK: Option<Check<T>> = None;
}

/// The row functions of an operation.
pub const fn rows<Op: Binary<T>, T: Element>() -> Rows<T, T, Op::Out> {
    Rows { both: both::<Op, T>, left: left::<Op, T>, right: right::<Op, T> }
}

/// Computes `out = a ∘ b` with broadcasting. Operands are data and shape; `out` has the broadcast shape's length.
pub fn run<Op: Binary<T>, T: Element>(a: (&[T], &[usize]), b: (&[T], &[usize]), out: &mut [Op::Out]) -> Result<()> {
    // Most nodes have equal shapes or a scalar: no plan then. Empty shapes are looked for first: comparing two empty slices
    // costs 200 ns where the C library compares with masked loads, whose fault at a dangling address must be suppressed.
    if a.1.is_empty() || b.1.is_empty() || a.1 == b.1 {
        let len_follows_b = a.1.is_empty();
        let (a, b) = (flat(a)?, flat(b)?);
        error::same(out.len(), if len_follows_b { b.len() } else { a.len() })?;
        if let (Some(check), false) = (Op::CHECK, out.is_empty()) {
            check(b)?;
        }
        match (a, b) {
            ([a], b) => left::<Op, T>(a, b, out),
            (a, [b]) => right::<Op, T>(a, b, out),
            (a, b) => both::<Op, T>(a, b, out),
        }
        return Ok(());
    }
    let plan = Broadcast::new([a.1, b.1])?;
    error::same(out.len(), plan.len())?;
    run_part::<Op, T>(&plan, a.0, b.0, 0, out)
}

/// [`run`] on the caller's threads.
pub fn run_on<Op: Binary<T>, T: Element>(
    par: &dyn Parallel,
    a: (&[T], &[usize]),
    b: (&[T], &[usize]),
    out: &mut [Op::Out],
) -> Result<()> {
    if out.len() < PARALLEL_LEAST {
        return run::<Op, T>(a, b, out);
    }
    let plan = Broadcast::new([a.1, b.1])?;
    error::same(out.len(), plan.len())?;
    error::same(a.0.len(), plan.counts()[0])?;
    error::same(b.0.len(), plan.counts()[1])?;
    if let Some(check) = Op::CHECK {
        check(b.0)?;
    }
    // Everything has been checked, so that parts cannot fail.
    chunks_mut(par, out, 1, 1, &|first, out| {
        let _ = plan.run(rows::<Op, T>(), a.0, b.0, first, out);
    });
    Ok(())
}

/// Outputs below which threads never pay.
const PARALLEL_LEAST: usize = 1 << 15;

/// The data of an operand, if it is as long as its shape says.
fn flat<'a, T>((data, dims): (&'a [T], &[usize])) -> Result<&'a [T]> {
    error::same(data.len(), crate::dims::count(dims)?)?;
    Ok(data)
}

/// Computes the outputs of `plan` from `start` on, as many as `out` holds: a part of [`run`] for one thread.
pub fn run_part<Op: Binary<T>, T: Element>(
    plan: &Broadcast<2>,
    a: &[T],
    b: &[T],
    start: usize,
    out: &mut [Op::Out],
) -> Result<()> {
    if let (Some(check), false) = (Op::CHECK, out.is_empty()) {
        check(b)?;
    }
    plan.run(rows::<Op, T>(), a, b, start, out)
}

/// `a[i] = a[i] ∘ b[i]`, for equal lengths or a `b` of one element.
pub fn run_in_place<Op: Binary<T, Out = T>, T: Element>(a: &mut [T], b: &[T]) -> Result<()> {
    if let (Some(check), false) = (Op::CHECK, a.is_empty()) {
        check(b)?;
    }
    match b {
        &[b] => a.iter_mut().for_each(|a| *a = Op::apply(*a, b)),
        b => {
            error::same(b.len(), a.len())?;
            a.iter_mut().zip(b).for_each(|(a, &b)| *a = Op::apply(*a, b));
        }
    }
    Ok(())
}

fn both<Op: Binary<T>, T: Element>(a: &[T], b: &[T], out: &mut [Op::Out]) {
    for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *o = Op::apply(a, b);
    }
}

fn left<Op: Binary<T>, T: Element>(a: &T, b: &[T], out: &mut [Op::Out]) {
    let a = *a;
    for (o, &b) in out.iter_mut().zip(b) {
        *o = Op::apply(a, b);
    }
}

fn right<Op: Binary<T>, T: Element>(a: &[T], b: &T, out: &mut [Op::Out]) {
    let b = *b;
    for (o, &a) in out.iter_mut().zip(a) {
        *o = Op::apply(a, b);
    }
}

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident<$t:ident: $bound:path>($a:ident, $b:ident) -> $out:ty = $body:expr
        $(, check $check:expr)?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;
        impl<$t: $bound> Binary<$t> for $name {
            type Out = $out;
            #[inline(always)]
            fn apply($a: $t, $b: $t) -> $out { $body }
            $(const CHECK: Option<Check<$t>> = $check;)?
        }
    )*};
}

ops! {
    /// `a + b`.
    Add<T: Number>(a, b) -> T = a.plus(b);
    /// `a − b`.
    Sub<T: Number>(a, b) -> T = a.minus(b);
    /// `a · b`.
    Mul<T: Number>(a, b) -> T = a.times(b);
    /// `a / b` of floats and complex numbers (`RealDiv`, and `Div` of these).
    Div<T: Number>(a, b) -> T = a.over(b);
    /// `(a − b) · conj(a − b)`.
    SquaredDifference<T: Number>(a, b) -> T = { let d = a.minus(b); d.times(d.conj()) };
    /// The larger; NaN if either is.
    Maximum<T: Real>(a, b) -> T = a.maximum(b);
    /// The smaller; NaN if either is.
    Minimum<T: Real>(a, b) -> T = a.minimum(b);
    /// `⌊a / b⌋`.
    FloorDiv<T: Real>(a, b) -> T = a.floor_div(b), check T::DIVISOR;
    /// Remainder with the sign of `b`.
    FloorMod<T: Real>(a, b) -> T = a.floor_mod(b), check T::DIVISOR;
    /// Quotient toward zero (`TruncateDiv`, and `Div` of integers).
    TruncateDiv<T: Real>(a, b) -> T = a.trunc_div(b), check T::DIVISOR;
    /// Remainder with the sign of `a` (`TruncateMod`, `Mod`).
    TruncateMod<T: Real>(a, b) -> T = a.trunc_mod(b), check T::DIVISOR;
    /// `a ^ b` of floats and complex numbers.
    Pow<T: Elementary>(a, b) -> T = a.powf(b);
    /// `a ^ b` of integers.
    PowInteger<T: Integer>(a, b) -> T = a.power(b), check Some(no_negative);
    /// `a / b`, zero where `b` is zero.
    DivNoNan<T: Number>(a, b) -> T = if b == T::ZERO { T::ZERO } else { a.over(b) };
    /// `a · b`, zero where `b` is zero, whatever `a` is.
    MulNoNan<T: Number>(a, b) -> T = if b == T::ZERO { T::ZERO } else { a.times(b) };
    /// `a / b`, zero where `a` is zero.
    Xdivy<T: Number>(a, b) -> T = if a == T::ZERO { T::ZERO } else { a.over(b) };
    /// `a · ln b`, zero where `a` is zero.
    Xlogy<T: Elementary>(a, b) -> T = if a == T::ZERO { T::ZERO } else { a.times(b.ln()) };
    /// `a · ln(1 + b)`, zero where `a` is zero.
    Xlog1py<T: Elementary>(a, b) -> T = if a == T::ZERO { T::ZERO } else { a.times(b.ln_1p()) };
    /// Angle of the point (b, a).
    Atan2<T: Float>(a, b) -> T = a.atan2(b);
    /// Bitwise and.
    BitwiseAnd<T: Integer>(a, b) -> T = a.bit_and(b);
    /// Bitwise or.
    BitwiseOr<T: Integer>(a, b) -> T = a.bit_or(b);
    /// Bitwise exclusive or.
    BitwiseXor<T: Integer>(a, b) -> T = a.bit_xor(b);
    /// Shift left by an amount clamped to the width.
    LeftShift<T: Integer>(a, b) -> T = a.shift_left(b);
    /// Shift right by an amount clamped to the width.
    RightShift<T: Integer>(a, b) -> T = a.shift_right(b);
    /// `dy · (1 − y²)` of `(y, dy)`.
    TanhGrad<T: Elementary>(y, dy) -> T = dy.times(T::ONE.minus(y.times(y)));
    /// `dy · y · (1 − y)` of `(y, dy)`.
    SigmoidGrad<T: Elementary>(y, dy) -> T = dy.times(y).times(T::ONE.minus(y));
    /// `dy / (2 conj y)` of `(y, dy)`. (TensorFlow conjugates here, but not in the two above.)
    SqrtGrad<T: Elementary>(y, dy) -> T = dy.times(T::from_f64(0.5)).over(y.conj());
    /// `−dy · (conj y)³ / 2` of `(y, dy)`.
    RsqrtGrad<T: Elementary>(y, dy) -> T = {
        let y = y.conj();
        dy.times(T::from_f64(-0.5)).times(y.times(y).times(y))
    };
    /// `−dy · (conj y)²` of `(y, dy)` (`ReciprocalGrad`, `InvGrad`).
    ReciprocalGrad<T: Elementary>(y, dy) -> T = { let y = y.conj(); dy.negated().times(y.times(y)) };
    /// `dy` where the input is above zero, of `(dy, x)` (`ReluGrad` takes gradients first).
    ReluGrad<T: Real>(dy, x) -> T = if x > T::ZERO { dy } else { T::ZERO };
    /// `dy` where the input is in (0, 6).
    Relu6Grad<T: Float>(dy, x) -> T = if x > T::ZERO && x < T::from_f64(6.0) { dy } else { T::ZERO };
    /// `dy` times one, or `y + 1` below zero, of `(dy, y)`.
    EluGrad<T: Float>(dy, y) -> T = if y < T::ZERO { y.plus(T::ONE).times(dy) } else { dy };
    /// As [`EluGrad`] with the scaled constants, of `(dy, y)`.
    SeluGrad<T: Float>(dy, y) -> T = {
        let (scale, scale_alpha) = (T::from_f64(crate::unary::SELU_SCALE), T::from_f64(crate::unary::SELU_SCALE_ALPHA));
        if y < T::ZERO { dy.times(y.plus(scale_alpha)) } else { dy.times(scale) }
    };
    /// `dy / (1 + e^−x)` of `(dy, x)`.
    SoftplusGrad<T: Float>(dy, x) -> T = T::from_native(dy.to_native().times(x.to_native().sigmoid()));
    /// `dy / (1 + |x|)²` of `(dy, x)`.
    SoftsignGrad<T: Float>(dy, x) -> T = {
        let d = T::Native::ONE.plus(x.to_native().magnitude());
        T::from_native(dy.to_native().over(d.times(d)))
    };
}

fn no_negative<T: Integer>(b: &[T]) -> Result<()> {
    if b.iter().any(|&b| b < T::ZERO) { Err(Error::NegativeExponent) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use num_complex::Complex;

    fn eval<Op: Binary<T>, T: Element, const N: usize>(a: [T; N], b: [T; N]) -> [Op::Out; N] {
        let mut out = [Op::Out::ZERO; N];
        run::<Op, T>((&a, &[N]), (&b, &[N]), &mut out).unwrap();
        out
    }

    #[test]
    fn scalar_sides_and_parts() {
        let mut out = [0i32; 3];
        run::<Sub, i32>((&[10], &[]), (&[1, 2, 3], &[3]), &mut out).unwrap();
        assert_eq!(out, [9, 8, 7]);
        run::<Sub, i32>((&[1, 2, 3], &[3]), (&[10], &[1]), &mut out).unwrap();
        assert_eq!(out, [-9, -8, -7]);
        run_in_place::<Mul, i32>(&mut out, &[2]).unwrap();
        assert_eq!(out, [-18, -16, -14]);
        assert_eq!(run::<Sub, i32>((&[1, 2], &[3]), (&[10], &[]), &mut out), Err(Error::Length));
        assert_eq!(run::<Sub, i32>((&[1, 2], &[2]), (&[10], &[]), &mut out), Err(Error::Length));
        assert_eq!(run_in_place::<Mul, i32>(&mut out, &[2, 3]), Err(Error::Length));
    }

    #[test]
    fn threads_change_nothing() {
        let a: alloc::vec::Vec<i32> = (0..70_000).collect();
        let b: alloc::vec::Vec<i32> = (1..701).collect();
        let (mut one, mut many) = (alloc::vec![0; 70_000], alloc::vec![9; 70_000]);
        run::<FloorMod, i32>((&a, &[100, 700]), (&b, &[700]), &mut one).unwrap();
        for par in crate::testing::machines() {
            many.fill(-1);
            run_on::<FloorMod, i32>(&par, (&a, &[100, 700]), (&b, &[700]), &mut many).unwrap();
            assert_eq!(one, many);
        }
        let zero = run_on::<FloorMod, i32>(&crate::parallel::Inline, (&a, &[70_000]), (&[0], &[]), &mut many);
        assert_eq!(zero, Err(Error::DivisionByZero));
    }

    #[test]
    fn integer_division_by_zero_is_an_error_unless_nothing_is_computed() {
        assert_eq!(run::<FloorDiv, i32>((&[1], &[1]), (&[0], &[1]), &mut [0]), Err(Error::DivisionByZero));
        assert_eq!(run::<TruncateMod, u8>((&[1], &[1]), (&[0], &[1]), &mut [0]), Err(Error::DivisionByZero));
        assert_eq!(run::<FloorDiv, i32>((&[], &[0]), (&[0], &[1]), &mut []), Ok(()));
        assert_eq!(run::<PowInteger, i64>((&[2], &[1]), (&[-1], &[1]), &mut [0]), Err(Error::NegativeExponent));
        assert_eq!(eval::<FloorDiv, f32, 2>([1.0, -1.0], [0.0, 0.0]), [f32::INFINITY, f32::NEG_INFINITY]);
        assert_eq!(eval::<PowInteger, i16, 3>([2, 3, 0], [9, 40, 0]), [512, -6111, 1]);
    }

    /// TensorFlow 2.21's answers for the values where definitions differ.
    #[test]
    fn special_values() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        assert_eq!(eval::<DivNoNan, f32, 3>([7.0, nan, inf], [0.0, 0.0, -0.0]), [0.0; 3]);
        assert_eq!(eval::<MulNoNan, f32, 3>([7.0, nan, inf], [0.0, 0.0, -0.0]), [0.0; 3]);
        assert_eq!(eval::<Xdivy, f32, 4>([0.0, 0.0, 0.0, 1.0], [0.0, nan, 1.0, 0.0]), [0.0, 0.0, 0.0, inf]);
        assert_eq!(eval::<Xlogy, f32, 4>([0.0, 0.0, 0.0, 1.0], [0.0, nan, -1.0, 0.0]), [0.0, 0.0, 0.0, -inf]);
        assert_eq!(eval::<Xlog1py, f32, 4>([0.0, 0.0, 0.0, 1.0], [0.0, nan, -1.0, -1.0]), [0.0, 0.0, 0.0, -inf]);
        assert_eq!(eval::<Pow, f32, 4>([0.0, -2.0, 1.0, inf], [0.0, 3.0, nan, -1.0]), [1.0, -8.0, 1.0, 0.0]);
        assert!(eval::<Maximum, f32, 2>([nan, 1.0], [1.0, nan]).iter().all(|v| v.is_nan()));
        assert!(eval::<Minimum, bf16, 2>([bf16::NAN, bf16::ONE], [bf16::ONE, bf16::NAN]).iter().all(|v| v.is_nan()));
        assert_eq!(eval::<SquaredDifference, i32, 2>([100, 3], [1, 5]), [9801, 4]);
        assert_eq!(eval::<LeftShift, u16, 3>([1; 3], [3, 63, 100]), [8, 32768, 32768]);
    }

    #[test]
    fn gradients() {
        type C = Complex<f32>;
        let (y, dy) = ([C::new(1.0, 2.0), C::new(0.5, -0.25)], [C::new(0.5, 1.0), C::new(2.0, 0.5)]);
        assert_eq!(eval::<TanhGrad, C, 2>(y, dy), [C::new(6.0, 2.0), C::new(1.5, 0.90625)]);
        assert_eq!(eval::<SigmoidGrad, C, 2>(y, dy), [C::new(4.0, 3.0), C::new(0.625, 0.15625)]);
        let near = eval::<SqrtGrad, C, 2>(y, dy).map(|c| (c.re * 1e4 + c.im).round());
        assert_eq!(near, [C::new(-0.15, 0.2), C::new(1.8, -0.4)].map(|c| (c.re * 1e4 + c.im).round()));
        assert_eq!(eval::<RsqrtGrad, C, 2>(y, dy), [C::new(3.75, 5.0), C::new(0.01171875, -0.1796875)]);
        assert_eq!(eval::<ReciprocalGrad, C, 2>(y, dy), [C::new(-2.5, 5.0), C::new(-0.25, -0.59375)]);
        assert_eq!(eval::<ReluGrad, f32, 3>([1.0, 2.0, 3.0], [-1.0, 0.0, 0.5]), [0.0, 0.0, 3.0]);
        assert_eq!(eval::<Relu6Grad, f16, 2>([f16::ONE; 2], [f16::from_f32(6.0), f16::ONE]), [f16::ZERO, f16::ONE]);
        assert_eq!(eval::<EluGrad, f64, 2>([2.0, 2.0], [-0.5, 1.0]), [1.0, 2.0]);
        assert_eq!(eval::<SoftsignGrad, f32, 2>([4.0, 4.0], [1.0, -1.0]), [1.0, 1.0]);
    }
}
