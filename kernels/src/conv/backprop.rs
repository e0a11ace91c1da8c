//! Gradients of the convolution, f32 and f64.

use super::{Conv2d, Sizes, block_rows};
use crate::matmul::{BLayout, Epilogue, Float, Gemm, cycles, pack_b_len, pack_columns, pack_rows, run_tiles};
use crate::parallel::{Inline, Parallel, Shared, each_once, task_count, task_range};
use crate::{Mismatch, ensure, product};

/// Elements of scratch that [`conv2d_backprop_input`] uses on these threads; one thread's share suffices.
pub fn conv2d_backprop_input_scratch_len<T: Float>(par: &dyn Parallel, conv: &Conv2d) -> Result<usize, Mismatch> {
    let sizes = conv.sizes()?;
    if sizes.filter == 0 {
        return Ok(0);
    }
    let filter = transposed_len::<T>(&sizes)?;
    let share = product(&[input_block(conv, &sizes), sizes.patch], "scratch")?;
    let patches = product(&[share, input_tasks(par, conv, &sizes)], "scratch")?;
    filter.checked_add(patches).ok_or(Mismatch { argument: "scratch" })
}

fn transposed_len<T: Float>(sizes: &Sizes) -> Result<usize, Mismatch> {
    product(&[sizes.groups, pack_b_len::<T>(sizes.group_out, sizes.patch)?], "scratch")
}

fn input_block(conv: &Conv2d, sizes: &Sizes) -> usize {
    if conv.is_pointwise() { 0 } else { block_rows(sizes.patch, sizes.image_pixels) }
}

fn input_tasks(par: &dyn Parallel, conv: &Conv2d, sizes: &Sizes) -> usize {
    let image = cycles(sizes.image_pixels, conv.out_channels, sizes.patch);
    task_count(par, conv.batch, image).clamp(1, par.threads().saturating_mul(2).max(1))
}

/// `input_gradient = gradient of the loss in the input`, from the filter and the output's gradient.
///
/// Every element is written. Work is split by images. `scratch` has [`conv2d_backprop_input_scratch_len`] elements.
pub fn conv2d_backprop_input<T: Float>(
    par: &dyn Parallel,
    conv: &Conv2d,
    filter: &[T],
    output_gradient: &[T],
    input_gradient: &mut [T],
    scratch: &mut [T],
) -> Result<(), Mismatch> {
    let sizes = conv.check(input_gradient.len(), Some(filter.len()), output_gradient.len())?;
    if sizes.filter == 0 {
        // Without channels a filter may have any number of taps: there is no room for patches, and no need.
        input_gradient.fill(T::ZERO);
        return Ok(());
    }
    let packed_len = transposed_len::<T>(&sizes)?;
    let (packed, scratch) = scratch.split_at_mut_checked(packed_len).ok_or(Mismatch { argument: "scratch" })?;
    let group_len = packed_len / sizes.groups;
    if group_len > 0 {
        for (group, packed) in packed.chunks_mut(group_len).enumerate() {
            let first = group * sizes.group_out;
            pack_rows(
                par,
                sizes.group_out,
                sizes.patch,
                conv.out_channels,
                filter.get(first..).unwrap_or_default(),
                packed,
            );
        }
    }
    let packed = &*packed;
    let block = input_block(conv, &sizes);
    let share = block.saturating_mul(sizes.patch);
    let tasks = input_tasks(par, conv, &sizes);
    let tasks = tasks.min(scratch.len().checked_div(share).unwrap_or(tasks));
    ensure(tasks > 0, "scratch")?;
    if input_gradient.is_empty() {
        return Ok(());
    }

    let image_len = sizes.input / conv.batch;
    let (scratch, whole) = (Shared::new(scratch), Shared::new(input_gradient));
    each_once(par, tasks, &|task| {
        // SAFETY: one share a task, inside the scratch by the choice of `tasks`.
        let patches = unsafe { scratch.slice(task * share, share) };
        for image in task_range(conv.batch, tasks, task) {
            // SAFETY: each image belongs to one task.
            let input = unsafe { whole.slice(image * image_len, image_len) };
            input.fill(T::ZERO);
            for group in 0..sizes.groups {
                let first = image * sizes.image_pixels;
                let end = first + sizes.image_pixels;
                let step = if conv.is_pointwise() { sizes.image_pixels } else { block };
                for start in (first..end).step_by(step.max(1)) {
                    let pixels = start..(start + step).min(end);
                    let a = start * conv.out_channels + group * sizes.group_out;
                    let gemm = Gemm {
                        k: sizes.group_out,
                        n: sizes.patch,
                        a: output_gradient.get(a..).unwrap_or_default(),
                        a_row: conv.out_channels,
                        a_col: 1,
                        b: BLayout::Panels(&packed[group * group_len..(group + 1) * group_len]),
                        c_row: if conv.is_pointwise() { conv.in_channels } else { sizes.patch },
                        accumulate: false,
                        epilogue: Epilogue::default(),
                    };
                    let c = if conv.is_pointwise() {
                        input.as_mut_ptr().wrapping_add(group * conv.filter_in_channels)
                    } else {
                        patches.as_mut_ptr()
                    };
                    // SAFETY: `c` is this task's own: its share of the scratch, `block · patch` elements, or the group's
                    // channels of its image, which has as many pixels as there are rows.
                    unsafe { run_tiles(par.isa(), &gemm, c, 0..pixels.len(), 0..sizes.patch) };
                    if !conv.is_pointwise() {
                        T::scatter(conv, &sizes, group, patches, pixels, image * image_len, input);
                    }
                }
            }
        }
    });
    Ok(())
}

