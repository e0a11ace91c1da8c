//! The plain triple loop that every other matrix product must agree with.

use super::{Activation, Epilogue, MatMul};

/// [`matmul`](super::matmul) in f64, element by element; the sizes are the caller's to get right.
pub(crate) fn matmul(g: &MatMul, a: &[f64], b: &[f64], c: &mut [f64], epilogue: Epilogue<'_, f64>) {
    for i in 0..g.m {
        for j in 0..g.n {
            let mut sum = 0.0;
            for p in 0..g.k {
                let x = if g.a_transposed { a[p * g.m + i] } else { a[i * g.k + p] };
                let y = if g.b_transposed { b[j * g.k + p] } else { b[p * g.n + j] };
                sum += x * y;
            }
            if g.accumulate {
                sum += c[i * g.n + j];
            }
            if let Some(bias) = epilogue.bias {
                sum += bias[j];
            }
            c[i * g.n + j] = match epilogue.activation {
                Activation::None => sum,
                _ if sum < 0.0 => 0.0,
                Activation::Relu6 if sum > 6.0 => 6.0,
                _ => sum,
            };
        }
    }
}
