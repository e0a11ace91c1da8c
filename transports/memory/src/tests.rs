//! The queue by hand: order, backpressure, cancellation and both ends' death, with tasks polled one by one.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::future::{Future, pending};
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};

use runstep::host::NoHost;
use runstep::service::*;
use runstep::tensor::Tensor;
use runstep::{Code, Status};

use super::*;

/// Gives the feeds back; handle 1 never answers and counts those that are alive.
#[derive(Default)]
struct Echo {
    alive: Arc<AtomicUsize>,
}

struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Service for Echo {
    fn call(&self, request: Request, _: CallOptions) -> CallFuture {
        let Request::RunCallable(request) = request else {
            return Box::pin(async { Err(Status::unimplemented("only RunCallable")) });
        };
        if request.handle == 1 {
            self.alive.fetch_add(1, Ordering::Relaxed);
            let alive = Alive(self.alive.clone());
            return Box::pin(async move {
                let _alive = alive;
                pending().await
            });
        }
        let response = RunCallableResponse { fetches: request.feeds, ..Default::default() };
        Box::pin(async move { Ok(Response::RunCallable(response)) })
    }
}

fn call(channel: &MemoryChannel, handle: i64, feed: &Tensor) -> CallFuture {
    let request = RunCallableRequest { handle, feeds: vec![feed.clone()], ..Default::default() };
    channel.call(Request::RunCallable(request), CallOptions::default())
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    core::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn code(answer: Poll<Result<Response, Status>>) -> Option<Code> {
    match answer {
        Poll::Ready(Err(status)) => Some(status.code()),
        _ => None,
    }
}

/// The tensor that comes back is the one that went out, bytes and all.
#[test]
fn nothing_is_copied() {
    let (channel, server) = channel(Arc::new(NoHost), Limits::default());
    let mut server = server.serve(Arc::new(Echo::default()));
    let tensor = Tensor::from_slice(&[3], &[1.0f32, 2.0, 3.0]).unwrap();
    let mut one = call(&channel, 0, &tensor);
    assert!(poll(&mut one).is_pending());
    assert!(poll(&mut server).is_pending());
    let Poll::Ready(Ok(Response::RunCallable(got))) = poll(&mut one) else { panic!("no answer") };
    assert_eq!(got.fetches[0].bytes().as_ptr(), tensor.bytes().as_ptr());
    drop((one, channel));
    assert!(poll(&mut server).is_ready());
}

/// A full queue makes callers wait; room is given to them.
#[test]
fn backpressure() {
    let (channel, server) = channel(Arc::new(NoHost), Limits { waiting_max: 2, running_max: 3 });
    let echo = Echo::default();
    let alive = echo.alive.clone();
    let mut server = server.serve(Arc::new(echo));
    let tensor = Tensor::scalar(1i32);
    let mut calls: Vec<CallFuture> = (0..10).map(|_| call(&channel, 1, &tensor)).collect();
    for _ in 0..3 {
        calls.iter_mut().for_each(|call| assert!(poll(call).is_pending()));
        assert!(poll(&mut server).is_pending());
    }
    assert_eq!(alive.load(Ordering::Relaxed), 3);
    assert_eq!(channel.shared.state().queue.len(), 2);
    calls.drain(..3);
    assert!(poll(&mut server).is_pending());
    assert_eq!(alive.load(Ordering::Relaxed), 2);
    calls.clear();
    assert!(poll(&mut server).is_pending());
    assert_eq!((alive.load(Ordering::Relaxed), channel.shared.state().queue.len()), (0, 0));
}

/// Dropping a call drops it at the server; dropping the server answers all.
#[test]
fn either_end_dies() {
    let (channel, server) = channel(Arc::new(NoHost), Limits::default());
    let echo = Echo::default();
    let alive = echo.alive.clone();
    let mut server = server.serve(Arc::new(echo));
    let tensor = Tensor::scalar(1i32);
    let mut cancelled = call(&channel, 1, &tensor);
    let mut running = call(&channel, 1, &tensor);
    let mut queued = call(&channel, 0, &tensor);
    assert!(poll(&mut cancelled).is_pending() && poll(&mut running).is_pending());
    assert!(poll(&mut server).is_pending());
    assert_eq!(alive.load(Ordering::Relaxed), 2);
    drop(cancelled);
    assert!(poll(&mut server).is_pending());
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    assert!(poll(&mut queued).is_pending());
    drop(server);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    for call in [&mut running, &mut queued, &mut call(&channel, 0, &tensor)] {
        assert_eq!(code(poll(call)), Some(Code::Unavailable));
    }
    assert_eq!(code(poll(&mut queued)), Some(Code::Internal));
}

/// A call in the caller's own task.
#[test]
fn direct() {
    let direct = Direct::new(Arc::new(Echo::default()), Arc::new(NoHost));
    let request = RunCallableRequest { feeds: vec![Tensor::scalar(4i64)], ..Default::default() };
    let options = CallOptions { timeout_ms: Some(5) };
    let mut call = pin!(direct.call(Request::RunCallable(request), options));
    assert!(matches!(poll(&mut call), Poll::Ready(Ok(Response::RunCallable(_)))));
}
