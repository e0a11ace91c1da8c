//! Reductions along axes, indices of extremes, running sums.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dispatch::*;
use super::elementwise::fill;
use super::shape::{self, ShapeContext};
use super::shapes::{Ints, ints};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::element::Integer;
use crate::kernels::error::Result as KernelResult;
use crate::kernels::reduce::{self as k, Fold, Reduction};
use crate::kernels::scan::Scan;
use crate::kernels::{arg, dims};
use crate::tensor::{RANK_MAX, Shape, Tensor};

/// This family.
pub static OPS: &[&Op] =
    &[&SUM, &PROD, &MEAN, &MAX, &MIN, &ALL, &ANY, &EUCLIDEAN_NORM, &ARG_MAX, &ARG_MIN, &CUMSUM, &CUMPROD, &L2_LOSS];

const NUMBER: &str = "keep_dims: bool = false; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, \
    quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tidx: {int32, int64} = int32";
const REAL: &str = "keep_dims: bool = false; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, \
    uint32, uint64, qint8, quint8, qint32, qint16, quint16}; Tidx: {int32, int64} = int32";

macro_rules! reductions {
    ($($id:ident = $name:ident($attrs:expr), $set:ident;)*) => {
        $(static $id: Op = Op::new(stringify!($name), "input: T, reduction_indices: Tidx -> output: T", $attrs)
            .shape(reduced_shape)
            .kernel(&[("T", $set), ("Tidx", INDICES)], |node| {
                dispatch!(node, "T", $set T => reduce::<k::$name, T>(node))
            });)*
    };
}
reductions! {
    SUM = Sum(NUMBER), NUMBERS;
    PROD = Prod(NUMBER), NUMBERS;
    MEAN = Mean(NUMBER), NUMBERS;
    MAX = Max(REAL), REALS;
    MIN = Min(REAL), REALS;
}

static EUCLIDEAN_NORM: Op = Op::new("EuclideanNorm", "input: T, reduction_indices: Tidx -> output: T", NUMBER)
    .shape(reduced_shape)
    .kernel(&[("T", NUMBERS), ("Tidx", INDICES)], |node| {
        dispatch!(
            node, "T",
            FLOATS T => reduce::<k::EuclideanNorm, T>(node),
            INTEGERS T => reduce::<NormOfIntegers, T>(node),
            COMPLEX T => reduce::<k::EuclideanNormComplex, T>(node),
        )
    });

/// Root of the sum of squares, which wraps in the integer's own type as TensorFlow's does.
struct NormOfIntegers;
impl<T: Integer> Fold<T> for NormOfIntegers {
    type Acc = T;
    type Out = T;
    fn start() -> T {
        T::ZERO
    }
    fn step(sum: T, x: T) -> T {
        sum.plus(x.times(x))
    }
    fn merge(a: T, b: T) -> T {
        a.plus(b)
    }
    fn finish(sum: T, _: usize) -> T {
        T::from_f64(crate::kernels::element::Elementary::sqrt(sum.to_f64()))
    }
}

const BOOL_ATTRS: &str = "keep_dims: bool = false; Tidx: {int32, int64} = int32";
static ALL: Op = Op::new("All", "input: bool, reduction_indices: Tidx -> output: bool", BOOL_ATTRS)
    .shape(reduced_shape)
    .kernel(&[("Tidx", INDICES)], reduce::<k::All, bool>);
static ANY: Op = Op::new("Any", "input: bool, reduction_indices: Tidx -> output: bool", BOOL_ATTRS)
    .shape(reduced_shape)
    .kernel(&[("Tidx", INDICES)], reduce::<k::Any, bool>);

