//! The owned tensor: dtype, inline shape, and a buffer that is shared, never copied, when a tensor is cloned.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use super::borrowed::{cast, cast_mut};
use super::{Budget, Buffer, DType, Element, ResourceHandle, Shape, Str, Variant};
use crate::Status;

/// A multi-dimensional array. Cloning shares the elements; scalars of up to eight bytes lie inline.
#[derive(Clone)]
pub struct Tensor {
    storage: Storage,
    shape: Shape,
    dtype: DType,
}

/// Where the elements are.
///
/// Invariants, held by every constructor: of a plain dtype the storage is `Inline` (one element of at most 8 bytes) or
/// `Shared` (the buffer holds all elements from the offset on, aligned for the dtype; bool bytes are 0 or 1); of another
/// dtype it is the variant of that name and holds exactly as many elements as the shape says.
#[derive(Clone)]
enum Storage {
    Inline(Word),
    Shared(Buffer, usize),
    Strings(Arc<Vec<Str>>),
    Resources(Arc<Vec<ResourceHandle>>),
    Variants(Arc<Vec<Variant>>),
}

/// Inline bytes, aligned for every element of up to 8 bytes.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct Word([u8; 8]);

impl Default for Tensor {
    /// A float scalar 0: what a slot holds before its first value.
    fn default() -> Tensor {
        Tensor { storage: Storage::Inline(Word([0; 8])), shape: Shape::scalar(), dtype: DType::Float }
    }
}

impl<T: Element> From<T> for Tensor {
    /// A scalar.
    fn from(value: T) -> Tensor {
        Tensor::scalar(value)
    }
}

