//! Calls as whole protobuf messages, as gRPC carries them: read as they arrive, each large tensor into memory of its own.
//!
//! No sockets here: [`Gather`] takes bytes in portions of any size.

mod gather;
mod sieve;

pub use gather::Gather;
