//! Ops about shapes: what a shape is, and the same elements under another one. None of them copies elements.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dispatch::*;
use super::shape::ShapeContext;
use super::{Ctx, Kernel, NodeContext, Op, kernel, shape};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::dims;
use crate::tensor::{DType, RANK_MAX, Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[&SHAPE, &SHAPE_N, &SIZE, &RANK, &RESHAPE, &EXPAND_DIMS, &SQUEEZE];

static SHAPE: Op = Op::new("Shape", "input: T -> output: out_type", "T: type; out_type: {int32, int64} = int32")
    .shape(|c| Ok(alloc::vec![vector_of_rank(&c.input(0))]))
    .kernel(&[("out_type", INDICES)], shapes);
static SHAPE_N: Op =
    Op::new("ShapeN", "input: N * T -> output: N * out_type", "N: int >= 1; T: type; out_type: {int32, int64} = int32")
        .shape(|c| Ok(c.inputs.iter().map(vector_of_rank).collect()))
        .kernel(&[("out_type", INDICES)], shapes);
static SIZE: Op = Op::new("Size", "input: T -> output: out_type", "T: type; out_type: {int32, int64} = int32")
    .shape(shape::scalar)
    .kernel(&[("out_type", INDICES)], |node| {
        let dtype = node.dtype("out_type")?;
        kernel(move |c: &mut Ctx<'_>| {
            let n = c.input(0).num_elements();
            put_int(c, dtype, n)
        })
    });
static RANK: Op = Op::new("Rank", "input: T -> output: int32", "T: type").shape(shape::scalar).kernel(&[], |_| {
    kernel(|c: &mut Ctx<'_>| {
        let rank = c.input(0).shape().rank();
        put_int(c, DType::Int32, rank)
    })
});
static RESHAPE: Op =
    Op::new("Reshape", "tensor: T, shape: Tshape -> output: T", "T: type; Tshape: {int32, int64} = int32")
        .shape(reshaped)
        .kernel(&[("Tshape", INDICES)], reshape);
static EXPAND_DIMS: Op =
    Op::new("ExpandDims", "input: T, dim: Tdim -> output: T", "T: type; Tdim: {int32, int64} = int32")
        .shape(expanded)
        .kernel(&[("Tdim", INDICES)], expand_dims);
static SQUEEZE: Op = Op::new("Squeeze", "input: T -> output: T", "T: type; squeeze_dims: list(int) >= 0 = []")
    .shape(squeezed)
    .kernel(&[], squeeze);

/// At most this many numbers are read from an input that tells shapes or axes.
pub(super) const NUMBERS_MAX: usize = 32;
/// A short list of integers.
pub(super) type Ints = heapless::Vec<i64, NUMBERS_MAX>;

/// The integers of an input that tells a shape, axes, or the like, of any integer dtype.
///
/// # Errors
/// INVALID_ARGUMENT for another dtype or more than any shape has.
pub(super) fn ints(t: &Tensor) -> Result<Ints, Status> {
    let too_many =
        || Status::invalid_argument(format_args!("{} numbers where a shape has at most {RANK_MAX}", t.num_elements()));
    if t.num_elements() > NUMBERS_MAX {
        return Err(too_many());
    }
    Ok(match t.dtype() {
        DType::Int8 => t.as_slice::<i8>()?.iter().map(|&x| i64::from(x)).collect(),
        DType::Int16 => t.as_slice::<i16>()?.iter().map(|&x| i64::from(x)).collect(),
        DType::Int32 => t.as_slice::<i32>()?.iter().map(|&x| i64::from(x)).collect(),
        _ => t.as_slice::<i64>()?.iter().copied().collect(),
    })
}

/// The only integer of an input.
pub(super) fn int(t: &Tensor) -> Result<i64, Status> {
    match ints(t)?[..] {
        [value] => Ok(value),
        _ => Err(Status::invalid_argument(format_args!("expected a scalar, got shape {}", t.shape()))),
    }
}

/// The integer of an input that has to be a scalar.
pub(super) fn scalar_int(t: &Tensor, name: &str) -> Result<i64, Status> {
    match t.shape().rank() {
        0 => int(t),
        rank => Err(Status::invalid_argument(format_args!("{name} must be a scalar but has rank {rank}"))),
    }
}

