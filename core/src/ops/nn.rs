//! The small ops of neural networks: bias, relu, softmax, cross entropy, with their gradients.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dispatch::*;
use super::elementwise::broadcast_shape;
use super::shape::ShapeContext;
use super::{Ctx, Kernel, Op, kernel, shape};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::bias::{self, Channels};
use crate::kernels::broadcast::broadcast_to;
use crate::kernels::number::{Arithmetic, Floating, Real};
use crate::kernels::parallel::Parallel;
use crate::kernels::xent::{self, XentError};
use crate::kernels::{Mismatch, relu as r, softmax as s};
use crate::tensor::{Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[
    &BIAS_ADD,
    &BIAS_ADD_V1,
    &BIAS_ADD_GRAD,
    &RELU,
    &RELU6,
    &RELU_GRAD,
    &RELU6_GRAD,
    &SOFTMAX,
    &LOG_SOFTMAX,
    &SOFTMAX_CROSS_ENTROPY,
    &SPARSE_SOFTMAX_CROSS_ENTROPY,
];

macro_rules! any_number {
    ($more:literal) => {
        concat!(
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, \
             quint16, uint16, complex128, half, uint32, uint64}",
            $more
        )
    };
}

static BIAS_ADD: Op =
    Op::new("BiasAdd", "value: T, bias: T -> output: T", any_number!("; data_format: {'NHWC', 'NCHW'} = 'NHWC'"))
        .shape(shape::unchanged)
        .kernel(&[("T", NUMBERS)], |node| {
            let first = node.attrs().str("data_format")? == "NCHW";
            dispatch!(node, "T", NUMBERS T => bias_add::<T>(first))
        });
static BIAS_ADD_V1: Op = Op::new("BiasAddV1", "value: T, bias: T -> output: T", any_number!(""))
    .shape(shape::unchanged)
    .kernel(&[("T", NUMBERS)], |node| dispatch!(node, "T", NUMBERS T => bias_add::<T>(false)));
static BIAS_ADD_GRAD: Op =
    Op::new("BiasAddGrad", "out_backprop: T -> output: T", any_number!("; data_format: {'NHWC', 'NCHW'} = 'NHWC'"))
        .shape(channels_shape)
        .kernel(&[("T", NUMBERS)], |node| {
            let first = node.attrs().str("data_format")? == "NCHW";
            dispatch!(node, "T", NUMBERS T => bias_add_grad::<T>(first))
        });

const REAL: &str = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";
static RELU: Op = Op::new(
    "Relu",
    "features: T -> activations: T",
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8}",
)
.shape(shape::unchanged)
.kernel(&[("T", REALS)], |node| dispatch!(node, "T", REALS T => relu::<T>(r::relu, r::relu_in_place)));
static RELU6: Op = Op::new("Relu6", "features: T -> activations: T", REAL)
    .shape(shape::unchanged)
    .kernel(&[("T", REALS)], |node| dispatch!(node, "T", REALS T => relu::<T>(r::relu6, r::relu6_in_place)));
static RELU_GRAD: Op = Op::new("ReluGrad", "gradients: T, features: T -> backprops: T", REAL)
    .shape(shape::unchanged)
    .kernel(&[("T", REALS)], |node| dispatch!(node, "T", REALS T => relu_grad::<T>(r::relu_grad)));
static RELU6_GRAD: Op = Op::new("Relu6Grad", "gradients: T, features: T -> backprops: T", REAL)
    .shape(shape::unchanged)
    .kernel(&[("T", REALS)], |node| dispatch!(node, "T", REALS T => relu_grad::<T>(r::relu6_grad)));

const FLOAT: &str = "T: {half, bfloat16, float, double}";
static SOFTMAX: Op = Op::new("Softmax", "logits: T -> softmax: T", FLOAT)
    .shape(shape::unchanged)
    .kernel(&[("T", FLOATS)], |node| dispatch!(node, "T", FLOATS T => softmax::<T>(s::softmax)));
static LOG_SOFTMAX: Op = Op::new("LogSoftmax", "logits: T -> logsoftmax: T", FLOAT)
    .shape(shape::unchanged)
    .kernel(&[("T", FLOATS)], |node| dispatch!(node, "T", FLOATS T => softmax::<T>(s::log_softmax)));
static SOFTMAX_CROSS_ENTROPY: Op =
    Op::new("SoftmaxCrossEntropyWithLogits", "features: T, labels: T -> loss: T, backprop: T", FLOAT)
        .shape(dense_xent_shape)
        .kernel(&[("T", FLOATS)], |node| dispatch!(node, "T", FLOATS T => dense_xent::<T>()));
