//! Where the parts of a step hand tensors to each other: a send leaves a value under a key, a receive takes it.
//!
//! A step has one rendezvous on each worker that takes part. A send never waits. Values sent under one key are taken in
//! the order in which they were sent, by receivers in the order in which they came; each is taken once. After an
//! [`Rendezvous::abort`] every waiting and every later send and receive ends with that error. Nothing here knows how
//! tensors get to other machines.

mod frame;
mod key;

pub use frame::{child_frame_id, frame_name_hash};
pub use key::{Key, Route};

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use hashbrown::HashMap;

use crate::Status;
use crate::sync::Mutex;
use crate::tensor::Tensor;

/// Where the kernels of a step send tensors to and receive them from: a [`Rendezvous`] in one process, or what reaches
/// other workers as well.
pub trait Exchange: Send + Sync {
    /// Leaves a value for its receiver. Does not wait.
    ///
    /// # Errors
    /// Why the step's exchange ended, if it did.
    fn send(&self, key: &Key, item: Item) -> Result<(), Status>;

    /// Takes the value of a key once there is one.
    fn recv(&self, key: Key) -> ReceiveFuture;
}

/// A receive under way.
pub type ReceiveFuture = Pin<Box<dyn Future<Output = Result<Item, Status>> + Send>>;

impl Exchange for Arc<Rendezvous> {
    fn send(&self, key: &Key, item: Item) -> Result<(), Status> {
        Rendezvous::send(self, key, item)
    }

    fn recv(&self, key: Key) -> ReceiveFuture {
        Box::pin(Rendezvous::recv(self, key))
    }
}

/// What goes from a send to a receive.
#[derive(Clone, Debug)]
pub struct Item {
    /// The value; any one when dead.
    pub tensor: Tensor,
    /// Whether it is the output of a node that did not run because its branch was not taken.
    pub is_dead: bool,
}

/// The meeting place of one step on one worker.
#[derive(Debug, Default)]
pub struct Rendezvous {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queues: HashMap<Key, Queue>,
    tickets: u64,
    aborted: Option<Status>,
}

/// Values without receivers, or receivers without values; and values given to receivers that have not taken them yet.
#[derive(Debug, Default)]
struct Queue {
    values: VecDeque<Item>,
    waiters: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    waker: Waker,
    item: Option<Item>,
}

impl Rendezvous {
    /// A rendezvous without values.
    pub fn new() -> Rendezvous {
        Rendezvous::default()
    }

    /// Leaves a value for a receiver.
    ///
    /// # Errors
    /// That of the abort, if there was one.
    pub fn send(&self, key: &Key, item: Item) -> Result<(), Status> {
        let mut state = self.state.lock();
        if let Some(error) = &state.aborted {
            return Err(error.clone());
        }
        let queue = match state.queues.get_mut(key) {
            Some(queue) => queue,
            None => state.queues.entry(key.clone()).or_default(),
        };
        match queue.waiters.iter_mut().find(|waiter| waiter.item.is_none()) {
            Some(waiter) => {
                waiter.item = Some(item);
                let waker = core::mem::replace(&mut waiter.waker, Waker::noop().clone());
                drop(state);
                waker.wake();
            }
            None => queue.values.push_back(item),
        }
        Ok(())
    }

    /// Takes a value, without waiting for one.
    ///
    /// # Errors
    /// That of the abort, if there was one.
    pub fn try_recv(&self, key: &Key) -> Result<Option<Item>, Status> {
        let mut state = self.state.lock();
        if let Some(error) = &state.aborted {
            return Err(error.clone());
        }
        Ok(state.take(key))
    }

    /// Takes a value as soon as there is one. Dropped before that, it gives up its place in the row, and a value that
    /// it was given goes to the next.
    pub fn recv(self: &Arc<Self>, key: Key) -> Recv {
        Recv { rendezvous: self.clone(), key, ticket: None }
    }

    /// Ends all waiting and all later sends and receives with `error`, unless it was aborted before: the first error
    /// stays. Values are let go.
    pub fn abort(&self, error: Status) {
        let mut state = self.state.lock();
        if state.aborted.is_some() {
            return;
        }
        state.aborted = Some(error);
        let queues = core::mem::take(&mut state.queues);
        drop(state);
        for waiter in queues.into_values().flat_map(|queue| queue.waiters) {
            waiter.waker.wake();
        }
    }