/// The shape that a vector tells.
///
/// # Errors
/// INVALID_ARGUMENT for anything but a vector, and for a negative or too large dimension.
pub(super) fn shape_from(t: &Tensor) -> Result<Shape, Status> {
    if t.shape().rank() != 1 {
        return Err(Status::invalid_argument(format_args!("shape must be a vector, got shape {}", t.shape())));
    }
    Ok(Shape::from_i64(&ints(t)?)?)
}

/// What is known of a shape that input `i` tells.
pub(super) fn constant_shape(c: &ShapeContext<'_>, i: usize) -> PartialShape {
    match c.constant(i) {
        Some(dims) => PartialShape { dims: Some(dims) },
        None => match c.input(i).dims.as_deref() {
            Some(&[rank]) => match usize::try_from(rank) {
                Ok(rank) if rank <= RANK_MAX => PartialShape::new(&[-1; RANK_MAX][..rank]),
                _ => PartialShape::unknown(),
            },
            _ => PartialShape::unknown(),
        },
    }
}

/// `axis` in `[-rank, rank)` as an index from the front.
///
/// # Errors
/// INVALID_ARGUMENT saying the range.
pub(super) fn axis(axis: i64, rank: usize) -> Result<usize, Status> {
    dims::axis(axis, rank).map_err(|_| {
        Status::invalid_argument(format_args!("Expected dimension in the range [-{rank}, {rank}), but got {axis}"))
    })
}

/// Sets output `i` to the dimensions of `shape`.
pub(super) fn put_shape(c: &mut Ctx<'_>, i: usize, dtype: DType, shape: &Shape) -> Result<(), Status> {
    let mut out = c.output(i, dtype, &Shape::new(&[shape.rank()])?)?;
    if dtype == DType::Int64 {
        out.make_mut::<i64>()?.iter_mut().zip(shape.dims()).for_each(|(o, &d)| *o = i64::from(d));
    } else {
        for (o, &d) in out.make_mut::<i32>()?.iter_mut().zip(shape.dims()) {
            *o = i32::try_from(d).map_err(|_| too_large(u64::from(d)))?;
        }
    }
    c.set(i, out);
    Ok(())
}

#[cold]
fn too_large(n: u64) -> Status {
    Status::invalid_argument(format_args!("{n} does not fit int32; ask for int64"))
}

fn put_int(c: &mut Ctx<'_>, dtype: DType, n: usize) -> Result<(), Status> {
    if dtype == DType::Int64 {
        c.set_scalar(0, n as i64);
    } else {
        c.set_scalar(0, i32::try_from(n).map_err(|_| too_large(n as u64))?);
    }
    Ok(())
}

fn vector_of_rank(shape: &PartialShape) -> PartialShape {
    PartialShape::new(&[shape.rank().map_or(-1, |rank| rank as i64)])
}

fn shapes(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("out_type")?;
    kernel(move |c: &mut Ctx<'_>| {
        for i in 0..c.num_inputs() {
            let shape = c.input(i).shape().clone();
            put_shape(c, i, dtype, &shape)?;
        }
        Ok(())
    })
}

/// Hands input 0 on under another shape.
fn view(c: &mut Ctx<'_>, shape: Shape) -> Result<(), Status> {
    let value = match c.forward(0, 0) {
        Some(mut value) => {
            value.set_shape(shape)?;
            value
        }
        None => c.input(0).reshaped(shape)?,
    };
    c.set(0, value);
    Ok(())
}

