//! Matrix products: `C = op(A) · op(B)`, with either operand transposed, C accumulated into, and bias and activation fused.
//!
//! [`matmul`] is for f32 and f64 and picks its way by shape: few rows stream through B once, more rows go through
//! register tiles over B as it lies, many rows over B packed into panels first (that is what the scratch is for). B that
//! stays the same, such as weights, is packed once by [`pack_b`] and used by [`matmul_packed`]; the packed layout is the
//! same at every level of machine. [`matmul_plain`] is for all other number types. The plain loop in
//! `reference` is the oracle of all.

mod generic;
mod pack;
#[cfg(test)]
mod reference;
mod small;
mod tile;

pub use generic::matmul_plain;
pub use pack::{pack_b, pack_b_len};
pub(crate) use pack::{pack_columns, pack_rows, transpose_panel};
pub(crate) use small::{Dot, Stream};
pub(crate) use tile::ProductOf;

use crate::compiled::Loops;
use crate::isa::{Kernel, Simd, Vectorised};
use crate::number::Real;
use crate::parallel::{CYCLES_PER_TASK, Parallel, Shared, TASKS_MAX, each_once, task_range};
use crate::{Mismatch, ensure, product};
use core::ops::{Add, Div, Mul, Range, Sub};
pub(crate) use tile::{BLayout, Gemm, run_tiles};

/// The geometry of a product. A is `m × k` and B is `k × n`, row-major; transposed operands are stored as `k × m` and
/// `n × k`. C is always `m × n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatMul {
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Columns of op(A), rows of op(B).
    pub k: usize,
    /// A is stored `k × m`.
    pub a_transposed: bool,
    /// B is stored `n × k`.
    pub b_transposed: bool,
    /// The product is added to what C holds instead of replacing it.
    pub accumulate: bool,
}

/// What happens to a sum before it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    #[default]
    None,
    /// `max(x, 0)`; NaN stays.
    Relu,
    /// `min(max(x, 0), 6)`; NaN stays.
    Relu6,
}

/// What happens to each element of C after the product: first the bias of its column is added, then the activation.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue<'a, T> {
    /// One number a column of C.
    pub bias: Option<&'a [T]>,
    /// Applied last.
    pub activation: Activation,
}

impl<T> Default for Epilogue<'_, T> {
    fn default() -> Self {
        Epilogue { bias: None, activation: Activation::None }
    }
}

/// A floating-point type with vectors: f32 and f64.
pub trait Float:
    Vectorised
    + Loops
    + Real<Sum = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + 'static
{
    /// Columns in a panel of packed B: one cache line of them.
    const PANEL: usize;
}

impl Float for f32 {
    const PANEL: usize = 16;
}

impl Float for f64 {
    const PANEL: usize = 8;
}

/// Most rows for which B is used as it lies: packing it would cost more than it saves.
const ROWS_UNPACKED: usize = 48;

/// How a product is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// One or two rows of A, B row by row.
    Stream,
    /// Few rows of A against rows of the stored B.
    Dot,
    /// Tiles over B as it lies.
    Rows,
    /// Tiles over B packed into the scratch.
    Panels,
}

fn way<T: Float>(g: &MatMul) -> Way {
    match g {
        MatMul { b_transposed: true, m: ..=8, .. } => Way::Dot,
        MatMul { b_transposed: true, .. } => Way::Panels,
        MatMul { m: ..=2, .. } => Way::Stream,
        MatMul { m: ..=ROWS_UNPACKED, n, .. } if *n >= T::PANEL => Way::Rows,
        _ => Way::Panels,
    }
}

/// Elements of scratch that [`matmul`] needs. Fails when the sizes overflow.
pub fn matmul_scratch_len<T: Float>(g: &MatMul) -> Result<usize, Mismatch> {
    match way::<T>(g) {
        Way::Panels if g.m > 0 && g.n > 0 => pack_b_len::<T>(g.k, g.n),
        _ => Ok(0),
    }
}

/// `C = op(A) · op(B)`, plus C when accumulating, then the epilogue.
///
/// `a`, `b`, `c` have exactly the sizes of `g`, `scratch` at least [`matmul_scratch_len`]. With `k` of 0 the product is 0.
/// NaN and infinity go through as IEEE has it; sums are taken in an order of the kernel's choosing that does not depend on
/// the number of threads.
pub fn matmul<T: Float>(
    par: &dyn Parallel,
    g: &MatMul,
    a: &[T],
    b: &[T],
    c: &mut [T],
    epilogue: Epilogue<'_, T>,
    scratch: &mut [T],
) -> Result<(), Mismatch> {
    check(g, a.len(), Some(b.len()), c.len(), epilogue.bias.map(<[T]>::len))?;
    let scratch = scratch.get_mut(..matmul_scratch_len::<T>(g)?).ok_or(Mismatch { argument: "scratch" })?;
    if c.is_empty() {
        return Ok(());
    }
    match way::<T>(g) {
        Way::Stream => small::stream(par, g, a, b, c, epilogue),
        Way::Dot => small::dot(par, g, a, b, c, epilogue),
        Way::Rows => tiles(par, g, a, BLayout::Rows(b), c, epilogue),
        Way::Panels => {
            pack_b(par, g.k, g.n, g.b_transposed, b, scratch)?;
            tiles(par, g, a, BLayout::Panels(scratch), c, epilogue)
        }
    }
    Ok(())
}

/// [`matmul`] with B packed ahead by [`pack_b`]; `g.b_transposed` no longer matters. No scratch.
pub fn matmul_packed<T: Float>(
    par: &dyn Parallel,
    g: &MatMul,
    a: &[T],
    packed_b: &[T],
    c: &mut [T],
    epilogue: Epilogue<'_, T>,
) -> Result<(), Mismatch> {
    check(g, a.len(), None, c.len(), epilogue.bias.map(<[T]>::len))?;
    ensure(packed_b.len() == pack_b_len::<T>(g.k, g.n)?, "packed_b")?;
    if !c.is_empty() {
        tiles(par, g, a, BLayout::Panels(packed_b), c, epilogue);
    }
    Ok(())
}

