//! Dtypes, shapes, shared tensors, and the borrowed forms that kernels see.
//!
//! A [`Tensor`] is dtype, inline shape and a buffer: a scalar lies inline, larger ones in a counted, 64-byte aligned
//! buffer that can own heap memory, received bytes or borrow constants. [`TensorRef`] and [`TensorMut`] are the same
//! without ownership and need no allocator.

mod borrowed;
#[cfg(feature = "alloc")]
mod budget;
#[cfg(feature = "alloc")]
mod buffer;
mod dtype;
#[cfg(feature = "alloc")]
mod object;
mod shape;
#[cfg(feature = "alloc")]
mod tensor;

pub use borrowed::{TensorMut, TensorRef};
#[cfg(feature = "alloc")]
pub(crate) use borrowed::{cast, cast_mut};
#[cfg(feature = "alloc")]
pub use budget::{Budget, Charge};
#[cfg(feature = "alloc")]
pub use buffer::Buffer;
pub use dtype::{DType, Element};
#[cfg(feature = "alloc")]
pub use object::{HandleParts, Resource, ResourceHandle, Str, Variant, VariantValue};
pub use shape::{RANK_MAX, Shape, ShapeError};
#[cfg(feature = "alloc")]
pub use tensor::Tensor;
