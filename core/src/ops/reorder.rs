//! Elements in another order: sequences and dimensions turned round, dimensions rotated.

use alloc::boxed::Box;

use super::carry::{Carried, carried};
use super::dispatch::*;
use super::shapes::{axis, ints};
use super::{Ctx, Kernel, NodeContext, Op, kernel, shape};
use crate::Status;
use crate::kernels::element::Integer;
use crate::kernels::movement::reverse;
use crate::tensor::RANK_MAX;

/// This family.
pub static OPS: &[&Op] = &[&REVERSE_SEQUENCE, &REVERSE, &ROLL];

static REVERSE_SEQUENCE: Op = Op::new(
    "ReverseSequence",
    "input: T, seq_lengths: Tlen -> output: T",
    "seq_dim: int; batch_dim: int = 0; T: type; Tlen: {int32, int64} = int64",
)
.shape(shape::unchanged)
.kernel(
    &[("Tlen", INDICES)],
    |node| carried!(node, "T", C => dispatch!(node, "Tlen", INDICES I => sequences::<C, I>(node))),
);
static REVERSE: Op = Op::new(
    "Reverse",
    "tensor: T, dims: bool -> output: T",
    "T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, float, double, complex64, \
        complex128, string}",
)
.shape(shape::unchanged)
.kernel(&[], |node| carried!(node, "T", C => reversed::<C>(node)));
static ROLL: Op = Op::new(
    "Roll",
    "input: T, shift: Tshift, axis: Taxis -> output: T",
    "T: type; Tshift: {int32, int64}; Taxis: {int32, int64}",
)
.shape(shape::unchanged)
.kernel(&[("Tshift", INDICES), ("Taxis", INDICES)], |node| carried!(node, "T", C => rolled::<C>(node)));

fn invalid(text: core::fmt::Arguments<'_>) -> Status {
    Status::invalid_argument(text)
}

fn sequences<C: Carried, I: Value + Integer>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    let (seq, batch) = (node.attrs().int("seq_dim")?, node.attrs().int("batch_dim")?);
    kernel(move |c: &mut Ctx<'_>| {
        let (shape, lengths) = (c.input(0).shape().clone(), c.input(1));
        if lengths.shape().rank() != 1 {
            return Err(invalid(format_args!("seq_lens input must be 1-dim, not {}", lengths.shape().rank())));
        }
        let place = |at: i64, name: &str| {
            let found = usize::try_from(at).ok().filter(|&at| at < shape.rank());
            found.ok_or_else(|| invalid(format_args!("{name} = {at} is not in [0, {})", shape.rank())))
        };
        if batch == seq {
            return Err(invalid(format_args!("batch_dim == seq_dim == {seq}")));
        }
        let axes = (place(seq, "seq_dim")?, place(batch, "batch_dim")?);
        let (steps, count) = (shape.dim(axes.0), shape.dim(axes.1));
        let list = lengths.as_slice::<I>()?;
        if list.len() != count {
            return Err(invalid(format_args!(
                "Length of seq_lens != input.dims({batch}), ({} vs. {count})",
                list.len()
            )));
        }
        if let Some(at) = list.iter().position(|n| n.to_index().is_none_or(|n| n > steps)) {
            return Err(invalid(format_args!("seq_lens({at}) = {} is not in [0, {steps}]", list[at].to_i64())));
        }
        let mut out = c.output(0, dtype, &shape)?;
        let list = c.input(1).as_slice::<I>()?;
        reverse::reverse_sequence(C::read(c.input(0))?, &shape.to_usize(), axes, list, C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

fn reversed<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let mask = c.input(1);
        if shape.rank() > 0 && (mask.shape().rank() != 1 || mask.shape().dim(0) != shape.rank()) {
            return Err(invalid(format_args!(
                "'dims' must be a vector of as many values as 'input' has dimensions: {} for {shape}",
                mask.shape()
            )));
        }
        if shape.rank() > 0 && shape.dim(0) == 0 {
            return Err(invalid(format_args!("Invalid input first dimension. Found 0.")));
        }
        let mut out = c.output(0, dtype, &shape)?;
        let mask = c.input(1).as_slice::<bool>()?.get(..shape.rank()).unwrap_or_default();
        reverse::reverse(C::read(c.input(0))?, &shape.to_usize(), mask, C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

fn rolled<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let (shifts, axes) = (c.input(1), c.input(2));
        if shape.rank() == 0 {
            return Err(invalid(format_args!("input must be 1-D or higher")));
        }
        if shifts.shape().rank() > 1 || axes.shape().rank() > 1 || shifts.shape() != axes.shape() {
            return Err(invalid(format_args!(
                "shift and axis must be scalars or vectors of the same size: {} and {}",
                shifts.shape(),
                axes.shape()
            )));
        }
        let mut by = [0i64; RANK_MAX];
        for (&shift, &at) in ints(shifts)?.iter().zip(&ints(axes)?) {
            let at = axis(at, shape.rank())?;
            // Shifts of one axis add up; each counts only modulo the size.
            let size = (shape.dim(at) as i64).max(1);
            by[at] = (by[at] + shift.rem_euclid(size)).rem_euclid(size);
        }
        let mut out = c.output(0, dtype, &shape)?;
        let by = by.get(..shape.rank()).unwrap_or_default();
        reverse::roll(C::read(c.input(0))?, &shape.to_usize(), by, C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, strings, tensor};

    /// Each op on a small matrix, and what it refuses.
    #[test]
    fn orders() {
        let x = tensor(&[2, 3], &[1i32, 2, 3, 4, 5, 6]);
        let seq = [("seq_dim", AttrValue::from(1i64))];
        let out = run("ReverseSequence", &seq, &[x.clone(), tensor(&[2], &[2i64, 3])]).unwrap();
        assert_eq!(out[0].as_slice::<i32>().unwrap(), [2, 1, 3, 6, 5, 4]);
        for (lengths, dim) in [([2i64, 4], 1i64), ([-1, 0], 1), ([1, 1], 0), ([1, 1], 2), ([1, 1], -1)] {
            let attrs = [("seq_dim", AttrValue::from(dim))];
            let error = run("ReverseSequence", &attrs, &[x.clone(), tensor(&[2], &lengths)]).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument, "{lengths:?} {dim}");
        }
        let out = run("Reverse", &[], &[x.clone(), tensor(&[2], &[false, true])]).unwrap();
        assert_eq!(out[0].as_slice::<i32>().unwrap(), [3, 2, 1, 6, 5, 4]);
        let error = run("Reverse", &[], &[x.clone(), tensor(&[1], &[true])]).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        let roll = |by: &[i32], at: &[i64]| {
            run("Roll", &[], &[x.clone(), tensor(&[by.len()], by), tensor(&[at.len()], at)]).map_err(|e| e.code())
        };
        assert_eq!(roll(&[1, i32::MIN], &[0, -1]).unwrap()[0].as_slice::<i32>().unwrap(), [6, 4, 5, 3, 1, 2]);
        assert_eq!(roll(&[1], &[2]).unwrap_err(), Code::InvalidArgument);
        assert_eq!(roll(&[1], &[0, 1]).unwrap_err(), Code::InvalidArgument);
        let text = run("Roll", &[], &[strings(&[3], &["a", "b", "c"]), 1i32.into(), 0i32.into()]).unwrap();
        assert_eq!(text[0].strings().unwrap(), ["c", "a", "b"]);
    }
}