/// The shape that `wanted`, in which one −1 stands for what remains, gives to the elements of `old`.
fn resolve(wanted: &[i64], old: &Shape) -> Result<Shape, Status> {
    let count = old.num_elements();
    let invalid = |text: core::fmt::Arguments<'_>| Status::invalid_argument(text);
    let mut product = 1i64;
    let mut unknown = None;
    for (i, &d) in wanted.iter().enumerate() {
        match d {
            -1 if unknown.is_some() => return Err(invalid(format_args!("Only one input size may be -1, not both"))),
            -1 => unknown = Some(i),
            ..0 => return Err(invalid(format_args!("Size {i} must be non-negative, not {d}"))),
            _ => product = product.checked_mul(d).ok_or_else(|| invalid(format_args!("the shape is too large")))?,
        }
    }
    let mut dims = [0i64; NUMBERS_MAX];
    let dims = dims.get_mut(..wanted.len()).ok_or_else(|| invalid(format_args!("the rank is too large")))?;
    dims.copy_from_slice(wanted);
    let count = count as i64;
    if let Some(i) = unknown {
        if product == 0 && count == 0 {
            // Any size would do; TensorFlow divides as if the zeros on both sides were ones.
            let times = |n: i64, d: i64| n.checked_mul(d.max(1));
            let elements = old.dims().iter().try_fold(1, |n, &d| times(n, i64::from(d)));
            let others = wanted.iter().try_fold(1, |n, &d| times(n, d));
            let (Some(elements), Some(others)) = (elements, others) else {
                return Err(invalid(format_args!("the shape is too large")));
            };
            dims[i] = elements / others;
        } else if product == 0 || count % product != 0 {
            return Err(invalid(format_args!(
                "Input to reshape is a tensor with {count} values, but the requested shape requires a multiple of {product}"
            )));
        } else {
            dims[i] = count / product;
            product = count;
        }
    }
    if product != count {
        return Err(invalid(format_args!(
            "Input to reshape is a tensor with {count} values, but the requested shape has {product}"
        )));
    }
    Ok(Shape::from_i64(dims)?)
}

fn reshape(_: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let sizes = c.input(1);
        if sizes.shape().rank() > 1 {
            return Err(Status::invalid_argument(format_args!("sizes input must be 1-D, not {}", sizes.shape())));
        }
        let shape = resolve(&ints(sizes)?, c.input(0).shape())?;
        view(c, shape)
    })
}

fn reshaped(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let mut shape = constant_shape(c, 1);
    if let Some(dims) = &mut shape.dims
        && c.constant(1).is_some()
    {
        let known = c.input(0).dims.filter(|d| d.iter().all(|&d| d >= 0));
        let count = known.and_then(|d| d.iter().try_fold(1i64, |n, &d| n.checked_mul(d)));
        if let (Some(count), 1) = (count, dims.iter().filter(|&&d| d == -1).count()) {
            let rest = dims.iter().filter(|&&d| d != -1).try_fold(1i64, |n, &d| n.checked_mul(d));
            let fill = rest.filter(|&r| r != 0).map_or(-1, |r| count / r);
            dims.iter_mut().filter(|d| **d == -1).for_each(|d| *d = fill);
        }
    }
    Ok(alloc::vec![shape])
}

fn expand_dims(_: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let at = int(c.input(1))?;
        let mut dims = c.input(0).shape().to_usize();
        let at = axis(at, dims.len() + 1).map_err(|_| {
            let rank = dims.len();
            Status::invalid_argument(format_args!("Tried to expand dim index {at} for tensor with {rank} dimensions."))
        })?;
        dims.insert(at, 1).map_err(|_| Status::invalid_argument(format_args!("the rank would exceed {RANK_MAX}")))?;
        let shape = Shape::new(&dims)?;
        view(c, shape)
    })
}

fn expanded(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(mut dims) = c.input(0).dims else { return shape::unknown(c) };
    match c.constant(1).as_deref() {
        Some(&[at]) => dims.insert(axis(at, dims.len() + 1)?, 1),
        _ => dims = alloc::vec![-1; dims.len() + 1],
    }
    Ok(alloc::vec![PartialShape { dims: Some(dims) }])
}

fn squeeze(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let wanted = node.attrs().ints("squeeze_dims")?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape();
        let rank = shape.rank();
        let mut dropped = [false; RANK_MAX];
        for &at in &wanted {
            let at = axis(at, rank).map_err(|_| {
                Status::invalid_argument(format_args!(
                    "Tried to squeeze dim index {at} for tensor with {rank} dimensions."
                ))
            })?;
            if shape.dim(at) != 1 {
                return Err(Status::invalid_argument(format_args!(
                    "Can not squeeze dim[{at}], expected a dimension of 1, got {}",
                    shape.dim(at)
                )));
            }
            dropped[at] = true;
        }
        let kept = (0..rank).filter(|&i| if wanted.is_empty() { shape.dim(i) != 1 } else { !dropped[i] });
        let dims: heapless::Vec<usize, RANK_MAX> = kept.map(|i| shape.dim(i)).collect();
        let shape = Shape::new(&dims)?;
        view(c, shape)
    })
}

