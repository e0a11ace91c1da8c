//! What the outside gives to the core: clock, entropy, threads, timers, log.
//!
//! Everything but the arithmetic can be absent on bare metal: [`NoHost`] runs kernels inline, has no clock and logs
//! nothing. `runstep-host` has the form for operating systems.

use core::fmt;
use core::task::{Context, Poll, Waker};

pub use runstep_kernels::parallel::{Inline, Parallel};

/// A moment of the host's monotonic clock, in nanoseconds since an arbitrary start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub u64);

impl Time {
    /// This moment plus a number of milliseconds, never past the end of time.
    #[must_use]
    pub fn plus_millis(self, millis: u64) -> Time {
        Time(self.0.saturating_add(millis.saturating_mul(1_000_000)))
    }

    /// Nanoseconds from `earlier` to this moment, 0 if it is not earlier.
    pub fn since(self, earlier: Time) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed that the operator should know of.
    Error,
    /// Something odd that was handled.
    Warn,
    /// Life-cycle events.
    Info,
    /// Details for debugging.
    Debug,
}

/// What a host gives. Every method has a form that does nothing, so that a small host names only what it has.
pub trait Host: Send + Sync {
    /// The threads for kernels; [`Inline`] when there are none.
    fn parallel(&self) -> &dyn Parallel {
        &Inline
    }

    /// The monotonic clock; `None` means that deadlines and idle times are not observed.
    fn now(&self) -> Option<Time> {
        None
    }

    /// Microseconds since the Unix epoch for statistics, 0 when unknown.
    fn unix_micros(&self) -> u64 {
        0
    }

    /// Fills `bytes` with unpredictable bits; false when the host has no source of them.
    fn entropy(&self, bytes: &mut [u8]) -> bool {
        let _ = bytes;
        false
    }

    /// Wakes `waker` at `at` or soon after. A host without timers ignores it: deadlines are then seen only when a task
    /// is polled for another reason.
    fn wake_at(&self, at: Time, waker: &Waker) {
        let _ = (at, waker);
    }

    /// Polls `work` on the calling thread until it is ready, and sleeps while it is not. False, and `work` may not have been
    /// polled, where there is no way to sleep.
    fn block(&self, work: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>) -> bool {
        let _ = work;
        false
    }

    /// Runs `work`; false when it panicked and the host could contain that. Unless a host overrides it, a panic goes on.
    fn run_contained(&self, work: &mut dyn FnMut()) -> bool {
        work();
        true
    }

    /// Takes a log line.
    fn log(&self, level: Level, line: fmt::Arguments<'_>) {
        let _ = (level, line);
    }
}

/// The host that has nothing: inline kernels, no clock, no entropy, no log.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {}
