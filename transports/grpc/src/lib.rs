//! runstep over gRPC: TensorFlow's MasterService over HTTP/2, as stock TensorFlow clients call it, over smol.
//!
//! [`serve`] is the server's side, [`GrpcChannel`] the client's. HTTP/2 is the `h2` crate's, which has no runtime of its
//! own. A call that is ready when first polled is answered by the task that read it; one that waits, or comes when steps
//! take long, has a task of its own, so that neither blocked steps nor long ones hold up a connection. The contents of
//! large tensors go from the frames straight into memory of their own, and are sent from where they lie.
//!
//! Calls are answered under `/tensorflow.MasterService/…`, which stock clients use, and `/tensorflow.grpc.MasterService/…`,
//! the package of the published definition; beside them stands the standard health service.

#![forbid(unsafe_code)]

mod answer;
mod call;
mod channel;
mod connection;
mod encoding;
mod header;
mod health;
mod inbound;
mod io;
mod nested;
mod outbound;
mod path;
mod server;
mod spawn;
mod wait;

pub use channel::GrpcChannel;
pub use server::{Server, ServerOptions, serve};
pub use spawn::Spawn;

pub use runstep::service::frame::Limits;

/// Bytes that a stream may send ahead of what has been read; a large tensor needs no more round trips than that.
const STREAM_WINDOW: u32 = 8 << 20;
/// The same of all streams of a connection.
const CONNECTION_WINDOW: u32 = 64 << 20;
/// Bytes of a frame at most; another stream gets its turn after each.
const FRAME_LEN: u32 = 1 << 20;
/// Bytes of headers that a call may have; further ones are refused.
const HEADERS_LEN_MAX: usize = 16 << 10;
/// Bytes of headers up to which a refusal is a gRPC status; beyond it HTTP/2 answers 431 by itself.
const HEADERS_READ_MAX: u32 = 256 << 10;
