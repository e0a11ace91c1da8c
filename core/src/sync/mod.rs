//! The few locks there are: the operating system's where there is one, a critical section on bare metal.
//!
//! Never a bare spin lock: it deadlocks when an interrupt takes it. Locks are held for a few instructions, never over a
//! kernel or a wake.

#[cfg(not(feature = "std"))]
mod critical;

#[cfg(feature = "std")]
type Raw = parking_lot::RawMutex;
#[cfg(not(feature = "std"))]
type Raw = critical::RawCriticalSection;

/// A mutual exclusion lock that cannot be poisoned.
pub type Mutex<T> = lock_api::Mutex<Raw, T>;
/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, Raw, T>;
