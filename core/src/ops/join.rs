//! Several tensors made one, and one made several: concatenation, stacking, splitting, stitching.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::carry::{Carried, carried};
use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::shapes::{int, ints, scalar_int};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::dims;
use crate::kernels::movement::join::{Piece, put, take};
use crate::tensor::{DType, RANK_MAX, Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[&PACK, &UNPACK, &CONCAT, &CONCAT_V2, &CONCAT_OFFSET, &SPLIT, &SPLIT_V, &DYNAMIC_STITCH];

static PACK: Op = Op::new("Pack", "values: N * T -> output: T", "N: int >= 1; T: type; axis: int = 0")
    .shape(pack_shape)
    .kernel(&[], |node| carried!(node, "T", C => pack::<C>(node)));
static UNPACK: Op = Op::new("Unpack", "value: T -> output: num * T", "num: int >= 0; T: type; axis: int = 0")
    .shape(unpack_shape)
    .kernel(&[], |node| carried!(node, "T", C => unpack::<C>(node)));
static CONCAT: Op = Op::new("Concat", "concat_dim: int32, values: N * T -> output: T", "N: int >= 2; T: type")
    .shape(|c| concat_shape(c, 0))
    .kernel(&[], |node| carried!(node, "T", C => concat::<C>(node, true)));
static CONCAT_V2: Op =
    Op::new("ConcatV2", "values: N * T, axis: Tidx -> output: T", "N: int >= 2; T: type; Tidx: {int32, int64} = int32")
        .shape(|c| concat_shape(c, c.inputs.len().saturating_sub(1)))
        .kernel(&[("Tidx", INDICES)], |node| carried!(node, "T", C => concat::<C>(node, false)));
static CONCAT_OFFSET: Op = Op::new(
    "ConcatOffset",
    "concat_dim: int32, shape: N * shape_type -> offset: N * shape_type",
    "N: int >= 2; shape_type: {int32, int64} = int32",
)
.shape(|c| Ok(c.inputs.get(1..).unwrap_or_default().to_vec()))
.kernel(&[("shape_type", INDICES)], |node| dispatch!(node, "shape_type", INDICES T => concat_offset::<T>()));
static SPLIT: Op =
    Op::new("Split", "split_dim: int32, value: T -> output: num_split * T", "num_split: int >= 1; T: type")
        .shape(split_shape)
        .kernel(&[], |node| carried!(node, "T", C => split::<C>(node)));
static SPLIT_V: Op = Op::new(
    "SplitV",
    "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split * T",
    "num_split: int >= 1; T: type; Tlen: {int8, int32, int64} = int64",
)
.shape(split_v_shape)
.kernel(&[("Tlen", &[DType::Int8, DType::Int32, DType::Int64])], |node| carried!(node, "T", C => split_v::<C>(node)));
static DYNAMIC_STITCH: Op =
    Op::new("DynamicStitch", "indices: N * int32, data: N * T -> merged: T", "N: int >= 1; T: type")
        .shape(stitch_shape)
        .kernel(&[], |node| carried!(node, "T", C => stitch::<C>(node)));

type Sizes = heapless::Vec<usize, RANK_MAX>;

fn invalid(text: core::fmt::Arguments<'_>) -> Status {
    Status::invalid_argument(text)
}

/// An axis of the result of stacking, which has one dimension more.
fn axis_of(axis: i64, rank: usize, low: usize) -> Result<usize, Status> {
    dims::axis(axis, rank).map_err(|_| match low {
        0 => invalid(format_args!("axis = {axis} not in [-{rank}, {rank})")),
        _ => invalid(format_args!("Expected concatenating dimensions in the range [-{rank}, {rank}), but got {axis}")),
    })
}

fn pack_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(mut dims) = c.inputs.iter().find_map(|s| s.dims.clone()) else { return shape::unknown(c) };
    let at = axis_of(c.node.attrs.int("axis")?, dims.len() + 1, 0)?;
    dims.insert(at, c.inputs.len() as i64);
    Ok(alloc::vec![PartialShape { dims: Some(dims) }])
}

