//! Batch normalisation over the last dimension, as TensorFlow's FusedBatchNorm has it.
//!
//! `y = (x - mean) / sqrt(variance + epsilon) · scale + offset`, a channel each. The images and their gradients may be f32,
//! f16 or bf16; scale, offset and statistics are f32. Sums go in blocks, so that the error stays small for many pixels, and
//! in the same order whatever the number of threads.

use crate::isa::{Kernel, Simd, Vectorised};
use crate::number::Floating;
use crate::parallel::{Parallel, Shared, chunks_mut, ranges};
use crate::{Mismatch, ensure, product};
use core::ops::Range;

/// The geometry and constants of a batch normalisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNorm {
    /// Pixels over which a channel is normalised: everything but the last dimension.
    pub pixels: usize,
    /// Channels: the last dimension.
    pub channels: usize,
    /// Added to a variance before its root is taken.
    pub epsilon: f32,
}

impl BatchNorm {
    fn check(&self, images: [(&'static str, usize); 2], statistics: &[(&'static str, usize)]) -> Result<(), Mismatch> {
        let len = product(&[self.pixels, self.channels], "x")?;
        for (argument, n) in images {
            ensure(n == len, argument)?;
        }
        statistics.iter().try_for_each(|&(argument, n)| ensure(n == self.channels, argument))
    }
}

/// `y` from given statistics: `is_training = false`.
pub fn batch_norm_inference<T: Floating<Wide = f32>>(
    par: &dyn Parallel,
    norm: &BatchNorm,
    x: &[T],
    channel: Statistics<'_>,
    y: &mut [T],
) -> Result<(), Mismatch> {
    let Statistics { scale, offset, mean, variance } = channel;
    let lens = [("scale", scale.len()), ("offset", offset.len()), ("mean", mean.len()), ("variance", variance.len())];
    norm.check([("x", x.len()), ("y", y.len())], &lens)?;
    normalise(par, norm, x, channel, y);
    Ok(())
}

/// What a channel is normalised with: a number a channel each.
#[derive(Clone, Copy, Debug)]
pub struct Statistics<'a> {
    /// Factor after normalising.
    pub scale: &'a [f32],
    /// Added last.
    pub offset: &'a [f32],
    /// Mean of the channel.
    pub mean: &'a [f32],
    /// Variance of the channel, over the number of pixels.
    pub variance: &'a [f32],
}

/// What [`batch_norm_training`] tells of a batch beside `y`: a number a channel each, all written.
#[derive(Debug)]
pub struct BatchStatistics<'a> {
    /// Running mean: `(1 - factor) · before + factor · mean of the batch`.
    pub running_mean: &'a mut [f32],
    /// Running variance, of which the batch's part is the unbiased one (over the pixels less one).
    pub running_variance: &'a mut [f32],
    /// Mean of the batch, which the gradient wants ("reserve_space_1").
    pub mean: &'a mut [f32],
    /// Variance of the batch over its pixels, which the gradient wants ("reserve_space_2").
    pub variance: &'a mut [f32],
}

