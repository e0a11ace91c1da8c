//! Callables of the own process: no request, no lock, no hashing, and in the steady state no allocation.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::pin::Pin;

use super::Server;
use super::action::{Then, Wait};
use super::callables::Callable;
use super::running::Resident;
use super::session::{Lookup, STEP_ID_MASK, SessionState};
use crate::Status;
use crate::host::Host;
use crate::service::{CallableOptions, MakeCallableRequest, Request};
use crate::step::{Step, StepOptions};
use crate::tensor::Tensor;

/// A prepared run that this process runs itself, over and over, with memory of its own. For runs at once make several.
pub struct LocalCallable {
    session: Arc<SessionState>,
    callable: Callable,
    resident: Arc<Resident>,
    step: Step,
    host: Arc<dyn Host>,
    /// Step numbers are the callable's own, so that callables that run at once write nothing in common.
    next_step_id: u64,
    /// The last run failed, after which the step has another handle for cancelling it.
    renewed: bool,
}

impl Server {
    /// Prepares a run of a session of this server.
    ///
    /// # Errors
    /// As MakeCallable.
    pub async fn local_callable(
        &self,
        session_handle: &str,
        options: CallableOptions,
    ) -> Result<LocalCallable, Status> {
        let inner = &self.inner;
        let session = inner.master.find_for_use(session_handle, inner.host.now())?;
        let request = MakeCallableRequest { session_handle: String::new(), options, request_id: 0 };
        let callable = loop {
            match inner.master.callable(&session, &request)? {
                Lookup::Found(callable) => break callable,
                Lookup::Busy(latch) => {
                    let then = Then::Retry(Request::MakeCallable(MakeCallableRequest::default()), None);
                    let wait = Wait { cancel: Vec::new(), until: None, latches: alloc::vec![(latch, None)], then };
                    inner.wait(wait).await;
                }
            }
        };
        let host = inner.host.clone();
        let next_step_id = inner.master.random() as u64;
        let step_options = StepOptions {
            host: host.clone(),
            budget: session.step_budget(),
            deadline: None,
            step_id: next_step_id,
            trace: false,
        };
        let step = Step::new(callable.signature.program.clone(), step_options);
        let resident = session.running.settle(step.control())?;
        Ok(LocalCallable { session, callable, resident, step, host, next_step_id, renewed: false })
    }
}

impl LocalCallable {
    /// The number of tensors that a run takes.
    pub fn num_feeds(&self) -> usize {
        self.callable.signature.feed_at.len()
    }

    /// The number of tensors that a run gives.
    pub fn num_fetches(&self) -> usize {
        self.callable.signature.fetch_at.len()
    }

    /// Runs on the calling thread, which sleeps while an op waits, and sets `outputs`. Their old tensors go first; the run uses their memory.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for too few feeds or outputs, INTERNAL for a feed of another dtype or a fetch that is dead,
    /// FAILED_PRECONDITION after the session was closed, CANCELLED when it is closed meanwhile, or a kernel's error. The
    /// next run starts afresh.
    pub fn run(&mut self, feeds: &[Tensor], outputs: &mut [Tensor]) -> Result<(), Status> {
        self.prepare(feeds, outputs)?;
        let active = Active::begin(&self.resident, &self.session)?;
        self.renewed = true;
        let step = &mut self.step;
        let mut outcome = None;
        let sound = self.host.run_contained(&mut || outcome = Some(step.run_to_end()));
        drop(active);
        let outcome = outcome.filter(|_| sound);
        outcome.unwrap_or_else(|| Err(Status::internal("a kernel panicked")))?;
        self.renewed = false;
        self.take(outputs)
    }

    /// As [`LocalCallable::run`], yielding to other tasks now and then.
    ///
    /// # Errors
    /// As [`LocalCallable::run`].
    pub async fn run_async(&mut self, feeds: &[Tensor], outputs: &mut [Tensor]) -> Result<(), Status> {
        self.prepare(feeds, outputs)?;
        let active = Active::begin(&self.resident, &self.session)?;
        self.renewed = true;
        let awaited = Awaited(&mut self.step);
        poll_fn(|cx| Pin::new(&mut *awaited.0).poll(cx)).await?;
        drop(awaited);
        drop(active);
        self.renewed = false;
        self.take(outputs)
    }

    fn prepare(&mut self, feeds: &[Tensor], outputs: &mut [Tensor]) -> Result<(), Status> {
        let signature = &self.callable.signature;
        if feeds.len() < signature.feed_at.len() || outputs.len() < signature.fetch_at.len() {
            return Err(Status::invalid_argument(format_args!(
                "the callable takes {} feeds and gives {} outputs; there are {} and room for {}",
                signature.feed_at.len(),
                signature.fetch_at.len(),
                feeds.len(),
                outputs.len()
            )));
        }
        let timeout = u64::try_from(self.callable.options.timeout_in_ms).ok().filter(|&ms| ms > 0);
        let deadline = timeout.and_then(|ms| Some(self.host.now()?.plus_millis(ms)));
        self.next_step_id = self.next_step_id.wrapping_add(1) & STEP_ID_MASK;
        self.step.reset(deadline, self.next_step_id);
        for output in outputs {
            self.step.give_back(core::mem::take(output));
        }
        if self.renewed {
            self.resident.set_control(self.step.control());
        }
        for (value, at) in feeds.iter().zip(&signature.feed_at) {
            if let Some(at) = at {
                self.step.feed(*at, value.clone())?;
            }
        }
        Ok(())
    }

    fn take(&mut self, outputs: &mut [Tensor]) -> Result<(), Status> {
        for (i, at) in self.callable.signature.fetch_at.iter().enumerate() {
            let value = match outputs.get(at.first) {
                Some(first) if at.first < i => first.clone(),
                _ => self.step.take_fetch(at.index)?,
            };
            if let Some(output) = outputs.get_mut(i) {
                *output = value;
            }
        }
        Ok(())
    }
}

/// A step that is polled. When that ends, be it because the caller gave up, the step waits for nothing any more.
struct Awaited<'a>(&'a mut Step);

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// While it lives the callable runs, as far as closing and collecting its session goes.
struct Active<'a>(&'a Resident, &'a SessionState);

impl<'a> Active<'a> {
    fn begin(resident: &'a Resident, session: &'a SessionState) -> Result<Active<'a>, Status> {
        resident.begin()?;
        Ok(Active(resident, session))
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        if self.0.end() {
            self.1.running.resident_ended();
        }
    }
}
