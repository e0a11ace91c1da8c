//! Variables: reference variables, resource variables, and their plain assignments.
//!
//! A reference travels as a scalar resource tensor that holds the handle of its variable; the executor reads the value
//! where a consumer wants one. A variable whose value is `None` is uninitialised, and for resource variables does not
//! exist yet. Destroying one takes its value and keeps the name, so that every program keeps meaning the same variable.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::variable::{Variables, name, uninitialized};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::binary::{self, Binary};
use crate::kernels::parallel::chunks_mut;
use crate::resource::Variable;
use crate::tensor::{Resource, Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[
    &VARIABLE,
    &VARIABLE_V2,
    &ASSIGN,
    &ASSIGN_ADD,
    &ASSIGN_SUB,
    &IS_VARIABLE_INITIALIZED,
    &COUNT_UP_TO,
    &VAR_HANDLE_OP,
    &READ_VARIABLE_OP,
    &ASSIGN_VARIABLE_OP,
    &ASSIGN_ADD_VARIABLE_OP,
    &ASSIGN_SUB_VARIABLE_OP,
    &VAR_IS_INITIALIZED_OP,
    &VARIABLE_SHAPE,
    &DESTROY_RESOURCE_OP,
];

const VARIABLE_ATTRS: &str = "shape: shape; dtype: type; container: string = ''; shared_name: string = ''";
static VARIABLE: Op =
    Op::new("Variable", "-> ref: Ref(dtype)", VARIABLE_ATTRS).stateful().shape(declared).kernel(&[], reference);
static VARIABLE_V2: Op =
    Op::new("VariableV2", "-> ref: Ref(dtype)", VARIABLE_ATTRS).stateful().shape(declared).kernel(&[], reference);

fn declared(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    Ok(alloc::vec![c.node.attrs.shape("shape")?.clone()])
}

/// What the op's arithmetic is allowed on.
const NUMERIC: &str = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, \
    qint16, quint16, uint16, complex128, half, uint32, uint64}; use_locking: bool = false";

static ASSIGN: Op = Op::new(
    "Assign",
    "ref: Ref(T), value: T -> output_ref: Ref(T)",
    "T: type; validate_shape: bool = true; use_locking: bool = true",
)
.allows_uninitialized_input()
.shape(|c| Ok(alloc::vec![c.input(1)]))
.kernel(&[], assign);
static ASSIGN_ADD: Op = Op::new("AssignAdd", "ref: Ref(T), value: T -> output_ref: Ref(T)", NUMERIC)
    .shape(shape::unchanged)
    .kernel(&[("T", NUMBERS)], |node| dispatch!(node, "T", NUMBERS T => update::<binary::Add, T>(node, true)));
static ASSIGN_SUB: Op = Op::new("AssignSub", "ref: Ref(T), value: T -> output_ref: Ref(T)", NUMERIC)
    .shape(shape::unchanged)
    .kernel(&[("T", NUMBERS)], |node| dispatch!(node, "T", NUMBERS T => update::<binary::Sub, T>(node, true)));
static IS_VARIABLE_INITIALIZED: Op =
    Op::new("IsVariableInitialized", "ref: Ref(dtype) -> is_initialized: bool", "dtype: type")
        .allows_uninitialized_input()
        .shape(shape::scalar)
        .kernel(&[], is_initialized);
static COUNT_UP_TO: Op = Op::new("CountUpTo", "ref: Ref(T) -> output: T", "limit: int; T: {int32, int64}")
    .shape(shape::scalar)
    .kernel(&[("T", INDICES)], |node| dispatch!(node, "T", INDICES T => count_up_to::<T>(node)));

static VAR_HANDLE_OP: Op = Op::new(
    "VarHandleOp",
    "-> resource: resource",
    "container: string = ''; shared_name: string = ''; debug_name: string = ''; dtype: type; shape: shape; \
        allowed_devices: list(string) = []",
)
.stateful()
.shape(shape::scalar)
.kernel(&[], var_handle);
static READ_VARIABLE_OP: Op = Op::new("ReadVariableOp", "resource: resource -> value: dtype", "dtype: type")
    .stateful()
    .shape(shape::unknown)
    .kernel(&[], read);
