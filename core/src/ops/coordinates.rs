//! Places in tensors named by coordinates, read and changed: `GatherNd`, `ScatterNd`, and their relatives.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::carry::{Carried, carried};
use super::dispatch::*;
use super::movement::index_error;
use super::scatter::{Access, Places, appended, numbers, replaced};
use super::shape::{self, ShapeContext};
use super::shapes::{constant_shape, shape_from};
use super::state::missing;
use super::variable::{Variables, uninitialized};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::binary::{self as k, run_in_place};
use crate::kernels::element::Integer;
use crate::kernels::error::{Error, Result as KernelResult};
use crate::kernels::movement::gather::gather_nd;
use crate::tensor::{DType, RANK_MAX, Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[
    &GATHER_ND,
    &RESOURCE_GATHER_ND,
    &SCATTER_ND,
    &SCATTER_ND_NON_ALIASING_ADD,
    &TENSOR_SCATTER_UPDATE,
    &TENSOR_SCATTER_ADD,
    &TENSOR_SCATTER_SUB,
    &TENSOR_SCATTER_MAX,
    &TENSOR_SCATTER_MIN,
    &SCATTER_ND_UPDATE,
    &RESOURCE_SCATTER_ND_UPDATE,
    &SCATTER_ND_ADD,
    &RESOURCE_SCATTER_ND_ADD,
    &SCATTER_ND_SUB,
    &RESOURCE_SCATTER_ND_SUB,
    &SCATTER_ND_MAX,
    &RESOURCE_SCATTER_ND_MAX,
    &SCATTER_ND_MIN,
    &RESOURCE_SCATTER_ND_MIN,
];

static GATHER_ND: Op = Op::new(
    "GatherNd",
    "params: Tparams, indices: Tindices -> output: Tparams",
    "Tparams: type; Tindices: {int16, int32, int64}; bad_indices_policy: string = ''",
)
.shape(gather_shape)
.kernel(
    &[("Tindices", GATHER_INDICES)],
    |node| carried!(node, "Tparams", C => dispatch!(node, "Tindices", GATHER_INDICES I => gather::<C, I>(node))),
);
static RESOURCE_GATHER_ND: Op = Op::new(
    "ResourceGatherNd",
    "resource: resource, indices: Tindices -> output: dtype",
    "dtype: type; Tindices: {int32, int64}",
)
.stateful()
.shape(shape::unknown)
.kernel(
    &[("Tindices", INDICES)],
    |node| carried!(node, "dtype", C => dispatch!(node, "Tindices", INDICES I => resource_gather::<C, I>(node))),
);

static SCATTER_ND: Op = Op::new(
    "ScatterNd",
    "indices: Tindices, updates: T, shape: Tindices -> output: T",
    "T: type; Tindices: {int16, int32, int64}; bad_indices_policy: string = ''",
)
.shape(|c| Ok(alloc::vec![constant_shape(c, 2)]))
.kernel(&[("T", MOVED), ("Tindices", INDICES)], |node| {
    dispatch!(node, "Tindices", INDICES I => match node.dtype("T")? {
        DType::String => scatter_nd::<_, I>(node, appended()),
        DType::Bool => scatter_nd::<_, I>(node, numbers(or)),
        _ => dispatch!(node, "T", NUMBERS T => scatter_nd::<T, I>(node, numbers(run_in_place::<k::Add, T>))),
    })
});
static SCATTER_ND_NON_ALIASING_ADD: Op = Op::new(
    "ScatterNdNonAliasingAdd",
    "input: T, indices: Tindices, updates: T -> output: T",
    "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, \
        uint16, complex128, half, uint32, uint64, bool}; Tindices: {int32, int64}; bad_indices_policy: string = ''",
)
.shape(shape::unchanged)
.kernel(&[("T", PLAIN), ("Tindices", INDICES)], |node| {
    dispatch!(node, "Tindices", INDICES I => dispatch!(
        node, "T",
        NUMBERS T => changed::<T, I>(node, numbers(run_in_place::<k::Add, T>), false),
        BOOL T => changed::<T, I>(node, numbers(or), false),
    ))
});

/// Numbers, truth values and strings.
const MOVED: &[DType] = &with_string::<{ PLAIN.len() + 1 }>(PLAIN);

const IN_TENSOR: &str = "tensor: T, indices: Tindices, updates: T -> output: T";
const TENSOR_ATTRS: &str = "T: type; Tindices: {int32, int64}; bad_indices_policy: string = ''";
static TENSOR_SCATTER_UPDATE: Op = Op::new(
    "TensorScatterUpdate",
    IN_TENSOR,
    "T: type; Tindices: {int16, int32, int64, uint16}; bad_indices_policy: string = ''",
)
.shape(shape::unchanged)
.kernel(
    &[("T", MOVED), ("Tindices", INDICES)],
    |node| carried!(node, "T", C => dispatch!(node, "Tindices", INDICES I => changed::<C, I>(node, replaced(), true))),
);

macro_rules! in_tensor {
    ($($id:ident = $name:ident, $set:ident $op:ident;)*) => {$(
        static $id: Op = Op::new(stringify!($name), IN_TENSOR, TENSOR_ATTRS)
            .shape(shape::unchanged)
            .kernel(&[("T", $set), ("Tindices", INDICES)], |node| {
                dispatch!(node, "Tindices", INDICES I => dispatch!(
                    node, "T", $set T => changed::<T, I>(node, numbers(run_in_place::<k::$op, T>), true)
                ))
            });
    )*};
}
in_tensor! {
    TENSOR_SCATTER_ADD = TensorScatterAdd, NUMBERS Add;
    TENSOR_SCATTER_SUB = TensorScatterSub, NUMBERS Sub;
    TENSOR_SCATTER_MAX = TensorScatterMax, REALS Maximum;
    TENSOR_SCATTER_MIN = TensorScatterMin, REALS Minimum;
}

const BY_REFERENCE: &str = "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)";
const BY_RESOURCE: &str = "ref: resource, indices: Tindices, updates: T ->";
const NUMBER: &str = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, \
    qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, int64}; use_locking: bool = false; \
    bad_indices_policy: string = ''";
