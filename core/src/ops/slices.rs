//! Boxes cut out of a tensor: `Slice`, `StridedSlice` and its gradient.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::carry::{Carried, carried};
use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::shapes::{Ints, constant_shape, ints, shape_from};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::{Attrs, PartialShape};
use crate::kernels::error::Error;
use crate::kernels::movement::slice::{Masks, Strided, slice};
use crate::tensor::{DType, RANK_MAX, Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[&SLICE, &STRIDED_SLICE, &STRIDED_SLICE_GRAD];

static SLICE: Op =
    Op::new("Slice", "input: T, begin: Index, size: Index -> output: T", "T: type; Index: {int32, int64}")
        .shape(slice_shape)
        .kernel(&[("Index", INDICES)], |node| carried!(node, "T", C => sliced::<C>(node)));

macro_rules! masks {
    ($index:literal) => {
        concat!(
            "T: type; Index: {",
            $index,
            "}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; \
             new_axis_mask: int = 0; shrink_axis_mask: int = 0"
        )
    };
}
static STRIDED_SLICE: Op = Op::new(
    "StridedSlice",
    "input: T, begin: Index, end: Index, strides: Index -> output: T",
    masks!("int16, int32, int64"),
)
.shape(strided_shape)
.kernel(&[("Index", GATHER_INDICES)], |node| carried!(node, "T", C => strided::<C>(node)));
static STRIDED_SLICE_GRAD: Op = Op::new(
    "StridedSliceGrad",
    "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T",
    masks!("int32, int64"),
)
.shape(|c| Ok(alloc::vec![constant_shape(c, 0)]))
.kernel(&[("Index", INDICES)], |node| carried!(node, "T", C => strided_gradient::<C>(node)));

type Sizes = heapless::Vec<usize, RANK_MAX>;

/// Where a slice begins and its sizes, −1 standing for all that is left.
fn bounds(x: &Shape, begin: &Tensor, size: &Tensor) -> Result<(Sizes, Sizes), Status> {
    let rank = x.rank();
    let vectors = [begin, size].iter().all(|t| t.shape().rank() == 1 && t.num_elements() == rank);
    if !vectors {
        return Err(Status::invalid_argument(format_args!(
            "Expected begin and size arguments to be 1-D tensors of size {rank}, but got shapes {} and {} instead.",
            begin.shape(),
            size.shape()
        )));
    }
    let (mut from, mut sizes) = (Sizes::new(), Sizes::new());
    for (i, (b, s)) in ints(begin)?.into_iter().zip(ints(size)?).enumerate() {
        let dim = x.dim(i);
        let wrong = |what: &str, most: usize, got: i64| {
            Status::invalid_argument(format_args!("Expected {what}[{i}] in [0, {most}], but got {got}"))
        };
        let b = usize::try_from(b).ok().filter(|&b| b <= dim).ok_or_else(|| wrong("begin", dim, b))?;
        let left = dim - b;
        let s = if s == -1 {
            left
        } else {
            usize::try_from(s).ok().filter(|&s| s <= left).ok_or_else(|| wrong("size", left, s))?
        };
        // The rank is at most what fits.
        let _ = (from.push(b), sizes.push(s));
    }
    Ok((from, sizes))
}

fn slice_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(dims) = c.input(0).dims else { return Ok(alloc::vec![constant_shape_of_rank(c)]) };
    let sizes = match (c.constant(1), c.constant(2)) {
        (begin, Some(size)) if size.len() == dims.len() => size
            .iter()
            .enumerate()
            .map(|(i, &s)| match (s, begin.as_ref().and_then(|b| b.get(i)), dims[i]) {
                (0.., ..) => s,
                (_, Some(&b), d @ 0..) => d.saturating_sub(b).max(-1),
                _ => -1,
            })
            .collect(),
        _ => alloc::vec![-1; dims.len()],
    };
    Ok(alloc::vec![PartialShape { dims: Some(sizes) }])
}

/// As many unknown dimensions as input 2 has numbers.
fn constant_shape_of_rank(c: &ShapeContext<'_>) -> PartialShape {
    let mut shape = constant_shape(c, 2);
    shape.dims.iter_mut().flatten().for_each(|d| *d = (*d).max(-1));
    shape
}

