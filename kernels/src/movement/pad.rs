//! Padding with a value or by mirroring, and the gradient of mirroring.

use crate::dims::{self, Dims, MAX_RANK, Walk};
use crate::element::Number;
use crate::error::{self, Error, Result};

/// The shape of `dims` with `(before, after)` added to each dimension.
pub fn padded(dims: &[usize], paddings: &[(usize, usize)]) -> Result<Dims> {
    error::same(paddings.len(), dims.len())?;
    let mut out = Dims::scalar();
    for (&d, &(before, after)) in dims.iter().zip(paddings) {
        out.push(d.checked_add(before).and_then(|n| n.checked_add(after)).ok_or(Error::Overflow)?)?;
    }
    dims::count(&out)?;
    Ok(out)
}

/// Surrounds `x` with `value`.
pub fn pad<T: Clone>(x: &[T], dims: &[usize], paddings: &[(usize, usize)], value: T, out: &mut [T]) -> Result<()> {
    let shape = padded(dims, paddings)?;
    error::same(x.len(), dims::count(dims)?)?;
    error::same(out.len(), dims::count(&shape)?)?;
    let strides = shape.strides()?;
    if x.is_empty() || dims.is_empty() {
        out.fill(value);
        if let ([x], [out]) = (x, out) {
            *out = x.clone();
        }
        return Ok(());
    }
    // Trailing dimensions without padding belong to the row.
    let mut rank = dims.len();
    let mut width = 1;
    while rank > 0 {
        rank -= 1;
        width *= dims[rank];
        if paddings[rank] != (0, 0) {
            break;
        }
    }
    let first: usize = (0..=rank).map(|d| paddings[d].0 * strides[d]).sum();
    let mut walk = Walk::new(&dims[..rank], &strides[..rank])?;
    // Rows come in the order of the output, so what lies between two is filled once.
    let mut filled = 0;
    for row in x.chunks_exact(width) {
        let at = first + walk.offset();
        out.get_mut(filled..at).ok_or(Error::Length)?.fill(value.clone());
        out.get_mut(at..at + width).ok_or(Error::Length)?.clone_from_slice(row);
        filled = at + width;
        walk.advance();
    }
    out.get_mut(filled..).ok_or(Error::Length)?.fill(value);
    Ok(())
}

/// How a mirror stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mirror {
    /// On the border element, which is not repeated; paddings are below the size.
    Reflect,
    /// Beside the border element, which is repeated; paddings are up to the size.
    Symmetric,
}

impl Mirror {
    fn check(self, dims: &[usize], paddings: &[(usize, usize)]) -> Result<()> {
        let most = |d: usize| if self == Mirror::Reflect { d.saturating_sub(1) } else { d };
        let fits = dims.iter().zip(paddings).all(|(&d, &(b, a))| b.max(a) <= most(d));
        if fits { Ok(()) } else { Err(Error::Argument) }
    }

    /// The index in a dimension of `size` that place `at` of the padded dimension shows.
    fn source(self, at: usize, before: usize, size: usize) -> usize {
        let shift = usize::from(self == Mirror::Symmetric);
        if at < before {
            before - at - shift
        } else if at - before < size {
            at - before
        } else {
            2 * size + before - 2 + shift - at
        }
    }
}

/// Surrounds `x` with its own mirror images; [`Error::Argument`] where a padding exceeds the mirror's range.
pub fn mirror_pad<T: Clone>(
    x: &[T],
    dims: &[usize],
    paddings: &[(usize, usize)],
    mirror: Mirror,
    out: &mut [T],
) -> Result<()> {
    error::same(x.len(), dims::count(dims)?)?;
    error::same(out.len(), dims::count(&padded(dims, paddings)?)?)?;
    mirrored(dims, paddings, mirror, |from, to| {
        if let (Some(o), Some(x)) = (out.get_mut(to), x.get(from)) {
            *o = x.clone();
        }
    })
}

