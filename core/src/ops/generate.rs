//! Tensors made from little: fills, ranges, one-hot rows, coordinates, and the shapes of broadcasting.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::carry::{Carried, carried};
use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::shapes::{constant_shape, int, ints};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::broadcast::{broadcast_shapes, gradient_axes};
use crate::kernels::element::{Integer, Number};
use crate::kernels::select as k;
use crate::tensor::{DType, RANK_MAX, Shape};

/// This family.
pub static OPS: &[&Op] = &[
    &FILL,
    &ZEROS_LIKE,
    &ONES_LIKE,
    &RANGE,
    &ONE_HOT,
    &WHERE,
    &INVERT_PERMUTATION,
    &BROADCAST_ARGS,
    &BROADCAST_GRADIENT_ARGS,
];

static FILL: Op =
    Op::new("Fill", "dims: index_type, value: T -> output: T", "T: type; index_type: {int32, int64} = int32")
        .shape(|c| Ok(alloc::vec![constant_shape(c, 0)]))
        .kernel(&[("index_type", INDICES)], |node| carried!(node, "T", C => fill::<C>(node)));
static ZEROS_LIKE: Op = Op::new("ZerosLike", "x: T -> y: T", "T: type").shape(shape::unchanged).kernel(&[], |node| {
    match node.dtype("T")? {
        DType::Variant => kernel(zeros_like_variant),
        _ => carried!(node, "T", C => zeros_like::<C>(node)),
    }
});
static ONES_LIKE: Op = Op::new(
    "OnesLike",
    "x: T -> y: T",
    "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, complex64, complex128, \
        bool}",
)
.shape(shape::unchanged)
.kernel(&[("T", PLAIN)], |node| dispatch!(node, "T", PLAIN T => ones_like::<T>()));
static RANGE: Op = Op::new(
    "Range",
    "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx",
    "Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} = int32",
)
.shape(range_shape)
.kernel(&[("Tidx", ROUND)], |node| {
    dispatch!(
        node, "Tidx",
        FLOATS T => range::<T>(k::range_len_float),
        INDICES T => range::<T>(k::range_len_integer),
    )
});
static ONE_HOT: Op = Op::new(
    "OneHot",
    "indices: TI, depth: int32, on_value: T, off_value: T -> output: T",
    "axis: int = -1; T: type; TI: {uint8, int8, int32, int64} = int64",
)
.shape(one_hot_shape)
.kernel(
    &[("TI", ONE_HOT_INDICES)],
    |node| carried!(node, "T", C => dispatch!(node, "TI", ONE_HOT_INDICES I => one_hot::<C, I>(node))),
);
static WHERE: Op = Op::new(
    "Where",
    "input: T -> index: int64",
    "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, \
        uint16, complex128, half, uint32, uint64, bool} = bool",
)
.shape(|c| Ok(alloc::vec![PartialShape::new(&[-1, c.input(0).rank().map_or(-1, |r| r as i64)])]))
.kernel(&[("T", PLAIN)], |node| dispatch!(node, "T", PLAIN T => coordinates::<T>()));
static INVERT_PERMUTATION: Op = Op::new("InvertPermutation", "x: T -> y: T", "T: {int32, int64} = int32")
    .shape(shape::unchanged)
    .kernel(&[("T", INDICES)], |node| dispatch!(node, "T", INDICES T => invert_permutation::<T>()));
static BROADCAST_ARGS: Op = Op::new("BroadcastArgs", "s0: T, s1: T -> r0: T", "T: {int32, int64} = int32")
    .shape(longer)
    .kernel(&[("T", INDICES)], |node| dispatch!(node, "T", INDICES T => broadcast_args::<T>()));
static BROADCAST_GRADIENT_ARGS: Op =
    Op::new("BroadcastGradientArgs", "s0: T, s1: T -> r0: T, r1: T", "T: {int32, int64} = int32")
        .shape(|_| Ok(alloc::vec![PartialShape::new(&[-1]); 2]))
        .kernel(&[("T", INDICES)], |node| dispatch!(node, "T", INDICES T => broadcast_gradient_args::<T>()));

fn fill<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let (dims, value) = (c.input(0), c.input(1));
        if dims.shape().rank() > 1 {
            return Err(Status::invalid_argument(format_args!(
                "dims must represent a vector, got shape {}",
                dims.shape()
            )));
        }
        let shape = Shape::from_i64(&ints(dims)?)?;
        let value = match C::read(value)? {
            [one] => one.clone(),
            _ => {
                return Err(Status::invalid_argument(format_args!(
                    "value must represent a scalar, got shape {}",
                    value.shape()
                )));
            }
        };
        let mut out = c.output(0, dtype, &shape)?;
        C::write(&mut out)?.fill(value);
        c.set(0, out);
        Ok(())
    })
}

