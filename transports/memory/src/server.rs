//! The server's end: one future that begins calls and polls those that run.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use runstep::Status;
use runstep::service::{CallFuture, Service};

use crate::deadline::Deadline;
use crate::queue::{Job, Shared, Slot, Woken};

/// Calls begun in one poll, after which the executor's other tasks get their turn.
const BATCH: usize = 64;

/// The end of a queue that answers calls. Dropping it answers all with UNAVAILABLE.
#[derive(Debug)]
pub struct MemoryServer {
    end: ServerEnd,
}

impl MemoryServer {
    pub(crate) fn new(shared: Arc<Shared>) -> MemoryServer {
        MemoryServer { end: ServerEnd(shared) }
    }

    /// Serves until the last channel is dropped. Any executor may poll the future; dropping it ends the service.
    pub fn serve(self, service: Arc<dyn Service>) -> Serve {
        Serve { end: self.end, service, running: Vec::new(), free: Vec::new(), woken: Vec::new() }
    }
}

/// Closes the queue when dropped.
#[derive(Debug)]
struct ServerEnd(Arc<Shared>);

impl Drop for ServerEnd {
    fn drop(&mut self) {
        let (queue, callers) = {
            let mut state = self.0.state();
            state.closed = true;
            state.server = None;
            (mem::take(&mut state.queue), mem::take(&mut state.callers))
        };
        for job in queue {
            job.slot.answer(Err(gone()));
        }
        callers.into_iter().for_each(Waker::wake);
    }
}

fn gone() -> Status {
    Status::unavailable("the server in this process is gone")
}

/// A service at work; see [`MemoryServer::serve`].
pub struct Serve {
    end: ServerEnd,
    service: Arc<dyn Service>,
    running: Vec<Option<Running>>,
    /// Numbers without a call.
    free: Vec<usize>,
    /// Kept for its memory.
    woken: Vec<usize>,
}

/// A call that was not ready at once.
struct Running {
    work: CallFuture,
    slot: Arc<Slot>,
    waker: Waker,
    deadline: Option<Deadline>,
}

impl Future for Serve {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let shared = this.end.0.clone();
        for _ in 0..BATCH {
            let mut callers = Vec::new();
            let job = {
                let mut state = shared.state();
                mem::swap(&mut state.woken, &mut this.woken);
                let room = this.running.len() - this.free.len() < shared.limits.running_max;
                let job = if room { state.queue.pop_front() } else { None };
                if job.is_some() {
                    callers = mem::take(&mut state.callers);
                }
                if job.is_none() && this.woken.is_empty() {
                    if state.channels == 0 {
                        return Poll::Ready(());
                    }
                    if !state.server.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
                        state.server = Some(cx.waker().clone());
                    }
                    return Poll::Pending;
                }
                job
            };
            callers.into_iter().for_each(Waker::wake);
            let mut woken = mem::take(&mut this.woken);
            woken.drain(..).for_each(|number| this.go_on(number));
            this.woken = woken;
            if let Some(job) = job {
                this.begin(job);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Serve {
    fn begin(&mut self, job: Job) {
        let Job { request, options, slot } = job;
        if slot.is_dropped() {
            return;
        }
        let shared = &self.end.0;
        let mut work = self.service.call(request, options);
        // Most calls are ready at once and need no waker of their own. One that is not is polled once more with it.
        if let Poll::Ready(answer) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            // Before the answer: what the call held is free when the caller goes on.
            drop(work);
            return slot.answer(answer);
        }
        let number = self.free.pop().unwrap_or(self.running.len());
        let woken = Arc::new(Woken { shared: shared.clone(), number });
        slot.runs(woken.clone());
        let deadline = Deadline::begin(options, &*shared.host);
        let running = Some(Running { work, slot, waker: woken.into(), deadline });
        match self.running.get_mut(number) {
            Some(place) => *place = running,
            None => self.running.push(running),
        }
        self.go_on(number);
    }

    /// Polls a running call.
    fn go_on(&mut self, number: usize) {
        let Some(place) = self.running.get_mut(number) else { return };
        let Some(call) = place else { return };
        let host = &*self.end.0.host;
        let answer = if call.slot.is_dropped() {
            None
        } else {
            match call.work.as_mut().poll(&mut Context::from_waker(&call.waker)) {
                Poll::Ready(answer) => Some(answer),
                Poll::Pending => match call.deadline.map_or(Ok(()), |deadline| deadline.check(host, &call.waker)) {
                    Ok(()) => return,
                    Err(status) => Some(Err(status)),
                },
            }
        };
        if let Some(Running { work, slot, .. }) = place.take() {
            self.free.push(number);
            drop(work);
            if let Some(answer) = answer {
                slot.answer(answer);
            }
        }
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        for Running { work, slot, .. } in self.running.drain(..).flatten() {
            drop(work);
            slot.answer(Err(gone()));
        }
    }
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Serve({} calls running)", self.running.len() - self.free.len())
    }
}
