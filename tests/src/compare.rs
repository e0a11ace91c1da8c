//! Whether a tensor is the one expected, and if not, a text that says where and by how much.

use half::{bf16, f16};
use num_complex::Complex;
use runstep::tensor::{DType, Tensor};

/// How close floats have to be: within `atol + rtol * |expected|`, or bit for bit. NaN equals NaN.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Relative part.
    pub rtol: f64,
    /// Absolute part.
    pub atol: f64,
    /// Bit for bit; the other two are then not looked at.
    pub exact: bool,
}

impl Tolerance {
    /// Bit for bit.
    pub const EXACT: Tolerance = Tolerance { rtol: 0.0, atol: 0.0, exact: true };
}

/// `None` when `got` is what was expected; integers, truth values and strings have to be equal.
pub fn mismatch(got: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Option<String> {
    if got.dtype() != expected.dtype() {
        return Some(format!("dtype {} instead of {}", got.dtype(), expected.dtype()));
    }
    if got.shape() != expected.shape() {
        return Some(format!("shape {} instead of {}", got.shape(), expected.shape()));
    }
    let pairs = Pairs { got, expected, tolerance };
    match got.dtype() {
        DType::String => pairs.strings(),
        DType::Float => pairs.floats::<f32>(|v| [f64::from(v), 0.0]),
        DType::Double => pairs.floats::<f64>(|v| [v, 0.0]),
        DType::Half => pairs.floats::<f16>(|v| [f64::from(v), 0.0]),
        DType::Bfloat16 => pairs.floats::<bf16>(|v| [f64::from(v), 0.0]),
        DType::Complex64 => pairs.floats::<Complex<f32>>(|v| [f64::from(v.re), f64::from(v.im)]),
        DType::Complex128 => pairs.floats::<Complex<f64>>(|v| [v.re, v.im]),
        _ => pairs.bytes(),
    }
}

struct Pairs<'a> {
    got: &'a Tensor,
    expected: &'a Tensor,
    tolerance: Tolerance,
}

impl Pairs<'_> {
    fn strings(&self) -> Option<String> {
        let (got, expected) = (self.got.strings().ok()?, self.expected.strings().ok()?);
        let wrong: Vec<usize> = (0..got.len()).filter(|&i| got[i] != expected[i]).collect();
        self.report(&wrong, |i| format!("{:?} instead of {:?}", got[i], expected[i]))
    }

    fn floats<T: runstep::tensor::Element>(&self, parts: impl Fn(T) -> [f64; 2]) -> Option<String> {
        let (got, expected) = (self.got.as_slice::<T>().ok()?, self.expected.as_slice::<T>().ok()?);
        let size = size_of::<T>();
        let (got_bytes, expected_bytes) = (self.got.bytes(), self.expected.bytes());
        let same_bits = |i: usize| got_bytes[i * size..(i + 1) * size] == expected_bytes[i * size..(i + 1) * size];
        let close = |i: usize| {
            if same_bits(i) {
                return true;
            }
            let (g, e) = (parts(got[i]), parts(expected[i]));
            if self.tolerance.exact {
                // Different bits may only be two NaNs, part by part.
                return (0..2).all(|p| (g[p].is_nan() && e[p].is_nan()) || g[p].to_bits() == e[p].to_bits());
            }
            let size = e[0].hypot(e[1]);
            (0..2).all(|p| self.near(g[p], e[p], size))
        };
        let wrong: Vec<usize> = (0..got.len()).filter(|&i| !close(i)).collect();
        self.report(&wrong, |i| {
            let (g, e) = (parts(got[i]), parts(expected[i]));
            format!("{:?} instead of {:?} (off by {:.3e})", got[i], expected[i], (g[0] - e[0]).hypot(g[1] - e[1]))
        })
    }

    fn near(&self, got: f64, expected: f64, size: f64) -> bool {
        if expected.is_nan() {
            return got.is_nan();
        }
        if !expected.is_finite() {
            return got == expected;
        }
        let size = if size.is_finite() { size } else { expected.abs() };
        (got - expected).abs() <= self.tolerance.atol + self.tolerance.rtol * size
    }

    fn bytes(&self) -> Option<String> {
        let size = self.got.dtype().size().max(1);
        let (got, expected) = (self.got.bytes(), self.expected.bytes());
        let element = |bytes: &[u8], i: usize| bytes[i * size..(i + 1) * size].to_vec();
        let wrong: Vec<usize> = (0..self.got.num_elements())
            .filter(|&i| element(got, i) != element(expected, i))
            .filter(|&i| !(both_nan8(self.got.dtype(), got[i * size], expected[i * size])))
            .collect();
        self.report(&wrong, |i| match self.got.dtype() {
            DType::Bool => format!("{} instead of {}", got[i] != 0, expected[i] != 0),
            _ => format!("{} instead of {}", self.integer(&element(got, i)), self.integer(&element(expected, i))),
        })
    }

    fn integer(&self, bytes: &[u8]) -> i128 {
        use DType::{Int2, Int4, Int8, Int16, Int32, Int64, Qint8, Qint16, Qint32};
        let signed = matches!(self.got.dtype(), Int2 | Int4 | Int8 | Int16 | Int32 | Int64 | Qint8 | Qint16 | Qint32);
        let fill = if signed && bytes.last().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
        let mut wide = [fill; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        i128::from_le_bytes(wide)
    }

    fn report(&self, wrong: &[usize], element: impl Fn(usize) -> String) -> Option<String> {
        let (first, last) = (*wrong.first()?, *wrong.last()?);
        let count = self.got.num_elements();
        let mut text = format!(
            "{} of {count} elements of a {} {} differ: [{first}] {}",
            wrong.len(),
            self.got.dtype(),
            self.got.shape(),
            element(first)
        );
        if last != first {
            text += &format!(", … [{last}] {}", element(last));
        }
        Some(text)
    }
}

