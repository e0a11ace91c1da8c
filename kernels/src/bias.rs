//! Adding a bias to each channel, and the gradient of that: the sum over everything else.

use crate::isa::{Kernel, Simd, Vectorised};
use crate::number::Arithmetic;
use crate::parallel::{Parallel, chunks_mut};
use crate::{Mismatch, ensure, product};

/// Where the channels of a tensor are: it is seen as `outer × channels × inner`.
///
/// NHWC has `outer = N·H·W` and `inner = 1`; NCHW has `outer = N` and `inner = H·W`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Numbers before the channels.
    pub outer: usize,
    /// Channels, as many as there are biases.
    pub channels: usize,
    /// Numbers after the channels.
    pub inner: usize,
}

impl Channels {
    /// Channels in the last dimension.
    pub fn last(outer: usize, channels: usize) -> Self {
        Channels { outer, channels, inner: 1 }
    }

    fn len(&self) -> Result<usize, Mismatch> {
        product(&[self.outer, self.channels, self.inner], "x")
    }
}

/// `out = x + bias`, the bias of its channel for each number. Integers wrap round.
pub fn bias_add<T: Arithmetic>(
    par: &dyn Parallel,
    shape: Channels,
    x: &[T],
    bias: &[T],
    out: &mut [T],
) -> Result<(), Mismatch> {
    ensure(x.len() == shape.len()?, "x")?;
    ensure(out.len() == x.len(), "out")?;
    ensure(bias.len() == shape.channels, "bias")?;
    let (isa, row) = (par.isa(), shape.channels * shape.inner);
    chunks_mut(par, out, row, row, &|first, out| {
        let x = &x[first * row..first * row + out.len()];
        <f32 as Vectorised>::run(isa, Add { shape, x, bias, out });
    });
    Ok(())
}

/// [`bias_add`] into `x` itself.
pub fn bias_add_in_place<T: Arithmetic>(
    par: &dyn Parallel,
    shape: Channels,
    x: &mut [T],
    bias: &[T],
) -> Result<(), Mismatch> {
    ensure(x.len() == shape.len()?, "x")?;
    ensure(bias.len() == shape.channels, "bias")?;
    let (isa, row) = (par.isa(), shape.channels * shape.inner);
    chunks_mut(par, x, row, row, &|_, x| <f32 as Vectorised>::run(isa, AddInPlace { shape, x, bias }));
    Ok(())
}

/// `out[channel] = sum(gradients of the channel)`. Floats are summed in blocks, so that the error stays small for long
/// sums; f16 and bf16 in f32.
pub fn bias_add_grad<T: Arithmetic>(
    par: &dyn Parallel,
    shape: Channels,
    gradients: &[T],
    out: &mut [T],
) -> Result<(), Mismatch> {
    ensure(gradients.len() == shape.len()?, "gradients")?;
    ensure(out.len() == shape.channels, "out")?;
    let isa = par.isa();
    // Whole blocks of channels, so that tasks do not share cache lines of the gradients.
    let cycles = shape.outer.saturating_mul(shape.inner).saturating_mul(BLOCK) / 4;
    let whole = out.len() / BLOCK * BLOCK;
    let (blocks, rest) = out.split_at_mut(whole);
    chunks_mut(par, blocks, BLOCK, cycles, &|first, out| {
        for (i, out) in out.chunks_mut(BLOCK).enumerate() {
            <f32 as Vectorised>::run(isa, Sum { shape, gradients, channel: (first + i) * BLOCK, out });
        }
    });
    <f32 as Vectorised>::run(isa, Sum { shape, gradients, channel: whole, out: rest });
    Ok(())
}

/// Channels summed at once.
const BLOCK: usize = 32;
/// Rows summed before their sum joins the total.
const ROWS: usize = 256;

// These kernels are plain loops: compiled for the level, they become its vectors, whatever the number type.

struct Add<'a, T> {
    shape: Channels,
    x: &'a [T],
    bias: &'a [T],
    out: &'a mut [T],
}

impl<T: Arithmetic> Kernel<f32> for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        let Channels { channels, inner, .. } = self.shape;
        if inner == 1 {
            for (x, out) in self.x.chunks_exact(channels).zip(self.out.chunks_exact_mut(channels)) {
                for ((out, &x), &b) in out.iter_mut().zip(x).zip(self.bias) {
                    *out = T::narrow(T::add(x.widen(), b.widen()));
                }
            }
        } else {
            for (i, (x, out)) in self.x.chunks_exact(inner).zip(self.out.chunks_exact_mut(inner)).enumerate() {
                let b = self.bias[i % channels].widen();
                for (out, &x) in out.iter_mut().zip(x) {
                    *out = T::narrow(T::add(x.widen(), b));
                }
            }
        }
    }
}

struct AddInPlace<'a, T> {
    shape: Channels,
    x: &'a mut [T],
    bias: &'a [T],
}

