//! Partial runs: a step that is fed and fetched in pieces, by several requests.
//!
//! The step lives between requests; whoever has a request polls it. Two requests at once take turns: the step is taken
//! out of its place while it is polled, so no lock is held over a kernel, and one waker that wakes all requests stands
//! for them towards the step.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use hashbrown::HashMap;

use super::running::Place;
use super::session::SessionState;
use super::signature::{RunSignature, canonical_name};
use crate::Status;
use crate::host::{Host, Time};
use crate::service::RunStepResponse;
use crate::step::{Step, StepControl};
use crate::sync::Mutex;
use crate::tensor::Tensor;

/// The partial runs of a session that are set up and not finished.
pub(super) struct PartialRuns {
    most: usize,
    state: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    next: u64,
    runs: HashMap<String, Arc<PartialRun>>,
}

/// One partial run.
///
/// | state | how it goes on |
/// | --- | --- |
/// | waiting for requests: `step` is there | a request takes the step and polls it |
/// | polled: `step` is out | the poller puts it back, or ends the run |
/// | ended: `ended` is set | for good: an error, a request given up, or the session's end |
pub(super) struct PartialRun {
    signature: Arc<RunSignature>,
    control: Arc<StepControl>,
    state: Mutex<PartialState>,
    wakers: Arc<RequestWakers>,
}

struct PartialState {
    step: Option<Step>,
    /// Feeds that came and were not given to the step yet.
    inbox: Vec<(usize, Tensor)>,
    fed: Vec<bool>,
    fetched: Vec<bool>,
    /// Somebody wanted the step while it was out.
    wanted: bool,
    ended: Option<Status>,
}

impl PartialRuns {
    pub(super) fn new(most: usize) -> PartialRuns {
        PartialRuns { most, state: Mutex::default() }
    }

    /// Enters a run whose step has not begun; answers its handle, a number counted by the session.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when too many are not finished.
    pub(super) fn insert(&self, signature: Arc<RunSignature>, step: Step) -> Result<String, Status> {
        let run = Arc::new(PartialRun {
            control: step.control(),
            state: Mutex::new(PartialState {
                step: Some(step),
                inbox: Vec::new(),
                fed: alloc::vec![false; signature.spec.feeds.len()],
                fetched: alloc::vec![false; signature.spec.fetches.len()],
                wanted: false,
                ended: None,
            }),
            signature,
            wakers: Arc::default(),
        });
        let mut table = self.state.lock();
        if table.runs.len() >= self.most {
            return Err(Status::resource_exhausted(format_args!(
                "the session has {} partial runs that are not finished, as many as it may",
                self.most
            )));
        }
        let handle = table.next.to_string();
        table.next += 1;
        table.runs.insert(handle.clone(), run);
        Ok(handle)
    }

    /// The run of a handle.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when there is none, or it is finished.
    pub(super) fn find(&self, handle: &str) -> Result<Arc<PartialRun>, Status> {
        self.state.lock().runs.get(handle).cloned().ok_or_else(|| {
            Status::invalid_argument(format_args!(
                "Must run PartialRunSetup before performing partial runs: there is no partial run '{}', or it is over",
                handle.escape_debug()
            ))
        })
    }

    fn remove(&self, handle: &str) {
        let gone = self.state.lock().runs.remove(handle);
        drop(gone);
    }

    /// Forgets all runs. Requests in flight go on until their step is cancelled.
    pub(super) fn clear(&self) {
        let gone = core::mem::take(&mut self.state.lock().runs);
        drop(gone);
    }

    /// The number of unfinished runs.
    pub(super) fn len(&self) -> usize {
        self.state.lock().runs.len()
    }
}

