//! The driver of everything that writes by index: how a tensor's elements are reached, and what an update does to them.

use super::carry::Carried;
use super::dispatch::Value;
use super::movement::index_error;
use crate::Status;
use crate::kernels::element::Integer;
use crate::kernels::error::Result as KernelResult;
use crate::kernels::movement::scatter::{Scatter, replace};
use crate::tensor::{Budget, Shape, Str, Tensor};

/// What an update does to a slice: as many elements, or one for all.
pub(super) type Update<E> = fn(&mut [E], &[E]) -> KernelResult<()>;

/// Elements of type `E` in tensors, and the update of them.
pub(super) struct Access<E: 'static> {
    read: for<'a> fn(&'a Tensor) -> Result<&'a [E], Status>,
    write: for<'a> fn(&'a mut Tensor) -> Result<&'a mut [E], Status>,
    update: Update<E>,
}

impl<E> Clone for Access<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E> Copy for Access<E> {}

/// Where updates go.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// Indices in a row of coordinates.
    pub(super) depth: usize,
    /// Rows that point outside are left out instead of refused.
    pub(super) skips: bool,
}

/// Numbers, updated by an operation of two slices.
pub(super) fn numbers<T: Value>(update: Update<T>) -> Access<T> {
    fn read<T: Value>(t: &Tensor) -> Result<&[T], Status> {
        t.as_slice()
    }
    fn write<T: Value>(t: &mut Tensor) -> Result<&mut [T], Status> {
        t.make_mut()
    }
    Access { read: read::<T>, write: write::<T>, update }
}

/// Elements of any kind, replaced.
pub(super) fn replaced<C: Carried>() -> Access<C> {
    Access { read: C::read, write: C::write, update: replace::<C> }
}

/// Strings, made longer.
pub(super) fn appended() -> Access<Str> {
    fn append(to: &mut [Str], from: &[Str]) -> KernelResult<()> {
        let one = from.len() == 1;
        for (i, t) in to.iter_mut().enumerate() {
            if let Some(f) = from.get(if one { 0 } else { i }) {
                *t = [&**t, &**f].concat().into();
            }
        }
        Ok(())
    }
    Access { read: Str::read, write: Str::write, update: append }
}

impl<E: Clone> Access<E> {
    /// Updates `target` in place; when somebody else holds its elements, a copy takes their place first.
    pub(super) fn apply<I: Value + Integer>(
        &self,
        target: &mut Tensor,
        (indices, updates): (&Tensor, &Tensor),
        places: Places,
        budget: Option<&Budget>,
    ) -> Result<(), Status> {
        if !target.is_unique() {
            let mut copy = Tensor::zeros(target.dtype(), target.shape(), budget)?;
            (self.write)(&mut copy)?.clone_from_slice((self.read)(target)?);
            *target = copy;
        }
        let Places { depth, skips } = places;
        let dims = target.shape().to_usize();
        let scatter = Scatter { dims: &dims, indices: indices.as_slice::<I>()?, depth, skips };
        scatter.run((self.write)(target)?, (self.read)(updates)?, self.update).map_err(|error| {
            let rank = indices.shape().rank();
            // The error names a row of coordinates; without coordinates of their own, indices are rows themselves.
            let rows = if rank > 1 || depth != 1 { rank.saturating_sub(1) } else { rank };
            let sizes: heapless::Vec<usize, { crate::tensor::RANK_MAX }> =
                indices.shape().to_usize().into_iter().take(rows).collect();
            index_error(error, &Shape::new(&sizes).unwrap_or_default())
        })
    }
}
