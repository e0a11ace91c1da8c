//! `Assert`: ends the step when a condition does not hold, and shows what it was given.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt::Write;

use super::{Ctx, Kernel, NodeContext, Op, kernel, shape};
use crate::Status;
use crate::tensor::{DType, Element, Tensor};

/// This family.
pub static OPS: &[&Op] = &[&ASSERT];

static ASSERT: Op = Op::new("Assert", "condition: bool, data: T ->", "T: list(type) >= 1; summarize: int = 3")
    .stateful()
    .shape(shape::unknown)
    .kernel(&[], assert);

fn assert(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let limit = usize::try_from(node.attrs().int("summarize")?).unwrap_or(usize::MAX);
    kernel(move |c: &mut Ctx<'_>| {
        let condition = c.input(0);
        if condition.shape().rank() != 0 {
            return Err(Status::invalid_argument(format_args!("In[0] should be a scalar: {}", condition.shape())));
        }
        if condition.to_scalar::<bool>()? {
            return Ok(());
        }
        let mut text = String::from("assertion failed:");
        for i in 1..c.num_inputs() {
            text.push_str(" [");
            summarize(c.input(i), limit, &mut text);
            text.push(']');
        }
        Err(Status::invalid_argument(text))
    })
}

/// The first `limit` elements, inner dimensions in brackets, as TensorFlow summarises a tensor.
fn summarize(t: &Tensor, limit: usize, text: &mut String) {
    let mut printed = 0;
    if t.shape().rank() == 0 {
        if limit > 0 {
            element(t, 0, text);
        }
    } else {
        dimension(t, 0, limit, &mut printed, text);
    }
    if t.num_elements() > limit {
        text.push_str("...");
    }
}

/// Recursion goes as deep as the rank, which is at most eight.
fn dimension(t: &Tensor, axis: usize, limit: usize, printed: &mut usize, text: &mut String) {
    if *printed >= limit {
        return;
    }
    let size = t.shape().dim(axis);
    if axis + 1 == t.shape().rank() {
        for i in 0..size {
            if *printed >= limit {
                if axis != 0 {
                    text.push_str("...");
                }
                return;
            }
            if i > 0 {
                text.push(' ');
            }
            element(t, *printed, text);
            *printed += 1;
        }
        return;
    }
    for _ in 0..size {
        let open = *printed < limit;
        if open {
            text.push('[');
        }
        dimension(t, axis + 1, limit, printed, text);
        if open || *printed < limit {
            text.push(']');
        }
    }
}

fn element(t: &Tensor, i: usize, text: &mut String) {
    fn show<T: Element + core::fmt::Display>(t: &Tensor, i: usize, text: &mut String) {
        if let Some(x) = t.as_slice::<T>().ok().and_then(|s| s.get(i)) {
            // Writing to a string cannot fail.
            let _ = write!(text, "{x}");
        }
    }
    match t.dtype() {
        DType::Float => float(t.as_slice::<f32>().ok().and_then(|s| s.get(i)).map_or(0.0, |&x| f64::from(x)), 6, text),
        DType::Double => float(t.as_slice::<f64>().ok().and_then(|s| s.get(i)).copied().unwrap_or(0.0), 15, text),
        DType::Half => show::<half::f16>(t, i, text),
        DType::Bfloat16 => show::<half::bf16>(t, i, text),
        DType::Int8 => show::<i8>(t, i, text),
        DType::Int16 => show::<i16>(t, i, text),
        DType::Int32 => show::<i32>(t, i, text),
        DType::Int64 => show::<i64>(t, i, text),
        DType::Uint8 => show::<u8>(t, i, text),
        DType::Uint16 => show::<u16>(t, i, text),
        DType::Uint32 => show::<u32>(t, i, text),
        DType::Uint64 => show::<u64>(t, i, text),
        DType::Complex64 => show::<num_complex::Complex<f32>>(t, i, text),
        DType::Complex128 => show::<num_complex::Complex<f64>>(t, i, text),
        DType::Bool => text.push(if t.as_slice::<bool>().is_ok_and(|s| s.get(i) == Some(&true)) { '1' } else { '0' }),
        DType::String => {
            if let Some(s) = t.strings().ok().and_then(|s| s.get(i)) {
                let _ = write!(text, "{}", s.escape_ascii());
            }
        }
        dtype => {
            let _ = write!(text, "<{dtype}>");
        }
    }
}

/// As C's `%g` with `digits` digits: plain for moderate sizes, else with an exponent of at least two digits.
fn float(x: f64, digits: usize, text: &mut String) {
    if !x.is_finite() || x == 0.0 {
        text.push_str(if x.is_nan() {
            "nan"
        } else if x == 0.0 {
            "0"
        } else if x > 0.0 {
            "inf"
        } else {
            "-inf"
        });
        return;
    }
    let scientific = alloc::format!("{x:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |s: &str| {
        if s.contains('.') { String::from(s.trim_end_matches('0').trim_end_matches('.')) } else { String::from(s) }
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(text, "{}e{sign}{:02}", trimmed(mantissa), exponent.unsigned_abs());
    } else {
        let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
        text.push_str(&trimmed(&alloc::format!("{x:.decimals$}")));
    }
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::ops::testing::{run, strings, tensor};
    use crate::tensor::DType;

    /// The text is the one that TensorFlow 2.21 gives.
    #[test]
    fn summary() {
        let data = [tensor(&[2, 2], &[1.0f32, 2.5e-7, 3e10, 4.0]), strings(&[2], &["a\n", "b"]), true.into()];
        let types = ("T", alloc::vec![DType::Float, DType::String, DType::Bool].into());
        let inputs = |ok: bool| alloc::vec![ok.into(), data[0].clone(), data[1].clone(), data[2].clone()];
        assert!(run("Assert", &[types.clone()], &inputs(true)).is_ok());
        let error = run("Assert", &[types], &inputs(false)).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert_eq!(error.message(), "assertion failed: [[1 2.5e-07][3e+10...]...] [a\\n b] [1]");
    }
}
