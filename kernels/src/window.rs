//! One spatial dimension of a sliding window: which input positions an output position looks at, and the other way round.

use crate::Mismatch;

/// A window along one dimension. Output position `o` and tap `t` look at input position `o · stride + t · dilation -
/// pad_before`, which is padding when it is not inside the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Positions of the input.
    pub input: usize,
    /// Positions of the output.
    pub output: usize,
    /// Taps of the window.
    pub taps: usize,
    /// Input positions from one output position to the next; at least 1.
    pub stride: usize,
    /// Input positions from one tap to the next; at least 1.
    pub dilation: usize,
    /// Padding before the input. What is needed after it follows from the rest.
    pub pad_before: usize,
}

impl Axis {
    /// Padding "VALID". `None` where TensorFlow finds the output size negative, or when sizes overflow.
    pub fn valid(input: usize, taps: usize, stride: usize, dilation: usize) -> Option<Axis> {
        Axis::explicit(input, taps, stride, dilation, 0, 0)
    }

    /// Padding "SAME": `ceil(input / stride)` outputs, the padding shared by both ends, the odd one after.
    pub fn same(input: usize, taps: usize, stride: usize, dilation: usize) -> Option<Axis> {
        let output = input.checked_add(stride.checked_sub(1)?)? / stride;
        let reach = extent(taps, dilation)?;
        let covered = output.saturating_sub(1).checked_mul(stride)?.checked_add(reach)?;
        let pad_before = covered.saturating_sub(input) / 2;
        Axis { input, output, taps, stride, dilation, pad_before }.checked()
    }

    /// Padding "EXPLICIT".
    pub fn explicit(
        input: usize,
        taps: usize,
        stride: usize,
        dilation: usize,
        pad_before: usize,
        pad_after: usize,
    ) -> Option<Axis> {
        let padded = input.checked_add(pad_before)?.checked_add(pad_after)?;
        let reach = extent(taps, dilation)?;
        // (padded - reach + stride) / stride, cut towards zero; negative is an error.
        let output = match padded.checked_add(stride)?.checked_sub(reach) {
            Some(room) => room.checked_div(stride)?,
            None if reach - padded - stride < stride => 0,
            None => return None,
        };
        Axis { input, output, taps, stride, dilation, pad_before }.checked()
    }

    /// The input position under a tap, unless it is padding.
    #[inline(always)]
    pub fn source(&self, output: usize, tap: usize) -> Option<usize> {
        (output * self.stride + tap * self.dilation).checked_sub(self.pad_before).filter(|&i| i < self.input)
    }

    /// The output position that looks at an input position through a tap, if there is one.
    #[inline(always)]
    pub fn target(&self, input: usize, tap: usize) -> Option<usize> {
        let distance = (input + self.pad_before).checked_sub(tap * self.dilation)?;
        if distance % self.stride != 0 {
            return None;
        }
        Some(distance / self.stride).filter(|&o| o < self.output)
    }

    /// The input positions under a window without dilation, padding left out.
    #[inline(always)]
    pub fn span(&self, output: usize) -> core::ops::Range<usize> {
        let start = output * self.stride;
        let end = (start + self.taps).saturating_sub(self.pad_before).min(self.input);
        start.saturating_sub(self.pad_before).min(end)..end
    }

    /// The output positions whose windows, without dilation, are over an input position.
    #[inline(always)]
    pub fn viewers(&self, input: usize) -> core::ops::Range<usize> {
        let place = input + self.pad_before;
        let end = (place / self.stride + 1).min(self.output);
        let start = (place + 1).saturating_sub(self.taps).div_ceil(self.stride);
        start.min(end)..if self.taps == 0 { start.min(end) } else { end }
    }

    /// Output positions and input positions are the same and there is one tap.
    pub(crate) fn is_pointwise(&self) -> bool {
        self.taps == 1 && self.stride == 1 && self.pad_before == 0 && self.output == self.input
    }

    /// `self`, if no position computed from it can overflow.
    fn checked(self) -> Option<Axis> {
        let last = self.output.checked_mul(self.stride)?.checked_add(self.taps.checked_mul(self.dilation)?)?;
        let last = last.max(self.input).checked_add(self.pad_before)?;
        (self.stride > 0 && self.dilation > 0 && isize::try_from(last).is_ok()).then_some(self)
    }

    pub(crate) fn check(&self, argument: &'static str) -> Result<(), Mismatch> {
        self.checked().map(|_| ()).ok_or(Mismatch { argument })
    }
}

/// Input positions that a window reaches over.
fn extent(taps: usize, dilation: usize) -> Option<usize> {
    match taps.checked_sub(1) {
        Some(gaps) => gaps.checked_mul(dilation)?.checked_add(1),
        None => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes and paddings that TensorFlow gives.
    #[test]
    fn sizes() {
        let of = |a: Option<Axis>| a.map(|a| (a.output, a.pad_before));
        assert_eq!(of(Axis::valid(7, 3, 2, 1)), Some((3, 0)));
        assert_eq!(of(Axis::valid(7, 3, 1, 2)), Some((3, 0)));
        assert_eq!(of(Axis::valid(2, 3, 1, 1)), Some((0, 0)));
        assert_eq!(of(Axis::valid(1, 3, 1, 1)), None);
        assert_eq!(of(Axis::valid(1, 3, 2, 1)), Some((0, 0)));
        assert_eq!(of(Axis::same(7, 3, 2, 1)), Some((4, 1)));
        assert_eq!(of(Axis::same(6, 3, 2, 1)), Some((3, 0)));
        assert_eq!(of(Axis::same(5, 1, 3, 1)), Some((2, 0)));
        assert_eq!(of(Axis::same(0, 3, 2, 1)), Some((0, 1)));
        assert_eq!(of(Axis::explicit(5, 3, 1, 1, 2, 0)), Some((5, 2)));
        assert_eq!(of(Axis::valid(5, 3, 0, 1)), None);
        assert_eq!(of(Axis::valid(5, 3, 1, 0)), None);
        assert_eq!(of(Axis::same(usize::MAX, 3, 1, 1)), None);
        assert_eq!(of(Axis::same(5, usize::MAX, 1, 2)), None);
        assert_eq!(of(Axis::explicit(5, 3, 1, 1, usize::MAX, 0)), None);
    }

    /// `source` and `target` are inverse, and `span` is what `source` finds.
    #[test]
    fn positions() {
        for (input, taps, stride, dilation, before, after) in
            [(7, 3, 2, 1, 1, 1), (5, 2, 1, 3, 4, 4), (4, 3, 3, 1, 2, 2), (3, 2, 1, 1, 3, 3)]
        {
            let a = Axis::explicit(input, taps, stride, dilation, before, after).unwrap();
            for o in 0..a.output {
                let sources: alloc::vec::Vec<_> = (0..taps).filter_map(|t| a.source(o, t)).collect();
                if dilation == 1 {
                    assert_eq!(sources, a.span(o).collect::<alloc::vec::Vec<_>>());
                }
                for i in 0..input {
                    assert!(dilation > 1 || a.viewers(i).contains(&o) == a.span(o).contains(&i));
                    for t in 0..taps {
                        assert_eq!(a.source(o, t) == Some(i), a.target(i, t) == Some(o));
                    }
                }
            }
        }
    }
}
