//! Space to batch and back, space to depth and back (`NHWC`).

use super::transpose::transpose;
use crate::dims::{self, Dims, MAX_RANK};
use crate::error::{self, Error, Result};

/// `SpaceToBatchND`: the shapes and the blocks. Dimensions are `[batch, spatial.., rest..]`.
#[derive(Clone, Copy, Debug)]
pub struct SpaceBatch<'a> {
    /// Shape of the side with few batches (input of space-to-batch, output of batch-to-space).
    pub space: &'a [usize],
    /// Block sizes of the spatial dimensions.
    pub blocks: &'a [usize],
    /// Paddings (or crops) of the spatial dimensions.
    pub margins: &'a [(usize, usize)],
}

impl SpaceBatch<'_> {
    /// The shape of the side with many batches. [`Error::Argument`] if blocks do not divide the padded sizes.
    pub fn batched(&self) -> Result<Dims> {
        error::same(self.margins.len(), self.blocks.len())?;
        let mut out = Dims::new(self.space)?;
        if out.len() <= self.blocks.len() {
            return Err(Error::Argument);
        }
        let sizes = out.as_mut_slice();
        for (i, (&b, &(before, after))) in self.blocks.iter().zip(self.margins).enumerate() {
            let padded = sizes[i + 1].checked_add(before).and_then(|n| n.checked_add(after)).ok_or(Error::Overflow)?;
            if b == 0 || padded % b != 0 {
                return Err(Error::Argument);
            }
            sizes[i + 1] = padded / b;
            sizes[0] = sizes[0].checked_mul(b).ok_or(Error::Overflow)?;
        }
        dims::count(&out)?;
        Ok(out)
    }

    /// Calls `f(place among batches, place in space)` for each row of the rest; places outside space are `None`.
    fn rows(&self, mut f: impl FnMut(usize, Option<usize>) -> Result<()>) -> Result<()> {
        let many = self.batched()?;
        let spatial = self.blocks.len();
        let batch = self.space[0];
        let mut at = [0usize; MAX_RANK];
        for row in 0..dims::count(&many[..spatial + 1])? {
            // The batch of the many side is (block place, batch), block place row-major.
            let (mut place, b) = (at[0] / batch, at[0] % batch);
            let mut offsets = [0usize; MAX_RANK];
            for i in (0..spatial).rev() {
                offsets[i] = place % self.blocks[i];
                place /= self.blocks[i];
            }
            let mut to = Some(b);
            for i in 0..spatial {
                let p = at[i + 1] * self.blocks[i] + offsets[i];
                let size = self.space[i + 1];
                to = match (to, p.checked_sub(self.margins[i].0)) {
                    (Some(t), Some(p)) if p < size => Some(t * size + p),
                    _ => None,
                };
            }
            f(row, to)?;
            for d in (0..=spatial).rev() {
                at[d] += 1;
                if at[d] < many[d] {
                    break;
                }
                at[d] = 0;
            }
        }
        Ok(())
    }

    fn check(&self, space: usize, batched: usize) -> Result<usize> {
        error::same(batched, dims::count(&self.batched()?)?)?;
        error::same(space, dims::count(self.space)?)?;
        dims::count(&self.space[self.blocks.len() + 1..])
    }

    /// Moves blocks of space into the batch; margins hold `zero`.
    pub fn space_to_batch<T: Clone>(&self, x: &[T], zero: T, out: &mut [T]) -> Result<()> {
        let width = self.check(x.len(), out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        self.rows(|many, space| {
            let to = out.get_mut(many * width..(many + 1) * width).ok_or(Error::Length)?;
            match space {
                Some(s) => to.clone_from_slice(x.get(s * width..(s + 1) * width).ok_or(Error::Length)?),
                None => to.fill(zero.clone()),
            }
            Ok(())
        })
    }

    /// Moves the batch back into space; what lies in the margins is dropped.
    pub fn batch_to_space<T: Clone>(&self, x: &[T], out: &mut [T]) -> Result<()> {
        let width = self.check(out.len(), x.len())?;
        if out.is_empty() {
            return Ok(());
        }
        self.rows(|many, space| {
            if let Some(s) = space {
                let from = x.get(many * width..(many + 1) * width).ok_or(Error::Length)?;
                out.get_mut(s * width..(s + 1) * width).ok_or(Error::Length)?.clone_from_slice(from);
            }
            Ok(())
        })
    }
}

/// `[n, h, w, c]` to `[n, h / b, w / b, b · b · c]`.
pub fn space_to_depth<T: Clone>(x: &[T], dims: [usize; 4], block: usize, out: &mut [T]) -> Result<()> {
    let [n, h, w, c] = dims;
    if block == 0 || h % block != 0 || w % block != 0 {
        return Err(Error::Argument);
    }
    transpose(x, &[n, h / block, block, w / block, block, c], &[0, 1, 3, 2, 4, 5], out)
}

/// `[n, h, w, b · b · c]` to `[n, h · b, w · b, c]`.
pub fn depth_to_space<T: Clone>(x: &[T], dims: [usize; 4], block: usize, out: &mut [T]) -> Result<()> {
    let [n, h, w, c] = dims;
    let area = block.checked_mul(block).ok_or(Error::Overflow)?;
    if area == 0 || c % area != 0 {
        return Err(Error::Argument);
    }
    transpose(x, &[n, h, w, block, block, c / area], &[0, 1, 3, 2, 4, 5], out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_and_batch() {
        let plan = SpaceBatch { space: &[1, 4, 2, 1], blocks: &[2, 2], margins: &[(0, 0), (0, 0)] };
        assert_eq!(&*plan.batched().unwrap(), &[4, 2, 1, 1]);
        let (mut many, mut back) = ([0; 8], [0; 8]);
        plan.space_to_batch(&[1, 2, 3, 4, 5, 6, 7, 8], 0, &mut many).unwrap();
        assert_eq!(many, [1, 5, 2, 6, 3, 7, 4, 8]);
        plan.batch_to_space(&many, &mut back).unwrap();
        assert_eq!(back, [1, 2, 3, 4, 5, 6, 7, 8]);
        let padded = SpaceBatch { space: &[1, 3], blocks: &[2], margins: &[(1, 0)] };
        plan.batched().unwrap();
        padded.space_to_batch(&[1, 2, 3], 0, &mut many[..4]).unwrap();
        assert_eq!(many[..4], [0, 2, 1, 3]);
        padded.batch_to_space(&many[..4], &mut back[..3]).unwrap();
        assert_eq!(back[..3], [1, 2, 3]);
        let odd = SpaceBatch { space: &[1, 3], blocks: &[2], margins: &[(0, 0)] };
        assert_eq!(odd.batched().unwrap_err(), Error::Argument);
    }

    #[test]
    fn space_and_depth() {
        let (mut deep, mut back) = ([0; 8], [0; 8]);
        space_to_depth(&[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 4, 1], 2, &mut deep).unwrap();
        assert_eq!(deep, [1, 2, 5, 6, 3, 4, 7, 8]);
        depth_to_space(&deep, [1, 1, 2, 4], 2, &mut back).unwrap();
        assert_eq!(back, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(space_to_depth(&[1; 6], [1, 2, 3, 1], 2, &mut deep[..6]), Err(Error::Argument));
    }
}