fn pack<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, axis) = (node.dtype("T")?, node.attrs().int("axis")?);
    kernel(move |c: &mut Ctx<'_>| {
        let first = c.input(0).shape();
        let n = c.num_inputs();
        for i in 1..n {
            if c.input(i).shape() != first {
                return Err(invalid(format_args!(
                    "Shapes of all inputs must match: values[0].shape = {first} != values[{i}].shape = {}",
                    c.input(i).shape()
                )));
            }
        }
        let mut dims = first.to_usize();
        let at = axis_of(axis, dims.len() + 1, 0)?;
        let product = |d: &[usize]| d.iter().product::<usize>();
        let (outer, inner) = (product(&dims[..at]), product(&dims[at..]));
        dims.insert(at, n).map_err(|_| invalid(format_args!("the result has too many dimensions")))?;
        let mut out = c.output(0, dtype, &Shape::new(&dims)?)?;
        let whole = C::write(&mut out)?;
        for begin in 0..n {
            put(Piece { outer, inner, total: n, begin, size: 1 }, C::read(c.input(begin))?, whole)?;
        }
        c.set(0, out);
        Ok(())
    })
}

fn unpack_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(mut dims) = c.input(0).dims else { return shape::unknown(c) };
    dims.remove(axis_of(c.node.attrs.int("axis")?, dims.len(), 0)?);
    Ok(alloc::vec![PartialShape { dims: Some(dims) }; c.node.output_types.len()])
}

fn unpack<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, axis) = (node.dtype("T")?, node.attrs().int("axis")?);
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let mut dims = shape.to_usize();
        let at = axis_of(axis, dims.len(), 0)?;
        let total = c.num_outputs();
        if dims[at] != total {
            return Err(invalid(format_args!("Input shape axis {at} must equal {total}, got shape {shape}")));
        }
        let (outer, _, inner) = dims::around(&dims, at)?;
        dims.remove(at);
        let each = Shape::new(&dims)?;
        for begin in 0..total {
            let mut out = c.output(begin, dtype, &each)?;
            take(Piece { outer, inner, total, begin, size: 1 }, C::read(c.input(0))?, C::write(&mut out)?)?;
            c.set(begin, out);
        }
        Ok(())
    })
}

fn concat_shape(c: &ShapeContext<'_>, axis_at: usize) -> Result<Vec<PartialShape>, Status> {
    let values = || c.inputs.iter().enumerate().filter(|&(i, _)| i != axis_at).map(|(_, s)| s);
    let Some(rank) = values().find_map(PartialShape::rank) else { return shape::unknown(c) };
    let Some(&[axis]) = c.constant(axis_at).as_deref() else {
        return Ok(alloc::vec![PartialShape::new(&alloc::vec![-1; rank])]);
    };
    let at = axis_of(axis, rank, 1)?;
    let mut dims = alloc::vec![-1i64; rank];
    let mut total = Some(0i64);
    for shape in values() {
        let Some(d) = &shape.dims else {
            total = None;
            continue;
        };
        if d.len() != rank {
            return Err(invalid(format_args!("Ranks of all input tensors should match: {shape} for rank {rank}")));
        }
        total = total.filter(|_| d[at] >= 0).and_then(|t| t.checked_add(d[at]));
        for (i, (to, &from)) in dims.iter_mut().zip(d).enumerate() {
            if i != at && from >= 0 {
                *to = from;
            }
        }
    }
    dims[at] = total.unwrap_or(-1);
    Ok(alloc::vec![PartialShape { dims: Some(dims) }])
}

fn concat<C: Carried>(node: &NodeContext<'_>, axis_first: bool) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let n = c.num_inputs().saturating_sub(1);
        let (axis_at, values) = if axis_first { (0, 1..n + 1) } else { (n, 0..n) };
        let axis = int(c.input(axis_at))?;
        let first = c.input(values.start).shape();
        if first.rank() == 0 {
            return Err(invalid(format_args!("ConcatOp : Can't concatenate scalars (use tf.stack instead)")));
        }
        let mut dims = first.to_usize();
        let at = axis_of(axis, dims.len(), 1)?;
        let mut total = 0usize;
        for i in values.clone() {
            let shape = c.input(i).shape();
            let k = i - values.start;
            if shape.rank() != first.rank() {
                return Err(invalid(format_args!(
                    "ConcatOp : Ranks of all input tensors should match: shape[0] = {first} vs. shape[{k}] = {shape}"
                )));
            }
            if let Some(d) = (0..first.rank()).find(|&d| d != at && shape.dim(d) != first.dim(d)) {
                return Err(invalid(format_args!(
                    "ConcatOp : Dimension {d} in both shapes must be equal: shape[0] = {first} vs. shape[{k}] = {shape}"
                )));
            }
            total = total.checked_add(shape.dim(at)).ok_or_else(|| invalid(format_args!("the result is too large")))?;
        }
        let (outer, _, inner) = dims::around(&dims, at)?;
        dims[at] = total;
        let mut out = c.output(0, dtype, &Shape::new(&dims)?)?;
        let whole = C::write(&mut out)?;
        let mut begin = 0;
        for i in values {
            let size = c.input(i).shape().dim(at);
            put(Piece { outer, inner, total, begin, size }, C::read(c.input(i))?, whole)?;
            begin += size;
        }
        c.set(0, out);
        Ok(())
    })
}

