//! One running program, as a `Future` that its caller polls.
//!
//! A step runs ready blocks, kernel after kernel, on the polling thread; it yields after a while, stops between kernels
//! when it is cancelled or late, and needs nothing but a waker. In the steady state, at shapes seen before, it allocates
//! nothing: [`Step::reset`] keeps all memory for the next run.

mod control;
mod deliver;
mod run;
mod state;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

pub use control::StepControl;

use crate::Status;
use crate::host::{Host, Time};
use crate::program::Program;
use crate::service::{DeviceStats, NodeStats};
use crate::tensor::{Budget, Tensor};
use state::State;

/// What a step is given beside its program.
#[derive(Clone)]
pub struct StepOptions {
    /// The host.
    pub host: Arc<dyn Host>,
    /// The memory limit; `None` for none.
    pub budget: Option<Budget>,
    /// When the step fails with DEADLINE_EXCEEDED; `None` for never.
    pub deadline: Option<Time>,
    /// The step's number.
    pub step_id: u64,
    /// Whether to measure every node.
    pub trace: bool,
}

/// A step. Feed it, await it, take the fetches.
pub struct Step {
    program: Arc<Program>,
    options: StepOptions,
    control: Arc<StepControl>,
    /// Boxed, so that it goes to the program's idle states and back without being moved; always there but in drop.
    state: Box<State>,
    /// The final outcome, once there is one.
    done: Option<Result<(), Status>>,
    /// How many feeds have come, to know when a partial run is complete.
    fed: Vec<bool>,
}

impl Step {
    /// A step of `program` that has not begun.
    pub fn new(program: Arc<Program>, options: StepOptions) -> Step {
        let state = match program.idle.take::<State>() {
            Some(mut state) => {
                state.reset(&program);
                state
            }
            None => Box::new(State::new(&program)),
        };
        let fed = alloc::vec![false; program.feeds.len()];
        Step { program, options, control: Arc::new(StepControl::new()), state, done: None, fed }
    }

