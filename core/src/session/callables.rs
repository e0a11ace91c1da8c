//! The callables of a session: prepared runs by number.

use alloc::sync::Arc;

use hashbrown::HashMap;

use super::signature::RunSignature;
use crate::Status;
use crate::service::RunOptions;
use crate::sync::Mutex;

/// A prepared run.
pub(super) struct Callable {
    pub(super) signature: RunSignature,
    pub(super) options: RunOptions,
}

/// All callables of a session. Numbers start at 0 and are never given twice.
pub(super) struct Callables {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: i64,
    made: HashMap<i64, Arc<Callable>>,
}

impl Callables {
    pub(super) fn new(most: usize) -> Callables {
        Callables { most, state: Mutex::default() }
    }

    /// Enters a callable; answers its number.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when the session has too many.
    pub(super) fn insert(&self, callable: Callable) -> Result<i64, Status> {
        let mut state = self.state.lock();
        if state.made.len() >= self.most {
            return Err(Status::resource_exhausted(format_args!(
                "the session has {} callables, as many as it may; release some",
                self.most
            )));
        }
        let handle = state.next;
        state.next += 1;
        state.made.insert(handle, Arc::new(callable));
        Ok(handle)
    }

    /// The callable of a number.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a number never given, and for one released.
    pub(super) fn find(&self, handle: i64) -> Result<Arc<Callable>, Status> {
        let state = self.state.lock();
        if handle >= state.next {
            return Err(Status::invalid_argument(format_args!("No such callable handle: {handle}")));
        }
        state.made.get(&handle).cloned().ok_or_else(|| {
            Status::invalid_argument(format_args!("Attempted to run callable after handle was released: {handle}"))
        })
    }

    /// Forgets a callable, if there is one of this number. Runs of it go on.
    pub(super) fn release(&self, handle: i64) {
        let gone = self.state.lock().made.remove(&handle);
        drop(gone);
    }

    /// Forgets all.
    pub(super) fn clear(&self) {
        let gone = core::mem::take(&mut self.state.lock().made);
        drop(gone);
    }
}
