//! Max and average pooling in NHWC, and their gradients, for every real type.
//!
//! Max pooling starts from the lowest finite number and takes what is greater, so it passes over NaN, and a window of NaN
//! or -∞ alone gives the lowest finite number; that is TensorFlow's answer. Its gradient goes to the first greatest number
//! of a window in row-major order (a NaN in the first place keeps it).

use crate::isa::{Kernel, Simd, Vectorised};
use crate::number::{Floating, Real};
use crate::parallel::{Parallel, chunks_mut};
use crate::window::Axis;
use crate::{Mismatch, ensure, product};

/// The geometry of a pooling: the input is `batch × rows.input × columns.input × channels`, the output `batch ×
/// rows.output × columns.output × channels`. Dilations must be 1. Cells in the padding count for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool2d {
    /// Images.
    pub batch: usize,
    /// The vertical dimension.
    pub rows: Axis,
    /// The horizontal dimension.
    pub columns: Axis,
    /// Channels, each pooled alone.
    pub channels: usize,
}

impl Pool2d {
    /// Numbers in the input and the output. Fails when the geometry is impossible or overflows.
    pub fn lens(&self) -> Result<(usize, usize), Mismatch> {
        let Pool2d { batch, rows, columns, channels } = *self;
        rows.check("rows")?;
        columns.check("columns")?;
        ensure(rows.dilation == 1, "rows")?;
        ensure(columns.dilation == 1, "columns")?;
        Ok((
            product(&[batch, rows.input, columns.input, channels], "input")?,
            product(&[batch, rows.output, columns.output, channels], "output")?,
        ))
    }

    fn check(&self, input: usize, output: usize) -> Result<(), Mismatch> {
        let lens = self.lens()?;
        ensure(input == lens.0, "input")?;
        ensure(output == lens.1, "output")
    }

    /// Cycles an output pixel takes.
    fn cost(&self) -> usize {
        self.channels.saturating_mul(self.rows.taps).saturating_mul(self.columns.taps)
    }

    /// The image and the valid rows and columns under output pixel `pixel`, counted over all images.
    #[inline(always)]
    fn window(&self, pixel: usize) -> (usize, core::ops::Range<usize>, core::ops::Range<usize>) {
        let (line, column) = (pixel / self.columns.output, pixel % self.columns.output);
        (line / self.rows.output, self.rows.span(line % self.rows.output), self.columns.span(column))
    }

    /// Where the channels of an input pixel start.
    #[inline(always)]
    fn at(&self, image: usize, y: usize, x: usize) -> usize {
        ((image * self.rows.input + y) * self.columns.input + x) * self.channels
    }
}

/// `output = the greatest number of each window`.
pub fn max_pool<T: Real>(par: &dyn Parallel, pool: &Pool2d, input: &[T], output: &mut [T]) -> Result<(), Mismatch> {
    pool.check(input.len(), output.len())?;
    let isa = par.isa();
    chunks_mut(par, output, pool.channels, pool.cost(), &|first, out| {
        f32::run(isa, MaxPool { pool, input, first, out });
    });
    Ok(())
}

struct MaxPool<'a, T> {
    pool: &'a Pool2d,
    input: &'a [T],
    first: usize,
    out: &'a mut [T],
}

impl<T: Real> Kernel<f32> for MaxPool<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        let MaxPool { pool, input, first, out } = self;
        for (i, out) in out.chunks_mut(pool.channels).enumerate() {
            out.fill(T::LOWEST);
            let (image, rows, columns) = pool.window(first + i);
            for y in rows {
                for x in columns.clone() {
                    let at = pool.at(image, y, x);
                    for (out, &x) in out.iter_mut().zip(&input[at..at + pool.channels]) {
                        *out = if *out < x { x } else { *out };
                    }
                }
            }
        }
    }
}

