//! How calls look on a stream of bytes: frames of a prefix, a postcard header and a body.
//!
//! ```text
//! frame  = prefix (12 bytes) | header (postcard) | body
//! prefix = 'R' | version | header length, u16 | body length, u64      all little-endian
//! ```
//!
//! The bodies of all frames of one direction of one call, put together, are the message and then the payloads, end to
//! end. The first frame says how long each is; where a transport cuts long calls so that others get their turn, the rest
//! follows in frames of kind [`Kind::More`]. Whoever reads puts each payload into memory of its own, aligned to 64, of
//! which the tensor is made: that is why nothing here is padded.
//!
//! No sockets here: [`Assembly`] says where the next bytes are to be written, [`Outgoing`] which bytes are to be sent.

mod assembly;
mod header;
mod limits;
mod outgoing;
mod packet;
mod payload;

pub use assembly::{Assembled, Assembly};
pub use header::{HEADER_LEN_MAX, Header, Kind, PREFIX_LEN, Parts, Prefix, VERSION, Wrong};
pub use limits::{Limits, PAYLOADS_MAX};
pub use outgoing::Outgoing;
pub(super) use payload::Payload;

#[cfg(test)]
mod tests;