const ANY: &str = "T: type; Tindices: {int32, int64}; use_locking: bool = true; bad_indices_policy: string = ''";
static SCATTER_ND_UPDATE: Op = Op::new("ScatterNdUpdate", BY_REFERENCE, ANY).shape(shape::unchanged).kernel(
    &[("T", MOVED), ("Tindices", INDICES)],
    |node| carried!(node, "T", C => dispatch!(node, "Tindices", INDICES I => variable::<C, I>(node, replaced()))),
);
static RESOURCE_SCATTER_ND_UPDATE: Op =
    Op::new("ResourceScatterNdUpdate", BY_RESOURCE, ANY).stateful().shape(shape::unknown).kernel(
        &[("T", MOVED), ("Tindices", INDICES)],
        |node| carried!(node, "T", C => dispatch!(node, "Tindices", INDICES I => variable::<C, I>(node, replaced()))),
    );

macro_rules! in_variables {
    ($($id:ident, $resource:ident = $name:literal, [$set:ident, $resource_set:ident] $part:ident $op:ident $(, $truth:ident)?;)*) => {$(
        static $id: Op = Op::new($name, BY_REFERENCE, NUMBER)
            .shape(shape::unchanged)
            .kernel(&[("T", $set), ("Tindices", INDICES)], |node| {
                dispatch!(node, "Tindices", INDICES I => dispatch!(
                    node, "T", $part T => variable::<T, I>(node, numbers(run_in_place::<k::$op, T>))
                ))
            });
        static $resource: Op = Op::new(concat!("Resource", $name), BY_RESOURCE, ANY)
            .stateful()
            .shape(shape::unknown)
            .kernel(&[("T", $resource_set), ("Tindices", INDICES)], |node| {
                dispatch!(node, "Tindices", INDICES I => dispatch!(
                    node, "T", $part T => variable::<T, I>(node, numbers(run_in_place::<k::$op, T>))
                    $(, BOOL T => variable::<T, I>(node, numbers($truth)))?
                ))
            });
    )*};
}
in_variables! {
    SCATTER_ND_ADD, RESOURCE_SCATTER_ND_ADD = "ScatterNdAdd", [NUMBERS, PLAIN] NUMBERS Add, or;
    SCATTER_ND_SUB, RESOURCE_SCATTER_ND_SUB = "ScatterNdSub", [NUMBERS, PLAIN] NUMBERS Sub, differ;
    SCATTER_ND_MAX, RESOURCE_SCATTER_ND_MAX = "ScatterNdMax", [REALS, REALS] REALS Maximum;
    SCATTER_ND_MIN, RESOURCE_SCATTER_ND_MIN = "ScatterNdMin", [REALS, REALS] REALS Minimum;
}

fn truths(to: &mut [bool], from: &[bool], f: impl Fn(bool, bool) -> bool) -> KernelResult<()> {
    let one = from.len() == 1;
    for (i, t) in to.iter_mut().enumerate() {
        *t = f(*t, *from.get(if one { 0 } else { i }).ok_or(Error::Length)?);
    }
    Ok(())
}

