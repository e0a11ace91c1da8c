//! The register tile: a few rows of A against a few vectors of B, and the loops that cover C with such tiles.
//!
//! A is read where it lies, one broadcast a row and step; B is read in vectors, from rows or from packed panels. `k` goes
//! in blocks so that the part of B under a tile stays in the first cache, rows in blocks so that A's part stays in the
//! second; C carries the sum from one block of `k` to the next.

use super::{Epilogue, Float, Kernel, Simd, activate, activate_v};
use crate::isa::Isa;
use core::ops::Range;

/// Where B's vectors come from.
#[derive(Clone, Copy)]
pub(crate) enum BLayout<'a, T> {
    /// `k` rows of `n`, with `n` at least a panel's width.
    Rows(&'a [T]),
    /// As [`super::pack_b`] lays them.
    Panels(&'a [T]),
}

/// A product's operands; C comes apart, since tasks share it.
#[derive(Clone, Copy)]
pub(crate) struct Gemm<'a, T> {
    pub(crate) k: usize,
    pub(crate) n: usize,
    pub(crate) a: &'a [T],
    /// Elements from one row of op(A) to the next.
    pub(crate) a_row: usize,
    /// Elements from one column of op(A) to the next.
    pub(crate) a_col: usize,
    pub(crate) b: BLayout<'a, T>,
    /// Elements from one row of C to the next.
    pub(crate) c_row: usize,
    pub(crate) accumulate: bool,
    pub(crate) epilogue: Epilogue<'a, T>,
}

/// Steps of `k` done at once: 32 columns of f32 are then 32 KiB of B.
const K_BLOCK: usize = 256;
/// Rows done at once: a block of A is then 120 KiB of f32.
const M_BLOCK: usize = 120;

/// Computes the block `rows` × `columns` of C, whose first element is at `c`.
///
/// `columns.start` must be a multiple of a panel's width, and A and B as large as the geometry says (checked).
///
/// # Safety
/// `c` is valid for reads and writes of element `i · c_row + j` for all `i` in `rows` and `j` in `columns`, and nobody else
/// touches those meanwhile.
pub(crate) unsafe fn run_tiles<T: Float>(
    isa: Isa,
    gemm: &Gemm<'_, T>,
    c: *mut T,
    rows: Range<usize>,
    columns: Range<usize>,
) {
    if rows.is_empty() || columns.is_empty() {
        return;
    }
    let a_last = (rows.end - 1) * gemm.a_row + gemm.k.saturating_sub(1) * gemm.a_col;
    let b_fits = match gemm.b {
        BLayout::Rows(b) => gemm.n >= T::PANEL && b.len() >= gemm.k * gemm.n,
        BLayout::Panels(b) => b.len() >= gemm.k * gemm.n.div_ceil(T::PANEL) * T::PANEL,
    };
    let bias_fits = gemm.epilogue.bias.is_none_or(|bias| bias.len() >= gemm.n);
    assert!(
        (gemm.k == 0 || a_last < gemm.a.len())
            && b_fits
            && bias_fits
            && columns.end <= gemm.n
            && columns.start.is_multiple_of(T::PANEL),
        "operands checked by the public functions"
    );
    T::product(isa, ProductOf { gemm, c, rows, columns });
}

/// [`run_tiles`] as a kernel; only made there.
pub struct ProductOf<'a, T> {
    gemm: &'a Gemm<'a, T>,
    c: *mut T,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl<T: Float> Kernel<T> for ProductOf<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<T>>(self, s: S) {
        let ProductOf { gemm, c, rows, columns } = self;
        // Few rows leave registers for more columns, and give more independent sums.
        let few = rows.len() <= 2;
        let mut k = 0;
        loop {
            let depth = (gemm.k - k).min(K_BLOCK);
            let last = k + depth == gemm.k;
            let mut top = rows.start;
            while top < rows.end {
                let bottom = (top + M_BLOCK).min(rows.end);
                let mut j = columns.start;
                while j < columns.end {
                    let left = columns.end - j;
                    let block = Block { gemm, c, k, depth, last, top, bottom, j };
                    // SAFETY: `run_tiles` has checked A, B and bias; C is its caller's promise.
                    unsafe {
                        if (few || S::TILE_VECTORS == 4) && left > 2 * S::LANES {
                            down::<T, S, 4>(s, &block, left.min(4 * S::LANES));
                            j += 4 * S::LANES;
                        } else if left > S::LANES {
                            down::<T, S, 2>(s, &block, left.min(2 * S::LANES));
                            j += 2 * S::LANES;
                        } else {
                            down::<T, S, 1>(s, &block, left.min(S::LANES));
                            j += S::LANES;
                        }
                    }
                }
                top = bottom;
            }
            k += depth;
            if last {
                return;
            }
        }
    }
}

/// A strip of tiles below each other.
struct Block<'a, T> {
    gemm: &'a Gemm<'a, T>,
    c: *mut T,
    /// First step and number of steps.
    k: usize,
    depth: usize,
    /// These are the last steps: the epilogue follows.
    last: bool,
    top: usize,
    bottom: usize,
    /// First column.
    j: usize,
}

/// The tiles of a strip of `columns` columns in `V` vectors.
///
/// # Safety
/// As [`run_tiles`], whose checks have passed.
#[inline(always)]
unsafe fn down<T: Float, S: Simd<T>, const V: usize>(s: S, block: &Block<'_, T>, columns: usize) {
    let mut i = block.top;
    while i < block.bottom {
        let rows = (block.bottom - i).min(S::TILE_ROWS);
        // SAFETY: the caller's promise.
        unsafe {
            if S::TILE_ROWS >= 12 && rows > 8 {
                tile::<T, S, 12, V>(s, block, i, rows, columns);
            } else if S::TILE_ROWS >= 12 && rows > 6 {
                tile::<T, S, 8, V>(s, block, i, rows, columns);
            } else if S::TILE_ROWS >= 6 && rows > 4 {
                tile::<T, S, 6, V>(s, block, i, rows, columns);
            } else if rows > 2 {
                tile::<T, S, 4, V>(s, block, i, rows, columns);
            } else if rows == 2 {
                tile::<T, S, 2, V>(s, block, i, rows, columns);
            } else {
                tile::<T, S, 1, V>(s, block, i, rows, columns);
            }
        }
        i += rows;
    }
}