    /// Why it was aborted, if it was.
    pub fn aborted(&self) -> Option<Status> {
        self.state.lock().aborted.clone()
    }

    /// The number of values that wait for receivers, and of receivers that wait for values.
    pub fn waiting(&self) -> (usize, usize) {
        let state = self.state.lock();
        let count = |of: fn(&Queue) -> usize| state.queues.values().map(of).sum();
        (count(|q| q.values.len()), count(|q| q.waiters.iter().filter(|w| w.item.is_none()).count()))
    }
}

impl State {
    fn take(&mut self, key: &Key) -> Option<Item> {
        let queue = self.queues.get_mut(key)?;
        let item = queue.values.pop_front();
        if queue.is_empty() {
            self.queues.remove(key);
        }
        item
    }
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.waiters.is_empty()
    }
}

/// A receive; a future of the value.
#[derive(Debug)]
#[must_use = "a receive takes nothing until it is polled"]
pub struct Recv {
    rendezvous: Arc<Rendezvous>,
    key: Key,
    /// Its number among the waiters, once it waits.
    ticket: Option<u64>,
}

impl Recv {
    /// The key.
    pub fn key(&self) -> &Key {
        &self.key
    }
}

impl Future for Recv {
    type Output = Result<Item, Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut state = this.rendezvous.state.lock();
        if let Some(error) = &state.aborted {
            return Poll::Ready(Err(error.clone()));
        }
        let Some(ticket) = this.ticket else {
            if let Some(item) = state.take(&this.key) {
                return Poll::Ready(Ok(item));
            }
            state.tickets += 1;
            let ticket = state.tickets;
            this.ticket = Some(ticket);
            let waiter = Waiter { ticket, waker: cx.waker().clone(), item: None };
            state.queues.entry(this.key.clone()).or_default().waiters.push_back(waiter);
            return Poll::Pending;
        };
        let Some(queue) = state.queues.get_mut(&this.key) else { return Poll::Pending };
        let Some(at) = queue.waiters.iter().position(|waiter| waiter.ticket == ticket) else { return Poll::Pending };
        if queue.waiters[at].item.is_none() {
            queue.waiters[at].waker.clone_from(cx.waker());
            return Poll::Pending;
        }
        let item = queue.waiters.remove(at).and_then(|waiter| waiter.item);
        if queue.is_empty() {
            state.queues.remove(&this.key);
        }
        this.ticket = None;
        match item {
            Some(item) => Poll::Ready(Ok(item)),
            None => Poll::Pending,
        }
    }
}

impl Drop for Recv {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let mut state = self.rendezvous.state.lock();
        let Some(queue) = state.queues.get_mut(&self.key) else { return };
        let Some(at) = queue.waiters.iter().position(|waiter| waiter.ticket == ticket) else { return };
        let mut next: Vec<Waker> = Vec::new();
        // Values move up by one receiver, so that none overtakes another.
        let mut item = queue.waiters.remove(at).and_then(|waiter| waiter.item);
        for waiter in queue.waiters.iter_mut().skip(at) {
            let Some(given) = item.take() else { break };
            if waiter.item.is_none() {
                next.push(core::mem::replace(&mut waiter.waker, Waker::noop().clone()));
            }
            item = waiter.item.replace(given);
        }
        if let Some(item) = item {
            queue.values.push_front(item);
        }
        if queue.is_empty() {
            state.queues.remove(&self.key);
        }
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use core::sync::atomic::{AtomicUsize, Ordering};

    fn key(name: &str) -> Key {
        let device = "/job:w/replica:0/task:0/device:CPU:0";
        Route::new(device, 1, device, name).unwrap().at(0, 0)
    }

    fn item(value: i32) -> Item {
        Item { tensor: Tensor::scalar(value), is_dead: false }
    }

    fn poll(recv: &mut Recv) -> Poll<Result<i32, Code>> {
        let mut cx = Context::from_waker(Waker::noop());
        let value = |item: Item| item.tensor.inline_scalar::<i32>().unwrap();
        Pin::new(recv).poll(&mut cx).map(|result| result.map(value).map_err(|e| e.code()))
    }

