//! Gradients of activations, of operands of one shape.

use alloc::boxed::Box;

use super::dispatch::*;
use super::elementwise::fill;
use super::{Ctx, Kernel, Op, kernel, shape};
use crate::Status;
use crate::kernels::binary::{self as k, run_part};
use crate::kernels::broadcast::Broadcast;
use crate::kernels::element::{Float, Number};
use crate::kernels::error::{Error, Result as KernelResult};
use crate::kernels::unary::leaky_relu_grad;

/// This family.
pub static OPS: &[&Op] = &[&ELU_GRAD, &SELU_GRAD, &SOFTPLUS_GRAD, &SOFTSIGN_GRAD, &LEAKY_RELU_GRAD];

macro_rules! gradients {
    ($($id:ident = $name:ident($second:literal);)*) => {
        $(static $id: Op = Op::new(
            stringify!($name),
            concat!("gradients: T, ", $second, ": T -> backprops: T"),
            "T: {half, bfloat16, float, double}",
        )
        .shape(shape::unchanged)
        .kernel(&[("T", FLOATS)], |node| dispatch!(node, "T", FLOATS T => gradient::<T>(both::<k::$name, T>)));)*
    };
}
gradients! {
    ELU_GRAD = EluGrad("outputs");
    SELU_GRAD = SeluGrad("outputs");
    SOFTPLUS_GRAD = SoftplusGrad("features");
    SOFTSIGN_GRAD = SoftsignGrad("features");
}

static LEAKY_RELU_GRAD: Op = Op::new(
    "LeakyReluGrad",
    "gradients: T, features: T -> backprops: T",
    "alpha: float = 0.200000003; T: {half, bfloat16, float, double} = float",
)
.shape(shape::unchanged)
.kernel(&[("T", FLOATS)], |node| {
    let alpha = f64::from(node.attrs().float("alpha")?);
    dispatch!(node, "T", FLOATS T => leaky::<T>(T::from_f64(alpha)))
});

fn leaky<T: Value + Float>(alpha: T) -> Result<Box<dyn Kernel>, Status> {
    gradient::<T>(move |dy, x, out| leaky_relu_grad(dy, x, alpha, out))
}

fn both<P: k::Binary<T, Out = T>, T: Value + Float>(a: &[T], b: &[T], out: &mut [T]) -> KernelResult<()> {
    let n = [out.len()];
    run_part::<P, T>(&Broadcast::new([&n, &n])?, a, b, 0, out)
}

fn gradient<T: Value>(
    run: impl Fn(&[T], &[T], &mut [T]) -> KernelResult<()> + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let (a, b) = (c.input(0).shape(), c.input(1).shape());
        if a != b {
            return Err(Status::invalid_argument(format_args!(
                "gradients and what they belong to must have the same shape: {a} vs. {b}"
            )));
        }
        let shape = a.clone();
        let mut out = c.output(0, T::DTYPE, &shape)?;
        let (a, b) = (c.input(0).as_slice::<T>()?, c.input(1).as_slice::<T>()?);
        fill(c, &mut out, 10, &|first, chunk: &mut [T]| {
            let range = first..first + chunk.len();
            let (a, b) = (a.get(range.clone()).ok_or(Error::Length)?, b.get(range).ok_or(Error::Length)?);
            run(a, b, chunk)
        })?;
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::ops::testing::{run, tensor};

    /// One value below zero and one above for each op; equal shapes only.
    #[test]
    fn values() {
        let cases: &[(&str, [f32; 2])] = &[
            ("EluGrad", [1.0, 2.0]),
            ("SeluGrad", [2.516_198_7, 2.101_402]),
            ("SoftplusGrad", [0.755_081_3, 1.462_117_2]),
            ("SoftsignGrad", [0.888_888_9, 0.5]),
            ("LeakyReluGrad", [0.4, 2.0]),
        ];
        let (dy, x) = (tensor(&[2], &[2.0f32, 2.0]), tensor(&[2], &[-0.5f32, 1.0]));
        for (op, want) in cases {
            let out = run(op, &[], &[dy.clone(), x.clone()]).unwrap();
            let out = out[0].as_slice::<f32>().unwrap();
            assert!(out.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5), "{op} {out:?}");
            assert!(run(op, &[], &[dy.clone(), 1.0f32.into()]).is_err());
        }
    }
}
