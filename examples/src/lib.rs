//! What the example programs share. The programs are in `examples/`.

#![forbid(unsafe_code)]

pub mod curve;
pub mod digits;
