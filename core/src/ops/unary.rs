//! Element-wise functions of one operand.

use super::dispatch::*;
use super::elementwise::{test, unary};
use super::{Op, shape};
use crate::kernels::element::Number;
use crate::kernels::unary as k;

/// This family.
pub static OPS: &[&Op] = &[
    &NEG,
    &ABS,
    &SIGN,
    &SQUARE,
    &SQRT,
    &RSQRT,
    &RECIPROCAL,
    &INV,
    &EXP,
    &EXPM1,
    &LOG,
    &LOG1P,
    &TANH,
    &SIGMOID,
    &SIN,
    &COS,
    &TAN,
    &FLOOR,
    &CEIL,
    &ROUND_,
    &RINT,
    &IS_NAN,
    &IS_INF,
    &IS_FINITE,
    &ERF,
    &ERFC,
    &SOFTPLUS,
    &SOFTSIGN,
    &ELU,
    &SELU,
    &LEAKY_RELU,
];

/// About how many cycles an element of a function takes that is no single instruction.
const SLOW: usize = 20;

const ANY_FLOAT: &str = "T: {bfloat16, half, float, double}";
const ANY_INEXACT: &str = "T: {bfloat16, half, float, double, complex64, complex128}";
const ANY_SIGNED: &str = "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}";

macro_rules! ops {
    ($make:ident; $($id:ident = $name:literal($args:literal; $attrs:expr), [$set:ident]:
        $($part:ident $op:ident),+; $cycles:expr;)*) => {
        $(static $id: Op = Op::new($name, $args, $attrs)
            .shape(shape::unchanged)
            .kernel(&[("T", $set)], |node| dispatch!(node, "T", $($part T => $make::<_, T>(k::$op, $cycles)),+));)*
    };
}

ops! { unary;
    NEG = "Neg"("x: T -> y: T"; ANY_SIGNED), [SIGNED_NUMBERS]: SIGNED_NUMBERS Neg; 1;
    ABS = "Abs"("x: T -> y: T"; "T: {bfloat16, half, float, double, int8, int16, int32, int64}"),
        [SIGNED_REALS]: SIGNED_REALS Abs; 1;
    SIGN = "Sign"("x: T -> y: T"; ANY_SIGNED), [SIGNED_NUMBERS]: SIGNED_REALS Sign, COMPLEX SignComplex; 1;
    SQUARE = "Square"("x: T -> y: T"; "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, \
        uint32, uint64, complex64, complex128}"), [NUMBERS]: NUMBERS Square; 1;
    SQRT = "Sqrt"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Sqrt; 4;
    RSQRT = "Rsqrt"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Rsqrt; 4;
    RECIPROCAL = "Reciprocal"("x: T -> y: T"; ANY_SIGNED), [INEXACT]: INEXACT Reciprocal; 2;
    INV = "Inv"("x: T -> y: T"; ANY_SIGNED), [INEXACT]: INEXACT Reciprocal; 2;
    EXP = "Exp"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Exp; SLOW;
    EXPM1 = "Expm1"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Expm1; SLOW;
    LOG = "Log"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Log; SLOW;
    LOG1P = "Log1p"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Log1p; SLOW;
    TANH = "Tanh"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Tanh; SLOW;
    SIGMOID = "Sigmoid"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Sigmoid; SLOW;
    SIN = "Sin"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Sin; SLOW;
    COS = "Cos"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Cos; SLOW;
    TAN = "Tan"("x: T -> y: T"; ANY_INEXACT), [INEXACT]: INEXACT Tan; SLOW;
    FLOOR = "Floor"("x: T -> y: T"; ANY_FLOAT), [FLOATS]: FLOATS Floor; 1;
    CEIL = "Ceil"("x: T -> y: T"; ANY_FLOAT), [FLOATS]: FLOATS Ceil; 1;
    RINT = "Rint"("x: T -> y: T"; ANY_FLOAT), [NATIVE_FLOATS]: NATIVE_FLOATS Round; 1;
    ERF = "Erf"("x: T -> y: T"; ANY_FLOAT), [FLOATS]: FLOATS Erf; SLOW;
    ERFC = "Erfc"("x: T -> y: T"; ANY_FLOAT), [FLOATS]: FLOATS Erfc; SLOW;
    SOFTPLUS = "Softplus"("features: T -> activations: T"; ANY_FLOAT), [FLOATS]: FLOATS Softplus; SLOW;
    SOFTSIGN = "Softsign"("features: T -> activations: T"; ANY_FLOAT), [FLOATS]: FLOATS Softsign; 4;
    ELU = "Elu"("features: T -> activations: T"; ANY_FLOAT), [FLOATS]: FLOATS Elu; SLOW;
    SELU = "Selu"("features: T -> activations: T"; ANY_FLOAT), [FLOATS]: FLOATS Selu; SLOW;
}
ops! { test;
    IS_NAN = "IsNan"("x: T -> y: bool"; ANY_FLOAT), [FLOATS]: FLOATS IsNan; 1;
    IS_INF = "IsInf"("x: T -> y: bool"; ANY_FLOAT), [FLOATS]: FLOATS IsInf; 1;
    IS_FINITE = "IsFinite"("x: T -> y: bool"; ANY_FLOAT), [FLOATS]: FLOATS IsFinite; 1;
}

