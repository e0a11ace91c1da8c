//! Shapes inside the kernels: at most eight sizes, without heap.

use core::ops::Deref;

use crate::error::{Error, Result};

/// Most dimensions a kernel takes.
pub const MAX_RANK: usize = 8;

/// A list of at most [`MAX_RANK`] sizes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Dims {
    sizes: [usize; MAX_RANK],
    rank: u8,
}

impl Dims {
    /// No dimensions: the shape of a scalar.
    pub const fn scalar() -> Self {
        Self { sizes: [0; MAX_RANK], rank: 0 }
    }

    /// A copy of `sizes`; [`Error::Rank`] above eight.
    pub fn new(sizes: &[usize]) -> Result<Self> {
        let mut d = Self::scalar();
        d.sizes.get_mut(..sizes.len()).ok_or(Error::Rank)?.copy_from_slice(sizes);
        d.rank = sizes.len() as u8;
        Ok(d)
    }

    /// `rank` times `size`.
    pub fn filled(size: usize, rank: usize) -> Result<Self> {
        if rank > MAX_RANK { Err(Error::Rank) } else { Ok(Self { sizes: [size; MAX_RANK], rank: rank as u8 }) }
    }

    /// Appends one dimension.
    pub fn push(&mut self, size: usize) -> Result<()> {
        *self.sizes.get_mut(self.rank as usize).ok_or(Error::Rank)? = size;
        self.rank += 1;
        Ok(())
    }

    /// The sizes, writable.
    pub fn as_mut_slice(&mut self) -> &mut [usize] {
        &mut self.sizes[..self.rank as usize]
    }

    /// Row-major strides in elements; [`Error::Overflow`] if they do not fit.
    pub fn strides(&self) -> Result<Dims> {
        strides(self)
    }
}

impl Deref for Dims {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.sizes[..self.rank as usize]
    }
}

impl core::fmt::Debug for Dims {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        (**self).fmt(f)
    }
}

/// Number of elements of a shape. Zero wins over overflow: `[0, huge, huge]` has none.
#[inline]
pub fn count(dims: &[usize]) -> Result<usize> {
    if dims.contains(&0) {
        return Ok(0);
    }
    dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).ok_or(Error::Overflow)
}

/// Row-major strides in elements, saturating where the shape has no elements.
pub fn strides(dims: &[usize]) -> Result<Dims> {
    count(dims)?;
    let mut s = Dims::filled(1, dims.len())?;
    let mut step = 1usize;
    for (slot, &d) in s.as_mut_slice().iter_mut().zip(dims).rev() {
        *slot = step;
        step = step.saturating_mul(d);
    }
    Ok(s)
}

/// `axis` in `[-rank, rank)` as an index from the front.
pub fn axis(axis: i64, rank: usize) -> Result<usize> {
    let a = if axis < 0 { axis.checked_add(rank as i64).ok_or(Error::Argument)? } else { axis };
    if a < 0 || a >= rank as i64 { Err(Error::Argument) } else { Ok(a as usize) }
}

/// Sizes before, at and after an axis: the view `[outer, n, inner]` most kernels need.
pub fn around(dims: &[usize], axis: usize) -> Result<(usize, usize, usize)> {
    let n = *dims.get(axis).ok_or(Error::Argument)?;
    Ok((count(&dims[..axis])?, n, count(&dims[axis + 1..])?))
}

/// Offsets of a strided box, in row-major order of its indices.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    rank: usize,
    sizes: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
    at: [usize; MAX_RANK],
    offset: usize,
}

impl Walk {
    /// A walk over `sizes`, advancing by `strides`; the two have equal lengths.
    pub fn new(sizes: &[usize], strides: &[usize]) -> Result<Self> {
        let mut walk =
            Self { rank: sizes.len(), sizes: [1; MAX_RANK], strides: [0; MAX_RANK], at: [0; MAX_RANK], offset: 0 };
        walk.sizes.get_mut(..sizes.len()).ok_or(Error::Rank)?.copy_from_slice(sizes);
        if strides.len() != sizes.len() {
            return Err(Error::Length);
        }
        walk.strides[..strides.len()].copy_from_slice(strides);
        Ok(walk)
    }

    /// The offset here.
    #[inline(always)]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Goes to the `index`-th place.
    pub fn seek(&mut self, index: usize) {
        let mut rest = index;
        self.offset = 0;
        for d in (0..self.rank).rev() {
            let size = self.sizes[d].max(1);
            self.at[d] = rest % size;
            rest /= size;
            self.offset += self.at[d] * self.strides[d];
        }
    }

    /// Goes one place on; after the last, back to the first.
    #[inline]
    pub fn advance(&mut self) {
        for d in (0..self.rank).rev() {
            self.at[d] += 1;
            self.offset += self.strides[d];
            if self.at[d] < self.sizes[d] {
                return;
            }
            self.offset -= self.at[d] * self.strides[d];
            self.at[d] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_strides() {
        assert_eq!(count(&[]), Ok(1));
        assert_eq!(count(&[2, 3, 4]), Ok(24));
        assert_eq!(count(&[usize::MAX, 2]), Err(Error::Overflow));
        assert_eq!(count(&[usize::MAX, 2, 0]), Ok(0));
        assert_eq!(&*strides(&[2, 3, 4]).unwrap(), &[12, 4, 1]);
        assert_eq!(Dims::new(&[1; 9]), Err(Error::Rank));
        assert_eq!(axis(-1, 3), Ok(2));
        assert_eq!(axis(3, 3), Err(Error::Argument));
        assert_eq!(axis(i64::MIN, 3), Err(Error::Argument));
        assert_eq!(around(&[2, 3, 4], 1), Ok((2, 3, 4)));
    }
}
