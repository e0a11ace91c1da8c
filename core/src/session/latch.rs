//! Something that happens once, which tasks wait for.

use alloc::vec::Vec;
use core::task::{Context, Poll, Waker};

use crate::sync::Mutex;

/// Closed until opened, then open for ever.
#[derive(Default)]
pub(super) struct Latch(Mutex<State>);

#[derive(Default)]
struct State {
    open: bool,
    waiting: Vec<Option<Waker>>,
}

impl Latch {
    /// Opens it and wakes whoever waits.
    pub(super) fn open(&self) {
        let mut state = self.0.lock();
        state.open = true;
        let waiting = core::mem::take(&mut state.waiting);
        drop(state);
        for waker in waiting.into_iter().flatten() {
            waker.wake();
        }
    }

    /// Ready once it is open. `place` is the waiter's own, `None` at first.
    pub(super) fn poll(&self, cx: &mut Context<'_>, place: &mut Option<usize>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.open {
            return Poll::Ready(());
        }
        let at = *place.get_or_insert_with(|| {
            state.waiting.push(None);
            state.waiting.len() - 1
        });
        if let Some(known) = state.waiting.get_mut(at) {
            *known = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pending before, ready after; a task that polls again is kept once.
    #[test]
    fn opens_once() {
        let latch = Latch::default();
        let mut cx = Context::from_waker(Waker::noop());
        let mut place = None;
        assert!(latch.poll(&mut cx, &mut place).is_pending() && latch.poll(&mut cx, &mut place).is_pending());
        assert_eq!(latch.0.lock().waiting.len(), 1);
        latch.open();
        assert!(latch.poll(&mut cx, &mut place).is_ready());
    }
}
