//! Binary arithmetic with broadcasting, and the gradients of element-wise functions.

use alloc::boxed::Box;

use super::dispatch::*;
use super::elementwise::{binary, broadcast_shape, paired};
use super::{Ctx, Kernel, NodeContext, Op, kernel, shape};
use crate::kernels::binary as k;
use crate::kernels::broadcast::{Broadcast, Rows};
use crate::kernels::error::Error;
use crate::tensor::{DType, Str, Tensor};
use crate::{Code, Status};

/// This family.
pub static OPS: &[&Op] = &[
    &ADD_V2,
    &ADD,
    &SUB,
    &MUL,
    &REAL_DIV,
    &DIV,
    &FLOOR_DIV,
    &FLOOR_MOD,
    &MOD_,
    &TRUNCATE_DIV,
    &TRUNCATE_MOD,
    &MAXIMUM,
    &MINIMUM,
    &POW,
    &SQUARED_DIFFERENCE,
    &DIV_NO_NAN,
    &MUL_NO_NAN,
    &TANH_GRAD,
    &SIGMOID_GRAD,
    &SQRT_GRAD,
    &RSQRT_GRAD,
    &RECIPROCAL_GRAD,
    &INV_GRAD,
];

macro_rules! ops {
    ($($id:ident = $name:literal($args:literal; $attrs:expr), [$set:ident]: $($part:ident $op:ident),+ $(=> $flag:ident)?;)*) => {
        $(static $id: Op = Op::new($name, $args, $attrs)
            .shape(shape::broadcast)
            .kernel(&[("T", $set)], |node| dispatch!(node, "T", $($part T => binary::<k::$op, T>(node)),+))
            $(.$flag())?;)*
    };
}

/// The types of most of them; the order is of no account.
const ANY_NUMBER: &str = "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, \
    complex64, complex128}";
const ANY_REAL: &str = "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}";
const ANY_INEXACT: &str = "T: {bfloat16, half, float, double, complex64, complex128}";

ops! {
    ADD_V2 = "AddV2"("x: T, y: T -> z: T"; ANY_NUMBER), [NUMBERS]: NUMBERS Add => commutative;
    SUB = "Sub"("x: T, y: T -> z: T"; ANY_NUMBER), [NUMBERS]: NUMBERS Sub;
    MUL = "Mul"("x: T, y: T -> z: T"; ANY_NUMBER), [NUMBERS]: NUMBERS Mul => commutative;
    REAL_DIV = "RealDiv"("x: T, y: T -> z: T"; ANY_NUMBER), [INEXACT]: INEXACT Div;
    DIV = "Div"("x: T, y: T -> z: T"; ANY_NUMBER), [NUMBERS]: INTEGERS TruncateDiv, INEXACT Div;
    FLOOR_DIV = "FloorDiv"("x: T, y: T -> z: T"; ANY_NUMBER), [REALS]: REALS FloorDiv;
    FLOOR_MOD = "FloorMod"("x: T, y: T -> z: T"; ANY_REAL), [REALS]: REALS FloorMod;
    MOD_ = "Mod"("x: T, y: T -> z: T"; "T: {int32, int64, half, half, bfloat16, float, double}"), [MOD]: MOD TruncateMod;
    MAXIMUM = "Maximum"("x: T, y: T -> z: T"; ANY_REAL), [REALS]: REALS Maximum;
    MINIMUM = "Minimum"("x: T, y: T -> z: T"; ANY_REAL), [REALS]: REALS Minimum;
    POW = "Pow"("x: T, y: T -> z: T";
        "T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}"),
        [SIGNED_NUMBERS]: POWERS PowInteger, INEXACT Pow;
    SQUARED_DIFFERENCE = "SquaredDifference"("x: T, y: T -> z: T";
        "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"),
        [DIFFERENCE]: DIFFERENCE SquaredDifference => commutative;
    DIV_NO_NAN = "DivNoNan"("x: T, y: T -> z: T"; ANY_INEXACT), [INEXACT]: INEXACT DivNoNan;
    MUL_NO_NAN = "MulNoNan"("x: T, y: T -> z: T"; ANY_INEXACT), [INEXACT]: INEXACT MulNoNan;
}

