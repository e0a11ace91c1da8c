//! Rows of variables read and changed by index: what embeddings are trained with.

use alloc::boxed::Box;

use super::carry::{Carried, carried};
use super::dispatch::*;
use super::movement::{gather_view, index_error};
use super::scatter::{Access, Places, numbers, replaced};
use super::state::missing;
use super::variable::{Variables, uninitialized};
use super::{Ctx, Kernel, NodeContext, Op, kernel, shape};
use crate::Status;
use crate::kernels::binary::{self as k, run_in_place};
use crate::kernels::element::Integer;
use crate::kernels::movement::gather::Gather;
use crate::tensor::{RANK_MAX, Shape};

/// This family.
pub static OPS: &[&Op] = &[
    &RESOURCE_GATHER,
    &SCATTER_UPDATE,
    &RESOURCE_SCATTER_UPDATE,
    &SCATTER_ADD,
    &RESOURCE_SCATTER_ADD,
    &SCATTER_SUB,
    &RESOURCE_SCATTER_SUB,
    &SCATTER_MUL,
    &RESOURCE_SCATTER_MUL,
    &SCATTER_DIV,
    &RESOURCE_SCATTER_DIV,
    &SCATTER_MAX,
    &RESOURCE_SCATTER_MAX,
    &SCATTER_MIN,
    &RESOURCE_SCATTER_MIN,
];

static RESOURCE_GATHER: Op = Op::new(
    "ResourceGather",
    "resource: resource, indices: Tindices -> output: dtype",
    "batch_dims: int = 0; validate_indices: bool = true; dtype: type; Tindices: {int32, int64}",
)
.stateful()
.shape(shape::unknown)
.kernel(
    &[("Tindices", INDICES)],
    |node| carried!(node, "dtype", C => dispatch!(node, "Tindices", INDICES I => gather::<C, I>(node))),
);

const BY_REFERENCE: &str = "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)";
const BY_RESOURCE: &str = "resource: resource, indices: Tindices, updates: dtype ->";

/// The attributes of an op on numbers; the order of types is of no account.
macro_rules! number {
    ($name:literal, $rest:literal) => {
        concat!(
            $name,
            ": {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, \
             quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, int64}",
            $rest
        )
    };
}
const NUMBER_REF: &str = number!("T", "; use_locking: bool = false");
const NUMBER_RESOURCE: &str = number!("dtype", "");
const REAL_REF: &str =
    "T: {half, bfloat16, float, double, int32, int64}; Tindices: {int32, int64}; use_locking: bool = false";

static SCATTER_UPDATE: Op = Op::new(
    "ScatterUpdate",
    BY_REFERENCE,
    "T: type; Tindices: {int32, int64}; use_locking: bool = true",
)
.shape(shape::unchanged)
.kernel(
    &[("Tindices", INDICES)],
    |node| carried!(node, "T", C => dispatch!(node, "Tindices", INDICES I => scatter::<C, I>(node, replaced()))),
);
static RESOURCE_SCATTER_UPDATE: Op = Op::new(
    "ResourceScatterUpdate",
    BY_RESOURCE,
    "dtype: type; Tindices: {int32, int64}",
)
.stateful()
.shape(shape::unknown)
.kernel(
    &[("Tindices", INDICES)],
    |node| carried!(node, "dtype", C => dispatch!(node, "Tindices", INDICES I => scatter::<C, I>(node, replaced()))),
);

