//! Choosing between tensors, and adding many.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::carry::{Carried, carried};
use super::dispatch::*;
use super::elementwise::broadcast_shape;
use super::shape::{self, ShapeContext};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::binary::{self, Add};
use crate::kernels::element::Number;
use crate::kernels::parallel::chunks_mut;
use crate::kernels::select as k;
use crate::tensor::DType;

/// This family.
pub static OPS: &[&Op] = &[&SELECT, &SELECT_V2, &ADD_N];

static SELECT: Op = Op::new("Select", "condition: bool, t: T, e: T -> output: T", "T: type")
    .shape(|c| Ok(alloc::vec![c.input(1)]))
    .kernel(&[], |node| carried!(node, "T", C => select::<C>(node)));
static SELECT_V2: Op = Op::new("SelectV2", "condition: bool, t: T, e: T -> output: T", "T: type")
    .shape(select_shape)
    .kernel(&[], |node| carried!(node, "T", C => select_v2::<C>(node)));
/// Everything that can be added, and variants, which know for themselves.
const ADDED: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::Uint8,
    DType::Int16,
    DType::Int8,
    DType::Complex64,
    DType::Int64,
    DType::Bfloat16,
    DType::Uint16,
    DType::Complex128,
    DType::Half,
    DType::Uint32,
    DType::Uint64,
    DType::Variant,
];

static ADD_N: Op = Op::new(
    "AddN",
    "inputs: N * T -> sum: T",
    "N: int >= 1; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, \
        quint16, uint16, complex128, half, uint32, uint64, variant}",
)
.commutative()
.shape(shape::unchanged)
.kernel(&[("T", ADDED)], |node| match node.dtype("T")? {
    DType::Variant => kernel(add_n_variants),
    _ => dispatch!(node, "T", NUMBERS T => add_n::<T>()),
});

fn select<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let (condition, yes, no) = (c.input(0), c.input(1).shape(), c.input(2).shape());
        if yes != no {
            return Err(Status::invalid_argument(format_args!(
                "'then' and 'else' must have the same size, but received: {yes} vs. {no}"
            )));
        }
        if condition.shape().rank() == 0 {
            let chosen = if condition.to_scalar::<bool>()? { 1 } else { 2 };
            let value = c.take_input(chosen).unwrap_or_else(|| c.input(chosen).clone());
            c.set(0, value);
            return Ok(());
        }
        let rows = condition.shape().rank() == 1 && yes.rank() > 0 && condition.shape().dim(0) == yes.dim(0);
        if condition.shape() != yes && !rows {
            return Err(Status::invalid_argument(format_args!(
                "the condition of Select must have the shape of 'then' or be a vector of its rows: {} vs. {yes}",
                condition.shape()
            )));
        }
        let shape = yes.clone();
        let mut out = c.output(0, dtype, &shape)?;
        let condition = c.input(0).as_slice::<bool>()?;
        k::select_rows(condition, C::read(c.input(1))?, C::read(c.input(2))?, C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

fn select_v2<C: Carried>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    kernel(move |c: &mut Ctx<'_>| {
        let (condition, yes, no) = (c.input(0).shape(), c.input(1).shape(), c.input(2).shape());
        let shape = broadcast_shape(yes, no).and_then(|both| broadcast_shape(condition, &both)).map_err(|_| {
            Status::invalid_argument(format_args!(
                "condition {condition}, then {yes}, and else {no} must be broadcastable"
            ))
        })?;
        let mut out = c.output(0, dtype, &shape)?;
        let (dc, dy, dn) = (condition_dims(c, 0), condition_dims(c, 1), condition_dims(c, 2));
        k::select(
            (c.input(0).as_slice::<bool>()?, &dc),
            (C::read(c.input(1))?, &dy),
            (C::read(c.input(2))?, &dn),
            C::write(&mut out)?,
        )?;
        c.set(0, out);
        Ok(())
    })
}

fn condition_dims(c: &Ctx<'_>, i: usize) -> heapless::Vec<usize, { crate::tensor::RANK_MAX }> {
    c.input(i).shape().to_usize()
}

fn select_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let both = |a: PartialShape, b: PartialShape| {
        let inputs = [a, b];
        Ok::<_, Status>(
            shape::broadcast(&ShapeContext { node: c.node, inputs: &inputs, constants: &[] })?.swap_remove(0),
        )
    };
    let values = both(c.input(1), c.input(2))?;
    Ok(alloc::vec![both(c.input(0), values)?])
}

