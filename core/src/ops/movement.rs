//! Elements moved within one tensor: tiled, gathered, turned, padded, reversed, stretched.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::carry::{Carried, carried};
use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::shapes::{self, Ints, axis, constant_shape, ints, scalar_int, shape_from};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::broadcast::{broadcast_shapes, broadcast_to};
use crate::kernels::element::{Integer, Number};
use crate::kernels::error::Error;
use crate::kernels::movement::gather::Gather;
use crate::kernels::movement::pad::{self, Mirror};
use crate::kernels::movement::{reverse, tile, transpose};
use crate::tensor::{DType, RANK_MAX, Shape, Tensor};
use num_complex::Complex;

/// This family.
pub static OPS: &[&Op] = &[
    &TILE,
    &GATHER,
    &GATHER_V2,
    &TRANSPOSE,
    &CONJUGATE_TRANSPOSE,
    &PAD,
    &PAD_V2,
    &MIRROR_PAD,
    &MIRROR_PAD_GRAD,
    &BROADCAST_TO,
    &REVERSE_V2,
];

static TILE: Op =
    Op::new("Tile", "input: T, multiples: Tmultiples -> output: T", "T: type; Tmultiples: {int32, int64} = int32")
        .shape(tile_shape)
        .kernel(&[("Tmultiples", INDICES)], |node| carried!(node, "T", C => tiled::<C>(node)));
static GATHER: Op = Op::new(
    "Gather",
    "params: Tparams, indices: Tindices -> output: Tparams",
    "validate_indices: bool = true; Tparams: type; Tindices: {int32, int64}",
)
.shape(gather_shape)
.kernel(
    &[("Tindices", INDICES)],
    |node| carried!(node, "Tparams", C => dispatch!(node, "Tindices", INDICES I => gather::<C, I>(node))),
);
static GATHER_V2: Op = Op::new(
    "GatherV2",
    "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams",
    "batch_dims: int = 0; Tparams: type; Tindices: {int16, int32, int64}; Taxis: {int32, int64}",
)
.shape(gather_shape)
.kernel(
    &[("Tindices", GATHER_INDICES)],
    |node| carried!(node, "Tparams", C => dispatch!(node, "Tindices", GATHER_INDICES I => gather::<C, I>(node))),
);
static TRANSPOSE: Op = Op::new("Transpose", "x: T, perm: Tperm -> y: T", "T: type; Tperm: {int32, int64} = int32")
    .shape(transpose_shape)
    .kernel(&[("Tperm", INDICES)], |node| carried!(node, "T", C => transposed::<C>(node, |x| x)));
static PAD: Op =
    Op::new("Pad", "input: T, paddings: Tpaddings -> output: T", "T: type; Tpaddings: {int32, int64} = int32")
        .shape(pad_shape)
        .kernel(&[("Tpaddings", INDICES)], |node| carried!(node, "T", C => padded::<C>(node)));
static PAD_V2: Op = Op::new(
    "PadV2",
    "input: T, paddings: Tpaddings, constant_values: T -> output: T",
    "T: type; Tpaddings: {int32, int64} = int32",
)
.shape(pad_shape)
.kernel(&[("Tpaddings", INDICES)], |node| carried!(node, "T", C => padded::<C>(node)));
static MIRROR_PAD: Op = Op::new(
    "MirrorPad",
    "input: T, paddings: Tpaddings -> output: T",
    "T: type; Tpaddings: {int32, int64} = int32; mode: {'REFLECT', 'SYMMETRIC'}",
)
.shape(pad_shape)
.kernel(&[("Tpaddings", INDICES)], |node| carried!(node, "T", C => mirrored::<C>(node)));
static MIRROR_PAD_GRAD: Op = Op::new(
    "MirrorPadGrad",
    "input: T, paddings: Tpaddings -> output: T",
    "T: type; Tpaddings: {int32, int64} = int32; mode: {'REFLECT', 'SYMMETRIC'}",
)
.shape(unpadded_shape)
.kernel(&[("T", NUMBERS), ("Tpaddings", INDICES)], |node| dispatch!(node, "T", NUMBERS T => unmirrored::<T>(node)));
static CONJUGATE_TRANSPOSE: Op =
    Op::new("ConjugateTranspose", "x: T, perm: Tperm -> y: T", "T: type; Tperm: {int32, int64} = int32")
        .shape(transpose_shape)
        .kernel(&[("Tperm", INDICES)], |node| match node.dtype("T")? {
            DType::Complex64 => transposed::<Complex<f32>>(node, |x| x.conj()),
            DType::Complex128 => transposed::<Complex<f64>>(node, |x| x.conj()),
            _ => carried!(node, "T", C => transposed::<C>(node, |x| x)),
        });
