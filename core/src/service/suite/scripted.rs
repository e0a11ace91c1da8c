//! A service that does what a test tells it to.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Poll, Waker};

use super::samples;
use crate::service::{CallFuture, CallOptions, Request, Response, RunCallableRequest, RunCallableResponse, Service};
use crate::sync::Mutex;
use crate::{Code, Status};

/// What a call of RunCallable does, by its `handle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Gives the feeds back at once.
    Echo,
    /// Gives the feeds back after so many polls.
    Later(u32),
    /// Never answers.
    Hang,
    /// Gives the feeds back once [`Scripted::open`] was called.
    Gate,
    /// Fails with a code, a node and a payload.
    Fail(Code),
    /// Gives back the caller's timeout in milliseconds, -1 for none.
    Timeout,
}

impl Script {
    /// The `handle` that asks for this.
    pub fn handle(self) -> i64 {
        match self {
            Script::Echo => 0,
            Script::Hang => 1,
            Script::Gate => 2,
            Script::Timeout => 3,
            Script::Fail(code) => 100 + code as i64,
            Script::Later(polls) => 1000 + i64::from(polls),
        }
    }

    fn of(handle: i64) -> Script {
        match handle {
            1 => Script::Hang,
            2 => Script::Gate,
            3 => Script::Timeout,
            100..=200 => Script::Fail(Code::from_i32(i32::try_from(handle - 100).unwrap_or(0))),
            1000.. => Script::Later(u32::try_from(handle - 1000).unwrap_or(u32::MAX)),
            _ => Script::Echo,
        }
    }
}

/// The service. RunCallable follows its [`Script`]; all other calls are noted and get a fixed answer.
#[derive(Clone, Default)]
pub struct Scripted(Arc<State>);

#[derive(Default)]
struct State {
    alive: AtomicUsize,
    begun: AtomicUsize,
    shared: Mutex<Shared>,
}

#[derive(Default)]
struct Shared {
    open: bool,
    noted: Vec<String>,
    /// Woken at every change.
    watchers: Vec<Waker>,
}

impl Scripted {
    /// Calls that are begun and neither answered nor dropped.
    pub fn alive(&self) -> usize {
        self.0.alive.load(Ordering::SeqCst)
    }

    /// Calls that were ever begun.
    pub fn begun(&self) -> usize {
        self.0.begun.load(Ordering::SeqCst)
    }

    /// The texts of all requests but RunCallable.
    pub fn noted(&self) -> Vec<String> {
        self.0.shared.lock().noted.clone()
    }

    /// Lets the calls at the gate go.
    pub fn open(&self) {
        self.0.shared.lock().open = true;
        self.0.changed();
    }

    /// Waits until a condition on this service holds.
    pub async fn until(&self, condition: impl Fn(&Scripted) -> bool) {
        poll_fn(|cx| {
            self.0.shared.lock().watchers.push(cx.waker().clone());
            if condition(self) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

impl State {
    fn changed(&self) {
        let watchers = core::mem::take(&mut self.shared.lock().watchers);
        watchers.into_iter().for_each(Waker::wake);
    }
}

/// Counts a call for as long as it lives.
struct Alive(Arc<State>);

impl Alive {
    fn new(state: &Arc<State>) -> Alive {
        state.alive.fetch_add(1, Ordering::SeqCst);
        state.begun.fetch_add(1, Ordering::SeqCst);
        state.changed();
        Alive(state.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
        self.0.changed();
    }
}

impl Service for Scripted {
    fn call(&self, request: Request, options: CallOptions) -> CallFuture {
        let alive = Alive::new(&self.0);
        match request {
            Request::RunCallable(request) => Box::pin(run(alive, request, options)),
            request => {
                self.0.shared.lock().noted.push(alloc::format!("{request:?}"));
                let response = samples::response(request.method());
                Box::pin(async move {
                    drop(alive);
                    response
                })
            }
        }
    }
}

async fn run(alive: Alive, request: RunCallableRequest, options: CallOptions) -> Result<Response, Status> {
    let mut fetches = request.feeds;
    match Script::of(request.handle) {
        Script::Echo => {}
        Script::Hang => core::future::pending().await,
        Script::Later(polls) => {
            let mut left = polls;
            poll_fn(|cx| {
                if left == 0 {
                    return Poll::Ready(());
                }
                left -= 1;
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
        Script::Gate => {
            poll_fn(|cx| {
                let mut shared = alive.0.shared.lock();
                if shared.open {
                    return Poll::Ready(());
                }
                shared.watchers.push(cx.waker().clone());
                Poll::Pending
            })
            .await;
        }
        Script::Fail(code) => {
            let text = alloc::format!("the script fails with {code}");
            return Err(Status::new(code, text).at_node("some/node").with_payload("payload", b"\0bytes"));
        }
        Script::Timeout => {
            let timeout = options.timeout_ms.map_or(-1, |ms| i64::try_from(ms).unwrap_or(i64::MAX));
            fetches = alloc::vec![crate::tensor::Tensor::scalar(timeout)];
        }
    }
    drop(alive);
    Ok(Response::RunCallable(RunCallableResponse { fetches, ..Default::default() }))
}
