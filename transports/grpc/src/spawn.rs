//! On which threads connections are served and calls are run.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use smol::{Executor, Task};

/// An executor: smol's global one, whose threads the variable `SMOL_THREADS` counts (1 by default), or the caller's.
#[derive(Clone, Default)]
pub enum Spawn {
    /// The global executor.
    #[default]
    Global,
    /// An executor that the caller runs on threads of its own.
    On(Arc<Executor<'static>>),
}

impl Spawn {
    /// Runs `future`; dropping the task stops it.
    pub fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        match self {
            Spawn::Global => smol::spawn(future),
            Spawn::On(executor) => executor.spawn(future),
        }
    }
}

impl fmt::Debug for Spawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Spawn::Global => "Spawn::Global",
            Spawn::On(_) => "Spawn::On",
        })
    }
}
