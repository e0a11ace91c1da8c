//! Writing by index: rows of a tensor replaced, added to, or otherwise updated in the order of the indices.
//!
//! All indices are checked before anything is written.

use super::gather::flatten;
use crate::dims;
use crate::element::Integer;
use crate::error::{self, Error, Result};

/// Where updates go in a tensor of shape `dims`: each row of `depth` indices names a slice.
#[derive(Clone, Copy, Debug)]
pub struct Scatter<'a, I> {
    /// Shape of the tensor.
    pub dims: &'a [usize],
    /// Coordinates, row after row.
    pub indices: &'a [I],
    /// Coordinates in a row; one for `ScatterUpdate` and its relatives, `indices.shape[-1]` for `ScatterNd`. Rows of no
    /// coordinates name the whole tensor.
    pub depth: usize,
    /// Rows that point outside are left out instead of refused.
    pub skips: bool,
}

impl<I: Integer> Scatter<'_, I> {
    /// Elements in a slice.
    fn inner(&self) -> Result<usize> {
        dims::count(self.dims.get(self.depth..).ok_or(Error::Argument)?)
    }

    /// Calls `f(number of the row, first element of the slice)` for each row of indices, after checking all.
    fn rows(&self, inner: usize, mut f: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        error::same(self.indices.len() % self.depth, 0)?;
        let rows = || self.indices.chunks_exact(self.depth).enumerate();
        for (position, index) in rows() {
            if let (Err((index, limit)), false) = (flatten(index, self.dims), self.skips) {
                return Err(Error::IndexOutOfRange { position, index, limit });
            }
        }
        for (position, index) in rows() {
            if let Ok(row) = flatten(index, self.dims) {
                f(position, row * inner)?;
            }
        }
        Ok(())
    }

    /// `op(tensor[slice], updates[row])` for each row in order. Updates of one element serve for all, and come to `op`
    /// as one. The error's position is the row of indices.
    pub fn run<T, U>(&self, tensor: &mut [T], updates: &[U], op: impl Fn(&mut [T], &[U]) -> Result<()>) -> Result<()> {
        let inner = self.inner()?;
        error::same(tensor.len(), dims::count(self.dims)?)?;
        if self.depth == 0 {
            if inner == 0 {
                return Ok(());
            }
            error::same(updates.len() % inner, 0)?;
            return updates.chunks_exact(inner).try_for_each(|from| op(tensor, from));
        }
        let all = (self.indices.len() / self.depth).checked_mul(inner).ok_or(Error::Overflow)?;
        let one = updates.len() == 1 && all != 1;
        if !one {
            error::same(updates.len(), all)?;
        }
        self.rows(inner, |row, at| {
            let from = if one { Some(updates) } else { updates.get(row * inner..(row + 1) * inner) };
            match (tensor.get_mut(at..at + inner), from) {
                (Some(to), Some(from)) => op(to, from),
                _ => Err(Error::Length),
            }
        })
    }
}

/// Puts updates in place of what was there: an operation for [`Scatter::run`].
pub fn replace<T: Clone>(to: &mut [T], from: &[T]) -> Result<()> {
    match from {
        [one] => to.fill(one.clone()),
        from if from.len() == to.len() => to.clone_from_slice(from),
        _ => return Err(Error::Length),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::{Add, Maximum, run_in_place};

    #[test]
    fn updates_in_order() {
        let mut t = [0i32; 6];
        let s = Scatter { dims: &[3, 2], indices: &[2i32, 0, 2], depth: 1, skips: false };
        s.run(&mut t, &[1, 2, 3, 4, 5, 6], run_in_place::<Add, i32>).unwrap();
        assert_eq!(t, [3, 4, 0, 0, 6, 8]);
        s.run(&mut t, &[1, 2, 3, 4, 5, 6], replace).unwrap();
        assert_eq!(t, [3, 4, 0, 0, 5, 6]);
        s.run(&mut t, &[9], replace).unwrap();
        assert_eq!(t, [9, 9, 0, 0, 9, 9]);
        let nd = Scatter { dims: &[3, 2], indices: &[1i64, 1, 0, 0], depth: 2, skips: false };
        nd.run(&mut t, &[7, 8], run_in_place::<Maximum, i32>).unwrap();
        assert_eq!(t, [9, 9, 0, 7, 9, 9]);
        let all = Scatter { dims: &[3, 2], indices: &[] as &[i32], depth: 0, skips: false };
        all.run(&mut t, &[1; 12], run_in_place::<Add, i32>).unwrap();
        assert_eq!(t, [11, 11, 2, 9, 11, 11]);
    }

    #[test]
    fn writes_nothing_if_any_index_is_bad() {
        let mut t = [0i32; 3];
        let s = Scatter { dims: &[3], indices: &[0i32, 3], depth: 1, skips: false };
        let bad = Error::IndexOutOfRange { position: 1, index: 3, limit: 3 };
        assert_eq!(s.run(&mut t, &[1, 2], replace), Err(bad));
        assert_eq!(t, [0; 3]);
        assert_eq!(s.run(&mut t, &[1, 2, 3], replace), Err(Error::Length));
        Scatter { skips: true, ..s }.run(&mut t, &[1, 2], replace).unwrap();
        assert_eq!(t, [1, 0, 0]);
        let deep = Scatter { dims: &[3], indices: &[0i32, 0], depth: 2, skips: false };
        assert_eq!(deep.run(&mut t, &[1], replace), Err(Error::Argument));
        let none = Scatter { dims: &[0], indices: &[0i32; 0], depth: 1, skips: false };
        none.run(&mut [] as &mut [i32], &[], replace).unwrap();
    }
}