/// Updates by an operation: the op on references, the one on resources, and per set of types the operation.
macro_rules! scatters {
    ($($id:ident, $resource:ident = $name:literal($attrs:ident), [$ref_set:ident, $set:ident]: $($part:ident $op:ident),+;)*) => {$(
        static $id: Op = Op::new($name, BY_REFERENCE, $attrs)
            .shape(shape::unchanged)
            .kernel(&[("T", $ref_set), ("Tindices", INDICES)], |node| {
                dispatch!(node, "Tindices", INDICES I => dispatch!(
                    node, "T", $($part T => scatter::<T, I>(node, numbers(run_in_place::<k::$op, T>))),+
                ))
            });
        static $resource: Op = Op::new(concat!("Resource", $name), BY_RESOURCE, NUMBER_RESOURCE)
            .stateful()
            .shape(shape::unknown)
            .kernel(&[("dtype", $set), ("Tindices", INDICES)], |node| {
                dispatch!(node, "Tindices", INDICES I => dispatch!(
                    node, "dtype", $($part T => scatter::<T, I>(node, numbers(run_in_place::<k::$op, T>))),+
                ))
            });
    )*};
}
scatters! {
    SCATTER_ADD, RESOURCE_SCATTER_ADD = "ScatterAdd"(NUMBER_REF), [NUMBERS, NUMBERS]: NUMBERS Add;
    SCATTER_SUB, RESOURCE_SCATTER_SUB = "ScatterSub"(NUMBER_REF), [NUMBERS, NUMBERS]: NUMBERS Sub;
    SCATTER_MUL, RESOURCE_SCATTER_MUL = "ScatterMul"(NUMBER_REF), [NUMBERS, NUMBERS]: NUMBERS Mul;
    SCATTER_DIV, RESOURCE_SCATTER_DIV = "ScatterDiv"(NUMBER_REF), [NUMBERS, NUMBERS]: INTEGERS TruncateDiv, INEXACT Div;
    SCATTER_MAX, RESOURCE_SCATTER_MAX = "ScatterMax"(REAL_REF), [ROUND, REALS]: REALS Maximum;
    SCATTER_MIN, RESOURCE_SCATTER_MIN = "ScatterMin"(REAL_REF), [ROUND, REALS]: REALS Minimum;
}

fn gather<C: Carried, I: Value + Integer>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let variables = Variables::new(node);
    let (dtype, batch_dims) = (node.dtype("dtype")?, node.attrs().int("batch_dims")?);
    kernel(move |c: &mut Ctx<'_>| {
        // A handle on the value: writers copy while it is read.
        let value = variables.get(c, 0)?.read().ok_or_else(|| missing(c))?;
        if value.dtype() != dtype {
            return Err(Status::invalid_argument(format_args!(
                "Trying to gather from a variable of {} as {dtype}",
                value.dtype()
            )));
        }
        let (params, indices) = (value.shape().to_usize(), c.input(1).shape().to_usize());
        let (axis, batch) = gather_view(params.len(), indices.len(), batch_dims.max(0), batch_dims)?;
        if let Some(i) = (0..batch).find(|&i| params[i] != indices[i]) {
            return Err(Status::invalid_argument(format_args!(
                "params.shape[{i}]: {} should be equal to indices.shape[{i}]: {}",
                params[i], indices[i]
            )));
        }
        let mut dims = heapless::Vec::<usize, RANK_MAX>::new();
        for &d in params[..axis].iter().chain(&indices[batch..]).chain(&params[axis + 1..]) {
            dims.push(d).map_err(|_| Status::invalid_argument("the result has too many dimensions"))?;
        }
        let mut out = c.output(0, dtype, &Shape::new(&dims)?)?;
        Gather::new(&params, axis, batch)?
            .run(C::read(&value)?, c.input(1).as_slice::<I>()?, C::write(&mut out)?)
            .map_err(|error| index_error(error, c.input(1).shape()))?;
        c.set(0, out);
        Ok(())
    })
}

/// INVALID_ARGUMENT unless updates are one number or a row for each index.
fn rows_fit(params: &Shape, indices: &Shape, updates: &Shape) -> Result<(), Status> {
    if params.rank() == 0 {
        return Err(Status::invalid_argument("params must be at least 1-D, got shape []"));
    }
    let fits = updates.rank() + 1 == indices.rank() + params.rank()
        && updates.dims().iter().eq(indices.dims().iter().chain(params.dims().get(1..).unwrap_or_default()));
    if updates.rank() == 0 || fits {
        return Ok(());
    }
    Err(Status::invalid_argument(format_args!(
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape {updates}, \
         indices.shape {indices}, params.shape {params}"
    )))
}