fn zeros_like<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let mut out = c.output(0, dtype, &shape)?;
        C::write(&mut out)?.fill(C::default());
        c.set(0, out);
        Ok(())
    })
}

fn zeros_like_variant(c: &mut Ctx<'_>) -> Result<(), Status> {
    let input = c.input(0);
    if input.shape().rank() != 0 {
        return Err(Status::invalid_argument("ZerosLike non-scalar Tensor with dtype=DT_VARIANT is not supported."));
    }
    let zeros = super::tensor_list::zero_variants(input.shape(), input.variants()?, c.budget())?;
    c.set(0, zeros);
    Ok(())
}

fn ones_like<T: Value>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let mut out = c.output(0, T::DTYPE, &shape)?;
        out.make_mut::<T>()?.fill(T::ONE);
        c.set(0, out);
        Ok(())
    })
}

fn range_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let one = |i: usize| c.constant(i).filter(|v| v.len() == 1).map(|v| v[0]);
    let size = match (one(0), one(1), one(2)) {
        (Some(start), Some(limit), Some(delta)) => k::range_len_integer(start, limit, delta).map_or(-1, |n| n as i64),
        _ => -1,
    };
    Ok(alloc::vec![PartialShape::new(&[size])])
}

fn range<T: Value + Number + PartialOrd + core::fmt::Display>(
    len: fn(T, T, T) -> Result<usize, crate::kernels::error::Error>,
) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let [start, limit, delta] = [c.input(0).to_scalar::<T>()?, c.input(1).to_scalar()?, c.input(2).to_scalar()?];
        if delta == T::ZERO {
            return Err(Status::invalid_argument(format_args!("Requires delta != 0: {delta}")));
        }
        let (up, toward) = (delta > T::ZERO, if delta > T::ZERO { start <= limit } else { start >= limit });
        if !toward {
            let (order, sign) = if up { ("<=", '>') } else { (">=", '<') };
            return Err(Status::invalid_argument(format_args!(
                "Requires start {order} limit when delta {sign} 0: {start}/{limit}"
            )));
        }
        let mut out = c.output(0, T::DTYPE, &Shape::new(&[len(start, limit, delta)?])?)?;
        k::range(start, delta, out.make_mut()?);
        c.set(0, out);
        Ok(())
    })
}

/// The axis that a one-hot dimension becomes, −1 for the last.
fn hot_axis(axis: i64, rank: usize) -> Result<usize, Status> {
    match usize::try_from(axis) {
        Ok(at) if at <= rank => Ok(at),
        _ if axis == -1 => Ok(rank),
        _ => Err(Status::invalid_argument(format_args!(
            "Expected axis to be -1 or between [0, {}). But received: {axis}",
            rank + 1
        ))),
    }
}

fn one_hot_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(mut dims) = c.input(0).dims else { return shape::unknown(c) };
    let at = hot_axis(c.node.attrs.int("axis")?, dims.len())?;
    dims.insert(at, c.constant(1).and_then(|d| d.first().copied()).unwrap_or(-1));
    Ok(alloc::vec![PartialShape { dims: Some(dims) }])
}

