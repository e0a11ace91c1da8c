//! The drivers of element-wise kernels: scalars without memory, in place where the input is done with, else broadcast;
//! large ones are split over the host's threads.

use core::sync::atomic::{AtomicBool, Ordering};

use alloc::boxed::Box;

use super::dispatch::Value;
use super::{Ctx, Kernel, NodeContext, kernel};
use crate::Status;
use crate::kernels::binary::{self, Binary};
use crate::kernels::broadcast::{Broadcast, Rows, broadcast_shapes};
use crate::kernels::error::{Error, Result as KernelResult};
use crate::kernels::parallel::chunks_mut;
use crate::kernels::unary::{self, Unary};
use crate::tensor::{Element, Shape, Tensor};

/// What a binary operation does to rows, whatever the operation.
struct Steps<T: 'static, O: 'static> {
    rows: Rows<T, T, O>,
    check: Option<fn(&[T]) -> KernelResult<()>>,
}

/// Cycles an element of a simple operation, for the decision to split.
const CYCLES: usize = 1;

/// The kernel of an operation whose result is of the operands' type.
pub(crate) fn binary<Op: Binary<T, Out = T>, T: Value>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let commutative = node.node.op.op.is_some_and(|op| op.commutative);
    kernel(move |c: &mut Ctx<'_>| {
        if scalars::<Op, T>(c)? {
            return Ok(());
        }
        let steps = Steps { rows: binary::rows::<Op, T>(), check: Op::CHECK };
        arithmetic::<T>(c, &steps, binary::run_in_place::<Op, T>, commutative)
    })
}

/// As [`binary`] for operands of equally many elements, whose result has the shape of the first: gradients.
pub(crate) fn paired<Op: Binary<T, Out = T>, T: Value>(_: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let (a, b) = (c.input(0), c.input(1));
        if a.num_elements() != b.num_elements() {
            return Err(Status::invalid_argument(format_args!(
                "The two arguments to a cwise op must have same number of elements, got {} and {}",
                a.num_elements(),
                b.num_elements()
            )));
        }
        if a.shape() != b.shape() {
            let (shape, reshaped) = (a.shape().clone(), b.reshaped(a.shape().clone())?);
            let mut out = c.output(0, T::DTYPE, &shape)?;
            let x = c.input(0).as_slice::<T>()?;
            let y = reshaped.as_slice::<T>()?;
            let plan = Broadcast::new([&shape.to_usize(), &shape.to_usize()])?;
            fill(c, &mut out, CYCLES, &|first, chunk: &mut [T]| plan.run(binary::rows::<Op, T>(), x, y, first, chunk))?;
            c.set(0, out);
            return Ok(());
        }
        if scalars::<Op, T>(c)? {
            return Ok(());
        }
        let steps = Steps { rows: binary::rows::<Op, T>(), check: Op::CHECK };
        arithmetic::<T>(c, &steps, binary::run_in_place::<Op, T>, false)
    })
}

/// The kernel of an operation whose result is of another type than the operands.
pub(crate) fn compare<Op: Binary<T>, T: Value>(_: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status>
where
    Op::Out: Value,
{
    kernel(move |c: &mut Ctx<'_>| {
        if scalars::<Op, T>(c)? {
            return Ok(());
        }
        let steps = Steps { rows: binary::rows::<Op, T>(), check: Op::CHECK };
        broadcast::<T, Op::Out>(c, &steps)
    })
}