static SPARSE_SOFTMAX_CROSS_ENTROPY: Op = Op::new(
    "SparseSoftmaxCrossEntropyWithLogits",
    "features: T, labels: Tlabels -> loss: T, backprop: T",
    "T: {half, bfloat16, float, double}; Tlabels: {int32, int64} = int64",
)
.shape(|c| Ok(alloc::vec![c.input(1), c.input(0)]))
.kernel(
    &[("T", FLOATS), ("Tlabels", INDICES)],
    |node| dispatch!(node, "T", FLOATS T => dispatch!(node, "Tlabels", INDICES L => sparse_xent::<T, L>())),
);

/// Where the channels of a tensor are: last, or second.
fn channels(shape: &Shape, first: bool) -> Result<Channels, Status> {
    let dims = shape.to_usize();
    if dims.len() < 2 {
        return Err(Status::invalid_argument(format_args!("Input tensor must be at least 2D: {shape}")));
    }
    let at = if first { 1 } else { dims.len() - 1 };
    let product = |d: &[usize]| d.iter().product();
    Ok(Channels { outer: product(&dims[..at]), channels: dims[at], inner: product(&dims[at + 1..]) })
}

fn channels_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let first = c.node.attrs.str("data_format")? == "NCHW";
    let channel = c.input(0).dims.and_then(|d| if first { d.get(1).copied() } else { d.last().copied() });
    Ok(alloc::vec![PartialShape::new(&[channel.unwrap_or(-1)])])
}

