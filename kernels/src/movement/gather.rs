//! Reading by index: whole slices along an axis, or single places given by coordinates.

use crate::dims;
use crate::element::Integer;
use crate::error::{self, Error, Result};

/// The view of a gather: `params` is `[batch, outer, limit, inner]`, the indices `[batch, n]`.
#[derive(Clone, Copy, Debug)]
pub struct Gather {
    /// Product of the batch dimensions.
    pub batch: usize,
    /// Product of the dimensions between batch and axis.
    pub outer: usize,
    /// Size of the axis.
    pub limit: usize,
    /// Product of the dimensions behind the axis.
    pub inner: usize,
}

impl Gather {
    /// The view of `dims` with its first `batch_dims` dimensions as batch, gathered along `axis`.
    pub fn new(dims: &[usize], axis: usize, batch_dims: usize) -> Result<Self> {
        if batch_dims > axis || axis >= dims.len() {
            return Err(Error::Argument);
        }
        Ok(Self {
            batch: dims::count(&dims[..batch_dims])?,
            outer: dims::count(&dims[batch_dims..axis])?,
            limit: dims[axis],
            inner: dims::count(&dims[axis + 1..])?,
        })
    }

    /// `out[b, o, i] = params[b, o, indices[b, i]]`, with [`Error::IndexOutOfRange`] for an index outside the axis.
    pub fn run<T: Clone, I: Integer>(&self, params: &[T], indices: &[I], out: &mut [T]) -> Result<()> {
        let Self { batch, outer, limit, inner } = *self;
        let slab = limit.checked_mul(inner).ok_or(Error::Overflow)?;
        error::same(params.len(), batch.checked_mul(outer).and_then(|n| n.checked_mul(slab)).ok_or(Error::Overflow)?)?;
        let n = indices.len().checked_div(batch).unwrap_or(0);
        error::same(indices.len(), n * batch)?;
        let wanted = indices.len().checked_mul(outer).and_then(|n| n.checked_mul(inner)).ok_or(Error::Overflow)?;
        error::same(out.len(), wanted)?;
        check(indices, limit)?;
        if out.is_empty() {
            return Ok(());
        }
        for (row, to) in out.chunks_exact_mut(n * inner).enumerate() {
            let slab = params.get(row * slab..(row + 1) * slab).ok_or(Error::Length)?;
            let indices = indices.get(row / outer * n..(row / outer + 1) * n).ok_or(Error::Length)?;
            if inner == 1 {
                for (o, i) in to.iter_mut().zip(indices) {
                    *o = i.to_index().and_then(|i| slab.get(i)).ok_or(Error::Length)?.clone();
                }
            } else {
                for (o, i) in to.chunks_exact_mut(inner).zip(indices) {
                    let at = i.to_index().ok_or(Error::Length)? * inner;
                    o.clone_from_slice(slab.get(at..at + inner).ok_or(Error::Length)?);
                }
            }
        }
        Ok(())
    }
}

/// [`Error::IndexOutOfRange`] for the first index outside `[0, limit)`.
pub fn check<I: Integer>(indices: &[I], limit: usize) -> Result<()> {
    match indices.iter().position(|i| i.to_index().is_none_or(|i| i >= limit)) {
        Some(position) => Err(Error::IndexOutOfRange { position, index: indices[position].to_i64(), limit }),
        None => Ok(()),
    }
}

/// Where the coordinates `index` point in a tensor whose leading dimensions are `dims`: the flat row, or the first
/// coordinate that is out of range.
pub(super) fn flatten<I: Integer>(index: &[I], dims: &[usize]) -> core::result::Result<usize, (i64, usize)> {
    let mut row = 0usize;
    for (i, &limit) in index.iter().zip(dims) {
        match i.to_index() {
            Some(at) if at < limit => row = row * limit + at,
            _ => return Err((i.to_i64(), limit)),
        }
    }
    Ok(row)
}

