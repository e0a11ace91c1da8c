//! The trait pair that transports implement, and the typed requests that they carry.
//!
//! A [`Service`] answers calls, a [`Channel`] makes them; a transport joins the two over a wire. Both deal in the native
//! [`Request`] and [`Response`], never in protobuf. Dropping the future of a call cancels the call.

pub mod frame;
mod messages;
#[cfg(feature = "testing")]
pub mod suite;
pub mod whole;

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;

pub use messages::*;

use crate::Status;

/// The answer to a call, to be awaited; dropping it cancels the call.
pub type CallFuture = Pin<Box<dyn Future<Output = Result<Response, Status>> + Send>>;

/// What a caller says beside the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// Milliseconds until the caller gives up; the call then ends with DEADLINE_EXCEEDED. `None`: never.
    pub timeout_ms: Option<u64>,
}

/// Answers calls: what a transport hands received requests to.
pub trait Service: Send + Sync {
    /// Begins a call. The future does the work when polled, and stops it when dropped.
    fn call(&self, request: Request, options: CallOptions) -> CallFuture;
}

/// Makes calls: what a client holds.
pub trait Channel: Send + Sync {
    /// Begins a call. The future is idle until polled, and dropping it cancels the call at the other side.
    fn call(&self, request: Request, options: CallOptions) -> CallFuture;
}
