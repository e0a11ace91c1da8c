//! `Cast` between all plain dtypes.

use alloc::boxed::Box;

use super::dispatch::*;
use super::elementwise::mapped;
use super::{Ctx, Kernel, NodeContext, Op, kernel, shape};
use crate::Status;
use crate::kernels::cast::{self as k, CastTo, Truncate};
use crate::kernels::small::{E4M3FN, E5M2, Float8, int4, to_nibble, uint4};
use crate::tensor::{DType, Tensor};

/// This family.
pub static OPS: &[&Op] = &[&CAST];

static CAST: Op = Op::new("Cast", "x: SrcT -> y: DstT", "SrcT: type; DstT: type; Truncate: bool = false")
    .shape(shape::unchanged)
    .kernel(&[], make);

fn make(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (from, to) = (node.dtype("SrcT")?, node.dtype("DstT")?);
    if from == to {
        return kernel(|c: &mut Ctx<'_>| {
            let value = c.forward(0, 0).unwrap_or_else(|| c.input(0).clone());
            c.set(0, value);
            Ok(())
        });
    }
    let truncate = node.attrs().bool("Truncate")?;
    if let Some(made) = small(node, from, to, truncate)? {
        return Ok(made);
    }
    if !PLAIN.contains(&from) || !PLAIN.contains(&to) {
        return Err(Status::unimplemented(format_args!("Cast {from} to {to} is not supported")));
    }
    // TensorFlow's doubles are rounded to bfloat16 all the same.
    let truncate = truncate && (from, to) != (DType::Double, DType::Bfloat16);
    if truncate && FLOATS.contains(&from) && NARROWED.contains(&to) {
        return dispatch!(node, "SrcT", FLOATS S => dispatch!(node, "DstT", NARROWED D => truncated::<S, D>()));
    }
    dispatch!(node, "SrcT", PLAIN S => dispatch!(node, "DstT", PLAIN D => cast::<S, D>()))
}

/// Casts from and to floats of eight bits and integers of four; `None` for pairs of other dtypes.
fn small(node: &NodeContext<'_>, from: DType, to: DType, truncate: bool) -> Result<Option<Box<dyn Kernel>>, Status> {
    let is_nibble = |dtype| matches!(dtype, DType::Int4 | DType::Uint4);
    let made = match (float8(from), float8(to)) {
        (Some(f), Some(t)) => bytes(to, move |x| t.encode(f.decode(x).into())),
        (Some(f), None) if PLAIN.contains(&to) => {
            dispatch!(node, "DstT", PLAIN D => widened::<D, f32>(move |x| f.decode(x)))
        }
        (None, Some(t)) if FLOATS.contains(&from) => {
            let bits = if truncate { t.mantissa_bits() } else { u32::MAX };
            dispatch!(node, "SrcT", FLOATS S => narrowed::<S>(to, move |x| t.encode(x.truncated(bits).cast_to())))
        }
        _ if is_nibble(from) && is_nibble(to) => bytes(to, uint4),
        _ if from == DType::Int4 && INTEGERS.contains(&to) => {
            dispatch!(node, "DstT", INTEGERS D => widened::<D, i8>(int4))
        }
        _ if from == DType::Uint4 && INTEGERS.contains(&to) => {
            dispatch!(node, "DstT", INTEGERS D => widened::<D, u8>(uint4))
        }
        _ if is_nibble(to) && INTEGERS.contains(&from) => {
            dispatch!(node, "SrcT", INTEGERS S => narrowed::<S>(to, |x| to_nibble(x.cast_to())))
        }
        _ => return Ok(None),
    };
    made.map(Some)
}

fn float8(dtype: DType) -> Option<Float8> {
    match dtype {
        DType::Float8E5m2 => Some(E5M2),
        DType::Float8E4m3fn => Some(E4M3FN),
        _ => None,
    }
}

/// Byte to byte.
fn bytes(to: DType, f: impl Fn(u8) -> u8 + Send + Sync + 'static) -> Result<Box<dyn Kernel>, Status> {
    into_bytes(to, move |x, out| {
        for (o, &x) in out.iter_mut().zip(x.bytes()) {
            *o = f(x);
        }
        Ok(())
    })
}