static BROADCAST_TO: Op =
    Op::new("BroadcastTo", "input: T, shape: Tidx -> output: T", "T: type; Tidx: {int32, int64} = int32")
        .shape(|c| Ok(alloc::vec![constant_shape(c, 1)]))
        .kernel(&[("Tidx", INDICES)], |node| carried!(node, "T", C => stretched::<C>(node)));
static REVERSE_V2: Op = Op::new(
    "ReverseV2",
    "tensor: T, axis: Tidx -> output: T",
    "Tidx: {int32, int64} = int32; T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, \
        float, double, complex64, complex128, string}",
)
.shape(shape::unchanged)
.kernel(&[("Tidx", INDICES)], |node| carried!(node, "T", C => reversed::<C>(node)));

/// A list of sizes or axes.
type Sizes = heapless::Vec<usize, RANK_MAX>;

fn size(n: i64, what: core::fmt::Arguments<'_>) -> Result<usize, Status> {
    usize::try_from(n).map_err(|_| Status::invalid_argument(format_args!("Expected {what} >= 0, but got {n}")))
}

fn multiples(t: &Tensor, rank: usize) -> Result<Sizes, Status> {
    let list = ints(t)?;
    if t.shape().rank() != 1 || list.len() != rank {
        return Err(Status::invalid_argument(format_args!(
            "Expected multiples argument to be a vector of length {rank} but got shape {}",
            t.shape()
        )));
    }
    list.iter().enumerate().map(|(i, &n)| size(n, format_args!("multiples[{i}]"))).collect()
}

fn tile_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(dims) = c.input(0).dims else { return shape::unknown(c) };
    let tiled = match c.constant(1) {
        Some(m) if m.len() == dims.len() => {
            dims.iter().zip(m).map(|(&d, m)| if d < 0 { -1 } else { d.saturating_mul(m) }).collect()
        }
        _ => alloc::vec![-1; dims.len()],
    };
    Ok(alloc::vec![PartialShape { dims: Some(tiled) }])
}

fn tiled<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let dims = c.input(0).shape().to_usize();
        let multiples = multiples(c.input(1), dims.len())?;
        let shape = Shape::new(&tile::tiled(&dims, &multiples)?)?;
        let mut out = c.output(0, dtype, &shape)?;
        tile::tile(C::read(c.input(0))?, &dims, &multiples, C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

/// Axis and number of batch dimensions of a gather, checked against the shapes.
pub(super) fn gather_view(params: usize, indices: usize, axis: i64, batch_dims: i64) -> Result<(usize, usize), Status> {
    let invalid = |text: core::fmt::Arguments<'_>| Err(Status::invalid_argument(text));
    if params == 0 {
        return invalid(format_args!("params must be at least 1 dimensional"));
    }
    let Ok(axis) = crate::kernels::dims::axis(axis, params) else {
        return invalid(format_args!("axis {axis} is out of range for params of rank {params}"));
    };
    let batch = if batch_dims < 0 { batch_dims.saturating_add(indices as i64) } else { batch_dims };
    match usize::try_from(batch) {
        Ok(batch) if batch <= indices && batch <= axis => Ok((axis, batch)),
        Ok(batch) if batch <= indices => {
            invalid(format_args!("batch_dims ({batch}) must be less than or equal to axis ({axis})."))
        }
        _ => invalid(format_args!("Expected batch_dims in the range [-{indices}, {indices}], but got {batch_dims}")),
    }
}

fn gather_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let (Some(params), Some(indices)) = (c.input(0).dims, c.input(1).dims) else { return shape::unknown(c) };
    let batch_dims = c.node.attrs.int("batch_dims").unwrap_or(0);
    let axis = match (c.inputs.len(), c.constant(2).as_deref()) {
        (2, _) => 0,
        (_, Some(&[axis])) => axis,
        _ => return shape::unknown(c),
    };
    let (axis, batch) = gather_view(params.len(), indices.len(), axis, batch_dims)?;
    let dims = params[..axis].iter().chain(&indices[batch..]).chain(&params[axis + 1..]);
    Ok(alloc::vec![PartialShape { dims: Some(dims.copied().collect()) }])
}