/// Constructors.
impl Tensor {
    /// A scalar.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        let mut tensor = Tensor { storage: Storage::Inline(Word([0; 8])), shape: Shape::scalar(), dtype: T::DTYPE };
        if size_of::<T>() > 8 {
            // Sixteen bytes: the allocator failing here leaves a zero of the right type, which no caller can tell
            // from an error; 64 bytes being unavailable is the end of every step anyway.
            match Buffer::new(size_of::<T>(), None) {
                Ok(buffer) => tensor.storage = Storage::Shared(buffer, 0),
                Err(_) => return Tensor::default(),
            }
        }
        if let Some(slot) = tensor.elements_mut::<T>().and_then(|s| s.first_mut()) {
            *slot = value;
        }
        tensor
    }

    /// Zeros: plain zeros, empty strings. The memory is charged to `budget` first.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when memory or budget is used up; UNIMPLEMENTED for resources.
    pub fn zeros(dtype: DType, shape: &Shape, budget: Option<&Budget>) -> Result<Tensor, Status> {
        let count = shape.num_elements();
        let storage = match dtype {
            DType::String => Storage::Strings(Arc::new(filled(count, Str::new())?)),
            DType::Variant => Storage::Variants(Arc::new(filled(count, Variant::default())?)),
            DType::Resource => return Err(Status::unimplemented("there is no zero of dtype resource")),
            _ if count == 1 && dtype.size() <= 8 => Storage::Inline(Word([0; 8])),
            _ => Storage::Shared(Buffer::new(shape.num_bytes(dtype.size())?, budget)?, 0),
        };
        Ok(Tensor { storage, shape: shape.clone(), dtype })
    }

    /// A tensor of copied elements.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the dimensions are no shape or do not hold `elements.len()` elements.
    pub fn from_slice<T: Element>(dims: &[usize], elements: &[T]) -> Result<Tensor, Status> {
        let shape = Shape::new(dims)?;
        check_count(&shape, elements.len())?;
        let mut tensor = Tensor::zeros(T::DTYPE, &shape, None)?;
        if let Some(to) = tensor.elements_mut::<T>() {
            to.copy_from_slice(elements);
        }
        Ok(tensor)
    }

    /// A tensor over received bytes, little-endian and row-major, shared when they are aligned for the dtype and, for
    /// bool, all 0 or 1; else copied (non-zero bool bytes become 1).
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the dtype is not plain or the length is not what the shape needs.
    pub fn from_bytes(dtype: DType, shape: Shape, bytes: Bytes, budget: Option<&Budget>) -> Result<Tensor, Status> {
        let needed = shape.num_bytes(dtype.size())?;
        if !dtype.is_plain() || bytes.len() != needed {
            return Err(Status::invalid_argument(format_args!(
                "a {dtype} tensor of shape {shape} has {needed} bytes, not {}",
                bytes.len()
            )));
        }
        let aligned = bytes.as_ptr().align_offset(dtype.size().min(16)) == 0;
        let valid = dtype != DType::Bool || bytes.iter().all(|&b| b <= 1);
        let inline = shape.num_elements() == 1 && dtype.size() <= 8;
        if aligned && valid && !inline && cfg!(target_endian = "little") {
            return Ok(Tensor { storage: Storage::Shared(Buffer::from_bytes(bytes)?, 0), shape, dtype });
        }
        let mut tensor = Tensor::zeros(dtype, &shape, budget)?;
        if let Some(to) = tensor.raw_mut() {
            to.copy_from_slice(&bytes);
            if dtype == DType::Bool {
                to.iter_mut().for_each(|b| *b = u8::from(*b != 0));
            }
        }
        Ok(tensor)
    }

    /// A tensor over constants of the program, for example in flash; never copied.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the dtype is not plain or is bool, the length is not what the shape needs, or the bytes
    /// are not aligned for the dtype.
    pub fn from_static(dtype: DType, shape: Shape, bytes: &'static [u8]) -> Result<Tensor, Status> {
        let fits = dtype.is_plain() && dtype != DType::Bool && bytes.len() == shape.num_bytes(dtype.size())?;
        if !fits || bytes.as_ptr().align_offset(dtype.size().min(16)) != 0 {
            return Err(Status::invalid_argument(format_args!(
                "{} constant bytes do not serve as a {dtype} tensor of shape {shape}",
                bytes.len()
            )));
        }
        Ok(Tensor { storage: Storage::Shared(Buffer::from_static(bytes)?, 0), shape, dtype })
    }

    /// A string tensor.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the shape does not hold `strings.len()` elements.
    pub fn from_strings(shape: Shape, strings: Vec<Str>) -> Result<Tensor, Status> {
        check_count(&shape, strings.len())?;
        Ok(Tensor { storage: Storage::Strings(Arc::new(strings)), shape, dtype: DType::String })
    }

    /// A resource tensor.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the shape does not hold `handles.len()` elements.
    pub fn from_resources(shape: Shape, handles: Vec<ResourceHandle>) -> Result<Tensor, Status> {
        check_count(&shape, handles.len())?;
        Ok(Tensor { storage: Storage::Resources(Arc::new(handles)), shape, dtype: DType::Resource })
    }

    /// A variant tensor.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the shape does not hold `variants.len()` elements.
    pub fn from_variants(shape: Shape, variants: Vec<Variant>) -> Result<Tensor, Status> {
        check_count(&shape, variants.len())?;
        Ok(Tensor { storage: Storage::Variants(Arc::new(variants)), shape, dtype: DType::Variant })
    }
}

/// Reading.
impl Tensor {
    /// The dtype.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The number of elements.
    #[inline]
    pub fn num_elements(&self) -> usize {
        self.shape.num_elements()
    }

    /// Bytes of the elements: exact for plain dtypes, the strings' own bytes for strings.
    pub fn num_bytes(&self) -> usize {
        match &self.storage {
            Storage::Strings(strings) => strings.iter().map(|s| s.len()).fold(0, usize::saturating_add),
            _ => self.num_elements().saturating_mul(self.dtype.size()),
        }
    }

