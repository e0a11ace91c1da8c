//! Tensor lists from and to single tensors: stacked, gathered, scattered, concatenated and split.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dispatch::INDICES;
use super::lists::{ELEMENTS, change, list_of, merged, put, shape_of};
use super::shape::{self, ShapeContext};
use super::shapes::scalar_int;
use super::tensor_list::{TensorList, incompatible, push_rows};
use super::{Ctx, Kernel, NodeContext, Op, kernel, rows};
use crate::Status;
use crate::graph::PartialShape;
use crate::tensor::{DType, Shape, Tensor};

pub(super) static STACK: Op = Op::new(
    "TensorListStack",
    "input_handle: variant, element_shape: int32 -> tensor: element_dtype",
    "element_dtype: type; num_elements: int = -1",
)
.shape(shape::unknown)
.kernel(&[("element_dtype", ELEMENTS)], stack);
pub(super) static FROM_TENSOR: Op = Op::new(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type -> output_handle: variant",
    "element_dtype: type; shape_type: {int32, int64}",
)
.shape(shape::scalar)
.kernel(&[("element_dtype", ELEMENTS), ("shape_type", INDICES)], from_tensor);
pub(super) static GATHER: Op = Op::new(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32 -> values: element_dtype",
    "element_dtype: type",
)
.shape(shape::unknown)
.kernel(&[("element_dtype", ELEMENTS)], gather);
pub(super) static SCATTER: Op = Op::new(
    "TensorListScatter",
    "tensor: element_dtype, indices: int32, element_shape: shape_type -> output_handle: variant",
    "element_dtype: type; shape_type: {int32, int64}",
)
.shape(shape::scalar)
.kernel(&[("element_dtype", ELEMENTS)], scatter);
pub(super) static SCATTER_V2: Op = Op::new(
    "TensorListScatterV2",
    "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32 -> output_handle: variant",
    "element_dtype: type; shape_type: {int32, int64}",
)
.shape(shape::scalar)
.kernel(&[("element_dtype", ELEMENTS)], scatter);
pub(super) static SCATTER_INTO: Op = Op::new(
    "TensorListScatterIntoExistingList",
    "input_handle: variant, tensor: element_dtype, indices: int32 -> output_handle: variant",
    "element_dtype: type",
)
.shape(shape::scalar)
.kernel(&[("element_dtype", ELEMENTS)], scatter_into);
pub(super) static CONCAT: Op = Op::new(
    "TensorListConcat",
    "input_handle: variant -> tensor: element_dtype, lengths: int64",
    "element_dtype: type; element_shape: shape = ?",
)
.shape(concat_shape)
.kernel(&[("element_dtype", ELEMENTS)], concat);
pub(super) static CONCAT_V2: Op = Op::new(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64 -> tensor: element_dtype, lengths: int64",
    "element_dtype: type; shape_type: {int32, int64}",
)
.shape(concat_shape)
.kernel(&[("element_dtype", ELEMENTS)], concat);
pub(super) static SPLIT: Op = Op::new(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64 -> output_handle: variant",
    "element_dtype: type; shape_type: {int32, int64}",
)
.shape(shape::scalar)
.kernel(&[("element_dtype", ELEMENTS)], split);

fn concat_shape(_: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    Ok(alloc::vec![PartialShape::unknown(), PartialShape::new(&[-1])])
}

/// Elements one above the other; one that is not set is zeros.
fn put_elements<'a>(
    mut out: Tensor,
    size: usize,
    elements: impl Iterator<Item = Option<&'a Tensor>>,
) -> Result<Tensor, Status> {
    for (i, element) in elements.enumerate() {
        match element {
            Some(element) => rows::put(&mut out, i * size, element)?,
            None => rows::clear(&mut out, i * size, size)?,
        }
    }
    Ok(out)
}

fn stack(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, count) = (node.dtype("element_dtype")?, node.attrs().int("num_elements")?);
    kernel(move |c: &mut Ctx<'_>| {
        let list = list_of(c, dtype)?;
        if count != -1 && usize::try_from(count).ok() != Some(list.len()) {
            return Err(Status::invalid_argument(format_args!(
                "Operation expected a list with {count} elements but got a list with {} elements.",
                list.len()
            )));
        }
        let shape = merged(c, list, 1)?;
        if shape.to_shape().is_none() && list.len() == 0 {
            return Err(Status::invalid_argument(format_args!(
                "Tried to stack elements of an empty list with non-fully-defined element_shape: {shape}"
            )));
        }
        let shape = list.merged_shape(shape, 0..list.len())?;
        let element = shape.to_shape().ok_or_else(|| {
            Status::invalid_argument(format_args!(
                "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined \
                 element_shape: {shape}"
            ))
        })?;
        let out = c.output(0, dtype, &rows::above(list_of(c, dtype)?.len(), &element)?)?;
        let list = list_of(c, dtype)?;
        let out = put_elements(out, element.num_elements(), list.elements().iter().map(Option::as_ref))?;
        c.set(0, out);
        Ok(())
    })
}

