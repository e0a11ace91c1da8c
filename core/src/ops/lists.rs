//! Tensor lists element by element: made, read, written, pushed and popped. What takes whole batches is in `list_batches`.
//!
//! A list has value semantics. An op that changes one does so in place when its input is the only holder, as in a loop that
//! carries the list on; else it changes a copy, which shares the elements.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dispatch::INDICES;
use super::shapes::{int, ints, scalar_int};
use super::tensor_list::TensorList;
use super::{Ctx, Kernel, NodeContext, Op, kernel, list_batches, rows, shape};
use crate::Status;
use crate::graph::PartialShape;
use crate::tensor::{Budget, DType, Shape, Tensor, Variant};

/// This family.
pub static OPS: &[&Op] = &[
    &EMPTY,
    &RESERVE,
    &LENGTH,
    &ELEMENT_SHAPE,
    &GET_ITEM,
    &SET_ITEM,
    &PUSH_BACK,
    &POP_BACK,
    &PUSH_BACK_BATCH,
    &RESIZE,
    &CONCAT_LISTS,
    &list_batches::STACK,
    &list_batches::FROM_TENSOR,
    &list_batches::GATHER,
    &list_batches::SCATTER,
    &list_batches::SCATTER_V2,
    &list_batches::SCATTER_INTO,
    &list_batches::CONCAT,
    &list_batches::CONCAT_V2,
    &list_batches::SPLIT,
];

/// The dtypes of elements that kernels look into.
pub(super) const ELEMENTS: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::Uint8,
    DType::Int16,
    DType::Int8,
    DType::String,
    DType::Complex64,
    DType::Int64,
    DType::Bool,
    DType::Qint8,
    DType::Quint8,
    DType::Qint32,
    DType::Bfloat16,
    DType::Qint16,
    DType::Quint16,
    DType::Uint16,
    DType::Complex128,
    DType::Half,
    DType::Variant,
    DType::Uint32,
    DType::Uint64,
];

static EMPTY: Op = Op::new(
    "EmptyTensorList",
    "element_shape: shape_type, max_num_elements: int32 -> handle: variant",
    "element_dtype: type; shape_type: {int32, int64}",
)
.shape(shape::scalar)
.kernel(&[], |node| {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let max = scalar_int(c.input(1), "max_num_elements")? as i32;
        put(c, 0, TensorList::new(dtype, shape_of(c.input(0))?, max))
    })
});
static RESERVE: Op = Op::new(
    "TensorListReserve",
    "element_shape: shape_type, num_elements: int32 -> handle: variant",
    "element_dtype: type; shape_type: {int32, int64}",
)
.shape(shape::scalar)
.kernel(&[], |node| {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let count = scalar_int(c.input(1), "num_elements")?;
        let len = usize::try_from(count).map_err(|_| {
            Status::invalid_argument(format_args!(
                "The num_elements to reserve must be a non negative number, but got {count}"
            ))
        })?;
        let mut list = TensorList::new(dtype, shape_of(c.input(0))?, -1);
        list.resize(len, c.budget())?;
        put(c, 0, list)
    })
});
static LENGTH: Op =
    Op::new("TensorListLength", "input_handle: variant -> length: int32", "").shape(shape::scalar).kernel(&[], |_| {
        kernel(|c: &mut Ctx<'_>| {
            let len = list(c, 0)?.len();
            c.set_scalar(0, i32::try_from(len).unwrap_or(i32::MAX));
            Ok(())
        })
    });