/// `y` from the batch's own statistics, and those: `is_training = true`.
///
/// `before` is the running mean and variance so far; only looked at, and needed, when `factor` (TensorFlow's
/// `exponential_avg_factor`) is not 1. With a factor of 1 the running ones are the batch's. Without pixels, the running
/// statistics are NaN and the others 0.
#[allow(clippy::too_many_arguments)]
pub fn batch_norm_training<T: Floating<Wide = f32>>(
    par: &dyn Parallel,
    norm: &BatchNorm,
    x: &[T],
    (scale, offset): (&[f32], &[f32]),
    before: Option<(&[f32], &[f32])>,
    factor: f32,
    out: BatchStatistics<'_>,
    y: &mut [T],
) -> Result<(), Mismatch> {
    let BatchStatistics { running_mean, running_variance, mean, variance } = out;
    let lens = [
        ("scale", scale.len()),
        ("offset", offset.len()),
        ("running_mean", running_mean.len()),
        ("running_variance", running_variance.len()),
        ("mean", mean.len()),
        ("variance", variance.len()),
    ];
    norm.check([("x", x.len()), ("y", y.len())], &lens)?;
    let keep = if factor == 1.0 { 0.0 } else { 1.0 - factor };
    let (old_mean, old_variance) = before.filter(|_| factor != 1.0).unwrap_or((&[], &[]));
    if factor != 1.0 {
        ensure(old_mean.len() == norm.channels, "before")?;
        ensure(old_variance.len() == norm.channels, "before")?;
    }
    if norm.pixels == 0 {
        running_mean.fill(f32::NAN);
        running_variance.fill(f32::NAN);
        mean.fill(0.0);
        variance.fill(0.0);
        return Ok(());
    }

    let isa = par.isa();
    let count = norm.pixels as f32;
    let unbiased = count / norm.pixels.saturating_sub(1).max(1) as f32;
    let shared = [&mut *mean, &mut *variance, running_mean, running_variance].map(Shared::new);
    each_block(par, norm, &|channels| {
        let n = channels.len();
        // SAFETY: the channels of a block belong to one task, and lie in slices of `norm.channels`.
        let [mean, variance, running_mean, running_variance] =
            shared.each_ref().map(|s| unsafe { s.slice(channels.start, n) });
        let (mut sums, mut squares) = ([0.0; BLOCK], [0.0; BLOCK]);
        f32::run(
            isa,
            Sums { norm, channels: channels.clone(), a: x, b: None, means: None, sums: &mut sums, products: None },
        );
        for (mean, sum) in mean.iter_mut().zip(sums) {
            *mean = sum / count;
        }
        let means = Some(&*mean);
        let products = Some(&mut squares);
        f32::run(isa, Sums { norm, channels: channels.clone(), a: x, b: None, means, sums: &mut sums, products });
        for (i, variance) in variance.iter_mut().enumerate() {
            *variance = squares[i] / count;
            running_mean[i] = mean[i];
            running_variance[i] = *variance * unbiased;
            if factor != 1.0 {
                running_mean[i] = keep * old_mean[channels.start + i] + factor * running_mean[i];
                running_variance[i] = keep * old_variance[channels.start + i] + factor * running_variance[i];
            }
        }
    });
    normalise(par, norm, x, Statistics { scale, offset, mean, variance }, y);
    Ok(())
}

/// What the gradient is taken from.
#[derive(Clone, Copy, Debug)]
pub struct BatchNormGradient<'a, T> {
    /// The gradient in `y`.
    pub y_gradient: &'a [T],
    /// The input.
    pub x: &'a [T],
    /// Factor a channel.
    pub scale: &'a [f32],
    /// Mean of the batch when training, else the given mean.
    pub mean: &'a [f32],
    /// Variance of the batch over its pixels when training, else the given variance.
    pub variance: &'a [f32],
    /// The statistics were the batch's own, and so depend on `x`.
    pub is_training: bool,
}

