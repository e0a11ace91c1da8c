//! One call at the server: from its headers to its answer.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use h2::RecvStream;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, Method as HttpMethod, StatusCode};
use runstep::Status;
use runstep::service::{CallOptions, Method, Response};
use runstep::tensor::Charge;
use smol::Timer;
use smol::future::FutureExt;

use crate::HEADERS_LEN_MAX;
use crate::answer::Reply;
use crate::connection::{Live, Peer};
use crate::encoding::Encoding;
use crate::header::timeout_ms;
use crate::health;
use crate::inbound::{Direction, End, Expected, message};
use crate::path::{Route, route};
use crate::server::Shared;
use crate::wait::{Waited, until};

/// A call as it came.
pub(crate) struct Incoming {
    pub(crate) head: Parts,
    pub(crate) body: RecvStream,
    pub(crate) reply: Reply,
}

/// Serves a call, on the connection's own task until it has to wait.
pub(crate) async fn serve(shared: Arc<Shared>, peer: Arc<Peer>, call: Incoming) {
    let Incoming { head, body, mut reply } = call;
    let route = match admit(&head) {
        Ok(route) => route,
        Err((code, status)) => return reply.refuse(code, &status),
    };
    match route {
        Route::Master(method) => master(shared, peer, method, &head.headers, body, reply).await,
        Route::HealthCheck => health::check(shared, reply, body).await,
        Route::HealthWatch => health::watch(shared, reply, body).await,
    }
}

/// What a call is for, if it is gRPC.
fn admit(head: &Parts) -> Result<Route, (StatusCode, Status)> {
    if head.method != HttpMethod::POST {
        let status = Status::invalid_argument(format_args!("{} where gRPC has POST", head.method));
        return Err((StatusCode::METHOD_NOT_ALLOWED, status));
    }
    let content_type = head.headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    let is_grpc = content_type.and_then(|name| name.strip_prefix(b"application/grpc"));
    if !is_grpc.is_some_and(|rest| matches!(rest, [] | [b'+' | b';', ..]) && !rest.starts_with(b"+json")) {
        let status = Status::invalid_argument("the content type is not application/grpc");
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, status));
    }
    let len: usize = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum();
    if len + head.uri.path().len() > HEADERS_LEN_MAX {
        let status = Status::resource_exhausted(format_args!("headers of {len} bytes; the limit is {HEADERS_LEN_MAX}"));
        return Err((StatusCode::OK, status));
    }
    route(head.uri.path()).ok_or_else(|| {
        let path: String = head.uri.path().chars().take(200).collect();
        (StatusCode::OK, Status::unimplemented(format_args!("there is no method {path}")))
    })
}

async fn master(
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    method: Method,
    headers: &HeaderMap,
    mut body: RecvStream,
    mut reply: Reply,
) {
    let started = Instant::now();
    let told = Encoding::of(headers).and_then(|encoding| Ok((encoding, timeout_ms(headers)?)));
    let (encoding, timeout_ms) = match told {
        Ok(told) => told,
        Err(status) => return reply.status(&status),
    };
    let Some(live) = peer.admit(&shared) else { return reply.status(&peer.refusal(&shared)) };
    reply.encoding = encoding.filter(|encoding| encoding.is_accepted(headers));
    let deadline = timeout_ms.and_then(|ms| started.checked_add(Duration::from_millis(ms)));
    let expected =
        Expected { direction: Direction::Request, method, encoding, limits: &shared.limits, budget: &peer.budget };
    let arrived = match until(deadline, message(&mut body, &expected)).await {
        Waited::Done(arrived) => arrived,
        Waited::Late => return reply.status(&late(timeout_ms)),
    };
    let request = match arrived {
        Ok(gather) => gather.into_request(&shared.limits, &peer.budget),
        Err(End::Wrong(status)) => Err(status),
        Err(End::Nothing) => Err(Status::invalid_argument("a call without a message")),
        // The caller is gone.
        Err(End::Gone(_)) => return,
    };
    let (request, charge) = match request {
        Ok(request) => request,
        Err(status) => return reply.status(&status),
    };
    let call = Call { shared, peer, reply, deadline, timeout_ms, charge: Some(charge), live, body };
    let options = CallOptions { timeout_ms };
    if call.peer.pace.is_quick() {
        let mut work = Box::pin(AssertUnwindSafe(call.shared.service.call(request, options)).catch_unwind());
        // Most calls are ready at once: no task, no timer, no hand-over. One that is not is polled by its own task.
        let begun = Instant::now();
        let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        call.peer.pace.took(begun.elapsed());
        match polled {
            Poll::Ready(result) => call.answer(result).await,
            Poll::Pending => {
                let spawn = call.shared.spawn.clone();
                spawn.spawn(async move { call.finish(work).await }).detach();
            }
        }
    } else {
        let spawn = call.shared.spawn.clone();
        let work = async move {
            let mut work = Box::pin(AssertUnwindSafe(call.shared.service.call(request, options)).catch_unwind());
            let begun = Instant::now();
            let polled = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
            call.peer.pace.took(begun.elapsed());
            match polled {
                Poll::Ready(result) => call.answer(result).await,
                Poll::Pending => call.finish(work).await,
            }
        };
        spawn.spawn(work).detach();
    }
}

fn late(timeout_ms: Option<u64>) -> Status {
    Status::deadline_exceeded(format_args!("the call took longer than {} ms", timeout_ms.unwrap_or_default()))
}

type Caught = std::thread::Result<Result<Response, Status>>;

/// A call whose request has arrived.
struct Call {
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    reply: Reply,
    deadline: Option<Instant>,
    timeout_ms: Option<u64>,
    charge: Option<Charge>,
    live: Live,
    /// The half that has been read; dropped early, it would reset the stream.
    body: RecvStream,
}

impl Call {
    /// Waits for the service, unless the caller goes, the time is over or the server stops.
    async fn finish(mut self, mut work: Pin<Box<impl Future<Output = Caught>>>) {
        let shared = self.shared.clone();
        let mut abort = pin!(shared.aborted());
        let mut timer = self.deadline.map(Timer::at);
        let ended = poll_fn(|cx| {
            if let Poll::Ready(result) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(result));
            }
            if self.reply.stream.poll_reset(cx).is_ready() {
                return Poll::Ready(None);
            }
            if let Some(timer) = &mut timer
                && Pin::new(timer).poll(cx).is_ready()
            {
                return Poll::Ready(Some(Ok(Err(late(self.timeout_ms)))));
            }
            abort.as_mut().poll(cx).map(|()| Some(Ok(Err(Status::unavailable("the server is stopping")))))
        })
        .await;
        // What is left of the call is cancelled before its caller knows that it is over.
        drop(work);
        if let Some(result) = ended {
            self.answer(result).await;
        }
    }

    async fn answer(mut self, result: Caught) {
        drop(self.charge.take());
        let result = result.unwrap_or_else(|_| Err(Status::internal("the service panicked")));
        self.reply.send(result, &self.peer.budget).await;
        drop(self.body);
        drop(self.live);
    }
}