fn sliced<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let (begin, size) = bounds(&shape, c.input(1), c.input(2))?;
        let dims = shape.to_usize();
        if size == dims {
            let value = c.forward(0, 0).unwrap_or_else(|| c.input(0).clone());
            c.set(0, value);
            return Ok(());
        }
        let mut out = c.output(0, dtype, &Shape::new(&size)?)?;
        slice(C::read(c.input(0))?, &dims, &begin, &size, C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

fn read_masks(attrs: &Attrs) -> Result<Masks, Status> {
    // Bits above the 32nd stand for entries that no specification has.
    let mask = |name| Ok::<u32, Status>(attrs.int(name)? as u32);
    Ok(Masks {
        begin: mask("begin_mask")?,
        end: mask("end_mask")?,
        ellipsis: mask("ellipsis_mask")?,
        new_axis: mask("new_axis_mask")?,
        shrink_axis: mask("shrink_axis_mask")?,
    })
}

/// A specification against the shape of what is sliced.
fn resolve(dims: &[usize], begin: &[i64], end: &[i64], strides: &[i64], masks: Masks) -> Result<Strided, Status> {
    let invalid = |text: core::fmt::Arguments<'_>| Status::invalid_argument(text);
    if let Some(i) = strides.iter().position(|&s| s == 0) {
        return Err(invalid(format_args!("strides[{i}] must be non-zero")));
    }
    Strided::new(dims, begin, end, strides, masks).map_err(|error| match error {
        Error::Argument => invalid(format_args!(
            "slice index {begin:?} with end {end:?} and strides {strides:?} is out of bounds of shape {dims:?}"
        )),
        error => error.into(),
    })
}

/// The three vectors of a specification, inputs `first` and after.
fn specification(c: &Ctx<'_>, first: usize) -> Result<[Ints; 3], Status> {
    let [b, e, s] = [0, 1, 2].map(|i| c.input(first + i));
    let same = [e, s].iter().all(|t| t.num_elements() == b.num_elements());
    if !same || [b, e, s].iter().any(|t| t.shape().rank() != 1) {
        return Err(Status::invalid_argument(format_args!(
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes {}, {}, and {} instead.",
            b.shape(),
            e.shape(),
            s.shape()
        )));
    }
    Ok([ints(b)?, ints(e)?, ints(s)?])
}

fn strided_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let (Some(dims), Some(b), Some(e), Some(s)) = (c.input(0).dims, c.constant(1), c.constant(2), c.constant(3)) else {
        return shape::unknown(c);
    };
    // An unknown size stands as one that no index of the specification can leave: only its own entry depends on it.
    let known: Option<Vec<usize>> = dims.iter().map(|&d| usize::try_from(d).ok()).collect();
    let Some(known) = known else { return shape::unknown(c) };
    let plan = resolve(&known, &b, &e, &s, read_masks(&c.node.attrs)?)?;
    Ok(alloc::vec![PartialShape::new(&plan.output().iter().map(|&d| d as i64).collect::<Vec<_>>())])
}