fn squeezed(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let (Some(dims), wanted) = (c.input(0).dims, c.node.attrs.ints("squeeze_dims")?) else { return shape::unknown(c) };
    if wanted.is_empty() && dims.contains(&-1) {
        return shape::unknown(c);
    }
    let wanted = wanted.into_iter().map(|at| axis(at, dims.len())).collect::<Result<Vec<_>, _>>()?;
    let kept = dims.iter().enumerate().filter(|&(i, &d)| if wanted.is_empty() { d != 1 } else { !wanted.contains(&i) });
    Ok(alloc::vec![PartialShape { dims: Some(kept.map(|(_, &d)| d).collect()) }])
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, tensor};

    fn shape_of(
        op: &str,
        attrs: &[(&str, AttrValue)],
        dims: &[usize],
        with: &[i32],
    ) -> Result<alloc::vec::Vec<u32>, Code> {
        let x = tensor(dims, &alloc::vec![1.0f32; dims.iter().product()]);
        let mut inputs = alloc::vec![x];
        match op {
            "Reshape" => inputs.push(tensor(&[with.len()], with)),
            "ExpandDims" => inputs.push(with[0].into()),
            _ => {}
        }
        let out = run(op, attrs, &inputs).map_err(|e| e.code())?;
        Ok(out[0].shape().dims().to_vec())
    }

    /// Views: every form, and what is refused.
    #[test]
    fn views() {
        let bad = Err(Code::InvalidArgument);
        let cases: &[(&str, &[usize], &[i32], Result<&[u32], Code>)] = &[
            ("Reshape", &[2, 3], &[3, -1], Ok(&[3, 2])),
            ("Reshape", &[2, 3], &[6], Ok(&[6])),
            ("Reshape", &[1], &[], Ok(&[])),
            ("Reshape", &[0, 3], &[-1, 3], Ok(&[0, 3])),
            ("Reshape", &[0, 3], &[-1, 0], Ok(&[3, 0])),
            ("Reshape", &[0], &[0, i32::MAX, i32::MAX, i32::MAX, -1], Err(Code::InvalidArgument)),
            ("Reshape", &[2, 3], &[4, -1], Err(Code::InvalidArgument)),
            ("Reshape", &[2, 3], &[-1, -1], Err(Code::InvalidArgument)),
            ("Reshape", &[2, 3], &[7], Err(Code::InvalidArgument)),
            ("Reshape", &[2, 3], &[-2, -3], Err(Code::InvalidArgument)),
            ("ExpandDims", &[2, 3], &[-1], Ok(&[2, 3, 1])),
            ("ExpandDims", &[2, 3], &[0], Ok(&[1, 2, 3])),
            ("ExpandDims", &[2, 3], &[3], Err(Code::InvalidArgument)),
            ("Squeeze", &[1, 2, 1], &[], Ok(&[2])),
        ];
        for (op, dims, with, want) in cases {
            let got = shape_of(op, &[], dims, with);
            assert_eq!(
                got.as_deref().map_err(|&c| c),
                want.as_ref().copied().map_err(|&c| c),
                "{op} {dims:?} {with:?}"
            );
        }
        let dims = |d: &[i64]| [("squeeze_dims", AttrValue::from(d.to_vec()))];
        assert_eq!(shape_of("Squeeze", &dims(&[-1]), &[1, 2, 1], &[]).unwrap(), [1, 2]);
        assert_eq!(shape_of("Squeeze", &dims(&[1]), &[1, 2, 1], &[]), bad);
    }

    /// Shape, ShapeN, Size and Rank.
    #[test]
    fn questions() {
        let x = tensor(&[2, 3], &[0u8; 6]);
        assert_eq!(run("Shape", &[], &[x.clone()]).unwrap()[0].as_slice::<i32>().unwrap(), [2, 3]);
        let long = [("out_type", crate::tensor::DType::Int64.into())];
        let out = run("ShapeN", &long, &[x.clone(), tensor(&[], &[0u8])]).unwrap();
        assert_eq!((out[0].as_slice::<i64>().unwrap(), out[1].num_elements()), (&[2i64, 3][..], 0));
        assert_eq!(run("Size", &long, &[x.clone()]).unwrap()[0].to_scalar::<i64>().unwrap(), 6);
        assert_eq!(run("Rank", &[], &[x]).unwrap()[0].to_scalar::<i32>().unwrap(), 2);
    }
}
