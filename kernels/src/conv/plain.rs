//! The convolution and its gradients for every number type: plain loops, each result rounded once.

use super::Conv2d;
use crate::Mismatch;
use crate::number::Arithmetic;
use crate::parallel::{Parallel, chunks_mut};

/// Output channels summed at once.
const WIDTH: usize = 16;

/// [`super::conv2d`] for any type, without epilogue or scratch.
pub fn conv2d_plain<T: Arithmetic>(
    par: &dyn Parallel,
    conv: &Conv2d,
    input: &[T],
    filter: &[T],
    output: &mut [T],
) -> Result<(), Mismatch> {
    let sizes = conv.check(input.len(), Some(filter.len()), output.len())?;
    if filter.is_empty() {
        // It may still have any number of taps to go through.
        output.fill(T::narrow(T::EMPTY));
        return Ok(());
    }
    let (rows, columns, channels) = (&conv.rows, &conv.columns, conv.filter_in_channels);
    let cost = conv.out_channels.saturating_mul(sizes.patch);
    chunks_mut(par, output, conv.out_channels, cost, &|first, out| {
        for (i, out) in out.chunks_mut(conv.out_channels).enumerate() {
            let pixel = first + i;
            let (line, column) = (pixel / columns.output, pixel % columns.output);
            let (image, row) = (line / rows.output, line % rows.output);
            for (group, out) in out.chunks_mut(sizes.group_out).enumerate() {
                for (block, out) in out.chunks_mut(WIDTH).enumerate() {
                    let mut sums = [T::EMPTY; WIDTH];
                    for tap_row in 0..rows.taps {
                        let Some(y) = rows.source(row, tap_row) else { continue };
                        for tap in 0..columns.taps {
                            let Some(x) = columns.source(column, tap) else { continue };
                            let from = ((image * rows.input + y) * columns.input + x) * conv.in_channels;
                            let from = from + group * channels;
                            let weights = (tap_row * columns.taps + tap) * channels;
                            for (c, &x) in input[from..from + channels].iter().enumerate() {
                                let at = (weights + c) * conv.out_channels + group * sizes.group_out + block * WIDTH;
                                for (sum, &w) in sums.iter_mut().zip(&filter[at..at + out.len()]) {
                                    *sum = T::add_product(*sum, x, w);
                                }
                            }
                        }
                    }
                    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = T::narrow(sum));
                }
            }
        }
    });
    Ok(())
}

/// [`super::conv2d_backprop_input`] for any type, without scratch.
pub fn conv2d_backprop_input_plain<T: Arithmetic>(
    par: &dyn Parallel,
    conv: &Conv2d,
    filter: &[T],
    output_gradient: &[T],
    input_gradient: &mut [T],
) -> Result<(), Mismatch> {
    let sizes = conv.check(input_gradient.len(), Some(filter.len()), output_gradient.len())?;
    if filter.is_empty() {
        input_gradient.fill(T::narrow(T::EMPTY));
        return Ok(());
    }
    let (rows, columns, channels) = (&conv.rows, &conv.columns, conv.filter_in_channels);
    let cost = conv.out_channels.saturating_mul(sizes.patch);
    chunks_mut(par, input_gradient, conv.in_channels, cost, &|first, out| {
        for (i, out) in out.chunks_mut(conv.in_channels).enumerate() {
            let pixel = first + i;
            let (line, x) = (pixel / columns.input, pixel % columns.input);
            let (image, y) = (line / rows.input, line % rows.input);
            for (c, out) in out.iter_mut().enumerate() {
                let (group, c) = (c / channels, c % channels);
                let mut sum = T::EMPTY;
                for tap_row in 0..rows.taps {
                    let Some(row) = rows.target(y, tap_row) else { continue };
                    for tap in 0..columns.taps {
                        let Some(column) = columns.target(x, tap) else { continue };
                        let from = ((image * rows.output + row) * columns.output + column) * conv.out_channels;
                        let at = ((tap_row * columns.taps + tap) * channels + c) * conv.out_channels;
                        let (from, at) = (from + group * sizes.group_out, at + group * sizes.group_out);
                        let gradients = &output_gradient[from..from + sizes.group_out];
                        for (&g, &w) in gradients.iter().zip(&filter[at..at + sizes.group_out]) {
                            sum = T::add_product(sum, g, w);
                        }
                    }
                }
                *out = T::narrow(sum);
            }
        }
    });
    Ok(())
}

/// [`super::conv2d_backprop_filter`] for any type, without scratch.
pub fn conv2d_backprop_filter_plain<T: Arithmetic>(
    par: &dyn Parallel,
    conv: &Conv2d,
    input: &[T],
    output_gradient: &[T],
    filter_gradient: &mut [T],
) -> Result<(), Mismatch> {
    let sizes = conv.check(input.len(), Some(filter_gradient.len()), output_gradient.len())?;
    let (rows, columns, channels) = (&conv.rows, &conv.columns, conv.filter_in_channels);
    let cost = conv.out_channels.saturating_mul(sizes.pixels);
    chunks_mut(par, filter_gradient, conv.out_channels, cost, &|first, out| {
        for (i, out) in out.chunks_mut(conv.out_channels).enumerate() {
            let (taps, c) = ((first + i) / channels, (first + i) % channels);
            let (tap_row, tap) = (taps / columns.taps, taps % columns.taps);
            for (group, out) in out.chunks_mut(sizes.group_out).enumerate() {
                for (block, out) in out.chunks_mut(WIDTH).enumerate() {
                    let mut sums = [T::EMPTY; WIDTH];
                    for line in 0..conv.batch * rows.output {
                        let (image, row) = (line / rows.output, line % rows.output);
                        let Some(y) = rows.source(row, tap_row) else { continue };
                        for column in 0..columns.output {
                            let Some(x) = columns.source(column, tap) else { continue };
                            let from = ((image * rows.input + y) * columns.input + x) * conv.in_channels;
                            let x = input[from + group * channels + c];
                            let at = (line * columns.output + column) * conv.out_channels;
                            let at = at + group * sizes.group_out + block * WIDTH;
                            for (sum, &g) in sums.iter_mut().zip(&output_gradient[at..at + out.len()]) {
                                *sum = T::add_product(*sum, x, g);
                            }
                        }
                    }
                    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = T::narrow(sum));
                }
            }
        }
    });
    Ok(())
}