    /// The raw bytes of a plain tensor, row-major in the machine's byte order; empty for other dtypes.
    pub fn bytes(&self) -> &[u8] {
        let len = self.num_elements() * self.dtype.size();
        match &self.storage {
            Storage::Inline(word) => word.0.get(..len).unwrap_or_default(),
            Storage::Shared(buffer, offset) => buffer.bytes().get(*offset..*offset + len).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The raw bytes of a plain tensor as a shared handle for sending; never copied unless they lie inline.
    pub fn to_bytes(&self) -> Bytes {
        struct Owner(Tensor);
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                self.0.bytes()
            }
        }
        match &self.storage {
            Storage::Inline(_) => Bytes::copy_from_slice(self.bytes()),
            _ => Bytes::from_owner(Owner(self.clone())),
        }
    }

    /// The elements of a plain tensor.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the dtype is not `T`'s.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Result<&[T], Status> {
        match cast(self.dtype, self.bytes()) {
            Some(elements) => Ok(elements),
            None => Err(self.wrong_dtype(T::DTYPE)),
        }
    }

    /// The only element of a plain tensor of one element, whatever its rank.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the dtype is not `T`'s or there is not exactly one element.
    #[inline]
    pub fn to_scalar<T: Element>(&self) -> Result<T, Status> {
        match self.as_slice::<T>()? {
            [value] => Ok(*value),
            _ => Err(Status::invalid_argument(format_args!("expected a scalar, got shape {}", self.shape))),
        }
    }

    /// The elements of a string tensor.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for another dtype.
    pub fn strings(&self) -> Result<&[Str], Status> {
        match &self.storage {
            Storage::Strings(strings) => Ok(strings),
            _ => Err(self.wrong_dtype(DType::String)),
        }
    }

    /// The elements of a resource tensor.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for another dtype.
    pub fn resources(&self) -> Result<&[ResourceHandle], Status> {
        match &self.storage {
            Storage::Resources(handles) => Ok(handles),
            _ => Err(self.wrong_dtype(DType::Resource)),
        }
    }

    /// The elements of a variant tensor.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for another dtype.
    pub fn variants(&self) -> Result<&[Variant], Status> {
        match &self.storage {
            Storage::Variants(variants) => Ok(variants),
            _ => Err(self.wrong_dtype(DType::Variant)),
        }
    }

    /// Integers of an int32 or int64 tensor widened to i64: shapes, axes, indices.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for another dtype.
    pub fn to_i64_vec(&self) -> Result<Vec<i64>, Status> {
        match self.dtype {
            DType::Int32 => Ok(self.as_slice::<i32>()?.iter().map(|&v| i64::from(v)).collect()),
            _ => Ok(self.as_slice::<i64>()?.to_vec()),
        }
    }

    #[cold]
    fn wrong_dtype(&self, wanted: DType) -> Status {
        Status::invalid_argument(format_args!("expected a {wanted} tensor, got {}", self.dtype))
    }
}

/// Views and writing.
impl Tensor {
    /// The same elements under another shape of as many elements; nothing is copied.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the numbers of elements differ.
    pub fn reshaped(&self, shape: Shape) -> Result<Tensor, Status> {
        check_count(&shape, self.num_elements())?;
        Ok(Tensor { storage: self.storage.clone(), shape, dtype: self.dtype })
    }

    /// Gives the elements another shape of as many elements.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the numbers of elements differ.
    pub(crate) fn set_shape(&mut self, shape: Shape) -> Result<(), Status> {
        check_count(&shape, self.num_elements())?;
        self.shape = shape;
        Ok(())
    }