static ASSIGN_VARIABLE_OP: Op =
    Op::new("AssignVariableOp", "resource: resource, value: dtype ->", "dtype: type; validate_shape: bool = false")
        .stateful()
        .shape(shape::unknown)
        .kernel(&[], assign_variable);
static ASSIGN_ADD_VARIABLE_OP: Op =
    Op::new("AssignAddVariableOp", "resource: resource, value: dtype ->", "dtype: type")
        .stateful()
        .shape(shape::unknown)
        .kernel(
            &[("dtype", NUMBERS)],
            |node| dispatch!(node, "dtype", NUMBERS T => update::<binary::Add, T>(node, false)),
        );
static ASSIGN_SUB_VARIABLE_OP: Op =
    Op::new("AssignSubVariableOp", "resource: resource, value: dtype ->", "dtype: type")
        .stateful()
        .shape(shape::unknown)
        .kernel(
            &[("dtype", NUMBERS)],
            |node| dispatch!(node, "dtype", NUMBERS T => update::<binary::Sub, T>(node, false)),
        );
static VAR_IS_INITIALIZED_OP: Op = Op::new("VarIsInitializedOp", "resource: resource -> is_initialized: bool", "")
    .stateful()
    .shape(shape::scalar)
    .kernel(&[], is_initialized);
static VARIABLE_SHAPE: Op =
    Op::new("VariableShape", "input: resource -> output: out_type", "out_type: {int32, int64} = int32")
        .stateful()
        .shape(|_| Ok(alloc::vec![PartialShape::new(&[-1])]))
        .kernel(&[("out_type", INDICES)], variable_shape);
static DESTROY_RESOURCE_OP: Op =
    Op::new("DestroyResourceOp", "resource: resource ->", "ignore_lookup_error: bool = true")
        .stateful()
        .shape(shape::unknown)
        .kernel(&[], destroy);

/// The shared name that stands for a fresh resource each time.
const ANONYMOUS: &str = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

/// Finds or makes the variable of a node; a tensor that holds its handle.
fn named(node: &NodeContext<'_>, name: &str) -> Result<Tensor, Status> {
    let (container, dtype) = (node.attrs().str("container")?, node.dtype("dtype")?);
    let shape = node.attrs().shape("shape")?;
    let make = || Variable::new(dtype, shape.clone());
    let variable = node.resources.find_or_create(container, name, make)?;
    if variable.dtype != dtype {
        return Err(Status::internal(format_args!(
            "variable {name} holds {}, it cannot be shared as one of {dtype}",
            variable.dtype
        )));
    }
    let target: Arc<dyn Resource> = variable;
    let handle = node.resources.handle(container, name, Some((dtype, shape.to_shape())), target);
    Tensor::from_resources(Shape::scalar(), alloc::vec![handle])
}

fn reference(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let name = match node.attrs().str("shared_name")? {
        "" => &*node.node.name,
        name if name.starts_with('_') => {
            return Err(Status::invalid_argument(format_args!("shared_name cannot start with '_': {name}")));
        }
        name => name,
    };
    let reference = named(node, name)?;
    kernel(move |c: &mut Ctx<'_>| {
        c.set(0, reference.clone());
        Ok(())
    })
}

fn var_handle(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let name = node.attrs().str("shared_name")?;
    if name != ANONYMOUS {
        let handle = named(node, name)?;
        return kernel(move |c: &mut Ctx<'_>| {
            c.set(0, handle.clone());
            Ok(())
        });
    }
    let (dtype, shape) = (node.dtype("dtype")?, node.attrs().shape("shape")?.clone());
    let resources = node.resources.clone();
    kernel(move |c: &mut Ctx<'_>| {
        let target: Arc<dyn Resource> = Arc::new(Variable::new(dtype, shape.clone()));
        let handle = resources.handle("", ANONYMOUS, Some((dtype, shape.to_shape())), target);
        c.set(0, Tensor::from_resources(Shape::scalar(), alloc::vec![handle])?);
        Ok(())
    })
}