fn one_hot<C: Carried, I: Value + Integer>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, axis) = (node.dtype("T")?, node.attrs().int("axis")?);
    kernel(move |c: &mut Ctx<'_>| {
        let mut dims = c.input(0).shape().to_usize();
        let at = hot_axis(axis, dims.len())?;
        for (i, name) in [(1, "depth"), (2, "on_value"), (3, "off_value")] {
            if c.input(i).shape().rank() != 0 {
                return Err(Status::invalid_argument(format_args!(
                    "{name} must be a scalar, but got: {}",
                    c.input(i).shape()
                )));
            }
        }
        let depth = int(c.input(1))?;
        let depth = usize::try_from(depth)
            .map_err(|_| Status::invalid_argument(format_args!("depth must be non-negative, got: {depth}")))?;
        let inner = dims[at..].iter().product();
        dims.insert(at, depth).map_err(|_| Status::invalid_argument("the result has too many dimensions"))?;
        let mut out = c.output(0, dtype, &Shape::new(&dims)?)?;
        let ([on], [off]) = (C::read(c.input(2))?, C::read(c.input(3))?) else {
            return Err(Status::internal("a scalar without element"));
        };
        let indices = c.input(0).as_slice::<I>()?;
        k::one_hot(indices, inner, depth, on.clone(), off.clone(), C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

fn coordinates<T: Value>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let dims = c.input(0).shape().to_usize();
        if dims.is_empty() {
            return Err(Status::invalid_argument("WhereOp : Unhandled input dimensions: 0"));
        }
        let count = k::count_nonzero(c.input(0).as_slice::<T>()?);
        let mut out = c.output(0, DType::Int64, &Shape::new(&[count, dims.len()])?)?;
        k::nonzero(c.input(0).as_slice::<T>()?, &dims, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

fn invert_permutation<T: Value + Integer + core::fmt::Display>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        if shape.rank() != 1 {
            return Err(Status::invalid_argument(format_args!("invert_permutation expects a 1D vector: {shape}")));
        }
        let mut out = c.output(0, T::DTYPE, &shape)?;
        let (x, y) = (c.input(0).as_slice::<T>()?, out.make_mut::<T>()?);
        let unset = T::from_i64(-1);
        y.fill(unset);
        for (i, &at) in x.iter().enumerate() {
            let slot = at
                .to_index()
                .and_then(|at| y.get_mut(at))
                .ok_or_else(|| Status::invalid_argument(format_args!("{at} is not between 0 and {}", x.len())))?;
            if core::mem::replace(slot, T::from_count(i)) != unset {
                return Err(Status::invalid_argument(format_args!("{at} is duplicated in the input.")));
            }
        }
        c.set(0, out);
        Ok(())
    })
}

fn longer(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let length = |i: usize| c.input(i).dims.and_then(|d| d.first().copied()).filter(|&n| n >= 0);
    let size = length(0).zip(length(1)).map_or(-1, |(a, b)| a.max(b));
    Ok(alloc::vec![PartialShape::new(&[size])])
}

type Sizes = heapless::Vec<usize, RANK_MAX>;

/// The two shapes that inputs tell.
fn two_shapes(c: &Ctx<'_>) -> Result<[Sizes; 2], Status> {
    let shape = |i: usize| {
        let t = c.input(i);
        if t.shape().rank() != 1 {
            return Err(Status::invalid_argument(format_args!("In[{i}] must be a vector.{}", t.shape())));
        }
        Ok(Shape::from_i64(&ints(t)?)?.to_usize())
    };
    Ok([shape(0)?, shape(1)?])
}

fn incompatible([a, b]: &[Sizes; 2]) -> Status {
    Status::invalid_argument(format_args!("Incompatible shapes: {a:?} vs. {b:?}"))
}

/// Sets output `i` to a vector of these numbers.
fn put<T: Value + Integer>(c: &mut Ctx<'_>, i: usize, numbers: &[usize]) -> Result<(), Status> {
    let mut out = c.output(i, T::DTYPE, &Shape::new(&[numbers.len()])?)?;
    out.make_mut::<T>()?.iter_mut().zip(numbers).for_each(|(o, &n)| *o = T::from_count(n));
    c.set(i, out);
    Ok(())
}

fn broadcast_args<T: Value + Integer>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let shapes = two_shapes(c)?;
        let both = broadcast_shapes(&shapes[0], &shapes[1]).map_err(|_| incompatible(&shapes))?;
        put::<T>(c, 0, &both)
    })
}

