//! The moment at which a caller gives up.

use core::task::Waker;

use runstep::Status;
use runstep::host::{Host, Time};
use runstep::service::CallOptions;

/// A moment on the host's clock, and how long it was away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Time,
    timeout_ms: u64,
}

impl Deadline {
    /// From now; `None` for a call without a timeout or a host without a clock.
    pub(crate) fn begin(options: CallOptions, host: &dyn Host) -> Option<Deadline> {
        let timeout_ms = options.timeout_ms?;
        Some(Deadline { at: host.now()?.plus_millis(timeout_ms), timeout_ms })
    }

    /// The error once the moment has passed; before that, the waker is woken at it.
    pub(crate) fn check(&self, host: &dyn Host, waker: &Waker) -> Result<(), Status> {
        if host.now().is_some_and(|now| now >= self.at) {
            return Err(Status::deadline_exceeded(format_args!("the call took longer than {} ms", self.timeout_ms)));
        }
        host.wake_at(self.at, waker);
        Ok(())
    }
}
