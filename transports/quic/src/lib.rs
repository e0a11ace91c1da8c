//! runstep over QUIC: encrypted, with certificates, and one stream for each call, over smol.
//!
//! [`QuicChannel`] is the client's side, [`serve`] the server's; [`Identity`] and [`Authority`] make and read
//! certificates. A lost packet holds up only the call it belongs to, a large tensor does not hold up a small call, and
//! giving up a call is resetting its stream.
//!
//! TLS 1.3 only, with ring; the application protocol is named `runstep/1`. Nothing of a process's global state is used.

#![forbid(unsafe_code)]

mod channel;
mod endpoint;
mod error;
mod identity;
mod server;
mod spawn;
mod stream;
mod tls;

pub use channel::QuicChannel;
pub use identity::{Authority, Identity};
pub use server::{Server, serve};
pub use spawn::Spawn;
pub use tls::{ClientAuth, ClientOptions, ServerOptions, Trust};

pub use runstep::service::frame::Limits;

/// The name of the protocol in the handshake.
const ALPN: &[u8] = b"runstep/1";
