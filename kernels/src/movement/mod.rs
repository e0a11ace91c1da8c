//! Kernels that move elements without looking at them: any `Clone` type, so numbers and strings alike.
//!
//! A caller with many dtypes of one size may view them as unsigned integers of that size and share the code.

pub mod blocks;
pub mod gather;
pub mod join;
pub mod pad;
pub mod reverse;
pub mod scatter;
pub mod slice;
pub mod tile;
pub mod transpose;