static ELEMENT_SHAPE: Op = Op::new(
    "TensorListElementShape",
    "input_handle: variant -> element_shape: shape_type",
    "shape_type: {int32, int64}",
)
.shape(shape::unknown)
.kernel(&[("shape_type", INDICES)], element_shape);
static GET_ITEM: Op = Op::new(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: Tshape -> item: element_dtype",
    "element_dtype: type; Tshape: {int32, int64} = int32",
)
.shape(shape::unknown)
.kernel(&[("element_dtype", ELEMENTS)], get_item);
static SET_ITEM: Op = Op::new(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype -> output_handle: variant",
    "element_dtype: type; resize_if_index_out_of_bounds: bool = false",
)
.shape(shape::scalar)
.kernel(&[], set_item);
static PUSH_BACK: Op = Op::new(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype -> output_handle: variant",
    "element_dtype: type",
)
.shape(shape::scalar)
.kernel(&[], push_back);
static POP_BACK: Op = Op::new(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32 -> output_handle: variant, tensor: element_dtype",
    "element_dtype: type",
)
.shape(|_| Ok(alloc::vec![PartialShape::new(&[]), PartialShape::unknown()]))
.kernel(&[("element_dtype", ELEMENTS)], pop_back);
static PUSH_BACK_BATCH: Op = Op::new(
    "TensorListPushBackBatch",
    "input_handles: variant, tensor: element_dtype -> output_handles: variant",
    "element_dtype: type",
)
.shape(|c| Ok(alloc::vec![c.input(0)]))
.kernel(&[("element_dtype", ELEMENTS)], push_back_batch);
static RESIZE: Op = Op::new("TensorListResize", "input_handle: variant, size: int32 -> output_handle: variant", "")
    .shape(shape::scalar)
    .kernel(&[], |_| {
        kernel(|c: &mut Ctx<'_>| {
            list(c, 0)?;
            let size = scalar_int(c.input(1), "size")?;
            let len = usize::try_from(size).map_err(|_| {
                Status::invalid_argument(format_args!("TensorListSlice expects size to be non-negative. Got: {size}"))
            })?;
            change(c, |list, _, budget| list.resize(len, budget))
        })
    });
static CONCAT_LISTS: Op =
    Op::new("TensorListConcatLists", "input_a: variant, input_b: variant -> output: variant", "element_dtype: type")
        .shape(shape::unchanged)
        .kernel(&[], concat_lists);

/// The list of input `i`.
///
/// # Errors
/// INVALID_ARGUMENT for anything but a scalar that holds one.
pub(super) fn list<'a>(c: &'a Ctx<'_>, i: usize) -> Result<&'a TensorList, Status> {
    let input = c.input(i);
    match input.variants()? {
        [handle] if input.shape().rank() == 0 => handle.value::<TensorList>().ok_or_else(|| {
            Status::invalid_argument(format_args!(
                "Input handle is not a list. Saw: '{}'",
                handle.type_name().unwrap_or("<empty>")
            ))
        }),
        _ => Err(Status::invalid_argument(format_args!("Input list must be a scalar saw: {}", input.shape()))),
    }
}

/// The list of input 0, whose elements are of the op's dtype.
pub(super) fn list_of<'a>(c: &'a Ctx<'_>, dtype: DType) -> Result<&'a TensorList, Status> {
    let list = list(c, 0)?;
    if list.dtype == dtype {
        return Ok(list);
    }
    Err(Status::invalid_argument(format_args!(
        "Invalid data types; op elements {dtype} but list elements {}",
        list.dtype
    )))
}

/// Sets output `o` to a list.
pub(super) fn put(c: &mut Ctx<'_>, o: usize, list: TensorList) -> Result<(), Status> {
    c.set(o, Tensor::from_variants(Shape::scalar(), alloc::vec![Variant::new(list)])?);
    Ok(())
}

