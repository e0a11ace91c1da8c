//! Boxes of a tensor: plain and strided slices, read, written, and their gradients.

use crate::dims::{self, Dims, MAX_RANK};
use crate::error::{self, Error, Result};

/// Copies the box of `size` at `begin` out of `x`.
pub fn slice<T: Clone>(x: &[T], dims: &[usize], begin: &[usize], size: &[usize], out: &mut [T]) -> Result<()> {
    error::same(begin.len(), dims.len())?;
    error::same(size.len(), dims.len())?;
    let mut plan = Strided::whole(dims)?;
    for d in 0..dims.len() {
        if begin[d].checked_add(size[d]).is_none_or(|end| end > dims[d]) {
            return Err(Error::Argument);
        }
        plan.begin[d] = begin[d];
        plan.sizes.as_mut_slice()[d] = size[d];
    }
    plan.output = plan.sizes;
    plan.read(x, out)
}

/// The masks of a strided slice, bit `i` for the `i`-th entry of the specification.
#[derive(Clone, Copy, Debug, Default)]
pub struct Masks {
    /// `begin[i]` is ignored: from the start.
    pub begin: u32,
    /// `end[i]` is ignored: to the end.
    pub end: u32,
    /// The entry stands for all dimensions not named.
    pub ellipsis: u32,
    /// The entry inserts a dimension of one.
    pub new_axis: u32,
    /// The entry is one index; the dimension is dropped.
    pub shrink_axis: u32,
}

/// A strided slice resolved against a shape.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    dims: Dims,
    begin: [usize; MAX_RANK],
    steps: [isize; MAX_RANK],
    sizes: Dims,
    output: Dims,
}

impl Strided {
    /// All of a tensor of shape `dims`.
    pub fn whole(dims: &[usize]) -> Result<Self> {
        let dims = Dims::new(dims)?;
        Ok(Self { dims, begin: [0; MAX_RANK], steps: [1; MAX_RANK], sizes: dims, output: dims })
    }

    /// Resolves a specification as `StridedSlice` does. [`Error::Argument`] for a zero stride, two ellipses, more entries
    /// than dimensions, a shrunk index out of range or with a negative stride.
    pub fn new(dims: &[usize], begin: &[i64], end: &[i64], strides: &[i64], masks: Masks) -> Result<Self> {
        error::same(end.len(), begin.len())?;
        error::same(strides.len(), begin.len())?;
        let entries = begin.len();
        if entries >= 32 || strides.contains(&0) {
            return Err(Error::Argument);
        }
        let bit = |mask: u32, i: usize| mask >> i & 1 == 1;
        let ellipsis = (0..entries).find(|&i| bit(masks.ellipsis, i));
        if (0..entries).filter(|&i| bit(masks.ellipsis, i)).count() > 1 {
            return Err(Error::Argument);
        }
        let named = (0..entries).filter(|&i| Some(i) != ellipsis && !bit(masks.new_axis, i)).count();
        let spread = dims.len().checked_sub(named).ok_or(Error::Argument)?;
        let mut plan = Self { output: Dims::scalar(), ..Self::whole(dims)? };
        let mut d = 0;
        for i in 0..entries {
            if Some(i) == ellipsis {
                for _ in 0..spread {
                    plan.output.push(dims[d])?;
                    d += 1;
                }
            } else if bit(masks.new_axis, i) {
                plan.output.push(1)?;
            } else {
                let shrink = bit(masks.shrink_axis, i);
                let ends =
                    ((!bit(masks.begin, i) || shrink).then_some(begin[i]), (!bit(masks.end, i)).then_some(end[i]));
                let size = plan.resolve(d, ends, strides[i], shrink)?;
                if !shrink {
                    plan.output.push(size)?;
                }
                d += 1;
            }
        }
        for &size in &dims[d..] {
            plan.output.push(size)?;
        }
        Ok(plan)
    }