/// Number to byte.
fn narrowed<S: Value>(to: DType, f: impl Fn(S) -> u8 + Send + Sync + 'static) -> Result<Box<dyn Kernel>, Status> {
    into_bytes(to, move |x, out| {
        for (o, &x) in out.iter_mut().zip(x.as_slice::<S>()?) {
            *o = f(x);
        }
        Ok(())
    })
}

fn into_bytes(
    to: DType,
    f: impl Fn(&Tensor, &mut [u8]) -> Result<(), Status> + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let mut out = c.output(0, to, &shape)?;
        f(c.input(0), out.bytes_mut().ok_or_else(|| Status::internal("an output is shared"))?)?;
        c.set(0, out);
        Ok(())
    })
}

/// Byte to number, by way of a type that holds all values of the byte.
fn widened<D: Value, W: CastTo<D>>(f: impl Fn(u8) -> W + Send + Sync + 'static) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let mut out = c.output(0, D::DTYPE, &shape)?;
        for (o, &x) in out.make_mut::<D>()?.iter_mut().zip(c.input(0).bytes()) {
            *o = f(x).cast_to();
        }
        c.set(0, out);
        Ok(())
    })
}

fn cast<S: Value + CastTo<D>, D: Value>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        if let Some(x) = c.input(0).inline_scalar::<S>() {
            c.set_scalar(0, x.cast_to());
            return Ok(());
        }
        mapped::<S, D>(c, 2, &|x, out| k::cast(x, out))
    })
}

/// Rounds toward zero.
fn truncated<S: Value + CastTo<D> + Truncate, D: Value + Mantissa>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| mapped::<S, D>(c, 2, &|x, out| k::cast_truncated(x, D::BITS, out)))
}

/// How many bits of mantissa a float stores.
trait Mantissa {
    const BITS: u32;
}
impl Mantissa for f32 {
    const BITS: u32 = 23;
}
impl Mantissa for half::f16 {
    const BITS: u32 = 10;
}
impl Mantissa for half::bf16 {
    const BITS: u32 = 7;
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::ops::dispatch::PLAIN;
    use crate::ops::testing::{run, strings, tensor};
    use crate::tensor::DType;
    use half::bf16;

    /// One goes to one between all pairs, as scalar and as vector; TensorFlow has these answers for what does not fit.
    #[test]
    fn pairs() {
        for &from in PLAIN {
            let one = run("Cast", &[("DstT", from.into())], &[tensor(&[2], &[1i32, 0])]).unwrap().remove(0);
            for &to in PLAIN {
                let out = run("Cast", &[("DstT", to.into())], &[one.clone()]).unwrap().remove(0);
                let back = run("Cast", &[("DstT", DType::Int32.into())], &[out]).unwrap();
                assert_eq!(back[0].as_slice::<i32>().unwrap(), [1, 0], "{from} {to}");
            }
        }
        let x = tensor(&[3], &[-1.9f32, f32::NAN, 3e9]);
        let out = run("Cast", &[("DstT", DType::Int32.into())], &[x]).unwrap();
        assert_eq!(out[0].as_slice::<i32>().unwrap(), [-1, i32::MIN, i32::MIN]);
        assert!(
            run("Cast", &[("DstT", DType::Bool.into())], &[0.5f32.into()]).unwrap()[0].to_scalar::<bool>().unwrap()
        );
    }

    /// Truncation, strings as they are, and what cannot be converted.
    #[test]
    fn others() {
        let attrs = [("DstT", DType::Bfloat16.into()), ("Truncate", true.into())];
        let out = run("Cast", &attrs, &[1.999f32.into()]).unwrap();
        assert_eq!(out[0].to_scalar::<bf16>().unwrap(), bf16::from_f32(1.992_187_5));
        let s = strings(&[1], &["a"]);
        assert!(run("Cast", &[("DstT", DType::String.into())], &[s.clone()]).is_ok());
        let error = run("Cast", &[("DstT", DType::Int32.into())], &[s]).unwrap_err();
        assert_eq!(error.code(), Code::Unimplemented);
    }
}
