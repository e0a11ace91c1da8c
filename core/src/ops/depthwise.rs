//! Depthwise convolutions: every channel has filters of its own.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::conv::{four, told, told_shape};
use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::window::Window;
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::Mismatch;
use crate::kernels::conv::{self as k, Depthwise2d};
use crate::kernels::parallel::Parallel;
use crate::tensor::Shape;

/// This family.
pub static OPS: &[&Op] = &[&FORWARD, &INPUT_GRADIENT, &FILTER_GRADIENT];

const ATTRS: &str = "T: {half, bfloat16, float, double}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; \
    explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]";

static FORWARD: Op = Op::new("DepthwiseConv2dNative", "input: T, filter: T -> output: T", ATTRS)
    .heavy()
    .shape(output_shape)
    .kernel(&[("T", FLOATS)], |node| {
        dispatch!(
            node, "T",
            NATIVE_FLOATS T => make::<T>(node, forward, k::depthwise_conv2d),
            FLOATS T => make::<T>(node, forward, k::depthwise_conv2d_plain),
        )
    });
static INPUT_GRADIENT: Op =
    Op::new("DepthwiseConv2dNativeBackpropInput", "input_sizes: int32, filter: T, out_backprop: T -> output: T", ATTRS)
        .heavy()
        .shape(told_shape::<0>)
        .kernel(&[("T", FLOATS)], |node| {
            dispatch!(
                node, "T",
                NATIVE_FLOATS T => make::<T>(node, of_input, k::depthwise_conv2d_backprop_input),
                FLOATS T => make::<T>(node, of_input, k::depthwise_conv2d_backprop_input_plain),
            )
        });
static FILTER_GRADIENT: Op = Op::new(
    "DepthwiseConv2dNativeBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    ATTRS,
)
.heavy()
.shape(told_shape::<1>)
.kernel(&[("T", FLOATS)], |node| {
    dispatch!(
        node, "T",
        NATIVE_FLOATS T => make::<T>(node, of_filter, k::depthwise_conv2d_backprop_filter),
        FLOATS T => make::<T>(node, of_filter, k::depthwise_conv2d_backprop_filter_plain),
    )
});

fn geometry(window: &Window, x: &Shape, f: &Shape) -> Result<Depthwise2d, Status> {
    if window.channels_first {
        return Err(Status::unimplemented("Depthwise convolution on CPU is only supported for NHWC format"));
    }
    let [batch, rows, columns, channels] = four("input", x)?;
    let [row_taps, column_taps, of_filter, multiplier] = four("filter", f)?;
    if channels != of_filter {
        return Err(Status::invalid_argument(format_args!(
            "input and filter must have the same depth: {channels} vs {of_filter}"
        )));
    }
    let (rows, columns) = (window.axis(0, rows, row_taps)?, window.axis(1, columns, column_taps)?);
    Ok(Depthwise2d { batch, rows, columns, channels, multiplier })
}

fn output_of(conv: &Depthwise2d) -> Result<Shape, Status> {
    let channels = conv.channels.checked_mul(conv.multiplier);
    let channels = channels.ok_or_else(|| Status::invalid_argument("too many output channels"))?;
    Ok(Shape::new(&[conv.batch, conv.rows.output, conv.columns.output, channels])?)
}

fn output_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let window = Window::new(&c.node.attrs)?;
    let (Some(x), Some(f)) = (c.input(0).dims, c.input(1).dims) else { return shape::unknown(c) };
    let (&[batch, ..], &[fr, fc, channels, multiplier]) = (&x[..], &f[..]) else {
        return Err(Status::invalid_argument(format_args!("filter of rank {}, expected 4", f.len())));
    };
    let [r, k, _] = window.places().map(|at| x.get(at).copied().unwrap_or(-1));
    let out = if channels < 0 || multiplier < 0 { -1 } else { channels.saturating_mul(multiplier) };
    Ok(alloc::vec![window.shape(batch, [window.output(0, r, fr)?, window.output(1, k, fc)?, out])])
}

