//! Batch normalisation, for training and inference, with its gradient. Channels first are turned last and back.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::movement::transpose::transpose;
use crate::kernels::norm::{self as k, BatchNorm, BatchNormGradient, BatchStatistics, Statistics};
use crate::kernels::number::Floating;
use crate::tensor::{DType, Element, RANK_MAX, Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[&FUSED_BATCH_NORM, &V2, &V3, &GRAD, &GRAD_V2, &GRAD_V3];

macro_rules! attrs {
    ($types:literal, $more:literal) => {
        concat!($types, "; epsilon: float = 0.0001", $more, "; is_training: bool = true")
    };
}

static FUSED_BATCH_NORM: Op = Op::new(
    "FusedBatchNorm",
    "x: T, scale: T, offset: T, mean: T, variance: T -> y: T, batch_mean: T, batch_variance: T, reserve_space_1: T, \
        reserve_space_2: T",
    attrs!("T: {float}", "; exponential_avg_factor: float = 1.0; data_format: {'NHWC', 'NCHW'} = 'NHWC'"),
)
.heavy()
.shape(forward_shape)
.kernel(&[], forward::<f32>);
static V2: Op = Op::new(
    "FusedBatchNormV2",
    "x: T, scale: U, offset: U, mean: U, variance: U -> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, \
        reserve_space_2: U",
    attrs!(
        "T: {half, bfloat16, float}; U: {float}",
        "; exponential_avg_factor: float = 1.0; data_format: {'NHWC', 'NCHW'} = 'NHWC'"
    ),
)
.heavy()
.shape(forward_shape)
.kernel(NORMED, |node| dispatch!(node, "T", SHORT_FLOATS T => forward::<T>(node)));
static V3: Op = Op::new(
    "FusedBatchNormV3",
    "x: T, scale: U, offset: U, mean: U, variance: U -> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, \
        reserve_space_2: U, reserve_space_3: U",
    attrs!(
        "T: {half, bfloat16, float}; U: {bfloat16, float}",
        "; exponential_avg_factor: float = 1.0; data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'"
    ),
)
.heavy()
.shape(forward_shape)
.kernel(NORMED, |node| dispatch!(node, "T", SHORT_FLOATS T => forward::<T>(node)));
static GRAD: Op = Op::new(
    "FusedBatchNormGrad",
    "y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T -> x_backprop: T, scale_backprop: T, \
        offset_backprop: T, reserve_space_3: T, reserve_space_4: T",
    attrs!("T: {float}", "; data_format: {'NHWC', 'NCHW'} = 'NHWC'"),
)
.heavy()
.shape(gradient_shape)
.kernel(&[], gradient::<f32>);
static GRAD_V2: Op = Op::new(
    "FusedBatchNormGradV2",
    "y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U -> x_backprop: T, scale_backprop: U, \
        offset_backprop: U, reserve_space_3: U, reserve_space_4: U",
    attrs!("T: {half, bfloat16, float}; U: {float}", "; data_format: {'NHWC', 'NCHW'} = 'NHWC'"),
)
.heavy()
.shape(gradient_shape)
.kernel(NORMED, |node| dispatch!(node, "T", SHORT_FLOATS T => gradient::<T>(node)));
static GRAD_V3: Op = Op::new(
    "FusedBatchNormGradV3",
    "y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U -> x_backprop: T, \
        scale_backprop: U, offset_backprop: U, reserve_space_4: U, reserve_space_5: U",
    attrs!("T: {half, bfloat16, float}; U: {float}", "; data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'"),
)
.heavy()
.shape(gradient_shape)
.kernel(NORMED, |node| dispatch!(node, "T", SHORT_FLOATS T => gradient::<T>(node)));

const NORMED: &[(&str, &[DType])] = &[("T", SHORT_FLOATS), ("U", &[DType::Float])];

fn channels_first(format: &str) -> bool {
    format.starts_with("NC")
}

fn channel_of(c: &ShapeContext<'_>, i: usize) -> Result<i64, Status> {
    let first = channels_first(c.node.attrs.str("data_format")?);
    let dims = c.input(i).dims;
    Ok(dims.and_then(|d| if first { d.get(1).copied() } else { d.last().copied() }).unwrap_or(-1))
}

fn forward_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let channel = PartialShape::new(&[channel_of(c, 0)?]);
    let mut shapes = alloc::vec![channel; c.node.output_types.len()];
    shapes[0] = c.input(0);
    if let Some(unused) = shapes.get_mut(5) {
        *unused = PartialShape::new(&[]);
    }
    Ok(shapes)
}

