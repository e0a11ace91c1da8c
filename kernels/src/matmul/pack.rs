//! B in panels: `PANEL` columns wide, row after row, so that a tile reads it front to back.
//!
//! Element `(p, j)` of op(B) lies at `j / PANEL · (k · PANEL) + p · PANEL + j % PANEL`; columns past `n` are zero. A panel's
//! row is one cache line at every level of machine, so packed weights can be stored in an image and run anywhere.

use super::Float;
use crate::parallel::{Parallel, chunks_mut};
use crate::{Mismatch, ensure, product};
use core::ops::Range;

/// Elements of a packed `k × n` B. Fails when that overflows.
pub fn pack_b_len<T: Float>(k: usize, n: usize) -> Result<usize, Mismatch> {
    product(&[n.div_ceil(T::PANEL), T::PANEL, k], "packed_b")
}

/// Packs op(B), `k × n`, stored row-major or, when `transposed`, as `n × k`. `packed` has [`pack_b_len`] elements and is
/// overwritten whole.
pub fn pack_b<T: Float>(
    par: &dyn Parallel,
    k: usize,
    n: usize,
    transposed: bool,
    b: &[T],
    packed: &mut [T],
) -> Result<(), Mismatch> {
    ensure(b.len() == product(&[k, n], "b")?, "b")?;
    ensure(packed.len() == pack_b_len::<T>(k, n)?, "packed_b")?;
    if transposed {
        pack_rows(par, k, n, k, b, packed);
    } else {
        pack_columns(par, k, 0..n, n, b, packed);
    }
    Ok(())
}

/// Packs the columns `columns` of `k` rows that are `stride` apart. `packed` has exactly the panels.
pub(crate) fn pack_columns<T: Float>(
    par: &dyn Parallel,
    k: usize,
    columns: Range<usize>,
    stride: usize,
    b: &[T],
    packed: &mut [T],
) {
    let size = k * T::PANEL;
    chunks_mut(par, packed, size, size, &|first, panels| {
        for (i, panel) in panels.chunks_mut(size).enumerate() {
            let j = columns.start + (first + i) * T::PANEL;
            let width = T::PANEL.min(columns.end - j);
            for (p, row) in panel.chunks_exact_mut(T::PANEL).enumerate() {
                let from = &b[p * stride + j..p * stride + j + width];
                if width == T::PANEL {
                    row.copy_from_slice(from);
                } else {
                    row[..width].copy_from_slice(from);
                    row[width..].fill(T::ZERO);
                }
            }
        }
    });
}

/// Packs the transpose of the first `k` numbers of `n` rows that are `stride` apart. `packed` has exactly the panels.
pub(crate) fn pack_rows<T: Float>(par: &dyn Parallel, k: usize, n: usize, stride: usize, b: &[T], packed: &mut [T]) {
    let size = k * T::PANEL;
    chunks_mut(par, packed, size, size, &|first, panels| {
        for (i, panel) in panels.chunks_mut(size).enumerate() {
            let j = (first + i) * T::PANEL;
            T::transpose_panel(k, T::PANEL.min(n - j), stride, b.get(j * stride..).unwrap_or_default(), panel);
        }
    });
}

/// One panel from `columns` stored rows of `k`, `stride` apart. Goes by strips of rows short enough that the panel's part stays in cache.
pub(crate) fn transpose_panel<T: Float>(k: usize, columns: usize, stride: usize, from: &[T], panel: &mut [T]) {
    const STRIP: usize = 64;
    for start in (0..k).step_by(STRIP) {
        let end = (start + STRIP).min(k);
        let strip = &mut panel[start * T::PANEL..end * T::PANEL];
        for j in 0..T::PANEL {
            let into = strip.iter_mut().skip(j).step_by(T::PANEL);
            if j < columns {
                into.zip(&from[j * stride + start..j * stride + end]).for_each(|(to, x)| *to = *x);
            } else {
                into.for_each(|to| *to = T::ZERO);
            }
        }
    }
}
