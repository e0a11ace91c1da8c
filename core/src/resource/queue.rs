//! Queues of tuples: what producers and consumers of several steps share, and in which order they are served.
//!
//! Whoever cannot be served at once leaves an attempt, in the order of arrival and by side. Each change tries the first
//! attempts of both sides until nothing moves any more; whose attempt is over is woken after the lock is free again.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker};

use super::heap::Heap;
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::random::{Philox, Words};
use crate::sync::Mutex;
use crate::tensor::{Budget, Charge, DType, Resource, Tensor};

/// The kinds of queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// First in, first out.
    Fifo,
    /// First in, first out; batches are padded where a shape leaves dimensions open.
    Padding,
    /// A random element leaves.
    Shuffle,
    /// The element of the smallest number leaves, which its first component tells.
    Priority,
}

impl QueueKind {
    /// The name of the op that makes such queues.
    pub fn name(self) -> &'static str {
        match self {
            QueueKind::Fifo => "FIFOQueue",
            QueueKind::Padding => "PaddingFIFOQueue",
            QueueKind::Shuffle => "RandomShuffleQueue",
            QueueKind::Priority => "PriorityQueue",
        }
    }
}

/// What a queue is declared as; nodes that share one must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// The kind.
    pub kind: QueueKind,
    /// The most elements; `None` for any number.
    pub capacity: Option<usize>,
    /// The dtypes of an element's components.
    pub dtypes: Vec<DType>,
    /// Their shapes; empty when they may be any.
    pub shapes: Vec<PartialShape>,
    /// Elements that stay, so that leaving ones are chosen among many (of a shuffling queue, while open).
    pub min_after_dequeue: usize,
    /// Seeds of a shuffling queue, as declared.
    pub seeds: [i64; 2],
}

/// An element.
pub struct Tuple {
    /// The components.
    pub values: Box<[Tensor]>,
    /// What the tuple itself takes.
    _charge: Option<Charge>,
}

impl Tuple {
    /// An element of these components; its own memory is charged to `budget`.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when the budget is used up.
    pub fn new(values: Box<[Tensor]>, budget: Option<&Budget>) -> Result<Tuple, Status> {
        let bytes = size_of::<Tuple>() + size_of_val(&*values);
        let charge = budget.map(|budget| budget.charge(bytes)).transpose()?;
        Ok(Tuple { values, _charge: charge })
    }
}

/// A queue.
pub struct Queue {
    name: Arc<str>,
    spec: QueueSpec,
    state: Mutex<State>,
}

struct State {
    elements: Elements,
    closed: bool,
    enqueues: VecDeque<Attempt>,
    dequeues: VecDeque<Attempt>,
    next: u64,
}

enum Elements {
    InOrder(VecDeque<Tuple>),
    Shuffled(Vec<Tuple>, Words),
    Ranked(Heap<Tuple>),
}

/// Something that could not be done at once.
struct Attempt {
    number: u64,
    work: Work,
    cell: Arc<Cell>,
}

enum Work {
    /// Puts elements in, one after the other.
    Put(VecDeque<Tuple>),
    /// Closes the queue after what came before.
    Close,
    /// Takes `wanted` more elements beside those it has; fewer at the end if `small`.
    Take { wanted: usize, got: Vec<Tuple>, small: bool },
}

/// Where an attempt's outcome is left.
#[derive(Default)]
struct Cell(Mutex<Outcome>);

#[derive(Default)]
struct Outcome {
    done: Option<Result<Vec<Tuple>, Status>>,
    waker: Option<Waker>,
}