impl PartialRun {
    /// Checks a request and marks what it feeds and fetches as used. Answers the fetches as indices of the program, and
    /// whether the request is the last one.
    ///
    /// # Errors
    /// INVALID_ARGUMENT, naming it, for a feed or fetch that was not set up or is used already, and for a fetch that
    /// depends on a feed that has not come. Nothing is marked then and the run stays usable.
    pub(super) fn admit(&self, feeds: Vec<(String, Tensor)>, fetches: &[String]) -> Result<(Vec<usize>, bool), Status> {
        let spec = &self.signature.spec;
        let mut state = self.state.lock();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        let mut fed = state.fed.clone();
        let mut fetched = state.fetched.clone();
        let mut arrived = Vec::with_capacity(feeds.len());
        for (name, value) in feeds {
            let at = spec.feeds.binary_search(&canonical_name(&name)).ok();
            let Some((at, fed)) = at.and_then(|at| Some((at, fed.get_mut(at)?))) else {
                return Err(Status::invalid_argument(format_args!(
                    "The feed {} was not specified in partial_run_setup.",
                    name.escape_debug()
                )));
            };
            if core::mem::replace(fed, true) {
                return Err(Status::invalid_argument(format_args!("The feed {name} has already been fed.")));
            }
            arrived.push((at, value));
        }
        let mut indices = Vec::with_capacity(fetches.len());
        for name in fetches {
            let at = spec.fetches.binary_search(&canonical_name(name)).ok();
            let Some((at, done)) = at.and_then(|at| Some((at, fetched.get_mut(at)?))) else {
                return Err(Status::invalid_argument(format_args!(
                    "The fetch {} was not specified in partial_run_setup.",
                    name.escape_debug()
                )));
            };
            if core::mem::replace(done, true) && !indices.contains(&at) {
                return Err(Status::invalid_argument(format_args!("The fetch {name} has already been fetched.")));
            }
            let missing = self.signature.depends_on.get(at).into_iter().flatten();
            let missing = missing.copied().find(|&feed| !fed.get(feed).copied().unwrap_or(false));
            if let Some(feed) = missing.and_then(|feed| spec.feeds.get(feed)) {
                return Err(Status::invalid_argument(format_args!(
                    "Fetch {name} can't be computed from the feeds that have been fed so far: it needs {feed}"
                )));
            }
            indices.push(at);
        }
        let last = fed.iter().chain(&fetched).all(|&used| used);
        state.fed = fed;
        state.fetched = fetched;
        state.inbox.extend(arrived);
        Ok((indices, last))
    }

    pub(super) fn control(&self) -> &Arc<StepControl> {
        &self.control
    }
}

/// A request that goes on with a partial run: poll it to the end. Dropped before, it ends the run.
pub struct ContinuePartial {
    session: Arc<SessionState>,
    run: Arc<PartialRun>,
    handle: String,
    /// The fetches, as the request names them and as indices of the program.
    names: Vec<String>,
    indices: Vec<usize>,
    last: bool,
    deadline: Option<Time>,
    host: Arc<dyn Host>,
    place: Place,
    number: usize,
    begun: bool,
    finished: bool,
}

/// What a request asks of a partial run that admitted it.
pub(super) struct PartialRequest {
    pub(super) handle: String,
    pub(super) names: Vec<String>,
    pub(super) indices: Vec<usize>,
    pub(super) last: bool,
    pub(super) deadline: Option<Time>,
}

impl ContinuePartial {
    pub(super) fn new(
        session: Arc<SessionState>,
        run: Arc<PartialRun>,
        request: PartialRequest,
        host: Arc<dyn Host>,
        place: Place,
    ) -> ContinuePartial {
        let PartialRequest { handle, names, indices, last, deadline } = request;
        let number = run.wakers.enter();
        ContinuePartial {
            session,
            run,
            handle,
            names,
            indices,
            last,
            deadline,
            host,
            place,
            number,
            begun: false,
            finished: false,
        }
    }

