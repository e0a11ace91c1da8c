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
    /// Coordinates in a row; one for `ScatterUpdate` and its relatives, `indices.shape[-1]` for `ScatterNd`.
    pub depth: usize,
}

impl<I: Integer> Scatter<'_, I> {
    /// Elements in a slice.
    fn inner(&self) -> Result<usize> {
        dims::count(self.dims.get(self.depth..).ok_or(Error::Argument)?)
    }

    /// Calls `f(number of the row, first element of the slice)` for each row of indices, after checking all.
    fn rows(&self, inner: usize, mut f: impl FnMut(usize, usize)) -> Result<()> {
        if self.depth == 0 {
            return Err(Error::Argument);
        }
        error::same(self.indices.len() % self.depth, 0)?;
        let rows = || self.indices.chunks_exact(self.depth);
        for (position, index) in rows().enumerate() {
            flatten(index, self.dims).map_err(|(index, limit)| Error::IndexOutOfRange { position, index, limit })?;
        }
        for (position, index) in rows().enumerate() {
            if let Ok(row) = flatten(index, self.dims) {
                f(position, row * inner);
            }
        }
        Ok(())
    }

    /// `op(&mut tensor[slice][k], &updates[row][k])` for each row in order. Updates of one element serve for all.
    /// The error's position is the row of indices.
    pub fn run<T, U>(&self, tensor: &mut [T], updates: &[U], op: impl Fn(&mut T, &U)) -> Result<()> {
        let inner = self.inner()?;
        error::same(tensor.len(), dims::count(self.dims)?)?;
        let rows = self.indices.len() / self.depth.max(1);
        let all = rows.checked_mul(inner).ok_or(Error::Overflow)?;
        if let ([one], true) = (updates, all != 1) {
            return self.rows(inner, |_, at| {
                tensor.iter_mut().skip(at).take(inner).for_each(|t| op(t, one));
            });
        }
        error::same(updates.len(), all)?;
        self.rows(inner, |row, at| {
            if let (Some(to), Some(from)) =
                (tensor.get_mut(at..at + inner), updates.get(row * inner..(row + 1) * inner))
            {
                to.iter_mut().zip(from).for_each(|(t, u)| op(t, u));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Number;

    #[test]
    fn updates_in_order() {
        let mut t = [0i32; 6];
        let s = Scatter { dims: &[3, 2], indices: &[2i32, 0, 2], depth: 1 };
        s.run(&mut t, &[1, 2, 3, 4, 5, 6], |t, u| *t = t.plus(*u)).unwrap();
        assert_eq!(t, [3, 4, 0, 0, 6, 8]);
        s.run(&mut t, &[1, 2, 3, 4, 5, 6], |t, u| *t = *u).unwrap();
        assert_eq!(t, [3, 4, 0, 0, 5, 6]);
        s.run(&mut t, &[9], |t, u| *t = *u).unwrap();
        assert_eq!(t, [9, 9, 0, 0, 9, 9]);
        let nd = Scatter { dims: &[3, 2], indices: &[1i64, 1, 0, 0], depth: 2 };
        nd.run(&mut t, &[7, 8], |t, u| *t = (*t).max(*u)).unwrap();
        assert_eq!(t, [9, 9, 0, 7, 9, 9]);
    }

    #[test]
    fn writes_nothing_if_any_index_is_bad() {
        let mut t = [0i32; 3];
        let s = Scatter { dims: &[3], indices: &[0i32, 3], depth: 1 };
        let bad = Error::IndexOutOfRange { position: 1, index: 3, limit: 3 };
        assert_eq!(s.run(&mut t, &[1, 2], |t, u| *t = *u), Err(bad));
        assert_eq!(t, [0; 3]);
        assert_eq!(s.run(&mut t, &[1, 2, 3], |t, u| *t = *u), Err(Error::Length));
        let deep = Scatter { dims: &[3], indices: &[0i32, 0], depth: 2 };
        assert_eq!(deep.run(&mut t, &[1], |t, u| *t = *u), Err(Error::Argument));
        let none = Scatter { dims: &[0], indices: &[0i32; 0], depth: 1 };
        none.run(&mut [] as &mut [i32], &[], |t, u| *t = *u).unwrap();
    }
}
