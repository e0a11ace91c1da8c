//! Waiting with an end: a timer is made only for what is not ready at once.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Instant;

use smol::Timer;

/// What became of a future that may take only so long.
pub(crate) enum Waited<T> {
    Done(T),
    Late,
}

/// Waits for a future until `deadline`.
pub(crate) async fn until<T>(deadline: Option<Instant>, future: impl Future<Output = T>) -> Waited<T> {
    let mut future = pin!(future);
    let mut timer: Option<Timer> = None;
    poll_fn(|cx| {
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            return Poll::Ready(Waited::Done(value));
        }
        let Some(deadline) = deadline else { return Poll::Pending };
        let timer = timer.get_or_insert_with(|| Timer::at(deadline));
        Pin::new(timer).poll(cx).map(|_| Waited::Late)
    })
    .await
}
