//! The depthwise convolution, in which every channel has filters of its own, and its gradients.
//!
//! With one filter a channel, all three are the same sum: `out[c] += a[c] · b[c]` over pairs of places, found first and
//! then gone through for a few vectors of channels at a time (f32 and f64). Other types and more filters a channel take
//! plain loops.

use crate::isa::{Isa, Kernel, Simd};
use crate::matmul::Float;
use crate::number::Arithmetic;
use crate::parallel::{Parallel, chunks_mut};
use crate::window::Axis;
use crate::{Mismatch, ensure, product};

/// The geometry of a depthwise convolution.
///
/// The input is `batch × rows.input × columns.input × channels`, the filter `rows.taps × columns.taps × channels ×
/// multiplier`, the output `batch × rows.output × columns.output × (channels · multiplier)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depthwise2d {
    /// Images.
    pub batch: usize,
    /// The vertical dimension.
    pub rows: Axis,
    /// The horizontal dimension.
    pub columns: Axis,
    /// Channels of the input.
    pub channels: usize,
    /// Output channels an input channel.
    pub multiplier: usize,
}

impl Depthwise2d {
    /// Numbers in the input, the filter and the output. Fails when the geometry overflows.
    pub fn lens(&self) -> Result<(usize, usize, usize), Mismatch> {
        let Depthwise2d { batch, rows, columns, channels, multiplier } = *self;
        rows.check("rows")?;
        columns.check("columns")?;
        Ok((
            product(&[batch, rows.input, columns.input, channels], "input")?,
            product(&[rows.taps, columns.taps, channels, multiplier], "filter")?,
            product(&[batch, rows.output, columns.output, channels, multiplier], "output")?,
        ))
    }

    fn check(&self, input: usize, filter: usize, output: usize) -> Result<(), Mismatch> {
        let lens = self.lens()?;
        ensure(input == lens.0, "input")?;
        ensure(filter == lens.1, "filter")?;
        ensure(output == lens.2, "output")
    }

    fn out_channels(&self) -> usize {
        self.channels * self.multiplier
    }

    fn taps(&self) -> usize {
        self.rows.taps * self.columns.taps
    }
}

/// `output = depthwise convolution of input and filter`, f32 and f64.
pub fn depthwise_conv2d<T: Float>(
    par: &dyn Parallel,
    conv: &Depthwise2d,
    input: &[T],
    filter: &[T],
    output: &mut [T],
) -> Result<(), Mismatch> {
    if conv.multiplier != 1 {
        return depthwise_conv2d_plain(par, conv, input, filter, output);
    }
    conv.check(input.len(), filter.len(), output.len())?;
    let isa = par.isa();
    let (columns, channels) = (&conv.columns, conv.channels);
    let line_len = columns.output * channels;
    // All taps are inside the image: such columns are alike but for where they start.
    let full = |column: usize| {
        let start = column * columns.stride;
        start >= columns.pad_before
            && start + columns.taps.saturating_sub(1) * columns.dilation < columns.input + columns.pad_before
    };
    chunks_mut(par, output, line_len, line_len.saturating_mul(conv.taps()) / 4, &|first, out| {
        for (i, out) in out.chunks_mut(line_len).enumerate() {
            let mut column = 0;
            while column < columns.output {
                let count = (column..columns.output).take_while(|&c| full(c)).count().max(1);
                let out = &mut out[column * channels..(column + count) * channels];
                let line = Line { channels, count, a_step: columns.stride * channels, out_step: channels };
                let mut sum = PairSum::new(isa, line, input, filter, out);
                output_pairs(conv, (first + i) * columns.output + column, |a, b| sum.push(a, b));
                sum.finish();
                column += count;
            }
        }
    });
    Ok(())
}

/// [`depthwise_conv2d`] for any type.
pub fn depthwise_conv2d_plain<T: Arithmetic>(
    par: &dyn Parallel,
    conv: &Depthwise2d,
    input: &[T],
    filter: &[T],
    output: &mut [T],
) -> Result<(), Mismatch> {
    conv.check(input.len(), filter.len(), output.len())?;
    let cost = conv.out_channels().saturating_mul(conv.taps());
    chunks_mut(par, output, conv.out_channels(), cost, &|first, out| {
        for (i, out) in out.chunks_mut(conv.out_channels()).enumerate() {
            for (j, out) in out.iter_mut().enumerate() {
                let mut sum = T::EMPTY;
                output_pairs(conv, first + i, |a, b| {
                    let (a, b) = (a * conv.channels + j / conv.multiplier, b * conv.out_channels() + j);
                    sum = T::add_product(sum, input[a], filter[b]);
                });
                *out = T::narrow(sum);
            }
        }
    });
    Ok(())
}