/// Two NaNs of an 8-bit float, which have no Rust type here.
fn both_nan8(dtype: DType, a: u8, b: u8) -> bool {
    let nan = |v: u8| match dtype {
        DType::Float8E5m2 => v & 0x7f > 0x7c,
        DType::Float8E4m3fn => v & 0x7f == 0x7f,
        _ => false,
    };
    nan(a) && nan(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOSE: Tolerance = Tolerance { rtol: 1e-3, atol: 0.0, exact: false };

    fn f(values: &[f32]) -> Tensor {
        Tensor::from_slice(&[values.len()], values).unwrap()
    }

    /// Equal, close and far floats, NaN and infinities, at both strictnesses.
    #[test]
    fn floats() {
        let one = f(&[1.0, f32::NAN, f32::INFINITY]);
        assert_eq!(mismatch(&one, &one, Tolerance::EXACT), None);
        assert_eq!(mismatch(&f(&[1.0005, -f32::NAN, f32::INFINITY]), &one, LOOSE), None);
        let text = mismatch(&f(&[1.0005, f32::NAN, f32::NEG_INFINITY]), &one, LOOSE).unwrap();
        assert!(text.starts_with("1 of 3 elements of a float [3] differ: [2] -inf instead of inf"), "{text}");
        assert!(mismatch(&f(&[1.0005, f32::NAN, f32::INFINITY]), &one, Tolerance::EXACT).is_some());
        assert!(mismatch(&f(&[-0.0]), &f(&[0.0]), Tolerance::EXACT).is_some());
        assert_eq!(mismatch(&f(&[-0.0]), &f(&[0.0]), LOOSE), None);
    }

    /// Other dtypes are equal or not; dtype and shape are said first.
    #[test]
    fn the_rest() {
        let text = mismatch(&Tensor::scalar(3i32), &Tensor::scalar(-4i32), LOOSE).unwrap();
        assert!(text.ends_with("[0] 3 instead of -4"), "{text}");
        assert_eq!(mismatch(&f(&[]), &f(&[]), Tolerance::EXACT), None);
        assert!(mismatch(&f(&[1.0]), &f(&[1.0, 2.0]), LOOSE).unwrap().starts_with("shape"));
        assert!(mismatch(&Tensor::scalar(1i64), &Tensor::scalar(1i32), LOOSE).unwrap().starts_with("dtype"));
    }
}
