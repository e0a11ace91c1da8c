//! Canonical codes and the one-word [`Status`] error that every fallible public call returns.
//!
//! The codes are those of gRPC and `tensorflow.error.Code`. With an allocator a status carries a message, the node it
//! came from, payloads and the derived mark; without one it is a code and a fixed text.

mod code;
#[cfg(feature = "alloc")]
mod detail;
#[cfg(not(feature = "alloc"))]
mod fixed;

pub use code::Code;
#[cfg(feature = "alloc")]
pub use detail::{DERIVED_PAYLOAD, Status};
#[cfg(not(feature = "alloc"))]
pub use fixed::Status;

/// A status known at compile time: making an error from it allocates nothing, so it serves when memory is gone.
#[derive(Debug)]
#[repr(align(8))]
pub struct Fixed {
    /// The canonical code.
    pub code: Code,
    /// What went wrong.
    pub message: &'static str,
}

/// The answer when an allocation is refused by the allocator itself.
pub static OUT_OF_MEMORY: Fixed = Fixed { code: Code::ResourceExhausted, message: "out of memory" };

/// Shorthand for results of this crate.
pub type Result<T, E = Status> = core::result::Result<T, E>;