/// `input_gradient = for each window, the output's gradient at its first greatest number`, summed where windows overlap.
///
/// Places are found from `input` alone. Every element of `input_gradient` is written. Work is split by images.
pub fn max_pool_grad<T: Real>(
    par: &dyn Parallel,
    pool: &Pool2d,
    input: &[T],
    output_gradient: &[T],
    input_gradient: &mut [T],
) -> Result<(), Mismatch> {
    pool.check(input.len(), output_gradient.len())?;
    ensure(input_gradient.len() == input.len(), "input_gradient")?;
    let image_len = pool.at(1, 0, 0);
    let pixels = pool.rows.output * pool.columns.output;
    chunks_mut(par, input_gradient, image_len, pool.cost().saturating_mul(pixels), &|first, gradient| {
        for (i, gradient) in gradient.chunks_mut(image_len).enumerate() {
            let image = first + i;
            gradient.fill(T::ZERO);
            for pixel in image * pixels..(image + 1) * pixels {
                let (_, rows, columns) = pool.window(pixel);
                if rows.is_empty() || columns.is_empty() {
                    continue;
                }
                for c in 0..pool.channels {
                    let mut best = pool.at(image, rows.start, columns.start) + c;
                    for y in rows.clone() {
                        for x in columns.clone() {
                            let at = pool.at(image, y, x) + c;
                            if input[at] > input[best] {
                                best = at;
                            }
                        }
                    }
                    let to = &mut gradient[best - image * image_len];
                    let sum = T::add(to.widen(), output_gradient[pixel * pool.channels + c].widen());
                    *to = T::narrow(sum);
                }
            }
        }
    });
    Ok(())
}

/// `output = the mean of each window's valid cells`; a window wholly in the padding gives 0. f16 and bf16 are summed in
/// f32.
pub fn avg_pool<T: Floating>(par: &dyn Parallel, pool: &Pool2d, input: &[T], output: &mut [T]) -> Result<(), Mismatch> {
    pool.check(input.len(), output.len())?;
    let isa = par.isa();
    chunks_mut(par, output, pool.channels, pool.cost(), &|first, out| {
        f32::run(isa, AvgPool { pool, input, first, out });
    });
    Ok(())
}

/// Channels summed at once.
const WIDTH: usize = 32;

struct AvgPool<'a, T> {
    pool: &'a Pool2d,
    input: &'a [T],
    first: usize,
    out: &'a mut [T],
}

impl<T: Floating> Kernel<f32> for AvgPool<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        let AvgPool { pool, input, first, out } = self;
        for (i, out) in out.chunks_mut(pool.channels).enumerate() {
            let (image, rows, columns) = pool.window(first + i);
            let count = (rows.len() * columns.len()).max(1);
            for (block, out) in out.chunks_mut(WIDTH).enumerate() {
                let mut sums = [T::EMPTY; WIDTH];
                for y in rows.clone() {
                    for x in columns.clone() {
                        let at = pool.at(image, y, x) + block * WIDTH;
                        for (sum, x) in sums.iter_mut().zip(&input[at..at + out.len()]) {
                            *sum = T::add(*sum, x.widen());
                        }
                    }
                }
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = T::narrow(T::over(sum, count));
                }
            }
        }
    }
}

/// `input_gradient = each output's gradient shared out evenly over its window's valid cells`. Every element is written.
pub fn avg_pool_grad<T: Floating>(
    par: &dyn Parallel,
    pool: &Pool2d,
    output_gradient: &[T],
    input_gradient: &mut [T],
) -> Result<(), Mismatch> {
    pool.check(input_gradient.len(), output_gradient.len())?;
    let isa = par.isa();
    chunks_mut(par, input_gradient, pool.channels, pool.cost(), &|first, out| {
        f32::run(isa, AvgPoolGrad { pool, output_gradient, first, out });
    });
    Ok(())
}

struct AvgPoolGrad<'a, T> {
    pool: &'a Pool2d,
    output_gradient: &'a [T],
    first: usize,
    out: &'a mut [T],
}