    /// Rows `start..start + len` of the outermost dimension; shared where alignment allows it, else copied.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a scalar, a range outside the dimension, or a dtype that is not plain.
    pub fn rows(&self, start: usize, len: usize) -> Result<Tensor, Status> {
        let mut dims = self.shape.to_usize();
        let end = start.checked_add(len);
        match dims.first_mut() {
            Some(outer) if end.is_some_and(|end| end <= *outer) && self.dtype.is_plain() => *outer = len,
            _ => {
                return Err(Status::invalid_argument(format_args!(
                    "rows {start}..{start}+{len} of a {} tensor of shape {}",
                    self.dtype, self.shape
                )));
            }
        }
        let row = dims.iter().skip(1).product::<usize>() * self.dtype.size();
        let shape = Shape::new(&dims)?;
        let from = start * row;
        if let Storage::Shared(buffer, offset) = &self.storage
            && (*offset + from).is_multiple_of(self.dtype.size().clamp(1, 16))
        {
            return Ok(Tensor { storage: Storage::Shared(buffer.clone(), offset + from), shape, dtype: self.dtype });
        }
        let mut copy = Tensor::zeros(self.dtype, &shape, None)?;
        if let (Some(to), Some(bytes)) = (copy.raw_mut(), self.bytes().get(from..from + len * row)) {
            to.copy_from_slice(bytes);
        }
        Ok(copy)
    }

    /// Whether the elements are shared with no other tensor and may be written in place.
    pub fn is_unique(&self) -> bool {
        match &self.storage {
            Storage::Inline(_) => true,
            Storage::Shared(buffer, _) => buffer.is_unique(),
            Storage::Strings(strings) => Arc::strong_count(strings) == 1,
            Storage::Resources(handles) => Arc::strong_count(handles) == 1,
            Storage::Variants(variants) => Arc::strong_count(variants) == 1,
        }
    }

    /// The raw bytes of a plain tensor for writing; `None` when they are shared or the dtype is not plain.
    fn raw_mut(&mut self) -> Option<&mut [u8]> {
        let len = self.num_elements() * self.dtype.size();
        match &mut self.storage {
            Storage::Inline(word) => word.0.get_mut(..len),
            Storage::Shared(buffer, offset) => buffer.bytes_mut()?.get_mut(*offset..*offset + len),
            _ => None,
        }
    }

    /// The raw bytes of a plain tensor for writing, as [`Tensor::bytes`] gives them for reading; `None` when they are
    /// shared, or for bool, of which not every byte is a value.
    pub(crate) fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if self.dtype == DType::Bool { None } else { self.raw_mut() }
    }

    /// The elements of a plain tensor for writing; `None` when they are shared or the dtype is not `T`'s.
    #[inline]
    pub fn elements_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        let dtype = self.dtype;
        cast_mut(dtype, self.raw_mut()?)
    }

    /// The elements for writing, copied first when they are shared.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the dtype is not `T`'s; RESOURCE_EXHAUSTED when there is no memory for the copy.
    pub fn make_mut<T: Element>(&mut self) -> Result<&mut [T], Status> {
        if T::DTYPE != self.dtype {
            return Err(self.wrong_dtype(T::DTYPE));
        }
        if !self.is_unique() {
            let mut copy = Tensor::zeros(self.dtype, &self.shape, None)?;
            if let Some(to) = copy.raw_mut() {
                to.copy_from_slice(self.bytes());
            }
            *self = copy;
        }
        self.elements_mut().ok_or_else(|| Status::internal("a fresh tensor is shared"))
    }

    /// The strings for writing, copied first when they are shared.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for another dtype.
    pub fn make_strings_mut(&mut self) -> Result<&mut Vec<Str>, Status> {
        match &mut self.storage {
            Storage::Strings(strings) => Ok(Arc::make_mut(strings)),
            _ => Err(Status::invalid_argument(format_args!("expected a string tensor, got {}", self.dtype))),
        }
    }

    /// The variants for writing, copied first when they are shared.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for another dtype.
    pub fn make_variants_mut(&mut self) -> Result<&mut Vec<Variant>, Status> {
        match &mut self.storage {
            Storage::Variants(variants) => Ok(Arc::make_mut(variants)),
            _ => Err(Status::invalid_argument(format_args!("expected a variant tensor, got {}", self.dtype))),
        }
    }

    /// Turns this tensor into one of `dtype` and `shape` with unspecified (but valid) elements, keeping its memory when
    /// nobody else holds it and it is large enough. False, and unchanged, when it is not.
    pub fn recycle(&mut self, dtype: DType, shape: &Shape) -> bool {
        let Ok(needed) = shape.num_bytes(dtype.size()) else { return false };
        let fits = match &mut self.storage {
            Storage::Inline(_) => dtype.is_plain() && needed <= 8 && shape.num_elements() == 1,
            // Memory far larger than needed is not kept: a slot that once held a large value would pin it.
            Storage::Shared(buffer, _) => {
                dtype.is_plain()
                    && needed <= buffer.capacity()
                    && buffer.capacity() / 8 <= needed.max(512)
                    && buffer.is_unique()
            }
            _ => false,
        };
        if !fits {
            return false;
        }
        if let Storage::Shared(_, offset) = &mut self.storage {
            *offset = 0;
        }
        self.dtype = dtype;
        if self.shape != *shape {
            self.shape = shape.clone();
        }
        if dtype == DType::Bool
            && let Some(bytes) = self.raw_mut()
        {
            bytes.fill(0);
        }
        true
    }

    /// Overwrites this tensor with a scalar of at most 8 bytes, in place where it lies inline: the fast path of kernels
    /// on scalars.
    #[inline]
    pub fn set_scalar<T: Element>(&mut self, value: T) {
        if size_of::<T>() <= 8
            && let Storage::Inline(word) = &mut self.storage
            && self.shape.rank() == 0
        {
            self.dtype = T::DTYPE;
            if let Some([slot]) = word.0.get_mut(..size_of::<T>()).and_then(|b| cast_mut::<T>(T::DTYPE, b)) {
                *slot = value;
            }
            return;
        }
        *self = Tensor::scalar(value);
    }

    /// The value of an inline scalar of `T`; `None` for everything else. The fast path of kernels on scalars.
    #[inline]
    pub fn inline_scalar<T: Element>(&self) -> Option<T> {
        match &self.storage {
            Storage::Inline(word) if self.dtype == T::DTYPE && self.shape.rank() == 0 => {
                cast::<T>(T::DTYPE, word.0.get(..size_of::<T>())?)?.first().copied()
            }
            _ => None,
        }
    }
}

fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>, Status> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(|_| Status::fixed(&crate::status::OUT_OF_MEMORY))?;
    elements.resize(count, value);
    Ok(elements)
}

fn check_count(shape: &Shape, count: usize) -> Result<(), Status> {
    if shape.num_elements() == count {
        return Ok(());
    }
    Err(Status::invalid_argument(format_args!(
        "a tensor of shape {shape} has {} elements, not {count}",
        shape.num_elements()
    )))
}

impl fmt::Debug for Tensor {
    /// Dtype, shape and the first few elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        write!(f, "Tensor({}{} ", self.dtype, self.shape)?;
        macro_rules! show {
            ($($ty:ty),*) => {
                match self.dtype {
                    $(<$ty as Element>::DTYPE => {
                        let elements = self.as_slice::<$ty>().unwrap_or_default();
                        f.debug_list().entries(elements.iter().take(SHOWN)).finish()
                    })*
                    DType::String => {
                        f.debug_list().entries(self.strings().unwrap_or_default().iter().take(SHOWN)).finish()
                    }
                    DType::Resource => {
                        f.debug_list().entries(self.resources().unwrap_or_default().iter().take(SHOWN)).finish()
                    }
                    _ => f.debug_list().entries(self.bytes().iter().take(SHOWN)).finish(),
                }
            };
        }
        show!(
            f32,
            f64,
            i8,
            i16,
            i32,
            i64,
            u8,
            u16,
            u32,
            u64,
            bool,
            half::f16,
            half::bf16,
            num_complex::Complex<f32>,
            num_complex::Complex<f64>
        )?;
        if self.num_elements() > SHOWN {
            f.write_str("…")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    /// A slot is one cache line.
    #[test]
    fn size() {
        assert_eq!(size_of::<Tensor>(), 64);
    }

    /// Scalars of every size, inline and not.
    #[test]
    fn scalars() {
        assert_eq!(Tensor::scalar(2.5f32).to_scalar::<f32>(), Ok(2.5));
        assert_eq!(Tensor::scalar(true).to_scalar::<bool>(), Ok(true));
        let wide = Complex::new(1.0f64, -2.0);
        assert_eq!(Tensor::scalar(wide).to_scalar::<Complex<f64>>(), Ok(wide));
        assert!(Tensor::scalar(1i32).to_scalar::<f32>().is_err());
        let mut slot = Tensor::default();
        slot.set_scalar(7i64);
        assert_eq!(slot.inline_scalar::<i64>(), Some(7));
        assert_eq!(slot.inline_scalar::<f64>(), None);
    }

    /// Views share, writes copy when shared, memory is reused when it is not.
    #[test]
    fn sharing() {
        let mut a = Tensor::from_slice(&[4, 3], &[0f32, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11.]).unwrap();
        let at = a.bytes().as_ptr();
        let rows = a.rows(1, 2).unwrap();
        assert_eq!(rows.as_slice::<f32>().unwrap(), [3., 4., 5., 6., 7., 8.]);
        assert_eq!(rows.bytes().as_ptr(), at.wrapping_add(12));
        assert!(a.rows(3, 2).is_err() && a.rows(usize::MAX, 2).is_err());
        assert!(!a.is_unique() && a.elements_mut::<f32>().is_none());
        a.make_mut::<f32>().unwrap()[3] = -1.0;
        assert_eq!(rows.as_slice::<f32>().unwrap()[0], 3.0);
        drop(rows);
        let at = a.bytes().as_ptr();
        assert!(a.recycle(DType::Int32, &Shape::new(&[2, 2]).unwrap()));
        assert_eq!(a.bytes().as_ptr(), at);
        assert!(!a.recycle(DType::Int32, &Shape::new(&[200]).unwrap()));
        assert!(a.recycle(DType::Bool, &Shape::new(&[9]).unwrap()));
        assert_eq!(a.as_slice::<bool>().unwrap(), [false; 9]);
    }

    /// Received bytes: aligned ones are shared, others copied; bool bytes become 0 or 1; wrong lengths are refused.
    #[test]
    fn received() {
        let frame = Bytes::from(alloc::vec![0u8; 64]);
        let start = frame.as_ptr().align_offset(16);
        let shape = Shape::new(&[2]).unwrap();
        let aligned = Tensor::from_bytes(DType::Float, shape.clone(), frame.slice(start..start + 8), None).unwrap();
        assert_eq!(aligned.bytes().as_ptr(), frame.as_ptr().wrapping_add(start));
        let odd = frame.slice(start + 1..start + 9);
        let copied = Tensor::from_bytes(DType::Float, shape.clone(), odd.clone(), None).unwrap();
        assert_ne!(copied.bytes().as_ptr(), odd.as_ptr());
        let bools = Tensor::from_bytes(DType::Bool, shape.clone(), Bytes::from_static(&[0, 7]), None).unwrap();
        assert_eq!(bools.as_slice::<bool>().unwrap(), [false, true]);
        assert!(Tensor::from_bytes(DType::Float, shape.clone(), frame.slice(..7), None).is_err());
        assert!(Tensor::from_bytes(DType::String, shape, frame.slice(..0), None).is_err());
    }

    /// Zeros of every dtype; the budget is asked first.
    #[test]
    fn zeros() {
        let shape = Shape::new(&[3]).unwrap();
        for &dtype in DType::ALL {
            let zeros = Tensor::zeros(dtype, &shape, None);
            assert_eq!(zeros.is_err(), dtype == DType::Resource, "{dtype}");
        }
        let budget = Budget::new("test", 1 << 20);
        let huge = Shape::new(&[1 << 30, 1 << 20]).unwrap();
        let error = Tensor::zeros(DType::Float, &huge, Some(&budget)).unwrap_err();
        assert_eq!(error.code(), crate::Code::ResourceExhausted);
    }
}
