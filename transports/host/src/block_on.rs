//! Waiting for a future on a thread that has nothing else to do.

use std::cell::Cell;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Polls `future` to its end, parking the calling thread while it is pending.
///
/// The future needs nothing but its waker, so steps, clients and channels of any transport whose executor runs on other
/// threads will do. Allocates nothing after a thread's first call. Must not be called inside an executor's own task:
/// that thread would stand still.
pub fn block_on<F: Future>(future: F) -> F::Output {
    // A call inside another one on this thread finds the place empty and makes a signal of its own.
    let (signal, waker) = SIGNAL.take().unwrap_or_else(|| {
        let signal = Arc::new(Signal { thread: thread::current(), woken: AtomicBool::new(false) });
        (signal.clone(), Waker::from(signal))
    });
    let mut future = pin!(future);
    let output = loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            break output;
        }
        while !signal.woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    };
    SIGNAL.set(Some((signal, waker)));
    output
}

thread_local! {
    static SIGNAL: Cell<Option<(Arc<Signal>, Waker)>> = const { Cell::new(None) };
}

/// A thread and whether it was woken. The flag is what counts: code inside `poll` may use up the thread's park token.
struct Signal {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::Release) {
            self.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{poll_fn, ready};
    use std::sync::Mutex;

    /// A future that is ready at once costs one poll.
    #[test]
    fn ready_at_once() {
        assert_eq!(block_on(ready(7)), 7);
    }

    /// A wake from another thread is seen however it falls against the park, even when `poll` uses up the token itself.
    #[test]
    fn woken_by_another_thread() {
        for _ in 0..1000 {
            let done = Arc::new(Mutex::new((false, None::<Waker>)));
            let other = done.clone();
            let thread = thread::spawn(move || {
                let waker = {
                    let mut state = other.lock().unwrap();
                    state.0 = true;
                    state.1.take()
                };
                if let Some(waker) = waker {
                    waker.wake();
                }
            });
            block_on(poll_fn(|cx| {
                thread::current().unpark();
                thread::park();
                let mut state = done.lock().unwrap();
                state.1 = Some(cx.waker().clone());
                if state.0 { Poll::Ready(()) } else { Poll::Pending }
            }));
            thread.join().unwrap();
        }
    }

    /// One call inside another: the inner one does not take the outer one's wake.
    #[test]
    fn nested() {
        let mut polls = 0;
        block_on(poll_fn(|cx| {
            polls += 1;
            if polls > 1 {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            let mut inner = 0;
            block_on(poll_fn(|cx| {
                inner += 1;
                cx.waker().wake_by_ref();
                if inner > 3 { Poll::Ready(()) } else { Poll::Pending }
            }));
            Poll::Pending
        }));
        assert_eq!(polls, 2);
    }
}
