//! What a kernel is and what it sees while it runs.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Context, Poll};

use crate::Status;
use crate::graph::{Attrs, Node};
use crate::host::{Host, Parallel};
use crate::resource::{NodeStates, ResourceManager, StepResources};
use crate::tensor::{Budget, DType, Element, Shape, Tensor};

/// A node's computation, made once a program. Pure but for resources: everything else it needs is in [`Ctx`].
pub trait Kernel: Send + Sync {
    /// Reads inputs from and sets every output in `ctx`.
    ///
    /// # Errors
    /// Any; the step ends with it, after the node's name was added.
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<(), Status>;

    /// As [`Kernel::run`], for an op that [may wait](super::Op::waits): when what it needs is not there yet, what is to be
    /// polled until it is.
    ///
    /// # Errors
    /// As [`Kernel::run`].
    fn begin(&self, ctx: &mut Ctx<'_>) -> Result<Option<Box<dyn Waiting>>, Status> {
        self.run(ctx)?;
        Ok(None)
    }
}

/// A kernel's run that waits. Dropped before it is ready, it is given up: the step ended otherwise.
pub trait Waiting: Send + Sync {
    /// Ready once the outputs are set in `ctx`, which is the one that the run began with; else the task of `cx` is woken
    /// when that may be.
    fn poll(&mut self, cx: &mut Context<'_>, ctx: &mut Ctx<'_>) -> Poll<Result<(), Status>>;
}

/// A kernel that may wait.
struct WaitingKernel<F>(F);

impl<F> Kernel for WaitingKernel<F>
where
    F: Fn(&mut Ctx<'_>) -> Result<Option<Box<dyn Waiting>>, Status> + Send + Sync,
{
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<(), Status> {
        match self.0(ctx)? {
            None => Ok(()),
            Some(_) => Err(Status::internal("a kernel waits where none may")),
        }
    }

    fn begin(&self, ctx: &mut Ctx<'_>) -> Result<Option<Box<dyn Waiting>>, Status> {
        self.0(ctx)
    }
}

/// Boxes a closure as a kernel that may wait.
pub fn waiting_kernel(
    begin: impl Fn(&mut Ctx<'_>) -> Result<Option<Box<dyn Waiting>>, Status> + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>, Status> {
    Ok(Box::new(WaitingKernel(begin)))
}

impl<F: Fn(&mut Ctx<'_>) -> Result<(), Status> + Send + Sync> Kernel for F {
    #[inline]
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<(), Status> {
        self(ctx)
    }
}

/// Makes the kernel of a node.
pub type MakeKernel = fn(&NodeContext<'_>) -> Result<Box<dyn Kernel>, Status>;

/// Boxes a closure as a kernel; gives the closure the right type on the way.
pub fn kernel(
    run: impl Fn(&mut Ctx<'_>) -> Result<(), Status> + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>, Status> {
    Ok(Box::new(run))
}

/// What is known of a node when its kernel is made.
pub struct NodeContext<'a> {
    /// The node, with attributes (defaults filled in) and argument types.
    pub node: &'a Node,
    /// For each input, its value when it is a constant of the program; for packing weights once.
    pub constants: &'a [Option<Tensor>],
    /// Full name of the device that the node is placed on.
    pub device: &'a Arc<str>,
    /// The variables and other resources that the node may name.
    pub resources: &'a Arc<ResourceManager>,
    /// State by node name within the session: a random op's stream continues across signatures.
    pub states: &'a NodeStates,
    /// For random seeds.
    pub host: &'a dyn Host,
}

impl NodeContext<'_> {
    /// The node's attributes.
    pub fn attrs(&self) -> &Attrs {
        &self.node.attrs
    }

    /// The dtype attribute `name`.
    ///
    /// # Errors
    /// As [`Attrs::dtype`].
    pub fn dtype(&self, name: &str) -> Result<DType, Status> {
        self.node.attrs.dtype(name)
    }

    /// The answer to a dtype that the op's kernel does not take.
    pub fn unsupported(&self, dtype: DType) -> Status {
        Status::unimplemented(format_args!("op {} has no kernel for dtype {dtype}", self.node.op.name))
    }
}

/// Which of the three tables an argument of an instruction is in; the upper bits of the argument word.
pub(crate) mod arg {
    /// The value is in a slot of the running iteration.
    pub(crate) const SLOT: u32 = 0 << 30;
    /// The value is an invariant of the running frame.
    pub(crate) const INVARIANT: u32 = 1 << 30;
    /// The value is a constant of the program.
    pub(crate) const CONSTANT: u32 = 2 << 30;
    /// This instruction is the value's last reader, so it may take the memory.
    pub(crate) const LAST_USE: u32 = 1 << 29;
    /// Masks.
    pub(crate) const SPACE: u32 = 3 << 30;
    pub(crate) const INDEX: u32 = LAST_USE - 1;
}

/// What a step gives to all its kernels.
pub struct Env<'a> {
    /// The host, for threads and logs.
    pub host: &'a dyn Host,
    /// The memory limit of the step.
    pub budget: Option<&'a Budget>,
    /// The step's number, for containers that live as long as the step.
    pub step_id: u64,
    /// What lives as long as the step.
    pub resources: &'a StepResources,
}

/// More pieces of working memory than any kernel holds at once, or a run mostly fetches.
pub(crate) const SCRATCH_KEPT: usize = 4;

/// A kernel's window on its step: inputs, outputs, memory and threads.
pub struct Ctx<'a> {
    pub(crate) env: &'a Env<'a>,
    /// Inputs, then outputs.
    pub(crate) args: &'a [u32],
    pub(crate) num_inputs: usize,
    pub(crate) slots: &'a mut [Tensor],
    pub(crate) invariants: &'a [Tensor],
    pub(crate) constants: &'a [Tensor],
    /// What is read where the compiler made a mistake; keeps every access total.
    pub(crate) missing: &'a Tensor,
    pub(crate) scratch: &'a mut Vec<Tensor>,
}

