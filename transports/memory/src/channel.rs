//! The caller's end.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use runstep::Status;
use runstep::service::{CallFuture, CallOptions, Channel, Request, Response};

use crate::deadline::Deadline;
use crate::queue::{Job, Shared, Slot};

/// Makes calls to a [`crate::MemoryServer`]. Clones share the queue; the server ends when the last one is dropped.
#[derive(Debug)]
pub struct MemoryChannel {
    pub(crate) shared: Arc<Shared>,
}

impl MemoryChannel {
    pub(crate) fn new(shared: Arc<Shared>) -> MemoryChannel {
        MemoryChannel { shared }
    }
}

impl Clone for MemoryChannel {
    fn clone(&self) -> MemoryChannel {
        self.shared.state().channels += 1;
        MemoryChannel { shared: self.shared.clone() }
    }
}

impl Drop for MemoryChannel {
    fn drop(&mut self) {
        self.shared.change(|state| state.channels -= 1);
    }
}

impl Channel for MemoryChannel {
    fn call(&self, request: Request, options: CallOptions) -> CallFuture {
        let step = Step::Start(Box::new((request, options)));
        Box::pin(Call { channel: self.clone(), step, deadline: None })
    }
}

/// One call; dropping it cancels the call.
struct Call {
    channel: MemoryChannel,
    step: Step,
    deadline: Option<Deadline>,
}

enum Step {
    Start(Box<(Request, CallOptions)>),
    Sent(Arc<Slot>),
    Done,
}

impl Future for Call {
    type Output = Result<Response, Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let result = match this.step {
            Step::Start(_) => this.begin(cx),
            Step::Sent(_) => this.wait(cx),
            Step::Done => Poll::Ready(Err(Status::internal("a call was polled after its end"))),
        };
        if result.is_ready() {
            this.end();
        }
        result
    }
}

impl Call {
    fn begin(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response, Status>> {
        let Step::Start(start) = core::mem::replace(&mut self.step, Step::Done) else {
            return Poll::Pending;
        };
        let shared = self.channel.shared.clone();
        let options = start.1;
        if self.deadline.is_none() {
            self.deadline = Deadline::begin(options, &*shared.host);
        }
        let waker = {
            let mut state = shared.state();
            if state.closed {
                return Poll::Ready(Err(Status::unavailable("the server in this process is gone")));
            }
            if state.queue.len() >= shared.limits.waiting_max.max(1) {
                if !state.callers.iter().any(|waker| waker.will_wake(cx.waker())) {
                    state.callers.push(cx.waker().clone());
                }
                drop(state);
                self.step = Step::Start(start);
                return self.check(cx);
            }
            let slot = Arc::new(Slot::new(cx.waker().clone()));
            let (request, options) = *start;
            state.queue.push_back(Job { request, options, slot: slot.clone() });
            self.step = Step::Sent(slot);
            state.server.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        self.check(cx)
    }

    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response, Status>> {
        match &self.step {
            Step::Sent(slot) => match slot.take(cx.waker()) {
                Some(answer) => Poll::Ready(answer),
                None => self.check(cx),
            },
            _ => Poll::Pending,
        }
    }

    fn check(&self, cx: &Context<'_>) -> Poll<Result<Response, Status>> {
        let host = &*self.channel.shared.host;
        match self.deadline.map_or(Ok(()), |deadline| deadline.check(host, cx.waker())) {
            Ok(()) => Poll::Pending,
            Err(status) => Poll::Ready(Err(status)),
        }
    }

    fn end(&mut self) {
        if let Step::Sent(slot) = core::mem::replace(&mut self.step, Step::Done) {
            slot.drop_call();
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.end();
    }
}
