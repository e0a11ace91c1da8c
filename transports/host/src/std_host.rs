//! The host that an operating system makes.

use crate::block_on;
use crate::pool::Pool;
use crate::timer::Timer;
use runstep::host::{Host, Level, Parallel, Time};
use runstep::{Code, Status};
use std::fmt;
use std::future::poll_fn;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A [`Host`] over std. Share one a process, in an `Arc`: each has a pool and a timer thread of its own.
///
/// Log lines go to `tracing` under the target `runstep`.
#[derive(Debug)]
pub struct StdHost {
    pool: Pool,
    timer: Timer,
    /// The moment that the host calls 0.
    start: Instant,
}

impl StdHost {
    /// A host with a thread for kernels on each processor that this process may use.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when the system refuses the timer thread. Refused threads for kernels only make the pool
    /// smaller.
    pub fn new() -> Result<StdHost, Status> {
        StdHost::with_threads(thread::available_parallelism().map_or(1, NonZero::get))
    }

    /// A host with `threads` threads for kernels, the caller's included; see [`Pool::new`].
    ///
    /// # Errors
    /// As [`StdHost::new`].
    pub fn with_threads(threads: usize) -> Result<StdHost, Status> {
        let refused = |e| Status::new(Code::ResourceExhausted, format_args!("no thread for timers: {e}"));
        Ok(StdHost { pool: Pool::new(threads), timer: Timer::new().map_err(refused)?, start: Instant::now() })
    }
}

impl Host for StdHost {
    fn parallel(&self) -> &dyn Parallel {
        &self.pool
    }

    fn now(&self) -> Option<Time> {
        Some(Time(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)))
    }

    fn unix_micros(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    fn entropy(&self, bytes: &mut [u8]) -> bool {
        getrandom::fill(bytes).is_ok()
    }

    fn wake_at(&self, at: Time, waker: &Waker) {
        // A moment beyond what the clock can hold never comes.
        if let Some(moment) = self.start.checked_add(Duration::from_nanos(at.0)) {
            self.timer.wake_at(moment, waker);
        }
    }

    fn block(&self, work: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>) -> bool {
        block_on(poll_fn(work));
        true
    }

    fn run_contained(&self, work: &mut dyn FnMut()) -> bool {
        // What `work` touches is given up after a panic: the core drops the step and whatever belongs to it.
        catch_unwind(AssertUnwindSafe(work)).is_ok()
    }

    fn log(&self, level: Level, line: fmt::Arguments<'_>) {
        match level {
            Level::Error => tracing::error!(target: "runstep", "{line}"),
            Level::Warn => tracing::warn!(target: "runstep", "{line}"),
            Level::Info => tracing::info!(target: "runstep", "{line}"),
            Level::Debug => tracing::debug!(target: "runstep", "{line}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clock goes forward from 0 and an alarm does not ring before its moment.
    #[test]
    fn clock_and_alarm() {
        let host = StdHost::with_threads(1).unwrap();
        let now = || host.now().unwrap();
        let at = now().plus_millis(5);
        block_on(poll_fn(|cx| {
            if now() >= at {
                return Poll::Ready(());
            }
            host.wake_at(at, cx.waker());
            Poll::Pending
        }));
        assert!(now() >= at);
        host.wake_at(Time(u64::MAX), Waker::noop());
        assert!(host.unix_micros() > 1_600_000_000_000_000);
    }

    /// Two draws differ, and all of a long buffer is filled.
    #[test]
    fn entropy() {
        let host = StdHost::new().unwrap();
        let (mut a, mut b) = ([0; 32], [0; 32]);
        assert!(host.entropy(&mut a) && host.entropy(&mut b) && host.entropy(&mut []));
        assert_ne!(a, b);
    }

    /// Logging without a subscriber is silent, not an error.
    #[test]
    fn log() {
        let host = StdHost::with_threads(2).unwrap();
        for level in [Level::Error, Level::Warn, Level::Info, Level::Debug] {
            host.log(level, format_args!("line {}", 1));
        }
        assert_eq!(host.parallel().threads(), 2);
    }
}