static ARG_MAX: Op = Op::new(
    "ArgMax",
    "input: T, dimension: Tidx -> output: output_type",
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, \
        qint16, quint16, bool}; Tidx: {int16, int32, int64} = int32; output_type: {int16, uint16, int32, int64} = int64",
)
.shape(arg_shape)
.kernel(&[("T", ORDERED), ("output_type", ARG_OUTPUTS)], |node| {
    dispatch!(node, "output_type", ARG_OUTPUTS I => dispatch!(
        node, "T",
        REALS T => arg_of::<T, I>(arg::arg_max),
        BOOL T => arg_of::<T, I>(arg_bool::<true, I>),
    ))
});
static ARG_MIN: Op = Op::new(
    "ArgMin",
    "input: T, dimension: Tidx -> output: output_type",
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, \
        qint16, quint16, bool}; Tidx: {int32, int64} = int32; output_type: {int32, int64} = int64",
)
.shape(arg_shape)
.kernel(&[("T", ORDERED), ("output_type", INDICES)], |node| {
    dispatch!(node, "output_type", INDICES I => dispatch!(
        node, "T",
        REALS T => arg_of::<T, I>(arg::arg_min),
        BOOL T => arg_of::<T, I>(arg_bool::<false, I>),
    ))
});

const SCAN: &str = "exclusive: bool = false; reverse: bool = false; T: {float, double, int32, uint8, int16, int8, \
    complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; \
    Tidx: {int32, int64} = int32";
static CUMSUM: Op = Op::new("Cumsum", "x: T, axis: Tidx -> out: T", SCAN)
    .shape(shape::unchanged)
    .kernel(&[("T", NUMBERS), ("Tidx", INDICES)], |node| dispatch!(node, "T", NUMBERS T => scan::<T>(node, Scan::sum)));
static CUMPROD: Op = Op::new("Cumprod", "x: T, axis: Tidx -> out: T", SCAN).shape(shape::unchanged).kernel(
    &[("T", NUMBERS), ("Tidx", INDICES)],
    |node| dispatch!(node, "T", NUMBERS T => scan::<T>(node, Scan::product)),
);
static L2_LOSS: Op = Op::new("L2Loss", "t: T -> output: T", "T: {half, bfloat16, float, double}")
    .shape(shape::scalar)
    .kernel(&[("T", FLOATS)], |node| dispatch!(node, "T", FLOATS T => l2_loss::<T>()));

/// Which of `rank` dimensions are reduced.
fn mask(axes: &[i64], rank: usize) -> Result<[bool; RANK_MAX], Status> {
    let mut mask = [false; RANK_MAX];
    if rank > RANK_MAX {
        return Err(Status::invalid_argument(format_args!("rank {rank} exceeds the supported maximum of {RANK_MAX}")));
    }
    for &axis in axes {
        let at = dims::axis(axis, rank).map_err(|_| {
            Status::invalid_argument(format_args!(
                "Invalid reduction dimension ({axis} for input with {rank} dimension(s)"
            ))
        })?;
        if core::mem::replace(&mut mask[at], true) {
            return Err(Status::invalid_argument(format_args!(
                "Invalid reduction arguments: Axes contains duplicate dimension: {at}"
            )));
        }
    }
    Ok(mask)
}

fn reduced_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let keep = c.node.attrs.bool("keep_dims")?;
    let (Some(dims), Some(axes)) = (c.input(0).dims, c.constant(1)) else {
        let kept = c.input(0).dims.filter(|_| keep).map(|d| alloc::vec![-1; d.len()]);
        return Ok(alloc::vec![PartialShape { dims: kept }]);
    };
    let mask = mask(&axes, dims.len())?;
    let sizes = dims.iter().zip(mask).filter(|&(_, reduced)| keep || !reduced);
    Ok(alloc::vec![PartialShape { dims: Some(sizes.map(|(&d, reduced)| if reduced { 1 } else { d }).collect()) }])
}

fn reduce<F: Fold<T, Out = T>, T: Value>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let keep = node.attrs().bool("keep_dims")?;
    kernel(move |c: &mut Ctx<'_>| {
        let axes: Ints = ints(c.input(1))?;
        let shape = c.input(0).shape();
        let plan = Reduction::masked(&shape.to_usize(), &mask(&axes, shape.rank())?[..shape.rank()])?;
        let mut out = c.output(0, T::DTYPE, &Shape::new(&plan.output(keep))?)?;
        let x = c.input(0).as_slice::<T>()?;
        let cycles = plan.group();
        fill(c, &mut out, cycles, &|first, chunk: &mut [T]| plan.run_part::<F, T>(x, first, chunk))?;
        c.set(0, out);
        Ok(())
    })
}

