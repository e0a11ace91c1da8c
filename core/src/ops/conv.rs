//! Convolutions and their gradients. A constant filter is packed when the kernel is made.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::shapes::ints;
use super::window::Window;
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::graph::PartialShape;
use crate::kernels::conv::{self as k, Axis, Conv2d, Filter};
use crate::kernels::matmul::{Epilogue, Float};
use crate::kernels::number::Arithmetic;
use crate::tensor::{Shape, Tensor};
use crate::{Code, Status};

/// This family.
pub static OPS: &[&Op] = &[&CONV2D, &CONV2D_BACKPROP_INPUT, &CONV2D_BACKPROP_FILTER];

macro_rules! attrs {
    ($types:literal) => {
        concat!(
            "T: {",
            $types,
            "}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', \
             'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; \
             dilations: list(int) = [1, 1, 1, 1]"
        )
    };
}

static CONV2D: Op =
    Op::new("Conv2D", "input: T, filter: T -> output: T", attrs!("half, bfloat16, float, double, int32"))
        .heavy()
        .shape(output_shape)
        .kernel(
            &[("T", CONVOLVED)],
            |node| dispatch!(node, "T", NATIVE_FLOATS T => forward::<T>(node), CONVOLVED T => forward_plain::<T>(node)),
        );
static CONV2D_BACKPROP_INPUT: Op = Op::new(
    "Conv2DBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T -> output: T",
    attrs!("half, bfloat16, float, double, int32"),
)
.heavy()
.shape(told_shape::<0>)
.kernel(&[("T", CONVOLVED)], |node| {
    dispatch!(node, "T", NATIVE_FLOATS T => input_gradient::<T>(node), CONVOLVED T => input_gradient_plain::<T>(node))
});
static CONV2D_BACKPROP_FILTER: Op = Op::new(
    "Conv2DBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    attrs!("half, bfloat16, float, double"),
)
.heavy()
.shape(told_shape::<1>)
.kernel(&[("T", FLOATS)], |node| {
    dispatch!(node, "T", NATIVE_FLOATS T => filter_gradient::<T>(node), FLOATS T => filter_gradient_plain::<T>(node))
});

/// The four sizes of an image, filter or gradient.
pub(super) fn four(what: &str, shape: &Shape) -> Result<[usize; 4], Status> {
    match shape.to_usize()[..] {
        [a, b, c, d] => Ok([a, b, c, d]),
        _ => Err(Status::invalid_argument(format_args!("{what} must be 4-dimensional: {shape}"))),
    }
}

/// The shape that a vector of sizes tells; two sizes are rows and columns, the rest being as in `others`.
pub(super) fn told(sizes: &Tensor, [batch, channels]: [usize; 2]) -> Result<Shape, Status> {
    if sizes.shape().rank() != 1 {
        return Err(Status::invalid_argument(format_args!("sizes must be 1-dimensional, not {}", sizes.shape())));
    }
    match ints(sizes)?[..] {
        [rows, columns] => Ok(Shape::from_i64(&[batch as i64, rows, columns, channels as i64])?),
        [a, b, c, d] => Ok(Shape::from_i64(&[a, b, c, d])?),
        ref other => Err(Status::invalid_argument(format_args!("expected 2 or 4 sizes, got {}", other.len()))),
    }
}

/// What is known of a shape that input `I` tells.
pub(super) fn told_shape<const I: usize>(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    match c.constant(I) {
        Some(dims) if dims.len() == 4 => Ok(alloc::vec![PartialShape { dims: Some(dims) }]),
        _ => Ok(alloc::vec![PartialShape::new(&[-1; 4])]),
    }
}

fn output_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let window = Window::new(&c.node.attrs)?;
    let (Some(x), Some(f)) = (c.input(0).dims, c.input(1).dims) else { return shape::unknown(c) };
    let (&[batch, ..], &[fr, fc, _, out]) = (&x[..], &f[..]) else {
        return Err(Status::invalid_argument(format_args!("filter of rank {}, expected 4", f.len())));
    };
    let [r, k, _] = window.places().map(|at| x.get(at).copied().unwrap_or(-1));
    Ok(alloc::vec![window.shape(batch, [window.output(0, r, fr)?, window.output(1, k, fc)?, out])])
}

