//! The cases, each a connection of its own.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::task::Poll;

use super::{Boxed, Connected, Script, Scripted, Subject, Traits, join_all, samples};
use crate::service::frame::Limits;
use crate::service::*;
use crate::tensor::{DType, Tensor};
use crate::{Code, Status};

type Body = for<'a> fn(&'a dyn Subject) -> Boxed<'a, Result<(), String>>;

const NONE: Traits = Traits { clock: false, wire: false, shutdown: false };
const CLOCK: Traits = Traits { clock: true, ..NONE };
const WIRE: Traits = Traits { wire: true, ..NONE };
const SHUTDOWN: Traits = Traits { shutdown: true, ..NONE };

/// Name, what the transport must have, and the case.
pub(super) const CASES: &[(&str, Traits, Body)] = &[
    ("every method and dtype", NONE, |s| Box::pin(every_method(s))),
    ("tensors of every size", NONE, |s| Box::pin(every_size(s))),
    ("errors arrive whole", NONE, |s| Box::pin(errors(s))),
    ("timeouts travel", NONE, |s| Box::pin(timeouts_travel(s))),
    ("many calls at once", NONE, |s| Box::pin(concurrent(s))),
    ("answers in any order", NONE, |s| Box::pin(any_order(s))),
    ("a large tensor beside small calls", NONE, |s| Box::pin(large_beside_small(s))),
    ("a call that is never polled", NONE, |s| Box::pin(never_polled(s))),
    ("a dropped call is cancelled", NONE, |s| Box::pin(cancelled(s))),
    ("a large call is cancelled at any moment", NONE, |s| Box::pin(cancelled_large(s))),
    ("deadlines", CLOCK, |s| Box::pin(deadlines(s))),
    ("the server dies", NONE, |s| Box::pin(cut(s))),
    ("the channel is dropped", NONE, |s| Box::pin(channel_dropped(s))),
    ("an answer, then the end", SHUTDOWN, |s| Box::pin(answer_then_end(s))),
    ("a stop that does not wait", SHUTDOWN, |s| Box::pin(impatient_stop(s))),
    ("more calls than allowed", NONE, |s| Box::pin(too_many(s))),
    ("larger than allowed", WIRE, |s| Box::pin(too_large(s))),
    ("more bytes at once than allowed", WIRE, |s| Box::pin(too_much(s))),
];

macro_rules! ensure {
    ($condition:expr, $($why:tt)+) => {
        if !$condition {
            return Err(format!($($why)+));
        }
    };
}

struct Case {
    service: Scripted,
    to: Connected,
}

async fn begin(subject: &dyn Subject, limits: Limits) -> Result<Case, String> {
    let service = Scripted::default();
    let to = subject.connect(Arc::new(service.clone()), limits).await.map_err(text)?;
    Ok(Case { service, to })
}

fn text(status: Status) -> String {
    status.to_string()
}

impl Case {
    fn call(&self, script: Script, feed: Tensor) -> CallFuture {
        self.call_with(script, feed, CallOptions::default())
    }

    fn call_with(&self, script: Script, feed: Tensor, options: CallOptions) -> CallFuture {
        let request = RunCallableRequest { handle: script.handle(), feeds: vec![feed], ..Default::default() };
        self.to.channel.call(Request::RunCallable(request), options)
    }

    /// A call whose answer must be its own feed.
    async fn echo(&self, script: Script, feed: Tensor) -> Result<(), String> {
        let answer = self.call(script, feed.clone()).await;
        same(&answer.map_err(text)?, &feed)
    }

    /// Goes on calling until the server holds nothing: the last bytes may be given back just after an answer.
    async fn nothing_held(&self) -> Result<(), String> {
        self.service.until(|service| service.alive() == 0).await;
        let mut held = 0;
        for i in 0..10_000_i32 {
            self.echo(Script::Echo, Tensor::scalar(i)).await?;
            held = (self.to.bytes_held)();
            if held == 0 {
                return Ok(());
            }
        }
        Err(format!("the server still holds {held} bytes"))
    }
}

fn same(answer: &Response, feed: &Tensor) -> Result<(), String> {
    let Response::RunCallable(answer) = answer else { return Err(format!("an answer of another kind: {answer:?}")) };
    let [fetch] = answer.fetches.as_slice() else { return Err(format!("{} fetches", answer.fetches.len())) };
    let equal = fetch.dtype() == feed.dtype() && fetch.shape() == feed.shape() && fetch.bytes() == feed.bytes();
    ensure!(equal && format!("{fetch:?}") == format!("{feed:?}"), "{feed:?} came back as {fetch:?}");
    Ok(())
}