/// Rows `i..i + rows` (at most `R`) by `columns` (at most `V` vectors) of C. Rows and columns that are not there are
/// computed from others' operands and not stored.
///
/// # Safety
/// As [`run_tiles`], whose checks have passed.
#[inline(always)]
unsafe fn tile<T: Float, S: Simd<T>, const R: usize, const V: usize>(
    s: S,
    block: &Block<'_, T>,
    i: usize,
    rows: usize,
    columns: usize,
) {
    let gemm = block.gemm;
    // Rows that do not exist repeat the last one.
    let mut a = [gemm.a.as_ptr(); R];
    for (r, a) in a.iter_mut().enumerate() {
        *a = a.wrapping_add((i + r.min(rows - 1)) * gemm.a_row + block.k * gemm.a_col);
    }
    // Vectors of packed panels may repeat the last one; among rows of B, vectors are moved left until they are inside.
    let mut b = [core::ptr::null::<T>(); V];
    let mut column = [block.j; V];
    let b_row = match gemm.b {
        BLayout::Rows(data) => {
            for v in 0..V {
                column[v] = (block.j + v * S::LANES).min(gemm.n - S::LANES);
                b[v] = data.as_ptr().wrapping_add(block.k * gemm.n + column[v]);
            }
            gemm.n
        }
        BLayout::Panels(data) => {
            let last = (gemm.n - 1) / S::LANES * S::LANES;
            for v in 0..V {
                column[v] = (block.j + v * S::LANES).min(last);
                let panel = column[v] / T::PANEL * T::PANEL * gemm.k;
                b[v] = data.as_ptr().wrapping_add(panel + block.k * T::PANEL + column[v] % T::PANEL);
            }
            T::PANEL
        }
    };

    let mut sums = [[s.splat(T::ZERO); V]; R];
    let (mut a_at, mut b_at) = (0, 0);
    for _ in 0..block.depth {
        let mut y = [s.splat(T::ZERO); V];
        for v in 0..V {
            // SAFETY: B has `k` rows from here, each with a whole vector at these columns.
            y[v] = unsafe { s.load(b[v].add(b_at)) };
        }
        for r in 0..R {
            // SAFETY: row `i + r` and step `k` are inside A.
            let x = s.splat(unsafe { *a[r].add(a_at) });
            for v in 0..V {
                sums[r][v] = s.mul_add(x, y[v], sums[r][v]);
            }
        }
        a_at += gemm.a_col;
        b_at += b_row;
    }

    // Stored from memory: unrolled over the registers this would be most of the code.
    let done = Done { i, rows, columns, column, sums };
    // SAFETY: the caller's promise.
    unsafe { store::<T, S, R, V>(s, block, &done) };
}

/// A tile's sums, and where they belong.
struct Done<T: Float, S: Simd<T>, const R: usize, const V: usize> {
    /// First row and number of rows.
    i: usize,
    rows: usize,
    /// Columns that belong to the tile.
    columns: usize,
    /// The column each vector starts at.
    column: [usize; V],
    sums: [[S::V; V]; R],
}

/// Adds C where it is to be added, applies the epilogue, and stores.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn store<T: Float, S: Simd<T>, const R: usize, const V: usize>(
    s: S,
    block: &Block<'_, T>,
    done: &Done<T, S, R, V>,
) {
    let gemm = block.gemm;
    let add_c = gemm.accumulate || block.k > 0;
    let bias = gemm.epilogue.bias.filter(|_| block.last);
    let activation = if block.last { gemm.epilogue.activation } else { Default::default() };
    let mut v = 0;
    while v < V {
        // This vector's own share of the tile, which it may have been moved left of.
        let first = block.j + v * S::LANES;
        let end = (first + S::LANES).min(block.j + done.columns);
        let width = end.saturating_sub(first);
        for (r, sums) in done.sums.iter().enumerate().take(done.rows) {
            let row = block.c.wrapping_add((done.i + r) * gemm.c_row);
            // SAFETY: this row and these columns belong to the caller's block of C; the bias has `n` numbers.
            unsafe {
                if width == S::LANES {
                    let mut x = sums[v];
                    if add_c {
                        x = s.add(s.load(row.add(first)), x);
                    }
                    if let Some(bias) = bias {
                        x = s.add(x, s.load(bias.as_ptr().add(first)));
                    }
                    s.store(row.add(first), activate_v::<T, S>(s, activation, x));
                } else if done.column[v] == first {
                    let mut x = sums[v];
                    if add_c {
                        x = s.add(s.load_part(row.add(first), width), x);
                    }
                    if let Some(bias) = bias {
                        x = s.add(x, s.load_part(bias.as_ptr().add(first), width));
                    }
                    s.store_part(row.add(first), activate_v::<T, S>(s, activation, x), width);
                } else {
                    let lanes = s.lanes(sums[v]);
                    for j in first..end {
                        let mut x = lanes[(j - done.column[v]) & 15];
                        if add_c {
                            x = *row.add(j) + x;
                        }
                        if let Some(bias) = bias {
                            x = x + *bias.get_unchecked(j);
                        }
                        *row.add(j) = activate(activation, x);
                    }
                }
            }
        }
        v += 1;
    }
}
