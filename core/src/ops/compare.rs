//! Comparisons and logic with broadcasting.

use alloc::boxed::Box;

use super::dispatch::*;
use super::elementwise::{self, broadcast_shape, compare};
use super::{Ctx, Kernel, NodeContext, Op, kernel, shape};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::binary::Binary;
use crate::kernels::broadcast::{Broadcast, Rows, broadcast_shapes};
use crate::kernels::{compare as k, unary};
use crate::tensor::{DType, Shape, Str};

/// This family.
pub static OPS: &[&Op] =
    &[&EQUAL, &NOT_EQUAL, &LESS, &LESS_EQUAL, &GREATER, &GREATER_EQUAL, &LOGICAL_AND, &LOGICAL_OR, &LOGICAL_NOT];

const EQUAL_ATTRS: &str = "T: type; incompatible_shape_error: bool = true";
const EQUAL_TYPES: &[(&str, &[DType])] = &[("T", &with_string::<{ PLAIN.len() + 1 }>(PLAIN))];

static EQUAL: Op = Op::new("Equal", "x: T, y: T -> z: bool", EQUAL_ATTRS).commutative().shape(equal_shape).kernel(
    EQUAL_TYPES,
    |node| match node.dtype("T")? {
        DType::String => equal_strings::<true>(node),
        _ => dispatch!(node, "T", PLAIN T => equal::<k::Equal, T>(node, false)),
    },
);
static NOT_EQUAL: Op = Op::new("NotEqual", "x: T, y: T -> z: bool", EQUAL_ATTRS)
    .commutative()
    .shape(equal_shape)
    .kernel(EQUAL_TYPES, |node| match node.dtype("T")? {
        DType::String => equal_strings::<false>(node),
        _ => dispatch!(node, "T", PLAIN T => equal::<k::NotEqual, T>(node, true)),
    });

macro_rules! ordered {
    ($($id:ident = $name:ident;)*) => {
        $(static $id: Op = Op::new(
            stringify!($name),
            "x: T, y: T -> z: bool",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        )
        .shape(shape::broadcast)
        .kernel(&[("T", REALS)], |node| dispatch!(node, "T", REALS T => compare::<k::$name, T>(node)));)*
    };
}
ordered! {
    LESS = Less;
    LESS_EQUAL = LessEqual;
    GREATER = Greater;
    GREATER_EQUAL = GreaterEqual;
}

static LOGICAL_AND: Op = Op::new("LogicalAnd", "x: bool, y: bool -> z: bool", "")
    .commutative()
    .shape(shape::broadcast)
    .kernel(&[], elementwise::binary::<k::LogicalAnd, bool>);
static LOGICAL_OR: Op = Op::new("LogicalOr", "x: bool, y: bool -> z: bool", "")
    .commutative()
    .shape(shape::broadcast)
    .kernel(&[], elementwise::binary::<k::LogicalOr, bool>);
static LOGICAL_NOT: Op = Op::new("LogicalNot", "x: bool -> y: bool", "")
    .shape(shape::unchanged)
    .kernel(&[], |_| elementwise::unary::<_, bool>(unary::LogicalNot, 1));

/// Shapes that do not broadcast are an error, or, when the node says so, simply unequal: a scalar.
fn equal_shape(c: &shape::ShapeContext<'_>) -> Result<alloc::vec::Vec<PartialShape>, Status> {
    if c.node.attrs.bool("incompatible_shape_error")? || shape::broadcast(c).is_ok_and(|s| s.iter().all(is_known)) {
        return shape::broadcast(c);
    }
    shape::unknown(c)
}

fn is_known(shape: &PartialShape) -> bool {
    shape.dims.as_ref().is_some_and(|dims| dims.iter().all(|&d| d >= 0))
}

/// Whether two shapes that do not broadcast were met where that only means unequal.
fn incompatible(a: &Shape, b: &Shape) -> bool {
    a != b && broadcast_shapes(&a.to_usize(), &b.to_usize()).is_err()
}

