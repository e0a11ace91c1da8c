//! What a kernel refuses: one small value that callers turn into a status.

use core::fmt;

/// Result of a kernel.
pub type Result<T> = core::result::Result<T, Error>;

/// Why a kernel refused its arguments. Nothing was read out of range; outputs may hold partial results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Shapes cannot be broadcast together.
    Incompatible,
    /// More dimensions than [`MAX_RANK`](crate::dims::MAX_RANK).
    Rank,
    /// A slice's length is not the element count of its shape, or two shapes that must agree do not.
    Length,
    /// An element count or an offset does not fit in `usize`.
    Overflow,
    /// An axis, permutation, block or other parameter is outside its range.
    Argument,
    /// An integer was divided by zero.
    DivisionByZero,
    /// An integer was raised to a negative power.
    NegativeExponent,
    /// `indices[position] = index` is not in `[0, limit)`.
    IndexOutOfRange {
        /// Where in the flattened indices.
        position: usize,
        /// The value found.
        index: i64,
        /// Size of the dimension that is indexed.
        limit: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Incompatible => f.write_str("Incompatible shapes"),
            Error::Rank => f.write_str("Too many dimensions"),
            Error::Length => f.write_str("Length does not fit the shape"),
            Error::Overflow => f.write_str("Size overflows"),
            Error::Argument => f.write_str("Argument out of range"),
            Error::DivisionByZero => f.write_str("Integer division by zero"),
            Error::NegativeExponent => f.write_str("Integers to negative integer powers are not allowed"),
            Error::IndexOutOfRange { position, index, limit } => {
                write!(f, "indices[{position}] = {index} is not in [0, {limit})")
            }
        }
    }
}

impl core::error::Error for Error {}

/// `Ok` if `found == wanted`, else [`Error::Length`].
#[inline]
pub(crate) fn same(found: usize, wanted: usize) -> Result<()> {
    if found == wanted { Ok(()) } else { Err(Error::Length) }
}
