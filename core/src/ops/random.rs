//! Random numbers: TensorFlow's streams bit for bit, one a node, which every run continues.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::dispatch::*;
use super::shape::ShapeContext;
use super::shapes::shape_from;
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::parallel::chunks_mut;
use crate::kernels::random::fill::{self, Random, RandomInteger};
use crate::kernels::random::{Philox, Stream};
use crate::sync::Mutex;
use crate::tensor::{Element, Tensor};

/// This family.
pub static OPS: &[&Op] = &[&RANDOM_UNIFORM, &RANDOM_UNIFORM_INT, &RANDOM_STANDARD_NORMAL, &TRUNCATED_NORMAL];

const ATTRS: &str = "seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: {int32, int64}";

macro_rules! reals {
    ($($id:ident = $name:literal, $fill:ident, $blocks:expr, $cycles:literal;)*) => {
        $(static $id: Op = Op::new($name, "shape: T -> output: dtype", ATTRS)
            .stateful()
            .shape(drawn)
            .kernel(&[("dtype", FLOATS)], |node| {
                dispatch!(node, "dtype", FLOATS T => real::<T>(node, fill::$fill::<T>, $blocks, $cycles))
            });)*
    };
}
reals! {
    RANDOM_UNIFORM = "RandomUniform", uniform, 1, 4;
    RANDOM_STANDARD_NORMAL = "RandomStandardNormal", standard_normal, 1, 30;
    TRUNCATED_NORMAL = "TruncatedNormal", truncated_normal, fill::truncated_blocks::<T>(), 40;
}

static RANDOM_UNIFORM_INT: Op = Op::new(
    "RandomUniformInt",
    "shape: T, minval: Tout, maxval: Tout -> output: Tout",
    "seed: int = 0; seed2: int = 0; Tout: {int32, int64}; T: {int32, int64}",
)
.stateful()
.shape(drawn)
.kernel(&[("Tout", INDICES)], |node| dispatch!(node, "Tout", INDICES T => integer::<T>(node)));

fn drawn(c: &ShapeContext<'_>) -> Result<alloc::vec::Vec<PartialShape>, Status> {
    Ok(alloc::vec![super::shapes::constant_shape(c, 0)])
}

/// The node's stream: made once a session, continued by every program that has the node.
fn stream(node: &NodeContext<'_>) -> Result<Arc<Mutex<Stream>>, Status> {
    let (seed, seed2) = (node.attrs().int("seed")?, node.attrs().int("seed2")?);
    node.states.find_or_create(&node.node.name, || {
        Mutex::new(Stream::new(seed, seed2, || {
            let mut bytes = [0; 16];
            // A host without entropy has the same stream each time.
            node.host.entropy(&mut bytes);
            let word = u128::from_le_bytes(bytes);
            [word as u64, (word >> 64) as u64]
        }))
    })
}

/// Fills `out` from `start` on in pieces, each group of outputs `blocks` blocks after the one before.
fn pieces<T: Element>(
    c: &Ctx<'_>,
    out: &mut Tensor,
    start: Philox,
    (group, blocks, cycles): (usize, u64, usize),
    fill: &(dyn Fn(Philox, &mut [T]) + Sync),
) -> Result<(), Status> {
    let elements = out.elements_mut::<T>().ok_or_else(|| Status::internal("output memory is shared"))?;
    let whole = elements.len() / group * group;
    let (groups, rest) = elements.split_at_mut(whole);
    let at = |group: usize| start.skipped((group as u64).wrapping_mul(blocks));
    chunks_mut(c.parallel(), groups, group, cycles * group, &|first, chunk| fill(at(first), chunk));
    fill(at(whole / group), rest);
    Ok(())
}