fn equal<P: Binary<T, Out = bool>, T: Value>(node: &NodeContext<'_>, unequal: bool) -> Result<Box<dyn Kernel>, Status> {
    let compare = compare::<P, T>(node)?;
    if node.attrs().bool("incompatible_shape_error")? {
        return Ok(compare);
    }
    kernel(move |c: &mut Ctx<'_>| {
        if incompatible(c.input(0).shape(), c.input(1).shape()) {
            c.set_scalar(0, unequal);
            return Ok(());
        }
        compare.run(c)
    })
}

fn equal_strings<const EQUAL: bool>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let strict = node.attrs().bool("incompatible_shape_error")?;
    let rows: Rows<Str, Str, bool> = Rows {
        both: |a, b, out| out.iter_mut().zip(a.iter().zip(b)).for_each(|(o, (a, b))| *o = (a == b) == EQUAL),
        left: |a, b, out| out.iter_mut().zip(b).for_each(|(o, b)| *o = (a == b) == EQUAL),
        right: |a, b, out| out.iter_mut().zip(a).for_each(|(o, a)| *o = (a == b) == EQUAL),
    };
    kernel(move |c: &mut Ctx<'_>| {
        let (a, b) = (c.input(0), c.input(1));
        if !strict && incompatible(a.shape(), b.shape()) {
            c.set_scalar(0, !EQUAL);
            return Ok(());
        }
        let shape = broadcast_shape(a.shape(), b.shape())?;
        let mut out = c.output(0, DType::Bool, &shape)?;
        let (a, b) = (c.input(0), c.input(1));
        let plan = Broadcast::new([&a.shape().to_usize(), &b.shape().to_usize()])?;
        plan.run(rows, a.strings()?, b.strings()?, 0, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::ops::testing::{run, strings, tensor};

    /// Every op on operands that broadcast.
    #[test]
    fn values() {
        let (a, b) = (tensor(&[2, 1], &[1i32, 2]), tensor(&[2], &[1i32, 2]));
        let cases: &[(&str, [bool; 4])] = &[
            ("Equal", [true, false, false, true]),
            ("NotEqual", [false, true, true, false]),
            ("Less", [false, true, false, false]),
            ("LessEqual", [true, true, false, true]),
            ("Greater", [false, false, true, false]),
            ("GreaterEqual", [true, false, true, true]),
        ];
        for (op, want) in cases {
            let out = run(op, &[], &[a.clone(), b.clone()]).unwrap();
            assert_eq!(out[0].as_slice::<bool>().unwrap(), want, "{op}");
        }
        let (p, q) = (tensor(&[4], &[true, true, false, false]), tensor(&[4], &[true, false, true, false]));
        let and = run("LogicalAnd", &[], &[p.clone(), q.clone()]).unwrap();
        assert_eq!(and[0].as_slice::<bool>().unwrap(), [true, false, false, false]);
        let or = run("LogicalOr", &[], &[p.clone(), q]).unwrap();
        assert_eq!(or[0].as_slice::<bool>().unwrap(), [true, true, true, false]);
        assert_eq!(run("LogicalNot", &[], &[p]).unwrap()[0].as_slice::<bool>().unwrap(), [false, false, true, true]);
        assert!(run("Less", &[], &[1.0f64.into(), 2.0f64.into()]).unwrap()[0].to_scalar::<bool>().unwrap());
    }

    /// Strings, and shapes that do not broadcast under both values of the attribute.
    #[test]
    fn equality() {
        let s = strings(&[2], &["a", "b"]);
        let out = run("Equal", &[], &[s.clone(), strings(&[], &["b"])]).unwrap();
        assert_eq!(out[0].as_slice::<bool>().unwrap(), [false, true]);
        for (a, b) in [(s, strings(&[3], &["", "", ""])), (tensor(&[2], &[1i32, 2]), tensor(&[3], &[1i32, 2, 3]))] {
            let error = run("NotEqual", &[], &[a.clone(), b.clone()]).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument);
            let lax = [("incompatible_shape_error", false.into())];
            let out = run("NotEqual", &lax, &[a.clone(), b.clone()]).unwrap();
            assert!(out[0].to_scalar::<bool>().unwrap());
            assert!(!run("Equal", &lax, &[a, b]).unwrap()[0].to_scalar::<bool>().unwrap());
        }
    }
}
