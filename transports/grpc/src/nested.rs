//! Futures inside one task that wake each other without a turn through the executor.
//!
//! A connection reads a request, a call answers it, and the connection writes the answer: three polls that belong
//! together. Through the executor each would be a place in its queue and, often, a wake of another thread.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// How often a task goes round before others get their turn.
const ROUNDS_MAX: usize = 64;

/// A waker that tells the task around only while that is not being polled.
struct Inner {
    polling: AtomicBool,
    woken: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Wake for Inner {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Written before the other is read, here and in `run`: one of the two sees it.
        self.woken.store(true, Ordering::SeqCst);
        if !self.polling.load(Ordering::SeqCst) {
            let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(task) = task {
                task.wake();
            }
        }
    }
}

/// Polls `poll` for as long as it wakes itself, until it is ready.
pub(crate) async fn run<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let inner =
        Arc::new(Inner { polling: AtomicBool::new(false), woken: AtomicBool::new(false), task: Mutex::new(None) });
    let waker = Waker::from(inner.clone());
    poll_fn(|cx| {
        {
            let mut task = inner.task.lock().unwrap_or_else(PoisonError::into_inner);
            if task.as_ref().is_none_or(|task| !task.will_wake(cx.waker())) {
                *task = Some(cx.waker().clone());
            }
        }
        for _ in 0..ROUNDS_MAX {
            inner.polling.store(true, Ordering::SeqCst);
            inner.woken.store(false, Ordering::SeqCst);
            let result = poll(&mut Context::from_waker(&waker));
            inner.polling.store(false, Ordering::SeqCst);
            if result.is_ready() {
                return result;
            }
            if !inner.woken.load(Ordering::SeqCst) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What wakes itself is polled again at once, and a wake from outside is not lost.
    #[test]
    fn wakes() {
        let (send, receive) = smol::channel::bounded::<u32>(1);
        let mut polls = 0;
        let mut receiving = Box::pin(async move { receive.recv().await });
        let sender = std::thread::spawn(move || smol::block_on(send.send(7)).is_ok());
        let got = smol::block_on(run(|cx| {
            polls += 1;
            if polls < 5 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            receiving.as_mut().poll(cx)
        }));
        assert_eq!(got, Ok(7));
        assert!(sender.join().is_ok_and(|sent| sent));
    }
}
