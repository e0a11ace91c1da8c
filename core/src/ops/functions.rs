//! Ops that call functions, and what function bodies need beside other graphs' ops. Calls are no kernels: before a graph
//! is placed, `rewrite::expand` puts the functions' bodies where the calls are.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Ctx, Kernel, NodeContext, Op, Role, kernel, shape};
use crate::Status;
use crate::graph::PartialShape;
use crate::tensor::{DType, Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[
    &PARTITIONED_CALL,
    &STATEFUL_PARTITIONED_CALL,
    &IF,
    &STATELESS_IF,
    &LEGACY_IF,
    &CASE,
    &STATELESS_CASE,
    &WHILE,
    &STATELESS_WHILE,
    &LEGACY_WHILE,
    &TO_BOOL,
    &FAKE_PARAM,
];

const CALL_ARGS: &str = "args: Tin -> output: Tout";
const CALL_ATTRS: &str = "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = ''; config_proto: string = ''; \
                          executor_type: string = ''";
static PARTITIONED_CALL: Op = Op::new("PartitionedCall", CALL_ARGS, CALL_ATTRS).role(Role::Call).shape(shape::unknown);
static STATEFUL_PARTITIONED_CALL: Op =
    Op::new("StatefulPartitionedCall", CALL_ARGS, CALL_ATTRS).role(Role::Call).stateful().shape(shape::unknown);

const IF_ARGS: &str = "cond: Tcond, input: Tin -> output: Tout";
const IF_ATTRS: &str = "Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; else_branch: func; \
                        output_shapes: list(shape) = []";
static IF: Op = Op::new("If", IF_ARGS, IF_ATTRS).role(Role::Call).stateful().shape(declared);
static STATELESS_IF: Op = Op::new("StatelessIf", IF_ARGS, IF_ATTRS).role(Role::Call).shape(declared);
static LEGACY_IF: Op = Op::new(
    "_If",
    IF_ARGS,
    "Tcond: type; Tin: list(type) >= 1; Tout: list(type) >= 1; then_branch: func; else_branch: func",
)
.role(Role::Call)
.stateful()
.shape(shape::unknown);

const CASE_ARGS: &str = "branch_index: int32, input: Tin -> output: Tout";
const CASE_ATTRS: &str =
    "Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: list(shape) = []";
static CASE: Op = Op::new("Case", CASE_ARGS, CASE_ATTRS).role(Role::Call).stateful().shape(declared);
static STATELESS_CASE: Op = Op::new("StatelessCase", CASE_ARGS, CASE_ATTRS).role(Role::Call).shape(declared);

const WHILE_ARGS: &str = "input: T -> output: T";
const WHILE_ATTRS: &str = "T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; \
                           parallel_iterations: int = 10";
static WHILE: Op = Op::new("While", WHILE_ARGS, WHILE_ATTRS).role(Role::Call).stateful().shape(declared);
static STATELESS_WHILE: Op = Op::new("StatelessWhile", WHILE_ARGS, WHILE_ATTRS).role(Role::Call).shape(declared);
static LEGACY_WHILE: Op = Op::new("_While", WHILE_ARGS, "T: list(type) >= 0; cond: func; body: func")
    .role(Role::Call)
    .stateful()
    .shape(shape::unknown);

/// The shapes of `output_shapes`, where they are given for every output.
fn declared(c: &shape::ShapeContext<'_>) -> crate::status::Result<Vec<PartialShape>> {
    match c.node.attrs.shapes("output_shapes") {
        Ok(shapes) if shapes.len() == c.node.output_types.len() => Ok(shapes),
        _ => shape::unknown(c),
    }
}

/// Whether a value of any dtype and shape counts as true: a number that is not zero, a string that is not empty, a tensor of
/// rank 1 or more that has elements.
pub(crate) static TO_BOOL: Op =
    Op::new("ToBool", "input: T -> output: bool", "T: type").shape(shape::scalar).kernel(&[], |_| {
        kernel(|c: &mut Ctx<'_>| {
            let truth = truth(c.input(0))?;
            c.set_scalar(0, truth);
            Ok(())
        })
    });

fn truth(value: &Tensor) -> Result<bool, Status> {
    if value.shape().rank() > 0 {
        return Ok(value.num_elements() > 0);
    }
    Ok(match value.dtype() {
        DType::Float => value.to_scalar::<f32>()? != 0.0,
        DType::Double => value.to_scalar::<f64>()? != 0.0,
        DType::Int8 | DType::Uint8 | DType::Int16 | DType::Uint16 | DType::Int32 | DType::Int64 | DType::Bool => {
            value.bytes().iter().any(|byte| *byte != 0)
        }
        DType::String => value.strings()?.first().is_some_and(|text| !text.is_empty()),
        other => return Err(Status::invalid_argument(format_args!("{other} cannot be converted to a bool"))),
    })
}

/// Stands for a value that the branch not taken would have made: zeros, with unknown dimensions of size 0.
static FAKE_PARAM: Op =
    Op::new("FakeParam", "-> output: dtype", "dtype: type; shape: shape").shape(shape::unknown).kernel(&[], fake_param);

fn fake_param(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("dtype")?;
    let dims: Vec<i64> = node.attrs().shape("shape")?.dims.iter().flatten().map(|&dim| dim.max(0)).collect();
    let shape = if node.attrs().shape("shape")?.rank().is_some() { Shape::from_i64(&dims)? } else { Shape::new(&[0])? };
    kernel(move |c: &mut Ctx<'_>| {
        let value = c.output_zeroed(0, dtype, &shape)?;
        c.set(0, value);
        Ok(())
    })
}