impl Ctx<'_> {
    /// The number of inputs.
    #[inline]
    pub fn num_inputs(&self) -> usize {
        self.num_inputs
    }

    /// The number of outputs.
    #[inline]
    pub fn num_outputs(&self) -> usize {
        self.args.len() - self.num_inputs
    }

    /// Input `i`.
    #[inline]
    pub fn input(&self, i: usize) -> &Tensor {
        let word = if i < self.num_inputs { self.args[i] } else { return self.missing };
        let at = (word & arg::INDEX) as usize;
        let found = match word & arg::SPACE {
            arg::SLOT => self.slots.get(at),
            arg::INVARIANT => self.invariants.get(at),
            _ => self.constants.get(at),
        };
        found.unwrap_or(self.missing)
    }

    /// Takes input `i` out of its slot when this is its last reader and nobody else shares its elements: the kernel may
    /// then write its result over it and hand it to [`Ctx::set`].
    #[inline]
    pub fn take_input(&mut self, i: usize) -> Option<Tensor> {
        let word = *self.args[..self.num_inputs].get(i)?;
        if word & (arg::SPACE | arg::LAST_USE) != arg::SLOT | arg::LAST_USE {
            return None;
        }
        let slot = self.slots.get_mut((word & arg::INDEX) as usize)?;
        slot.is_unique().then(|| core::mem::take(slot))
    }

    /// As [`Ctx::take_input`], for a kernel that then sets output `o` to the input's memory. What the output held goes to
    /// the input's slot, so that whoever fills that finds memory there in the next run.
    #[inline]
    pub fn forward(&mut self, i: usize, o: usize) -> Option<Tensor> {
        let value = self.take_input(i)?;
        let from = (*self.args.get(i)? & arg::INDEX) as usize;
        let old = self.output_slot(o).map(core::mem::take).unwrap_or_default();
        if let Some(slot) = self.slots.get_mut(from)
            && old.is_unique()
        {
            *slot = old;
        }
        Some(value)
    }

    /// Memory for output `i`: a tensor of this dtype and shape with unspecified elements, to fill and then [`Ctx::set`].
    /// In the steady state it is the memory that the output had in the run before.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when memory or budget is used up.
    #[inline]
    pub fn output(&mut self, i: usize, dtype: DType, shape: &Shape) -> Result<Tensor, Status> {
        if let Some(slot) = self.output_slot(i)
            && slot.recycle(dtype, shape)
        {
            return Ok(core::mem::take(slot));
        }
        // Memory that left the step as a fetch and was given back.
        if let Some(at) = self.scratch.iter_mut().position(|spare| spare.recycle(dtype, shape)) {
            return Ok(self.scratch.swap_remove(at));
        }
        Tensor::zeros(dtype, shape, self.env.budget)
    }

    /// As [`Ctx::output`], filled with zeros.
    ///
    /// # Errors
    /// As [`Ctx::output`].
    pub fn output_zeroed(&mut self, i: usize, dtype: DType, shape: &Shape) -> Result<Tensor, Status> {
        // The slot's old memory goes first, so that it can serve again where the allocator is small.
        if let Some(slot) = self.output_slot(i) {
            *slot = Tensor::default();
        }
        Tensor::zeros(dtype, shape, self.env.budget)
    }

    /// Sets output `i`.
    #[inline]
    pub fn set(&mut self, i: usize, value: Tensor) {
        if let Some(slot) = self.output_slot(i) {
            *slot = value;
        }
    }

    /// Sets output `i` to a scalar, without allocation for elements of up to 8 bytes.
    #[inline]
    pub fn set_scalar<T: Element>(&mut self, i: usize, value: T) {
        if let Some(slot) = self.output_slot(i) {
            slot.set_scalar(value);
        }
    }

    #[inline]
    fn output_slot(&mut self, i: usize) -> Option<&mut Tensor> {
        let word = *self.args.get(self.num_inputs + i)?;
        self.slots.get_mut((word & arg::INDEX) as usize)
    }

    /// Working memory of `len` elements with unspecified content; hand it back with [`Ctx::give_scratch`].
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when memory or budget is used up.
    pub fn scratch<T: Element>(&mut self, len: usize) -> Result<Tensor, Status> {
        let shape = Shape::new(&[len])?;
        let mut tensor = self.scratch.pop().unwrap_or_default();
        if tensor.recycle(T::DTYPE, &shape) {
            return Ok(tensor);
        }
        Tensor::zeros(T::DTYPE, &shape, self.env.budget)
    }

    /// Hands working memory back for the next kernel.
    pub fn give_scratch(&mut self, scratch: Tensor) {
        if self.scratch.len() < SCRATCH_KEPT {
            self.scratch.push(scratch);
        }
    }

    /// The threads for this kernel.
    pub fn parallel(&self) -> &dyn Parallel {
        self.env.host.parallel()
    }

    /// The step's memory limit.
    pub fn budget(&self) -> Option<&Budget> {
        self.env.budget
    }

    /// The step's surroundings.
    pub fn env(&self) -> &Env<'_> {
        self.env
    }

    /// The answer to a wrong input: INVALID_ARGUMENT with the text.
    #[cold]
    pub fn invalid(&self, text: core::fmt::Arguments<'_>) -> Status {
        Status::invalid_argument(text)
    }
}

/// A short description of a node for errors: `name = Op`.
pub fn describe(node: &Node) -> String {
    alloc::format!("{} = {}", node.name, node.op.name)
}
