//! The protobuf messages of sessions, workers and graphs, and their way to and from native types.
//!
//! Nothing outside this module knows prost. Messages of outside origin are [scanned](scan()) before they are decoded, so
//! that what they ask for can be refused first; byte fields share the received buffer.

#[allow(missing_docs, unreachable_pub, clippy::all)]
#[rustfmt::skip]
mod generated;
pub mod scan;
#[rustfmt::skip]
mod schema;
pub mod service;

pub use generated::*;
pub use scan::{Limits, Scan, ScanError, ScanErrorKind, Scanned, scan};