fn gather<C: Carried, I: Value + Integer>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("Tparams")?;
    let batch_dims = if node.attrs().get("batch_dims").is_some() { node.attrs().int("batch_dims")? } else { 0 };
    kernel(move |c: &mut Ctx<'_>| {
        let (params, indices) = (c.input(0).shape().to_usize(), c.input(1).shape().to_usize());
        let axis = if c.num_inputs() > 2 { scalar_int(c.input(2), "axis")? } else { 0 };
        let (axis, batch) = gather_view(params.len(), indices.len(), axis, batch_dims)?;
        for i in 0..batch {
            if params[i] != indices[i] {
                return Err(Status::invalid_argument(format_args!(
                    "params.shape[{i}]: {} should be equal to indices.shape[{i}]: {}",
                    params[i], indices[i]
                )));
            }
        }
        let mut dims = Sizes::new();
        for &d in params[..axis].iter().chain(&indices[batch..]).chain(&params[axis + 1..]) {
            dims.push(d).map_err(|_| Status::invalid_argument("the result has too many dimensions"))?;
        }
        let mut out = c.output(0, dtype, &Shape::new(&dims)?)?;
        let plan = Gather::new(&params, axis, batch)?;
        plan.run(C::read(c.input(0))?, c.input(1).as_slice::<I>()?, C::write(&mut out)?)
            .map_err(|error| index_error(error, c.input(1).shape()))?;
        c.set(0, out);
        Ok(())
    })
}

/// An index error with its place in the shape of the indices.
pub(super) fn index_error(error: Error, indices: &Shape) -> Status {
    let Error::IndexOutOfRange { position, index, limit } = error else { return error.into() };
    let mut place = alloc::string::String::new();
    let mut rest = position;
    for axis in 0..indices.rank() {
        let inner: usize = (axis + 1..indices.rank()).map(|i| indices.dim(i)).product();
        let comma = if axis == 0 { "" } else { "," };
        place.push_str(&alloc::format!("{comma}{}", rest / inner.max(1)));
        rest %= inner.max(1);
    }
    Status::invalid_argument(format_args!("indices[{place}] = {index} is not in [0, {limit})"))
}

/// The permutation of a list of axes.
fn permutation(list: &Ints, rank: usize) -> Result<Sizes, Status> {
    if list.len() != rank || rank > RANK_MAX {
        return Err(Status::invalid_argument(format_args!(
            "transpose expects a vector of size {rank}. But input(1) is a vector of size {}",
            list.len()
        )));
    }
    let perm: Sizes = list.iter().map(|&a| axis(a, rank)).collect::<Result<_, _>>()?;
    match (0..rank).find(|i| !perm.contains(i)) {
        Some(missing) => Err(Status::invalid_argument(format_args!("{missing} is missing from {list:?}."))),
        None => Ok(perm),
    }
}

fn transpose_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(dims) = c.input(0).dims else { return shape::unknown(c) };
    let turned = match c.constant(1) {
        Some(list) => {
            let list = list.iter().copied().take(shapes::NUMBERS_MAX).collect();
            permutation(&list, dims.len())?.iter().map(|&p| dims[p]).collect()
        }
        None => alloc::vec![-1; dims.len()],
    };
    Ok(alloc::vec![PartialShape { dims: Some(turned) }])
}

fn transposed<C: Carried>(node: &NodeContext<'_>, each: fn(C) -> C) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    let conjugates = matches!(dtype, DType::Complex64 | DType::Complex128) && node.node.op.name == "ConjugateTranspose";
    kernel(move |c: &mut Ctx<'_>| {
        if c.input(1).shape().rank() != 1 {
            return Err(Status::invalid_argument(format_args!("perm must be a vector, not {}", c.input(1).shape())));
        }
        let dims = c.input(0).shape().to_usize();
        let perm = permutation(&ints(c.input(1))?, dims.len())?;
        let shape = Shape::new(&transpose::permuted(&dims, &perm)?)?;
        let mut out = c.output(0, dtype, &shape)?;
        let moved = C::write(&mut out)?;
        transpose::transpose(C::read(c.input(0))?, &dims, &perm, moved)?;
        if conjugates {
            moved.iter_mut().for_each(|x| *x = each(core::mem::take(x)));
        }
        c.set(0, out);
        Ok(())
    })
}