/// The geometry of images of shape `x` under filters of shape `f`.
fn geometry(window: &Window, x: &Shape, f: &Shape) -> Result<Conv2d, Status> {
    let [batch, rows, columns, in_channels] = four("input", x)?;
    let [row_taps, column_taps, filter_in_channels, out_channels] = four("filter", f)?;
    if filter_in_channels == 0 || !in_channels.is_multiple_of(filter_in_channels) {
        return Err(Status::invalid_argument(format_args!(
            "input depth must be evenly divisible by filter depth: {in_channels} vs {filter_in_channels}"
        )));
    }
    if row_taps == 0 || column_taps == 0 || out_channels == 0 {
        return Err(Status::invalid_argument(format_args!("filter must not have zero elements: {f}")));
    }
    let groups = (in_channels / filter_in_channels).max(1);
    if !out_channels.is_multiple_of(groups) {
        return Err(Status::invalid_argument(format_args!(
            "output depth must be evenly divisible by number of groups: {out_channels} vs {groups}"
        )));
    }
    let (rows, columns) = (window.axis(0, rows, row_taps)?, window.axis(1, columns, column_taps)?);
    Ok(Conv2d { batch, rows, columns, in_channels, filter_in_channels, out_channels })
}

/// The window, unless channels come first, which TensorFlow's CPU refuses with `code`.
fn last(window: Window, code: Code) -> Result<Window, Status> {
    if window.channels_first {
        return Err(Status::new(code, "convolutions on the CPU take data_format NHWC only, got NCHW"));
    }
    Ok(window)
}

fn output_of(conv: &Conv2d) -> Result<Shape, Status> {
    Ok(Shape::new(&[conv.batch, conv.rows.output, conv.columns.output, conv.out_channels])?)
}

/// INVALID_ARGUMENT unless the output's gradient has the output's shape.
fn check_gradient(conv: &Conv2d, gradient: &Shape) -> Result<(), Status> {
    let wanted = output_of(conv)?;
    if *gradient == wanted {
        return Ok(());
    }
    Err(Status::invalid_argument(format_args!("out_backprop has shape {gradient}, the output has {wanted}")))
}

fn forward<T: Value + Float>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let window = last(Window::new(node.attrs())?, Code::Unimplemented)?;
    let packed = match node.constants.get(1) {
        Some(Some(filter)) => pack::<T>(node, filter)?,
        _ => None,
    };
    kernel(move |c: &mut Ctx<'_>| {
        let conv = geometry(&window, c.input(0).shape(), c.input(1).shape())?;
        // A filter was packed for a single group.
        let packed = packed.as_ref().filter(|_| conv.in_channels == conv.filter_in_channels);
        let mut out = c.output(0, T::DTYPE, &output_of(&conv)?)?;
        let mut scratch = c.scratch::<T>(k::conv2d_scratch_len::<T>(c.parallel(), &conv, packed.is_some())?)?;
        let filter = match packed {
            Some(packed) => Filter::Packed(packed.as_slice::<T>()?),
            None => Filter::Plain(c.input(1).as_slice::<T>()?),
        };
        let x = c.input(0).as_slice::<T>()?;
        k::conv2d(c.parallel(), &conv, x, filter, out.make_mut()?, Epilogue::default(), scratch.make_mut()?)?;
        c.give_scratch(scratch);
        c.set(0, out);
        Ok(())
    })
}

/// A constant filter in the layout of the tiles, when it has the shape of one.
fn pack<T: Value + Float>(node: &NodeContext<'_>, filter: &Tensor) -> Result<Option<Tensor>, Status> {
    let Ok([rows, columns, channels, out_channels]) = four("filter", filter.shape()) else { return Ok(None) };
    let (Some(rows), Some(columns)) = (Axis::valid(rows, rows, 1, 1), Axis::valid(columns, columns, 1, 1)) else {
        return Ok(None);
    };
    let conv = Conv2d { batch: 1, rows, columns, in_channels: channels, filter_in_channels: channels, out_channels };
    let mut packed = Tensor::zeros(T::DTYPE, &Shape::new(&[k::pack_filter_len::<T>(&conv)?])?, None)?;
    k::pack_filter(node.host.parallel(), &conv, filter.as_slice::<T>()?, packed.make_mut()?)?;
    Ok(Some(packed))
}