fn bias_add<T: Value + Arithmetic>(first: bool) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let (x, b) = (c.input(0), c.input(1));
        let shape = x.shape().clone();
        let channels = channels(&shape, first)?;
        if b.shape().rank() != 1 {
            return Err(Status::invalid_argument(format_args!("Biases must be 1D: {}", b.shape())));
        }
        if b.shape().dim(0) != channels.channels {
            return Err(Status::invalid_argument(format_args!(
                "Must provide as many biases as the channels of the input tensor: {} vs. {} in {shape}",
                b.shape(),
                channels.channels
            )));
        }
        if let Some(mut value) = c.forward(0, 0) {
            bias::bias_add_in_place(c.parallel(), channels, value.make_mut::<T>()?, c.input(1).as_slice()?)?;
            c.set(0, value);
            return Ok(());
        }
        let mut out = c.output(0, T::DTYPE, &shape)?;
        let (x, b) = (c.input(0).as_slice::<T>()?, c.input(1).as_slice()?);
        bias::bias_add(c.parallel(), channels, x, b, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

fn bias_add_grad<T: Value + Arithmetic>(first: bool) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let channels = channels(c.input(0).shape(), first)?;
        let mut out = c.output(0, T::DTYPE, &Shape::new(&[channels.channels])?)?;
        bias::bias_add_grad(c.parallel(), channels, c.input(0).as_slice::<T>()?, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

fn relu<T: Value + Real>(
    apply: fn(&dyn Parallel, &[T], &mut [T]) -> Result<(), Mismatch>,
    in_place: fn(&dyn Parallel, &mut [T]),
) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        if let Some(mut value) = c.forward(0, 0) {
            in_place(c.parallel(), value.make_mut::<T>()?);
            c.set(0, value);
            return Ok(());
        }
        let shape = c.input(0).shape().clone();
        let mut out = c.output(0, T::DTYPE, &shape)?;
        apply(c.parallel(), c.input(0).as_slice()?, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

type Grad<T> = fn(&dyn Parallel, &[T], &[T], &mut [T]) -> Result<(), Mismatch>;

fn relu_grad<T: Value + Real>(apply: Grad<T>) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let (gradients, features) = (c.input(0), c.input(1));
        if gradients.shape() != features.shape() {
            return Err(Status::invalid_argument(format_args!(
                "gradients and features must have the same shape: {} vs. {}",
                gradients.shape(),
                features.shape()
            )));
        }
        let shape = gradients.shape().clone();
        let mut out = c.output(0, T::DTYPE, &shape)?;
        apply(c.parallel(), c.input(0).as_slice()?, c.input(1).as_slice()?, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

fn softmax<T: Value + Floating>(
    apply: fn(&dyn Parallel, usize, &[T], &mut [T]) -> Result<(), Mismatch>,
) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        if shape.rank() == 0 {
            return Err(Status::invalid_argument(format_args!("logits must have >= 1 dimension, got {shape}")));
        }
        let mut out = c.output(0, T::DTYPE, &shape)?;
        apply(c.parallel(), shape.dim(shape.rank() - 1), c.input(0).as_slice()?, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

fn dense_xent_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let both = shape::broadcast(c)?.swap_remove(0);
    let rows = both.dims.as_ref().and_then(|d| d.first().copied()).unwrap_or(-1);
    Ok(alloc::vec![PartialShape::new(&[rows]), both])
}

fn dense_xent<T: Value + Floating>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let (x, y) = (c.input(0).shape(), c.input(1).shape());
        let shape = broadcast_shape(x, y).map_err(|_| {
            Status::invalid_argument(format_args!(
                "logits and labels must be broadcastable: logits_size={x} labels_size={y}"
            ))
        })?;
        if shape.rank() != 2 {
            return Err(Status::invalid_argument(format_args!(
                "logits and labels must be 2-dimensional once broadcast: logits_size={x} labels_size={y}"
            )));
        }
        let mut loss = c.output(0, T::DTYPE, &Shape::new(&[shape.dim(0)])?)?;
        let mut backprop = c.output(1, T::DTYPE, &shape)?;
        let mut stretched = [None, None];
        for (i, slot) in stretched.iter_mut().enumerate() {
            if *c.input(i).shape() != shape {
                let mut whole = c.scratch::<T>(shape.num_elements())?;
                let from = c.input(i);
                broadcast_to(from.as_slice::<T>()?, &from.shape().to_usize(), &shape.to_usize(), whole.make_mut()?)?;
                *slot = Some(whole);
            }
        }
        let whole = |i: usize| stretched[i].as_ref().unwrap_or(c.input(i)).as_slice::<T>();
        let (logits, labels) = (whole(0)?, whole(1)?);
        xent::softmax_xent(c.parallel(), shape.dim(1), logits, labels, loss.make_mut()?, backprop.make_mut()?)?;
        stretched.into_iter().flatten().for_each(|whole: Tensor| c.give_scratch(whole));
        c.set(0, loss);
        c.set(1, backprop);
        Ok(())
    })
}

fn sparse_xent<T: Value + Floating, L: Value + Into<i64>>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let (x, labels) = (c.input(0).shape().clone(), c.input(1).shape().clone());
        let invalid = |text: core::fmt::Arguments<'_>| Err(Status::invalid_argument(text));
        if x.rank() != 2 {
            return invalid(format_args!("logits must be 2-D, but got shape {x}"));
        }
        if labels.rank() != 1 {
            return invalid(format_args!("labels must be 1-D, but got shape {labels}"));
        }
        if x.dim(0) != labels.dim(0) {
            return invalid(format_args!(
                "logits and labels must have the same first dimension, got logits shape {x} and labels shape {labels}"
            ));
        }
        if x.dim(1) == 0 {
            return invalid(format_args!("Must have at least one class, but got logits shape {x}"));
        }
        let mut loss = c.output(0, T::DTYPE, &labels)?;
        let mut backprop = c.output(1, T::DTYPE, &x)?;
        let (logits, labels) = (c.input(0).as_slice::<T>()?, c.input(1).as_slice::<L>()?);
        let classes = x.dim(1);
        xent::sparse_softmax_xent(c.parallel(), classes, logits, labels, loss.make_mut()?, backprop.make_mut()?)
            .map_err(|error| match error {
                XentError::Mismatch(mismatch) => mismatch.into(),
                XentError::Label { index, label } => Status::invalid_argument(format_args!(
                    "Received a label value of {label} which is outside the valid range of [0, {classes}), at {index}"
                )),
            })?;
        c.set(0, loss);
        c.set(1, backprop);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, tensor};
    use crate::tensor::Tensor;

    fn near(out: &Tensor, want: &[f32]) {
        let out = out.as_slice::<f32>().unwrap();
        assert_eq!(out.len(), want.len());
        assert!(out.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6), "{out:?} {want:?}");
    }

    fn code(op: &str, inputs: &[Tensor]) -> Code {
        run(op, &[], inputs).unwrap_err().code()
    }

    /// Channels last and second, with the gradient.
    #[test]
    fn bias() {
        let x = tensor(&[1, 2, 2], &[1.0f32, 2.0, 3.0, 4.0]);
        let b = tensor(&[2], &[10.0f32, 20.0]);
        let nchw = [("data_format", AttrValue::from("NCHW"))];
        near(&run("BiasAdd", &[], &[x.clone(), b.clone()]).unwrap()[0], &[11.0, 22.0, 13.0, 24.0]);
        near(&run("BiasAdd", &nchw, &[x.clone(), b.clone()]).unwrap()[0], &[11.0, 12.0, 23.0, 24.0]);
        near(&run("BiasAddV1", &[], &[x.clone(), b.clone()]).unwrap()[0], &[11.0, 22.0, 13.0, 24.0]);
        near(&run("BiasAddGrad", &[], &[x.clone()]).unwrap()[0], &[4.0, 6.0]);
        near(&run("BiasAddGrad", &nchw, &[x.clone()]).unwrap()[0], &[3.0, 7.0]);
        assert_eq!(code("BiasAdd", &[x.clone(), tensor(&[3], &[0.0f32; 3])]), Code::InvalidArgument);
        assert_eq!(code("BiasAdd", &[x, tensor(&[1, 2], &[0.0f32; 2])]), Code::InvalidArgument);
        assert_eq!(code("BiasAdd", &[b.clone(), b]), Code::InvalidArgument);
    }

    /// Relu and its kin on floats and integers.
    #[test]
    fn relus() {
        let x = tensor(&[4], &[-1.0f32, 0.0, 3.0, 7.0]);
        near(&run("Relu", &[], &[x.clone()]).unwrap()[0], &[0.0, 0.0, 3.0, 7.0]);
        near(&run("Relu6", &[], &[x.clone()]).unwrap()[0], &[0.0, 0.0, 3.0, 6.0]);
        let g = tensor(&[4], &[1.0f32; 4]);
        near(&run("ReluGrad", &[], &[g.clone(), x.clone()]).unwrap()[0], &[0.0, 0.0, 1.0, 1.0]);
        near(&run("Relu6Grad", &[], &[g, x.clone()]).unwrap()[0], &[0.0, 0.0, 1.0, 0.0]);
        assert_eq!(run("Relu", &[], &[tensor(&[2], &[-3i8, 3])]).unwrap()[0].as_slice::<i8>().unwrap(), [0, 3]);
        assert_eq!(code("ReluGrad", &[1.0f32.into(), x]), Code::InvalidArgument);
    }

    /// Softmax of rows, of any rank.
    #[test]
    fn softmaxes() {
        let x = tensor(&[2, 2], &[0.0f32, 0.0, 0.0, 3.0f32.ln()]);
        near(&run("Softmax", &[], &[x.clone()]).unwrap()[0], &[0.5, 0.5, 0.25, 0.75]);
        let ln = |x: f32| x.ln();
        near(&run("LogSoftmax", &[], &[x]).unwrap()[0], &[ln(0.5), ln(0.5), ln(0.25), ln(0.75)]);
        assert_eq!(code("Softmax", &[1.0f32.into()]), Code::InvalidArgument);
    }

    /// Both cross entropies agree; labels out of range and shapes that do not fit are refused.
    #[test]
    fn entropies() {
        let x = tensor(&[2, 2], &[0.0f32, 0.0, 0.0, 3.0f32.ln()]);
        let (loss, backprop) = ([0.5f32.ln().abs(), 0.75f32.ln().abs()], [-0.5, 0.5, 0.25, -0.25]);
        let sparse = run("SparseSoftmaxCrossEntropyWithLogits", &[], &[x.clone(), tensor(&[2], &[0i32, 1])]).unwrap();
        near(&sparse[0], &loss);
        near(&sparse[1], &backprop);
        let labels = tensor(&[2, 2], &[1.0f32, 0.0, 0.0, 1.0]);
        let dense = run("SoftmaxCrossEntropyWithLogits", &[], &[x.clone(), labels]).unwrap();
        near(&dense[0], &loss);
        near(&dense[1], &backprop);
        let one = tensor(&[1, 2], &[0.0f32, 1.0]);
        let stretched = run("SoftmaxCrossEntropyWithLogits", &[], &[x.clone(), one]).unwrap();
        near(&stretched[0], &[0.5f32.ln().abs(), 0.75f32.ln().abs()]);
        let sparse = |labels| code("SparseSoftmaxCrossEntropyWithLogits", &[x.clone(), labels]);
        assert_eq!(sparse(tensor(&[2], &[0i64, 2])), Code::InvalidArgument);
        assert_eq!(sparse(tensor(&[2], &[-1i64, 0])), Code::InvalidArgument);
        assert_eq!(sparse(tensor(&[3], &[0i64; 3])), Code::InvalidArgument);
        assert_eq!(sparse(tensor(&[2, 1], &[0i64; 2])), Code::InvalidArgument);
    }
}