/// What is added before and after each of `rank` dimensions.
fn paddings(t: &Tensor, rank: usize) -> Result<heapless::Vec<(usize, usize), RANK_MAX>, Status> {
    let shape = t.shape();
    if shape.rank() != 2 || shape.dim(1) != 2 {
        return Err(Status::invalid_argument(format_args!("paddings must be a matrix with 2 columns: {shape}")));
    }
    if shape.dim(0) != rank {
        return Err(Status::invalid_argument(format_args!(
            "The first dimension of paddings must be the rank of inputs: {shape} for rank {rank}"
        )));
    }
    ints(t)?
        .chunks_exact(2)
        .map(|p| Ok((size(p[0], format_args!("every padding"))?, size(p[1], format_args!("every padding"))?)))
        .collect()
}

fn pad_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(dims) = c.input(0).dims else { return shape::unknown(c) };
    let padded = match c.constant(1) {
        Some(p) if p.len() == 2 * dims.len() => dims
            .iter()
            .zip(p.chunks_exact(2))
            .map(|(&d, p)| if d < 0 { -1 } else { d.saturating_add(p[0]).saturating_add(p[1]) })
            .collect(),
        _ => alloc::vec![-1; dims.len()],
    };
    Ok(alloc::vec![PartialShape { dims: Some(padded) }])
}

fn padded<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let dims = c.input(0).shape().to_usize();
        let paddings = paddings(c.input(1), dims.len())?;
        let value = match c.num_inputs() {
            2 => C::default(),
            _ => match C::read(c.input(2))? {
                [value] if c.input(2).shape().rank() == 0 => value.clone(),
                _ => {
                    return Err(Status::invalid_argument(format_args!(
                        "constant_values must be a scalar. Found: {}",
                        c.input(2).shape()
                    )));
                }
            },
        };
        let mut out = c.output(0, dtype, &Shape::new(&pad::padded(&dims, &paddings)?)?)?;
        pad::pad(C::read(c.input(0))?, &dims, &paddings, value, C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

fn mirror(node: &NodeContext<'_>) -> Result<Mirror, Status> {
    Ok(if node.attrs().str("mode")? == "REFLECT" { Mirror::Reflect } else { Mirror::Symmetric })
}

/// What a mirror says to paddings beyond its range.
fn beyond(error: Error, mirror: Mirror, paddings: &[(usize, usize)], shape: &Shape) -> Status {
    match error {
        Error::Argument => Status::invalid_argument(format_args!(
            "paddings must be {} the dimension size: {paddings:?} of {shape}",
            if mirror == Mirror::Reflect { "less than" } else { "no greater than" }
        )),
        error => error.into(),
    }
}

fn unpadded_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(dims) = c.input(0).dims else { return shape::unknown(c) };
    let sizes = match c.constant(1) {
        Some(p) if p.len() == 2 * dims.len() => dims
            .iter()
            .zip(p.chunks_exact(2))
            .map(|(&d, p)| if d < 0 { -1 } else { d.saturating_sub(p[0]).saturating_sub(p[1]).max(-1) })
            .collect(),
        _ => alloc::vec![-1; dims.len()],
    };
    Ok(alloc::vec![PartialShape { dims: Some(sizes) }])
}

fn unmirrored<T: Value + Number>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let mirror = mirror(node)?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape();
        let paddings = paddings(c.input(1), shape.rank())?;
        let mut dims = shape.to_usize();
        for (d, &(before, after)) in dims.iter_mut().zip(&paddings) {
            *d = d.checked_sub(before).and_then(|d| d.checked_sub(after)).ok_or_else(|| {
                Status::invalid_argument(format_args!("paddings {paddings:?} are larger than the input {shape}"))
            })?;
        }
        let mut folded = c.scratch::<T>(c.input(0).num_elements())?;
        let mut out = c.output(0, T::DTYPE, &Shape::new(&dims)?)?;
        let (dy, rows) = (c.input(0).as_slice::<T>()?, folded.make_mut::<T>()?);
        pad::mirror_pad_grad(dy, &dims, &paddings, mirror, rows, out.make_mut::<T>()?)
            .map_err(|error| beyond(error, mirror, &paddings, c.input(0).shape()))?;
        c.give_scratch(folded);
        c.set(0, out);
        Ok(())
    })
}