fn scatter<E: Clone + Send + Sync + 'static, I: Value + Integer>(
    node: &NodeContext<'_>,
    access: Access<E>,
) -> Result<Box<dyn Kernel>, Status> {
    let variables = Variables::new(node);
    let is_ref = node.node.input_types.first().is_some_and(|&(_, is_ref)| is_ref);
    kernel(move |c: &mut Ctx<'_>| {
        let variable = variables.get(c, 0)?;
        let (indices, updates) = (c.input(1), c.input(2));
        let mut guard = variable.value.lock();
        let Some(current) = guard.as_mut() else {
            drop(guard);
            return Err(if is_ref { uninitialized(c, 0) } else { missing(c) });
        };
        rows_fit(current.shape(), indices.shape(), updates.shape())?;
        access.apply::<I>(current, (indices, updates), Places { depth: 1, skips: false }, c.budget())?;
        drop(guard);
        if is_ref {
            c.set(0, c.input(0).clone());
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::{AttrValue, PartialShape};
    use crate::ops::testing::{Device, tensor};
    use crate::tensor::{DType, Tensor};

    /// A variable of three rows of two on `device`, and its handle.
    fn variable(device: &Device, op: &str) -> Tensor {
        let attrs = [("shape", PartialShape::new(&[3, 2]).into()), ("dtype", DType::Float.into())];
        device.run_named("v", op, &attrs, &[]).unwrap().remove(0)
    }

    /// Every update by resource, then gathers; a reader keeps what it read.
    #[test]
    fn by_resource() {
        let device = Device::new();
        let v = variable(&device, "VarHandleOp");
        let i = tensor(&[2], &[2i32, 0]);
        let dtype: [(&str, AttrValue); 1] = [("dtype", DType::Float.into())];
        let gather = |i: &Tensor| device.run("ResourceGather", &dtype, &[v.clone(), i.clone()]);
        assert_eq!(gather(&i).unwrap_err().code(), Code::NotFound);
        let rows = tensor(&[3, 2], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        device.run("AssignVariableOp", &[], &[v.clone(), rows.clone()]).unwrap();
        let u = tensor(&[2, 2], &[2.0f32, 4.0, 8.0, 16.0]);
        let cases: &[(&str, [f32; 4])] = &[
            ("ResourceScatterAdd", [7.0, 10.0, 9.0, 18.0]),
            ("ResourceScatterSub", [5.0, 6.0, 1.0, 2.0]),
            ("ResourceScatterMul", [10.0, 24.0, 8.0, 32.0]),
            ("ResourceScatterDiv", [5.0, 6.0, 1.0, 2.0]),
            ("ResourceScatterMax", [5.0, 6.0, 8.0, 16.0]),
            ("ResourceScatterMin", [2.0, 4.0, 8.0, 16.0]),
            ("ResourceScatterUpdate", [2.0, 4.0, 8.0, 16.0]),
        ];
        for (op, want) in cases {
            device.run(op, &[], &[v.clone(), i.clone(), u.clone()]).unwrap();
            assert_eq!(gather(&i).unwrap()[0].as_slice::<f32>().unwrap(), want, "{op}");
        }
        assert_eq!(rows.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let outside = gather(&tensor(&[1], &[3i32])).unwrap_err();
        assert_eq!((outside.code(), outside.message()), (Code::InvalidArgument, "indices[0] = 3 is not in [0, 3)"));
    }

    /// By reference, with one number for all rows; what does not fit is refused and changes nothing.
    #[test]
    fn by_reference() {
        let device = Device::new();
        let v = variable(&device, "VariableV2");
        let t: [(&str, AttrValue); 1] = [("T", DType::Float.into())];
        let i = tensor(&[2], &[2i64, 2]);
        let go =
            |i: Tensor, u: Tensor| device.run("ScatterAdd", &t, &[v.clone(), i, u]).map_err(|e| e.code()).map(drop);
        assert_eq!(go(i.clone(), 1.0f32.into()), Err(Code::FailedPrecondition));
        device.run("Assign", &t, &[v.clone(), tensor(&[3, 2], &[0.0f32; 6])]).unwrap();
        go(i.clone(), 1.0f32.into()).unwrap();
        assert_eq!(go(i, tensor(&[2], &[1.0f32; 2])), Err(Code::InvalidArgument));
        assert_eq!(go(tensor(&[2], &[0i64, -1]), 1.0f32.into()), Err(Code::InvalidArgument));
        let handle = v.resources().unwrap()[0].target_arc::<crate::resource::Variable>().unwrap();
        assert_eq!(handle.read().unwrap().as_slice::<f32>().unwrap(), [0.0, 0.0, 0.0, 0.0, 2.0, 2.0]);
    }
}
