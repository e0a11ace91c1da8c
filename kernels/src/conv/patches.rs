//! Patches of an image as rows of a matrix (im2col), and such rows added back to an image (col2im).

use super::{Conv2d, Sizes};
use core::ops::Range;

/// Where an output pixel is. Counted on, since divisions would cost as much as a small patch.
struct Place {
    image: usize,
    row: usize,
    column: usize,
}

impl Place {
    /// Output pixel `pixel`, counted over all images.
    fn of(conv: &Conv2d, sizes: &Sizes, pixel: usize) -> Place {
        let within = pixel % sizes.image_pixels;
        Place {
            image: pixel / sizes.image_pixels,
            row: within / conv.columns.output,
            column: within % conv.columns.output,
        }
    }

    /// The whole patch, if its columns are all inside the image: a copy a row of it, or zeros. Most patches are such.
    #[inline(always)]
    fn gather_lines<T: Copy + Default>(&self, conv: &Conv2d, input: &[T], out: &mut [T]) -> bool {
        let (rows, columns) = (&conv.rows, &conv.columns);
        let Some(x) = (self.column * columns.stride).checked_sub(columns.pad_before) else { return false };
        let len = columns.taps * conv.in_channels;
        if x + columns.taps > columns.input || len == 0 {
            return false;
        }
        for (tap, out) in out.chunks_exact_mut(len).enumerate() {
            match rows.source(self.row, tap) {
                Some(y) => {
                    let at = ((self.image * rows.input + y) * columns.input + x) * conv.in_channels;
                    copy(&input[at..at + len], out);
                }
                None => out.fill(T::default()),
            }
        }
        true
    }

    #[inline(always)]
    fn advance(&mut self, conv: &Conv2d) {
        self.column += 1;
        if self.column == conv.columns.output {
            self.column = 0;
            self.row += 1;
            if self.row == conv.rows.output {
                self.row = 0;
                self.image += 1;
            }
        }
    }
}

/// A run of numbers that lie side by side in a patch and in the image.
struct Run {
    /// Where the run starts in the patch.
    patch: usize,
    /// Its length.
    len: usize,
    /// The part of it that is inside the image, and where that starts in the input; the rest is padding.
    inside: Range<usize>,
    source: usize,
}

/// Calls `f` with the runs of one patch of `group`, in order.
#[inline(always)]
fn runs(conv: &Conv2d, sizes: &Sizes, group: usize, place: &Place, mut f: impl FnMut(Run)) {
    let Place { image, row, column } = *place;
    let (rows, columns, channels) = (&conv.rows, &conv.columns, conv.filter_in_channels);
    let row_len = columns.input * conv.in_channels;
    for tap_row in 0..rows.taps {
        let patch = tap_row * columns.taps * channels;
        let source_row = rows.source(row, tap_row).map(|i| (image * rows.input + i) * row_len);
        if sizes.groups == 1 && columns.dilation == 1 {
            // All taps of the row together.
            let len = columns.taps * channels;
            let start = column * columns.stride;
            let before = columns.pad_before.saturating_sub(start).min(columns.taps) * channels;
            let first = start.saturating_sub(columns.pad_before).saturating_mul(channels);
            let inside = source_row.map_or(0, |_| (len - before).min(row_len.saturating_sub(first)));
            f(Run {
                patch,
                len,
                inside: before..before + inside,
                source: source_row.unwrap_or(0).saturating_add(first),
            });
        } else {
            for tap in 0..columns.taps {
                let source = source_row.zip(columns.source(column, tap));
                let source = source.map(|(row, i)| row + i * conv.in_channels + group * channels);
                let inside = source.map_or(0, |_| channels);
                let patch = patch + tap * channels;
                f(Run { patch, len: channels, inside: 0..inside, source: source.unwrap_or(0) });
            }
        }
    }
}

/// Writes the numbers `part` of the patches of `pixels` into `out`, a row of `part.len()` a pixel.
pub(crate) fn gather<T: Copy + Default>(
    conv: &Conv2d,
    sizes: &Sizes,
    group: usize,
    input: &[T],
    pixels: Range<usize>,
    part: Range<usize>,
    out: &mut [T],
) {
    if part.is_empty() || pixels.is_empty() {
        return;
    }
    let mut place = Place::of(conv, sizes, pixels.start);
    let simple = sizes.groups == 1 && conv.columns.dilation == 1 && part.len() == sizes.patch;
    for out in out.chunks_exact_mut(part.len()).take(pixels.len()) {
        if simple && place.gather_lines(conv, input, out) {
            place.advance(conv);
            continue;
        }
        runs(conv, sizes, group, &place, |run| {
            // The run cut to the part, in its own count.
            let from = part.start.saturating_sub(run.patch).min(run.len);
            let to = part.end.saturating_sub(run.patch).min(run.len);
            if from >= to {
                return;
            }
            let inside = run.inside.start.clamp(from, to)..run.inside.end.clamp(from, to);
            let out = &mut out[run.patch + from - part.start..run.patch + to - part.start];
            if inside.len() == to - from {
                let source = run.source + inside.start - run.inside.start;
                copy(&input[source..source + inside.len()], out);
                return;
            }
            let (before, rest) = out.split_at_mut(inside.start - from);
            let (copied, after) = rest.split_at_mut(inside.len());
            before.fill(T::default());
            after.fill(T::default());
            if !copied.is_empty() {
                let source = run.source + inside.start - run.inside.start;
                copy(&input[source..source + inside.len()], copied);
            }
        });
        place.advance(conv);
    }
}

/// Copies `from` to `to`. Runs of a few channels are common, and a call for each would cost more than the copy.
#[inline(always)]
fn copy<T: Copy>(from: &[T], to: &mut [T]) {
    let n = from.len();
    if let (4..=32, Some(last_from), Some(last_to)) = (n, from.last_chunk::<4>(), to.last_chunk_mut::<4>()) {
        // Fours from the front, and one at the end that may overlap them.
        *last_to = *last_from;
        for (from, to) in from.as_chunks::<4>().0.iter().zip(to.as_chunks_mut::<4>().0) {
            *to = *from;
        }
    } else if n < 4 {
        for (to, &x) in to.iter_mut().zip(from) {
            *to = x;
        }
    } else {
        to.copy_from_slice(from);
    }
}

/// Adds the rows of `patches`, one a pixel, to the places of `input` they were gathered from. `input` starts at element
/// `first` of the whole.
pub(crate) fn scatter<T: Copy + core::ops::Add<Output = T>>(
    conv: &Conv2d,
    sizes: &Sizes,
    group: usize,
    patches: &[T],
    pixels: Range<usize>,
    first: usize,
    input: &mut [T],
) {
    if sizes.patch == 0 || pixels.is_empty() {
        return;
    }
    let mut place = Place::of(conv, sizes, pixels.start);
    for patch in patches.chunks_exact(sizes.patch).take(pixels.len()) {
        runs(conv, sizes, group, &place, |run| {
            if !run.inside.is_empty() {
                let source = run.source - first;
                let from = &patch[run.patch + run.inside.start..run.patch + run.inside.end];
                for (to, &x) in input[source..source + from.len()].iter_mut().zip(from) {
                    *to = *to + x;
                }
            }
        });
        place.advance(conv);
    }
}