/// `input_gradient = gradient of the loss in the input`, f32 and f64. Every element is written.
pub fn depthwise_conv2d_backprop_input<T: Float>(
    par: &dyn Parallel,
    conv: &Depthwise2d,
    filter: &[T],
    output_gradient: &[T],
    input_gradient: &mut [T],
) -> Result<(), Mismatch> {
    if conv.multiplier != 1 {
        return depthwise_conv2d_backprop_input_plain(par, conv, filter, output_gradient, input_gradient);
    }
    conv.check(input_gradient.len(), filter.len(), output_gradient.len())?;
    let isa = par.isa();
    let (columns, channels) = (&conv.columns, conv.channels);
    let line_len = columns.input * channels;
    chunks_mut(par, input_gradient, line_len, line_len.saturating_mul(conv.taps()) / 4, &|first, out| {
        for (i, out) in out.chunks_mut(line_len).enumerate() {
            // Columns a stride apart meet the same taps, and the outputs they meet lie side by side.
            for class in 0..columns.stride.min(columns.input) {
                let meets = |&tap: &usize| {
                    (class + columns.pad_before) % columns.stride == tap * columns.dilation % columns.stride
                };
                let nearest = (0..columns.taps).find(meets).unwrap_or(0) * columns.dilation;
                let farthest = (0..columns.taps).rev().find(meets).unwrap_or(0) * columns.dilation;
                let full = |x: usize| {
                    let x = x + columns.pad_before;
                    x >= farthest && x - nearest < columns.output * columns.stride
                };
                let mut x = class;
                while x < columns.input {
                    let count = (x..columns.input).step_by(columns.stride).take_while(|&x| full(x)).count().max(1);
                    let line = Line { channels, count, a_step: channels, out_step: columns.stride * channels };
                    let mut sum = PairSum::new(isa, line, output_gradient, filter, &mut out[x * channels..]);
                    input_pairs(conv, (first + i) * columns.input + x, |a, b| sum.push(a, b));
                    sum.finish();
                    x += count * columns.stride;
                }
            }
        }
    });
    Ok(())
}

/// [`depthwise_conv2d_backprop_input`] for any type.
pub fn depthwise_conv2d_backprop_input_plain<T: Arithmetic>(
    par: &dyn Parallel,
    conv: &Depthwise2d,
    filter: &[T],
    output_gradient: &[T],
    input_gradient: &mut [T],
) -> Result<(), Mismatch> {
    conv.check(input_gradient.len(), filter.len(), output_gradient.len())?;
    if filter.is_empty() {
        // It may still have any number of taps to go through.
        input_gradient.fill(T::narrow(T::EMPTY));
        return Ok(());
    }
    let cost = conv.out_channels().saturating_mul(conv.taps());
    chunks_mut(par, input_gradient, conv.channels, cost, &|first, out| {
        for (i, out) in out.chunks_mut(conv.channels).enumerate() {
            for (c, out) in out.iter_mut().enumerate() {
                let mut sum = T::EMPTY;
                input_pairs(conv, first + i, |a, b| {
                    for j in c * conv.multiplier..(c + 1) * conv.multiplier {
                        let (a, b) = (a * conv.out_channels() + j, b * conv.out_channels() + j);
                        sum = T::add_product(sum, output_gradient[a], filter[b]);
                    }
                });
                *out = T::narrow(sum);
            }
        }
    });
    Ok(())
}

/// `filter_gradient = gradient of the loss in the filter`, f32 and f64. Every element is written.
pub fn depthwise_conv2d_backprop_filter<T: Float>(
    par: &dyn Parallel,
    conv: &Depthwise2d,
    input: &[T],
    output_gradient: &[T],
    filter_gradient: &mut [T],
) -> Result<(), Mismatch> {
    if conv.multiplier != 1 {
        return depthwise_conv2d_backprop_filter_plain(par, conv, input, output_gradient, filter_gradient);
    }
    conv.check(input.len(), filter_gradient.len(), output_gradient.len())?;
    let isa = par.isa();
    let cost = output_gradient.len();
    chunks_mut(par, filter_gradient, conv.channels, cost, &|first, out| {
        for (i, out) in out.chunks_mut(conv.channels).enumerate() {
            let line = Line { channels: conv.channels, count: 1, a_step: 0, out_step: 0 };
            let mut sum = PairSum::new(isa, line, input, output_gradient, out);
            filter_pairs(conv, first + i, |a, b| sum.push(a, b));
            sum.finish();
        }
    });
    Ok(())
}

