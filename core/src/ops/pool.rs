//! Max and average pooling and their gradients.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::conv::{four, told_shape};
use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::shapes::ints;
use super::window::{Window, spatial};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::Mismatch;
use crate::kernels::number::{Floating, Real};
use crate::kernels::parallel::Parallel;
use crate::kernels::pool::{self as k, Pool2d};
use crate::tensor::Shape;

/// This family.
pub static OPS: &[&Op] = &[&MAX_POOL, &MAX_POOL_GRAD, &AVG_POOL, &AVG_POOL_GRAD];

static MAX_POOL: Op = Op::new(
    "MaxPool",
    "input: T -> output: T",
    "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = float; ksize: list(int) >= 4; \
        strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; \
        data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
)
.heavy()
.shape(pooled_shape)
.kernel(&[("T", POOLED)], |node| dispatch!(node, "T", POOLED T => forward::<T>(node, k::max_pool)));
static MAX_POOL_GRAD: Op = Op::new(
    "MaxPoolGrad",
    "orig_input: T, orig_output: T, grad: T -> output: T",
    "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; \
        explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: {float, double, int32, uint8, \
        int16, int8, int64, bfloat16, uint16, half, uint32, uint64} = float",
)
.heavy()
.shape(shape::unchanged)
.kernel(&[("T", REALS)], |node| dispatch!(node, "T", REALS T => max_gradient::<T>(node)));

const AVG_ATTRS: &str = "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; \
    data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: {half, bfloat16, float, double}";
static AVG_POOL: Op = Op::new("AvgPool", "value: T -> output: T", AVG_ATTRS)
    .heavy()
    .shape(pooled_shape)
    .kernel(&[("T", FLOATS)], |node| dispatch!(node, "T", FLOATS T => forward::<T>(node, k::avg_pool)));
static AVG_POOL_GRAD: Op = Op::new("AvgPoolGrad", "orig_input_shape: int32, grad: T -> output: T", AVG_ATTRS)
    .heavy()
    .shape(told_shape::<0>)
    .kernel(&[("T", FLOATS)], |node| dispatch!(node, "T", FLOATS T => avg_gradient::<T>(node)));

/// A window and its size.
struct Pooling {
    window: Window,
    taps: [usize; 2],
}

impl Pooling {
    fn new(node: &NodeContext<'_>) -> Result<Pooling, Status> {
        let format = node.attrs().str("data_format")?;
        if format != "NHWC" {
            return Err(Status::invalid_argument(format_args!(
                "poolings on the CPU take data_format NHWC only, got {format}"
            )));
        }
        Ok(Pooling { window: Window::new(node.attrs())?, taps: spatial(node.attrs(), "ksize", false)? })
    }

    /// The geometry over images of this shape, and the shape of the result.
    fn over(&self, images: &Shape) -> Result<(Pool2d, Shape), Status> {
        let [batch, rows, columns, channels] = four("tensor_in", images)?;
        let (rows, columns) = (self.window.axis(0, rows, self.taps[0])?, self.window.axis(1, columns, self.taps[1])?);
        let shape = Shape::new(&[batch, rows.output, columns.output, channels])?;
        Ok((Pool2d { batch, rows, columns, channels }, shape))
    }
}

fn pooled_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let window = Window::new(&c.node.attrs)?;
    let taps = spatial(&c.node.attrs, "ksize", window.channels_first)?;
    let Some(x) = c.input(0).dims else { return shape::unknown(c) };
    let [r, k, channel] = window.places().map(|at| x.get(at).copied().unwrap_or(-1));
    let size = |at: usize, n: i64| window.output(at, n, taps[at] as i64);
    let batch = x.first().copied().unwrap_or(-1);
    Ok(alloc::vec![window.shape(batch, [size(0, r)?, size(1, k)?, channel])])
}

