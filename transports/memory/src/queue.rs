//! What the two ends share: the queue, who is to be woken, and a place for each answer.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::fmt;
use core::task::Waker;

use runstep::Status;
use runstep::host::Host;
use runstep::service::{CallOptions, Request, Response};
use runstep::sync::{Mutex, MutexGuard};

use crate::Limits;

/// Both ends. No lock is held while a waker is woken or anything foreign runs.
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) limits: Limits,
}

/// Locked together.
#[derive(Default)]
pub(crate) struct State {
    /// Calls that wait to be begun.
    pub(crate) queue: VecDeque<Job>,
    /// Numbers of running calls that are to be polled.
    pub(crate) woken: Vec<usize>,
    /// The server's task, while it sleeps.
    pub(crate) server: Option<Waker>,
    /// Callers that wait for room in the queue.
    pub(crate) callers: Vec<Waker>,
    /// Channels that could still call.
    pub(crate) channels: usize,
    /// The server is gone.
    pub(crate) closed: bool,
}

/// A call that waits to be begun.
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) options: CallOptions,
    pub(crate) slot: Arc<Slot>,
}

impl Shared {
    pub(crate) fn new(host: Arc<dyn Host>, limits: Limits) -> Shared {
        Shared { state: Mutex::new(State { channels: 1, ..State::default() }), host, limits }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Wakes the server's task, if it sleeps, after a change of the state.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = self.state();
            change(&mut state);
            state.server.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        write!(f, "{} calls waiting from {} channels", state.queue.len(), state.channels)
    }
}

/// Where a call's answer goes.
pub(crate) struct Slot(Mutex<SlotState>);

#[derive(Default)]
struct SlotState {
    answer: Option<Result<Response, Status>>,
    caller: Option<Waker>,
    /// The caller has lost interest.
    dropped: bool,
    /// Has the running call polled.
    running: Option<Arc<Woken>>,
}

impl Slot {
    pub(crate) fn new(caller: Waker) -> Slot {
        Slot(Mutex::new(SlotState { caller: Some(caller), ..SlotState::default() }))
    }

    /// Gives the answer to the caller.
    pub(crate) fn answer(&self, answer: Result<Response, Status>) {
        let waker = {
            let mut state = self.0.lock();
            state.running = None;
            if state.dropped {
                return;
            }
            state.answer = Some(answer);
            state.caller.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The answer; without one, the waker is woken when there is.
    pub(crate) fn take(&self, waker: &Waker) -> Option<Result<Response, Status>> {
        let mut state = self.0.lock();
        let answer = state.answer.take();
        if answer.is_none() && !state.caller.as_ref().is_some_and(|known| known.will_wake(waker)) {
            state.caller = Some(waker.clone());
        }
        answer
    }

    /// The caller has lost interest: the server drops the call.
    pub(crate) fn drop_call(&self) {
        let (running, answer) = {
            let mut state = self.0.lock();
            state.dropped = true;
            state.caller = None;
            (state.running.take(), state.answer.take())
        };
        drop(answer);
        if let Some(running) = running {
            running.wake();
        }
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.0.lock().dropped
    }

    /// The call runs from now on, and is polled once more when it is dropped.
    pub(crate) fn runs(&self, woken: Arc<Woken>) {
        self.0.lock().running = Some(woken);
    }
}

/// Wakes the server for one running call.
pub(crate) struct Woken {
    pub(crate) shared: Arc<Shared>,
    pub(crate) number: usize,
}

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Woken>) {
        self.shared.change(|state| {
            // One poll answers for any number of wakes that came before it.
            if !state.closed && !state.woken.contains(&self.number) {
                state.woken.push(self.number);
            }
        });
    }
}