fn forward_plain<T: Value + Arithmetic>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let window = last(Window::new(node.attrs())?, Code::Unimplemented)?;
    kernel(move |c: &mut Ctx<'_>| {
        let conv = geometry(&window, c.input(0).shape(), c.input(1).shape())?;
        let mut out = c.output(0, T::DTYPE, &output_of(&conv)?)?;
        let (x, f) = (c.input(0).as_slice::<T>()?, c.input(1).as_slice::<T>()?);
        k::conv2d_plain(c.parallel(), &conv, x, f, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

/// The geometry of an input's gradient, and the input's shape.
fn of_input(window: &Window, c: &Ctx<'_>) -> Result<(Conv2d, Shape), Status> {
    let (filter, gradient) = (c.input(1).shape(), c.input(2).shape());
    let ([batch, ..], [_, _, channels, _]) = (four("out_backprop", gradient)?, four("filter", filter)?);
    let input = told(c.input(0), [batch, channels])?;
    let conv = geometry(window, &input, filter)?;
    check_gradient(&conv, gradient)?;
    Ok((conv, input))
}

fn input_gradient<T: Value + Float>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let window = last(Window::new(node.attrs())?, Code::InvalidArgument)?;
    kernel(move |c: &mut Ctx<'_>| {
        let (conv, input) = of_input(&window, c)?;
        let mut out = c.output(0, T::DTYPE, &input)?;
        let mut scratch = c.scratch::<T>(k::conv2d_backprop_input_scratch_len::<T>(c.parallel(), &conv)?)?;
        let (f, g) = (c.input(1).as_slice::<T>()?, c.input(2).as_slice::<T>()?);
        k::conv2d_backprop_input(c.parallel(), &conv, f, g, out.make_mut()?, scratch.make_mut()?)?;
        c.give_scratch(scratch);
        c.set(0, out);
        Ok(())
    })
}

fn input_gradient_plain<T: Value + Arithmetic>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let window = last(Window::new(node.attrs())?, Code::InvalidArgument)?;
    kernel(move |c: &mut Ctx<'_>| {
        let (conv, input) = of_input(&window, c)?;
        let mut out = c.output(0, T::DTYPE, &input)?;
        let (f, g) = (c.input(1).as_slice::<T>()?, c.input(2).as_slice::<T>()?);
        k::conv2d_backprop_input_plain(c.parallel(), &conv, f, g, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

/// The geometry of a filter's gradient, and the filter's shape.
fn of_filter(window: &Window, c: &Ctx<'_>) -> Result<(Conv2d, Shape), Status> {
    let sizes = c.input(1);
    if sizes.num_elements() != 4 {
        return Err(Status::invalid_argument(format_args!(
            "filter_sizes has {} sizes, expected 4",
            sizes.num_elements()
        )));
    }
    let filter = told(sizes, [0, 0])?;
    let conv = geometry(window, c.input(0).shape(), &filter)?;
    check_gradient(&conv, c.input(2).shape())?;
    Ok((conv, filter))
}

fn filter_gradient<T: Value + Float>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let window = last(Window::new(node.attrs())?, Code::InvalidArgument)?;
    kernel(move |c: &mut Ctx<'_>| {
        let (conv, filter) = of_filter(&window, c)?;
        let mut out = c.output(0, T::DTYPE, &filter)?;
        let mut scratch = c.scratch::<T>(k::conv2d_backprop_filter_scratch_len::<T>(c.parallel(), &conv)?)?;
        let (x, g) = (c.input(0).as_slice::<T>()?, c.input(2).as_slice::<T>()?);
        k::conv2d_backprop_filter(c.parallel(), &conv, x, g, out.make_mut()?, scratch.make_mut()?)?;
        c.give_scratch(scratch);
        c.set(0, out);
        Ok(())
    })
}

