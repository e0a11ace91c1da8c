//! Tensors as text, much as NumPy prints them.

use std::fmt::Write as _;

use half::{bf16, f16};
use num_complex::Complex;
use runstep::tensor::{DType, Element, Tensor};

/// Elements beyond which only the ends of each axis are shown.
const ELEMENTS_MAX: usize = 1000;
/// What is shown of each end then.
const EDGE: usize = 3;

/// The elements in nested brackets; of a large tensor the ends of each axis.
pub(crate) fn elements(tensor: &Tensor) -> String {
    let dims = tensor.shape().to_usize();
    let short = dims.iter().copied().max().unwrap_or(1).max(tensor.num_elements()) > ELEMENTS_MAX;
    let mut shown = Vec::new();
    walk(&dims, short, 0, &mut |part| {
        if let Part::Element(i) = part {
            shown.push(element(tensor, i));
        }
    });
    let width = shown.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let mut texts = shown.into_iter();
    let mut out = String::new();
    walk(&dims, short, 0, &mut |part| match part {
        Part::Element(_) => {
            let _ = write!(out, "{:>width$}", texts.next().unwrap_or_default());
        }
        Part::Text(text) => out.push_str(text),
        Part::Line(depth) => {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', depth));
        }
    });
    out
}

enum Part {
    Element(usize),
    Text(&'static str),
    /// A new line, indented by the brackets that are open.
    Line(usize),
}

/// Says the parts of a tensor's text in order. A tensor has at most eight axes, so recursion is bounded.
fn walk(dims: &[usize], short: bool, first: usize, say: &mut dyn FnMut(Part)) {
    axis(dims, short, first, 0, say);
}

fn axis(dims: &[usize], short: bool, first: usize, depth: usize, say: &mut dyn FnMut(Part)) {
    let Some((&dim, inner)) = dims.split_first() else { return say(Part::Element(first)) };
    let stride: usize = inner.iter().product();
    say(Part::Text("["));
    let cut = short && dim > 2 * EDGE + 1;
    let between = |say: &mut dyn FnMut(Part)| {
        if inner.is_empty() {
            say(Part::Text(" "));
        } else {
            say(Part::Line(depth + 1));
        }
    };
    let mut i = 0;
    while i < dim {
        if i > 0 {
            between(say);
        }
        if cut && i == EDGE {
            say(Part::Text("..."));
            i = dim - EDGE;
            continue;
        }
        axis(inner, short, first + i * stride, depth + 1, say);
        i += 1;
    }
    say(Part::Text("]"));
}

/// One element as text.
fn element(tensor: &Tensor, i: usize) -> String {
    fn plain<T: Element>(tensor: &Tensor, i: usize, show: impl Fn(T) -> String) -> String {
        tensor.as_slice::<T>().ok().and_then(|all| all.get(i)).map_or_else(String::new, |&value| show(value))
    }
    macro_rules! number {
        ($ty:ty) => {
            plain::<$ty>(tensor, i, |x| x.to_string())
        };
    }
    match tensor.dtype() {
        DType::Float => plain::<f32>(tensor, i, |x| float(x.into(), format!("{x:?}"))),
        DType::Double => plain::<f64>(tensor, i, |x| float(x, format!("{x:?}"))),
        DType::Half => plain::<f16>(tensor, i, |x| float(x.into(), format!("{:?}", f32::from(x)))),
        DType::Bfloat16 => plain::<bf16>(tensor, i, |x| float(x.into(), format!("{:?}", f32::from(x)))),
        DType::Complex64 => plain::<Complex<f32>>(tensor, i, |x| format!("{:?}{:+?}j", x.re, x.im)),
        DType::Complex128 => plain::<Complex<f64>>(tensor, i, |x| format!("{:?}{:+?}j", x.re, x.im)),
        DType::Int8 => number!(i8),
        DType::Int16 => number!(i16),
        DType::Int32 => number!(i32),
        DType::Int64 => number!(i64),
        DType::Uint8 => number!(u8),
        DType::Uint16 => number!(u16),
        DType::Uint32 => number!(u32),
        DType::Uint64 => number!(u64),
        DType::Bool => plain::<bool>(tensor, i, |x| if x { "True".to_owned() } else { "False".to_owned() }),
        DType::String => {
            let text = tensor.strings().ok().and_then(|all| all.get(i));
            text.map_or_else(String::new, |text| format!("{:?}", String::from_utf8_lossy(text)))
        }
        DType::Resource | DType::Variant => "?".to_owned(),
        // Of the dtypes that have no arithmetic here: the bits.
        dtype => {
            let size = dtype.size();
            let bits = tensor.bytes().get(i * size..(i + 1) * size).unwrap_or_default();
            bits.iter().rev().fold("0x".to_owned(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        }
    }
}

/// A float as NumPy writes it: `1.`, `nan`, `1e-07`.
fn float(value: f64, shortest: String) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    match shortest.strip_suffix(".0") {
        Some(whole) => format!("{whole}."),
        None => shortest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runstep::tensor::{Shape, Str};

    /// Brackets nest, columns line up, whole floats keep their point.
    #[test]
    fn small_tensors() {
        assert_eq!(elements(&Tensor::scalar(2.0f32)), "2.");
        assert_eq!(elements(&Tensor::scalar(f32::NAN)), "nan");
        let matrix = Tensor::from_slice(&[2, 2], &[1.0f32, -0.5, 10.25, 1e-7]).unwrap();
        assert_eq!(elements(&matrix), "[[   1.  -0.5]\n [10.25  1e-7]]");
        let cube = Tensor::from_slice(&[2, 1, 2], &[1i32, 2, 3, 4]).unwrap();
        assert_eq!(elements(&cube), "[[[1 2]]\n [[3 4]]]");
        assert_eq!(elements(&Tensor::from_slice::<u8>(&[0], &[]).unwrap()), "[]");
        assert_eq!(elements(&Tensor::from_slice(&[2], &[true, false]).unwrap()), "[ True False]");
        assert_eq!(elements(&Tensor::scalar(Complex::new(1.0f32, -2.0))), "1.0-2.0j");
        let words = Tensor::from_strings(Shape::new(&[1]).unwrap(), vec![Str::from_static(b"a\"b\n")]).unwrap();
        assert_eq!(elements(&words), r#"["a\"b\n"]"#);
    }

    /// Of a large tensor only the ends are shown.
    #[test]
    fn large_tensors() {
        let many: Vec<i32> = (0..2000).collect();
        let line = Tensor::from_slice(&[2000], &many).unwrap();
        assert_eq!(elements(&line), "[   0    1    2 ... 1997 1998 1999]");
        let square = Tensor::from_slice(&[40, 50], &many).unwrap();
        let text = elements(&square);
        assert_eq!(text.lines().count(), 7);
        assert!(text.contains("\n ...\n"));
        assert!(text.starts_with("[[   0    1    2 ...   47   48   49]"), "{text}");
    }

    /// Every dtype has some text.
    #[test]
    fn every_dtype() {
        for &dtype in DType::ALL.iter().filter(|d| d.is_plain()) {
            let tensor = Tensor::zeros(dtype, &Shape::new(&[2]).unwrap(), None).unwrap();
            assert!(elements(&tensor).len() > 4, "{dtype}");
        }
    }
}