/// The one axis of input 1.
fn axis_of(t: &Tensor, rank: usize) -> Result<usize, Status> {
    if t.shape().rank() != 0 {
        return Err(Status::invalid_argument(format_args!(
            "dim must be a scalar, but received tensor of shape: {}",
            t.shape()
        )));
    }
    super::shapes::axis(super::shapes::int(t)?, rank)
}

fn arg_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(mut dims) = c.input(0).dims else { return shape::unknown(c) };
    match c.constant(1).as_deref() {
        Some(&[axis]) => {
            dims.remove(super::shapes::axis(axis, dims.len())?);
        }
        _ => dims = alloc::vec![-1; dims.len().saturating_sub(1)],
    }
    Ok(alloc::vec![PartialShape { dims: Some(dims) }])
}

type Arg<T, I> = fn(&[T], &[usize], usize, &mut [I]) -> KernelResult<()>;

fn arg_of<T: Value, I: Value + Integer>(run: Arg<T, I>) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let x = c.input(0);
        let mut dims = x.shape().to_usize();
        let axis = axis_of(c.input(1), dims.len())?;
        if dims[axis] == 0 {
            return Err(Status::invalid_argument(format_args!(
                "Reduction axis {axis} is empty in shape {}",
                x.shape()
            )));
        }
        dims.remove(axis);
        let mut out = c.output(0, I::DTYPE, &Shape::new(&dims)?)?;
        let x = c.input(0);
        run(x.as_slice()?, &x.shape().to_usize(), axis, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

/// The first place of `WANTED` along the axis, or 0.
fn arg_bool<const WANTED: bool, I: Integer>(
    x: &[bool],
    dims: &[usize],
    axis: usize,
    out: &mut [I],
) -> KernelResult<()> {
    let (_, n, inner) = dims::around(dims, axis)?;
    for (i, o) in out.iter_mut().enumerate() {
        let start = i / inner.max(1) * n * inner + i % inner.max(1);
        let found = (0..n).position(|k| x.get(start + k * inner) == Some(&WANTED));
        *o = I::from_i64(found.unwrap_or(0) as i64);
    }
    Ok(())
}

fn scan<T: Value + crate::kernels::element::Number>(
    node: &NodeContext<'_>,
    run: fn(&Scan, &[T], &mut [T]) -> KernelResult<()>,
) -> Result<Box<dyn Kernel>, Status> {
    let (exclusive, reverse) = (node.attrs().bool("exclusive")?, node.attrs().bool("reverse")?);
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let axis = c.input(1);
        if axis.shape().rank() != 0 {
            return Err(Status::invalid_argument(format_args!("ScanOp: axis must be a scalar, not {}", axis.shape())));
        }
        let (axis, rank) = (super::shapes::int(axis)?, shape.rank());
        let at = dims::axis(axis, rank).map_err(|_| {
            Status::invalid_argument(format_args!(
                "ScanOp: Expected scan axis in the range [-{rank}, {rank}), but got {axis}"
            ))
        })?;
        let (_, n, inner) = dims::around(&shape.to_usize(), at)?;
        let mut out = c.output(0, T::DTYPE, &shape)?;
        run(&Scan { n, inner, exclusive, reverse }, c.input(0).as_slice()?, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

fn l2_loss<T: Value + crate::kernels::element::Float>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let x = c.input(0).as_slice::<T>()?;
        let sum = k::fold::<k::HalfSumOfSquares, T>(x);
        let half = <k::HalfSumOfSquares as Fold<T>>::finish(sum, x.len());
        c.set_scalar(0, half);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, tensor};
    use crate::tensor::{DType, Tensor};

    fn axes(axes: &[i32]) -> Tensor {
        tensor(&[axes.len()], axes)
    }

    /// Every reduction along rows, columns, all and none, with and without keeping dimensions.
    #[test]
    fn reductions() {
        let x = tensor(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let cases: &[(&str, &[i32], &[f32])] = &[
            ("Sum", &[0], &[5.0, 7.0, 9.0]),
            ("Sum", &[-1], &[6.0, 15.0]),
            ("Prod", &[1], &[6.0, 120.0]),
            ("Mean", &[0, 1], &[3.5]),
            ("Max", &[0], &[4.0, 5.0, 6.0]),
            ("Min", &[1], &[1.0, 4.0]),
            ("EuclideanNorm", &[], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            ("Sum", &[], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ];
        for (op, along, want) in cases {
            for keep in [false, true] {
                let out = run(op, &[("keep_dims", keep.into())], &[x.clone(), axes(along)]).unwrap();
                assert_eq!(out[0].as_slice::<f32>().unwrap(), *want, "{op}");
                assert_eq!(out[0].shape().rank(), if keep { 2 } else { 2 - along.len() });
            }
        }
        let scalar = run("Sum", &[], &[x.clone(), 0i32.into()]).unwrap();
        assert_eq!(scalar[0].as_slice::<f32>().unwrap(), [5.0, 7.0, 9.0]);
        let b = tensor(&[2, 2], &[true, false, true, true]);
        assert_eq!(run("All", &[], &[b.clone(), axes(&[0])]).unwrap()[0].as_slice::<bool>().unwrap(), [true, false]);
        assert_eq!(run("Any", &[], &[b, axes(&[1])]).unwrap()[0].as_slice::<bool>().unwrap(), [true, true]);
        for bad in [&[7][..], &[0, 0], &[0, -2]] {
            assert_eq!(run("Mean", &[], &[x.clone(), axes(bad)]).unwrap_err().code(), Code::InvalidArgument);
        }
    }

    /// Indices of extremes, of numbers and truth values, in any output type.
    #[test]
    fn arguments() {
        let x = tensor(&[2, 3], &[3i32, 9, 9, 5, 4, 4]);
        let small = [("output_type", AttrValue::from(DType::Uint16))];
        assert_eq!(run("ArgMax", &small, &[x.clone(), 1i32.into()]).unwrap()[0].as_slice::<u16>().unwrap(), [1, 0]);
        assert_eq!(run("ArgMin", &[], &[x.clone(), 0i64.into()]).unwrap()[0].as_slice::<i64>().unwrap(), [0, 1, 1]);
        let b = tensor(&[4], &[false, true, false, true]);
        assert_eq!(run("ArgMax", &[], &[b.clone(), 0i32.into()]).unwrap()[0].to_scalar::<i64>().unwrap(), 1);
        assert_eq!(run("ArgMin", &[], &[b, 0i32.into()]).unwrap()[0].to_scalar::<i64>().unwrap(), 0);
        let code = |x: Tensor, axis: Tensor| run("ArgMax", &[], &[x, axis]).unwrap_err().code();
        assert_eq!(code(x.clone(), 7i32.into()), Code::InvalidArgument);
        assert_eq!(code(x, axes(&[1])), Code::InvalidArgument);
        assert_eq!(code(tensor::<f32>(&[2, 0], &[]), 1i32.into()), Code::InvalidArgument);
    }

    /// Running sums and products, and half the sum of squares.
    #[test]
    fn scans() {
        let x = tensor(&[3], &[1i32, 2, 3]);
        let attrs = [("exclusive", AttrValue::from(true)), ("reverse", AttrValue::from(true))];
        let go = |op: &str, attrs: &[(&str, AttrValue)]| {
            run(op, attrs, &[x.clone(), 0i32.into()]).unwrap()[0].as_slice::<i32>().unwrap().to_vec()
        };
        assert_eq!(go("Cumsum", &[]), [1, 3, 6]);
        assert_eq!(go("Cumsum", &attrs), [5, 3, 0]);
        assert_eq!(go("Cumprod", &[]), [1, 2, 6]);
        assert_eq!(run("Cumsum", &[], &[x, 1i32.into()]).unwrap_err().code(), Code::InvalidArgument);
        assert_eq!(run("L2Loss", &[], &[tensor(&[2], &[3.0f32, 4.0])]).unwrap()[0].to_scalar::<f32>().unwrap(), 12.5);
    }
}