impl<T: Floating> Kernel<f32> for AvgPoolGrad<'_, T> {
    type Output = ();

    /// For each input pixel, over the windows it is in.
    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        let AvgPoolGrad { pool: &Pool2d { rows, columns, channels, .. }, output_gradient, first, out } = self;
        for (i, out) in out.chunks_mut(channels).enumerate() {
            let (line, x) = ((first + i) / columns.input, (first + i) % columns.input);
            let (image, y) = (line / rows.input, line % rows.input);
            for (block, out) in out.chunks_mut(WIDTH).enumerate() {
                let mut sums = [T::EMPTY; WIDTH];
                for row in rows.viewers(y) {
                    for column in columns.viewers(x) {
                        let count = rows.span(row).len() * columns.span(column).len();
                        let at = ((image * rows.output + row) * columns.output + column) * channels + block * WIDTH;
                        for (sum, g) in sums.iter_mut().zip(&output_gradient[at..at + out.len()]) {
                            *sum = T::add(*sum, T::over(g.widen(), count));
                        }
                    }
                }
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = T::narrow(sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::Inline;
    use crate::testing::{Rng, assert_close64, machines};
    use alloc::{format, vec, vec::Vec};
    use half::f16;

    fn line(input: usize, taps: usize, stride: usize) -> Axis {
        Axis::same(input, taps, stride, 1).unwrap()
    }

    /// All four against loops that follow the definition, on overlapping, spaced and padded windows.
    #[test]
    fn agrees_with_the_definition() {
        let mut rng = Rng(8);
        for (rows, columns) in [
            (line(4, 2, 2), line(6, 2, 2)),
            (line(5, 3, 1), line(7, 3, 2)),
            (line(7, 2, 3), line(5, 4, 1)),
            (line(1, 1, 1), line(1, 1, 1)),
            (Axis::valid(6, 3, 2, 1).unwrap(), Axis::explicit(4, 3, 1, 1, 2, 2).unwrap()),
            (Axis::valid(2, 3, 1, 1).unwrap(), line(3, 2, 1)),
            (Axis::explicit(3, 2, 1, 1, 4, 4).unwrap(), line(3, 2, 1)),
        ] {
            for channels in [1, 3, 32, 50] {
                let pool = Pool2d { batch: 2, rows, columns, channels };
                let (input_len, output_len) = pool.lens().unwrap();
                // Few values, so that there are ties.
                let x: Vec<f64> = (0..input_len).map(|_| rng.below(4) as f64 - 2.0).collect();
                let dy = rng.f64s(output_len);
                let (mut max, mut dmax) = (vec![0.0; output_len], vec![0.0; input_len]);
                let (mut avg, mut davg) = (vec![0.0; output_len], vec![0.0; input_len]);
                for o in 0..output_len {
                    let (c, column) = (o % channels, o / channels % columns.output);
                    let row = o / channels / columns.output % rows.output;
                    let image = o / channels / columns.output / rows.output;
                    let mut cells = Vec::new();
                    for y in (0..rows.taps).filter_map(|t| rows.source(row, t)) {
                        for x in (0..columns.taps).filter_map(|t| columns.source(column, t)) {
                            cells.push(((image * rows.input + y) * columns.input + x) * channels + c);
                        }
                    }
                    max[o] = f64::MIN;
                    if let Some(&first) = cells.first() {
                        let best = cells.iter().fold(first, |best, &i| if x[i] > x[best] { i } else { best });
                        max[o] = x[best];
                        dmax[best] += dy[o];
                        avg[o] = cells.iter().map(|&i| x[i]).sum::<f64>() / cells.len() as f64;
                        cells.iter().for_each(|&i| davg[i] += dy[o] / cells.len() as f64);
                    }
                }
                for par in machines() {
                    let case = format!("{pool:?} {:?} {}", par.isa, par.threads);
                    let (mut out, mut back) = (vec![9.0; output_len], vec![9.0; input_len]);
                    max_pool(&par, &pool, &x, &mut out).unwrap();
                    max_pool_grad(&par, &pool, &x, &dy, &mut back).unwrap();
                    assert_close64(&out, &max, 0.0, &case);
                    assert_close64(&back, &dmax, 1e-14, &case);
                    avg_pool(&par, &pool, &x, &mut out).unwrap();
                    avg_pool_grad(&par, &pool, &dy, &mut back).unwrap();
                    assert_close64(&out, &avg, 1e-14, &case);
                    assert_close64(&back, &davg, 1e-14, &case);
                }
            }
        }
    }

    /// What TensorFlow answers to NaN and -∞.
    #[test]
    fn nan_and_infinity() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let square = Axis::valid(2, 2, 1, 1).unwrap();
        let pool = Pool2d { batch: 1, rows: square, columns: square, channels: 1 };
        for (x, max, place) in [
            ([nan, 1.0, 2.0, 3.0], 3.0, 0),
            ([1.0, nan, 2.0, 3.0], 3.0, 3),
            ([1.0, 2.0, 3.0, nan], 3.0, 2),
            ([nan; 4], f32::MIN, 0),
            ([-inf; 4], f32::MIN, 0),
        ] {
            let (mut out, mut back) = ([0.0], [9.0; 4]);
            max_pool(&Inline, &pool, &x, &mut out).unwrap();
            assert_eq!(out[0], max, "{x:?}");
            max_pool_grad(&Inline, &pool, &x, &[5.0], &mut back).unwrap();
            let mut want = [0.0; 4];
            want[place] = 5.0;
            assert_eq!(back, want, "{x:?}");
            avg_pool(&Inline, &pool, &x, &mut out).unwrap();
            assert!(out[0].is_nan() || x[0] == -inf);
        }
    }

    /// Integers, halves, and slices of wrong length.
    #[test]
    fn other_types_and_sizes() {
        let square = Axis::same(2, 2, 1, 1).unwrap();
        let pool = Pool2d { batch: 1, rows: square, columns: square, channels: 1 };
        let mut out = [0u8; 4];
        max_pool(&Inline, &pool, &[1, 2, 3, 4], &mut out).unwrap();
        assert_eq!(out, [4; 4]);
        assert_eq!(max_pool(&Inline, &pool, &[1u8; 3], &mut out).unwrap_err().argument, "input");
        assert_eq!(max_pool(&Inline, &pool, &[1u8; 4], &mut out[..3]).unwrap_err().argument, "output");
        let dilated = Pool2d { rows: Axis { dilation: 2, ..square }, ..pool };
        assert_eq!(max_pool(&Inline, &dilated, &[1u8; 4], &mut out).unwrap_err().argument, "rows");
        // Windows far larger than the image cost no more than it.
        let huge = Axis::same(2, 1 << 29, 1, 1).unwrap();
        let all = Pool2d { rows: huge, columns: huge, ..pool };
        let mut mean = [0.0f32; 4];
        avg_pool(&Inline, &all, &[1.0, 2.0, 3.0, 4.0], &mut mean).unwrap();
        assert_eq!(mean, [2.5; 4]);
        avg_pool_grad(&Inline, &all, &[1.0, 2.0, 3.0, 4.0], &mut mean).unwrap();
        assert_eq!(mean, [2.5; 4]);
        max_pool_grad(&Inline, &all, &[1u8, 2, 3, 4], &[1; 4], &mut out).unwrap();
        assert_eq!(out, [0, 0, 0, 4]);
        let wide = Axis::valid(4096, 4096, 1, 1).unwrap();
        let pool = Pool2d { batch: 1, rows: Axis::valid(1, 1, 1, 1).unwrap(), columns: wide, channels: 1 };
        let mut out = [f16::ZERO];
        avg_pool(&Inline, &pool, &[f16::ONE; 4096], &mut out).unwrap();
        assert_eq!(out[0], f16::ONE);
    }
}