    /// Makes the step ready to run again, keeping its memory. After an error all state is made anew.
    pub fn reset(&mut self, deadline: Option<Time>, step_id: u64) {
        let failed = !matches!(self.done, Some(Ok(())));
        if failed && (self.done.is_some() || self.state.has_begun()) {
            *self.state = State::new(&self.program);
            self.control = Arc::new(StepControl::new());
        } else {
            self.state.reset(&self.program);
        }
        self.done = None;
        self.fed.fill(false);
        self.options.deadline = deadline;
        self.options.step_id = step_id;
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Gives feed `index` (in the order of the run's feeds) its value.
    ///
    /// # Errors
    /// INTERNAL when the dtype is not the fed tensor's (as TensorFlow answers); INVALID_ARGUMENT for an index out of
    /// range or a feed given twice.
    pub fn feed(&mut self, index: usize, value: Tensor) -> Result<(), Status> {
        let (Some(feed), Some(fed)) = (self.program.feeds.get(index), self.fed.get_mut(index)) else {
            return Err(Status::invalid_argument(format_args!("feed {index} of a run with {}", self.fed.len())));
        };
        if *fed {
            return Err(Status::invalid_argument(format_args!("{} was already fed", feed.name)));
        }
        if value.dtype() != feed.dtype {
            return Err(Status::internal(format_args!(
                "Output 0 of type {} does not match declared output type {} for feed {}",
                value.dtype(),
                feed.dtype,
                feed.name
            )));
        }
        *fed = true;
        self.state.feed(&self.program, feed.slot, feed.block, value);
        Ok(())
    }

    /// The handle that cancels the step from anywhere.
    pub fn control(&self) -> Arc<StepControl> {
        self.control.clone()
    }

    /// Takes the value of fetch `index` (in the order of the run's fetches).
    ///
    /// # Errors
    /// INTERNAL when it was not computed: it is dead, the untaken side of a conditional.
    pub fn take_fetch(&mut self, index: usize) -> Result<Tensor, Status> {
        match self.state.fetches.get_mut(index).and_then(Option::take) {
            Some(value) => Ok(value),
            None => {
                let name = self.program.fetches.get(index).map_or("?", |f| f.name.as_str());
                Err(Status::internal(format_args!("Retval for {name} was not computed: the tensor is dead")))
            }
        }
    }

    /// Gives memory back that left as a fetch, for the next run to use; not kept when others hold it as well.
    pub fn give_back(&mut self, value: Tensor) {
        let scratch = &mut self.state.scratch;
        if value.num_bytes() > 8 && value.is_unique() && scratch.len() < crate::ops::SCRATCH_KEPT {
            scratch.push(value);
        }
    }

    /// Waits until the given fetches of a partial run are there, running what can run.
    pub fn poll_fetches(&mut self, cx: &mut Context<'_>, indices: &[usize]) -> Poll<Result<(), Status>> {
        let there = |step: &Step| indices.iter().all(|&i| step.state.fetches.get(i).is_some_and(Option::is_some));
        if let Some(done) = &self.done {
            return Poll::Ready(done.clone());
        }
        let (polled, waits) = self.advance(cx);
        match polled {
            Poll::Ready(Ok(())) if there(self) => Poll::Ready(Ok(())),
            // What still waits goes on when the next request comes.
            Poll::Pending if waits && there(self) => Poll::Ready(Ok(())),
            // Everything that can run has run, and waits for feeds.
            Poll::Ready(Ok(())) => {
                let missing = indices.iter().find(|&&i| self.state.fetches.get(i).is_none_or(Option::is_none));
                let name = missing.and_then(|&i| self.program.fetches.get(i)).map_or("?", |f| f.name.as_str());
                let error = if self.fed.iter().all(|&fed| fed) {
                    Status::internal(format_args!("Retval for {name} was not computed: the tensor is dead"))
                } else {
                    Status::invalid_argument(format_args!("{name} depends on tensors that were not fed yet"))
                };
                self.end(Err(error.clone()));
                Poll::Ready(Err(error))
            }
            Poll::Ready(Err(error)) => {
                self.end(Err(error.clone()));
                Poll::Ready(Err(error))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// The measurements so far, by device; takes them out.
    pub fn stats(&mut self) -> Vec<DeviceStats> {
        let mut devices: Vec<DeviceStats> = Vec::new();
        for sample in core::mem::take(&mut self.state.samples) {
            let Some(node) = self.program.nodes.get(sample.node as usize) else { continue };
            let name = self.program.devices.get(node.device as usize).map_or("", |d| d);
            let at = match devices.iter().position(|d| d.device == name) {
                Some(at) => at,
                None => {
                    devices.push(DeviceStats { device: name.into(), nodes: Vec::new() });
                    devices.len() - 1
                }
            };
            devices[at].nodes.push(NodeStats {
                name: (*node.name).into(),
                op: node.op.clone(),
                start_micros: sample.start_micros,
                run_nanos: sample.nanos,
                outputs: sample.outputs,
            });
        }
        devices
    }

    /// Runs until nothing is ready (Ok), an error, or, pending, the time to yield or to wait; whether it is to wait.
    fn advance(&mut self, cx: &mut Context<'_>) -> (Poll<Result<(), Status>>, bool) {
        match run::run(&self.program, &self.options, &self.control, &mut self.state, cx) {
            Ok(run::Progress::Idle) => (Poll::Ready(Ok(())), false),
            Ok(run::Progress::Yield) => {
                self.control.register(cx.waker());
                cx.waker().wake_by_ref();
                (Poll::Pending, false)
            }
            Ok(run::Progress::Wait) => {
                self.control.register(cx.waker());
                // Cancelled before the waker was there, the step would sleep on.
                if let Some(reason) = self.control.reason() {
                    return (Poll::Ready(Err(reason)), false);
                }
                if let Some(deadline) = self.options.deadline {
                    self.options.host.wake_at(deadline, cx.waker());
                }
                (Poll::Pending, true)
            }
            Err(error) => (Poll::Ready(Err(error)), false),
        }
    }

    /// Gives up what kernels wait for: the step will not be polled again before it is reset.
    pub(crate) fn give_up(&mut self) {
        self.state.give_up();
    }

    fn end(&mut self, result: Result<(), Status>) {
        self.state.end(&self.program);
        self.done = Some(result);
    }

    /// Runs to the end on this thread, without yielding to anyone: for callers that have no executor. Where kernels wait
    /// the thread sleeps.
    ///
    /// # Errors
    /// That of the first failing kernel; CANCELLED; DEADLINE_EXCEEDED; UNIMPLEMENTED when a kernel waits and the host has
    /// no way to put a thread to sleep.
    pub fn run_to_end(&mut self) -> Result<(), Status> {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match run::run(&self.program, &self.options, &self.control, &mut self.state, &mut cx) {
                Ok(run::Progress::Yield) => {}
                Ok(run::Progress::Idle) => {
                    self.end(Ok(()));
                    return Ok(());
                }
                Ok(run::Progress::Wait) => return self.sleep_to_end(),
                Err(error) => {
                    self.end(Err(error.clone()));
                    return Err(error);
                }
            }
        }
    }

    fn sleep_to_end(&mut self) -> Result<(), Status> {
        let host = self.options.host.clone();
        let mut outcome = None;
        host.block(&mut |cx| match Pin::new(&mut *self).poll(cx) {
            Poll::Ready(result) => {
                outcome = Some(result);
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        });
        if let Some(outcome) = outcome {
            return outcome;
        }
        let waits = self.state.waits.first().map(|wait| wait.position.instruction);
        let instruction = waits.and_then(|at| self.program.instructions.get(at as usize));
        let node = instruction.and_then(|i| self.program.nodes.get(i.node as usize));
        let name = node.map_or("?", |node| &node.name);
        let error =
            Status::unimplemented("the op waits, and the host cannot put the thread to sleep: poll the run instead");
        let error = error.at_node(name);
        self.end(Err(error.clone()));
        Err(error)
    }
}

impl Drop for Step {
    /// A step that ended well leaves its memory to the next step of the program.
    fn drop(&mut self) {
        if matches!(self.done, Some(Ok(()))) {
            let mut state = core::mem::replace(&mut self.state, Box::new(State::empty()));
            state.fetches.iter_mut().for_each(|fetch| *fetch = None);
            self.program.idle.put(state);
        }
    }
}

impl Future for Step {
    type Output = Result<(), Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(done) = &self.done {
            return Poll::Ready(done.clone());
        }
        let result = match self.advance(cx).0 {
            Poll::Ready(result) => result,
            Poll::Pending => return Poll::Pending,
        };
        self.end(result.clone());
        Poll::Ready(result)
    }
}