/// `out[r] = params[indices[r, 0], …, indices[r, depth − 1]]`. The error's position is the row `r`. Where a row points
/// outside and `outside` is a value, the slice is filled with it instead.
pub fn gather_nd<T: Clone, I: Integer>(
    params: &[T],
    dims: &[usize],
    indices: &[I],
    depth: usize,
    outside: Option<&T>,
    out: &mut [T],
) -> Result<()> {
    if depth > dims.len() {
        return Err(Error::Argument);
    }
    error::same(params.len(), dims::count(dims)?)?;
    let inner = dims::count(&dims[depth..])?;
    if depth == 0 {
        // Each (empty) row of indices names the whole tensor.
        if inner > 0 {
            error::same(out.len() % inner, 0)?;
            out.chunks_exact_mut(inner).for_each(|o| o.clone_from_slice(params));
        }
        return Ok(());
    }
    error::same(indices.len() % depth, 0)?;
    let rows = indices.len() / depth;
    error::same(out.len(), rows.checked_mul(inner).ok_or(Error::Overflow)?)?;
    for (position, index) in indices.chunks_exact(depth).enumerate() {
        let to = out.get_mut(position * inner..(position + 1) * inner).ok_or(Error::Length)?;
        match (flatten(index, dims), outside) {
            (Ok(row), _) => to.clone_from_slice(params.get(row * inner..(row + 1) * inner).ok_or(Error::Length)?),
            (Err(_), Some(value)) => to.fill(value.clone()),
            (Err((index, limit)), None) => return Err(Error::IndexOutOfRange { position, index, limit }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathers_along_axes_and_in_batches() {
        let x: [u8; 24] = core::array::from_fn(|i| i as u8);
        let mut out = [0; 16];
        Gather::new(&[2, 3, 4], 1, 0).unwrap().run(&x, &[2i32, 0], &mut out).unwrap();
        assert_eq!(out, [8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13, 14, 15]);
        Gather::new(&[2, 3, 4], 2, 1).unwrap().run(&x, &[3i64, 1, 0, 2], &mut out[..12]).unwrap();
        assert_eq!(out[..12], [3, 1, 7, 5, 11, 9, 12, 14, 16, 18, 20, 22]);
        let mut text = [""; 2];
        Gather::new(&[3], 0, 0).unwrap().run(&["a", "b", "c"], &[2u16, 1], &mut text).unwrap();
        assert_eq!(text, ["c", "b"]);
        Gather::new(&[3, 0], 0, 0).unwrap().run(&[0u8; 0], &[2i32], &mut []).unwrap();
    }

    #[test]
    fn tells_which_index_is_out_of_range() {
        let g = Gather::new(&[3], 0, 0).unwrap();
        let mut out = [0; 3];
        let bad = Error::IndexOutOfRange { position: 1, index: -1, limit: 3 };
        assert_eq!(g.run(&[1, 2, 3], &[0i32, -1, 7], &mut out), Err(bad));
        let bad = Error::IndexOutOfRange { position: 2, index: 3, limit: 3 };
        assert_eq!(g.run(&[1, 2, 3], &[0i64, 1, 3], &mut out), Err(bad));
        assert_eq!(Gather::new(&[3], 1, 0).unwrap_err(), Error::Argument);
        let bad = Error::IndexOutOfRange { position: 1, index: 2, limit: 2 };
        assert_eq!(gather_nd(&[1, 2, 3, 4], &[2, 2], &[0i32, 0, 1, 2], 2, None, &mut out[..2]), Err(bad));
    }

    #[test]
    fn gathers_by_coordinates() {
        let mut out = [0; 4];
        gather_nd(&[1, 2, 3, 4], &[2, 2], &[1i64, 0, 0, 1], 2, None, &mut out[..2]).unwrap();
        assert_eq!(out[..2], [3, 2]);
        gather_nd(&[1, 2, 3, 4], &[2, 2], &[1i64, 0], 1, None, &mut out).unwrap();
        assert_eq!(out, [3, 4, 1, 2]);
        gather_nd(&[1, 2], &[2], &[] as &[i32], 0, None, &mut out).unwrap();
        assert_eq!(out, [1, 2, 1, 2]);
        gather_nd(&[1, 2], &[2], &[1i32, 2, -1, 0], 1, Some(&9), &mut out).unwrap();
        assert_eq!(out, [2, 9, 9, 1]);
    }
}
