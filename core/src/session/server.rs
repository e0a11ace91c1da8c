//! The driver of a master: carries out its actions in the task that polls the call.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::action::{Action, RunningStep, Wait};
use super::{Master, MasterOptions};
use crate::Status;
use crate::host::{Host, Time};
use crate::service::{CallFuture, CallOptions, Channel, Request, Response, Service};
use crate::sync::Mutex;

/// A master that runs: what a transport serves, and a channel for clients of the same process.
///
/// A call works while its future is polled, on the polling thread; dropping the future cancels the call's step. Clones are
/// the same server. Idle sessions are collected while the host polls [`Server::maintain`].
///
/// ```
/// use runstep::graph::GraphBuilder;
/// use runstep::host::NoHost;
/// use runstep::ops::{ALL, Registry};
/// use runstep::session::{MasterOptions, Server};
/// use std::sync::Arc;
///
/// let registry = Arc::new(Registry::new(ALL)?);
/// let server = Server::new(MasterOptions::new(registry), Arc::new(NoHost))?;
/// assert_eq!(server.master().devices().len(), 1);
/// # Ok::<(), runstep::Status>(())
/// ```
#[derive(Clone)]
pub struct Server {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) master: Master,
    pub(super) host: Arc<dyn Host>,
    maintainer: Mutex<Option<Waker>>,
}

impl Server {
    /// A server without sessions.
    ///
    /// # Errors
    /// As [`Master::new`].
    pub fn new(options: MasterOptions, host: Arc<dyn Host>) -> Result<Server, Status> {
        let master = Master::new(options, host.clone())?;
        Ok(Server { inner: Arc::new(Inner { master, host, maintainer: Mutex::new(None) }) })
    }

    /// The master.
    pub fn master(&self) -> &Master {
        &self.inner.master
    }

    /// Collects idle sessions for as long as it is polled. Ends when the server is gone; rests on a host without a
    /// clock, and where sessions may idle for ever.
    pub fn maintain(&self) -> Maintain {
        Maintain { inner: Arc::downgrade(&self.inner), next: None }
    }

    /// Refuses new sessions, closes all there are and waits, for a bounded time, until their steps have ended.
    pub async fn shut_down(&self) {
        let action = self.inner.master.shut_down(self.inner.host.now());
        // The reply of a shutdown says nothing.
        let _ = self.inner.clone().carry_out(action).await;
        let maintainer = self.inner.maintainer.lock().take();
        if let Some(waker) = maintainer {
            waker.wake();
        }
    }

    fn begin(&self, request: Request, options: CallOptions) -> CallFuture {
        let inner = self.inner.clone();
        let host = inner.host.clone();
        let call = Box::pin(async move {
            let action = inner.master.call(request, options, inner.host.now());
            inner.carry_out(action).await
        });
        Box::pin(Contained { host, call: Some(call) })
    }
}

impl Service for Server {
    fn call(&self, request: Request, options: CallOptions) -> CallFuture {
        self.begin(request, options)
    }
}

impl Channel for Server {
    fn call(&self, request: Request, options: CallOptions) -> CallFuture {
        self.begin(request, options)
    }
}

impl Inner {
    async fn carry_out(self: Arc<Self>, mut action: Action) -> Result<Response, Status> {
        loop {
            action = match action {
                Action::Reply(reply) => return reply,
                Action::StartStep(start) => {
                    return match start.begin() {
                        Ok(running) => run(running).await,
                        Err(reply) => reply,
                    };
                }
                Action::ContinuePartial(mut request, form) => {
                    let result = poll_fn(|cx| request.poll(cx)).await;
                    return form.reply(result.map(Response::RunStep));
                }
                Action::Wait(wait) => {
                    let wait = self.wait(*wait).await;
                    self.master.resume(wait, self.host.now())
                }
            }
        }
    }

    pub(super) async fn wait(&self, mut wait: Wait) -> Wait {
        for (step, reason) in wait.take_cancellations() {
            step.cancel(reason);
        }
        let host = &self.host;
        poll_fn(|cx| {
            if let Some(until) = wait.until() {
                if host.now().is_some_and(|now| now >= until) {
                    return Poll::Ready(());
                }
                host.wake_at(until, cx.waker());
            }
            wait.poll(cx)
        })
        .await;
        wait
    }
}

async fn run(mut running: RunningStep) -> Result<Response, Status> {
    let outcome = Pin::new(&mut running.step).await;
    running.finish(outcome)
}

/// A call whose panics, where the host can contain them, end it with INTERNAL and leave the server be.
struct Contained<F> {
    host: Arc<dyn Host>,
    call: Option<Pin<Box<F>>>,
}

impl<F: Future<Output = Result<Response, Status>>> Future for Contained<F> {
    type Output = Result<Response, Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Contained { host, call } = &mut *self;
        let Some(future) = call else {
            return Poll::Ready(Err(Status::internal("a call was polled after its end")));
        };
        let mut polled = None;
        let sound = host.run_contained(&mut || polled = Some(future.as_mut().poll(cx)));
        match polled {
            Some(Poll::Pending) if sound => Poll::Pending,
            Some(Poll::Ready(reply)) if sound => {
                *call = None;
                Poll::Ready(reply)
            }
            _ => {
                // What the call held is given back even though it did not end.
                host.run_contained(&mut || *call = None);
                Poll::Ready(Err(Status::internal("the call panicked; its session goes on")))
            }
        }
    }
}

/// Collects idle sessions; see [`Server::maintain`].
pub struct Maintain {
    inner: Weak<Inner>,
    next: Option<Time>,
}

impl Future for Maintain {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(inner) = self.inner.upgrade() else { return Poll::Ready(()) };
        let Some(now) = inner.host.now() else { return Poll::Pending };
        if self.next.is_none_or(|next| now >= next) {
            self.next = inner.master.tick(now);
        }
        let Some(next) = self.next else { return Poll::Pending };
        *inner.maintainer.lock() = Some(cx.waker().clone());
        inner.host.wake_at(next, cx.waker());
        Poll::Pending
    }
}
