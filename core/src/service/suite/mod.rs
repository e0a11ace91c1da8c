//! The test suite that every transport passes, for authors of transports.
//!
//! Implement [`Subject`] for a pair of a channel and a server, and call [`run`]. The suite needs no executor and no clock
//! of its own; a case that never ends is a fault of the transport, so run it under a watchdog. [`Faulty`] puts trouble
//! between a caller and any channel.
//!
//! Only with the feature `testing`.

mod cases;
mod faulty;
mod join;
mod samples;
mod scripted;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;

pub use faulty::{Fault, Faulty};
pub use join::join_all;
pub use scripted::{Script, Scripted};

use super::frame::Limits;
use super::{Channel, Service};
use crate::Status;

/// A future on the heap.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A transport to be tested.
pub trait Subject: Sync {
    /// Starts a server of `service` and connects a channel to it.
    fn connect(&self, service: Arc<dyn Service>, limits: Limits) -> Boxed<'_, Result<Connected, Status>>;

    /// Runs a future to its end, and what the transport itself has to run.
    fn run(&self, future: Boxed<'_, ()>);

    /// What the transport has.
    fn traits(&self) -> Traits {
        Traits { clock: true, wire: true, shutdown: true }
    }
}

/// What a transport has; cases about what it has not are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Deadlines are observed.
    pub clock: bool,
    /// Calls become bytes, which [`Limits`] bound.
    pub wire: bool,
    /// A server can be stopped in good order.
    pub shutdown: bool,
}

/// A channel and what can be done to its other end.
pub struct Connected {
    /// The channel.
    pub channel: Arc<dyn Channel>,
    /// Breaks the connection, as if the server had died.
    pub cut: Box<dyn FnOnce() + Send + Sync>,
    /// Stops the server: calls that run are finished, or with `false` ended with UNAVAILABLE.
    pub shutdown: Box<dyn FnOnce(bool) -> Boxed<'static, ()> + Send + Sync>,
    /// Bytes that the server holds for calls.
    pub bytes_held: Box<dyn Fn() -> usize + Send + Sync>,
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connected({} bytes held)", (self.bytes_held)())
    }
}

/// A case that a transport did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The case.
    pub case: &'static str,
    /// What was seen.
    pub why: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.case, self.why)
    }
}

impl core::error::Error for Failure {}

/// Runs all cases, each on a connection of its own; how many there were. `begun` is told of each.
///
/// # Errors
/// The first case that did not pass.
pub fn run(subject: &dyn Subject, begun: &dyn Fn(&'static str)) -> Result<usize, Failure> {
    let traits = subject.traits();
    let mut count = 0;
    for (case, needs, body) in cases::CASES {
        if (needs.clock && !traits.clock) || (needs.wire && !traits.wire) || (needs.shutdown && !traits.shutdown) {
            continue;
        }
        begun(case);
        let mut result = Err(String::from("the case was not run to its end"));
        subject.run(Box::pin(async { result = body(subject).await }));
        result.map_err(|why| Failure { case, why })?;
        count += 1;
    }
    Ok(count)
}
