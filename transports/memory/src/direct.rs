//! A channel without a queue: a call is a function call.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::poll_fn;
use core::task::Poll;

use runstep::host::Host;
use runstep::service::{CallFuture, CallOptions, Channel, Request, Service};

use crate::deadline::Deadline;

/// Calls a service in the caller's own task: nothing is handed over, and the caller does the work.
#[derive(Clone)]
pub struct Direct {
    service: Arc<dyn Service>,
    host: Arc<dyn Host>,
}

impl Direct {
    /// A channel to `service`; the host gives the clock for deadlines.
    pub fn new(service: Arc<dyn Service>, host: Arc<dyn Host>) -> Direct {
        Direct { service, host }
    }
}

impl Channel for Direct {
    fn call(&self, request: Request, options: CallOptions) -> CallFuture {
        let mut work = self.service.call(request, options);
        if options.timeout_ms.is_none() {
            return work;
        }
        let host = self.host.clone();
        let mut deadline = None;
        Box::pin(poll_fn(move |cx| {
            if let Poll::Ready(result) = work.as_mut().poll(cx) {
                return Poll::Ready(result);
            }
            // The time begins with the first poll, as a call does.
            if deadline.is_none() {
                deadline = Deadline::begin(options, &*host);
            }
            match deadline.map_or(Ok(()), |deadline| deadline.check(&*host, cx.waker())) {
                Ok(()) => Poll::Pending,
                Err(status) => Poll::Ready(Err(status)),
            }
        }))
    }
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Direct")
    }
}
