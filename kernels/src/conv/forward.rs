//! The convolution itself, f32 and f64.

use super::{Conv2d, Sizes, block_rows};
use crate::matmul::{BLayout, Epilogue, Float, Gemm, cycles, pack_b_len, pack_columns, run_tiles};
use crate::parallel::{Parallel, Shared, each_once, task_count, task_range};
use crate::{Mismatch, ensure, product};

/// A filter as the graph has it, or packed ahead.
#[derive(Clone, Copy, Debug)]
pub enum Filter<'a, T> {
    /// In HWIO.
    Plain(&'a [T]),
    /// As [`pack_filter`] leaves it.
    Packed(&'a [T]),
}

/// Elements of a packed filter. Fails when the geometry is impossible or overflows.
pub fn pack_filter_len<T: Float>(conv: &Conv2d) -> Result<usize, Mismatch> {
    let sizes = conv.sizes()?;
    product(&[sizes.groups, pack_b_len::<T>(sizes.patch, sizes.group_out)?], "filter")
}

/// Packs a filter for [`conv2d`]; the layout depends on the filter's shape and the groups only, not on the machine.
pub fn pack_filter<T: Float>(
    par: &dyn Parallel,
    conv: &Conv2d,
    filter: &[T],
    packed: &mut [T],
) -> Result<(), Mismatch> {
    let sizes = conv.sizes()?;
    ensure(filter.len() == sizes.filter, "filter")?;
    ensure(packed.len() == pack_filter_len::<T>(conv)?, "packed")?;
    let each = packed.len() / sizes.groups;
    if each == 0 {
        return Ok(());
    }
    for (group, packed) in packed.chunks_mut(each).enumerate() {
        let first = group * sizes.group_out;
        pack_columns(par, sizes.patch, first..first + sizes.group_out, conv.out_channels, filter, packed);
    }
    Ok(())
}

/// Elements of scratch that [`conv2d`] uses on these threads; it makes do with fewer as long as one thread's share is
/// there.
pub fn conv2d_scratch_len<T: Float>(par: &dyn Parallel, conv: &Conv2d, packed: bool) -> Result<usize, Mismatch> {
    let sizes = conv.sizes()?;
    let filter = if packed { 0 } else { pack_filter_len::<T>(conv)? };
    let (block, tasks) = plan(par, conv, &sizes);
    let patches = product(&[patches_len(conv, &sizes, block), tasks], "scratch")?;
    filter.checked_add(patches).ok_or(Mismatch { argument: "scratch" })
}

/// Pixels a block and number of tasks.
fn plan(par: &dyn Parallel, conv: &Conv2d, sizes: &Sizes) -> (usize, usize) {
    let block = block_rows(sizes.patch, sizes.pixels);
    let blocks = sizes.pixels.div_ceil(block.max(1));
    let tasks = task_count(par, blocks, cycles(block, conv.out_channels, sizes.patch));
    (block, tasks.clamp(1, par.threads().saturating_mul(2).max(1)))
}

/// Elements for a block's patches.
fn patches_len(conv: &Conv2d, sizes: &Sizes, block: usize) -> usize {
    if conv.is_pointwise() { 0 } else { block.saturating_mul(sizes.patch) }
}

/// `output = convolution of input and filter`, then the epilogue (whose bias has a number an output channel).
///
/// Padding counts as zeros. `scratch` has [`conv2d_scratch_len`] elements.
pub fn conv2d<T: Float>(
    par: &dyn Parallel,
    conv: &Conv2d,
    input: &[T],
    filter: Filter<'_, T>,
    output: &mut [T],
    epilogue: Epilogue<'_, T>,
    scratch: &mut [T],
) -> Result<(), Mismatch> {
    let plain = match filter {
        Filter::Plain(filter) => Some(filter.len()),
        Filter::Packed(_) => None,
    };
    let sizes = conv.check(input.len(), plain, output.len())?;
    ensure(epilogue.bias.is_none_or(|bias| bias.len() == conv.out_channels), "bias")?;
    let packed_len = pack_filter_len::<T>(conv)?;
    let (filter, scratch) = match filter {
        Filter::Packed(packed) => {
            ensure(packed.len() == packed_len, "filter")?;
            (packed, scratch)
        }
        Filter::Plain(filter) => {
            let (packed, rest) = scratch.split_at_mut_checked(packed_len).ok_or(Mismatch { argument: "scratch" })?;
            pack_filter(par, conv, filter, packed)?;
            (&*packed, rest)
        }
    };
    if output.is_empty() {
        return Ok(());
    }
    let (block, tasks) = plan(par, conv, &sizes);
    let share = patches_len(conv, &sizes, block);
    let tasks = tasks.min(scratch.len().checked_div(share).unwrap_or(tasks));
    ensure(tasks > 0, "scratch")?;

    let blocks = sizes.pixels.div_ceil(block);
    let (scratch, output) = (Shared::new(scratch), Shared::new(output));
    let group_len = packed_len / sizes.groups;
    each_once(par, tasks, &|task| {
        // SAFETY: one share a task, inside the scratch by the choice of `tasks`.
        let patches = unsafe { scratch.slice(task * share, share) };
        for index in task_range(blocks, tasks, task) {
            let pixels = index * block..((index + 1) * block).min(sizes.pixels);
            for group in 0..sizes.groups {
                let first = group * sizes.group_out;
                let bias = epilogue.bias.map(|bias| &bias[first..first + sizes.group_out]);
                let (a, a_row) = if conv.is_pointwise() {
                    let start = pixels.start * conv.in_channels + group * conv.filter_in_channels;
                    (input.get(start..).unwrap_or_default(), conv.in_channels)
                } else {
                    T::gather(conv, &sizes, group, input, pixels.clone(), 0..sizes.patch, patches);
                    (&*patches, sizes.patch)
                };
                let gemm = Gemm {
                    k: sizes.patch,
                    n: sizes.group_out,
                    a,
                    a_row,
                    a_col: 1,
                    b: BLayout::Panels(&filter[group * group_len..(group + 1) * group_len]),
                    c_row: conv.out_channels,
                    accumulate: false,
                    epilogue: Epilogue { bias, ..epilogue },
                };
                let c = output.as_ptr().wrapping_add(pixels.start * conv.out_channels + first);
                // SAFETY: these pixels and this group's channels are computed by this task alone, and lie in the output.
                unsafe { run_tiles(par.isa(), &gemm, c, 0..pixels.len(), 0..sizes.group_out) };
            }
        }
    });
    Ok(())
}