/// Products of the same geometry on consecutive matrices: for each `i`, C number `i` from A number `i % a_count` and B
/// number `i % b_count`, where the counts follow from the slices' lengths (so an operand of one matrix serves all). For
/// other broadcasting call [`matmul`] a batch. Scratch: [`matmul_scratch_len`].
pub fn matmul_batch<T: Float>(
    par: &dyn Parallel,
    g: &MatMul,
    a: &[T],
    b: &[T],
    c: &mut [T],
    scratch: &mut [T],
) -> Result<(), Mismatch> {
    let (ma, mb, mc) = (product(&[g.m, g.k], "a")?, product(&[g.k, g.n], "b")?, product(&[g.m, g.n], "c")?);
    if c.is_empty() || mc == 0 {
        return ensure(c.is_empty(), "c");
    }
    for (i, c) in c.chunks_mut(mc).enumerate() {
        let (a, b) = (nth(a, ma, i, "a")?, nth(b, mb, i, "b")?);
        matmul(par, g, a, b, c, Epilogue::default(), scratch)?;
    }
    Ok(())
}

/// Matrix number `i`, counted round, of `size` elements.
fn nth<'a, T>(all: &'a [T], size: usize, i: usize, argument: &'static str) -> Result<&'a [T], Mismatch> {
    if size == 0 {
        return Ok(&[]);
    }
    let count = all.len() / size;
    ensure(count > 0 && all.len().is_multiple_of(size), argument)?;
    let start = i % count * size;
    all.get(start..start + size).ok_or(Mismatch { argument })
}

/// `x` after the epilogue's activation.
#[inline(always)]
pub(crate) fn activate<T: Float>(activation: Activation, x: T) -> T {
    let at_least_zero = if T::ZERO > x { T::ZERO } else { x };
    match activation {
        Activation::None => x,
        Activation::Relu => at_least_zero,
        Activation::Relu6 if T::SIX < at_least_zero => T::SIX,
        Activation::Relu6 => at_least_zero,
    }
}

/// [`activate`] on a vector.
#[inline(always)]
pub(crate) fn activate_v<T: Float, S: Simd<T>>(s: S, activation: Activation, x: S::V) -> S::V {
    match activation {
        Activation::None => x,
        Activation::Relu => s.max(s.splat(T::ZERO), x),
        Activation::Relu6 => s.min(s.splat(T::SIX), s.max(s.splat(T::ZERO), x)),
    }
}

fn check(g: &MatMul, a: usize, b: Option<usize>, c: usize, bias: Option<usize>) -> Result<(), Mismatch> {
    ensure(a == product(&[g.m, g.k], "a")?, "a")?;
    let b_len = product(&[g.k, g.n], "b")?;
    ensure(b.is_none_or(|b| b == b_len), "b")?;
    ensure(c == product(&[g.m, g.n], "c")?, "c")?;
    ensure(bias.is_none_or(|n| n == g.n), "bias")
}

/// About how many cycles `m · n · k` multiply-adds take.
pub(crate) fn cycles(m: usize, n: usize, k: usize) -> usize {
    m.saturating_mul(n).saturating_mul(k) / 8
}

/// Cuts C into blocks of whole tiles, one a task.
fn tiles<T: Float>(par: &dyn Parallel, g: &MatMul, a: &[T], b: BLayout<'_, T>, c: &mut [T], epilogue: Epilogue<'_, T>) {
    let gemm = Gemm {
        k: g.k,
        n: g.n,
        a,
        a_row: if g.a_transposed { 1 } else { g.k },
        a_col: if g.a_transposed { g.m } else { 1 },
        b,
        c_row: g.n,
        accumulate: g.accumulate,
        epilogue,
    };
    const ROWS: usize = 12;
    let columns = 2 * T::PANEL;
    let (row_blocks, column_blocks) = (g.m.div_ceil(ROWS), g.n.div_ceil(columns));
    let (by_rows, by_columns) = grid(par, row_blocks, column_blocks, cycles(g.m, g.n, g.k));
    let shared = Shared::new(c);
    each_once(par, by_rows * by_columns, &|task| {
        let rows = scaled(task_range(row_blocks, by_rows, task / by_columns), ROWS, g.m);
        let columns = scaled(task_range(column_blocks, by_columns, task % by_columns), columns, g.n);
        // SAFETY: tasks are called at most once and their blocks of C are disjoint; C has `m · n` elements.
        unsafe { run_tiles(par.isa(), &gemm, shared.as_ptr(), rows, columns) };
    });
}

/// Tasks by rows and by columns of C's blocks.
fn grid(par: &dyn Parallel, row_blocks: usize, column_blocks: usize, cycles: usize) -> (usize, usize) {
    let threads = par.threads();
    let tasks = (cycles / CYCLES_PER_TASK).min(threads.saturating_mul(4)).clamp(1, TASKS_MAX);
    if threads <= 1 || tasks == 1 {
        (1, 1)
    } else if row_blocks >= tasks {
        (tasks, 1)
    } else if column_blocks >= tasks {
        (1, tasks)
    } else {
        let by_rows = row_blocks.max(1);
        (by_rows, (tasks / by_rows).clamp(1, column_blocks.max(1)))
    }
}

fn scaled(blocks: Range<usize>, size: usize, end: usize) -> Range<usize> {
    (blocks.start * size).min(end)..(blocks.end * size).min(end)
}

#[cfg(test)]
mod tests;