/// How far trying an attempt came.
enum Progress {
    None,
    Some,
    Done(Result<Vec<Tuple>, Status>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Enqueue,
    Dequeue,
}

/// An attempt of a waiting kernel. Dropped before it is over, it is given up.
pub struct QueueTicket {
    queue: Arc<Queue>,
    side: Side,
    number: u64,
    cell: Arc<Cell>,
}

impl QueueTicket {
    /// Ready with the elements that a taking attempt got (none for others), or its error.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Vec<Tuple>, Status>> {
        let mut outcome = self.cell.0.lock();
        if let Some(done) = outcome.done.take() {
            return Poll::Ready(done);
        }
        match &mut outcome.waker {
            Some(known) => known.clone_from(cx.waker()),
            None => outcome.waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for QueueTicket {
    /// As in TensorFlow, elements that the attempt had already taken are gone with it.
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        let attempts = state.side(self.side);
        let at = attempts.iter().position(|attempt| attempt.number == self.number);
        let gone = at.and_then(|at| attempts.remove(at));
        let wakers = if gone.is_some() { self.queue.flush(&mut state) } else { Vec::new() };
        drop(state);
        drop(gone);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// What came of asking a queue for something.
pub enum Asked {
    /// It is done: the elements taken.
    Done(Vec<Tuple>),
    /// It must wait.
    Waits(QueueTicket),
}

impl State {
    fn side(&mut self, side: Side) -> &mut VecDeque<Attempt> {
        match side {
            Side::Enqueue => &mut self.enqueues,
            Side::Dequeue => &mut self.dequeues,
        }
    }
}

impl Elements {
    fn len(&self) -> usize {
        match self {
            Elements::InOrder(elements) => elements.len(),
            Elements::Shuffled(elements, _) => elements.len(),
            Elements::Ranked(elements) => elements.len(),
        }
    }

    fn put(&mut self, element: Tuple) {
        match self {
            Elements::InOrder(elements) => elements.push_back(element),
            Elements::Shuffled(elements, _) => elements.push(element),
            Elements::Ranked(elements) => {
                let rank = element.values.first().and_then(|t| t.to_scalar::<i64>().ok()).unwrap_or_default();
                elements.push(rank, element);
            }
        }
    }

    fn take(&mut self) -> Option<Tuple> {
        match self {
            Elements::InOrder(elements) => elements.pop_front(),
            Elements::Shuffled(elements, words) if !elements.is_empty() => {
                let at = words.word() as usize % elements.len();
                Some(elements.swap_remove(at))
            }
            Elements::Shuffled(..) => None,
            Elements::Ranked(elements) => elements.pop(),
        }
    }

    /// Takes elements back that were taken for an attempt that failed.
    fn restore(&mut self, taken: Vec<Tuple>) {
        for element in taken.into_iter().rev() {
            if let Elements::InOrder(elements) = self {
                elements.push_front(element);
            } else {
                self.put(element);
            }
        }
    }
}

impl Queue {
    /// An empty queue. A shuffling queue without seeds draws from `entropy`.
    pub fn new(name: &str, spec: QueueSpec, entropy: [i64; 2]) -> Queue {
        let seeds = if spec.seeds == [0, 0] { entropy } else { spec.seeds };
        let elements = match spec.kind {
            QueueKind::Fifo | QueueKind::Padding => Elements::InOrder(VecDeque::new()),
            QueueKind::Shuffle => Elements::Shuffled(Vec::new(), Words::new(Philox::new(seeds[0], seeds[1]))),
            QueueKind::Priority => Elements::Ranked(Heap::default()),
        };
        let (enqueues, dequeues) = (VecDeque::new(), VecDeque::new());
        let state = State { elements, closed: false, enqueues, dequeues, next: 0 };
        Queue { name: name.into(), spec, state: Mutex::new(state) }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The declaration.
    pub fn spec(&self) -> &QueueSpec {
        &self.spec
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        self.state.lock().elements.len()
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Puts elements in, as room comes.
    ///
    /// # Errors
    /// CANCELLED when the queue is closed.
    pub fn enqueue(self: &Arc<Self>, elements: VecDeque<Tuple>) -> Result<Asked, Status> {
        self.ask(Side::Enqueue, Work::Put(elements))
    }

    /// Takes `count` elements, at least one; with `small` as few as one when the queue is closed.
    ///
    /// # Errors
    /// OUT_OF_RANGE when the queue is closed and has too few.
    pub fn dequeue(self: &Arc<Self>, count: usize, small: bool) -> Result<Asked, Status> {
        self.ask(Side::Dequeue, Work::Take { wanted: count, got: Vec::new(), small })
    }

    /// Closes the queue after the enqueues that wait.
    ///
    /// # Errors
    /// CANCELLED when it is closed already.
    pub fn close(self: &Arc<Self>) -> Result<Asked, Status> {
        self.ask(Side::Enqueue, Work::Close)
    }

    /// Closes the queue at once; enqueues that wait end with CANCELLED.
    pub fn close_and_cancel(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let mut wakers = Vec::new();
        let cancelled = core::mem::take(&mut state.enqueues);
        for attempt in &cancelled {
            wakers.extend(attempt.cell.finish(Err(Status::cancelled("Enqueue operation was cancelled"))));
        }
        wakers.extend(self.flush(&mut state));
        drop(state);
        drop(cancelled);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn ask(self: &Arc<Self>, side: Side, work: Work) -> Result<Asked, Status> {
        let cell = Arc::new(Cell::default());
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.side(side).push_back(Attempt { number, work, cell: cell.clone() });
        let wakers = self.flush(&mut state);
        let done = cell.0.lock().done.take();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        match done {
            Some(done) => done.map(Asked::Done),
            None => Ok(Asked::Waits(QueueTicket { queue: self.clone(), side, number, cell })),
        }
    }

    /// Tries the first attempts of both sides until nothing moves.
    fn flush(&self, state: &mut State) -> Vec<Waker> {
        let mut wakers = Vec::new();
        loop {
            let mut changed = self.flush_side(state, Side::Enqueue, &mut wakers);
            changed |= self.flush_side(state, Side::Dequeue, &mut wakers);
            if !changed {
                return wakers;
            }
        }
    }

    fn flush_side(&self, state: &mut State, side: Side, wakers: &mut Vec<Waker>) -> bool {
        let mut changed = false;
        while let Some(mut first) = state.side(side).pop_front() {
            match self.try_attempt(state, &mut first.work) {
                Progress::Done(result) => {
                    changed = true;
                    wakers.extend(first.cell.finish(result));
                }
                progress => {
                    state.side(side).push_front(first);
                    return changed || matches!(progress, Progress::Some);
                }
            }
        }
        changed
    }

    fn try_attempt(&self, state: &mut State, work: &mut Work) -> Progress {
        match work {
            Work::Put(waiting) => {
                if state.closed {
                    let error = format_args!("{} '{}' is closed.", self.spec.kind.name(), self.name);
                    return Progress::Done(Err(Status::cancelled(error)));
                }
                let mut progress = Progress::None;
                while self.spec.capacity.is_none_or(|capacity| state.elements.len() < capacity) {
                    let Some(element) = waiting.pop_front() else { return Progress::Done(Ok(Vec::new())) };
                    state.elements.put(element);
                    progress = Progress::Some;
                }
                if waiting.is_empty() { Progress::Done(Ok(Vec::new())) } else { progress }
            }
            Work::Close if state.closed => {
                Progress::Done(Err(Status::cancelled(format_args!("Queue '{}' is already closed.", self.name))))
            }
            Work::Close => {
                state.closed = true;
                Progress::Done(Ok(Vec::new()))
            }
            Work::Take { wanted, got, small } => self.try_take(state, wanted, got, *small),
        }
    }

    fn try_take(&self, state: &mut State, wanted: &mut usize, got: &mut Vec<Tuple>, small: bool) -> Progress {
        let size = state.elements.len();
        let insufficient = |wanted: usize| {
            Progress::Done(Err(Status::out_of_range(format_args!(
                "{} '{}' is closed and has insufficient elements (requested {wanted}, current size {size})",
                self.spec.kind.name(),
                self.name
            ))))
        };
        let ranked = self.spec.kind == QueueKind::Priority;
        // As in TensorFlow, a ranked queue that is closed gives no batch smaller than asked, and loses what it had for it.
        if ranked && state.closed && (size == 0 || (!small && size < *wanted)) {
            return insufficient(*wanted);
        }
        if !ranked && state.closed && size < *wanted {
            state.elements.restore(core::mem::take(got));
            match state.elements.len() {
                0 => return insufficient(*wanted),
                left if small => *wanted = left,
                _ => return insufficient(*wanted),
            }
        }
        // A ranked queue gives batches in order, so all of one must be there.
        if ranked && size < *wanted && !(state.closed && small) {
            return Progress::None;
        }
        let kept = if state.closed { 0 } else { self.spec.min_after_dequeue };
        let mut progress = Progress::None;
        while state.elements.len() > kept {
            let Some(element) = state.elements.take() else { break };
            got.push(element);
            *wanted -= 1;
            progress = Progress::Some;
            if *wanted == 0 {
                return Progress::Done(Ok(core::mem::take(got)));
            }
        }
        progress
    }
}

impl Cell {
    /// Leaves the outcome; whom to wake.
    fn finish(&self, result: Result<Vec<Tuple>, Status>) -> Option<Waker> {
        let mut outcome = self.0.lock();
        outcome.done = Some(result);
        outcome.waker.take()
    }
}

impl Resource for Queue {
    fn type_name(&self) -> &'static str {
        "tensorflow::QueueInterface"
    }
}

impl QueueSpec {
    /// Whether a node that declares `other` may share a queue of this declaration.
    ///
    /// # Errors
    /// INVALID_ARGUMENT naming what differs.
    pub fn check_shared(&self, name: &str, other: &QueueSpec) -> Result<(), Status> {
        let shared = |what: &str, have: &dyn core::fmt::Debug, want: &dyn core::fmt::Debug| {
            Err(Status::invalid_argument(format_args!(
                "Shared queue '{name}' has {what} {have:?} but requested {what} was {want:?}"
            )))
        };
        if self.kind != other.kind {
            return Err(Status::invalid_argument(format_args!(
                "Shared queue '{name}' has type '{}' that does not match type {}",
                self.kind.name(),
                other.kind.name()
            )));
        }
        if self.capacity != other.capacity {
            return shared("capacity", &self.capacity, &other.capacity);
        }
        if self.min_after_dequeue != other.min_after_dequeue {
            return shared("min_after_dequeue", &self.min_after_dequeue, &other.min_after_dequeue);
        }
        if self.dtypes != other.dtypes {
            return shared("component types", &self.dtypes, &other.dtypes);
        }
        let pairs = || self.shapes.iter().zip(&other.shapes);
        let same = self.shapes.len() == other.shapes.len()
            && match self.kind {
                QueueKind::Padding => pairs().all(|(a, b)| a.merge(b).is_some()),
                _ => pairs().all(|(a, b)| a == b),
            };
        if !same {
            return shared("component shapes", &shown(&self.shapes), &shown(&other.shapes));
        }
        if self.seeds != other.seeds {
            return shared("seeds", &self.seeds, &other.seeds);
        }
        Ok(())
    }
}

fn shown(shapes: &[PartialShape]) -> Vec<String> {
    shapes.iter().map(|s| alloc::format!("{s}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    fn queue(kind: QueueKind, capacity: usize) -> Arc<Queue> {
        let spec = QueueSpec {
            kind,
            capacity: Some(capacity),
            dtypes: alloc::vec![DType::Int64],
            shapes: alloc::vec![PartialShape::new(&[])],
            min_after_dequeue: 0,
            seeds: [1, 2],
        };
        Arc::new(Queue::new("q", spec, [0, 0]))
    }

    fn tuples(values: &[i64]) -> VecDeque<Tuple> {
        values.iter().map(|&v| Tuple::new([Tensor::scalar(v)].into(), None).unwrap()).collect()
    }

    fn values(tuples: &[Tuple]) -> Vec<i64> {
        tuples.iter().map(|t| t.values[0].to_scalar().unwrap()).collect()
    }

    fn poll(ticket: &mut QueueTicket) -> Poll<Result<Vec<i64>, Code>> {
        let polled = ticket.poll(&mut Context::from_waker(Waker::noop()));
        polled.map(|r| r.map(|t| values(&t)).map_err(|e| e.code()))
    }

    fn waits(asked: Result<Asked, Status>) -> QueueTicket {
        match asked.unwrap() {
            Asked::Waits(ticket) => ticket,
            Asked::Done(_) => panic!("it did not wait"),
        }
    }

    fn done(asked: Result<Asked, Status>) -> Vec<i64> {
        match asked.unwrap() {
            Asked::Done(tuples) => values(&tuples),
            Asked::Waits(_) => panic!("it waits"),
        }
    }

    /// Attempts are served in the order of arrival, a large one before a small one that came later.
    #[test]
    fn order() {
        let q = queue(QueueKind::Fifo, 10);
        let mut three = waits(q.dequeue(3, false));
        let mut one = waits(q.dequeue(1, false));
        done(q.enqueue(tuples(&[1, 2])));
        assert!(poll(&mut three).is_pending() && poll(&mut one).is_pending());
        assert_eq!(q.size(), 0);
        done(q.enqueue(tuples(&[3, 4, 5])));
        assert_eq!(poll(&mut three), Poll::Ready(Ok(alloc::vec![1, 2, 3])));
        assert_eq!(poll(&mut one), Poll::Ready(Ok(alloc::vec![4])));
        assert_eq!(done(q.dequeue(1, false)), [5]);
    }

    /// A full queue holds enqueues up until room comes, also those of many elements.
    #[test]
    fn capacity() {
        let q = queue(QueueKind::Fifo, 2);
        let mut many = waits(q.enqueue(tuples(&[1, 2, 3, 4])));
        let mut late = waits(q.enqueue(tuples(&[5])));
        assert_eq!(done(q.dequeue(2, false)), [1, 2]);
        assert_eq!(poll(&mut many), Poll::Ready(Ok(alloc::vec![])));
        assert!(poll(&mut late).is_pending());
        assert_eq!(done(q.dequeue(3, false)), [3, 4, 5]);
        assert_eq!(poll(&mut late), Poll::Ready(Ok(alloc::vec![])));
    }

    /// Closing lets those finish that came before, and ends those that can get no more.
    #[test]
    fn closing() {
        let q = queue(QueueKind::Fifo, 1);
        done(q.enqueue(tuples(&[1])));
        let mut put = waits(q.enqueue(tuples(&[2])));
        let mut close = waits(q.close());
        let mut after = waits(q.enqueue(tuples(&[3])));
        assert!(!q.is_closed());
        assert_eq!(done(q.dequeue(1, false)), [1]);
        assert_eq!(poll(&mut put), Poll::Ready(Ok(alloc::vec![])));
        assert_eq!(poll(&mut close), Poll::Ready(Ok(alloc::vec![])));
        assert_eq!(poll(&mut after), Poll::Ready(Err(Code::Cancelled)));
        assert_eq!(q.close().err().unwrap().code(), Code::Cancelled);
        assert_eq!(q.dequeue(2, false).err().unwrap().code(), Code::OutOfRange);
        assert_eq!(done(q.dequeue(2, true)), [2]);
        assert_eq!(q.dequeue(2, true).err().unwrap().code(), Code::OutOfRange);
    }

    /// A batch that was begun is put back when the queue closes, and then serves those who take less.
    #[test]
    fn restoring() {
        let q = queue(QueueKind::Fifo, 10);
        let mut three = waits(q.dequeue(3, false));
        done(q.enqueue(tuples(&[1, 2])));
        let mut up_to = waits(q.dequeue(5, true));
        done(q.close());
        assert_eq!(poll(&mut three), Poll::Ready(Err(Code::OutOfRange)));
        assert_eq!(poll(&mut up_to), Poll::Ready(Ok(alloc::vec![1, 2])));
    }

    /// Cancelling spares consumers; an attempt given up is out of the way of the next.
    #[test]
    fn giving_up() {
        let q = queue(QueueKind::Fifo, 1);
        done(q.enqueue(tuples(&[1])));
        let mut put = waits(q.enqueue(tuples(&[2])));
        q.close_and_cancel();
        q.close_and_cancel();
        assert_eq!(poll(&mut put), Poll::Ready(Err(Code::Cancelled)));
        assert_eq!(done(q.dequeue(1, false)), [1]);
        let q = queue(QueueKind::Fifo, 1);
        let two = waits(q.dequeue(2, false));
        let mut one = waits(q.dequeue(1, false));
        drop(two);
        done(q.enqueue(tuples(&[7])));
        assert_eq!(poll(&mut one), Poll::Ready(Ok(alloc::vec![7])));
    }

    /// A ranked queue gives the smallest first, and a batch only as a whole; a shuffling one gives all, in another order.
    #[test]
    fn kinds() {
        let q = queue(QueueKind::Priority, 10);
        let mut three = waits(q.dequeue(3, false));
        done(q.enqueue(tuples(&[5, 1])));
        assert_eq!(q.size(), 2);
        done(q.enqueue(tuples(&[3])));
        assert_eq!(poll(&mut three), Poll::Ready(Ok(alloc::vec![1, 3, 5])));
        let q = queue(QueueKind::Shuffle, 100);
        let all: Vec<i64> = (0..50).collect();
        done(q.enqueue(tuples(&all)));
        let mut out = done(q.dequeue(50, false));
        assert_ne!(out, all);
        out.sort_unstable();
        assert_eq!(out, all);
    }

    /// Declarations that differ cannot share a queue.
    #[test]
    fn sharing() {
        let q = queue(QueueKind::Fifo, 1);
        let spec = q.spec().clone();
        assert!(spec.check_shared("q", &spec).is_ok());
        let others = [
            QueueSpec { kind: QueueKind::Padding, ..spec.clone() },
            QueueSpec { capacity: None, ..spec.clone() },
            QueueSpec { dtypes: alloc::vec![DType::Int32], ..spec.clone() },
            QueueSpec { shapes: Vec::new(), ..spec.clone() },
            QueueSpec { seeds: [0, 1], ..spec.clone() },
        ];
        for other in others {
            assert_eq!(spec.check_shared("q", &other).unwrap_err().code(), Code::InvalidArgument);
        }
    }
}