fn broadcast_gradient_args<T: Value + Integer>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let shapes = two_shapes(c)?;
        if shapes[0] == shapes[1] {
            put::<T>(c, 0, &[])?;
            return put::<T>(c, 1, &[]);
        }
        let (a, b) = gradient_axes(&shapes[0], &shapes[1]).map_err(|_| incompatible(&shapes))?;
        put::<T>(c, 0, &a)?;
        put::<T>(c, 1, &b)
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, strings, tensor};
    use crate::tensor::Tensor;

    fn v(x: &[i32]) -> Tensor {
        tensor(&[x.len()], x)
    }

    fn go(op: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]) -> Result<alloc::vec::Vec<i32>, Code> {
        let out = run(op, attrs, inputs).map_err(|e| e.code())?;
        Ok(out[0].as_slice::<i32>().unwrap().to_vec())
    }

    const BAD: Result<alloc::vec::Vec<i32>, Code> = Err(Code::InvalidArgument);

    /// Fills, zeros and ones, of strings too.
    #[test]
    fn fills() {
        assert_eq!(go("Fill", &[], &[v(&[2]), 7i32.into()]).unwrap(), [7, 7]);
        assert_eq!(go("Fill", &[], &[v(&[]), 7i32.into()]).unwrap(), [7]);
        assert_eq!(go("Fill", &[], &[v(&[-1]), 7i32.into()]), BAD);
        assert_eq!(go("Fill", &[], &[v(&[2]), v(&[1, 2])]), BAD);
        assert_eq!(run("Fill", &[], &[v(&[2]), strings(&[], &["a"])]).unwrap()[0].strings().unwrap(), ["a", "a"]);
        assert_eq!(go("ZerosLike", &[], &[v(&[3, 4])]).unwrap(), [0, 0]);
        assert_eq!(run("ZerosLike", &[], &[strings(&[1], &["a"])]).unwrap()[0].strings().unwrap(), [""]);
        assert_eq!(go("OnesLike", &[], &[v(&[3, 4])]).unwrap(), [1, 1]);
        assert!(run("OnesLike", &[], &[false.into()]).unwrap()[0].to_scalar::<bool>().unwrap());
    }

    /// Ranges up and down, of integers and floats.
    #[test]
    fn ranges() {
        let of = |start: i32, limit: i32, delta: i32| go("Range", &[], &[start.into(), limit.into(), delta.into()]);
        assert_eq!(of(1, 6, 2).unwrap(), [1, 3, 5]);
        assert_eq!(of(5, 0, -2).unwrap(), [5, 3, 1]);
        assert_eq!(of(3, 3, 1).unwrap(), []);
        assert_eq!([of(0, 5, 0), of(0, 5, -1), of(5, 0, 1)], [BAD, BAD, BAD]);
        let f = run("Range", &[], &[0.0f32.into(), 1.0f32.into(), 0.25f32.into()]).unwrap();
        assert_eq!(f[0].as_slice::<f32>().unwrap(), [0.0, 0.25, 0.5, 0.75]);
        assert_eq!(go("Range", &[], &[0i32.into(), v(&[1, 2]), 1i32.into()]), BAD);
        let nan = run("Range", &[], &[0.0f32.into(), f32::NAN.into(), 1.0f32.into()]);
        assert_eq!(nan.unwrap_err().code(), Code::InvalidArgument);
    }

    /// One-hot rows and columns; coordinates of what is not zero.
    #[test]
    fn hot() {
        let hot = |axis: i64, depth: Tensor| {
            go("OneHot", &[("axis", axis.into())], &[tensor(&[2], &[1i64, 5]), depth, 1i32.into(), 0i32.into()])
        };
        assert_eq!(hot(-1, 3i32.into()).unwrap(), [0, 1, 0, 0, 0, 0]);
        assert_eq!(hot(0, 3i32.into()).unwrap(), [0, 0, 1, 0, 0, 0]);
        assert_eq!([hot(5, 3i32.into()), hot(-1, (-1i32).into()), hot(-1, v(&[3]))], [BAD, BAD, BAD]);
        let out = run("Where", &[], &[tensor(&[2, 2], &[0.0f32, f32::NAN, 1.0, 0.0])]).unwrap();
        assert_eq!(out[0].as_slice::<i64>().unwrap(), [0, 1, 1, 0]);
        assert_eq!(run("Where", &[], &[true.into()]).unwrap_err().code(), Code::InvalidArgument);
    }

    /// Permutations, and what broadcasting says of two shapes.
    #[test]
    fn shapes() {
        assert_eq!(go("InvertPermutation", &[], &[v(&[2, 0, 1])]).unwrap(), [1, 2, 0]);
        assert_eq!(go("InvertPermutation", &[], &[v(&[0, 0])]), BAD);
        assert_eq!(go("InvertPermutation", &[], &[v(&[0, 5])]), BAD);
        assert_eq!(go("BroadcastArgs", &[], &[v(&[2, 1]), v(&[3])]).unwrap(), [2, 3]);
        assert_eq!(go("BroadcastArgs", &[], &[v(&[2, 3]), v(&[4])]), BAD);
        let axes = |a: &[i32], b: &[i32]| {
            let out = run("BroadcastGradientArgs", &[], &[v(a), v(b)]).unwrap();
            [0, 1].map(|i| out[i].as_slice::<i32>().unwrap().to_vec())
        };
        assert_eq!(axes(&[2, 1, 3], &[1, 3]), [alloc::vec![1], alloc::vec![0, 1]]);
        assert_eq!(axes(&[2, 1], &[2, 1]), [alloc::vec![], alloc::vec![]]);
        assert_eq!(axes(&[], &[1, 2]), [alloc::vec![0, 1], alloc::vec![0]]);
    }
}
