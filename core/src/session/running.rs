//! The steps of one session that run now: to cancel them, to wait for their end, and to know that it is in use.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::latch::Latch;
use crate::Status;
use crate::host::Time;
use crate::step::StepControl;
use crate::sync::Mutex;

/// The running steps of a session.
pub(super) struct Running(Mutex<State>);

#[derive(Default)]
struct State {
    closed: bool,
    steps: Vec<Option<Arc<StepControl>>>,
    free: Vec<usize>,
    residents: Vec<Weak<Resident>>,
    used: Option<Time>,
    drained: Option<Arc<Latch>>,
}

/// A place among the running steps; given back by [`Running::end`].
#[derive(Debug)]
pub(super) struct Place(usize);

/// A runner that announces itself once and then runs many times without touching the session: a local callable.
#[derive(Default)]
pub(super) struct Resident {
    active: AtomicBool,
    closed: AtomicBool,
    /// Runs so far; garbage collection sees that it grows.
    runs: AtomicU32,
    seen: AtomicU32,
    control: Mutex<Option<Arc<StepControl>>>,
}

/// What closing left to do.
pub(super) struct Closing {
    /// The steps to cancel.
    pub(super) steps: Vec<Arc<StepControl>>,
    /// Open when the last of them has ended; `None` when none runs.
    pub(super) drained: Option<Arc<Latch>>,
}

impl Running {
    pub(super) fn new(now: Option<Time>) -> Running {
        Running(Mutex::new(State { used: now, ..State::default() }))
    }

    /// Notes that the session is used.
    ///
    /// # Errors
    /// FAILED_PRECONDITION when it is closed.
    pub(super) fn touch(&self, now: Option<Time>) -> Result<(), Status> {
        let mut state = self.0.lock();
        state.check_open()?;
        state.used = now.or(state.used);
        Ok(())
    }

    /// Enters a step.
    ///
    /// # Errors
    /// FAILED_PRECONDITION when the session is closed.
    pub(super) fn begin(&self, step: Arc<StepControl>) -> Result<Place, Status> {
        let mut state = self.0.lock();
        state.check_open()?;
        match state.free.pop() {
            Some(at) => {
                if let Some(place) = state.steps.get_mut(at) {
                    *place = Some(step);
                }
                Ok(Place(at))
            }
            None => {
                state.steps.push(Some(step));
                Ok(Place(state.steps.len() - 1))
            }
        }
    }

    /// Takes a step out. The session counts as used at `now`.
    pub(super) fn end(&self, place: &Place, now: Option<Time>) {
        let mut state = self.0.lock();
        let step = state.steps.get_mut(place.0).and_then(Option::take);
        state.free.push(place.0);
        state.used = now.or(state.used);
        let drained = state.take_drained();
        drop(state);
        drop(step);
        if let Some(latch) = drained {
            latch.open();
        }
    }

    /// Makes a resident runner known.
    ///
    /// # Errors
    /// FAILED_PRECONDITION when the session is closed.
    pub(super) fn settle(&self, control: Arc<StepControl>) -> Result<Arc<Resident>, Status> {
        let resident = Arc::new(Resident { control: Mutex::new(Some(control)), ..Resident::default() });
        let mut state = self.0.lock();
        state.check_open()?;
        state.residents.retain(|known| known.strong_count() > 0);
        state.residents.push(Arc::downgrade(&resident));
        Ok(resident)
    }

    /// A resident's run is over: whoever waits for the last one is told.
    pub(super) fn resident_ended(&self) {
        let drained = self.0.lock().take_drained();
        if let Some(latch) = drained {
            latch.open();
        }
    }

    /// Refuses new steps; answers those that run.
    pub(super) fn close(&self) -> Closing {
        let mut state = self.0.lock();
        state.closed = true;
        let mut steps: Vec<_> = state.steps.iter().flatten().cloned().collect();
        let residents: Vec<_> = state.residents.iter().filter_map(Weak::upgrade).collect();
        for resident in &residents {
            resident.closed.store(true, Ordering::SeqCst);
        }
        let active = state.is_active();
        let drained = active.then(|| state.drained.get_or_insert_default().clone());
        drop(state);
        steps.extend(residents.iter().filter_map(|resident| resident.control.lock().clone()));
        Closing { steps, drained }
    }

    /// Since when the session is idle; `None` while it is in use or when there is no clock.
    pub(super) fn idle_since(&self, now: Time) -> Option<Time> {
        let mut state = self.0.lock();
        let residents: Vec<_> = state.residents.iter().filter_map(Weak::upgrade).collect();
        for resident in residents {
            let runs = resident.runs.load(Ordering::Relaxed);
            if resident.seen.swap(runs, Ordering::Relaxed) != runs {
                state.used = Some(now);
            }
        }
        if state.is_active() {
            state.used = Some(now);
            return None;
        }
        // Without a use on record the session counts as used now: the clock came later than it.
        Some(*state.used.get_or_insert(now))
    }

    /// The number of running steps.
    pub(super) fn len(&self) -> usize {
        self.0.lock().steps.iter().flatten().count()
    }
}

impl State {
    fn check_open(&self) -> Result<(), Status> {
        if self.closed { Err(Status::failed_precondition("Session is closed.")) } else { Ok(()) }
    }

    fn is_active(&self) -> bool {
        self.steps.iter().any(Option::is_some)
            || self.residents.iter().filter_map(Weak::upgrade).any(|r| r.active.load(Ordering::SeqCst))
    }

    fn take_drained(&mut self) -> Option<Arc<Latch>> {
        if self.drained.is_none() || self.is_active() { None } else { self.drained.take() }
    }
}

impl Resident {
    /// Begins a run; writes nothing that other runners read.
    ///
    /// # Errors
    /// FAILED_PRECONDITION when the session is closed.
    #[inline]
    pub(super) fn begin(&self) -> Result<(), Status> {
        // The order matters: who closes sets `closed` and then reads `active`.
        self.active.store(true, Ordering::SeqCst);
        if self.closed.load(Ordering::SeqCst) {
            self.active.store(false, Ordering::SeqCst);
            return Err(Status::failed_precondition("Session is closed."));
        }
        Ok(())
    }

    /// Ends a run; whether the session was closed meanwhile, so that [`Running::resident_ended`] must follow.
    #[inline]
    pub(super) fn end(&self) -> bool {
        self.runs.store(self.runs.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.active.store(false, Ordering::SeqCst);
        self.closed.load(Ordering::SeqCst)
    }

    /// Replaces the handle that cancels the runner's step.
    pub(super) fn set_control(&self, control: Arc<StepControl>) {
        *self.control.lock() = Some(control);
    }
}