/// The gradients in `x`, scale and offset. Every element is written.
pub fn batch_norm_grad<T: Floating<Wide = f32>>(
    par: &dyn Parallel,
    norm: &BatchNorm,
    from: BatchNormGradient<'_, T>,
    x_gradient: &mut [T],
    scale_gradient: &mut [f32],
    offset_gradient: &mut [f32],
) -> Result<(), Mismatch> {
    let BatchNormGradient { y_gradient, x, scale, mean, variance, is_training } = from;
    let lens = [
        ("scale", scale.len()),
        ("mean", mean.len()),
        ("variance", variance.len()),
        ("scale_gradient", scale_gradient.len()),
        ("offset_gradient", offset_gradient.len()),
    ];
    norm.check([("x", x.len()), ("y_gradient", y_gradient.len())], &lens)?;
    ensure(x_gradient.len() == x.len(), "x_gradient")?;
    let isa = par.isa();
    let (scales, offsets) = (Shared::new(&mut *scale_gradient), Shared::new(&mut *offset_gradient));
    each_block(par, norm, &|channels| {
        let n = channels.len();
        // SAFETY: the channels of a block belong to one task, and lie in slices of `norm.channels`.
        let (scales, offsets) = unsafe { (scales.slice(channels.start, n), offsets.slice(channels.start, n)) };
        let (mut sums, mut products) = ([0.0; BLOCK], [0.0; BLOCK]);
        let means = Some(&mean[channels.clone()]);
        let (a, b, products_to) = (y_gradient, Some(x), Some(&mut products));
        f32::run(isa, Sums { norm, channels: channels.clone(), a, b, means, sums: &mut sums, products: products_to });
        for i in 0..n {
            offsets[i] = sums[i];
            scales[i] = products[i] * root(variance[channels.start + i], norm.epsilon);
        }
    });
    let count = norm.pixels.max(1) as f32;
    chunks_mut(par, x_gradient, norm.channels, norm.channels, &|first, out| {
        let part = first * norm.channels..first * norm.channels + out.len();
        let (dy, x) = (&y_gradient[part.clone()], &x[part]);
        for start in (0..norm.channels).step_by(BLOCK) {
            let end = (start + BLOCK).min(norm.channels);
            // dx = (dy - mean(dy) - (x - mean) · mean(dy · (x - mean)) / variance) · scale / root, or without the means.
            let (mut by, mut slope, mut shift) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
            for (i, c) in (start..end).enumerate() {
                let root = root(variance[c], norm.epsilon);
                by[i] = scale[c] * root;
                if is_training {
                    slope[i] = scale_gradient[c] * root / count;
                    shift[i] = offset_gradient[c] / count;
                }
            }
            let means = &mean[start..end];
            f32::run(isa, Gradient { channels: norm.channels, start, dy, x, means, by, slope, shift, out });
        }
    });
    Ok(())
}

/// `1 / sqrt(variance + epsilon)`.
fn root(variance: f32, epsilon: f32) -> f32 {
    1.0 / libm::sqrtf(variance + epsilon)
}

/// Channels done at once.
const BLOCK: usize = 64;
/// Pixels summed before their sum joins the total.
const PIXELS: usize = 256;

/// Calls `f` with the channels of each block, on several threads.
fn each_block(par: &dyn Parallel, norm: &BatchNorm, f: &(dyn Fn(Range<usize>) + Sync)) {
    let blocks = norm.channels.div_ceil(BLOCK);
    ranges(par, blocks, norm.pixels.saturating_mul(BLOCK / 4), &|range| {
        for block in range {
            f(block * BLOCK..((block + 1) * BLOCK).min(norm.channels));
        }
    });
}

/// `y = x · factor + shift`, both from the statistics.
fn normalise<T: Floating<Wide = f32>>(
    par: &dyn Parallel,
    norm: &BatchNorm,
    x: &[T],
    channel: Statistics<'_>,
    y: &mut [T],
) {
    let isa = par.isa();
    chunks_mut(par, y, norm.channels, norm.channels / 2, &|first, y| {
        let x = &x[first * norm.channels..first * norm.channels + y.len()];
        for start in (0..norm.channels).step_by(BLOCK) {
            let end = (start + BLOCK).min(norm.channels);
            let mut factors = [0.0; BLOCK];
            for (factor, c) in factors.iter_mut().zip(start..end) {
                *factor = channel.scale[c] * root(channel.variance[c], norm.epsilon);
            }
            let (means, offsets) = (&channel.mean[start..end], &channel.offset[start..end]);
            f32::run(isa, Normalise { channels: norm.channels, start, x, means, factors, offsets, y });
        }
    });
}

// These kernels are plain loops over blocks of channels: compiled for the level, they become its vectors.