/// The sum of truth values.
fn or(to: &mut [bool], from: &[bool]) -> KernelResult<()> {
    truths(to, from, |a, b| a | b)
}

/// The difference of truth values.
fn differ(to: &mut [bool], from: &[bool]) -> KernelResult<()> {
    truths(to, from, |a, b| a != b)
}

type Sizes = heapless::Vec<usize, RANK_MAX>;

fn invalid(text: core::fmt::Arguments<'_>) -> Status {
    Status::invalid_argument(text)
}

/// Whether rows that point outside are left out; they are refused by default.
fn skips(node: &NodeContext<'_>) -> Result<bool, Status> {
    let Some(_) = node.attrs().get("bad_indices_policy") else { return Ok(false) };
    match node.attrs().str("bad_indices_policy")? {
        "" | "DEFAULT" | "ERROR" => Ok(false),
        "IGNORE" => Ok(true),
        other => Err(invalid(format_args!("Unknown bad indices handling attribute: {other}"))),
    }
}

/// More coordinates in a row than TensorFlow takes.
const DEPTH_MAX: usize = 7;

/// What a gather from `params` gives, and how many coordinates a row has.
fn gathered(params: &[i64], indices: &[i64]) -> Result<(Vec<i64>, usize), Status> {
    let (Some((&depth, rows)), false) = (indices.split_last(), params.is_empty()) else {
        return Err(invalid(format_args!("params and indices must be at least a vector: {params:?} and {indices:?}")));
    };
    let depth = usize::try_from(depth).ok().filter(|&d| d <= params.len()).ok_or_else(|| {
        invalid(format_args!("indices innermost dimension length must be <= params rank; saw: {depth} vs. {params:?}"))
    })?;
    if depth > DEPTH_MAX {
        return Err(invalid(format_args!("indices.shape[-1] of {depth} exceeds {DEPTH_MAX}")));
    }
    Ok((rows.iter().chain(&params[depth..]).copied().collect(), depth))
}

fn gather_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    match (c.input(0).dims, c.input(1).dims) {
        (Some(params), Some(indices)) if indices.last().is_none_or(|&d| d >= 0) => {
            Ok(alloc::vec![PartialShape { dims: Some(gathered(&params, &indices)?.0) }])
        }
        _ => shape::unknown(c),
    }
}

fn gather_from<C: Carried, I: Value + Integer>(c: &mut Ctx<'_>, params: &Tensor, skips: bool) -> Result<(), Status> {
    let wide = |shape: &Shape| shape.dims().iter().map(|&d| i64::from(d)).collect::<heapless::Vec<i64, RANK_MAX>>();
    let (sizes, indices) = (params.shape().to_usize(), wide(c.input(1).shape()));
    let (dims, depth) = gathered(&wide(params.shape()), &indices)?;
    let rows = indices[..indices.len() - 1].iter().all(|&d| d > 0);
    if rows && params.num_elements() == 0 {
        return Err(invalid(format_args!(
            "Requested more than 0 entries, but params is empty.  Params shape: {}",
            params.shape()
        )));
    }
    let mut out = c.output(0, params.dtype(), &Shape::from_i64(&dims)?)?;
    let outside = C::default();
    let outside = if skips { Some(&outside) } else { None };
    let flat = c.input(1).as_slice::<I>()?;
    gather_nd(C::read(params)?, &sizes, flat, depth, outside, C::write(&mut out)?).map_err(|error| {
        let rows: Sizes = c.input(1).shape().to_usize().into_iter().take(indices.len() - 1).collect();
        index_error(error, &Shape::new(&rows).unwrap_or_default())
    })?;
    c.set(0, out);
    Ok(())
}

fn gather<C: Carried, I: Value + Integer>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let skips = skips(node)?;
    kernel(move |c: &mut Ctx<'_>| {
        let params = c.input(0).clone();
        gather_from::<C, I>(c, &params, skips)
    })
}

fn resource_gather<C: Carried, I: Value + Integer>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (variables, dtype) = (Variables::new(node), node.dtype("dtype")?);
    kernel(move |c: &mut Ctx<'_>| {
        let value = variables.get(c, 0)?.read().ok_or_else(|| missing(c))?;
        if value.dtype() != dtype {
            return Err(invalid(format_args!("Trying to gather from a variable of {} as {dtype}", value.dtype())));
        }
        gather_from::<C, I>(c, &value, false)
    })
}

