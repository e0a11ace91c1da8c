//! Joining and splitting along an axis: one input into its place, or one output out of it, at a time.
//!
//! `Concat` calls [`put`] once an input, `Split` calls [`take`] once an output; `Pack` and `Unpack` are the same with
//! pieces of size one.

use crate::error::{self, Error, Result};

/// Where a piece lies along the joined axis.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Elements before the axis: the product of the dimensions in front.
    pub outer: usize,
    /// Elements after the axis: the product of the dimensions behind.
    pub inner: usize,
    /// Size of the whole along the axis.
    pub total: usize,
    /// Where the piece begins along the axis.
    pub begin: usize,
    /// Size of the piece along the axis.
    pub size: usize,
}

impl Piece {
    /// Elements of the piece's row, of the whole's row, and where the first begins; checks both lengths.
    fn rows(&self, piece: usize, whole: usize) -> Result<(usize, usize, usize)> {
        let fits = self.begin.checked_add(self.size).is_some_and(|end| end <= self.total);
        if !fits {
            return Err(Error::Argument);
        }
        let row = self.total.checked_mul(self.inner).ok_or(Error::Overflow)?;
        let part = self.size * self.inner;
        error::same(whole, row.checked_mul(self.outer).ok_or(Error::Overflow)?)?;
        error::same(piece, part * self.outer)?;
        Ok((part, row, self.begin * self.inner))
    }
}

/// Copies `x` into its place in `whole`.
pub fn put<T: Clone>(at: Piece, x: &[T], whole: &mut [T]) -> Result<()> {
    let (part, row, begin) = at.rows(x.len(), whole.len())?;
    if part == 0 {
        return Ok(());
    }
    for (to, from) in whole.chunks_exact_mut(row).zip(x.chunks_exact(part)) {
        to[begin..begin + part].clone_from_slice(from);
    }
    Ok(())
}

/// Copies a piece of `whole` out.
pub fn take<T: Clone>(at: Piece, whole: &[T], out: &mut [T]) -> Result<()> {
    let (part, row, begin) = at.rows(out.len(), whole.len())?;
    if part == 0 {
        return Ok(());
    }
    for (from, to) in whole.chunks_exact(row).zip(out.chunks_exact_mut(part)) {
        to.clone_from_slice(&from[begin..begin + part]);
    }
    Ok(())
}

/// Joins `inputs`, each with its size along the axis, into `out` of shape `[outer, Σ sizes, inner]`.
pub fn concat<T: Clone>(inputs: &[(&[T], usize)], outer: usize, inner: usize, out: &mut [T]) -> Result<()> {
    let total = inputs.iter().try_fold(0usize, |n, i| n.checked_add(i.1)).ok_or(Error::Overflow)?;
    let mut begin = 0;
    for &(x, size) in inputs {
        put(Piece { outer, inner, total, begin, size }, x, out)?;
        begin += size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_and_splits() {
        let mut out = [0; 10];
        concat(&[(&[1, 2, 3, 4], 2), (&[][..], 0), (&[5, 6, 7, 8, 9, 10], 3)], 2, 1, &mut out).unwrap();
        assert_eq!(out, [1, 2, 5, 6, 7, 3, 4, 8, 9, 10]);
        let mut back = [0; 6];
        take(Piece { outer: 2, inner: 1, total: 5, begin: 2, size: 3 }, &out, &mut back).unwrap();
        assert_eq!(back, [5, 6, 7, 8, 9, 10]);
        // Pack of three pairs along the last axis.
        let mut packed = [""; 6];
        for (begin, x) in [["a", "b"], ["c", "d"], ["e", "f"]].iter().enumerate() {
            put(Piece { outer: 2, inner: 1, total: 3, begin, size: 1 }, x, &mut packed).unwrap();
        }
        assert_eq!(packed, ["a", "c", "e", "b", "d", "f"]);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let piece = Piece { outer: 2, inner: 1, total: 5, begin: 3, size: 3 };
        assert_eq!(put(piece, &[0; 6], &mut [0; 10]), Err(Error::Argument));
        let piece = Piece { begin: 2, ..piece };
        assert_eq!(put(piece, &[0; 5], &mut [0; 10]), Err(Error::Length));
        assert_eq!(take(piece, &[0; 9], &mut [0; 6]), Err(Error::Length));
        assert_eq!(put(Piece { inner: usize::MAX, ..piece }, &[0; 6], &mut [0; 10]), Err(Error::Overflow));
    }
}
