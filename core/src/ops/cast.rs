//! `Cast` between all plain dtypes.

use alloc::boxed::Box;

use super::dispatch::*;
use super::elementwise::mapped;
use super::{Ctx, Kernel, NodeContext, Op, kernel, shape};
use crate::Status;
use crate::kernels::cast::{self as k, CastTo, Truncate};

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
    if !PLAIN.contains(&from) || !PLAIN.contains(&to) {
        return Err(Status::unimplemented(format_args!("Cast {from} to {to} is not supported")));
    }
    if node.attrs().bool("Truncate")? && FLOATS.contains(&from) && NARROWED.contains(&to) {
        return dispatch!(node, "SrcT", FLOATS S => dispatch!(node, "DstT", NARROWED D => truncated::<S, D>()));
    }
    dispatch!(node, "SrcT", PLAIN S => dispatch!(node, "DstT", PLAIN D => cast::<S, D>()))
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