static ROUND_: Op = Op::new("Round", "x: T -> y: T", ANY_SIGNED).shape(shape::unchanged).kernel(
    &[("T", ROUND)],
    |node| dispatch!(node, "T", FLOATS T => unary::<_, T>(k::Round, 1), INDICES T => unary::<_, T>(Same, 1)),
);

/// Integers are round already.
#[derive(Clone, Copy)]
struct Same;
impl<T: Value> k::Unary<T> for Same {
    type Out = T;
    fn apply(&self, x: T) -> T {
        x
    }
}

static LEAKY_RELU: Op = Op::new(
    "LeakyRelu",
    "features: T -> activations: T",
    "alpha: float = 0.200000003; T: {half, bfloat16, float, double} = float",
)
.shape(shape::unchanged)
.kernel(&[("T", FLOATS)], |node| {
    let alpha = f64::from(node.attrs().float("alpha")?);
    dispatch!(node, "T", FLOATS T => unary::<_, T>(k::LeakyRelu { alpha: T::from_f64(alpha) }, 1))
});

#[cfg(test)]
mod tests {
    use crate::ops::testing::{run, tensor};
    use half::bf16;

    /// One case an op; the functions themselves are tested with the kernels.
    #[test]
    fn values() {
        let cases: &[(&str, f32, f32)] = &[
            ("Neg", 0.5, -0.5),
            ("Abs", -0.5, 0.5),
            ("Sign", -0.5, -1.0),
            ("Square", -0.5, 0.25),
            ("Sqrt", 0.25, 0.5),
            ("Rsqrt", 0.25, 2.0),
            ("Reciprocal", 0.25, 4.0),
            ("Inv", 0.25, 4.0),
            ("Exp", 1.0, core::f32::consts::E),
            ("Expm1", 1.0, 1.718_281_8),
            ("Log", 2.0, core::f32::consts::LN_2),
            ("Log1p", 1.0, core::f32::consts::LN_2),
            ("Tanh", 0.5, 0.462_117_16),
            ("Sigmoid", 0.0, 0.5),
            ("Sin", 1.0, 0.841_471),
            ("Cos", 1.0, 0.540_302_3),
            ("Tan", 1.0, 1.557_407_7),
            ("Floor", -1.5, -2.0),
            ("Ceil", -1.5, -1.0),
            ("Round", 2.5, 2.0),
            ("Rint", 3.5, 4.0),
            ("Erf", 0.5, 0.520_499_9),
            ("Erfc", 0.5, 0.479_500_12),
            ("Softplus", 0.0, core::f32::consts::LN_2),
            ("Softsign", -1.0, -0.5),
            ("Elu", -1.0, -0.632_120_55),
            ("Selu", 1.0, 1.050_701),
            ("LeakyRelu", -1.0, -0.2),
        ];
        for &(op, x, want) in cases {
            let scalar = run(op, &[], &[x.into()]).unwrap()[0].to_scalar::<f32>().unwrap();
            assert!((scalar - want).abs() <= 1e-6 * want.abs(), "{op} {scalar}");
            let out = run(op, &[], &[tensor(&[1, 2], &[x, x])]).unwrap();
            assert_eq!(out[0].as_slice::<f32>().unwrap(), [scalar, scalar], "{op}");
            assert_eq!(out[0].shape().dims(), [1, 2]);
        }
        let x = tensor(&[3], &[f32::NAN, f32::INFINITY, 1.0]);
        for (op, want) in
            [("IsNan", [true, false, false]), ("IsInf", [false, true, false]), ("IsFinite", [false, false, true])]
        {
            assert_eq!(run(op, &[], &[x.clone()]).unwrap()[0].as_slice::<bool>().unwrap(), want);
        }
    }

    /// Other dtypes, and those without a kernel.
    #[test]
    fn dtypes() {
        assert_eq!(run("Round", &[], &[tensor(&[1], &[7i32])]).unwrap()[0].as_slice::<i32>().unwrap(), [7]);
        assert_eq!(run("Neg", &[], &[bf16::ONE.into()]).unwrap()[0].to_scalar::<bf16>().unwrap(), -bf16::ONE);
        assert_eq!(run("Reciprocal", &[], &[1i32.into()]).unwrap_err().code(), crate::Code::Unimplemented);
    }
}