fn gather(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let list = list_of(c, dtype)?;
        let indices = c.input(1).as_slice::<i32>()?;
        let shape = merged(c, list, 2)?;
        if shape.to_shape().is_none() && indices.is_empty() {
            return Err(Status::invalid_argument(format_args!(
                "Tried to gather 0-elements from a list with non-fully-defined shape: {shape}"
            )));
        }
        let mut at = Vec::with_capacity(indices.len());
        for &i in indices {
            let found = usize::try_from(i).ok().filter(|&i| i < list.len());
            at.push(found.ok_or_else(|| {
                Status::invalid_argument(format_args!("Index {i} out o range; list only has {} elements.", list.len()))
            })?);
        }
        let shape = list.merged_shape(shape, at.iter().copied())?;
        let element = shape.to_shape().ok_or_else(|| {
            Status::invalid_argument(format_args!(
                "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: {shape}"
            ))
        })?;
        let out = c.output(0, dtype, &rows::above(at.len(), &element)?)?;
        let elements = list_of(c, dtype)?.elements();
        let chosen = at.iter().map(|&i| elements.get(i).and_then(Option::as_ref));
        let out = put_elements(out, element.num_elements(), chosen)?;
        c.set(0, out);
        Ok(())
    })
}

/// The element shape that a list made of a tensor declares, and the shape of the tensor's rows, which agree.
fn declared(c: &Ctx<'_>, input: usize) -> Result<PartialShape, Status> {
    let (_, row) = rows::below(c.input(0).shape())?;
    let shape = shape_of(c.input(input))?;
    if shape.admits(&row) {
        return Ok(shape);
    }
    Err(Status::invalid_argument(format_args!("Specified a list with shape {shape} from a tensor with shape {row}")))
}

fn from_tensor(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let mut list = TensorList::new(dtype, declared(c, 1)?, -1);
        push_rows(&mut list, c.input(0), c.budget())?;
        put(c, 0, list)
    })
}

fn scatter(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, sized) = (node.dtype("element_dtype")?, node.node.input_types.len() > 3);
    kernel(move |c: &mut Ctx<'_>| {
        let size = if sized { scalar_int(c.input(3), "num_elements")? } else { -1 };
        if size < -1 {
            return Err(Status::invalid_argument(format_args!(
                "TensorListScatter expects num_elements >= -1, found: {size}"
            )));
        }
        let shape = declared(c, 2)?;
        let indices = c.input(1).as_slice::<i32>()?;
        let (count, _) = rows::below(c.input(0).shape())?;
        if indices.len() != count {
            return Err(Status::invalid_argument(format_args!(
                "Invalid number of rows in input tensor. Expected: {} Actual: {count}",
                indices.len()
            )));
        }
        for &i in indices {
            if i < 0 {
                return Err(Status::invalid_argument("Indices in TensorListScatter must all be non-negative."));
            }
            if size != -1 && i64::from(i) >= size {
                return Err(Status::invalid_argument(format_args!(
                    "TensorListScatter: Trying to scatter at index {i} in list with size {size}"
                )));
            }
        }
        let highest = indices.iter().copied().max().map_or(0, |i| i64::from(i) + 1);
        let mut list = TensorList::new(dtype, shape, -1);
        list.resize(usize::try_from(highest.max(size)).unwrap_or(0), c.budget())?;
        set_rows(c, &mut list, c.input(0), indices)?;
        put(c, 0, list)
    })
}

/// Sets the elements of these indices, none of them negative, to the rows of a tensor.
fn set_rows(c: &Ctx<'_>, list: &mut TensorList, t: &Tensor, indices: &[i32]) -> Result<(), Status> {
    for (row, &i) in indices.iter().enumerate() {
        list.set(usize::try_from(i).unwrap_or(usize::MAX), rows::row(t, row, c.budget())?)?;
    }
    Ok(())
}