    /// Sets dimension `d` and gives its size.
    fn resolve(&mut self, d: usize, ends: (Option<i64>, Option<i64>), stride: i64, shrink: bool) -> Result<usize> {
        let dim = i64::try_from(self.dims[d]).map_err(|_| Error::Overflow)?;
        let forward = |x: i64| if x < 0 { x.saturating_add(dim) } else { x };
        let (first, size) = if shrink {
            let at = forward(ends.0.unwrap_or(0));
            if stride < 0 || at < 0 || at >= dim {
                return Err(Error::Argument);
            }
            (at, 1)
        } else {
            let (low, high) = if stride > 0 { (0, dim) } else { (-1, dim - 1) };
            let (start, stop) = if stride > 0 { (low, high) } else { (high, low) };
            let begin = ends.0.map_or(start, |x| forward(x).clamp(low, high.max(low)));
            let end = ends.1.map_or(stop, |x| forward(x).clamp(low, high.max(low)));
            let length = end - begin;
            let any = length != 0 && (length < 0) == (stride < 0);
            (begin, if any { length.unsigned_abs().div_ceil(stride.unsigned_abs()) } else { 0 })
        };
        let size = usize::try_from(size).map_err(|_| Error::Overflow)?;
        self.begin[d] = if size == 0 { 0 } else { usize::try_from(first).map_err(|_| Error::Overflow)? };
        // With at most one element the stride is never used, and may be anything.
        self.steps[d] = if size <= 1 { 1 } else { isize::try_from(stride).map_err(|_| Error::Overflow)? };
        self.sizes.as_mut_slice()[d] = size;
        Ok(size)
    }

    /// The shape of the result, with dimensions inserted and dropped.
    pub fn output(&self) -> &[usize] {
        &self.output
    }

    /// Whether the slice is all of the tensor, in order.
    pub fn is_whole(&self) -> bool {
        *self.sizes == *self.dims && self.steps.iter().all(|&s| s == 1)
    }

    /// If the slice is one contiguous run of the tensor: its first element and length.
    pub fn contiguous(&self) -> Option<(usize, usize)> {
        let n = dims::count(&self.sizes).ok()?;
        if n == 0 {
            return Some((0, 0));
        }
        let strides = dims::strides(&self.dims).ok()?;
        // Outer dimensions of one element, one with a range, and whole ones behind it.
        let first = self.sizes.iter().position(|&s| s != 1).unwrap_or(self.sizes.len());
        let rest = self.sizes.get(first + 1..).unwrap_or(&[]) == self.dims.get(first + 1..).unwrap_or(&[]);
        let forward = self.steps.iter().all(|&s| s == 1);
        let at = self.begin.iter().zip(strides.iter()).map(|(b, s)| b * s).sum();
        (rest && forward).then_some((at, n))
    }

    /// Copies the slice of `x` out.
    pub fn read<T: Clone>(&self, x: &[T], out: &mut [T]) -> Result<()> {
        error::same(x.len(), dims::count(&self.dims)?)?;
        error::same(out.len(), dims::count(&self.sizes)?)?;
        self.rows(|at, step, i, n| {
            let row = out.get_mut(i..i + n).ok_or(Error::Length)?;
            if step == 1 {
                row.clone_from_slice(x.get(at..at + n).ok_or(Error::Length)?);
            } else {
                for (k, o) in row.iter_mut().enumerate() {
                    *o = x.get(at.wrapping_add_signed(k as isize * step)).ok_or(Error::Length)?.clone();
                }
            }
            Ok(())
        })
    }

    /// Writes `value` into the slice of `x`.
    pub fn write<T: Clone>(&self, value: &[T], x: &mut [T]) -> Result<()> {
        error::same(x.len(), dims::count(&self.dims)?)?;
        error::same(value.len(), dims::count(&self.sizes)?)?;
        self.rows(|at, step, i, n| {
            let row = value.get(i..i + n).ok_or(Error::Length)?;
            if step == 1 {
                x.get_mut(at..at + n).ok_or(Error::Length)?.clone_from_slice(row);
            } else {
                for (k, v) in row.iter().enumerate() {
                    *x.get_mut(at.wrapping_add_signed(k as isize * step)).ok_or(Error::Length)? = v.clone();
                }
            }
            Ok(())
        })
    }

