//! Summaries of numbers, as serialized `Summary` messages for the logs of training.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dispatch::*;
use super::{Ctx, Kernel, Op, kernel, shape};
use crate::Status;
use crate::kernels::element::Real;
use crate::tensor::{Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[&SCALAR_SUMMARY];

static SCALAR_SUMMARY: Op = Op::new(
    "ScalarSummary",
    "tags: string, values: T -> summary: string",
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
)
.shape(shape::scalar)
.kernel(&[("T", REALS)], |node| dispatch!(node, "T", REALS T => scalars::<T>()));

/// A protobuf varint.
fn varint(out: &mut Vec<u8>, mut n: usize) {
    while n > 0x7f {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn scalars<T: Value + Real>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let (tags, values) = (c.input(0), c.input(1));
        if tags.shape() != values.shape() {
            return Err(Status::invalid_argument(format_args!(
                "tags and values are not the same shape: {} != {}",
                tags.shape(),
                values.shape()
            )));
        }
        let mut summary = Vec::new();
        for (tag, value) in tags.strings()?.iter().zip(values.as_slice::<T>()?) {
            // Value { tag = 1, simple_value = 2 }, which is `value = 1` of Summary.
            let mut one = Vec::new();
            if !tag.is_empty() {
                one.push(0x0a);
                varint(&mut one, tag.len());
                one.extend_from_slice(tag);
            }
            one.push(0x15);
            one.extend_from_slice(&(value.to_f64() as f32).to_le_bytes());
            summary.push(0x0a);
            varint(&mut summary, one.len());
            summary.extend_from_slice(&one);
        }
        c.set(0, Tensor::from_strings(Shape::scalar(), alloc::vec![summary.into()])?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::ops::testing::{run, strings, tensor};

    /// One value's message byte by byte; as many tags as values.
    #[test]
    fn scalars() {
        let out = run("ScalarSummary", &[], &[strings(&[], &["a"]), 1.0f32.into()]).unwrap();
        assert_eq!(&*out[0].strings().unwrap()[0], b"\x0a\x08\x0a\x01a\x15\0\0\x80\x3f");
        let error = run("ScalarSummary", &[], &[strings(&[1], &["a"]), tensor(&[2], &[1i32; 2])]).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
    }
}