    /// Runs what can run; ready with the fetched tensors, or the error that ended the run.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<RunStepResponse, Status>> {
        self.run.wakers.set(self.number, cx.waker());
        if let Some(deadline) = self.deadline {
            if self.host.now().is_some_and(|now| now >= deadline) {
                return Poll::Ready(
                    self.fail(Status::deadline_exceeded("the partial run took longer than its timeout")),
                );
            }
            self.host.wake_at(deadline, cx.waker());
        }
        let mut state = self.run.state.lock();
        if let Some(ended) = state.ended.clone() {
            drop(state);
            return Poll::Ready(self.fail(ended));
        }
        let Some(mut step) = state.step.take() else {
            state.wanted = true;
            return Poll::Pending;
        };
        let inbox = core::mem::take(&mut state.inbox);
        drop(state);
        let mut outcome = inbox.into_iter().try_for_each(|(at, value)| step.feed(at, value)).map(|()| None);
        if outcome.is_ok() {
            let waker = Waker::from(self.run.wakers.clone());
            let mut cx = Context::from_waker(&waker);
            let mut polled = step.poll_fetches(&mut cx, &self.indices);
            if self.last && matches!(polled, Poll::Ready(Ok(()))) {
                polled = Pin::new(&mut step).poll(&mut cx);
            }
            outcome = match polled {
                Poll::Ready(Ok(())) => self.take(&mut step).map(Some),
                Poll::Ready(Err(error)) => Err(error),
                Poll::Pending => Ok(None),
            };
        }
        match outcome {
            Ok(None) => {
                self.put_back(step);
                Poll::Pending
            }
            Ok(Some(tensors)) => {
                // Nobody new finds a run whose last request is done, but others that were admitted before may still have
                // to take what they asked for; the step goes with the last of them.
                if self.last {
                    self.session.partial_runs.remove(&self.handle);
                }
                self.put_back(step);
                if self.last {
                    self.run.wakers.wake_all(Some(self.number));
                }
                self.finished = true;
                Poll::Ready(Ok(RunStepResponse { tensors, ..RunStepResponse::default() }))
            }
            Err(error) => Poll::Ready(self.fail(error)),
        }
    }

    fn take(&mut self, step: &mut Step) -> Result<Vec<(String, Tensor)>, Status> {
        let mut tensors: Vec<(String, Tensor)> = Vec::with_capacity(self.names.len());
        for (i, (name, &at)) in self.names.iter().zip(&self.indices).enumerate() {
            let before = self.indices.iter().take(i).position(|&earlier| earlier == at);
            if self.names.iter().take(i).any(|earlier| earlier == name) {
                continue;
            }
            let known = before.and_then(|b| self.names.get(b));
            let known =
                known.and_then(|known| tensors.iter().find(|(n, _)| n == known)).map(|(_, value)| value.clone());
            let value = match known {
                Some(value) => value,
                None => step.take_fetch(at)?,
            };
            tensors.push((name.clone(), value));
        }
        Ok(tensors)
    }

    /// Gives the step back, and the others their turn: at first, when this request's feeds may have moved them on, and
    /// when they asked meanwhile.
    fn put_back(&mut self, step: Step) {
        let mut state = self.run.state.lock();
        state.step = Some(step);
        let wanted = core::mem::take(&mut state.wanted);
        drop(state);
        if wanted || !self.begun {
            self.run.wakers.wake_all(Some(self.number));
        }
        self.begun = true;
    }

    /// Ends the run with an error; answers it.
    fn fail<T>(&mut self, error: Status) -> Result<T, Status> {
        self.end(error.clone());
        self.finished = true;
        Err(error)
    }

    fn end(&self, why: Status) {
        self.session.partial_runs.remove(&self.handle);
        let mut state = self.run.state.lock();
        let step = state.step.take();
        let first = state.ended.is_none();
        if first {
            state.ended = Some(why);
        }
        drop(state);
        drop(step);
        if first {
            self.run.wakers.wake_all(Some(self.number));
        }
    }
}

impl Drop for ContinuePartial {
    fn drop(&mut self) {
        if !self.finished {
            let why = Status::cancelled("A request of the partial run was given up");
            self.run.control.cancel(why.clone());
            self.end(why);
        }
        self.run.wakers.leave(self.number);
        // A request that was ready may have been the one that another waited behind.
        self.run.wakers.wake_all(Some(self.number));
        self.session.running.end(&self.place, self.host.now());
    }
}

/// The tasks of all requests of one partial run; as a waker it wakes them all.
#[derive(Default)]
struct RequestWakers(Mutex<Wakers>);

#[derive(Default)]
struct Wakers {
    next: usize,
    tasks: Vec<(usize, Option<Waker>)>,
}

impl RequestWakers {
    fn enter(&self) -> usize {
        let mut wakers = self.0.lock();
        let number = wakers.next;
        wakers.next = wakers.next.wrapping_add(1);
        wakers.tasks.push((number, None));
        number
    }

    fn set(&self, number: usize, waker: &Waker) {
        let mut wakers = self.0.lock();
        if let Some((_, known)) = wakers.tasks.iter_mut().find(|(n, _)| *n == number) {
            match known {
                Some(known) => known.clone_from(waker),
                None => *known = Some(waker.clone()),
            }
        }
    }

    fn leave(&self, number: usize) {
        let mut wakers = self.0.lock();
        let at = wakers.tasks.iter().position(|(n, _)| *n == number);
        let gone = at.map(|at| wakers.tasks.swap_remove(at));
        drop(wakers);
        drop(gone);
    }

    fn wake_all(&self, but: Option<usize>) {
        let wakers = self.0.lock();
        let tasks: Vec<Waker> =
            wakers.tasks.iter().filter(|(n, _)| Some(*n) != but).filter_map(|(_, waker)| waker.clone()).collect();
        drop(wakers);
        for waker in tasks {
            waker.wake();
        }
    }
}

impl Wake for RequestWakers {
    fn wake(self: Arc<Self>) {
        self.wake_all(None);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all(None);
    }
}