    /// The gradient of [`read`](Self::read): `zero` everywhere but in the slice, which holds `dy`.
    pub fn gradient<T: Clone>(&self, dy: &[T], zero: T, dx: &mut [T]) -> Result<()> {
        dx.fill(zero);
        self.write(dy, dx)
    }

    /// Calls `f(first element in the tensor, step, first element in the slice, length)` for each row of the slice.
    fn rows(&self, mut f: impl FnMut(usize, isize, usize, usize) -> Result<()>) -> Result<()> {
        let n = dims::count(&self.sizes)?;
        if n == 0 {
            return Ok(());
        }
        let strides = dims::strides(&self.dims)?;
        // Trailing whole dimensions are one row.
        let mut rank = self.dims.len();
        let mut width = 1;
        while rank > 0 && self.sizes[rank - 1] == self.dims[rank - 1] && self.steps[rank - 1] == 1 {
            rank -= 1;
            width *= self.dims[rank];
        }
        let (mut step, mut first) = (1, 0);
        if rank > 0 {
            rank -= 1;
            // A dimension with a step of one, or the innermost of all, lengthens the row.
            if self.steps[rank] == 1 || width == 1 {
                step = self.steps[rank];
                first = self.begin[rank] * strides[rank];
                width *= self.sizes[rank];
            } else {
                rank += 1;
            }
        }
        let mut at = [0usize; MAX_RANK];
        let mut done = 0;
        while done < n {
            let mut offset = first;
            for d in 0..rank {
                let index = self.begin[d].wrapping_add_signed(at[d] as isize * self.steps[d]);
                offset = offset.wrapping_add(index.wrapping_mul(strides[d]));
            }
            f(offset, step, done, width)?;
            done += width;
            for d in (0..rank).rev() {
                at[d] += 1;
                if at[d] < self.sizes[d] {
                    break;
                }
                at[d] = 0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        dims: &[usize],
        begin: &[i64],
        end: &[i64],
        strides: &[i64],
        masks: Masks,
    ) -> Result<(Dims, [u8; 24], usize)> {
        let x: [u8; 24] = core::array::from_fn(|i| i as u8);
        let plan = Strided::new(dims, begin, end, strides, masks)?;
        let n = dims::count(plan.output())?;
        let mut out = [0; 24];
        plan.read(&x[..dims::count(dims)?], &mut out[..n])?;
        if let Some((at, len)) = plan.contiguous() {
            assert_eq!((&x[at..at + len], len), (&out[..n], n));
        }
        // Writing back what was read changes nothing, and the gradient has the slice in place.
        let mut y = x;
        plan.write(&out[..n], &mut y[..dims::count(dims)?])?;
        assert_eq!(x, y);
        Ok((plan.output, out, n))
    }

    #[test]
    fn slices() {
        let x: [u8; 24] = core::array::from_fn(|i| i as u8);
        let mut out = [0; 4];
        slice(&x, &[2, 3, 4], &[0, 1, 2], &[2, 1, 2], &mut out).unwrap();
        assert_eq!(out, [6, 7, 18, 19]);
        slice(&x, &[2, 3, 4], &[1, 2, 0], &[1, 1, 4], &mut out).unwrap();
        assert_eq!(out, [20, 21, 22, 23]);
        assert_eq!(slice(&x, &[2, 3, 4], &[0, 1, 3], &[2, 1, 2], &mut out), Err(Error::Argument));
        slice(&x, &[2, 3, 4], &[0, 3, 0], &[2, 0, 4], &mut []).unwrap();
    }

    /// Specifications in Python's notation with numpy's answers.
    #[test]
    fn strided_slices() {
        let d = [2usize, 3, 4];
        let m = Masks::default();
        type Case<'a> = (&'a str, &'a [i64], &'a [i64], &'a [i64], Masks, &'a [usize], &'a [u8]);
        let cases: &[Case] = &[
            ("x[1]", &[1], &[2], &[1], Masks { shrink_axis: 1, ..m }, &[3, 4], &[12, 13, 14, 15]),
            ("x[-1]", &[-1], &[0], &[1], Masks { shrink_axis: 1, ..m }, &[3, 4], &[12, 13, 14, 15]),
            (
                "x[..., 1]",
                &[0, 1],
                &[0, 2],
                &[1, 1],
                Masks { ellipsis: 1, shrink_axis: 2, ..m },
                &[2, 3],
                &[1, 5, 9, 13, 17, 21],
            ),
            (
                "x[:, ::-1]",
                &[0, 0],
                &[0, 0],
                &[1, -1],
                Masks { begin: 3, end: 3, ..m },
                &[2, 3, 4],
                &[8, 9, 10, 11, 4, 5],
            ),
            (
                "x[0, 0, ::-2]",
                &[0, 0, 0],
                &[1, 1, 0],
                &[1, 1, -2],
                Masks { begin: 4, end: 4, shrink_axis: 3, ..m },
                &[2],
                &[3, 1],
            ),
            (
                "x[:, 1:100:2, 3:0:-2]",
                &[0, 1, 3],
                &[0, 100, 0],
                &[1, 2, -2],
                Masks { begin: 1, end: 1, ..m },
                &[2, 1, 2],
                &[7, 5, 19, 17],
            ),
            (
                "x[new, 1, ..., new]",
                &[0, 1, 0, 0],
                &[0, 2, 0, 0],
                &[1; 4],
                Masks { new_axis: 9, shrink_axis: 2, ellipsis: 4, ..m },
                &[1, 3, 4, 1],
                &[12, 13],
            ),
            ("x[:, 2:1]", &[0, 2], &[0, 1], &[1, 1], Masks { begin: 1, end: 1, ..m }, &[2, 0, 4], &[]),
            ("x[:, -2:]", &[0, -2], &[0, 0], &[1, 1], Masks { begin: 1, end: 3, ..m }, &[2, 2, 4], &[4, 5, 6, 7, 8]),
            ("x[::2]", &[0], &[0], &[2], Masks { begin: 1, end: 1, ..m }, &[1, 3, 4], &[0, 1, 2]),
            (
                "x[:, ::2, ::2]",
                &[0; 3],
                &[0; 3],
                &[1, 2, 2],
                Masks { begin: 7, end: 7, ..m },
                &[2, 2, 2],
                &[0, 2, 8, 10, 12, 14, 20, 22],
            ),
        ];
        for (name, begin, end, strides, masks, shape, values) in cases {
            let (found, out, n) = read(&d, begin, end, strides, *masks).unwrap();
            assert_eq!(&*found, *shape, "{name}");
            assert_eq!(&out[..values.len().min(n)], *values, "{name}");
        }
        // The empty tensor, a scalar, and clamping of extreme bounds.
        assert_eq!(read(&[0, 2], &[0], &[5], &[1], m).unwrap().2, 0);
        assert_eq!(read(&[0], &[0], &[5], &[-1], m).unwrap().2, 0);
        assert_eq!(read(&[], &[], &[], &[], m).unwrap().2, 1);
        assert_eq!(read(&[3], &[i64::MIN], &[i64::MAX], &[i64::MAX], m).unwrap().2, 1);
        assert_eq!(read(&[3], &[i64::MAX], &[i64::MIN], &[i64::MIN], m).unwrap().1[0], 2);
    }

    #[test]
    fn refused_and_gradient() {
        let m = Masks::default();
        for (begin, strides, masks) in [
            (&[0i64][..], &[0i64][..], m),
            (&[2], &[1], Masks { shrink_axis: 1, ..m }),
            (&[-3], &[1], Masks { shrink_axis: 1, ..m }),
            (&[0], &[-1], Masks { shrink_axis: 1, ..m }),
            (&[0; 4], &[1; 4], m),
            (&[0; 2], &[1; 2], Masks { ellipsis: 3, ..m }),
        ] {
            assert_eq!(read(&[2, 3, 4], begin, begin, strides, masks).unwrap_err(), Error::Argument);
        }
        let plan = Strided::new(&[5], &[3], &[-100], &[-2], m).unwrap();
        let mut dx = [9; 5];
        plan.gradient(&[1, 2], 0, &mut dx).unwrap();
        assert_eq!(dx, [0, 2, 0, 1, 0]);
        assert_eq!(plan.gradient(&[1], 0, &mut dx), Err(Error::Length));
    }
}