/// Changes the list of input 0, which was checked to be one, and sets output 0 to it.
pub(super) fn change(
    c: &mut Ctx<'_>,
    change: impl FnOnce(&mut TensorList, &Ctx<'_>, Option<&Budget>) -> Result<(), Status>,
) -> Result<(), Status> {
    let mut taken = c.take_input(0);
    if let Some(tensor) = &mut taken
        && let Some(list) = tensor.make_variants_mut()?.first_mut().and_then(|v| v.value_mut::<TensorList>())
    {
        change(list, c, c.budget())?;
        c.set(0, taken.unwrap_or_default());
        return Ok(());
    }
    let shared = taken.unwrap_or_else(|| c.input(0).clone());
    let shared = shared.variants()?.first().and_then(|v| v.value::<TensorList>());
    let mut copy = shared.ok_or_else(|| Status::internal("a list is none any more"))?.copy(c.budget())?;
    change(&mut copy, c, c.budget())?;
    put(c, 0, copy)
}

/// The element shape that a tensor tells.
///
/// # Errors
/// INVALID_ARGUMENT for a scalar other than −1 or a negative dimension other than −1.
pub(super) fn shape_of(t: &Tensor) -> Result<PartialShape, Status> {
    let dims = ints(t)?;
    match (t.shape().rank(), &dims[..]) {
        (0, [-1]) => Ok(PartialShape::unknown()),
        (0, _) => Err(Status::invalid_argument(
            "The only valid scalar shape tensor is the fully unknown shape specified as -1.",
        )),
        (1, dims) => match dims.iter().find(|&&d| d < -1) {
            Some(d) => Err(Status::invalid_argument(format_args!("Dimension {d} must be >= -1"))),
            None => Ok(PartialShape::new(dims)),
        },
        _ => Err(Status::invalid_argument(format_args!("a shape must be a vector, got shape {}", t.shape()))),
    }
}

/// The shape of input `i` merged with the list's element shape.
pub(super) fn merged(c: &Ctx<'_>, list: &TensorList, i: usize) -> Result<PartialShape, Status> {
    let shape = shape_of(c.input(i))?;
    shape.merge(&list.element_shape).ok_or_else(|| {
        Status::invalid_argument(format_args!("Incompatible shapes during merge: {shape} vs. {}", list.element_shape))
    })
}

/// An index below `len`.
fn index(index: i64, len: usize, what: &str) -> Result<usize, Status> {
    usize::try_from(index).ok().filter(|&i| i < len).ok_or_else(|| {
        Status::invalid_argument(format_args!("Trying to {what} element {index} in a list with {len} elements."))
    })
}

fn element_shape(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("shape_type")?;
    kernel(move |c: &mut Ctx<'_>| {
        let dims = list(c, 0)?.element_shape.dims.clone();
        let shape = match &dims {
            Some(dims) => Shape::new(&[dims.len()])?,
            None => Shape::scalar(),
        };
        let dims = dims.unwrap_or_else(|| alloc::vec![-1]);
        let mut out = c.output(0, dtype, &shape)?;
        if dtype == DType::Int64 {
            out.make_mut::<i64>()?.copy_from_slice(&dims);
        } else {
            out.make_mut::<i32>()?.iter_mut().zip(&dims).for_each(|(o, &d)| *o = d as i32);
        }
        c.set(0, out);
        Ok(())
    })
}

fn get_item(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let list = list_of(c, dtype)?;
        let at = index(int(c.input(1))?, list.len(), "access")?;
        if let Some(Some(element)) = list.elements().get(at) {
            let element = element.clone();
            c.set(0, element);
            return Ok(());
        }
        let mut shape = merged(c, list, 2)?;
        if shape.to_shape().is_none() {
            shape = list.merged_shape(shape, 0..list.len())?;
        }
        let zeros = shape.to_shape().ok_or_else(|| {
            Status::invalid_argument(format_args!(
                "Trying to read an uninitialized tensor but element_shape is not fully defined: {shape} and no list \
                 element is set."
            ))
        })?;
        let zeros = c.output_zeroed(0, dtype, &zeros)?;
        c.set(0, zeros);
        Ok(())
    })
}

fn set_item(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, grows) = (node.dtype("element_dtype")?, node.attrs().bool("resize_if_index_out_of_bounds")?);
    kernel(move |c: &mut Ctx<'_>| {
        let list = list_of(c, dtype)?;
        let at = match scalar_int(c.input(1), "index")? {
            past if grows && past >= 0 => past as usize,
            i => index(i, list.len(), "modify")?,
        };
        let value = c.input(2);
        if !list.element_shape.admits(value.shape()) {
            return Err(Status::invalid_argument(format_args!(
                "Tried to set a tensor with incompatible shape at a list index. Item element shape: {} list shape: {}",
                value.shape(),
                list.element_shape
            )));
        }
        change(c, |list, c, budget| {
            if at >= list.len() {
                list.resize(at + 1, budget)?;
            }
            list.set(at, c.input(2).clone())
        })
    })
}

