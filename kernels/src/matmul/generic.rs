//! Matrix products of every other number type: plain loops, sums in a type wide enough.

use super::{MatMul, check};
use crate::Mismatch;
use crate::number::Arithmetic;
use crate::parallel::{Parallel, chunks_mut};

/// Columns summed at once.
const WIDTH: usize = 16;

/// `C = op(A) · op(B)`, plus C when accumulating, for any [`Arithmetic`] type. Sizes as [`super::matmul`]; no scratch.
pub fn matmul_plain<T: Arithmetic>(
    par: &dyn Parallel,
    g: &MatMul,
    a: &[T],
    b: &[T],
    c: &mut [T],
) -> Result<(), Mismatch> {
    check(g, a.len(), Some(b.len()), c.len(), None)?;
    let (a_row, a_col) = if g.a_transposed { (1, g.m) } else { (g.k, 1) };
    chunks_mut(par, c, g.n, g.n.saturating_mul(g.k), &|first, rows| {
        for (i, row) in rows.chunks_mut(g.n).enumerate() {
            let a_first = (first + i) * a_row;
            for (block, out) in row.chunks_mut(WIDTH).enumerate() {
                let j = block * WIDTH;
                let mut sums = [T::EMPTY; WIDTH];
                if g.b_transposed {
                    for (sum, y) in sums.iter_mut().zip(b[j * g.k..].chunks(g.k.max(1))).take(out.len()) {
                        for (p, &y) in y.iter().enumerate() {
                            *sum = T::add_product(*sum, a[a_first + p * a_col], y);
                        }
                    }
                } else {
                    for p in 0..g.k {
                        let x = a[a_first + p * a_col];
                        let from = &b[p * g.n + j..p * g.n + j + out.len()];
                        for (sum, &y) in sums.iter_mut().zip(from) {
                            *sum = T::add_product(*sum, x, y);
                        }
                    }
                }
                for (to, &sum) in out.iter_mut().zip(&sums) {
                    *to = T::narrow(if g.accumulate { T::add(to.widen(), sum) } else { sum });
                }
            }
        }
    });
    Ok(())
}