fn forward<T: Value>(
    node: &NodeContext<'_>,
    run: fn(&dyn Parallel, &Pool2d, &[T], &mut [T]) -> Result<(), Mismatch>,
) -> Result<Box<dyn Kernel>, Status> {
    let pooling = Pooling::new(node)?;
    kernel(move |c: &mut Ctx<'_>| {
        let (pool, shape) = pooling.over(c.input(0).shape())?;
        let mut out = c.output(0, T::DTYPE, &shape)?;
        run(c.parallel(), &pool, c.input(0).as_slice()?, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

fn max_gradient<T: Value + Real>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let pooling = Pooling::new(node)?;
    kernel(move |c: &mut Ctx<'_>| {
        let input = c.input(0).shape().clone();
        let (pool, shape) = pooling.over(&input)?;
        for (i, name) in [(1, "orig_output"), (2, "grad")] {
            if *c.input(i).shape() != shape {
                return Err(Status::invalid_argument(format_args!(
                    "Expected {name} shape to be {shape}, but got {}",
                    c.input(i).shape()
                )));
            }
        }
        let mut out = c.output(0, T::DTYPE, &input)?;
        k::max_pool_grad(c.parallel(), &pool, c.input(0).as_slice::<T>()?, c.input(2).as_slice()?, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

fn avg_gradient<T: Value + Floating>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let pooling = Pooling::new(node)?;
    kernel(move |c: &mut Ctx<'_>| {
        let sizes = ints(c.input(0))?;
        if c.input(0).shape().rank() != 1 || sizes.len() != 4 {
            return Err(Status::invalid_argument(format_args!(
                "orig_input_shape must be 1-dimensional and 4 elements, got shape {}",
                c.input(0).shape()
            )));
        }
        let input = Shape::from_i64(&sizes)?;
        let (pool, shape) = pooling.over(&input)?;
        if *c.input(1).shape() != shape {
            return Err(Status::invalid_argument(format_args!(
                "Expected grad shape to be {shape}, but got {}",
                c.input(1).shape()
            )));
        }
        let mut out = c.output(0, T::DTYPE, &input)?;
        k::avg_pool_grad(c.parallel(), &pool, c.input(1).as_slice::<T>()?, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, tensor};
    use crate::tensor::Tensor;

    fn attrs(padding: &'static str) -> alloc::vec::Vec<(&'static str, AttrValue)> {
        let two = || AttrValue::from(alloc::vec![1, 2, 2, 1i64]);
        alloc::vec![("padding", padding.into()), ("strides", two()), ("ksize", two())]
    }

    fn image() -> Tensor {
        tensor(&[1, 3, 3, 1], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    }

    /// Both poolings and their gradients, with windows that hang over the edge.
    #[test]
    fn values() {
        let go = |op: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]| {
            run(op, attrs, inputs).unwrap()[0].as_slice::<f32>().unwrap().to_vec()
        };
        assert_eq!(go("MaxPool", &attrs("VALID"), &[image()]), [5.0]);
        assert_eq!(go("MaxPool", &attrs("SAME"), &[image()]), [5.0, 6.0, 8.0, 9.0]);
        assert_eq!(go("AvgPool", &attrs("SAME"), &[image()]), [3.0, 4.5, 7.5, 9.0]);
        let mut explicit = attrs("EXPLICIT");
        explicit.push(("explicit_paddings", alloc::vec![0i64, 0, 1, 0, 1, 0, 0, 0].into()));
        assert_eq!(go("MaxPool", &explicit, &[image()]), [1.0, 3.0, 7.0, 9.0]);
        let (y, g) = (tensor(&[1, 2, 2, 1], &[5.0f32, 6.0, 8.0, 9.0]), tensor(&[1, 2, 2, 1], &[1.0f32, 2.0, 4.0, 8.0]));
        let dx = go("MaxPoolGrad", &attrs("SAME"), &[image(), y, g.clone()]);
        assert_eq!(dx, [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 4.0, 8.0]);
        let dx = go("AvgPoolGrad", &attrs("SAME"), &[tensor(&[4], &[1i32, 3, 3, 1]), g]);
        assert_eq!(dx, [0.25, 0.25, 1.0, 0.25, 0.25, 1.0, 2.0, 2.0, 8.0]);
        let out = run("MaxPool", &attrs("VALID"), &[tensor(&[1, 2, 2, 1], &[-4i8, -3, -2, -1])]).unwrap();
        assert_eq!(out[0].as_slice::<i8>().unwrap(), [-1]);
    }

    #[test]
    fn refusals() {
        let code = |name: &'static str, value: AttrValue| {
            let mut attrs = attrs("VALID");
            attrs.retain(|(n, _)| *n != name);
            attrs.push((name, value));
            run("MaxPool", &attrs, &[image()]).unwrap_err().code()
        };
        assert_eq!(code("data_format", "NCHW".into()), Code::InvalidArgument);
        assert_eq!(code("ksize", alloc::vec![2, 1, 1, 1i64].into()), Code::Unimplemented);
        assert_eq!(code("ksize", alloc::vec![1, 0, 1, 1i64].into()), Code::InvalidArgument);
        assert_eq!(code("ksize", alloc::vec![1, 9, 9, 1i64].into()), Code::InvalidArgument);
        let g = tensor(&[1, 2, 2, 1], &[1.0f32; 4]);
        let error = run("MaxPoolGrad", &attrs("VALID"), &[image(), g.clone(), g.clone()]).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        let error = run("AvgPoolGrad", &attrs("VALID"), &[tensor(&[4], &[1i32, 3, 3, 1]), g]).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
    }
}