/// Whether an element of this shape may be pushed, to the list that an error calls `place`.
fn check_push(list: &TensorList, dtype: DType, shape: &Shape, place: &str) -> Result<(), Status> {
    if !list.element_shape.admits(shape) {
        return Err(Status::invalid_argument(format_args!(
            "Tried to append a tensor with incompatible shape to a list{place}. Op element shape: {shape} list shape: {}",
            list.element_shape
        )));
    }
    if list.dtype != dtype {
        return Err(Status::invalid_argument(format_args!(
            "Invalid data types; op elements {dtype} but list elements {}{place}",
            list.dtype
        )));
    }
    Ok(())
}

fn push_back(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let list = list(c, 0)?;
        check_push(list, dtype, c.input(1).shape(), "")?;
        if usize::try_from(list.max_elements).is_ok_and(|max| list.len() >= max) {
            return Err(Status::invalid_argument(format_args!(
                "Tried to push item into a full list list size: {} max_num_elements: {}",
                list.len(),
                list.max_elements
            )));
        }
        change(c, |list, c, budget| list.push(Some(c.input(1).clone()), budget))
    })
}

fn pop_back(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let list = list_of(c, dtype)?;
        let zeros = match list.elements().last() {
            Some(Some(_)) => None,
            Some(None) => {
                let shape = merged(c, list, 1)?;
                let shape = shape.to_shape().ok_or_else(|| {
                    Status::invalid_argument(format_args!(
                        "Trying to read an uninitialized tensor but element_shape is not fully defined. {shape}"
                    ))
                })?;
                Some(Tensor::zeros(dtype, &shape, c.budget())?)
            }
            None => return Err(Status::invalid_argument("Trying to pop from an empty list.")),
        };
        let mut popped = None;
        change(c, |list, _, _| {
            popped = list.pop().flatten();
            Ok(())
        })?;
        c.set(1, popped.or(zeros).unwrap_or_default());
        Ok(())
    })
}

fn push_back_batch(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let (handles, batch) = (c.input(0), c.input(1));
        let (count, element) = rows::below(batch.shape())?;
        if handles.shape().rank() != 1 || handles.num_elements() != count {
            return Err(Status::invalid_argument(format_args!(
                "Expected input_handles to be a vector of as many as tensor.shape[0], but saw shapes {} and {}",
                handles.shape(),
                batch.shape()
            )));
        }
        let mut lists: Vec<Variant> = Vec::with_capacity(count);
        for (i, handle) in handles.variants()?.iter().enumerate() {
            let list = handle
                .value::<TensorList>()
                .ok_or_else(|| Status::invalid_argument(format_args!("Input handle at index {i} is not a list.")))?;
            check_push(list, dtype, &element, &alloc::format!(" at index {i}"))?;
            let mut list = list.copy(c.budget())?;
            list.push(Some(rows::row(batch, i, c.budget())?), c.budget())?;
            lists.push(Variant::new(list));
        }
        c.set(0, Tensor::from_variants(Shape::new(&[count])?, lists)?);
        Ok(())
    })
}