fn code(result: Result<Response, Status>) -> Option<Code> {
    result.err().map(|status| status.code())
}

/// Polls a future once.
async fn poll_once<T>(future: &mut Boxed<'_, T>) -> Option<T> {
    poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    })
    .await
}

async fn every_method(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    for method in Method::ALL {
        let request = samples::request(method).map_err(text)?;
        let sent = format!("{request:?}");
        let answer = case.to.channel.call(request, CallOptions::default()).await.map_err(text)?;
        let expected = samples::response(method).map_err(text)?;
        ensure!(format!("{answer:?}") == format!("{expected:?}"), "{method:?} was answered with {answer:?}");
        if method != Method::RunCallable {
            let got = case.service.noted().pop().unwrap_or_default();
            ensure!(got == sent, "{method:?} arrived as {got}, and was {sent}");
        }
    }
    case.nothing_held().await
}

async fn every_size(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    for count in [0, 1, 2, 1023, 1024, 1025, 4095, 65_535, 65_536, 262_143, 262_144, 262_145, 1_000_003, 9_000_000] {
        let feed = samples::tensor(DType::Uint8, count).map_err(text)?;
        for script in [Script::Echo, Script::Later(1)] {
            case.echo(script, feed.clone()).await.map_err(|why| format!("{count} bytes: {why}"))?;
        }
    }
    // Where bytes arrive, they are put where kernels want them; a tensor that is only handed over stays where it is.
    let feed = samples::tensor(DType::Float, 4000).map_err(text)?;
    if subject.traits().wire
        && let Response::RunCallable(answer) = case.call(Script::Echo, feed).await.map_err(text)?
    {
        let aligned = answer.fetches.iter().all(|fetch| fetch.bytes().as_ptr().addr() % 64 == 0);
        ensure!(aligned, "a large tensor is not aligned to 64");
    }
    case.nothing_held().await
}

async fn errors(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    for number in 1..=16 {
        let code = Code::from_i32(number);
        let Err(error) = case.call(Script::Fail(code), Tensor::scalar(1i32)).await else {
            return Err(format!("{code} arrived as an answer"));
        };
        let message = format!("the script fails with {code}\n\t [[{{{{node some/node}}}}]]");
        ensure!(error.code() == code && error.message() == message, "{code} arrived as {error}");
        ensure!(error.node() == Some("some/node"), "the node arrived as {:?}", error.node());
        let payloads: Vec<_> = error.payloads().collect();
        ensure!(payloads == [("payload", &b"\0bytes"[..])], "payloads arrived as {payloads:?}");
    }
    case.nothing_held().await
}

async fn timeouts_travel(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    for timeout_ms in [None, Some(60_000), Some(u64::from(u32::MAX))] {
        let options = CallOptions { timeout_ms };
        let answer = case.call_with(Script::Timeout, Tensor::scalar(0i32), options).await.map_err(text)?;
        let expected = timeout_ms.map_or(-1, |ms| i64::try_from(ms).unwrap_or(0));
        same(&answer, &Tensor::scalar(expected))?;
    }
    Ok(())
}

async fn concurrent(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    for _ in 0..3 {
        let calls = (0..200_u32).map(|i| {
            let script = if i % 3 == 0 { Script::Echo } else { Script::Later(i % 7) };
            let count = if i % 10 == 0 { 50_000 } else { i as usize };
            let case = &case;
            Box::pin(async move {
                let values: Vec<u32> = (0..count).map(|k| i + k as u32).collect();
                case.echo(script, Tensor::from_slice(&[count], &values).map_err(text)?).await
            }) as Boxed<'_, _>
        });
        join_all(calls.collect()).await.into_iter().collect::<Result<(), String>>()?;
    }
    case.nothing_held().await
}

async fn any_order(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    let mut held: Vec<CallFuture> = (0..5i32).map(|i| case.call(Script::Gate, Tensor::scalar(i))).collect();
    for call in &mut held {
        ensure!(poll_once(call).await.is_none(), "a call at the gate was answered");
    }
    case.service.until(|service| service.alive() == 5).await;
    for i in 0..20i32 {
        case.echo(Script::Echo, Tensor::scalar(i)).await?;
    }
    case.service.open();
    for (i, call) in held.into_iter().enumerate().rev() {
        same(&call.await.map_err(text)?, &Tensor::scalar(i as i32))?;
    }
    case.nothing_held().await
}

