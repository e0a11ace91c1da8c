//! runstep over TCP: many calls at once on one connection, in frames, over smol.
//!
//! [`TcpChannel`] is the client's side, [`serve`] the server's. Both keep a connection with one task that reads and one
//! that writes what could not be written at once; a small call and its answer are written by whoever makes them, and a
//! call that is ready when first polled is answered by the task that read it.
//!
//! Long calls are cut into frames of 256 KiB and take turns, so a large tensor does not hold up a small call. Tensors
//! are written from where they lie, and read into memory of their own, aligned to 64.
//!
//! Who connects is not known and nothing is encrypted: use it inside one machine or a network that is trusted, and
//! `runstep-quic` elsewhere.

#![forbid(unsafe_code)]

mod channel;
mod conn;
mod inbox;
mod outbox;
mod proxy;
mod server;
mod spawn;

pub use channel::TcpChannel;
pub use proxy::{Proxy, Trouble};
pub use server::{Server, serve};
pub use spawn::Spawn;

pub use runstep::service::frame::Limits;

/// Bytes of body that a frame has at most; the smaller it is, the sooner another call gets its turn.
const FRAME_LEN: u64 = 256 << 10;
