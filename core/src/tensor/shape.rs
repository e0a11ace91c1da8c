//! Shapes of rank 0 to 8, held inline.

use core::fmt;

/// The highest rank of a tensor.
pub const RANK_MAX: usize = 8;

/// The dimensions of a tensor, outermost first; rank at most [`RANK_MAX`], each below 2³².
#[derive(Clone, Eq, Default)]
pub struct Shape {
    dims: heapless::Vec<u32, RANK_MAX, u8>,
}

/// Why dimensions are no [`Shape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// More than [`RANK_MAX`] dimensions; the number.
    Rank(usize),
    /// A negative dimension; the value.
    Negative(i64),
    /// A dimension of 2³² or more; the value.
    TooLarge(u64),
    /// The number of elements or bytes exceeds the address space.
    Overflow,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::Rank(rank) => write!(f, "rank {rank} exceeds the supported maximum of {RANK_MAX}"),
            ShapeError::Negative(dim) => write!(f, "dimension {dim} is negative"),
            ShapeError::TooLarge(dim) => write!(f, "dimension {dim} exceeds the supported maximum of 4294967295"),
            ShapeError::Overflow => f.write_str("the number of elements is too large"),
        }
    }
}

#[cfg(feature = "alloc")]
impl From<ShapeError> for crate::Status {
    fn from(error: ShapeError) -> crate::Status {
        crate::Status::invalid_argument(error)
    }
}

impl Shape {
    /// The shape of a scalar.
    pub const fn scalar() -> Shape {
        Shape { dims: heapless::Vec::new() }
    }

    /// A shape of unsigned dimensions; the product is checked to fit the address space.
    pub fn new(dims: &[usize]) -> Result<Shape, ShapeError> {
        Shape::from_iter_checked(dims.iter().map(|&d| Ok(d as u64)), dims.len())
    }

    /// A shape of the dimensions as they stand in graphs and messages.
    pub fn from_i64(dims: &[i64]) -> Result<Shape, ShapeError> {
        Shape::from_iter_checked(
            dims.iter().map(|&d| u64::try_from(d).map_err(|_| ShapeError::Negative(d))),
            dims.len(),
        )
    }

    fn from_iter_checked(
        dims: impl Iterator<Item = Result<u64, ShapeError>>,
        rank: usize,
    ) -> Result<Shape, ShapeError> {
        let mut shape = Shape::scalar();
        // The product leaves zeros out, so that a later zero cannot hide an overflow: strides are formed from it.
        let mut product = 1usize;
        for dim in dims {
            let dim = dim?;
            let small = u32::try_from(dim).map_err(|_| ShapeError::TooLarge(dim))?;
            shape.dims.push(small).map_err(|_| ShapeError::Rank(rank))?;
            let factor = usize::try_from(small.max(1)).map_err(|_| ShapeError::Overflow)?;
            product = product.checked_mul(factor).ok_or(ShapeError::Overflow)?;
        }
        if product > isize::MAX as usize {
            return Err(ShapeError::Overflow);
        }
        Ok(shape)
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The dimensions.
    #[inline]
    pub fn dims(&self) -> &[u32] {
        &self.dims
    }

    /// Dimension `axis`; 1 past the rank, so that callers need no special case for missing outer dimensions.
    #[inline]
    pub fn dim(&self, axis: usize) -> usize {
        self.dims.get(axis).map_or(1, |&d| d as usize)
    }

    /// The dimensions as `usize`, in an inline vector that derefs to a slice.
    pub fn to_usize(&self) -> heapless::Vec<usize, RANK_MAX> {
        self.dims.iter().map(|&d| d as usize).collect()
    }

    /// The number of elements; constructors ensure that it fits.
    #[inline]
    pub fn num_elements(&self) -> usize {
        self.dims.iter().map(|&d| d as usize).product()
    }

    /// The number of bytes of elements of `size` bytes each, checked.
    pub fn num_bytes(&self, size: usize) -> Result<usize, ShapeError> {
        match self.num_elements().checked_mul(size) {
            Some(bytes) if bytes <= isize::MAX as usize => Ok(bytes),
            _ => Err(ShapeError::Overflow),
        }
    }
}

impl PartialEq for Shape {
    /// Compares without the C library: for a few words its call costs more than the comparison.
    #[inline]
    fn eq(&self, other: &Shape) -> bool {
        self.rank() == other.rank() && self.dims.iter().zip(&other.dims).all(|(a, b)| a == b)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, dim) in self.dims.iter().enumerate() {
            write!(f, "{}{dim}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Shape {
    /// As TensorFlow writes shapes in errors: `[2,3]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each kind of refusal, also behind a zero dimension.
    #[test]
    fn refusals() {
        let cases: &[(&[i64], ShapeError)] = &[
            (&[-1], ShapeError::Negative(-1)),
            (&[2, i64::MIN], ShapeError::Negative(i64::MIN)),
            (&[1 << 32], ShapeError::TooLarge(1 << 32)),
            (&[0, 1 << 62], ShapeError::TooLarge(1 << 62)),
            (&[1 << 31, 1 << 31, 4], ShapeError::Overflow),
            (&[1; 9], ShapeError::Rank(9)),
        ];
        for (dims, error) in cases {
            assert_eq!(Shape::from_i64(dims).as_ref(), Err(error), "{dims:?}");
        }
    }

    /// Sizes of scalars, empty and ordinary shapes.
    #[test]
    fn sizes() {
        assert_eq!(Shape::scalar().num_elements(), 1);
        assert_eq!(Shape::new(&[2, 0, 3]).unwrap().num_elements(), 0);
        let shape = Shape::new(&[2, 3]).unwrap();
        assert_eq!((shape.num_elements(), shape.num_bytes(8), shape.dim(1), shape.dim(5)), (6, Ok(48), 3, 1));
        assert!(shape.num_bytes(usize::MAX).is_err());
        assert_eq!(size_of::<Shape>(), 36);
    }
}
