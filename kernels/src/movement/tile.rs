//! Repetition of a tensor along its axes, and its gradient by sums.

use crate::broadcast::broadcast_to;
use crate::dims::{self, Dims, MAX_RANK, Walk};
use crate::element::Number;
use crate::error::{self, Error, Result};

/// The shape of `dims` repeated `multiples` times.
pub fn tiled(dims: &[usize], multiples: &[usize]) -> Result<Dims> {
    error::same(multiples.len(), dims.len())?;
    let mut out = Dims::scalar();
    for (&d, &m) in dims.iter().zip(multiples) {
        out.push(d.checked_mul(m).ok_or(Error::Overflow)?)?;
    }
    dims::count(&out)?;
    Ok(out)
}

/// Repeats `x`, of shape `dims`, `multiples` times along each axis.
pub fn tile<T: Clone>(x: &[T], dims: &[usize], multiples: &[usize], out: &mut [T]) -> Result<()> {
    let shape = tiled(dims, multiples)?;
    error::same(x.len(), dims::count(dims)?)?;
    error::same(out.len(), dims::count(&shape)?)?;
    if out.is_empty() {
        return Ok(());
    }
    // One element along each repeated axis is a broadcast.
    if dims.iter().zip(multiples).all(|(&d, &m)| d == 1 || m == 1) {
        return broadcast_to(x, dims, &shape, out);
    }
    // Rows are put where the first copy lies; then each axis, innermost first, repeats what is complete behind it.
    let strides = shape.strides()?;
    let width = dims.last().copied().unwrap_or(1);
    let outer = dims.len() - 1;
    let mut walk = Walk::new(&dims[..outer], &strides[..outer])?;
    for row in x.chunks_exact(width) {
        let at = walk.offset();
        out.get_mut(at..at + width).ok_or(Error::Length)?.clone_from_slice(row);
        walk.advance();
    }
    for axis in (0..dims.len()).rev() {
        let block = dims[axis] * strides[axis];
        let mut walk = Walk::new(&dims[..axis], &strides[..axis])?;
        for _ in 0..dims::count(&dims[..axis])? {
            let at = walk.offset();
            let whole = out.get_mut(at..at + block * multiples[axis]).ok_or(Error::Length)?;
            let (first, copies) = whole.split_at_mut(block);
            for copy in copies.chunks_exact_mut(block) {
                copy.clone_from_slice(first);
            }
            walk.advance();
        }
    }
    Ok(())
}

/// The gradient of [`tile`]: the sum over the copies of each element.
pub fn tile_grad<T: Number>(dy: &[T], dims: &[usize], multiples: &[usize], dx: &mut [T]) -> Result<()> {
    let shape = tiled(dims, multiples)?;
    error::same(dx.len(), dims::count(dims)?)?;
    error::same(dy.len(), dims::count(&shape)?)?;
    dx.fill(T::ZERO);
    let strides = dims::strides(dims)?;
    let mut at = [0usize; MAX_RANK];
    for &y in dy {
        let from: usize = (0..dims.len()).map(|d| at[d] % dims[d] * strides[d]).sum();
        let x = dx.get_mut(from).ok_or(Error::Length)?;
        *x = x.plus(y);
        for d in (0..dims.len()).rev() {
            at[d] += 1;
            if at[d] < shape[d] {
                break;
            }
            at[d] = 0;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_match_indexing() {
        let x: [u16; 30] = core::array::from_fn(|i| i as u16 + 1);
        for (dims, multiples) in
            [([2, 3, 5], [2, 1, 3]), ([2, 3, 5], [1, 4, 2]), ([1, 6, 1], [3, 1, 4]), ([5, 1, 2], [2, 2, 2])]
        {
            let n = dims::count(&dims).unwrap();
            let shape = tiled(&dims, &multiples).unwrap();
            let m = dims::count(&shape).unwrap();
            let mut out = [0; 300];
            tile(&x[..n], &dims, &multiples, &mut out[..m]).unwrap();
            for (i, &o) in out[..m].iter().enumerate() {
                let (a, b, c) =
                    (i / shape[2] / shape[1] % dims[0], i / shape[2] % shape[1] % dims[1], i % shape[2] % dims[2]);
                assert_eq!(o, x[(a * dims[1] + b) * dims[2] + c], "{dims:?} {multiples:?} {i}");
            }
            let mut dx = [0u16; 30];
            tile_grad(&out[..m], &dims, &multiples, &mut dx[..n]).unwrap();
            assert!(dx[..n].iter().zip(&x).all(|(d, x)| *d == x * (m / n) as u16));
        }
    }

    #[test]
    fn scalars_none_and_overflow() {
        let mut out = [0; 2];
        tile(&[3], &[], &[], &mut out[..1]).unwrap();
        assert_eq!(out[0], 3);
        tile(&[3, 4], &[2], &[0], &mut []).unwrap();
        tile::<u8>(&[], &[0], &[5], &mut []).unwrap();
        assert_eq!(tile(&[3, 4], &[2], &[usize::MAX], &mut []), Err(Error::Overflow));
    }
}