fn concat_offset<T: Value + crate::kernels::element::Integer>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let first = c.input(1).as_slice::<T>()?;
        let at = axis_of(int(c.input(0))?, first.len(), 1)?;
        let shape = c.input(1).shape().clone();
        let mut offset = T::ZERO;
        for i in 1..c.num_inputs() {
            if *c.input(i).shape() != shape || shape.rank() != 1 {
                return Err(invalid(format_args!(
                    "shapes of equal length are expected, got {shape} and {} at input {}",
                    c.input(i).shape(),
                    i - 1
                )));
            }
            let mut out = c.output(i - 1, T::DTYPE, &shape)?;
            let (first, this) = (c.input(1).as_slice::<T>()?, c.input(i).as_slice::<T>()?);
            if (0..this.len()).any(|d| d != at && first[d] != this[d]) {
                return Err(invalid(format_args!(
                    "All dimensions except {at} must match. Input {} has shape {this:?} and doesn't match input 0 with \
                     shape {first:?}.",
                    i - 1
                )));
            }
            let offsets = out.make_mut::<T>()?;
            offsets.fill(T::ZERO);
            offsets[at] = offset;
            offset = offset.plus(this[at]);
            c.set(i - 1, out);
        }
        Ok(())
    })
}

/// The axis of a split.
fn split_axis(axis: i64, rank: usize) -> Result<usize, Status> {
    dims::axis(axis, rank)
        .map_err(|_| invalid(format_args!("-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}")))
}

/// Sets the outputs to pieces of `sizes` of input `i` along `at`.
fn pieces<C: Carried>(
    c: &mut Ctx<'_>,
    dtype: DType,
    i: usize,
    at: usize,
    sizes: impl Fn(usize) -> usize,
) -> Result<(), Status> {
    let mut dims = c.input(i).shape().to_usize();
    let (outer, total, inner) = dims::around(&dims, at)?;
    let mut begin = 0;
    for o in 0..c.num_outputs() {
        let size = sizes(o);
        dims[at] = size;
        let mut out = c.output(o, dtype, &Shape::new(&dims)?)?;
        take(Piece { outer, inner, total, begin, size }, C::read(c.input(i))?, C::write(&mut out)?)?;
        c.set(o, out);
        begin += size;
    }
    Ok(())
}

fn split_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let (Some(mut dims), n) = (c.input(1).dims, c.node.output_types.len()) else { return shape::unknown(c) };
    match c.constant(0).as_deref() {
        Some(&[axis]) => {
            let at = split_axis(axis, dims.len())?;
            dims[at] = if dims[at] < 0 { -1 } else { dims[at] / n.max(1) as i64 };
        }
        _ => dims.fill(-1),
    }
    Ok(alloc::vec![PartialShape { dims: Some(dims) }; n])
}

fn split<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(1).shape();
        let at = split_axis(scalar_int(c.input(0), "split_dim")?, shape.rank())?;
        let (size, n) = (shape.dim(at), c.num_outputs());
        if n == 0 || !size.is_multiple_of(n) {
            return Err(invalid(format_args!(
                "Number of ways to split should evenly divide the split dimension, but got split_dim {at} (size = {size}) \
                 and num_split {n}"
            )));
        }
        pieces::<C>(c, dtype, 1, at, |_| size / n)
    })
}

fn split_v_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let (Some(dims), n) = (c.input(0).dims, c.node.output_types.len()) else { return shape::unknown(c) };
    let Some(&[axis]) = c.constant(2).as_deref() else {
        return Ok(alloc::vec![PartialShape::new(&alloc::vec![-1; dims.len()]); n]);
    };
    let at = split_axis(axis, dims.len())?;
    let sizes = c.constants.get(1).and_then(|t| ints(t.as_ref()?).ok());
    let piece = |i: usize| {
        let mut dims = dims.clone();
        // What is left for a size of −1 follows from the rest only when the whole is known.
        dims[at] = sizes.as_ref().and_then(|s| s.get(i).copied()).unwrap_or(-1).max(-1);
        PartialShape { dims: Some(dims) }
    };
    Ok((0..n).map(piece).collect())
}