static TRUNCATE_DIV: Op =
    Op::new("TruncateDiv", "x: T, y: T -> z: T", ANY_NUMBER).shape(shape::broadcast).kernel(&[("T", REALS)], |node| {
        zero_is_internal(dispatch!(node, "T", REALS T => binary::<k::TruncateDiv, T>(node)))
    });
static TRUNCATE_MOD: Op =
    Op::new("TruncateMod", "x: T, y: T -> z: T", "T: {int32, int64, bfloat16, half, float, double}")
        .shape(shape::broadcast)
        .kernel(&[("T", MOD)], |node| {
            zero_is_internal(dispatch!(node, "T", MOD T => binary::<k::TruncateMod, T>(node)))
        });

/// TensorFlow does not expect these two to divide by zero, and answers INTERNAL when they do.
fn zero_is_internal(made: Result<Box<dyn Kernel>, Status>) -> Result<Box<dyn Kernel>, Status> {
    let inner = made?;
    let zero = Status::from(Error::DivisionByZero);
    kernel(move |c: &mut Ctx<'_>| {
        inner.run(c).map_err(|error| match error.message() == zero.message() {
            true => error.with_code(Code::Internal),
            false => error,
        })
    })
}

macro_rules! gradients {
    ($($id:ident = $name:literal: $op:ident;)*) => {
        $(static $id: Op = Op::new($name, "y: T, dy: T -> z: T", ANY_INEXACT)
            .shape(shape::unchanged)
            .kernel(&[("T", INEXACT)], |node| dispatch!(node, "T", INEXACT T => paired::<k::$op, T>(node)));)*
    };
}

gradients! {
    TANH_GRAD = "TanhGrad": TanhGrad;
    SIGMOID_GRAD = "SigmoidGrad": SigmoidGrad;
    SQRT_GRAD = "SqrtGrad": SqrtGrad;
    RSQRT_GRAD = "RsqrtGrad": RsqrtGrad;
    RECIPROCAL_GRAD = "ReciprocalGrad": ReciprocalGrad;
    INV_GRAD = "InvGrad": ReciprocalGrad;
}

static ADD: Op = Op::new(
    "Add",
    "x: T, y: T -> z: T",
    "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}",
)
.shape(shape::broadcast)
.kernel(ADD_TYPES, |node| match node.dtype("T")? {
    DType::String => joined(node),
    _ => dispatch!(node, "T", OLD_ADD T => binary::<k::Add, T>(node)),
});
const ADD_TYPES: &[(&str, &[DType])] = &[("T", &with_string::<{ OLD_ADD.len() + 1 }>(OLD_ADD))];

