//! Tensors without ownership: dtype, dimensions and bytes borrowed from anywhere, flash and static arenas included.

use super::{DType, Element};

/// A borrowed tensor of a plain dtype.
#[derive(Clone, Copy, Debug)]
pub struct TensorRef<'a> {
    dtype: DType,
    dims: &'a [u32],
    bytes: &'a [u8],
}

/// A borrowed tensor of a plain dtype that may be written.
#[derive(Debug)]
pub struct TensorMut<'a> {
    dtype: DType,
    dims: &'a [u32],
    bytes: &'a mut [u8],
}

/// The bytes that dimensions need, or `None` when they overflow.
fn bytes_needed(dtype: DType, dims: &[u32]) -> Option<usize> {
    let size = if dtype.is_plain() { Some(dtype.size()) } else { None };
    dims.iter().try_fold(size?, |n, &d| n.checked_mul(usize::try_from(d).ok()?))
}

impl<'a> TensorRef<'a> {
    /// A view of `bytes`; `None` when the dtype is not plain, the length is not what the dimensions need, or a bool
    /// byte is neither 0 nor 1.
    pub fn new(dtype: DType, dims: &'a [u32], bytes: &'a [u8]) -> Option<TensorRef<'a>> {
        let fits = bytes_needed(dtype, dims) == Some(bytes.len());
        let valid = dtype != DType::Bool || bytes.iter().all(|&b| b <= 1);
        (fits && valid).then_some(TensorRef { dtype, dims, bytes })
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The dimensions.
    pub fn dims(&self) -> &'a [u32] {
        self.dims
    }

    /// The elements; `None` when `T` is not the dtype's or the bytes are not aligned for it.
    pub fn elements<T: Element>(&self) -> Option<&'a [T]> {
        cast(self.dtype, self.bytes)
    }
}

impl<'a> TensorMut<'a> {
    /// A view of the first bytes of an arena; `None` when the dtype is not plain or the arena is too small. Bytes of a
    /// bool tensor are cleared, so that they are valid.
    pub fn new(dtype: DType, dims: &'a [u32], arena: &'a mut [u8]) -> Option<TensorMut<'a>> {
        let bytes = arena.get_mut(..bytes_needed(dtype, dims)?)?;
        if dtype == DType::Bool {
            bytes.fill(0);
        }
        Some(TensorMut { dtype, dims, bytes })
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The dimensions.
    pub fn dims(&self) -> &'a [u32] {
        self.dims
    }

    /// The same tensor for reading.
    pub fn as_ref(&self) -> TensorRef<'_> {
        TensorRef { dtype: self.dtype, dims: self.dims, bytes: self.bytes }
    }

    /// The elements; `None` when `T` is not the dtype's or the bytes are not aligned for it.
    pub fn elements_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        cast_mut(self.dtype, self.bytes)
    }
}

/// Bytes of a tensor of `dtype` as elements, where type, length and alignment allow it.
pub(crate) fn cast<T: Element>(dtype: DType, bytes: &[u8]) -> Option<&[T]> {
    if T::DTYPE != dtype || bytes.as_ptr().align_offset(align_of::<T>()) != 0 {
        return None;
    }
    // SAFETY: aligned just above; the length is in whole elements of the same memory; by the contract of `Element` and
    // of the tensor types every element is valid.
    Some(unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) })
}

/// As [`cast`], for writing.
pub(crate) fn cast_mut<T: Element>(dtype: DType, bytes: &mut [u8]) -> Option<&mut [T]> {
    if T::DTYPE != dtype || bytes.as_ptr().align_offset(align_of::<T>()) != 0 {
        return None;
    }
    // SAFETY: as in `cast`; the borrow is exclusive, and any `T` written is valid bytes.
    Some(unsafe { core::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wrong lengths, types and bool bytes are refused; right ones are read and written in place.
    #[test]
    fn views() {
        #[repr(align(8))]
        struct Arena([u8; 32]);
        let mut arena = Arena([0; 32]);
        let dims = [2, 3];
        assert!(TensorRef::new(DType::Float, &dims, &arena.0).is_none());
        assert!(TensorRef::new(DType::String, &dims, &[]).is_none());
        assert!(TensorRef::new(DType::Bool, &[1], &[2]).is_none());
        assert!(TensorMut::new(DType::Double, &dims, &mut arena.0).is_none());
        assert!(TensorMut::new(DType::Double, &[u32::MAX; 8], &mut arena.0).is_none());
        let mut tensor = TensorMut::new(DType::Float, &dims, &mut arena.0).unwrap();
        assert!(tensor.elements_mut::<i32>().is_none());
        tensor.elements_mut::<f32>().unwrap()[5] = 7.0;
        assert_eq!(tensor.as_ref().elements::<f32>().unwrap()[5], 7.0);
    }
}