/// Rows of the filter's matrix that one task makes at least: a register tile's.
const FILTER_ROWS: usize = 12;

/// How the filter's gradient is cut: `(blocks of filter rows, tasks, pixels at once, share of scratch)`.
struct FilterPlan {
    row_blocks: usize,
    tasks: usize,
    block: usize,
    /// Elements for patches, then for packed output gradients.
    patches: usize,
    packed: usize,
}

impl FilterPlan {
    fn new<T: Float>(par: &dyn Parallel, conv: &Conv2d, sizes: &Sizes) -> Result<Self, Mismatch> {
        let row_blocks = sizes.patch.div_ceil(FILTER_ROWS);
        let tasks = task_count(par, row_blocks, cycles(sizes.pixels, conv.out_channels, FILTER_ROWS));
        let tasks = tasks.clamp(1, par.threads().saturating_mul(2).max(1));
        let rows = row_blocks.div_ceil(tasks) * FILTER_ROWS;
        let block = block_rows(rows.max(sizes.group_out), sizes.pixels);
        let patches = if conv.is_pointwise() { 0 } else { product(&[block, rows], "scratch")? };
        let packed = pack_b_len::<T>(block, sizes.group_out)?;
        Ok(FilterPlan { row_blocks, tasks, block, patches, packed })
    }

    fn share(&self) -> Result<usize, Mismatch> {
        self.patches.checked_add(self.packed).ok_or(Mismatch { argument: "scratch" })
    }
}

/// Elements of scratch that [`conv2d_backprop_filter`] needs on these threads.
pub fn conv2d_backprop_filter_scratch_len<T: Float>(par: &dyn Parallel, conv: &Conv2d) -> Result<usize, Mismatch> {
    let sizes = conv.sizes()?;
    if sizes.filter == 0 {
        return Ok(0);
    }
    let plan = FilterPlan::new::<T>(par, conv, &sizes)?;
    product(&[plan.share()?, plan.tasks], "scratch")
}

/// `filter_gradient = gradient of the loss in the filter`, from the input and the output's gradient.
///
/// Every element is written. Work is split by parts of the patches, and pixels are summed in the same order whatever the
/// number of threads. `scratch` has [`conv2d_backprop_filter_scratch_len`] elements.
pub fn conv2d_backprop_filter<T: Float>(
    par: &dyn Parallel,
    conv: &Conv2d,
    input: &[T],
    output_gradient: &[T],
    filter_gradient: &mut [T],
    scratch: &mut [T],
) -> Result<(), Mismatch> {
    let sizes = conv.check(input.len(), Some(filter_gradient.len()), output_gradient.len())?;
    if filter_gradient.is_empty() {
        return Ok(());
    }
    let plan = FilterPlan::new::<T>(par, conv, &sizes)?;
    let share = plan.share()?;
    ensure(scratch.len() >= product(&[share, plan.tasks], "scratch")?, "scratch")?;
    if sizes.pixels == 0 {
        filter_gradient.fill(T::ZERO);
        return Ok(());
    }
    let (scratch, filter) = (Shared::new(scratch), Shared::new(filter_gradient));
    each_once(par, plan.tasks, &|task| {
        let blocks = task_range(plan.row_blocks, plan.tasks, task);
        let rows = blocks.start * FILTER_ROWS..(blocks.end * FILTER_ROWS).min(sizes.patch);
        // SAFETY: one share a task; the scratch was checked to hold all of them.
        let (patches, packed) = unsafe { scratch.slice(task * share, share) }.split_at_mut(plan.patches);
        for group in 0..sizes.groups {
            for start in (0..sizes.pixels).step_by(plan.block) {
                let pixels = start..(start + plan.block).min(sizes.pixels);
                let gradient = &output_gradient[pixels.start * conv.out_channels..pixels.end * conv.out_channels];
                let first = group * sizes.group_out;
                let columns = first..first + sizes.group_out;
                let panels = sizes.group_out.div_ceil(T::PANEL) * T::PANEL * pixels.len();
                pack_columns(&Inline, pixels.len(), columns, conv.out_channels, gradient, &mut packed[..panels]);
                let (a, a_col) = if conv.is_pointwise() {
                    let at = pixels.start * conv.in_channels + group * conv.filter_in_channels + rows.start;
                    (input.get(at..).unwrap_or_default(), conv.in_channels)
                } else {
                    T::gather(conv, &sizes, group, input, pixels.clone(), rows.clone(), patches);
                    (&*patches, rows.len())
                };
                let gemm = Gemm {
                    k: pixels.len(),
                    n: sizes.group_out,
                    a,
                    a_row: 1,
                    a_col,
                    b: BLayout::Panels(&packed[..panels]),
                    c_row: conv.out_channels,
                    accumulate: start > 0,
                    epilogue: Epilogue::default(),
                };
                let c = filter.as_ptr().wrapping_add(rows.start * conv.out_channels + first);
                // SAFETY: these rows of the filter belong to this task alone, and this group's columns lie in them.
                unsafe { run_tiles(par.isa(), &gemm, c, 0..rows.len(), 0..sizes.group_out) };
            }
        }
    });
    Ok(())
}
