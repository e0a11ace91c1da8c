//! What the core asks of its host, given by an operating system: threads, clock, timers, entropy, log.
//!
//! [`StdHost`] is a [`runstep::host::Host`] over std: a [`Pool`] of threads for kernels, one thread that keeps the
//! alarms, the system's monotonic clock and random numbers, and log lines through `tracing`. [`block_on`] waits for a
//! future on the calling thread, and [`blocking`] has the client in that form. There is no executor and no socket here:
//! those come with a transport.

mod block_on;
pub mod blocking;
mod pool;
mod std_host;
mod timer;

pub use block_on::block_on;
pub use pool::Pool;
pub use std_host::StdHost;