/// Strings put one behind the other.
fn joined(_: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    fn join(a: &Str, b: &Str) -> Str {
        [&**a, &**b].concat().into()
    }
    let rows: Rows<Str, Str, Str> = Rows {
        both: |a, b, out| out.iter_mut().zip(a.iter().zip(b)).for_each(|(o, (a, b))| *o = join(a, b)),
        left: |a, b, out| out.iter_mut().zip(b).for_each(|(o, b)| *o = join(a, b)),
        right: |a, b, out| out.iter_mut().zip(a).for_each(|(o, a)| *o = join(a, b)),
    };
    kernel(move |c: &mut Ctx<'_>| {
        let (a, b) = (c.input(0), c.input(1));
        let shape = broadcast_shape(a.shape(), b.shape())?;
        let plan = Broadcast::new([&a.shape().to_usize(), &b.shape().to_usize()])?;
        let mut out = Tensor::zeros(DType::String, &shape, c.budget())?;
        plan.run(rows, a.strings()?, b.strings()?, 0, out.make_strings_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::ops::testing::{run, strings, tensor};
    use half::f16;
    use num_complex::Complex;

    /// One case an op, of shapes that broadcast.
    #[test]
    fn values() {
        let (a, b) = (tensor(&[2, 1], &[7.5f32, -3.0]), tensor(&[2], &[2.0f32, 4.0]));
        let cases: &[(&str, [f32; 4])] = &[
            ("AddV2", [9.5, 11.5, -1.0, 1.0]),
            ("Add", [9.5, 11.5, -1.0, 1.0]),
            ("Sub", [5.5, 3.5, -5.0, -7.0]),
            ("Mul", [15.0, 30.0, -6.0, -12.0]),
            ("RealDiv", [3.75, 1.875, -1.5, -0.75]),
            ("Div", [3.75, 1.875, -1.5, -0.75]),
            ("FloorDiv", [3.0, 1.0, -2.0, -1.0]),
            ("FloorMod", [1.5, 3.5, 1.0, 1.0]),
            ("Mod", [1.5, 3.5, -1.0, -3.0]),
            ("TruncateDiv", [3.0, 1.0, -1.0, 0.0]),
            ("TruncateMod", [1.5, 3.5, -1.0, -3.0]),
            ("Maximum", [7.5, 7.5, 2.0, 4.0]),
            ("Minimum", [2.0, 4.0, -3.0, -3.0]),
            ("Pow", [56.25, 3164.0625, 9.0, 81.0]),
            ("SquaredDifference", [30.25, 12.25, 25.0, 49.0]),
            ("DivNoNan", [3.75, 1.875, -1.5, -0.75]),
            ("MulNoNan", [15.0, 30.0, -6.0, -12.0]),
        ];
        for (op, want) in cases {
            let out = run(op, &[], &[a.clone(), b.clone()]).unwrap();
            assert_eq!(out[0].as_slice::<f32>().unwrap(), want, "{op}");
            assert_eq!(out[0].shape().dims(), [2, 2]);
        }
    }

    /// Scalars, equal shapes (which go in place), scalars against more, empty ones and other types.
    #[test]
    fn forms() {
        let two = |op: &str, a, b| run(op, &[], &[a, b]).unwrap().remove(0);
        assert_eq!(two("AddV2", 1i32.into(), 2i32.into()).to_scalar::<i32>().unwrap(), 3);
        let v = tensor(&[3], &[1.0f64, 2.0, 3.0]);
        assert_eq!(two("Mul", v.clone(), tensor(&[3], &[2.0f64; 3])).as_slice::<f64>().unwrap(), [2.0, 4.0, 6.0]);
        assert_eq!(two("Sub", 1.0f64.into(), v.clone()).as_slice::<f64>().unwrap(), [0.0, -1.0, -2.0]);
        assert_eq!(two("Sub", v, 1.0f64.into()).as_slice::<f64>().unwrap(), [0.0, 1.0, 2.0]);
        assert_eq!(two("AddV2", tensor::<i8>(&[0, 3], &[]), tensor(&[1], &[1i8])).shape().dims(), [0, 3]);
        let c = Complex::new(1.0f64, 2.0);
        assert_eq!(two("Mul", c.into(), c.into()).to_scalar::<Complex<f64>>().unwrap(), c * c);
        assert_eq!(two("Div", 7i32.into(), (-2i32).into()).to_scalar::<i32>().unwrap(), -3);
        assert_eq!(
            two("Maximum", f16::ONE.into(), f16::NAN.into()).to_scalar::<f16>().unwrap().to_bits() & 0x7c00,
            0x7c00
        );
        let joined = two("Add", strings(&[2], &["a", ""]), strings(&[], &["z"]));
        assert_eq!(joined.strings().unwrap(), ["az", "z"]);
    }

    /// A large operand, split over threads if there are any, and the same slot twice.
    #[test]
    fn large() {
        let x = tensor(&[100_000], &alloc::vec![1.5f32; 100_000]);
        let out = run("AddV2", &[], &[x.clone(), x]).unwrap();
        assert!(out[0].as_slice::<f32>().unwrap().iter().all(|&y| y == 3.0));
    }

    /// What is refused, with TensorFlow's codes.
    #[test]
    fn refusals() {
        let error = run("AddV2", &[], &[tensor(&[2], &[1.0f32; 2]), tensor(&[3], &[1.0f32; 3])]).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains("Incompatible shapes: [2] vs. [3]"), "{error}");
        for op in ["Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"] {
            for b in [tensor(&[2], &[1i32, 0]), tensor(&[], &[0i32])] {
                let error = run(op, &[], &[tensor(&[2], &[1i32, 1]), b]).unwrap_err();
                assert_eq!(
                    (error.code(), error.message()),
                    (
                        if op.starts_with("Truncate") { Code::Internal } else { Code::InvalidArgument },
                        "Integer division by zero"
                    ),
                    "{op}"
                );
            }
        }
        assert!(run("FloorDiv", &[], &[tensor::<i32>(&[0], &[]), 0i32.into()]).is_ok());
        assert!(run("Pow", &[], &[tensor(&[1], &[2i64]), tensor(&[1], &[-1i64])]).is_err());
    }
}