fn concat_lists(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("element_dtype")?;
    kernel(move |c: &mut Ctx<'_>| {
        let (a, b) = (c.input(0), c.input(1));
        if a.shape() != b.shape() {
            return Err(Status::invalid_argument(format_args!(
                "Incompatible input TensorList tensor shapes: {} vs. {}",
                a.shape(),
                b.shape()
            )));
        }
        let mut lists: Vec<Variant> = Vec::with_capacity(a.num_elements());
        for (i, (x, y)) in a.variants()?.iter().zip(b.variants()?).enumerate() {
            let (Some(x), Some(y)) = (x.value::<TensorList>(), y.value::<TensorList>()) else {
                return Err(Status::invalid_argument(format_args!("an input is not a TensorList at index {i}")));
            };
            if x.dtype != dtype || y.dtype != dtype {
                return Err(Status::invalid_argument(format_args!(
                    "lists of {} and {} at index {i}, expected {dtype}",
                    x.dtype, y.dtype
                )));
            }
            if x.element_shape != y.element_shape {
                return Err(Status::invalid_argument(format_args!(
                    "input_a and input_b TensorList element shapes are not identical at index {i}. Saw {} vs. {}",
                    x.element_shape, y.element_shape
                )));
            }
            let mut list = x.copy(c.budget())?;
            for element in y.elements() {
                list.push(element.clone(), c.budget())?;
            }
            lists.push(Variant::new(list));
        }
        c.set(0, Tensor::from_variants(a.shape().clone(), lists)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{Device, call, call_moved, tensor};
    use crate::tensor::{DType, Tensor};

    const FLOAT: (&str, AttrValue) = ("element_dtype", AttrValue::Type(DType::Float, false));

    fn reserve(device: &Device, n: i32) -> Tensor {
        device.run("TensorListReserve", &[FLOAT], &[tensor(&[0], &[] as &[i32]), n.into()]).unwrap().swap_remove(0)
    }

    /// A list that nobody else holds is changed in place, one that is shared is not changed at all.
    #[test]
    fn copy_on_write() {
        let device = Device::new();
        let list = reserve(&device, 3);
        let node = device.node("TensorListSetItem", &[FLOAT], &[list.clone(), 1.into(), 2.0f32.into()]).unwrap();
        let kernel = device.kernel(&node, &[None, None, None]).unwrap();
        let value = |t: &Tensor| core::ptr::from_ref(t.variants().unwrap()[0].any().unwrap()).addr();
        let mut out = alloc::vec![Tensor::default()];
        call(&*kernel, &[list.clone(), 1.into(), 2.0f32.into()], &mut out).unwrap();
        assert_ne!(value(&out[0]), value(&list));
        let shape = tensor(&[0], &[] as &[i32]);
        let get = |list: &Tensor| {
            device.run("TensorListGetItem", &[FLOAT], &[list.clone(), 1.into(), shape.clone()]).unwrap()[0]
                .to_scalar::<f32>()
                .unwrap()
        };
        assert_eq!((get(&list), get(&out[0])), (0.0, 2.0));
        let (at, moved) = (value(&list), alloc::vec![list, 1.into(), 3.0f32.into()]);
        call_moved(&*kernel, moved, &mut out).unwrap();
        assert_eq!((value(&out[0]), get(&out[0])), (at, 3.0));
    }

    /// What lists refuse.
    #[test]
    fn refusals() {
        let device = Device::new();
        let list = reserve(&device, 1);
        let refused = |op: &str, inputs: &[Tensor]| device.run(op, &[FLOAT], inputs).unwrap_err().code();
        let shape = tensor(&[0], &[] as &[i32]);
        for i in [-1, 1, i32::MAX] {
            assert_eq!(refused("TensorListGetItem", &[list.clone(), i.into(), shape.clone()]), Code::InvalidArgument);
            assert_eq!(refused("TensorListSetItem", &[list.clone(), i.into(), 1.0f32.into()]), Code::InvalidArgument);
        }
        let empty = Tensor::zeros(DType::Variant, &crate::tensor::Shape::scalar(), None).unwrap();
        assert_eq!(refused("TensorListGetItem", &[empty, 0.into(), shape.clone()]), Code::InvalidArgument);
        assert_eq!(refused("TensorListPopBack", &[reserve(&device, 0), shape]), Code::InvalidArgument);
        let vector = tensor(&[2], &[1.0f32, 2.0]);
        assert_eq!(refused("TensorListPushBack", &[list, vector]), Code::InvalidArgument);
    }
}
