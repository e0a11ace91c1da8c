//! A raw lock that is a critical section while it is held.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use critical_section::RestoreState;

/// A lock for bare metal: taking it enters a critical section (interrupts off on one core), releasing leaves it.
///
/// Taking a lock that is held by this very context is a bug that would loop for ever; `lock` then fails by panic.
pub struct RawCriticalSection {
    held: AtomicBool,
    restore: UnsafeCell<RestoreState>,
}

// SAFETY: `restore` is only touched by the holder of the lock, inside the critical section.
unsafe impl Sync for RawCriticalSection {}
// SAFETY: plain data.
unsafe impl Send for RawCriticalSection {}

// SAFETY: `try_lock` succeeds only inside a critical section and only when `held` was false, so there is one holder.
unsafe impl lock_api::RawMutex for RawCriticalSection {
    #[allow(clippy::declare_interior_mutable_const, reason = "the initial value that lock_api asks for")]
    const INIT: Self =
        RawCriticalSection { held: AtomicBool::new(false), restore: UnsafeCell::new(RestoreState::invalid()) };
    type GuardMarker = lock_api::GuardNoSend;

    fn lock(&self) {
        assert!(self.try_lock(), "a lock was taken twice by one context");
    }

    fn try_lock(&self) -> bool {
        // SAFETY: released by `unlock`, or right below when the lock is held already; sections nest.
        let restore = unsafe { critical_section::acquire() };
        if self.held.load(Ordering::Relaxed) {
            // SAFETY: pairs with the acquire above.
            unsafe { critical_section::release(restore) };
            return false;
        }
        self.held.store(true, Ordering::Relaxed);
        // SAFETY: the lock is ours, so nobody else touches the cell.
        unsafe { *self.restore.get() = restore };
        true
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock, hence the cell.
        let restore = unsafe { *self.restore.get() };
        self.held.store(false, Ordering::Relaxed);
        // SAFETY: pairs with the acquire in `try_lock`.
        unsafe { critical_section::release(restore) };
    }
}