fn gradient_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let channel = PartialShape::new(&[channel_of(c, 1)?]);
    if c.node.output_types.len() != 5 {
        return shape::unknown(c);
    }
    let none = PartialShape::new(&[0]);
    Ok(alloc::vec![c.input(1), channel.clone(), channel, none.clone(), none])
}

/// What the attributes say.
#[derive(Clone, Copy)]
struct Norm {
    epsilon: f32,
    training: bool,
    channels_first: bool,
}

impl Norm {
    fn new(node: &NodeContext<'_>) -> Result<Norm, Status> {
        let attrs = node.attrs();
        Ok(Norm {
            epsilon: attrs.float("epsilon")?,
            training: attrs.bool("is_training")?,
            channels_first: channels_first(attrs.str("data_format")?),
        })
    }

    /// The geometry over `x`.
    fn over(&self, x: &Shape) -> Result<BatchNorm, Status> {
        if !(4..=5).contains(&x.rank()) {
            return Err(Status::invalid_argument(format_args!("input must be 4 or 5-dimensional: {x}")));
        }
        let channels = x.dim(if self.channels_first { 1 } else { x.rank() - 1 });
        let pixels = x.num_elements().checked_div(channels).unwrap_or(0);
        Ok(BatchNorm { pixels, channels, epsilon: self.epsilon })
    }

    /// The elements of input `i` with channels last, in scratch memory, when they are first.
    fn turned<T: Element>(&self, c: &mut Ctx<'_>, i: usize) -> Result<Option<Tensor>, Status> {
        if !self.channels_first {
            return Ok(None);
        }
        let mut turned = c.scratch::<T>(c.input(i).num_elements())?;
        let x = c.input(i);
        let rank = x.shape().rank();
        let order: Axes = [0].into_iter().chain(2..rank).chain([1]).collect();
        transpose(x.as_slice::<T>()?, &x.shape().to_usize(), &order, turned.make_mut()?)?;
        Ok(Some(turned))
    }

    /// Memory for output 0 of shape `x` with channels last, and where it goes in the end.
    fn output<T: Element>(&self, c: &mut Ctx<'_>, x: &Shape) -> Result<(Tensor, Option<Tensor>), Status> {
        let out = c.output(0, T::DTYPE, x)?;
        let turned = if self.channels_first { Some(c.scratch::<T>(x.num_elements())?) } else { None };
        Ok((out, turned))
    }

    /// Sets output 0, turned back when channels are first.
    fn finish<T: Element>(&self, c: &mut Ctx<'_>, mut out: Tensor, turned: Option<Tensor>) -> Result<(), Status> {
        if let Some(turned) = turned {
            let dims = out.shape().to_usize();
            let rank = dims.len();
            let last: Axes = [0].into_iter().chain(2..rank).chain([1]).map(|i| dims[i]).collect();
            let order: Axes = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
            transpose(turned.as_slice::<T>()?, &last, &order, out.make_mut::<T>()?)?;
            c.give_scratch(turned);
        }
        c.set(0, out);
        Ok(())
    }
}

/// A short list of axes or sizes.
type Axes = heapless::Vec<usize, RANK_MAX>;

/// INVALID_ARGUMENT unless input `i` is a vector with a number a channel.
fn check_channels(c: &Ctx<'_>, i: usize, name: &str, channels: usize) -> Result<(), Status> {
    let shape = c.input(i).shape();
    if shape.rank() != 1 {
        return Err(Status::invalid_argument(format_args!("{name} must be 1-dimensional: {shape}")));
    }
    if shape.dim(0) != channels {
        return Err(Status::invalid_argument(format_args!(
            "{name} must have the same number of elements as the channels of x, got {} and {channels}",
            shape.dim(0)
        )));
    }
    Ok(())
}