fn scatter_into(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let list = list_of(c, dtype)?;
        let (count, row) = rows::below(c.input(1).shape())?;
        let indices = c.input(2);
        if indices.shape().rank() != 1 {
            return Err(Status::invalid_argument(format_args!(
                "Expected indices to be a vector, but received shape: {}",
                indices.shape()
            )));
        }
        if indices.num_elements() != count {
            return Err(Status::invalid_argument(format_args!(
                "Expected len(indices) == tensor.shape[0], but saw: {} vs. {count}",
                indices.num_elements()
            )));
        }
        if !list.element_shape.admits(&row) {
            return Err(incompatible(&list.element_shape, &row));
        }
        let indices = indices.as_slice::<i32>()?;
        if let Some(i) = indices.iter().find(|&&i| i < 0) {
            return Err(Status::invalid_argument(format_args!("Indices must all be non-negative, got {i}")));
        }
        let needed = indices.iter().copied().max().map_or(0, |i| i as usize + 1);
        change(c, |list, c, budget| {
            if needed > list.len() {
                list.resize(needed, budget)?;
            }
            set_rows(c, list, c.input(1), c.input(2).as_slice()?)
        })
    })
}

/// The first dimension of a shape, where it is known, and what is below it.
fn split_first(shape: &PartialShape) -> Result<(Option<usize>, PartialShape), Status> {
    match shape.dims.as_deref() {
        None => Ok((None, PartialShape::unknown())),
        Some([first, rest @ ..]) => Ok((usize::try_from(*first).ok(), PartialShape::new(rest))),
        Some([]) => {
            Err(Status::invalid_argument("Concat requires elements to be at least vectors, found scalars instead."))
        }
    }
}

/// What a concatenation is made of.
struct Concat {
    /// The shape of the result below its outermost dimension.
    row: Shape,
    /// How many rows each element has.
    lengths: Vec<usize>,
}

fn plan_concat(c: &Ctx<'_>, list: &TensorList, first: Option<usize>, row: PartialShape) -> Result<Concat, Status> {
    if list.len() == 0 && row.to_shape().is_none() {
        return Err(Status::invalid_argument(format_args!(
            "All except the first dimension must be fully defined when concating an empty tensor list. element_shape: \
             {row}"
        )));
    }
    let (mut row, mut common, mut even) = (row, first, true);
    // As TensorFlow has it, a list that declares its elements wholly teaches nothing more about them.
    let looked_at = if list.element_shape.to_shape().is_none() { list.elements() } else { &[] };
    for (i, element) in looked_at.iter().enumerate() {
        let Some(element) = element else { continue };
        let (len, below) = rows::below(element.shape()).map_err(|_| {
            Status::invalid_argument(format_args!(
                "Concat saw a scalar shape at index {i} but requires at least vectors."
            ))
        })?;
        if !row.admits(&below) {
            return Err(incompatible(&row, &below));
        }
        row = PartialShape::from(&below);
        match (first, common) {
            (Some(first), _) if first != len => {
                return Err(Status::invalid_argument(format_args!(
                    "First entry of element_shape input does not match the first dim of list element at index: {i} \
                     Expected: {first} Actual: {len}"
                )));
            }
            (Some(_), _) => {}
            (None, None) if even => common = Some(len),
            (None, Some(same)) if same != len => (common, even) = (None, false),
            _ => {}
        }
    }
    let row = row.to_shape().ok_or_else(|| {
        Status::invalid_argument(format_args!(
            "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim_ is not fully \
             defined: {row}"
        ))
    })?;
    let leading = if c.num_inputs() > 2 { c.input(2).as_slice::<i64>()? } else { &[] };
    let mut lengths = Vec::with_capacity(list.len());
    for (i, element) in list.elements().iter().enumerate() {
        lengths.push(match (element, leading.get(i), common) {
            (Some(element), ..) => match rows::below(element.shape()) {
                Ok((len, below)) if below == row => len,
                found => {
                    let (_, below) = found?;
                    return Err(incompatible(&PartialShape::from(&row), &below));
                }
            },
            (None, None, Some(common)) => common,
            (None, Some(&dim), _) => usize::try_from(dim)
                .map_err(|_| Status::invalid_argument(format_args!("leading_dims[{i}] is negative: {dim}")))?,
            (None, None, None) => {
                return Err(Status::invalid_argument(format_args!(
                    "List contains uninitialized tensor at index {i} but leading_dims has only {} elements.",
                    leading.len()
                )));
            }
        });
    }
    Ok(Concat { row, lengths })
}