/// The gradient of [`mirror_pad`]: each element of `dx`, of shape `dims`, gets the sum of the places that show it.
/// Dimensions are folded one after the other, as TensorFlow's rounding wants it, in `folded`, which is as long as `dy`.
pub fn mirror_pad_grad<T: Number>(
    dy: &[T],
    dims: &[usize],
    paddings: &[(usize, usize)],
    mirror: Mirror,
    folded: &mut [T],
    dx: &mut [T],
) -> Result<()> {
    mirror.check(dims, paddings)?;
    let shape = padded(dims, paddings)?;
    error::same(dx.len(), dims::count(dims)?)?;
    error::same(dy.len(), dims::count(&shape)?)?;
    error::same(folded.len(), dy.len())?;
    folded.copy_from_slice(dy);
    if dx.is_empty() {
        return Ok(());
    }
    let shift = usize::from(mirror == Mirror::Reflect);
    for (axis, &(before, after)) in paddings.iter().enumerate() {
        let (_, size, inner) = dims::around(&shape, axis)?;
        for slab in folded.chunks_exact_mut(size * inner) {
            for i in 0..before {
                fold(slab, inner, before + shift + i, before - 1 - i)?;
            }
            for i in 0..after {
                fold(slab, inner, size - 2 * after - shift + i, size - 1 - i)?;
            }
        }
    }
    let begin: Dims = paddings.iter().try_fold(Dims::scalar(), |mut d, &(before, _)| d.push(before).map(|()| d))?;
    super::slice::slice(folded, &shape, &begin, dims, dx)
}

/// Adds row `from` to row `to`.
fn fold<T: Number>(slab: &mut [T], width: usize, to: usize, from: usize) -> Result<()> {
    let (low, high) = (to.min(from), to.max(from));
    let (head, tail) = slab.split_at_mut_checked(high * width).ok_or(Error::Length)?;
    let a = head.get_mut(low * width..(low + 1) * width).ok_or(Error::Length)?;
    let b = tail.get_mut(..width).ok_or(Error::Length)?;
    let (to, from) = if to < from { (a, b) } else { (b, a) };
    to.iter_mut().zip(from).for_each(|(t, f)| *t = t.plus(*f));
    Ok(())
}

/// Calls `f(source, place)` for every place of the padded shape, in order.
fn mirrored(
    dims: &[usize],
    paddings: &[(usize, usize)],
    mirror: Mirror,
    mut f: impl FnMut(usize, usize),
) -> Result<()> {
    mirror.check(dims, paddings)?;
    let shape = padded(dims, paddings)?;
    let strides = dims::strides(dims)?;
    let mut at = [0usize; MAX_RANK];
    for place in 0..dims::count(&shape)? {
        let from = (0..dims.len()).map(|d| mirror.source(at[d], paddings[d].0, dims[d]) * strides[d]).sum();
        f(from, place);
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
    fn pads_any_dimensions() {
        let mut out = [9; 20];
        pad(&[1, 2, 3, 4, 5, 6], &[2, 3], &[(1, 1), (0, 2)], 0, &mut out).unwrap();
        assert_eq!(out, [0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0]);
        pad(&[1, 2, 3, 4, 5, 6], &[2, 3], &[(1, 1), (0, 0)], 0, &mut out[..12]).unwrap();
        assert_eq!(out[..12], [0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0]);
        pad(&[1, 2], &[2], &[(0, 0)], 0, &mut out[..2]).unwrap();
        assert_eq!(out[..2], [1, 2]);
        pad(&[5], &[], &[], 0, &mut out[..1]).unwrap();
        assert_eq!(out[0], 5);
        pad(&[], &[0], &[(1, 2)], 7, &mut out[..3]).unwrap();
        assert_eq!(out[..3], [7; 3]);
        assert_eq!(padded(&[1], &[(usize::MAX, 1)]), Err(Error::Overflow));
        assert_eq!(pad(&[1, 2], &[2], &[(0, 0)], 0, &mut out[..3]), Err(Error::Length));
    }

    #[test]
    fn mirrors() {
        let mut out = [0; 7];
        mirror_pad(&[1, 2, 3], &[3], &[(2, 2)], Mirror::Reflect, &mut out).unwrap();
        assert_eq!(out, [3, 2, 1, 2, 3, 2, 1]);
        mirror_pad(&[1, 2, 3], &[3], &[(2, 2)], Mirror::Symmetric, &mut out).unwrap();
        assert_eq!(out, [2, 1, 1, 2, 3, 3, 2]);
        assert_eq!(mirror_pad(&[1, 2, 3], &[3], &[(3, 1)], Mirror::Reflect, &mut out), Err(Error::Argument));
        let (mut folded, mut dx) = ([0; 7], [0; 3]);
        mirror_pad_grad(&[1, 2, 3, 4, 5, 6, 7], &[3], &[(2, 2)], Mirror::Reflect, &mut folded, &mut dx).unwrap();
        assert_eq!(dx, [10, 12, 6]);
    }
}