fn forward<T: Value + Floating<Wide = f32>>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let norm = Norm::new(node)?;
    let factor = node.attrs().float("exponential_avg_factor")?;
    let has_unused = node.node.output_types.len() > 5;
    kernel(move |c: &mut Ctx<'_>| {
        let x_shape = c.input(0).shape().clone();
        let geometry = norm.over(&x_shape)?;
        let averages = !norm.training || factor != 1.0;
        let names = [(1, "scale"), (2, "offset"), (3, "mean"), (4, "variance")];
        for (i, name) in names.into_iter().take(if averages { 4 } else { 2 }) {
            check_channels(c, i, name, geometry.channels)?;
        }
        let turned = norm.turned::<T>(c, 0)?;
        let (mut out, mut turned_out) = norm.output::<T>(c, &x_shape)?;
        let channel = Shape::new(&[geometry.channels])?;
        let mut statistics = [1, 2, 3, 4].map(|i| c.output(i, DType::Float, &channel));
        let [Ok(mean), Ok(variance), Ok(saved_mean), Ok(saved_variance)] = &mut statistics else {
            return Err(Status::resource_exhausted("no memory for the statistics of a batch"));
        };
        let x = turned.as_ref().unwrap_or(c.input(0)).as_slice::<T>()?;
        let y = turned_out.as_mut().unwrap_or(&mut out).make_mut::<T>()?;
        let input = |i: usize| c.input(i).as_slice::<f32>();
        if norm.training {
            let before = if averages { Some((input(3)?, input(4)?)) } else { None };
            let told = BatchStatistics {
                running_mean: mean.make_mut()?,
                running_variance: variance.make_mut()?,
                mean: saved_mean.make_mut()?,
                variance: saved_variance.make_mut()?,
            };
            let affine = (input(1)?, input(2)?);
            k::batch_norm_training(c.parallel(), &geometry, x, affine, before, factor, told, y)?;
        } else {
            let given = Statistics { scale: input(1)?, offset: input(2)?, mean: input(3)?, variance: input(4)? };
            k::batch_norm_inference(c.parallel(), &geometry, x, given, y)?;
            for (to, from) in [
                (mean, given.mean),
                (variance, given.variance),
                (saved_mean, given.mean),
                (saved_variance, given.variance),
            ] {
                to.make_mut::<f32>()?.copy_from_slice(from);
            }
        }
        if x_shape.num_elements() == 0 {
            // As TensorFlow has it: nothing has no mean, not even a given one.
            for statistic in statistics.iter_mut().flatten().take(2) {
                statistic.make_mut::<f32>()?.fill(f32::NAN);
            }
        }
        if let Some(turned) = turned {
            c.give_scratch(turned);
        }
        norm.finish::<T>(c, out, turned_out)?;
        for (i, value) in (1..).zip(statistics) {
            c.set(i, value?);
        }
        if has_unused {
            c.set_scalar(5, 0.0f32);
        }
        Ok(())
    })
}

