//! Memory limits: a size is charged before the memory is taken.

use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::Status;

/// A limit on bytes that several owners share. Clones share the count.
#[derive(Clone)]
pub struct Budget(Arc<Inner>);

struct Inner {
    what: &'static str,
    limit: usize,
    used: AtomicUsize,
    /// Charged as well.
    parent: Option<Budget>,
}

impl Budget {
    /// A limit of `limit` bytes; `what` names it in errors, for example `session`.
    pub fn new(what: &'static str, limit: usize) -> Budget {
        Budget(Arc::new(Inner { what, limit, used: AtomicUsize::new(0), parent: None }))
    }

    /// A budget of its own limit whose charges count here too.
    #[must_use]
    pub fn within(&self, what: &'static str, limit: usize) -> Budget {
        Budget(Arc::new(Inner { what, limit, used: AtomicUsize::new(0), parent: Some(self.clone()) }))
    }

    /// Takes `bytes` from the budget, or answers RESOURCE_EXHAUSTED and takes nothing. Dropping the charge gives back.
    pub fn charge(&self, bytes: usize) -> Result<Charge, Status> {
        self.take(bytes)?;
        Ok(Charge { budget: self.clone(), bytes })
    }

    fn take(&self, bytes: usize) -> Result<(), Status> {
        let taken = self.0.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&sum| sum <= self.0.limit)
        });
        if let Err(used) = taken {
            return Err(Status::resource_exhausted(format_args!(
                "{bytes} bytes exceed the {} memory budget: {used} of {} bytes are in use",
                self.0.what, self.0.limit
            )));
        }
        match self.0.parent.as_ref().map_or(Ok(()), |parent| parent.take(bytes)) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.0.used.fetch_sub(bytes, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    fn give_back(&self, bytes: usize) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(parent) = &self.0.parent {
            parent.give_back(bytes);
        }
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.0.limit
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Budget({}: {} of {})", self.0.what, self.used(), self.0.limit)
    }
}

/// Bytes taken from a [`Budget`] until dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Budget,
    bytes: usize,
}

impl Charge {
    /// Takes `bytes` more, or answers RESOURCE_EXHAUSTED and stays as it is.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Status> {
        let mut more = self.budget.charge(bytes)?;
        // The budget holds both, so that the sum does not overflow; what is moved is no longer given back by `more`.
        self.bytes += core::mem::take(&mut more.bytes);
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    /// The limit holds, overflow counts as over the limit, and a drop gives back.
    #[test]
    fn charges() {
        let budget = Budget::new("test", 100);
        let a = budget.charge(60).unwrap();
        assert_eq!(budget.charge(41).unwrap_err().code(), Code::ResourceExhausted);
        assert!(budget.charge(usize::MAX).is_err());
        let mut b = budget.charge(30).unwrap();
        assert!(b.grow(11).is_err());
        b.grow(10).unwrap();
        drop(a);
        assert_eq!(budget.used(), 40);
        drop(b);
        assert_eq!(budget.used(), 0);
    }

    /// A charge counts in the inner and the outer budget, or in neither.
    #[test]
    fn nested() {
        let outer = Budget::new("outer", 100);
        let (a, b) = (outer.within("a", 80), outer.within("b", 80));
        let charge = a.charge(70).unwrap();
        assert!(a.charge(20).unwrap_err().message().contains("the a memory"));
        assert!(b.charge(40).unwrap_err().message().contains("the outer memory"));
        assert_eq!((a.used(), b.used(), outer.used()), (70, 0, 70));
        drop(charge);
        assert_eq!((a.used(), outer.used()), (0, 0));
    }
}