fn add_n<T: Value + Number>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        for i in 1..c.num_inputs() {
            if *c.input(i).shape() != shape {
                return Err(Status::invalid_argument(format_args!(
                    "Inputs to operation AddN must have the same size and shape. Input 0: {shape} != input {i}: {}",
                    c.input(i).shape()
                )));
            }
        }
        if c.num_inputs() == 1 {
            let value = c.forward(0, 0).unwrap_or_else(|| c.input(0).clone());
            c.set(0, value);
            return Ok(());
        }
        let mut out = c.output(0, T::DTYPE, &shape)?;
        let sum = out.make_mut::<T>()?;
        let inputs = c.num_inputs();
        chunks_mut(c.parallel(), sum, 1, inputs, &|first, sum| {
            let end = first + sum.len();
            let part = |i: usize| c.input(i).as_slice::<T>().ok().and_then(|x| x.get(first..end));
            let (Some(a), Some(b)) = (part(0), part(1)) else { return };
            sum.iter_mut().zip(a.iter().zip(b)).for_each(|(o, (a, b))| *o = a.plus(*b));
            for x in (2..inputs).filter_map(part) {
                // Lengths are equal, as shapes are.
                let _ = binary::run_in_place::<Add, T>(sum, x);
            }
        });
        c.set(0, out);
        Ok(())
    })
}

fn add_n_variants(c: &mut Ctx<'_>) -> Result<(), Status> {
    let mut sum = c.input(0).clone();
    if c.num_inputs() > 1 && sum.shape().rank() != 0 {
        return Err(Status::invalid_argument(format_args!(
            "AddN of non-scalar Tensor with dtype=DT_VARIANT is not supported; inputs[0] has shape: {}",
            sum.shape()
        )));
    }
    for i in 1..c.num_inputs() {
        sum = super::tensor_list::add_tensors(&sum, c.input(i), c.budget())?;
    }
    c.set(0, sum);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::ops::testing::{run, strings, tensor};
    use crate::tensor::Tensor;

    /// Both selects in every form, on numbers and strings.
    #[test]
    fn selects() {
        let (t, e) = (tensor(&[2, 2], &[1i32, 2, 3, 4]), tensor(&[2, 2], &[5i32, 6, 7, 8]));
        let c = tensor(&[2], &[true, false]);
        let go = |op: &str, c: &Tensor, t: &Tensor, e: &Tensor| run(op, &[], &[c.clone(), t.clone(), e.clone()]);
        assert_eq!(go("Select", &c, &t, &e).unwrap()[0].as_slice::<i32>().unwrap(), [1, 2, 7, 8]);
        assert_eq!(go("SelectV2", &c, &t, &e).unwrap()[0].as_slice::<i32>().unwrap(), [1, 6, 3, 8]);
        assert_eq!(go("Select", &false.into(), &t, &e).unwrap()[0].as_slice::<i32>().unwrap(), [5, 6, 7, 8]);
        assert_eq!(go("SelectV2", &c, &t, &0i32.into()).unwrap()[0].as_slice::<i32>().unwrap(), [1, 0, 3, 0]);
        let s = go("SelectV2", &c, &strings(&[2], &["a", "b"]), &strings(&[], &["c"])).unwrap();
        assert_eq!(s[0].strings().unwrap(), ["a", "c"]);
        let code = |op: &str, c: Tensor, t: &Tensor, e: Tensor| go(op, &c, t, &e).unwrap_err().code();
        assert_eq!(code("Select", tensor(&[1], &[true]), &t, e.clone()), Code::InvalidArgument);
        assert_eq!(code("Select", c.clone(), &t, 1i32.into()), Code::InvalidArgument);
        assert_eq!(code("SelectV2", tensor(&[3], &[true; 3]), &t, e), Code::InvalidArgument);
    }

    /// Sums of one, two and more.
    #[test]
    fn sums() {
        let x = tensor(&[2], &[1.0f32, 2.0]);
        for n in 1..5 {
            let out = run("AddN", &[], &alloc::vec![x.clone(); n]).unwrap();
            assert_eq!(out[0].as_slice::<f32>().unwrap(), [n as f32, 2.0 * n as f32]);
        }
        assert_eq!(run("AddN", &[], &[x, 1.0f32.into()]).unwrap_err().code(), Code::InvalidArgument);
    }
}