/// The sizes of pieces, more than any node has outputs.
fn split_v<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape();
        let at = split_axis(int(c.input(2))?, shape.rank())?;
        let (total, n) = (shape.dim(at), c.num_outputs());
        let wanted = c.input(1);
        if wanted.num_elements() != n || wanted.shape().rank() != 1 {
            return Err(invalid(format_args!(
                "size of the split_tensor must be 1-D and have the same elements as outputs got {} and {n} outputs",
                wanted.shape()
            )));
        }
        let wanted = split_sizes(wanted)?;
        let mut rest = total as i64;
        let mut open = 0;
        for &size in &wanted {
            match size {
                -1 => open += 1,
                _ => rest = rest.saturating_sub(size),
            }
        }
        if open > 1 {
            return Err(invalid(format_args!("There can only be one -1 in the input.")));
        }
        if rest < 0 || (open == 0 && rest != 0) || wanted.iter().any(|&s| s < -1) {
            return Err(invalid(format_args!(
                "the sizes {wanted:?} do not add up to the size of the split dimension, which is {total}"
            )));
        }
        pieces::<C>(c, dtype, 0, at, |o| match wanted.get(o) {
            Some(&size) if size >= 0 => size as usize,
            _ => rest as usize,
        })
    })
}

/// Sizes of pieces; one allocation, as there may be any number.
fn split_sizes(t: &Tensor) -> Result<Vec<i64>, Status> {
    match t.dtype() {
        DType::Int8 => Ok(t.as_slice::<i8>()?.iter().map(|&s| i64::from(s)).collect()),
        _ => t.to_i64_vec(),
    }
}

fn stitch_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let n = c.inputs.len() / 2;
    let rest = (0..n).find_map(|i| {
        let (indices, data) = (c.input(i).rank()?, c.input(n + i).dims?);
        data.get(indices..).map(<[i64]>::to_vec)
    });
    let Some(rest) = rest else { return shape::unknown(c) };
    let dims = core::iter::once(-1).chain(rest).collect();
    Ok(alloc::vec![PartialShape { dims: Some(dims) }])
}

