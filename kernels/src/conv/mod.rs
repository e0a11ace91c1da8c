//! 2-D convolutions in NHWC with filters in HWIO, their gradients, and the depthwise kind.
//!
//! [`conv2d`], [`conv2d_backprop_input`] and [`conv2d_backprop_filter`] are for f32 and f64: a block of output pixels at a
//! time, the image's patches are laid out as rows of a matrix in scratch and multiplied by the filter, which is packed
//! once a call or, for weights that stay, once for all by [`pack_filter`]. A 1×1 filter multiplies the image where it lies.
//! The `_plain` functions are for every other type, and the oracle of the fast ones.

mod backprop;
mod depthwise;
mod forward;
mod patches;
mod plain;

pub use backprop::{
    conv2d_backprop_filter, conv2d_backprop_filter_scratch_len, conv2d_backprop_input,
    conv2d_backprop_input_scratch_len,
};
pub(crate) use depthwise::Products;
pub use depthwise::{
    Depthwise2d, depthwise_conv2d, depthwise_conv2d_backprop_filter, depthwise_conv2d_backprop_filter_plain,
    depthwise_conv2d_backprop_input, depthwise_conv2d_backprop_input_plain, depthwise_conv2d_plain,
};
pub use forward::{Filter, conv2d, conv2d_scratch_len, pack_filter, pack_filter_len};
pub(crate) use patches::{gather, scatter};
pub use plain::{conv2d_backprop_filter_plain, conv2d_backprop_input_plain, conv2d_plain};

pub use crate::window::Axis;
use crate::{Mismatch, ensure, product};

/// The geometry of a convolution.
///
/// The input is `batch × rows.input × columns.input × in_channels`, the filter `rows.taps × columns.taps ×
/// filter_in_channels × out_channels`, the output `batch × rows.output × columns.output × out_channels`. With fewer
/// channels in the filter than in the input, channels fall into groups: as many as the filter's go in one, and each group
/// makes its share of the output's channels from its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2d {
    /// Images.
    pub batch: usize,
    /// The vertical dimension.
    pub rows: Axis,
    /// The horizontal dimension.
    pub columns: Axis,
    /// Channels of the input; a multiple of `filter_in_channels`.
    pub in_channels: usize,
    /// Channels that each output channel is made from.
    pub filter_in_channels: usize,
    /// Channels of the output; a multiple of the number of groups.
    pub out_channels: usize,
}

/// What follows from a [`Conv2d`] that has been checked.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Sizes {
    pub(crate) groups: usize,
    /// Output channels of a group.
    pub(crate) group_out: usize,
    /// Numbers in a patch of one group: rows of the filter seen as a matrix.
    pub(crate) patch: usize,
    /// Output pixels of one image and of all.
    pub(crate) image_pixels: usize,
    pub(crate) pixels: usize,
    pub(crate) input: usize,
    pub(crate) filter: usize,
    pub(crate) output: usize,
}

impl Conv2d {
    /// Numbers in the input, the filter and the output. Fails when the geometry is impossible or overflows.
    pub fn lens(&self) -> Result<(usize, usize, usize), Mismatch> {
        let sizes = self.sizes()?;
        Ok((sizes.input, sizes.filter, sizes.output))
    }

    pub(crate) fn sizes(&self) -> Result<Sizes, Mismatch> {
        self.rows.check("rows")?;
        self.columns.check("columns")?;
        let groups = match self.filter_in_channels {
            0 => {
                ensure(self.in_channels == 0, "in_channels")?;
                1
            }
            each => {
                ensure(self.in_channels.is_multiple_of(each), "in_channels")?;
                (self.in_channels / each).max(1)
            }
        };
        ensure(self.out_channels.is_multiple_of(groups), "out_channels")?;
        let (rows, columns) = (&self.rows, &self.columns);
        let patch = product(&[rows.taps, columns.taps, self.filter_in_channels], "filter")?;
        let image_pixels = product(&[rows.output, columns.output], "output")?;
        let pixels = product(&[self.batch, image_pixels], "output")?;
        Ok(Sizes {
            groups,
            group_out: self.out_channels / groups,
            patch,
            image_pixels,
            pixels,
            input: product(&[self.batch, rows.input, columns.input, self.in_channels], "input")?,
            filter: product(&[patch, self.out_channels], "filter")?,
            output: product(&[pixels, self.out_channels], "output")?,
        })
    }

    /// Patches are single pixels in the input's own order.
    pub(crate) fn is_pointwise(&self) -> bool {
        self.rows.is_pointwise() && self.columns.is_pointwise()
    }

    /// The sizes, if the slices have them.
    pub(crate) fn check(&self, input: usize, filter: Option<usize>, output: usize) -> Result<Sizes, Mismatch> {
        let sizes = self.sizes()?;
        ensure(input == sizes.input, "input")?;
        ensure(filter.is_none_or(|len| len == sizes.filter), "filter")?;
        ensure(output == sizes.output, "output")?;
        Ok(sizes)
    }
}

/// Pixels whose patches are laid out at once: about 64 KiB of f32, but enough rows that the filter, read once a block, is
/// used often.
pub(crate) fn block_rows(patch: usize, pixels: usize) -> usize {
    const ELEMENTS: usize = 16 * 1024;
    const ROWS: usize = 12;
    let rows = (ELEMENTS / patch.max(1)).clamp(4 * ROWS, 40 * ROWS) / ROWS * ROWS;
    rows.min(pixels)
}

#[cfg(test)]
mod tests;
