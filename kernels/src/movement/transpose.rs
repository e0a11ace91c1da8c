//! Permuting axes: merged to the fewest dimensions, copied by rows where rows survive, else in square tiles.

use crate::dims::{self, Dims, Walk};
use crate::error::{self, Error, Result};

/// Side of a tile: 16 rows of 16 four-byte elements touch 16 cache lines on each side.
const TILE: usize = 16;

/// The shape of `dims` permuted: dimension `i` of the result is `perm[i]`. [`Error::Argument`] unless a permutation.
pub fn permuted(dims: &[usize], perm: &[usize]) -> Result<Dims> {
    error::same(perm.len(), dims.len())?;
    let mut seen = 0u32;
    let mut out = Dims::scalar();
    for &p in perm {
        let &size = dims.get(p).ok_or(Error::Argument)?;
        if seen >> p & 1 == 1 {
            return Err(Error::Argument);
        }
        seen |= 1 << p;
        out.push(size)?;
    }
    Ok(out)
}

/// The permutation that undoes `perm`.
pub fn inverted(perm: &[usize]) -> Result<Dims> {
    let mut out = Dims::filled(usize::MAX, perm.len())?;
    for (i, &p) in perm.iter().enumerate() {
        let slot = out.as_mut_slice().get_mut(p).ok_or(Error::Argument)?;
        if core::mem::replace(slot, i) != usize::MAX {
            return Err(Error::Argument);
        }
    }
    Ok(out)
}

/// `out[.., i_perm, ..] = x[..]`.
pub fn transpose<T: Clone>(x: &[T], dims: &[usize], perm: &[usize], out: &mut [T]) -> Result<()> {
    let shape = permuted(dims, perm)?;
    let n = dims::count(dims)?;
    error::same(x.len(), n)?;
    error::same(out.len(), n)?;
    if n == 0 {
        return Ok(());
    }
    let strides = dims::strides(dims)?;
    // Merged, in the order of the result: sizes and strides in `x`.
    let (mut sizes, mut steps) = (Dims::scalar(), Dims::scalar());
    for (&size, &p) in shape.iter().zip(perm) {
        if size == 1 {
            continue;
        }
        let rank = steps.len();
        if rank > 0 && steps[rank - 1] == strides[p] * size {
            sizes.as_mut_slice()[rank - 1] *= size;
            steps.as_mut_slice()[rank - 1] = strides[p];
        } else {
            sizes.push(size)?;
            steps.push(strides[p])?;
        }
    }
    let rank = sizes.len();
    if rank <= 1 {
        out.clone_from_slice(x);
        return Ok(());
    }
    let last = rank - 1;
    if steps[last] == 1 {
        let mut walk = Walk::new(&sizes[..last], &steps[..last])?;
        for row in out.chunks_exact_mut(sizes[last]) {
            row.clone_from_slice(x.get(walk.offset()..walk.offset() + sizes[last]).ok_or(Error::Length)?);
            walk.advance();
        }
        return Ok(());
    }
    // The plane of the two innermost dimensions, of the result and of `x`, goes in tiles; the others around it.
    let out_steps = sizes.strides()?;
    let across = steps.iter().position(|&s| s == 1).ok_or(Error::Argument)?;
    let (mut around, mut around_in, mut around_out) = (Dims::scalar(), Dims::scalar(), Dims::scalar());
    for d in (0..last).filter(|&d| d != across) {
        around.push(sizes[d])?;
        around_in.push(steps[d])?;
        around_out.push(out_steps[d])?;
    }
    let (mut from, mut to) = (Walk::new(&around, &around_in)?, Walk::new(&around, &around_out)?);
    let plane = Plane { rows: sizes[across], columns: sizes[last], step_in: steps[last], step_out: out_steps[across] };
    for _ in 0..dims::count(&around)? {
        plane.tiles(x.get(from.offset()..).ok_or(Error::Length)?, out.get_mut(to.offset()..).ok_or(Error::Length)?);
        from.advance();
        to.advance();
    }
    Ok(())
}

/// `out[r · step_out + c] = x[r + c · step_in]`.
struct Plane {
    rows: usize,
    columns: usize,
    step_in: usize,
    step_out: usize,
}

impl Plane {
    fn tiles<T: Clone>(&self, x: &[T], out: &mut [T]) {
        for r in (0..self.rows).step_by(TILE) {
            let rows = TILE.min(self.rows - r);
            for c in (0..self.columns).step_by(TILE) {
                let columns = TILE.min(self.columns - c);
                for i in r..r + rows {
                    let Some(row) = out.get_mut(i * self.step_out + c..i * self.step_out + c + columns) else { return };
                    for (o, v) in row.iter_mut().zip(x[i + c * self.step_in..].iter().step_by(self.step_in)) {
                        *o = v.clone();
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves every permutation of a rank-4 shape against indexing, with sizes below, at and above the tile.
    #[test]
    fn every_permutation_matches_indexing() {
        for dims in [[2usize, 17, 3, 33], [1, 16, 1, 40], [5, 2, 2, 2], [20, 1, 18, 1]] {
            let n = dims::count(&dims).unwrap();
            let x: [u32; 4000] = core::array::from_fn(|i| i as u32);
            let steps = dims::strides(&dims).unwrap();
            for code in 0..256usize {
                let perm = [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6];
                let Ok(shape) = permuted(&dims, &perm) else { continue };
                let mut out = [u32::MAX; 4000];
                transpose(&x[..n], &dims, &perm, &mut out[..n]).unwrap();
                for (i, &o) in out[..n].iter().enumerate() {
                    let (mut rest, mut at) = (i, 0);
                    for d in (0..4).rev() {
                        at += rest % shape[d] * steps[perm[d]];
                        rest /= shape[d];
                    }
                    assert_eq!(o, at as u32, "{dims:?} {perm:?} {i}");
                }
            }
        }
    }

    #[test]
    fn bad_permutations_empty_and_strings() {
        let mut out = [0; 6];
        assert_eq!(transpose(&[0; 6], &[2, 3], &[0, 0], &mut out), Err(Error::Argument));
        assert_eq!(transpose(&[0; 6], &[2, 3], &[0, 2], &mut out), Err(Error::Argument));
        assert_eq!(transpose(&[0; 6], &[2, 3], &[0], &mut out), Err(Error::Length));
        assert_eq!(transpose(&[0; 5], &[2, 3], &[1, 0], &mut out), Err(Error::Length));
        transpose::<u8>(&[], &[0, 3], &[1, 0], &mut []).unwrap();
        transpose(&[7], &[], &[], &mut out[..1]).unwrap();
        assert_eq!(out[0], 7);
        let mut text = [""; 4];
        transpose(&["a", "b", "c", "d"], &[2, 2], &[1, 0], &mut text).unwrap();
        assert_eq!(text, ["a", "c", "b", "d"]);
        assert_eq!(&*inverted(&[2, 0, 1]).unwrap(), &[1, 2, 0]);
        assert_eq!(inverted(&[0, 0]), Err(Error::Argument));
        assert_eq!(inverted(&[0, 2]), Err(Error::Argument));
    }
}