fn gradient<T: Value + Floating<Wide = f32>>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let norm = Norm::new(node)?;
    kernel(move |c: &mut Ctx<'_>| {
        let x_shape = c.input(1).shape().clone();
        let geometry = norm.over(&x_shape)?;
        if *c.input(0).shape() != x_shape {
            return Err(Status::invalid_argument(format_args!(
                "x and y_backprop must have the same shape, but x has shape {x_shape} and y_backprop has shape {}",
                c.input(0).shape()
            )));
        }
        for (i, name) in [(2, "scale"), (3, "reserve_space_1"), (4, "reserve_space_2")] {
            check_channels(c, i, name, geometry.channels)?;
        }
        let turned = [norm.turned::<T>(c, 0)?, norm.turned::<T>(c, 1)?];
        let (mut out, mut turned_out) = norm.output::<T>(c, &x_shape)?;
        let channel = Shape::new(&[geometry.channels])?;
        let mut scale = c.output(1, DType::Float, &channel)?;
        let mut offset = c.output(2, DType::Float, &channel)?;
        let image = |i: usize| turned[i].as_ref().unwrap_or(c.input(i)).as_slice::<T>();
        let from = BatchNormGradient {
            y_gradient: image(0)?,
            x: image(1)?,
            scale: c.input(2).as_slice()?,
            mean: c.input(3).as_slice()?,
            variance: c.input(4).as_slice()?,
            is_training: norm.training,
        };
        let to = turned_out.as_mut().unwrap_or(&mut out).make_mut::<T>()?;
        k::batch_norm_grad(c.parallel(), &geometry, from, to, scale.make_mut()?, offset.make_mut()?)?;
        turned.into_iter().flatten().for_each(|turned| c.give_scratch(turned));
        norm.finish::<T>(c, out, turned_out)?;
        c.set(1, scale);
        c.set(2, offset);
        for i in [3, 4] {
            let none = c.output(i, DType::Float, &Shape::new(&[0])?)?;
            c.set(i, none);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, tensor};
    use crate::tensor::Tensor;

    fn image(dims: &[usize]) -> Tensor {
        tensor(dims, &core::array::from_fn::<f32, 9, _>(|i| i as f32))
    }

    fn near(out: &Tensor, want: &[f32]) {
        let out = out.as_slice::<f32>().unwrap();
        assert!(out.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-4), "{out:?} {want:?}");
    }

    /// Training, running averages and inference, channels last and first: TensorFlow 2.21's numbers.
    #[test]
    fn forward() {
        let one = tensor(&[1], &[1.0f32]);
        let trained =
            [-0.549_181_7, -0.161_886_2, 0.225_409_2, 0.612_704_6, 1.0, 1.387_295_5, 1.774_591, 2.161_886, 2.549_182];
        for (dims, format) in [([1, 3, 3, 1], "NHWC"), ([1, 1, 3, 3], "NCHW")] {
            let inputs = [image(&dims), one.clone(), one.clone(), one.clone(), one.clone()];
            let go = |more: &[(&'static str, AttrValue)]| {
                let mut attrs =
                    alloc::vec![("data_format", AttrValue::from(format)), ("U", crate::tensor::DType::Float.into())];
                attrs.extend_from_slice(more);
                run("FusedBatchNormV3", &attrs, &inputs).unwrap()
            };
            let out = go(&[]);
            near(&out[0], &trained);
            for (i, want) in [(1, 4.0), (2, 7.5), (3, 4.0), (4, 6.666_667)] {
                near(&out[i], &[want]);
            }
            let out = go(&[("exponential_avg_factor", 0.5f32.into())]);
            near(&out[1], &[2.5]);
            near(&out[2], &[4.25]);
            let out = go(&[("is_training", false.into())]);
            near(&out[0], &[4.994_869e-5, 1.0, 1.999_95, 2.9999, 3.999_85, 4.9998, 5.999_75, 6.9997, 7.999_65]);
        }
    }

    /// The gradient, of training and of inference.
    #[test]
    fn gradient() {
        let one = tensor(&[1], &[1.0f32]);
        let x = image(&[1, 3, 3, 1]);
        let inputs = [x.clone(), x, one.clone(), one.clone(), one.clone(), one];
        let attrs = |training: bool| [("is_training", AttrValue::from(training))];
        let out = run("FusedBatchNormGradV3", &attrs(false), &inputs).unwrap();
        near(&out[0], &[0.0, 0.999_95, 1.9999, 2.999_85, 3.9998, 4.999_75]);
        near(&out[1], &[167.991_6]);
        near(&out[2], &[36.0]);
        assert_eq!(out[3].shape().dims(), [0]);
        let out = run("FusedBatchNormGrad", &attrs(true), &inputs[..5]).unwrap();
        near(&out[0], &[14.664_068, -2.999_850_3, -20.663_769, -38.327_686, -55.991_604, -73.655_525]);
    }

    #[test]
    fn refusals() {
        let one = tensor(&[1], &[1.0f32]);
        let two = tensor(&[2], &[1.0f32; 2]);
        let code = |x: Tensor, scale: &Tensor, mean: &Tensor| {
            let inputs = [x, scale.clone(), one.clone(), mean.clone(), one.clone()];
            run("FusedBatchNorm", &[("is_training", false.into())], &inputs).unwrap_err().code()
        };
        assert_eq!(code(image(&[9, 1]), &one, &one), Code::InvalidArgument);
        assert_eq!(code(image(&[1, 3, 3, 1]), &two, &one), Code::InvalidArgument);
        assert_eq!(code(image(&[1, 3, 3, 1]), &one, &two), Code::InvalidArgument);
    }
}