struct Normalise<'a, T> {
    channels: usize,
    start: usize,
    x: &'a [T],
    means: &'a [f32],
    factors: [f32; BLOCK],
    offsets: &'a [f32],
    y: &'a mut [T],
}

impl<T: Floating<Wide = f32>> Kernel<f32> for Normalise<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        let n = self.means.len();
        let lines = self.x.chunks_exact(self.channels).zip(self.y.chunks_exact_mut(self.channels));
        for (x, y) in lines {
            let (x, y) = (&x[self.start..self.start + n], &mut y[self.start..self.start + n]);
            let channel = self.means.iter().zip(&self.factors).zip(self.offsets);
            for ((y, &x), ((mean, factor), offset)) in y.iter_mut().zip(x).zip(channel) {
                *y = T::narrow((x.widen() - mean) * factor + offset);
            }
        }
    }
}

/// A channel each, `sums = sum(a)`; with `products` wanted, `sum(a · (b - mean))` too, or without `b` instead `sum((a -
/// mean)²)`.
struct Sums<'a, T> {
    norm: &'a BatchNorm,
    channels: Range<usize>,
    a: &'a [T],
    b: Option<&'a [T]>,
    means: Option<&'a [f32]>,
    sums: &'a mut [f32; BLOCK],
    products: Option<&'a mut [f32; BLOCK]>,
}

impl<T: Floating<Wide = f32>> Kernel<f32> for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        let Sums { norm, channels, a, b, means, sums, products } = self;
        let n = channels.len();
        let mut mean = [0.0; BLOCK];
        mean.iter_mut().zip(means.unwrap_or_default()).for_each(|(to, &m)| *to = m);
        let (mut totals, mut total_products) = ([0.0; BLOCK], [0.0; BLOCK]);
        for first in (0..norm.pixels).step_by(PIXELS) {
            let (mut part, mut part_products) = ([0.0; BLOCK], [0.0; BLOCK]);
            for pixel in first..(first + PIXELS).min(norm.pixels) {
                let at = pixel * norm.channels + channels.start;
                let a = &a[at..at + n];
                match b {
                    _ if products.is_none() => {
                        for (part, a) in part.iter_mut().zip(a) {
                            *part += a.widen();
                        }
                    }
                    None => {
                        for ((part, a), mean) in part_products.iter_mut().zip(a).zip(&mean) {
                            let a = a.widen() - mean;
                            *part += a * a;
                        }
                    }
                    Some(b) => {
                        let both = part.iter_mut().zip(&mut part_products);
                        for (((part, product), (a, b)), mean) in both.zip(a.iter().zip(&b[at..at + n])).zip(&mean) {
                            *part += a.widen();
                            *product += a.widen() * (b.widen() - mean);
                        }
                    }
                }
            }
            for i in 0..BLOCK {
                totals[i] += part[i];
                total_products[i] += part_products[i];
            }
        }
        *sums = totals;
        if let Some(products) = products {
            *products = total_products;
        }
    }
}

struct Gradient<'a, T> {
    channels: usize,
    start: usize,
    dy: &'a [T],
    x: &'a [T],
    means: &'a [f32],
    by: [f32; BLOCK],
    slope: [f32; BLOCK],
    shift: [f32; BLOCK],
    out: &'a mut [T],
}