fn mirrored<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, mirror) = (node.dtype("T")?, mirror(node)?);
    kernel(move |c: &mut Ctx<'_>| {
        let dims = c.input(0).shape().to_usize();
        let paddings = paddings(c.input(1), dims.len())?;
        let mut out = c.output(0, dtype, &Shape::new(&pad::padded(&dims, &paddings)?)?)?;
        pad::mirror_pad(C::read(c.input(0))?, &dims, &paddings, mirror, C::write(&mut out)?)
            .map_err(|error| beyond(error, mirror, &paddings, c.input(0).shape()))?;
        c.set(0, out);
        Ok(())
    })
}

fn stretched<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let (from, to) = (c.input(0).shape(), shape_from(c.input(1))?);
        if from.rank() > to.rank() {
            return Err(Status::invalid_argument(format_args!(
                "Rank of input ({}) must be no greater than rank of output shape ({}).",
                from.rank(),
                to.rank()
            )));
        }
        let (dims, wanted) = (from.to_usize(), to.to_usize());
        if broadcast_shapes(&dims, &wanted).ok().as_deref() != Some(&wanted[..]) {
            return Err(Status::invalid_argument(format_args!("Incompatible shapes: {from} vs. {to}")));
        }
        let mut out = c.output(0, dtype, &to)?;
        broadcast_to(C::read(c.input(0))?, &dims, &wanted, C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

fn reversed<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let mut mask = [false; RANK_MAX];
        for &at in &ints(c.input(1))? {
            let at = axis(at, shape.rank())?;
            if core::mem::replace(&mut mask[at], true) {
                return Err(Status::invalid_argument(format_args!("axis {at} specified more than once.")));
            }
        }
        let mut out = c.output(0, dtype, &shape)?;
        reverse::reverse(C::read(c.input(0))?, &shape.to_usize(), &mask[..shape.rank()], C::write(&mut out)?)?;
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

    fn go(op: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]) -> (alloc::vec::Vec<u32>, alloc::vec::Vec<i32>) {
        let out = run(op, attrs, inputs).unwrap();
        (out[0].shape().dims().to_vec(), out[0].as_slice::<i32>().unwrap().to_vec())
    }

    fn code(op: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]) -> Code {
        run(op, attrs, inputs).map_or_else(|e| e.code(), |_| Code::Ok)
    }

    fn v(x: &[i32]) -> Tensor {
        tensor(&[x.len()], x)
    }

    /// Every op on a small matrix.
    #[test]
    fn values() {
        let x = tensor(&[2, 2], &[1i32, 2, 3, 4]);
        let one = |op: &str, with: Tensor| go(op, &[], &[x.clone(), with]);
        assert_eq!(one("Tile", v(&[1, 2])), ([2, 4].to_vec(), [1, 2, 1, 2, 3, 4, 3, 4].to_vec()));
        assert_eq!(one("Transpose", v(&[1, 0])), ([2, 2].to_vec(), [1, 3, 2, 4].to_vec()));
        assert_eq!(one("Transpose", v(&[-1, 0])).1, [1, 3, 2, 4]);
        assert_eq!(one("ReverseV2", v(&[-1])).1, [2, 1, 4, 3]);
        assert_eq!(one("BroadcastTo", v(&[2, 2, 2])).1, [1, 2, 3, 4, 1, 2, 3, 4]);
        assert_eq!(one("Gather", v(&[1, 1])).1, [3, 4, 3, 4]);
        let p = tensor(&[2, 2], &[1i32, 0, 0, 1]);
        assert_eq!(one("Pad", p.clone()), ([3, 3].to_vec(), [0, 0, 0, 1, 2, 0, 3, 4, 0].to_vec()));
        assert_eq!(go("PadV2", &[], &[x.clone(), p.clone(), 9i32.into()]).1, [9, 9, 9, 1, 2, 9, 3, 4, 9]);
        let mode = |m: &'static str| [("mode", AttrValue::from(m))];
        assert_eq!(go("MirrorPad", &mode("REFLECT"), &[x.clone(), p.clone()]).1, [3, 4, 3, 1, 2, 1, 3, 4, 3]);
        assert_eq!(go("MirrorPad", &mode("SYMMETRIC"), &[x.clone(), p.clone()]).1, [1, 2, 2, 1, 2, 2, 3, 4, 4]);
        let y = tensor(&[3, 3], &[1i32, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(
            go("MirrorPadGrad", &mode("REFLECT"), &[y.clone(), p.clone()]),
            ([2, 2].to_vec(), [10, 5, 20, 10].to_vec())
        );
        assert_eq!(go("MirrorPadGrad", &mode("SYMMETRIC"), &[y, p]).1, [5, 16, 7, 17]);
    }

    /// Complex numbers are conjugated on the way.
    #[test]
    fn conjugates() {
        let c = num_complex::Complex::new(1.0f32, 2.0);
        let out = run("ConjugateTranspose", &[], &[tensor(&[1, 1], &[c]), v(&[1, 0])]).unwrap();
        assert_eq!(out[0].as_slice::<num_complex::Complex<f32>>().unwrap(), [c.conj()]);
    }

    /// Gathers along an axis, with batches, of strings and truth values.
    #[test]
    fn gathers() {
        let x = tensor(&[2, 2], &[1i32, 2, 3, 4]);
        let i = tensor(&[2, 1], &[0i32, 1]);
        assert_eq!(
            go("GatherV2", &[], &[x.clone(), i.clone(), 1i32.into()]),
            ([2, 2, 1].to_vec(), [1, 2, 3, 4].to_vec())
        );
        for batch in [1i64, -1] {
            let attrs = [("batch_dims", batch.into())];
            assert_eq!(
                go("GatherV2", &attrs, &[x.clone(), i.clone(), 1i32.into()]),
                ([2, 1].to_vec(), [1, 4].to_vec())
            );
        }
        let s = run("GatherV2", &[], &[strings(&[2], &["a", "b"]), 1i64.into(), 0i64.into()]).unwrap();
        assert_eq!(s[0].strings().unwrap(), ["b"]);
        let b = run("Gather", &[], &[tensor(&[2], &[true, false]), v(&[1, 0])]).unwrap();
        assert_eq!(b[0].as_slice::<bool>().unwrap(), [false, true]);
        let error = run("GatherV2", &[], &[x.clone(), tensor(&[2, 1], &[0i32, 5]), 0i32.into()]).unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::InvalidArgument, "indices[1,0] = 5 is not in [0, 2)"));
        let bad = |batch: i64, axis: i32| {
            code("GatherV2", &[("batch_dims", batch.into())], &[x.clone(), i.clone(), axis.into()])
        };
        assert_eq!([bad(0, 2), bad(3, 1), bad(1, 0)], [Code::InvalidArgument; 3]);
        assert_eq!(code("Gather", &[], &[1i32.into(), v(&[0])]), Code::InvalidArgument);
    }

    /// What each op refuses.
    #[test]
    fn refusals() {
        let x = tensor(&[2, 2], &[1i32, 2, 3, 4]);
        let cases: &[(&str, Tensor)] = &[
            ("Tile", v(&[1])),
            ("Tile", v(&[1, -1])),
            ("Transpose", v(&[0, 0])),
            ("Transpose", v(&[0])),
            ("Transpose", v(&[0, 2])),
            ("ReverseV2", v(&[0, 0])),
            ("ReverseV2", v(&[2])),
            ("BroadcastTo", v(&[3, 2])),
            ("BroadcastTo", v(&[2])),
            ("BroadcastTo", v(&[2, 0])),
            ("Pad", v(&[1])),
            ("Pad", tensor(&[1, 2], &[0i32; 2])),
            ("Pad", tensor(&[2, 2], &[0i32, 0, 0, -1])),
        ];
        for (op, with) in cases {
            assert_eq!(code(op, &[], &[x.clone(), with.clone()]), Code::InvalidArgument, "{op} {with:?}");
        }
        let p = tensor(&[2, 2], &[2i32, 0, 0, 0]);
        assert_eq!(code("MirrorPad", &[("mode", "REFLECT".into())], &[x.clone(), p.clone()]), Code::InvalidArgument);
        assert_eq!(code("MirrorPad", &[("mode", "SYMMETRIC".into())], &[x.clone(), p.clone()]), Code::Ok);
        assert_eq!(code("PadV2", &[], &[x, p, v(&[3])]), Code::InvalidArgument);
    }
}
