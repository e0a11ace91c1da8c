//! Arithmetic on slices: the CPU kernels of runstep, without graphs, allocation or an operating system.
//!
//! What is here: plain functions that take slices and a small struct of named fields for the geometry (sizes, strides,
//! paddings), and write their result into a slice the caller owns. What is not: tensors, dtypes as values, broadcasting of
//! graph shapes, errors with node names. A function that needs room to work asks for it: `*_scratch_len()` tells how
//! much, the caller passes it in. Threads come from the caller too, as a [`parallel::Parallel`].
//!
//! | module | what it computes |
//! | --- | --- |
//! | [`parallel`] | how work is split over the caller's threads |
//! | [`isa`] | what the machine can do, and the vector operations kernels are written in |
//! | [`number`] | what a kernel needs to know of a number type |
//! | [`exp`] | the exponential on vectors |
//! | [`matmul`] | matrix products, weights packed ahead, fused bias and activation |
//! | [`window`] | one dimension of a sliding window: sizes and paddings |
//! | [`conv`] | 2-D convolutions, plain and depthwise, and their gradients |
//! | [`pool`] | max and average pooling and their gradients |
//! | [`norm`] | batch normalisation |
//! | [`softmax`] | softmax and log-softmax |
//! | [`xent`] | softmax cross entropy |
//! | [`bias`] | bias addition and its gradient |
//! | [`relu`] | relu, relu6 and their gradients |
//! | [`dims`], [`broadcast`] | shapes without heap, and the one driver of element-wise operations |
//! | [`element`], [`math`] | what element types can do; elementary functions of `f32` |
//! | [`unary`], [`binary`], [`compare`] | element-wise operations |
//! | [`movement`] | transpose, concat, slice, pad, tile, gather, scatter, … |
//! | [`training`] | optimiser steps |
//! | [`random`] | TensorFlow's random numbers, bit for bit |
//! | [`cast`] | conversion between all numeric types |
//! | [`select`] | select, where, one-hot, ranges, diagonals |
//! | [`scan`] | running sums and products |
//! | [`reduce`], [`arg`] | sums, means, extremes and their indices, over any axes |
//!
//! Every vectorised kernel gives the same answer, up to rounding, at each level of [`isa::Isa`]; tests run all levels that
//! the machine has against a plain loop. Geometry is checked once at entry: a slice of the wrong length gives
//! [`Mismatch`] (or an [`error::Error`]), never a panic or a read out of bounds.
#![no_std]

#[cfg(test)]
extern crate alloc;

pub mod bias;
mod compiled;
pub mod conv;
pub mod exp;
pub mod isa;
pub mod matmul;
pub mod norm;
pub mod number;
pub mod parallel;
pub mod pool;
pub mod relu;
pub mod softmax;
pub mod window;
pub mod xent;

pub mod arg;
pub mod binary;
pub mod broadcast;
pub mod cast;
pub mod compare;
pub mod dims;
pub mod element;
pub mod error;
pub mod math;
pub mod movement;
pub mod random;
pub mod reduce;
pub mod scan;
pub mod select;
pub mod small;
pub mod training;
pub mod unary;

#[cfg(test)]
mod testing;

/// The slices handed to a kernel do not have the lengths its geometry asks for, or the geometry itself overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The argument that does not fit.
    pub argument: &'static str,
}

impl core::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the length of `{}` does not fit the geometry", self.argument)
    }
}

impl core::error::Error for Mismatch {}

impl From<Mismatch> for error::Error {
    fn from(_: Mismatch) -> Self {
        error::Error::Length
    }
}

/// `Ok` when `fits`, else the argument's name as a [`Mismatch`].
pub(crate) fn ensure(fits: bool, argument: &'static str) -> Result<(), Mismatch> {
    if fits { Ok(()) } else { Err(Mismatch { argument }) }
}

/// The product of `sizes`, or a [`Mismatch`] naming `argument` when it does not fit `usize`.
pub(crate) fn product(sizes: &[usize], argument: &'static str) -> Result<usize, Mismatch> {
    sizes.iter().try_fold(1usize, |acc, &n| acc.checked_mul(n)).ok_or(Mismatch { argument })
}
