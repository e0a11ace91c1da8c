//! Stopping a step from outside.

use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;

use crate::Status;
use crate::sync::Mutex;

/// Cancels a step: between two kernels, or at once when the step waits.
#[derive(Default)]
pub struct StepControl {
    cancelled: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    reason: Option<Status>,
    waker: Option<Waker>,
}

impl StepControl {
    pub(super) fn new() -> StepControl {
        StepControl::default()
    }

    /// Ends the step with `reason`, unless it has a reason already. Does nothing to a step that ended.
    pub fn cancel(&self, reason: Status) {
        let waker = {
            let mut inner = self.inner.lock();
            if inner.reason.is_none() {
                inner.reason = Some(reason);
            }
            // Release pairs with the acquire in `reason`: who sees the flag sees the reason.
            self.cancelled.store(true, Ordering::Release);
            inner.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Why the step must end, if it must.
    #[inline]
    pub(super) fn reason(&self) -> Option<Status> {
        if !self.cancelled.load(Ordering::Acquire) {
            return None;
        }
        self.inner.lock().reason.clone()
    }

    /// Remembers whom to wake on cancellation.
    pub(super) fn register(&self, waker: &Waker) {
        let mut inner = self.inner.lock();
        match &mut inner.waker {
            Some(known) => known.clone_from(waker),
            None => inner.waker = Some(waker.clone()),
        }
    }
}