fn concat(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("element_dtype")?;
    let declared = node.attrs().shape("element_shape").ok().cloned();
    kernel(move |c: &mut Ctx<'_>| {
        let list = list_of(c, dtype)?;
        let (first, row) = match &declared {
            Some(shape) => (None, split_first(shape)?.1),
            None => split_first(&merged(c, list, 1)?)?,
        };
        let Concat { row, lengths } = plan_concat(c, list, first, row)?;
        let total = lengths.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
        let total = total.ok_or_else(|| Status::invalid_argument("the lengths of a concatenation overflow"))?;
        let mut out = c.output(0, dtype, &rows::above(total, &row)?)?;
        let mut at = 0;
        for (element, &len) in list_of(c, dtype)?.elements().iter().zip(&lengths) {
            let size = len * row.num_elements();
            match element {
                Some(element) => rows::put(&mut out, at, element)?,
                None => rows::clear(&mut out, at, size)?,
            }
            at += size;
        }
        c.set(0, out);
        let mut out = c.output(1, DType::Int64, &Shape::new(&[lengths.len()])?)?;
        out.make_mut::<i64>()?.iter_mut().zip(&lengths).for_each(|(o, &n)| *o = n as i64);
        c.set(1, out);
        Ok(())
    })
}

fn split(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = shape_of(c.input(1))?;
        if shape.rank() == Some(0) {
            return Err(Status::invalid_argument(
                "TensorListSplit requires element_shape to be at least of rank 1, but saw: []",
            ));
        }
        let whole = c.input(0);
        let (count, row) = rows::below(whole.shape())?;
        if !split_first(&shape)?.1.admits(&row) {
            return Err(Status::invalid_argument(format_args!(
                "tensor shape {} is not compatible with element_shape {shape}",
                whole.shape()
            )));
        }
        if c.input(2).shape().rank() != 1 {
            return Err(Status::invalid_argument(format_args!(
                "Expected lengths to be a vector, received shape: {}",
                c.input(2).shape()
            )));
        }
        let mut list = TensorList::new(dtype, shape, -1);
        let mut start = 0;
        for &length in c.input(2).as_slice::<i64>()? {
            let len = usize::try_from(length)
                .map_err(|_| Status::invalid_argument(format_args!("Invalid value in lengths: {length}")))?;
            let end = start + len.min(count + 1);
            if end > count {
                return Err(Status::invalid_argument(format_args!(
                    "Attempting to slice [{start}, {end}] from tensor with length {count}"
                )));
            }
            let part = rows::cut(whole, start * row.num_elements(), &rows::above(len, &row)?, c.budget())?;
            list.push(Some(part), c.budget())?;
            start = end;
        }
        if start != count {
            return Err(Status::invalid_argument(format_args!(
                "Unused values in tensor. Length of tensor: {count} Values used: {start}"
            )));
        }
        put(c, 0, list)
    })
}

#[cfg(test)]
mod tests {
    use crate::graph::AttrValue;
    use crate::ops::testing::{Device, tensor};
    use crate::tensor::{DType, Tensor};

    const FLOAT: (&str, AttrValue) = ("element_dtype", AttrValue::Type(DType::Float, false));

    /// A tensor taken apart and put together again is the same, in each way of doing it.
    #[test]
    fn there_and_back() {
        let device = Device::new();
        let run = |op: &str, inputs: &[Tensor]| device.run(op, &[FLOAT], inputs).unwrap();
        let x = tensor(&[3, 2], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let two = tensor(&[1], &[2i32]);
        let list = run("TensorListFromTensor", &[x.clone(), two.clone()]).swap_remove(0);
        let stacked = run("TensorListStack", &[list.clone(), two.clone()]).swap_remove(0);
        assert_eq!((stacked.shape(), stacked.bytes()), (x.shape(), x.bytes()));
        let gathered = run("TensorListGather", &[list, tensor(&[2], &[2i32, 0]), two]).swap_remove(0);
        assert_eq!(gathered.as_slice::<f32>().unwrap(), [5.0, 6.0, 1.0, 2.0]);
        let rows = tensor(&[2], &[-1i32, 2]);
        let split = run("TensorListSplit", &[x.clone(), rows.clone(), tensor(&[2], &[1i64, 2])]).swap_remove(0);
        let joined = run("TensorListConcatV2", &[split, rows, tensor(&[0], &[] as &[i64])]);
        assert_eq!((joined[0].shape(), joined[0].bytes()), (x.shape(), x.bytes()));
        assert_eq!(joined[1].as_slice::<i64>().unwrap(), [1, 2]);
    }
}