fn assign(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (variables, validate) = (Variables::new(node), node.attrs().bool("validate_shape")?);
    kernel(move |c: &mut Ctx<'_>| {
        let variable = variables.get(c, 0)?;
        let value = c.input(1);
        let mut current = variable.value.lock();
        let fits = match &*current {
            _ if !validate => true,
            Some(old) => old.shape() == value.shape(),
            // A declaration without rank counts as a scalar, as it does in TensorFlow.
            None if variable.shape.dims.is_none() => value.shape().rank() == 0,
            None => variable.shape.admits(value.shape()),
        };
        if !fits {
            let shown = current.as_ref().map_or(variable.shape.clone(), |old| old.shape().into());
            return Err(Status::invalid_argument(format_args!(
                "Assign requires shapes of both tensors to match. lhs shape= {shown} rhs shape= {}",
                value.shape()
            )));
        }
        let old = current.replace(value.clone());
        drop(current);
        // The old value may be large: it goes outside the lock.
        drop(old);
        c.set(0, c.input(0).clone());
        Ok(())
    })
}

fn assign_variable(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (variables, validate) = (Variables::new(node), node.attrs().bool("validate_shape")?);
    kernel(move |c: &mut Ctx<'_>| {
        let variable = variables.get(c, 0)?;
        let value = c.input(1);
        if variable.dtype != value.dtype() {
            return Err(Status::invalid_argument(format_args!(
                "Trying to assign variable with wrong dtype. Expected {} got {}",
                variable.dtype,
                value.dtype()
            )));
        }
        if validate && !variable.shape.admits(value.shape()) {
            return Err(Status::invalid_argument(format_args!(
                "Trying to assign to variable with tensor with wrong shape. Expected {} got {}",
                variable.shape,
                value.shape()
            )));
        }
        let value = value.clone();
        let old = variable.value.lock().replace(value);
        drop(old);
        Ok(())
    })
}

/// `variable = variable ∘ value` in place; readers that hold the old value keep it.
fn update<P: Binary<T, Out = T>, T: Value>(node: &NodeContext<'_>, is_ref: bool) -> Result<Box<dyn Kernel>, Status> {
    let variables = Variables::new(node);
    kernel(move |c: &mut Ctx<'_>| {
        let variable = variables.get(c, 0)?;
        let value = c.input(1);
        let mut guard = variable.value.lock();
        let Some(current) = guard.as_mut() else {
            drop(guard);
            return Err(if is_ref { uninitialized(c, 0) } else { missing(c) });
        };
        if current.shape() != value.shape() {
            return Err(Status::invalid_argument(format_args!(
                "Cannot update variable with shape {} using a Tensor with shape {}, shapes must be equal.",
                current.shape(),
                value.shape()
            )));
        }
        let value = value.as_slice::<T>()?;
        chunks_mut(c.parallel(), current.make_mut::<T>()?, 1, 1, &|first, chunk| {
            let value = value.get(first..first + chunk.len()).unwrap_or_default();
            chunk.iter_mut().zip(value).for_each(|(a, &b)| *a = P::apply(*a, b));
        });
        drop(guard);
        if is_ref {
            c.set(0, c.input(0).clone());
        }
        Ok(())
    })
}

/// The answer to a use of a resource variable that was not assigned yet.
#[cold]
pub(super) fn missing(c: &Ctx<'_>) -> Status {
    Status::not_found(format_args!("Resource variable {} does not exist", name(c, 0)))
}

fn is_initialized(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let variables = Variables::new(node);
    kernel(move |c: &mut Ctx<'_>| {
        let initialized = match variables.get(c, 0) {
            Ok(variable) => variable.value.lock().is_some(),
            Err(error) if error.code() == crate::Code::NotFound => false,
            Err(error) => return Err(error),
        };
        c.set_scalar(0, initialized);
        Ok(())
    })
}

fn count_up_to<T: Value + crate::kernels::element::Integer>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (variables, limit) = (Variables::new(node), node.attrs().int("limit")?);
    kernel(move |c: &mut Ctx<'_>| {
        let variable = variables.get(c, 0)?;
        let mut guard = variable.value.lock();
        let Some(current) = guard.as_mut() else {
            drop(guard);
            return Err(uninitialized(c, 0));
        };
        let now = match current.shape().rank() {
            0 => current.to_scalar::<T>()?,
            _ => return Err(Status::invalid_argument(format_args!("input is not a scalar: {}", current.shape()))),
        };
        if now.to_i64() >= limit {
            return Err(Status::out_of_range(format_args!("Reached limit of {limit}")));
        }
        *current = Tensor::scalar(now.plus(T::ONE));
        drop(guard);
        c.set_scalar(0, now);
        Ok(())
    })
}