/// The coordinates in a row of indices, when updates fit what the rows name in a tensor of shape `params`. A vector of
/// indices stands for as many rows of one coordinate.
fn depth_of(params: &Shape, indices: &Shape, updates: &Shape) -> Result<usize, Status> {
    let wrong = || {
        invalid(format_args!(
            "Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got updates.shape: \
             {updates}, indices.shape: {indices}, params_shape: {params}"
        ))
    };
    let (batch, depth) = match indices.rank() {
        0 => return Err(wrong()),
        1 => (1, 1),
        rank => (rank - 1, indices.dim(rank - 1)),
    };
    let rest = params.dims().get(depth..).ok_or_else(wrong)?;
    if !updates.dims().iter().eq(indices.dims().iter().take(batch).chain(rest)) {
        return Err(wrong());
    }
    let counts = [params, indices, updates].map(Shape::num_elements);
    if !(counts[1] == 0 && counts[2] == 0) && counts.contains(&0) {
        return Err(invalid(format_args!(
            "Indices and updates specified for empty output {params}. indices shape: {indices}"
        )));
    }
    if depth > DEPTH_MAX {
        return Err(invalid(format_args!("indices.shape[-1] of {depth} exceeds {DEPTH_MAX}")));
    }
    Ok(depth)
}

/// As [`depth_of`] for ops on tensors, which take no vector of indices.
fn strict_depth_of(params: &Shape, indices: &Shape, updates: &Shape) -> Result<usize, Status> {
    if indices.rank() == 0 || updates.rank() == 0 {
        return Err(invalid(format_args!("indices and updates must have rank at least one: {indices} and {updates}")));
    }
    let outer = indices.rank() - 1;
    let inner = params.dims().get(indices.dim(outer)..);
    let fits = inner.is_some_and(|rest| {
        updates.dims().iter().eq(indices.dims().get(..outer).unwrap_or_default().iter().chain(rest))
    });
    if !fits {
        return Err(invalid(format_args!(
            "Dimensions [0,{outer}) of indices {indices} and the last ones of {params} must match updates {updates}"
        )));
    }
    depth_of(params, indices, updates)
}

fn scatter_nd<E: Clone + Send + Sync + 'static, I: Value + Integer>(
    node: &NodeContext<'_>,
    access: Access<E>,
) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, skips) = (node.dtype("T")?, skips(node)?);
    kernel(move |c: &mut Ctx<'_>| {
        let shape = shape_from(c.input(2))?;
        let depth = strict_depth_of(&shape, c.input(0).shape(), c.input(1).shape())?;
        let mut out = c.output_zeroed(0, dtype, &shape)?;
        access.apply::<I>(&mut out, (c.input(0), c.input(1)), Places { depth, skips }, c.budget())?;
        c.set(0, out);
        Ok(())
    })
}

fn changed<E: Clone + Send + Sync + 'static, I: Value + Integer>(
    node: &NodeContext<'_>,
    access: Access<E>,
    strict: bool,
) -> Result<Box<dyn Kernel>, Status> {
    let skips = skips(node)?;
    kernel(move |c: &mut Ctx<'_>| {
        let check = if strict { strict_depth_of } else { depth_of };
        let params = c.input(0).shape();
        if strict && params.rank() == 0 {
            return Err(invalid(format_args!("Output must be at least 1-D, got shape: {params}")));
        }
        let depth = check(params, c.input(1).shape(), c.input(2).shape())?;
        let mut out = c.forward(0, 0).unwrap_or_else(|| c.input(0).clone());
        access.apply::<I>(&mut out, (c.input(1), c.input(2)), Places { depth, skips }, c.budget())?;
        c.set(0, out);
        Ok(())
    })
}