async fn large_beside_small(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    let large = samples::tensor(DType::Uint8, 48 << 20).map_err(text)?;
    let mut call: Boxed<'_, _> = Box::pin(case.echo(Script::Later(2), large));
    let mut done = poll_once(&mut call).await;
    for i in 0..100i32 {
        case.echo(Script::Echo, Tensor::scalar(i)).await?;
        if done.is_none() {
            done = poll_once(&mut call).await;
        }
    }
    match done {
        Some(result) => result?,
        None => call.await?,
    }
    case.nothing_held().await
}

async fn never_polled(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    let idle = case.call(Script::Hang, Tensor::scalar(1i32));
    case.echo(Script::Echo, Tensor::scalar(2i32)).await?;
    ensure!(case.service.begun() == 1, "a call began that was never polled");
    drop(idle);
    case.nothing_held().await
}

async fn cancelled(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    let feed = samples::tensor(DType::Uint8, 100_000).map_err(text)?;
    for count in [1, 10] {
        let mut calls: Vec<CallFuture> = (0..count).map(|_| case.call(Script::Hang, feed.clone())).collect();
        for call in &mut calls {
            ensure!(poll_once(call).await.is_none(), "a call that hangs was answered");
        }
        case.service.until(|service| service.alive() == count).await;
        drop(calls);
        case.service.until(|service| service.alive() == 0).await;
    }
    case.nothing_held().await
}

async fn cancelled_large(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    let large = samples::tensor(DType::Uint8, 8 << 20).map_err(text)?;
    for polls in 0..12i32 {
        let mut call = case.call(Script::Later(1), large.clone());
        for i in 0..polls {
            if poll_once(&mut call).await.is_some() {
                break;
            }
            case.echo(Script::Echo, Tensor::scalar(i)).await?;
        }
    }
    case.nothing_held().await
}

async fn deadlines(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    for timeout_ms in [0, 1, 30] {
        let options = CallOptions { timeout_ms: Some(timeout_ms) };
        let result = case.call_with(Script::Hang, Tensor::scalar(1i32), options).await;
        ensure!(code(result.clone()) == Some(Code::DeadlineExceeded), "{timeout_ms} ms ended with {result:?}");
        case.service.until(|service| service.alive() == 0).await;
    }
    let options = CallOptions { timeout_ms: Some(100_000) };
    case.call_with(Script::Later(3), Tensor::scalar(1i32), options).await.map_err(text)?;
    case.nothing_held().await
}

async fn cut(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    let mut call = case.call(Script::Hang, Tensor::scalar(1i32));
    ensure!(poll_once(&mut call).await.is_none(), "a call that hangs was answered");
    case.service.until(|service| service.alive() == 1).await;
    let Case { service, to } = case;
    (to.cut)();
    let result = call.await;
    ensure!(code(result.clone()) == Some(Code::Unavailable), "a lost connection ended a call with {result:?}");
    service.until(|service| service.alive() == 0).await;
    let later = to.channel.call(Request::Reset(ResetRequest::default()), CallOptions::default()).await;
    ensure!(code(later.clone()) == Some(Code::Unavailable), "a call after the loss ended with {later:?}");
    Ok(())
}

async fn channel_dropped(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    let mut call = case.call(Script::Hang, Tensor::scalar(1i32));
    ensure!(poll_once(&mut call).await.is_none(), "a call that hangs was answered");
    case.service.until(|service| service.alive() == 1).await;
    let Case { service, to } = case;
    let Connected { channel, cut, shutdown, bytes_held } = to;
    drop(channel);
    drop(call);
    service.until(|service| service.alive() == 0).await;
    drop((cut, shutdown, bytes_held));
    Ok(())
}

async fn answer_then_end(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    let feed = samples::tensor(DType::Uint8, 3 << 20).map_err(text)?;
    let mut call = case.call(Script::Gate, feed.clone());
    ensure!(poll_once(&mut call).await.is_none(), "a call at the gate was answered");
    case.service.until(|service| service.alive() == 1).await;
    let Case { service, to } = case;
    let mut end = (to.shutdown)(true);
    ensure!(poll_once(&mut end).await.is_none(), "the server ended before its call");
    service.open();
    let both: Vec<Boxed<'_, Option<Result<Response, Status>>>> = vec![
        Box::pin(async {
            end.await;
            None
        }),
        Box::pin(async { Some(call.await) }),
    ];
    for result in join_all(both).await.into_iter().flatten() {
        same(&result.map_err(text)?, &feed)?;
    }
    let later = to.channel.call(Request::Reset(ResetRequest::default()), CallOptions::default()).await;
    ensure!(code(later.clone()) == Some(Code::Unavailable), "a call after the end ended with {later:?}");
    Ok(())
}