impl<T: Arithmetic> Kernel<f32> for AddInPlace<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        let Channels { channels, inner, .. } = self.shape;
        if inner == 1 {
            for x in self.x.chunks_exact_mut(channels) {
                for (x, &b) in x.iter_mut().zip(self.bias) {
                    *x = T::narrow(T::add(x.widen(), b.widen()));
                }
            }
        } else {
            for (i, x) in self.x.chunks_exact_mut(inner).enumerate() {
                let b = self.bias[i % channels].widen();
                for x in x {
                    *x = T::narrow(T::add(x.widen(), b));
                }
            }
        }
    }
}

struct Sum<'a, T> {
    shape: Channels,
    gradients: &'a [T],
    /// First channel; there are as many as `out` holds, at most [`BLOCK`].
    channel: usize,
    out: &'a mut [T],
}

impl<T: Arithmetic> Kernel<f32> for Sum<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f32>>(self, _: S) {
        let Sum { shape: Channels { outer, channels, inner }, gradients, channel, out } = self;
        let mut totals = [T::EMPTY; BLOCK];
        if inner == 1 {
            for start in (0..outer).step_by(ROWS) {
                let mut sums = [T::EMPTY; BLOCK];
                for row in start..(start + ROWS).min(outer) {
                    let at = row * channels + channel;
                    for (sum, x) in sums.iter_mut().zip(&gradients[at..at + out.len()]) {
                        *sum = T::add(*sum, x.widen());
                    }
                }
                for (total, sum) in totals.iter_mut().zip(sums) {
                    *total = T::add(*total, sum);
                }
            }
        } else {
            for (c, total) in totals.iter_mut().enumerate().take(out.len()) {
                for o in 0..outer {
                    let at = (o * channels + channel + c) * inner;
                    // Sixteen sums side by side are vectors to the compiler.
                    for block in gradients[at..at + inner].chunks(ROWS * 16) {
                        let mut sums = [T::EMPTY; 16];
                        for part in block.chunks(16) {
                            for (sum, x) in sums.iter_mut().zip(part) {
                                *sum = T::add(*sum, x.widen());
                            }
                        }
                        *total = sums.into_iter().fold(*total, T::add);
                    }
                }
            }
        }
        for (out, total) in out.iter_mut().zip(totals) {
            *out = T::narrow(total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rng, assert_close64, machines};
    use alloc::{format, vec};
    use half::f16;

    /// Both layouts and directions against plain loops.
    #[test]
    fn agrees_with_plain_loops() {
        let mut rng = Rng(5);
        for (outer, channels, inner) in [
            (0, 3, 1),
            (1, 1, 1),
            (7, 10, 1),
            (600, 33, 1),
            (3, 64, 1),
            (2, 5, 49),
            (3, 40, 7),
            (2, 3, 5000),
            (2, 0, 3),
        ] {
            let shape = Channels { outer, channels, inner };
            let (x, bias) = (rng.f64s(outer * channels * inner), rng.f64s(channels));
            let channel = |i: usize| i / inner % channels;
            let want: alloc::vec::Vec<f64> = x.iter().enumerate().map(|(i, x)| x + bias[channel(i)]).collect();
            let mut want_grad = vec![0.0; channels];
            x.iter().enumerate().for_each(|(i, x)| want_grad[channel(i)] += x);
            for par in machines() {
                let case = format!("{shape:?} {:?} {}", par.isa, par.threads);
                let mut out = vec![9.0; x.len()];
                bias_add(&par, shape, &x, &bias, &mut out).unwrap();
                assert_close64(&out, &want, 0.0, &case);
                let mut out = x.clone();
                bias_add_in_place(&par, shape, &mut out, &bias).unwrap();
                assert_close64(&out, &want, 0.0, &case);
                let mut out = vec![9.0; channels];
                bias_add_grad(&par, shape, &x, &mut out).unwrap();
                assert_close64(&out, &want_grad, 1e-11, &case);
            }
        }
    }

    /// A sum of f16 ones goes past where f16 alone would stop counting; integers wrap.
    #[test]
    fn other_types() {
        let par = &machines()[0];
        let mut out = [f16::ZERO];
        bias_add_grad(par, Channels::last(4096, 1), &[f16::ONE; 4096], &mut out).unwrap();
        assert_eq!(out[0].to_f32(), 4096.0);
        let mut out = [0u8; 2];
        bias_add(par, Channels::last(1, 2), &[250, 1], &[10, 1], &mut out).unwrap();
        assert_eq!(out, [4, 2]);
    }

    /// Wrong lengths are named.
    #[test]
    fn sizes() {
        let par = &machines()[0];
        let shape = Channels::last(2, 3);
        assert_eq!(bias_add(par, shape, &[0i32; 5], &[0; 3], &mut [0; 6]).unwrap_err().argument, "x");
        assert_eq!(bias_add(par, shape, &[0i32; 6], &[0; 2], &mut [0; 6]).unwrap_err().argument, "bias");
        assert_eq!(bias_add(par, shape, &[0i32; 6], &[0; 3], &mut [0; 5]).unwrap_err().argument, "out");
        assert_eq!(bias_add_grad(par, shape, &[0i32; 6], &mut [0; 5]).unwrap_err().argument, "out");
    }
}