impl<T: Floating<Wide = f32>> Kernel<f32> for Gradient<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        let n = self.means.len();
        let part = self.start..self.start + n;
        let lines = self.x.chunks_exact(self.channels).zip(self.dy.chunks_exact(self.channels));
        for ((x, dy), out) in lines.zip(self.out.chunks_exact_mut(self.channels)) {
            let (x, dy, out) = (&x[part.clone()], &dy[part.clone()], &mut out[part.clone()]);
            let channel = self.means.iter().zip(&self.by).zip(self.slope.iter().zip(&self.shift));
            for ((out, (x, dy)), ((mean, by), (slope, shift))) in out.iter_mut().zip(x.iter().zip(dy)).zip(channel) {
                *out = T::narrow((dy.widen() - shift - (x.widen() - mean) * slope) * by);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rng, assert_close, machines};
    use alloc::{format, vec, vec::Vec};
    use half::bf16;

    struct Outputs {
        y: Vec<f32>,
        running_mean: Vec<f32>,
        running_variance: Vec<f32>,
        mean: Vec<f32>,
        variance: Vec<f32>,
    }

    fn train<T: Floating<Wide = f32>>(
        par: &dyn Parallel,
        norm: &BatchNorm,
        x: &[T],
        scale_offset: (&[f32], &[f32]),
        before: Option<(&[f32], &[f32])>,
        factor: f32,
    ) -> Outputs {
        let line = || vec![9.0; norm.channels];
        let (mut running_mean, mut running_variance, mut mean, mut variance) = (line(), line(), line(), line());
        let mut y = vec![T::ONE; x.len()];
        let out = BatchStatistics {
            running_mean: &mut running_mean,
            running_variance: &mut running_variance,
            mean: &mut mean,
            variance: &mut variance,
        };
        batch_norm_training(par, norm, x, scale_offset, before, factor, out, &mut y).unwrap();
        Outputs { y: y.iter().map(|y| y.widen()).collect(), running_mean, running_variance, mean, variance }
    }

    /// TensorFlow's numbers for `x = arange(12) ** 1.5` in two channels: training, inference and both gradients.
    #[test]
    fn agrees_with_tensorflow() {
        let x: Vec<f32> = (0..12).map(|i| libm::pow(f64::from(i), 1.5) as f32).collect();
        let norm = BatchNorm { pixels: 6, channels: 2, epsilon: 1e-3 };
        let (scale, offset, mean, variance) = ([1.0, 2.0], [0.5, 0.25], [1.0, 2.0], [3.0, 4.0]);
        let dy: Vec<f32> = x.iter().map(|&x| libm::cosf(x)).collect();
        for par in machines() {
            let out = train(&par, &norm, &x, (&scale, &offset), Some((&mean, &variance)), 0.25);
            let y = [-0.697786, -2.277532, -0.44298232, -1.5960615, 0.0229075, -0.6242076, 0.6262125, 0.5678219];
            assert_close(&out.y[..8], &y, 1e-6, "y");
            assert_close(&out.running_mean, &[4.073982, 5.6408176], 1e-6, "running mean");
            assert_close(&out.running_variance, &[39.2155, 48.49742], 1e-6, "running variance");
            assert_close(&out.mean, &[13.295927, 16.56327], 1e-6, "mean");
            assert_close(&out.variance, &[123.21832, 151.65807], 1e-6, "variance");

            let mut y = vec![9.0; 12];
            let given = Statistics { scale: &scale, offset: &offset, mean: &mean, variance: &variance };
            batch_norm_inference(&par, &norm, &x, given, &mut y).unwrap();
            assert_close(&y[..4], &[-0.07725412, -0.74987507, 1.555467, 3.4457533], 1e-6, "inference");

            let (mut dx, mut dscale, mut doffset) = (vec![9.0; 12], [9.0; 2], [9.0; 2]);
            let from = BatchNormGradient {
                y_gradient: &dy,
                x: &x,
                scale: &scale,
                mean: &out.mean,
                variance: &out.variance,
                is_training: true,
            };
            batch_norm_grad(&par, &norm, from, &mut dx, &mut dscale, &mut doffset).unwrap();
            assert_close(&dscale, &[0.6413969, -0.7280854], 1e-5, "dscale");
            assert_close(&doffset, &[-0.45349187, 2.1904378], 1e-5, "doffset");
            let want = [0.10843056, 0.00355248, -0.06981509, -0.00194336, -0.00170418, -0.03806716];
            assert_close(&dx[..6], &want, 1e-5, "dx");
            let from = BatchNormGradient { is_training: false, ..from };
            batch_norm_grad(&par, &norm, from, &mut dx, &mut dscale, &mut doffset).unwrap();
            let want = [0.09008668, 0.08774707, -0.08570515, 0.07553626, -0.01310762, 0.02983616];
            assert_close(&dx[..6], &want, 1e-5, "dx of inference");
        }
    }

    /// Many pixels and channels against f64, bf16 against f32, at every level and number of threads.
    #[test]
    fn agrees_with_the_formula() {
        let mut rng = Rng(9);
        for (pixels, channels) in [(1, 1), (3, 5), (700, 64), (33, 130), (2, 0)] {
            let norm = BatchNorm { pixels, channels, epsilon: 1e-2 };
            // A mean far from zero shows whether the variance is taken about it.
            let x: Vec<f32> = rng.f32s(pixels * channels).iter().map(|x| x + 100.0).collect();
            let (scale, offset) = (rng.f32s(channels), rng.f32s(channels));
            let (mut mean, mut variance) = (vec![0.0f64; channels], vec![0.0f64; channels]);
            x.iter().enumerate().for_each(|(i, &x)| mean[i % channels] += f64::from(x) / pixels as f64);
            for (i, &x) in x.iter().enumerate() {
                let d = f64::from(x) - mean[i % channels];
                variance[i % channels] += d * d / pixels as f64;
            }
            let narrow = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<_>>();
            let y = |i: usize| {
                let c = i % channels;
                let root = libm::sqrt(variance[c] + f64::from(norm.epsilon));
                (f64::from(x[i]) - mean[c]) / root * f64::from(scale[c]) + f64::from(offset[c])
            };
            let y: Vec<f32> = (0..x.len()).map(|i| y(i) as f32).collect();
            for par in machines() {
                let case = format!("{norm:?} {:?} {}", par.isa, par.threads);
                let out = train(&par, &norm, &x, (&scale, &offset), None, 1.0);
                assert_close(&out.mean, &narrow(&mean), 1e-6, &case);
                assert_close(&out.running_mean, &narrow(&mean), 1e-6, &case);
                assert_close(&out.variance, &narrow(&variance), 1e-5, &case);
                assert_close(&out.y, &y, 1e-4, &case);
                let halves: Vec<bf16> = rng.f32s(x.len()).iter().map(|&x| bf16::from_f32(x)).collect();
                let whole: Vec<f32> = halves.iter().map(|x| x.to_f32()).collect();
                let want = train(&par, &norm, &whole, (&scale, &offset), None, 1.0);
                let got = train(&par, &norm, &halves, (&scale, &offset), None, 1.0);
                assert_eq!(got.variance, want.variance);
                assert_close(&got.y, &want.y, 0.01, &case);
            }
        }
    }

    /// One pixel has no unbiased variance and no pixel has none at all; wrong lengths are named.
    #[test]
    fn edges() {
        let par = &machines()[0];
        let one =
            train(par, &BatchNorm { pixels: 1, channels: 1, epsilon: 1e-3 }, &[7.0f32], (&[2.0], &[0.5]), None, 1.0);
        assert_eq!((one.y[0], one.running_mean[0], one.running_variance[0]), (0.5, 7.0, 0.0));
        let none =
            train::<f32>(par, &BatchNorm { pixels: 0, channels: 1, epsilon: 1e-3 }, &[], (&[2.0], &[0.5]), None, 1.0);
        assert!(none.running_mean[0].is_nan() && none.running_variance[0].is_nan() && none.y.is_empty());
        let norm = BatchNorm { pixels: 2, channels: 1, epsilon: 1e-3 };
        let given = Statistics { scale: &[1.0], offset: &[1.0], mean: &[1.0], variance: &[] };
        let got = batch_norm_inference(par, &norm, &[1.0f32; 2], given, &mut [0.0; 2]);
        assert_eq!(got.unwrap_err().argument, "variance");
    }
}
