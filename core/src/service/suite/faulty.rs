//! Trouble between a caller and a channel.

use alloc::boxed::Box;
use core::fmt;
use core::future::{pending, poll_fn};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::task::Poll;

use alloc::sync::Arc;

use crate::Status;
use crate::service::{CallFuture, CallOptions, Channel, Method, Request};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing happens to it.
    None,
    /// The request is lost: no answer comes until the caller gives up.
    DropRequest,
    /// The service does its work, and the answer is lost.
    DropAnswer,
    /// The request waits for so many polls, in which later calls may overtake it.
    Delay(u32),
    /// The answer waits for so many polls.
    DelayAnswer(u32),
    /// The request is sent twice, as by a client that repeats it; the second answer counts.
    Repeat,
    /// The connection is lost before the request is sent: UNAVAILABLE, and so are all calls from now on.
    Cut,
    /// The connection is lost while the answer is on its way.
    CutAnswer,
}

/// A channel with trouble: a script says what becomes of each call, by its number from 0 and its method.
///
/// Trouble with bytes (truncated, damaged, stalled) is made by `runstep_tcp::Proxy`.
pub struct Faulty {
    inner: Arc<dyn Channel>,
    script: Box<dyn Fn(u64, Method) -> Fault + Send + Sync>,
    next: AtomicU64,
    cut: Arc<AtomicBool>,
}

impl Faulty {
    /// Puts a script before a channel.
    pub fn new(inner: Arc<dyn Channel>, script: impl Fn(u64, Method) -> Fault + Send + Sync + 'static) -> Faulty {
        Faulty { inner, script: Box::new(script), next: AtomicU64::new(0), cut: Arc::new(AtomicBool::new(false)) }
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Faulty({} calls)", self.next.load(Ordering::Relaxed))
    }
}

fn lost() -> Status {
    Status::unavailable("the connection was cut")
}

/// Lets other tasks go first, so many times.
async fn wait(polls: u32) {
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

impl Channel for Faulty {
    fn call(&self, request: Request, options: CallOptions) -> CallFuture {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let fault = (self.script)(number, request.method());
        let inner = self.inner.clone();
        let cut = self.cut.clone();
        Box::pin(async move {
            if fault == Fault::Cut {
                cut.store(true, Ordering::SeqCst);
            }
            if cut.load(Ordering::SeqCst) {
                return Err(lost());
            }
            match fault {
                Fault::DropRequest => return pending().await,
                Fault::Delay(polls) => wait(polls).await,
                Fault::Repeat => {
                    let _first = inner.call(request.clone(), options).await;
                }
                _ => {}
            }
            let answer = inner.call(request, options).await;
            match fault {
                Fault::DropAnswer => return pending().await,
                Fault::DelayAnswer(polls) => wait(polls).await,
                Fault::CutAnswer => cut.store(true, Ordering::SeqCst),
                _ => {}
            }
            if cut.load(Ordering::SeqCst) { Err(lost()) } else { answer }
        })
    }
}