    /// Values come in the order in which they were sent, whoever came first, and keys do not mix.
    #[test]
    fn in_order() {
        let meeting = Arc::new(Rendezvous::new());
        meeting.send(&key("a"), item(1)).unwrap();
        meeting.send(&key("a"), item(2)).unwrap();
        meeting.send(&key("b"), item(3)).unwrap();
        let mut receives: Vec<Recv> = (0..4).map(|_| meeting.recv(key("a"))).collect();
        assert_eq!(poll(&mut receives[0]), Poll::Ready(Ok(1)));
        assert_eq!(poll(&mut receives[1]), Poll::Ready(Ok(2)));
        assert!(poll(&mut receives[2]).is_pending() && poll(&mut receives[3]).is_pending());
        assert_eq!(meeting.waiting(), (1, 2));
        meeting.send(&key("a"), item(4)).unwrap();
        // A later receiver does not take what an earlier one waits for.
        assert!(poll(&mut receives[3]).is_pending() && meeting.try_recv(&key("a")).unwrap().is_none());
        assert_eq!(poll(&mut receives[2]), Poll::Ready(Ok(4)));
        meeting.send(&key("a"), item(5)).unwrap();
        assert_eq!(poll(&mut receives[3]), Poll::Ready(Ok(5)));
        assert_eq!(meeting.try_recv(&key("b")).unwrap().unwrap().tensor.inline_scalar(), Some(3));
        assert_eq!(meeting.waiting(), (0, 0));
        assert!(meeting.state.lock().queues.is_empty(), "nothing is left behind");
    }

    /// A receiver that goes away passes on what it was given; nothing is lost or overtakes.
    #[test]
    fn given_up() {
        let meeting = Arc::new(Rendezvous::new());
        let mut receives: Vec<Recv> = (0..3).map(|_| meeting.recv(key("a"))).collect();
        receives.iter_mut().for_each(|recv| assert!(poll(recv).is_pending()));
        meeting.send(&key("a"), item(1)).unwrap();
        meeting.send(&key("a"), item(2)).unwrap();
        drop(receives.remove(0));
        assert_eq!(poll(&mut receives[1]), Poll::Ready(Ok(2)));
        assert_eq!(poll(&mut receives[0]), Poll::Ready(Ok(1)));
        let mut last = meeting.recv(key("a"));
        assert!(poll(&mut last).is_pending());
        meeting.send(&key("a"), item(3)).unwrap();
        drop(last);
        assert_eq!(meeting.waiting(), (1, 0));
        assert_eq!(poll(&mut meeting.recv(key("a"))), Poll::Ready(Ok(3)));
        drop(receives);
        assert!(meeting.state.lock().queues.is_empty());
    }

    struct Count(AtomicUsize);

    impl alloc::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A send wakes the one that waits for it; an abort wakes all, and sticks.
    #[test]
    fn wakes_and_aborts() {
        let meeting = Arc::new(Rendezvous::new());
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(count.clone());
        let mut cx = Context::from_waker(&waker);
        let mut receives: Vec<Recv> = ["a", "a", "b"].map(|name| meeting.recv(key(name))).into();
        receives.iter_mut().for_each(|recv| assert!(Pin::new(recv).poll(&mut cx).is_pending()));
        meeting.send(&key("a"), item(1)).unwrap();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        meeting.abort(Status::unavailable("gone"));
        meeting.abort(Status::internal("later"));
        assert_eq!(count.0.load(Ordering::Relaxed), 3);
        receives.iter_mut().for_each(|recv| assert_eq!(poll(recv), Poll::Ready(Err(Code::Unavailable))));
        assert_eq!(poll(&mut meeting.recv(key("c"))), Poll::Ready(Err(Code::Unavailable)));
        assert_eq!(meeting.send(&key("c"), item(1)).unwrap_err().code(), Code::Unavailable);
        assert_eq!(meeting.try_recv(&key("a")).unwrap_err().code(), Code::Unavailable);
        assert_eq!(meeting.aborted().unwrap().code(), Code::Unavailable);
    }
}