fn stitch<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let n = c.num_inputs() / 2;
        let mut rows = 0usize;
        let mut rest: Option<Sizes> = None;
        for i in 0..n {
            let (indices, data) = (c.input(i), c.input(n + i));
            let (own, whole) = (indices.shape().to_usize(), data.shape().to_usize());
            if whole.get(..own.len()) != Some(&own[..]) {
                return Err(invalid(format_args!(
                    "data[{i}].shape = {} does not start with indices[{i}].shape = {}",
                    data.shape(),
                    indices.shape()
                )));
            }
            let tail: Sizes = whole[own.len()..].iter().copied().collect();
            if rest.get_or_insert_with(|| tail.clone()) != &tail {
                return Err(invalid(format_args!("data[{i}] has rows of shape {tail:?}, data[0] of {rest:?}")));
            }
            for &index in indices.as_slice::<i32>()? {
                let index = usize::try_from(index)
                    .map_err(|_| invalid(format_args!("indices[{i}] is out of range: {index}")))?;
                rows = rows.max(index + 1);
            }
        }
        let mut dims = rest.unwrap_or_default();
        let row = dims.iter().product::<usize>();
        dims.insert(0, rows).map_err(|_| invalid(format_args!("the result has too many dimensions")))?;
        let shape = Shape::new(&dims)?;
        let mut out = c.output_zeroed(0, dtype, &shape)?;
        let whole = C::write(&mut out)?;
        for i in 0..n {
            let (indices, data) = (c.input(i).as_slice::<i32>()?, C::read(c.input(n + i))?);
            for (k, &index) in indices.iter().enumerate() {
                let at = index as usize * row;
                if let (Some(to), Some(from)) = (whole.get_mut(at..at + row), data.get(k * row..(k + 1) * row)) {
                    to.clone_from_slice(from);
                }
            }
        }
        c.set(0, out);
        Ok(())
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

    fn all(
        op: &str,
        attrs: &[(&str, AttrValue)],
        inputs: &[Tensor],
    ) -> Result<alloc::vec::Vec<alloc::vec::Vec<i32>>, Code> {
        let out = run(op, attrs, inputs).map_err(|e| e.code())?;
        Ok(out.iter().map(|t| t.as_slice::<i32>().unwrap().to_vec()).collect())
    }

    const BAD: Result<alloc::vec::Vec<alloc::vec::Vec<i32>>, Code> = Err(Code::InvalidArgument);

    /// Stacking and its undoing along either axis.
    #[test]
    fn stacks() {
        let axis = |a: i64| [("axis", AttrValue::from(a))];
        let (a, b) = (v(&[1, 2]), v(&[3, 4]));
        assert_eq!(all("Pack", &[], &[a.clone(), b.clone()]).unwrap(), [[1, 2, 3, 4]]);
        assert_eq!(all("Pack", &axis(-1), &[a.clone(), b.clone()]).unwrap(), [[1, 3, 2, 4]]);
        assert_eq!(all("Pack", &axis(5), &[a.clone(), b]), BAD);
        assert_eq!(all("Pack", &[], &[a.clone(), v(&[1])]), BAD);
        let x = tensor(&[2, 2], &[1i32, 2, 3, 4]);
        let unpack =
            |num: i64, at: i64, x: &Tensor| all("Unpack", &[("num", num.into()), ("axis", at.into())], &[x.clone()]);
        assert_eq!(unpack(2, 1, &x).unwrap(), [[1, 3], [2, 4]]);
        assert_eq!(unpack(3, 1, &x), BAD);
        assert_eq!(unpack(1, 0, &1i32.into()), BAD);
    }

    /// Concatenation of numbers and strings; offsets.
    #[test]
    fn concatenations() {
        let (a, b) = (tensor(&[2, 1], &[1i32, 2]), tensor(&[2, 2], &[3i32, 4, 5, 6]));
        let want = [[1, 3, 4, 2, 5, 6]];
        assert_eq!(all("ConcatV2", &[], &[a.clone(), b.clone(), 1i32.into()]).unwrap(), want);
        assert_eq!(all("ConcatV2", &[], &[a.clone(), b.clone(), (-1i64).into()]).unwrap(), want);
        assert_eq!(all("Concat", &[], &[1i32.into(), a.clone(), b.clone()]).unwrap(), want);
        assert_eq!(all("ConcatV2", &[], &[a.clone(), b.clone(), 0i32.into()]), BAD);
        assert_eq!(all("ConcatV2", &[], &[a.clone(), b, 2i32.into()]), BAD);
        assert_eq!(all("ConcatV2", &[], &[a, v(&[1]), 0i32.into()]), BAD);
        assert_eq!(all("ConcatV2", &[], &[1i32.into(), 2i32.into(), 0i32.into()]), BAD);
        let s = run("ConcatV2", &[], &[strings(&[1], &["a"]), strings(&[1], &["b"]), 0i32.into()]).unwrap();
        assert_eq!(s[0].strings().unwrap(), ["a", "b"]);
        let offsets = |at: i32, second: &[i32]| all("ConcatOffset", &[], &[at.into(), v(&[2, 3]), v(second)]);
        assert_eq!(offsets(-1, &[2, 5]).unwrap(), [[0, 0], [0, 3]]);
        assert_eq!(offsets(1, &[4, 5]), BAD);
    }

    /// Splits into equal and given sizes.
    #[test]
    fn splits() {
        let x = tensor(&[2, 3], &[1i32, 2, 3, 4, 5, 6]);
        let split = |n: i64, at: i32| all("Split", &[("num_split", n.into())], &[at.into(), x.clone()]);
        assert_eq!(split(2, 0).unwrap(), [[1, 2, 3], [4, 5, 6]]);
        assert_eq!(split(2, 1), BAD);
        assert_eq!(split(1, 3), BAD);
        let split = |sizes: &[i32]| {
            all("SplitV", &[("num_split", (sizes.len() as i64).into())], &[x.clone(), v(sizes), 1i32.into()])
        };
        assert_eq!(split(&[1, -1]).unwrap(), [alloc::vec![1, 4], alloc::vec![2, 3, 5, 6]]);
        for bad in [&[1, 1][..], &[4, -1], &[-1, -1], &[5], &[-2, 5]] {
            assert_eq!(split(bad), BAD, "{bad:?}");
        }
    }

    /// Stitching: the last of equals wins, gaps are zero.
    #[test]
    fn stitches() {
        let go = |i: &[i32], j: &[i32]| all("DynamicStitch", &[], &[v(i), v(j), v(&[1, 2]), v(&[3, 4])]);
        assert_eq!(go(&[0, 2], &[1, 2]).unwrap(), [[1, 3, 4]]);
        assert_eq!(go(&[0, 0], &[4, 4]).unwrap(), [[2, 0, 0, 0, 4]]);
        assert_eq!(go(&[-1, 0], &[1, 2]), BAD);
        assert_eq!(go(&[0], &[1, 2]), BAD);
    }
}
