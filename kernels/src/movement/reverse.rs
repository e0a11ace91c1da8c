//! Reversal along axes, of whole dimensions or of sequences of given lengths, and rotation.

use crate::dims::{self, Dims, MAX_RANK};
use crate::element::Integer;
use crate::error::{self, Error, Result};

/// Reverses `x` along the axes where `mask` is true.
pub fn reverse<T: Clone>(x: &[T], dims: &[usize], mask: &[bool], out: &mut [T]) -> Result<()> {
    error::same(mask.len(), dims.len())?;
    let n = dims::count(dims)?;
    error::same(x.len(), n)?;
    error::same(out.len(), n)?;
    if n == 0 {
        return Ok(());
    }
    // Neighbours that are alike are one dimension; trailing ones that stay are one row.
    let (mut sizes, mut flips) = (Dims::scalar(), [false; MAX_RANK]);
    for (&d, &m) in dims.iter().zip(mask) {
        let rank = sizes.len();
        if rank > 0 && flips[rank - 1] == m {
            sizes.as_mut_slice()[rank - 1] *= d;
        } else {
            sizes.push(d)?;
            flips[rank] = m;
        }
    }
    let mut rank = sizes.len();
    let mut width = 1;
    if rank > 0 && !flips[rank - 1] {
        rank -= 1;
        width = sizes[rank];
    }
    let strides = sizes.strides()?;
    let mut at = [0usize; MAX_RANK];
    for row in out.chunks_exact_mut(width) {
        let from: usize = (0..rank).map(|d| if flips[d] { sizes[d] - 1 - at[d] } else { at[d] } * strides[d]).sum();
        row.clone_from_slice(x.get(from..from + width).ok_or(Error::Length)?);
        for d in (0..rank).rev() {
            at[d] += 1;
            if at[d] < sizes[d] {
                break;
            }
            at[d] = 0;
        }
    }
    Ok(())
}

/// Reverses, for each index `b` of `batch_axis`, the first `lengths[b]` entries along `seq_axis`.
pub fn reverse_sequence<T: Clone, I: Integer>(
    x: &[T],
    dims: &[usize],
    (seq_axis, batch_axis): (usize, usize),
    lengths: &[I],
    out: &mut [T],
) -> Result<()> {
    if seq_axis == batch_axis {
        return Err(Error::Argument);
    }
    let (_, steps, seq_inner) = dims::around(dims, seq_axis)?;
    let (_, batches, batch_inner) = dims::around(dims, batch_axis)?;
    error::same(lengths.len(), batches)?;
    error::same(x.len(), dims::count(dims)?)?;
    error::same(out.len(), x.len())?;
    if lengths.iter().any(|l| l.to_index().is_none_or(|l| l > steps)) {
        return Err(Error::Argument);
    }
    for (i, o) in out.iter_mut().enumerate() {
        let (t, b) = (i / seq_inner % steps, i / batch_inner % batches);
        let length = lengths.get(b).and_then(|l| l.to_index()).ok_or(Error::Length)?;
        let from = if t < length { i - t * seq_inner + (length - 1 - t) * seq_inner } else { i };
        *o = x.get(from).ok_or(Error::Length)?.clone();
    }
    Ok(())
}

/// Rotates by `shift[d]` (toward higher indices, any sign) along each axis.
pub fn roll<T: Clone>(x: &[T], dims: &[usize], shift: &[i64], out: &mut [T]) -> Result<()> {
    error::same(shift.len(), dims.len())?;
    error::same(x.len(), dims::count(dims)?)?;
    error::same(out.len(), x.len())?;
    if x.is_empty() || dims.is_empty() {
        out.clone_from_slice(x);
        return Ok(());
    }
    let mut turn = [0usize; MAX_RANK];
    for (t, (&s, &d)) in turn.iter_mut().zip(shift.iter().zip(dims)) {
        *t = s.rem_euclid(i64::try_from(d).map_err(|_| Error::Overflow)?) as usize;
    }
    let last = Dims::new(dims)?.len() - 1;
    let (width, by) = (dims[last], turn[last]);
    let strides = dims::strides(dims)?;
    let mut at = [0usize; MAX_RANK];
    for row in x.chunks_exact(width) {
        let to: usize = (0..last).map(|d| (at[d] + turn[d]) % dims[d] * strides[d]).sum();
        let to = out.get_mut(to..to + width).ok_or(Error::Length)?;
        to[by..].clone_from_slice(&row[..width - by]);
        to[..by].clone_from_slice(&row[width - by..]);
        for d in (0..last).rev() {
            at[d] += 1;
            if at[d] < dims[d] {
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
    fn reverses_axes() {
        let x: [u8; 12] = core::array::from_fn(|i| i as u8);
        let mut out = [0; 12];
        let cases: [([bool; 3], [u8; 12]); 4] = [
            ([false, false, true], [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10]),
            ([false, true, false], [4, 5, 2, 3, 0, 1, 10, 11, 8, 9, 6, 7]),
            ([true, false, true], [7, 6, 9, 8, 11, 10, 1, 0, 3, 2, 5, 4]),
            ([true, true, true], [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
        ];
        for (mask, want) in cases {
            reverse(&x, &[2, 3, 2], &mask, &mut out).unwrap();
            assert_eq!(out, want, "{mask:?}");
        }
        reverse(&[5], &[], &[], &mut out[..1]).unwrap();
        assert_eq!(out[0], 5);
        reverse::<u8>(&[], &[0, 2], &[true, true], &mut []).unwrap();
    }

    #[test]
    fn reverses_sequences_and_rolls() {
        let mut out = [0; 6];
        reverse_sequence(&[1, 2, 3, 4, 5, 6], &[2, 3], (1, 0), &[2i32, 3], &mut out).unwrap();
        assert_eq!(out, [2, 1, 3, 6, 5, 4]);
        reverse_sequence(&[1, 2, 3, 4, 5, 6], &[2, 3], (0, 1), &[2i64, 0, 1], &mut out).unwrap();
        assert_eq!(out, [4, 2, 3, 1, 5, 6]);
        assert_eq!(reverse_sequence(&[1, 2], &[1, 2], (1, 0), &[3i32], &mut out[..2]), Err(Error::Argument));
        roll(&[1, 2, 3, 4, 5, 6], &[2, 3], &[1, -1], &mut out).unwrap();
        assert_eq!(out, [5, 6, 4, 2, 3, 1]);
        roll(&[1, 2, 3, 4, 5, 6], &[6], &[i64::MIN], &mut out).unwrap();
        assert_eq!(out, [3, 4, 5, 6, 1, 2]);
    }
}
