//! The declaration of an op: one static holds all that the system knows of it.

use crate::tensor::DType;

#[cfg(feature = "alloc")]
use super::{kernel::MakeKernel, shape::ShapeFn};

/// What a node does to the flow of a step. All but [`Role::Kernel`] are done by the scheduler, not by a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Computes outputs from inputs.
    Kernel,
    /// A constant of the program.
    Const,
    /// Must be fed.
    Placeholder,
    /// A value that the caller of a step gives; stands where a tensor is fed.
    Feed,
    /// Passes its input on (Identity of a value, LoopCond, StopGradient …): costs nothing.
    Alias,
    /// Passes its data input to one of two outputs.
    Switch,
    /// Passes on whichever input arrives.
    Merge,
    /// Passes its input into a loop frame.
    Enter,
    /// Passes its input out of a loop frame.
    Exit,
    /// Passes its input to the next iteration.
    NextIteration,
    /// Waits for its control inputs whether they are dead or not.
    ControlTrigger,
    /// Does nothing; exists for its control edges.
    NoOp,
    /// Calls functions; gone once the graph is expanded.
    Call,
}

/// An op. Build with [`Op::new`] and the methods that follow; list it in a family's slice.
///
/// ```text
/// pub static NEG: Op = Op::new("Neg", "x: T -> y: T", "T: {bfloat16, half, float, double, int8, int16, int32, int64}")
///     .shape(shape::unchanged)
///     .kernel(&[("T", SIGNED)], |node| unary(node, |x| -x));
/// ```
pub struct Op {
    /// The name as in a NodeDef.
    pub name: &'static str,
    /// Inputs and outputs, see [`super::signature`].
    pub args: &'static str,
    /// Attributes, see [`super::signature`].
    pub attrs: &'static str,
    /// What a node does to the flow of a step.
    pub role: Role,
    /// Whether a node has state or effects: never folded, merged or shared.
    pub stateful: bool,
    /// Whether swapping the two inputs changes nothing.
    pub commutative: bool,
    /// Whether an uninitialised variable may be read through its reference inputs.
    pub allows_uninitialized_input: bool,
    /// Whether running takes long enough that a deadline is looked at after every run.
    pub heavy: bool,
    /// Whether a run may have to wait for what other steps do: the node begins a block of its own.
    pub waits: bool,
    /// The dtypes that the kernel takes, by attribute, where they are fewer than the signature allows.
    pub types: &'static [(&'static str, &'static [DType])],
    /// Derives output shapes.
    #[cfg(feature = "alloc")]
    pub shape: Option<ShapeFn>,
    /// Makes the kernel of a node.
    #[cfg(feature = "alloc")]
    pub kernel: Option<MakeKernel>,
}

impl Op {
    /// An op without kernel.
    pub const fn new(name: &'static str, args: &'static str, attrs: &'static str) -> Op {
        Op {
            name,
            args,
            attrs,
            role: Role::Kernel,
            stateful: false,
            commutative: false,
            allows_uninitialized_input: false,
            heavy: false,
            waits: false,
            types: &[],
            #[cfg(feature = "alloc")]
            shape: None,
            #[cfg(feature = "alloc")]
            kernel: None,
        }
    }

    /// Sets the role.
    pub const fn role(mut self, role: Role) -> Op {
        self.role = role;
        self
    }

    /// Marks the op as having state or effects.
    pub const fn stateful(mut self) -> Op {
        self.stateful = true;
        self
    }

    /// Marks the op as commutative.
    pub const fn commutative(mut self) -> Op {
        self.commutative = true;
        self
    }

    /// Lets reference inputs be uninitialised.
    pub const fn allows_uninitialized_input(mut self) -> Op {
        self.allows_uninitialized_input = true;
        self
    }

    /// Marks the op as taking long.
    pub const fn heavy(mut self) -> Op {
        self.heavy = true;
        self
    }

    /// Marks the op as one that may wait.
    pub const fn waits(mut self) -> Op {
        self.waits = true;
        self
    }

    /// Sets the shape function.
    #[cfg(feature = "alloc")]
    pub const fn shape(mut self, shape: ShapeFn) -> Op {
        self.shape = Some(shape);
        self
    }

    /// Sets the kernel and, per attribute, the dtypes that it takes (none listed: all that the signature allows).
    #[cfg(feature = "alloc")]
    pub const fn kernel(mut self, types: &'static [(&'static str, &'static [DType])], make: MakeKernel) -> Op {
        self.types = types;
        self.kernel = Some(make);
        self
    }
}