/// [`depthwise_conv2d_backprop_filter`] for any type.
pub fn depthwise_conv2d_backprop_filter_plain<T: Arithmetic>(
    par: &dyn Parallel,
    conv: &Depthwise2d,
    input: &[T],
    output_gradient: &[T],
    filter_gradient: &mut [T],
) -> Result<(), Mismatch> {
    conv.check(input.len(), filter_gradient.len(), output_gradient.len())?;
    chunks_mut(par, filter_gradient, conv.out_channels(), output_gradient.len(), &|first, out| {
        for (i, out) in out.chunks_mut(conv.out_channels()).enumerate() {
            for (j, out) in out.iter_mut().enumerate() {
                let mut sum = T::EMPTY;
                filter_pairs(conv, first + i, |a, b| {
                    let (a, b) = (a * conv.channels + j / conv.multiplier, b * conv.out_channels() + j);
                    sum = T::add_product(sum, input[a], output_gradient[b]);
                });
                *out = T::narrow(sum);
            }
        }
    });
    Ok(())
}

/// The `(input pixel, tap)` pairs that make output pixel `pixel`, counted over all images.
#[inline(always)]
fn output_pairs(conv: &Depthwise2d, pixel: usize, mut f: impl FnMut(usize, usize)) {
    let (rows, columns) = (&conv.rows, &conv.columns);
    let (line, column) = (pixel / columns.output, pixel % columns.output);
    let (image, row) = (line / rows.output, line % rows.output);
    for tap_row in 0..rows.taps {
        let Some(y) = rows.source(row, tap_row) else { continue };
        for tap in 0..columns.taps {
            if let Some(x) = columns.source(column, tap) {
                f((image * rows.input + y) * columns.input + x, tap_row * columns.taps + tap);
            }
        }
    }
}

/// The `(output pixel, tap)` pairs that input pixel `pixel` took part in.
#[inline(always)]
fn input_pairs(conv: &Depthwise2d, pixel: usize, mut f: impl FnMut(usize, usize)) {
    let (rows, columns) = (&conv.rows, &conv.columns);
    let (line, x) = (pixel / columns.input, pixel % columns.input);
    let (image, y) = (line / rows.input, line % rows.input);
    for tap_row in 0..rows.taps {
        let Some(row) = rows.target(y, tap_row) else { continue };
        for tap in 0..columns.taps {
            if let Some(column) = columns.target(x, tap) {
                f((image * rows.output + row) * columns.output + column, tap_row * columns.taps + tap);
            }
        }
    }
}

/// The `(input pixel, output pixel)` pairs that tap `taps` joins.
#[inline(always)]
fn filter_pairs(conv: &Depthwise2d, taps: usize, mut f: impl FnMut(usize, usize)) {
    let (rows, columns) = (&conv.rows, &conv.columns);
    let (tap_row, tap) = (taps / columns.taps, taps % columns.taps);
    for line in 0..conv.batch * rows.output {
        let (image, row) = (line / rows.output, line % rows.output);
        let Some(y) = rows.source(row, tap_row) else { continue };
        for column in 0..columns.output {
            if let Some(x) = columns.source(column, tap) {
                f((image * rows.input + y) * columns.input + x, line * columns.output + column);
            }
        }
    }
}

/// Pairs gone through at once; the filter's gradient has many, and its sums start afresh as often, which keeps them exact.
const PAIRS: usize = 64;

/// Pixels in a line whose pairs are alike.
#[derive(Clone, Copy)]
struct Line {
    channels: usize,
    /// Pixels.
    count: usize,
    /// Elements from one pixel's places in `a` to the next one's; those in `b` are the same.
    a_step: usize,
    /// Elements from one pixel in `out` to the next.
    out_step: usize,
}