/// Does it all when both operands are inline scalars.
#[inline(always)]
fn scalars<Op: Binary<T>, T: Value>(c: &mut Ctx<'_>) -> Result<bool, Status>
where
    Op::Out: Value,
{
    let (Some(a), Some(b)) = (c.input(0).inline_scalar::<T>(), c.input(1).inline_scalar::<T>()) else {
        return Ok(false);
    };
    if let Some(check) = Op::CHECK {
        check(&[b])?;
    }
    c.set_scalar(0, Op::apply(a, b));
    Ok(true)
}

type InPlace<T> = fn(&mut [T], &[T]) -> KernelResult<()>;

/// In place over an operand of the result's shape that nobody else reads, else [`broadcast`].
fn arithmetic<T: Value>(
    c: &mut Ctx<'_>,
    steps: &Steps<T, T>,
    in_place: InPlace<T>,
    commutative: bool,
) -> Result<(), Status> {
    let swaps: &[(usize, usize)] = if commutative { &[(0, 1), (1, 0)] } else { &[(0, 1)] };
    for &(over, with) in swaps {
        let (a, b) = (c.input(over), c.input(with));
        let fits = a.shape() == b.shape() || (b.num_elements() == 1 && b.shape().rank() <= a.shape().rank());
        if a.dtype() != T::DTYPE || core::ptr::eq(a, b) || !fits || a.num_elements() == 0 {
            continue;
        }
        if over == 0
            && let Some(check) = steps.check
        {
            check(b.as_slice::<T>()?)?;
        }
        if let Some(mut value) = c.forward(over, 0) {
            let b = c.input(with).as_slice::<T>()?;
            let failed = AtomicBool::new(false);
            let into = value.elements_mut::<T>().ok_or_else(|| Status::internal("a forwarded input is shared"))?;
            chunks_mut(c.parallel(), into, 1, CYCLES, &|first, chunk| {
                let b = if b.len() == 1 { b } else { b.get(first..first + chunk.len()).unwrap_or_default() };
                if in_place(chunk, b).is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            });
            c.set(0, value);
            return if failed.into_inner() { Err(Status::internal("operands of unequal lengths")) } else { Ok(()) };
        }
    }
    broadcast::<T, T>(c, steps)
}

/// The shape of inputs 0 and 1 broadcast together.
pub(crate) fn broadcast_shape(a: &Shape, b: &Shape) -> Result<Shape, Status> {
    if a == b {
        return Ok(a.clone());
    }
    match broadcast_shapes(&a.to_usize(), &b.to_usize()) {
        Ok(dims) => Ok(Shape::new(&dims)?),
        Err(Error::Incompatible) => Err(Status::invalid_argument(format_args!("Incompatible shapes: {a} vs. {b}"))),
        Err(error) => Err(error.into()),
    }
}

/// Any two shapes, into the output's own memory.
fn broadcast<T: Value, O: Value>(c: &mut Ctx<'_>, steps: &Steps<T, O>) -> Result<(), Status> {
    let shape = broadcast_shape(c.input(0).shape(), c.input(1).shape())?;
    let mut out = c.output(0, O::DTYPE, &shape)?;
    let (a, b) = (c.input(0), c.input(1));
    let (x, y) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
    if let Some(check) = steps.check
        && shape.num_elements() != 0
    {
        check(y)?;
    }
    let plan = Broadcast::new([&a.shape().to_usize(), &b.shape().to_usize()])?;
    fill(c, &mut out, CYCLES, &|first, chunk: &mut [O]| plan.run(steps.rows, x, y, first, chunk))?;
    c.set(0, out);
    Ok(())
}

/// Computes `out` in pieces: `f(first, piece)`, on the host's threads when it is large. An element takes about `cycles`.
pub(crate) fn fill<O: Element>(
    c: &Ctx<'_>,
    out: &mut Tensor,
    cycles: usize,
    f: &(dyn Fn(usize, &mut [O]) -> KernelResult<()> + Sync),
) -> Result<(), Status> {
    let failed = AtomicBool::new(false);
    let into = out.elements_mut::<O>().ok_or_else(|| Status::internal("output memory is shared"))?;
    chunks_mut(c.parallel(), into, 1, cycles, &|first, chunk| {
        if f(first, chunk).is_err() {
            failed.store(true, Ordering::Relaxed);
        }
    });
    if failed.into_inner() { Err(Status::internal("an input has fewer elements than its shape says")) } else { Ok(()) }
}

/// The kernel of a unary operation whose result is of the operand's type; an element takes about `cycles`.
pub(crate) fn unary<Op, T>(op: Op, cycles: usize) -> Result<Box<dyn Kernel>, Status>
where
    Op: Unary<T, Out = T> + Send + Sync + 'static,
    T: Value,
{
    kernel(move |c: &mut Ctx<'_>| {
        if let Some(x) = c.input(0).inline_scalar::<T>() {
            c.set_scalar(0, op.apply(x));
            return Ok(());
        }
        if c.input(0).dtype() == T::DTYPE
            && let Some(mut value) = c.forward(0, 0)
        {
            fill(c, &mut value, cycles, &|_, chunk: &mut [T]| {
                unary::map_in_place(op, chunk);
                Ok(())
            })?;
            c.set(0, value);
            return Ok(());
        }
        mapped::<T, T>(c, cycles, &|x, out| unary::map(op, x, out))
    })
}

/// The kernel of a unary operation whose result is of another type; an element takes about `cycles`.
pub(crate) fn test<Op, T>(op: Op, cycles: usize) -> Result<Box<dyn Kernel>, Status>
where
    Op: Unary<T> + Send + Sync + 'static,
    T: Value,
    Op::Out: Value,
{
    kernel(move |c: &mut Ctx<'_>| {
        if let Some(x) = c.input(0).inline_scalar::<T>() {
            c.set_scalar(0, op.apply(x));
            return Ok(());
        }
        mapped::<T, Op::Out>(c, cycles, &|x, out| unary::map(op, x, out))
    })
}

/// Output 0 from input 0, piece by piece.
pub(crate) fn mapped<T: Value, O: Value>(
    c: &mut Ctx<'_>,
    cycles: usize,
    f: &(dyn Fn(&[T], &mut [O]) -> KernelResult<()> + Sync),
) -> Result<(), Status> {
    let shape = c.input(0).shape().clone();
    let mut out = c.output(0, O::DTYPE, &shape)?;
    let x = c.input(0).as_slice::<T>()?;
    fill(c, &mut out, cycles, &|first, chunk: &mut [O]| {
        f(x.get(first..first + chunk.len()).ok_or(Error::Length)?, chunk)
    })?;
    c.set(0, out);
    Ok(())
}