async fn impatient_stop(subject: &dyn Subject) -> Result<(), String> {
    let case = begin(subject, Limits::default()).await?;
    let mut call = case.call(Script::Hang, Tensor::scalar(1i32));
    ensure!(poll_once(&mut call).await.is_none(), "a call that hangs was answered");
    case.service.until(|service| service.alive() == 1).await;
    let Case { service, to } = case;
    let end = (to.shutdown)(false);
    let both: Vec<Boxed<'_, Option<Code>>> = vec![
        Box::pin(async {
            end.await;
            None
        }),
        Box::pin(async { code(call.await) }),
    ];
    let codes: Vec<Code> = join_all(both).await.into_iter().flatten().collect();
    ensure!(codes == [Code::Unavailable], "a stopping server ended a call with {codes:?}");
    ensure!(service.alive() == 0, "a call outlived its server");
    Ok(())
}

async fn too_many(subject: &dyn Subject) -> Result<(), String> {
    let limits = Limits { calls_per_connection_max: 4, ..Limits::default() };
    let case = begin(subject, limits).await?;
    let mut calls: Vec<CallFuture> = (0..10).map(|i| case.call(Script::Hang, Tensor::scalar(i))).collect();
    for call in &mut calls {
        if let Some(result) = poll_once(call).await {
            ensure!(code(result) == Some(Code::ResourceExhausted), "a call beyond the limit ended otherwise");
        }
    }
    case.service.until(|service| service.alive() == 4).await;
    ensure!(case.service.begun() == 4, "{} calls began where 4 may", case.service.begun());
    drop(calls);
    case.service.until(|service| service.alive() == 0).await;
    // Those that waited for their turn may have had it meanwhile, and were dropped as well.
    case.nothing_held().await
}

async fn too_large(subject: &dyn Subject) -> Result<(), String> {
    let limits =
        Limits { payload_len_max: 1 << 20, message_len_max: 1 << 16, frame_len_max: 3 << 20, ..Limits::default() };
    let case = begin(subject, limits).await?;
    let large = samples::tensor(DType::Uint8, (1 << 20) + 1).map_err(text)?;
    let strings = samples::tensor(DType::String, 20_000).map_err(text)?;
    for feed in [large, strings] {
        let result = case.call(Script::Hang, feed).await;
        ensure!(code(result.clone()) == Some(Code::ResourceExhausted), "a call beyond a limit ended with {result:?}");
    }
    let feeds: Vec<Tensor> =
        (0..4).map(|_| samples::tensor(DType::Uint8, 1 << 20)).collect::<Result<_, _>>().map_err(text)?;
    let request = Request::RunCallable(RunCallableRequest { feeds, ..Default::default() });
    let result = case.to.channel.call(request, CallOptions::default()).await;
    ensure!(code(result.clone()) == Some(Code::ResourceExhausted), "a call beyond a limit ended with {result:?}");
    ensure!(case.service.begun() == 0, "a call beyond a limit began");
    case.echo(Script::Echo, samples::tensor(DType::Uint8, 1 << 20).map_err(text)?).await?;
    case.nothing_held().await
}

async fn too_much(subject: &dyn Subject) -> Result<(), String> {
    let limits = Limits { bytes_in_flight_per_peer_max: 5 << 20, ..Limits::default() };
    let case = begin(subject, limits).await?;
    let feed = samples::tensor(DType::Uint8, 2 << 20).map_err(text)?;
    let mut calls: Vec<CallFuture> = (0..2).map(|_| case.call(Script::Hang, feed.clone())).collect();
    for call in &mut calls {
        ensure!(poll_once(call).await.is_none(), "a call that hangs was answered");
    }
    case.service.until(|service| service.alive() == 2).await;
    let result = case.call(Script::Hang, feed.clone()).await;
    ensure!(code(result.clone()) == Some(Code::ResourceExhausted), "a call beyond the budget ended with {result:?}");
    case.echo(Script::Echo, Tensor::scalar(1i32)).await?;
    drop(calls);
    case.service.until(|service| service.alive() == 0).await;
    case.nothing_held().await?;
    case.echo(Script::Later(1), feed).await?;
    case.nothing_held().await
}