/// `out[pixel, c] = sum(a[pixel_a, c] · b[pixel_b, c])` over pairs of pixels, for each pixel of a line.
struct PairSum<'a, T> {
    isa: Isa,
    line: Line,
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    /// Where the pixels start, for the line's first pixel.
    pairs: [(usize, usize); PAIRS],
    len: usize,
    /// Nothing is in `out` yet.
    fresh: bool,
}

impl<'a, T: Float> PairSum<'a, T> {
    fn new(isa: Isa, line: Line, a: &'a [T], b: &'a [T], out: &'a mut [T]) -> Self {
        PairSum { isa, line, a, b, out, pairs: [(0, 0); PAIRS], len: 0, fresh: true }
    }

    #[inline(always)]
    fn push(&mut self, a: usize, b: usize) {
        if self.len == PAIRS {
            self.flush();
        }
        self.pairs[self.len] = (a * self.line.channels, b * self.line.channels);
        self.len += 1;
    }

    fn flush(&mut self) {
        let Line { channels, count, a_step, out_step } = self.line;
        let pairs = &self.pairs[..self.len];
        let inside = |at: usize, step: usize, len: usize| at + (count - 1) * step + channels <= len;
        assert!(
            count > 0
                && inside(0, out_step, self.out.len())
                && pairs.iter().all(|&(a, b)| inside(a, a_step, self.a.len()) && inside(b, 0, self.b.len())),
            "pixels are inside, as the geometry was checked"
        );
        let (line, fresh) = (self.line, self.fresh);
        T::pair_products(self.isa, Products { pairs, line, a: self.a, b: self.b, out: self.out, fresh });
        self.fresh = false;
        self.len = 0;
    }

    fn finish(mut self) {
        if self.len > 0 || self.fresh {
            self.flush();
        }
    }
}

/// Pairs whose places have been checked to lie in `a` and `b` for every pixel of the line, and its pixels in `out`.
pub struct Products<'a, T> {
    pairs: &'a [(usize, usize)],
    line: Line,
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    fresh: bool,
}

impl<T: Float> Kernel<T> for Products<'_, T> {
    type Output = ();

    /// Four pixels at a time share their loads of `b`.
    #[inline(always)]
    fn run<S: Simd<T>>(mut self, s: S) {
        let count = self.line.count;
        let mut pixel = 0;
        while pixel + 4 <= count {
            self.pixels::<S, 4>(s, pixel);
            pixel += 4;
        }
        while pixel < count {
            self.pixels::<S, 1>(s, pixel);
            pixel += 1;
        }
    }
}

impl<T: Float> Products<'_, T> {
    #[inline(always)]
    fn pixels<S: Simd<T>, const P: usize>(&mut self, s: S, pixel: usize) {
        let n = self.line.channels;
        let mut c = 0;
        while c + 2 * S::LANES <= n {
            self.block::<S, P, 2>(s, pixel, c, S::LANES);
            c += 2 * S::LANES;
        }
        while c < n {
            self.block::<S, P, 1>(s, pixel, c, S::LANES.min(n - c));
            c += S::LANES;
        }
    }

    /// `P` pixels from `pixel`, `V` vectors of channels from `c`, of which the last one has `lanes` channels.
    #[inline(always)]
    fn block<S: Simd<T>, const P: usize, const V: usize>(&mut self, s: S, pixel: usize, c: usize, lanes: usize) {
        let Line { a_step, out_step, .. } = self.line;
        let (a, b) = (self.a.as_ptr(), self.b.as_ptr());
        let mut sums = [[s.splat(T::ZERO); V]; P];
        for &(a_at, b_at) in self.pairs {
            for v in 0..V {
                let at = c + v * S::LANES;
                // SAFETY: channels `at..at + lanes` (or LANES, with more to come) of these pixels lie in `b` and `a`.
                unsafe {
                    let whole = lanes == S::LANES;
                    let y = if whole { s.load(b.add(b_at + at)) } else { s.load_part(b.add(b_at + at), lanes) };
                    for (p, sums) in sums.iter_mut().enumerate() {
                        let x = a.add(a_at + (pixel + p) * a_step + at);
                        let x = if whole { s.load(x) } else { s.load_part(x, lanes) };
                        sums[v] = s.mul_add(x, y, sums[v]);
                    }
                }
            }
        }
        for (p, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                let at = (pixel + p) * out_step + c + v * S::LANES;
                let out = &mut self.out[at..at + lanes];
                let sum = if self.fresh { sum } else { s.add(s.load_first(out), sum) };
                s.store_first(out, sum);
            }
        }
    }
}
