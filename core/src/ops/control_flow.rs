//! Ops that steer a step: constants, feeds, aliases, conditionals and loops. The scheduler does their work.

use super::{Op, Role, shape};
use crate::graph::PartialShape;

/// This family.
pub static OPS: &[&Op] = &[
    &CONST,
    &PLACEHOLDER,
    &PLACEHOLDER_V2,
    &PLACEHOLDER_WITH_DEFAULT,
    &NO_OP,
    &CONTROL_TRIGGER,
    &IDENTITY,
    &IDENTITY_N,
    &STOP_GRADIENT,
    &PREVENT_GRADIENT,
    &SNAPSHOT,
    &REF_IDENTITY,
    &SWITCH,
    &REF_SWITCH,
    &MERGE,
    &REF_MERGE,
    &ENTER,
    &REF_ENTER,
    &EXIT,
    &REF_EXIT,
    &NEXT_ITERATION,
    &REF_NEXT_ITERATION,
    &LOOP_COND,
];

static CONST: Op = Op::new("Const", "-> output: dtype", "value: tensor; dtype: type").role(Role::Const).shape(|c| {
    let value = c.node.attrs.tensor("value")?;
    Ok(alloc::vec![PartialShape::from(value.shape())])
});

static PLACEHOLDER: Op =
    Op::new("Placeholder", "-> output: dtype", "dtype: type; shape: shape = ?").role(Role::Placeholder).shape(declared);

static PLACEHOLDER_V2: Op =
    Op::new("PlaceholderV2", "-> output: dtype", "dtype: type; shape: shape").role(Role::Placeholder).shape(declared);

static PLACEHOLDER_WITH_DEFAULT: Op =
    Op::new("PlaceholderWithDefault", "input: dtype -> output: dtype", "dtype: type; shape: shape")
        .role(Role::Alias)
        .shape(declared);

fn declared(c: &shape::ShapeContext<'_>) -> crate::status::Result<alloc::vec::Vec<PartialShape>> {
    Ok(alloc::vec![c.node.attrs.shape("shape")?.clone()])
}

pub(crate) static NO_OP: Op = Op::new("NoOp", "->", "").role(Role::NoOp).shape(shape::unknown);
pub(crate) static CONTROL_TRIGGER: Op =
    Op::new("ControlTrigger", "->", "").role(Role::ControlTrigger).shape(shape::unknown);

pub(crate) static IDENTITY: Op =
    Op::new("Identity", "input: T -> output: T", "T: type").role(Role::Alias).shape(shape::unchanged);
pub(crate) static IDENTITY_N: Op = Op::new("IdentityN", "input: T -> output: T", "T: list(type) >= 1")
    .role(Role::Alias)
    .shape(|c| Ok(c.inputs.to_vec()));
static STOP_GRADIENT: Op =
    Op::new("StopGradient", "input: T -> output: T", "T: type").role(Role::Alias).shape(shape::unchanged);
static PREVENT_GRADIENT: Op = Op::new("PreventGradient", "input: T -> output: T", "T: type; message: string = ''")
    .role(Role::Alias)
    .shape(shape::unchanged);
static SNAPSHOT: Op = Op::new("Snapshot", "input: T -> output: T", "T: type").role(Role::Alias).shape(shape::unchanged);
static REF_IDENTITY: Op = Op::new("RefIdentity", "input: Ref(T) -> output: Ref(T)", "T: type")
    .role(Role::Alias)
    .allows_uninitialized_input()
    .shape(shape::unchanged);

pub(crate) static SWITCH: Op = Op::new("Switch", "data: T, pred: bool -> output_false: T, output_true: T", "T: type")
    .role(Role::Switch)
    .shape(shape::unchanged);
static REF_SWITCH: Op =
    Op::new("RefSwitch", "data: Ref(T), pred: bool -> output_false: Ref(T), output_true: Ref(T)", "T: type")
        .role(Role::Switch)
        .allows_uninitialized_input()
        .shape(shape::unchanged);
pub(crate) static MERGE: Op =
    Op::new("Merge", "inputs: N * T -> output: T, value_index: int32", "T: type; N: int >= 1")
        .role(Role::Merge)
        .shape(merged);
static REF_MERGE: Op =
    Op::new("RefMerge", "inputs: N * Ref(T) -> output: Ref(T), value_index: int32", "T: type; N: int >= 1")
        .role(Role::Merge)
        .shape(merged);

/// Inputs of one known shape give it; anything else is unknown, since which input arrives is known only at run time.
fn merged(c: &shape::ShapeContext<'_>) -> crate::status::Result<alloc::vec::Vec<PartialShape>> {
    let first = c.input(0);
    let same = c.inputs.iter().all(|s| *s == first);
    Ok(alloc::vec![if same { first } else { PartialShape::unknown() }, PartialShape::new(&[])])
}

const ENTER_ATTRS: &str = "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10";
pub(crate) static ENTER: Op =
    Op::new("Enter", "data: T -> output: T", ENTER_ATTRS).role(Role::Enter).shape(shape::unchanged);
static REF_ENTER: Op =
    Op::new("RefEnter", "data: Ref(T) -> output: Ref(T)", ENTER_ATTRS).role(Role::Enter).shape(shape::unchanged);
pub(crate) static EXIT: Op =
    Op::new("Exit", "data: T -> output: T", "T: type").role(Role::Exit).shape(shape::unchanged);
static REF_EXIT: Op =
    Op::new("RefExit", "data: Ref(T) -> output: Ref(T)", "T: type").role(Role::Exit).shape(shape::unchanged);
pub(crate) static NEXT_ITERATION: Op =
    Op::new("NextIteration", "data: T -> output: T", "T: type").role(Role::NextIteration).shape(shape::unchanged);
static REF_NEXT_ITERATION: Op = Op::new("RefNextIteration", "data: Ref(T) -> output: Ref(T)", "T: type")
    .role(Role::NextIteration)
    .shape(shape::unchanged);
pub(crate) static LOOP_COND: Op =
    Op::new("LoopCond", "input: bool -> output: bool", "").role(Role::Alias).shape(shape::scalar);