fn variable<E: Clone + Send + Sync + 'static, I: Value + Integer>(
    node: &NodeContext<'_>,
    access: Access<E>,
) -> Result<Box<dyn Kernel>, Status> {
    let (variables, skips) = (Variables::new(node), skips(node)?);
    let is_ref = node.node.input_types.first().is_some_and(|&(_, is_ref)| is_ref);
    kernel(move |c: &mut Ctx<'_>| {
        let variable = variables.get(c, 0)?;
        let (indices, updates) = (c.input(1), c.input(2));
        let mut guard = variable.value.lock();
        let Some(current) = guard.as_mut() else {
            drop(guard);
            return Err(if is_ref { uninitialized(c, 0) } else { missing(c) });
        };
        let depth = depth_of(current.shape(), indices.shape(), updates.shape())?;
        access.apply::<I>(current, (indices, updates), Places { depth, skips }, c.budget())?;
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
    use crate::ops::testing::{Device, run, strings, tensor};
    use crate::tensor::{DType, Tensor};

    /// Places and slices read, left out where asked, refused where not.
    #[test]
    fn gathers() {
        let x = tensor(&[2, 2], &[1i32, 2, 3, 4]);
        let go = |attrs: &[(&str, AttrValue)], i: Tensor| {
            run("GatherNd", attrs, &[x.clone(), i]).map(|o| o[0].as_slice::<i32>().unwrap().to_vec())
        };
        assert_eq!(go(&[], tensor(&[2, 2], &[1i32, 0, 0, 1])).unwrap(), [3, 2]);
        assert_eq!(go(&[], tensor(&[1, 1], &[1i64])).unwrap(), [3, 4]);
        let outside = tensor(&[2, 1], &[0i16, 2]);
        let error = go(&[], outside.clone()).unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::InvalidArgument, "indices[1] = 2 is not in [0, 2)"));
        assert_eq!(go(&[("bad_indices_policy", "IGNORE".into())], outside.clone()).unwrap(), [1, 2, 0, 0]);
        assert_eq!(go(&[("bad_indices_policy", "PERHAPS".into())], outside).unwrap_err().code(), Code::InvalidArgument);
        assert_eq!(go(&[], tensor(&[1, 3], &[0i32; 3])).unwrap_err().code(), Code::InvalidArgument);
    }

    /// Sums of numbers, strings and truth values into nothing; updates of a tensor given.
    #[test]
    fn scatters() {
        let i = tensor(&[3, 1], &[0i32, 2, 0]);
        let shape = tensor(&[1], &[3i32]);
        let sum = |u: Tensor| run("ScatterNd", &[], &[i.clone(), u, shape.clone()]).unwrap().remove(0);
        assert_eq!(sum(tensor(&[3], &[1.0f32, 2.0, 3.0])).as_slice::<f32>().unwrap(), [4.0, 0.0, 2.0]);
        assert_eq!(sum(tensor(&[3], &[true, true, false])).as_slice::<bool>().unwrap(), [true, false, true]);
        assert_eq!(sum(strings(&[3], &["a", "b", "c"])).strings().unwrap(), ["ac", "", "b"]);
        let x = tensor(&[3], &[10i32, 20, 30]);
        let u = tensor(&[3], &[1i32, 50, 2]);
        let cases: &[(&str, [i32; 3])] = &[
            ("TensorScatterUpdate", [2, 20, 50]),
            ("TensorScatterAdd", [13, 20, 80]),
            ("TensorScatterSub", [7, 20, -20]),
            ("TensorScatterMax", [10, 20, 50]),
            ("TensorScatterMin", [1, 20, 30]),
            ("ScatterNdNonAliasingAdd", [13, 20, 80]),
        ];
        for (op, want) in cases {
            let out = run(op, &[], &[x.clone(), i.clone(), u.clone()]).unwrap();
            assert_eq!(out[0].as_slice::<i32>().unwrap(), want, "{op}");
            let wrong = run(op, &[], &[x.clone(), i.clone(), tensor(&[2], &[1i32; 2])]).unwrap_err();
            assert_eq!(wrong.code(), Code::InvalidArgument, "{op}");
            let outside = run(op, &[], &[x.clone(), tensor(&[3, 1], &[0i32, 3, 0]), u.clone()]).unwrap_err();
            assert_eq!(outside.message(), "indices[1] = 3 is not in [0, 3)", "{op}");
        }
        assert_eq!(x.as_slice::<i32>().unwrap(), [10, 20, 30]);
    }

    /// Variables of both kinds.
    #[test]
    fn variables() {
        let device = Device::new();
        let shape = ("shape", AttrValue::from(PartialShape::new(&[2])));
        let v = device.run("VarHandleOp", &[shape, ("dtype", DType::Int32.into())], &[]).unwrap().remove(0);
        device.run("AssignVariableOp", &[], &[v.clone(), tensor(&[2], &[5i32, 6])]).unwrap();
        let (i, u) = (tensor(&[1, 1], &[1i32]), tensor(&[1], &[9i32]));
        let read = || {
            let out = device.run("ResourceGatherNd", &[("dtype", DType::Int32.into())], &[v.clone(), i.clone()]);
            out.unwrap()[0].as_slice::<i32>().unwrap()[0]
        };
        for (op, want) in [("Add", 15), ("Sub", 6), ("Max", 9), ("Min", 9), ("Update", 9)] {
            let op = alloc::format!("ResourceScatterNd{op}");
            device.run(&op, &[], &[v.clone(), i.clone(), u.clone()]).unwrap();
            assert_eq!(read(), want, "{op}");
        }
        let wrong = device.run("ResourceScatterNdAdd", &[], &[v, i, tensor(&[2], &[1i32; 2])]).unwrap_err();
        assert_eq!(wrong.code(), Code::InvalidArgument);
    }
}