/// What an op works on: the geometry, the shape of its output, and which two inputs its arithmetic takes.
type Plan = fn(&Window, &Ctx<'_>) -> Result<(Depthwise2d, Shape, [usize; 2]), Status>;

fn forward(window: &Window, c: &Ctx<'_>) -> Result<(Depthwise2d, Shape, [usize; 2]), Status> {
    let conv = geometry(window, c.input(0).shape(), c.input(1).shape())?;
    Ok((conv, output_of(&conv)?, [0, 1]))
}

fn of_input(window: &Window, c: &Ctx<'_>) -> Result<(Depthwise2d, Shape, [usize; 2]), Status> {
    let ([batch, ..], [_, _, channels, _]) =
        (four("out_backprop", c.input(2).shape())?, four("filter", c.input(1).shape())?);
    let input = told(c.input(0), [batch, channels])?;
    let conv = geometry(window, &input, c.input(1).shape())?;
    check_gradient(&conv, c)?;
    Ok((conv, input, [1, 2]))
}

fn of_filter(window: &Window, c: &Ctx<'_>) -> Result<(Depthwise2d, Shape, [usize; 2]), Status> {
    if c.input(1).num_elements() != 4 {
        return Err(Status::invalid_argument(format_args!("{} filter sizes, expected 4", c.input(1).num_elements())));
    }
    let filter = told(c.input(1), [0, 0])?;
    let conv = geometry(window, c.input(0).shape(), &filter)?;
    check_gradient(&conv, c)?;
    Ok((conv, filter, [0, 2]))
}

fn check_gradient(conv: &Depthwise2d, c: &Ctx<'_>) -> Result<(), Status> {
    let (wanted, found) = (output_of(conv)?, c.input(2).shape());
    if *found == wanted {
        return Ok(());
    }
    Err(Status::invalid_argument(format_args!("out_backprop has shape {found}, the output has {wanted}")))
}

type Run<T> = fn(&dyn Parallel, &Depthwise2d, &[T], &[T], &mut [T]) -> Result<(), Mismatch>;

fn make<T: Value>(node: &NodeContext<'_>, plan: Plan, run: Run<T>) -> Result<Box<dyn Kernel>, Status> {
    let window = Window::new(node.attrs())?;
    if window.strides[0] != window.strides[1] {
        return Err(Status::invalid_argument(
            "Current implementation only supports equal length strides in the row and column dimensions.",
        ));
    }
    if window.dilations != [1, 1] {
        return Err(Status::unimplemented("depthwise convolutions on the CPU take no dilations"));
    }
    kernel(move |c: &mut Ctx<'_>| {
        let (conv, shape, [i, j]) = plan(&window, c)?;
        let mut out = c.output(0, T::DTYPE, &shape)?;
        run(c.parallel(), &conv, c.input(i).as_slice()?, c.input(j).as_slice()?, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, tensor};
    use half::bf16;

    fn attrs() -> [(&'static str, AttrValue); 2] {
        [("padding", "VALID".into()), ("strides", alloc::vec![1, 1, 1, 1i64].into())]
    }

    /// Two channels, two filters each, and both gradients.
    #[test]
    fn values() {
        let x = tensor(&[1, 1, 2, 2], &[1.0f32, 10.0, 2.0, 20.0]);
        let f = tensor(&[1, 2, 2, 2], &[1.0f32, 2.0, 1.0, 2.0, 3.0, 0.0, 3.0, 0.0]);
        let out = run("DepthwiseConv2dNative", &attrs(), &[x.clone(), f.clone()]).unwrap();
        assert_eq!(out[0].as_slice::<f32>().unwrap(), [7.0, 2.0, 70.0, 20.0]);
        let g = tensor(&[1, 1, 1, 4], &[1.0f32, 0.0, 0.0, 1.0]);
        let sizes = tensor(&[4], &[1i32, 1, 2, 2]);
        let out = run("DepthwiseConv2dNativeBackpropInput", &attrs(), &[sizes, f.clone(), g.clone()]).unwrap();
        assert_eq!(out[0].as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 0.0]);
        let sizes = tensor(&[4], &[1i32, 2, 2, 2]);
        let out = run("DepthwiseConv2dNativeBackpropFilter", &attrs(), &[x.clone(), sizes, g]).unwrap();
        assert_eq!(out[0].as_slice::<f32>().unwrap(), [1.0, 0.0, 0.0, 10.0, 2.0, 0.0, 0.0, 20.0]);
        let wrong = run("DepthwiseConv2dNative", &attrs(), &[x, tensor(&[1, 2, 1, 1], &[1.0f32; 2])]).unwrap_err();
        assert_eq!(wrong.code(), Code::InvalidArgument);
        let inputs = [tensor(&[1, 1, 2, 1], &[bf16::ONE; 2]), tensor(&[1, 2, 1, 1], &[bf16::ONE; 2])];
        let out = run("DepthwiseConv2dNative", &attrs(), &inputs).unwrap();
        assert_eq!(out[0].as_slice::<bf16>().unwrap(), [bf16::from_f32(2.0)]);
    }
}