fn read(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (variables, dtype) = (Variables::new(node), node.dtype("dtype")?);
    kernel(move |c: &mut Ctx<'_>| {
        let value = match variables.get(c, 0) {
            Ok(variable) => variable.read(),
            Err(error) if error.code() == crate::Code::NotFound => None,
            Err(error) => return Err(error),
        };
        let value = value.ok_or_else(|| {
            Status::failed_precondition(format_args!(
                "Could not find variable {}: it was not assigned yet, or was destroyed",
                name(c, 0)
            ))
        })?;
        if value.dtype() != dtype {
            return Err(Status::invalid_argument(format_args!(
                "Trying to read variable with wrong dtype. Expected {} got {dtype}",
                value.dtype()
            )));
        }
        c.set(0, value);
        Ok(())
    })
}

fn variable_shape(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (variables, dtype) = (Variables::new(node), node.dtype("out_type")?);
    kernel(move |c: &mut Ctx<'_>| {
        let variable = variables.get(c, 0)?;
        let shape = variable.value.lock().as_ref().map(|v| v.shape().clone());
        let shape = shape.ok_or_else(|| missing(c))?;
        super::shapes::put_shape(c, 0, dtype, &shape)
    })
}

fn destroy(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (variables, ignore) = (Variables::new(node), node.attrs().bool("ignore_lookup_error")?);
    kernel(move |c: &mut Ctx<'_>| {
        let old = match variables.get(c, 0) {
            Ok(variable) => variable.value.lock().take(),
            Err(error) if error.code() == crate::Code::NotFound => None,
            Err(error) => return Err(error),
        };
        if old.is_none() && !ignore { Err(missing(c)) } else { Ok(()) }
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::{AttrValue, PartialShape};
    use crate::ops::testing::{Device, tensor};
    use crate::tensor::{DType, Tensor};

    fn variable(dims: &[i64]) -> [(&'static str, AttrValue); 2] {
        [("shape", PartialShape::new(dims).into()), ("dtype", DType::Float.into())]
    }

    fn float() -> [(&'static str, AttrValue); 1] {
        [("T", DType::Float.into())]
    }

    /// A reference variable from its making over assignment to updates in place, with each thing that is refused.
    #[test]
    fn references() {
        let device = Device::new();
        let run = |op: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]| device.run(op, attrs, inputs);
        let v = run("VariableV2", &variable(&[2]), &[]).unwrap().remove(0);
        let initialized = |v: &Tensor| {
            let attrs = [("dtype", DType::Float.into())];
            run("IsVariableInitialized", &attrs, &[v.clone()]).unwrap()[0].to_scalar::<bool>().unwrap()
        };
        assert!(!initialized(&v));
        let one = tensor(&[2], &[1.0f32, 2.0]);
        let code = |r: Result<alloc::vec::Vec<Tensor>, crate::Status>| r.unwrap_err().code();
        assert_eq!(code(run("AssignAdd", &float(), &[v.clone(), one.clone()])), Code::FailedPrecondition);
        let three = tensor(&[3], &[0.0f32; 3]);
        assert_eq!(code(run("Assign", &float(), &[v.clone(), three.clone()])), Code::InvalidArgument);
        let out = run("Assign", &float(), &[v.clone(), one.clone()]).unwrap().remove(0);
        assert!(initialized(&out));
        run("AssignAdd", &float(), &[v.clone(), one.clone()]).unwrap();
        run("AssignSub", &float(), &[v.clone(), tensor(&[2], &[0.5f32, 0.5])]).unwrap();
        assert_eq!(code(run("AssignAdd", &float(), &[v.clone(), three.clone()])), Code::InvalidArgument);
        let target = v.resources().unwrap()[0].target::<crate::resource::Variable>().unwrap();
        assert_eq!(target.read().unwrap().as_slice::<f32>().unwrap(), [1.5, 3.5]);
        assert_eq!(one.as_slice::<f32>().unwrap(), [1.0, 2.0]);
        let mut lax = float().to_vec();
        lax.push(("validate_shape", false.into()));
        run("Assign", &lax, &[v.clone(), three]).unwrap();
        assert_eq!(target.read().unwrap().shape().dims(), [3]);
        // The same name is the same variable, in another program too; a private name is refused.
        let again = run("Variable", &variable(&[2]), &[]).unwrap().remove(0);
        assert!(initialized(&again));
        let mut hidden = variable(&[2]).to_vec();
        hidden.push(("shared_name", "_x".into()));
        assert_eq!(code(run("VariableV2", &hidden, &[])), Code::InvalidArgument);
    }

    /// A resource variable's life, and the codes of each use before and after it.
    #[test]
    fn resources() {
        let device = Device::new();
        let mut attrs = variable(&[2]).to_vec();
        attrs.push(("shared_name", "v".into()));
        let v = device.run("VarHandleOp", &attrs, &[]).unwrap().remove(0);
        let dtype = [("dtype", AttrValue::from(DType::Float))];
        let x = tensor(&[2], &[1.0f32, 2.0]);
        let code = |op: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]| {
            device.run(op, attrs, inputs).map_or_else(|e| e.code(), |_| Code::Ok)
        };
        let strict = [("ignore_lookup_error", AttrValue::from(false))];
        assert_eq!(code("ReadVariableOp", &dtype, &[v.clone()]), Code::FailedPrecondition);
        assert_eq!(code("AssignAddVariableOp", &dtype, &[v.clone(), x.clone()]), Code::NotFound);
        assert_eq!(code("DestroyResourceOp", &strict, &[v.clone()]), Code::NotFound);
        assert_eq!(code("DestroyResourceOp", &[], &[v.clone()]), Code::Ok);
        assert_eq!(code("AssignVariableOp", &[], &[v.clone(), 1i32.into()]), Code::InvalidArgument);
        assert_eq!(code("AssignVariableOp", &[], &[v.clone(), x.clone()]), Code::Ok);
        assert_eq!(code("AssignSubVariableOp", &dtype, &[v.clone(), 1.0f32.into()]), Code::InvalidArgument);
        assert_eq!(code("AssignAddVariableOp", &dtype, &[v.clone(), x.clone()]), Code::Ok);
        assert_eq!(code("ReadVariableOp", &[("dtype", DType::Int32.into())], &[v.clone()]), Code::InvalidArgument);
        let read = device.run("ReadVariableOp", &dtype, &[v.clone()]).unwrap();
        assert_eq!(read[0].as_slice::<f32>().unwrap(), [2.0, 4.0]);
        device.run("AssignSubVariableOp", &dtype, &[v.clone(), x]).unwrap();
        assert_eq!(read[0].as_slice::<f32>().unwrap(), [2.0, 4.0], "a read value never changes");
        let shape = device.run("VariableShape", &[], &[v.clone()]).unwrap();
        assert_eq!(shape[0].as_slice::<i32>().unwrap(), [2]);
        assert_eq!(code("DestroyResourceOp", &strict, &[v.clone()]), Code::Ok);
        let initialized = device.run("VarIsInitializedOp", &[], &[v]).unwrap();
        assert!(!initialized[0].to_scalar::<bool>().unwrap());
    }

    /// Counting stops at the limit.
    #[test]
    fn counting() {
        let device = Device::new();
        let attrs = [("shape", PartialShape::new(&[]).into()), ("dtype", DType::Int32.into())];
        let v = device.run("VariableV2", &attrs, &[]).unwrap().remove(0);
        let t = ("T", AttrValue::from(DType::Int32));
        device.run("Assign", &[t.clone()], &[v.clone(), 1i32.into()]).unwrap();
        let attrs = [t, ("limit", 2i64.into())];
        assert_eq!(device.run("CountUpTo", &attrs, &[v.clone()]).unwrap()[0].to_scalar::<i32>().unwrap(), 1);
        assert_eq!(device.run("CountUpTo", &attrs, &[v]).unwrap_err().code(), Code::OutOfRange);
    }
}