fn filter_gradient_plain<T: Value + Arithmetic>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let window = last(Window::new(node.attrs())?, Code::InvalidArgument)?;
    kernel(move |c: &mut Ctx<'_>| {
        let (conv, filter) = of_filter(&window, c)?;
        let mut out = c.output(0, T::DTYPE, &filter)?;
        let (x, g) = (c.input(0).as_slice::<T>()?, c.input(2).as_slice::<T>()?);
        k::conv2d_backprop_filter_plain(c.parallel(), &conv, x, g, out.make_mut()?)?;
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
    use half::f16;

    fn attrs(padding: &'static str, stride: i64) -> alloc::vec::Vec<(&'static str, AttrValue)> {
        alloc::vec![("padding", padding.into()), ("strides", alloc::vec![1, stride, stride, 1i64].into())]
    }

    fn floats(t: &Tensor) -> &[f32] {
        t.as_slice().unwrap()
    }

    /// A 3×3 image under a 2×2 filter of ones: sums of windows, whatever the padding, stride and dtype.
    #[test]
    fn windows() {
        let x = tensor(&[1, 3, 3, 1], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        let f = tensor(&[2, 2, 1, 1], &[1.0f32; 4]);
        let go = |attrs: &[(&str, AttrValue)]| run("Conv2D", attrs, &[x.clone(), f.clone()]);
        assert_eq!(floats(&go(&attrs("VALID", 1)).unwrap()[0]), [12.0, 16.0, 24.0, 28.0]);
        assert_eq!(floats(&go(&attrs("SAME", 2)).unwrap()[0]), [12.0, 9.0, 15.0, 9.0]);
        let mut explicit = attrs("EXPLICIT", 2);
        explicit.push(("explicit_paddings", alloc::vec![0i64, 0, 1, 0, 1, 0, 0, 0].into()));
        assert_eq!(floats(&go(&explicit).unwrap()[0]), [1.0, 5.0, 11.0, 28.0]);
        let mut dilated = attrs("VALID", 1);
        dilated.push(("dilations", alloc::vec![1i64, 2, 2, 1].into()));
        assert_eq!(floats(&go(&dilated).unwrap()[0]), [20.0]);
        let half: alloc::vec::Vec<f16> = (1..=9).map(|x| f16::from_f32(x as f32)).collect();
        let inputs = [tensor(&[1, 3, 3, 1], &half), tensor(&[2, 2, 1, 1], &[f16::ONE; 4])];
        let out = run("Conv2D", &attrs("VALID", 1), &inputs).unwrap();
        assert_eq!(out[0].as_slice::<f16>().unwrap()[3], f16::from_f32(28.0));
    }

    /// The gradients of a sum of windows: how many windows see each place, and sums of what each tap sees.
    #[test]
    fn gradients() {
        let x = tensor(&[1, 3, 3, 1], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        let (f, g) = (tensor(&[2, 2, 1, 1], &[1.0f32; 4]), tensor(&[1, 2, 2, 1], &[1.0f32; 4]));
        for sizes in [tensor(&[4], &[1i32, 3, 3, 1]), tensor(&[2], &[3i32, 3])] {
            let out = run("Conv2DBackpropInput", &attrs("VALID", 1), &[sizes, f.clone(), g.clone()]).unwrap();
            assert_eq!(floats(&out[0]), [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0]);
        }
        let sizes = tensor(&[4], &[2i32, 2, 1, 1]);
        let out = run("Conv2DBackpropFilter", &attrs("VALID", 1), &[x.clone(), sizes.clone(), g]).unwrap();
        assert_eq!(floats(&out[0]), [12.0, 16.0, 24.0, 28.0]);
        let wrong = tensor(&[1, 3, 2, 1], &[1.0f32; 6]);
        let error = run("Conv2DBackpropFilter", &attrs("VALID", 1), &[x, sizes, wrong]).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
    }

    /// What the CPU of TensorFlow refuses, and with what code.
    #[test]
    fn refusals() {
        let x = tensor(&[1, 3, 3, 1], &[0.0f32; 9]);
        let code = |attrs: &[(&str, AttrValue)], x: &Tensor, f: Tensor| {
            run("Conv2D", attrs, &[x.clone(), f]).unwrap_err().code()
        };
        let f = tensor(&[2, 2, 1, 1], &[1.0f32; 4]);
        let mut first = alloc::vec![("data_format", AttrValue::from("NCHW"))];
        first.extend(attrs("VALID", 1));
        assert_eq!(code(&first, &x, f.clone()), Code::Unimplemented);
        assert_eq!(code(&attrs("VALID", 0), &x, f.clone()), Code::InvalidArgument);
        assert_eq!(code(&attrs("EXPLICIT", 1), &x, f.clone()), Code::InvalidArgument);
        assert_eq!(code(&attrs("VALID", 1), &x, tensor(&[9, 2, 1, 1], &[1.0f32; 18])), Code::InvalidArgument);
        assert_eq!(code(&attrs("VALID", 1), &x, tensor(&[2, 2, 2, 1], &[1.0f32; 8])), Code::InvalidArgument);
        assert_eq!(code(&attrs("VALID", 1), &x, tensor(&[2, 2], &[1.0f32; 4])), Code::InvalidArgument);
        assert_eq!(code(&attrs("VALID", 1), &tensor(&[9], &[0.0f32; 9]), f), Code::InvalidArgument);
    }
}