fn real<T: Value + Random>(
    node: &NodeContext<'_>,
    fill: fn(Philox, &mut [T]),
    blocks: u64,
    cycles: usize,
) -> Result<Box<dyn Kernel>, Status> {
    let stream = stream(node)?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = shape_from(c.input(0))?;
        let mut out = c.output(0, T::DTYPE, &shape)?;
        let start = stream.lock().reserve(shape.num_elements() as u64);
        pieces::<T>(c, &mut out, start, (T::GROUP, blocks, cycles), &fill)?;
        c.set(0, out);
        Ok(())
    })
}

fn integer<T: Value + RandomInteger + core::fmt::Display + PartialOrd>(
    node: &NodeContext<'_>,
) -> Result<Box<dyn Kernel>, Status> {
    let stream = stream(node)?;
    kernel(move |c: &mut Ctx<'_>| {
        let shape = shape_from(c.input(0))?;
        for (i, name) in [(1, "minval"), (2, "maxval")] {
            if c.input(i).shape().rank() != 0 {
                return Err(Status::invalid_argument(format_args!(
                    "{name} must be 0-D, got shape {}",
                    c.input(i).shape()
                )));
            }
        }
        let (low, high) = (c.input(1).to_scalar::<T>()?, c.input(2).to_scalar::<T>()?);
        let mut out = c.output(0, T::DTYPE, &shape)?;
        if shape.num_elements() != 0 && low >= high {
            return Err(Status::invalid_argument(format_args!("Need minval < maxval, got {low} >= {high}")));
        }
        let start = stream.lock().reserve(shape.num_elements() as u64);
        pieces::<T>(c, &mut out, start, (T::GROUP, 1, 4), &|at, chunk| {
            // The range was looked at above.
            let _ = fill::uniform_int(at, low, high, chunk);
        })?;
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{Device, tensor};
    use crate::tensor::DType;

    fn attrs(seed: i64) -> [(&'static str, AttrValue); 3] {
        [("seed", seed.into()), ("seed2", 2i64.into()), ("dtype", DType::Float.into())]
    }

    /// The stream is TensorFlow's, goes on from run to run and program to program, and is the node's own.
    #[test]
    fn streams() {
        let device = Device::new();
        let draw = |node: &str| {
            let out = device.run_named(node, "RandomUniform", &attrs(1), &[tensor(&[1], &[3i32])]).unwrap();
            out[0].as_slice::<f32>().unwrap().to_vec()
        };
        let (first, second) = (draw("a"), draw("a"));
        assert_eq!(first, draw("b"));
        assert_eq!(second, draw("b"));
        assert_ne!(first, second);
        // tf.raw_ops.RandomUniform(shape=[3], seed=1, seed2=2) of TensorFlow 2.21, run twice.
        assert_eq!(first, [0.406_396_75, 0.857_599_6, 0.055_395_84]);
    }

    /// Pieces are cut by counter: a long tensor begins as a short one.
    #[test]
    fn prefixes() {
        for op in ["RandomUniform", "RandomStandardNormal", "TruncatedNormal"] {
            let draw = |n: i32| {
                let out = Device::new().run(op, &attrs(7), &[tensor(&[2], &[1, n])]).unwrap();
                out[0].as_slice::<f32>().unwrap().to_vec()
            };
            assert_eq!(draw(5)[..], draw(1003)[..5], "{op}");
        }
    }

    /// Integers stay in range; an empty range and bad shapes are refused.
    #[test]
    fn integers_and_refusals() {
        let device = Device::new();
        let run = |low: i64, high: i64, n: i32| {
            device.run("RandomUniformInt", &[], &[tensor(&[1], &[n]), low.into(), high.into()])
        };
        assert!(run(-2, 3, 100).unwrap()[0].as_slice::<i64>().unwrap().iter().all(|x| (-2..3).contains(x)));
        assert_eq!(run(3, 3, 1).unwrap_err().code(), Code::InvalidArgument);
        assert_eq!(run(0, 3, -1).unwrap_err().code(), Code::InvalidArgument);
        assert!(run(3, 3, 0).is_ok());
        let error = device.run("RandomUniform", &attrs(0), &[tensor(&[1, 1], &[3i32])]).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
    }
}
