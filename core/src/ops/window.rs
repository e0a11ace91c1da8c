//! Sliding windows as attributes tell them: strides, dilations and padding of convolutions and poolings.

use crate::Status;
use crate::graph::{Attrs, PartialShape};
use crate::kernels::conv::Axis;

/// How a window slides over rows (0) and columns (1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) strides: [usize; 2],
    pub(super) dilations: [usize; 2],
    padding: Padding,
    /// Whether channels come before rows and columns.
    pub(super) channels_first: bool,
}

#[derive(Clone, Copy, Debug)]
enum Padding {
    Same,
    Valid,
    /// Before and after, of rows and of columns.
    Explicit([(usize, usize); 2]),
}

impl Window {
    /// The window of a node's attributes; dilations and explicit paddings are optional.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for lists of the wrong length or sign; UNIMPLEMENTED for windows over images or channels.
    pub(super) fn new(attrs: &Attrs) -> Result<Window, Status> {
        let channels_first = match attrs.str("data_format")? {
            "NHWC" => false,
            "NCHW" => true,
            other => return Err(Status::unimplemented(format_args!("data_format {other}"))),
        };
        let strides = spatial(attrs, "strides", channels_first)?;
        let dilations = match attrs.get("dilations") {
            Some(_) => spatial(attrs, "dilations", channels_first)?,
            None => [1, 1],
        };
        let explicit = match attrs.get("explicit_paddings") {
            Some(_) => attrs.ints("explicit_paddings")?,
            None => alloc::vec::Vec::new(),
        };
        let padding = match attrs.str("padding")? {
            "EXPLICIT" => explicit_paddings(&explicit, channels_first)?,
            other if !explicit.is_empty() => {
                return Err(Status::invalid_argument(format_args!(
                    "explicit_paddings attribute must be empty if the padding attribute is {other}"
                )));
            }
            "SAME" => Padding::Same,
            _ => Padding::Valid,
        };
        Ok(Window { strides, dilations, padding, channels_first })
    }

    /// Dimension `at` (0 rows, 1 columns) of a window of `taps` over `input` positions.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the window is larger than what it slides over.
    pub(super) fn axis(&self, at: usize, input: usize, taps: usize) -> Result<Axis, Status> {
        let (stride, dilation) = (self.strides[at & 1], self.dilations[at & 1]);
        let axis = match self.padding {
            Padding::Same => Axis::same(input, taps, stride, dilation),
            Padding::Valid => Axis::valid(input, taps, stride, dilation),
            Padding::Explicit(p) => Axis::explicit(input, taps, stride, dilation, p[at & 1].0, p[at & 1].1),
        };
        axis.ok_or_else(|| {
            Status::invalid_argument(format_args!(
                "Computed output size would be negative: input {input}, window {taps}, stride {stride}, dilation \
                 {dilation}"
            ))
        })
    }

    /// What is known of an output's size from what is known of the input's.
    pub(super) fn output(&self, at: usize, input: i64, taps: i64) -> Result<i64, Status> {
        match (usize::try_from(input), usize::try_from(taps)) {
            (Ok(input), Ok(taps)) => Ok(self.axis(at, input, taps)?.output as i64),
            _ => Ok(-1),
        }
    }

    /// Where rows, columns and channels are in a shape.
    pub(super) fn places(&self) -> [usize; 3] {
        if self.channels_first { [2, 3, 1] } else { [1, 2, 3] }
    }

    /// The shape with these rows, columns and channels.
    pub(super) fn shape(&self, batch: i64, [rows, columns, channels]: [i64; 3]) -> PartialShape {
        if self.channels_first {
            PartialShape::new(&[batch, channels, rows, columns])
        } else {
            PartialShape::new(&[batch, rows, columns, channels])
        }
    }
}

/// The rows' and columns' entries of a list of four.
pub(super) fn spatial(attrs: &Attrs, name: &str, channels_first: bool) -> Result<[usize; 2], Status> {
    let list = attrs.ints(name)?;
    let [n, a, b, c] = list[..] else {
        return Err(Status::invalid_argument(format_args!("{name} must specify 4 dimensions, got {}", list.len())));
    };
    let (rows, columns, channels) = if channels_first { (b, c, a) } else { (a, b, c) };
    if (n, channels) != (1, 1) {
        return Err(Status::unimplemented(format_args!(
            "{name} other than 1 in the batch and depth dimensions are not supported: {list:?}"
        )));
    }
    match (usize::try_from(rows), usize::try_from(columns)) {
        (Ok(rows), Ok(columns)) if rows > 0 && columns > 0 => Ok([rows, columns]),
        _ => Err(Status::invalid_argument(format_args!("{name} must be positive: {list:?}"))),
    }
}

fn explicit_paddings(list: &[i64], channels_first: bool) -> Result<Padding, Status> {
    let invalid = || {
        Status::invalid_argument(format_args!(
            "explicit_paddings attribute must be 8 non-negative numbers, none in the batch and depth dimensions: {list:?}"
        ))
    };
    let &[b0, b1, a0, a1, c0, c1, d0, d1] = list else { return Err(invalid()) };
    let (rows, columns, others) =
        if channels_first { ((c0, c1), (d0, d1), [b0, b1, a0, a1]) } else { ((a0, a1), (c0, c1), [b0, b1, d0, d1]) };
    let size = |n: i64| usize::try_from(n).map_err(|_| invalid());
    if others != [0; 4] {
        return Err(invalid());
    }
    Ok(Padding::Explicit([(size(rows.0)?, size(rows.1)?), (size(columns.0)?, size(columns.1)?)]))
}