fn strided<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, masks) = (node.dtype("T")?, read_masks(node.attrs())?);
    kernel(move |c: &mut Ctx<'_>| {
        let [begin, end, strides] = specification(c, 1)?;
        let plan = resolve(&c.input(0).shape().to_usize(), &begin, &end, &strides, masks)?;
        let mut out = c.output(0, dtype, &Shape::new(plan.output())?)?;
        plan.read(C::read(c.input(0))?, C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

fn strided_gradient<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, masks) = (node.dtype("T")?, read_masks(node.attrs())?);
    kernel(move |c: &mut Ctx<'_>| {
        let shape = shape_from(c.input(0))?;
        let [begin, end, strides] = specification(c, 1)?;
        let plan = resolve(&shape.to_usize(), &begin, &end, &strides, masks)?;
        if *plan.output() != *c.input(4).shape().to_usize() {
            return Err(Status::invalid_argument(format_args!(
                "shape of dy was {} instead of {:?}",
                c.input(4).shape(),
                plan.output()
            )));
        }
        let mut out = c.output(0, dtype, &shape)?;
        if dtype == DType::String {
            out = Tensor::zeros(dtype, &shape, c.budget())?;
        }
        plan.gradient(C::read(c.input(4))?, C::default(), C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, tensor};
    use crate::tensor::Tensor;

    fn v(x: &[i32]) -> Tensor {
        tensor(&[x.len()], x)
    }

    /// Slices: all, part, empty; what lies outside is refused.
    #[test]
    fn slices() {
        let x = tensor(&[2, 3], &[1i32, 2, 3, 4, 5, 6]);
        let go = |begin: &[i32], size: &[i32]| {
            let out = run("Slice", &[], &[x.clone(), v(begin), v(size)]).map_err(|e| e.code())?;
            Ok::<_, Code>(out[0].as_slice::<i32>().unwrap().to_vec())
        };
        assert_eq!(go(&[0, 1], &[2, -1]).unwrap(), [2, 3, 5, 6]);
        assert_eq!(go(&[0, 0], &[-1, 3]).unwrap(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(go(&[2, 0], &[-1, 3]).unwrap(), []);
        for (begin, size) in
            [(&[0, 1][..], &[2, 3][..]), (&[-1, 0], &[1, 1]), (&[3, 0], &[0, 0]), (&[0], &[1]), (&[0, 0], &[-2, 1])]
        {
            assert_eq!(go(begin, size), Err(Code::InvalidArgument), "{begin:?} {size:?}");
        }
    }

    /// Strided slices with each mask, and the gradient.
    #[test]
    fn strides() {
        let x = tensor(&[2, 3], &[1i32, 2, 3, 4, 5, 6]);
        let go = |masks: &[(&'static str, i64)], b: &[i32], e: &[i32], s: &[i32]| {
            let attrs: alloc::vec::Vec<_> = masks.iter().map(|&(n, m)| (n, AttrValue::from(m))).collect();
            let out = run("StridedSlice", &attrs, &[x.clone(), v(b), v(e), v(s)]).map_err(|e| e.code())?;
            Ok::<_, Code>((out[0].shape().dims().to_vec(), out[0].as_slice::<i32>().unwrap().to_vec()))
        };
        let of = |dims: &[u32], x: &[i32]| Ok((dims.to_vec(), x.to_vec()));
        assert_eq!(go(&[], &[0, 2], &[2, 0], &[1, -1]), of(&[2, 2], &[3, 2, 6, 5]));
        assert_eq!(go(&[("shrink_axis_mask", 1)], &[1], &[2], &[1]), of(&[3], &[4, 5, 6]));
        assert_eq!(go(&[("begin_mask", 2), ("end_mask", 2)], &[0, 9], &[1, 9], &[1, 2]), of(&[1, 2], &[1, 3]));
        assert_eq!(go(&[("new_axis_mask", 1)], &[0], &[0], &[1]), of(&[1, 2, 3], &[1, 2, 3, 4, 5, 6]));
        assert_eq!(go(&[("ellipsis_mask", 1), ("shrink_axis_mask", 2)], &[0, -1], &[0, 0], &[1, 1]), of(&[2], &[3, 6]));
        assert_eq!(go(&[], &[0], &[1], &[0]), Err(Code::InvalidArgument));
        assert_eq!(go(&[("shrink_axis_mask", 1)], &[5], &[6], &[1]), Err(Code::InvalidArgument));
        assert_eq!(go(&[], &[0; 3], &[1; 3], &[1; 3]), Err(Code::InvalidArgument));
        assert_eq!(go(&[], &[0, 0], &[1], &[1]), Err(Code::InvalidArgument));
        let inputs = [v(&[2, 3]), v(&[0, 1]), v(&[2, 2]), v(&[1, 1]), tensor(&[2, 1], &[8i32, 9])];
        let out = run("StridedSliceGrad", &[], &inputs).unwrap();
        assert_eq!(out[0].as_slice::<i32>().unwrap(), [0, 8, 0, 0, 9, 0]);
    }
}
