//! runstep inside one process: calls are handed over as they are, and a tensor's bytes are never copied.
//!
//! [`channel`] makes the two ends of a bounded queue: a [`MemoryChannel`], which any number of callers share, and a
//! [`MemoryServer`], whose future any executor polls, on another thread or the same one. [`Direct`] has no queue at all:
//! the caller's own task does the work.
//!
//! No sockets, threads, executor or clock: wakers are all it takes, and deadlines are observed where the host has a clock.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod channel;
mod deadline;
mod direct;
mod queue;
mod server;

pub use channel::MemoryChannel;
pub use direct::Direct;
pub use server::{MemoryServer, Serve};

use alloc::sync::Arc;

use runstep::host::Host;

/// How much may wait and run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Calls that wait to be begun; further callers wait until there is room. Default 64; each holds its request.
    pub waiting_max: usize,
    /// Calls that are begun and not answered. Default 4096; each holds its future.
    pub running_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { waiting_max: 64, running_max: 4096 }
    }
}

/// The two ends of a queue of calls. The host gives the clock for deadlines; [`runstep::host::NoHost`] has none.
pub fn channel(host: Arc<dyn Host>, limits: Limits) -> (MemoryChannel, MemoryServer) {
    let shared = Arc::new(queue::Shared::new(host, limits));
    (MemoryChannel::new(shared.clone()), MemoryServer::new(shared))
}

#[cfg(test)]
mod tests;
