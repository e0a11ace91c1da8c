//! What a master asks of its driver: to answer, to run a step, to wait.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Context, Poll};

use super::latch::Latch;
use super::partial::ContinuePartial;
use super::partition_graphs::partition_graphs;
use super::running::Place;
use super::session::SessionState;
use super::signature::RunSignature;
use crate::Status;
use crate::host::{Host, Time};
use crate::program::RunSpec;
use crate::service::{Request, Response, RunCallableResponse, RunMetadata, RunOptions, RunStepResponse};
use crate::step::{Step, StepControl, StepOptions};
use crate::tensor::Tensor;

/// The outcome of handing a request to the master.
pub enum Action {
    /// The call is over: answer it.
    Reply(Result<Response, Status>),
    /// [Begin](StartStep::begin) a step, poll it to its end, then ask [`RunningStep::finish`] for the reply.
    StartStep(Box<StartStep>),
    /// [Poll](ContinuePartial::poll) to the end.
    ContinuePartial(Box<ContinuePartial>, ReplyForm),
    /// Cancel what it says, wait, then hand it to [`super::Master::resume`].
    Wait(Box<Wait>),
}

/// How errors of a call are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyForm {
    /// As the call's status.
    Status,
    /// In the body of a RunStep response (`store_errors_in_response_body`).
    Body,
}

impl ReplyForm {
    pub(super) fn of(request: &Request) -> ReplyForm {
        match request {
            Request::RunStep(run) if run.store_errors_in_response_body => ReplyForm::Body,
            _ => ReplyForm::Status,
        }
    }

    /// The reply in this form.
    pub fn reply(self, result: Result<Response, Status>) -> Result<Response, Status> {
        match (self, result) {
            (ReplyForm::Body, Err(error)) => Ok(Response::RunStep(RunStepResponse {
                error: Some((error.code(), error.message().into())),
                ..RunStepResponse::default()
            })),
            (_, result) => result,
        }
    }
}

/// A step to run.
pub struct StartStep {
    pub(super) session: Arc<SessionState>,
    pub(super) host: Arc<dyn Host>,
    pub(super) signature: StepSignature,
    pub(super) feeds: Vec<(usize, Tensor)>,
    pub(super) options: StepOptions,
    pub(super) run_options: RunOptions,
    pub(super) answer: Answer,
    pub(super) form: ReplyForm,
}

/// Where a step's signature is.
pub(super) enum StepSignature {
    Run(Arc<RunSignature>),
    Callable(Arc<super::callables::Callable>),
}

impl StepSignature {
    fn get(&self) -> &RunSignature {
        match self {
            StepSignature::Run(signature) => signature,
            StepSignature::Callable(callable) => &callable.signature,
        }
    }
}

/// Which response a step is answered with.
pub(super) enum Answer {
    /// RunStep, with the fetches' names as sent.
    Names(Vec<String>),
    /// RunCallable.
    Positions,
}

impl StartStep {
    /// Makes the step, feeds it and enters it with its session.
    ///
    /// # Errors
    /// The reply: INTERNAL for a feed of another dtype, FAILED_PRECONDITION when the session was closed meanwhile.
    pub fn begin(self) -> Result<RunningStep, Result<Response, Status>> {
        let StartStep { session, host, signature, feeds, options, run_options, answer, form } = self;
        let mut step = Step::new(signature.get().program.clone(), options);
        let fed = feeds.into_iter().try_for_each(|(at, value)| step.feed(at, value));
        match fed.and_then(|()| session.running.begin(step.control())) {
            Ok(place) => {
                let ticket = Ticket { session, host, place };
                Ok(RunningStep { step, signature, run_options, answer, form, ticket })
            }
            Err(error) => Err(form.reply(Err(error))),
        }
    }
}

/// A step that is fed and entered with its session. Dropped before its end, it is gone without trace.
pub struct RunningStep {
    /// The step, to be polled.
    pub step: Step,
    signature: StepSignature,
    run_options: RunOptions,
    answer: Answer,
    form: ReplyForm,
    ticket: Ticket,
}

/// Keeps a step among its session's running ones.
struct Ticket {
    session: Arc<SessionState>,
    host: Arc<dyn Host>,
    place: Place,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.session.running.end(&self.place, self.host.now());
    }
}

impl RunningStep {
    /// The reply, from the step's outcome.
    pub fn finish(mut self, outcome: Result<(), Status>) -> Result<Response, Status> {
        let form = self.form;
        let result = outcome.and_then(|()| self.response());
        form.reply(result)
    }

    fn response(&mut self) -> Result<Response, Status> {
        let signature = self.signature.get();
        let values = signature.take_fetches(&mut self.step)?;
        let metadata = RunMetadata {
            step_stats: if self.run_options.full_trace { self.step.stats() } else { Vec::new() },
            partition_graphs: match self.run_options.output_partition_graphs {
                true => self.partition_graphs(&signature.spec),
                false => Vec::new(),
            },
        };
        match &mut self.answer {
            Answer::Positions => Ok(Response::RunCallable(RunCallableResponse { fetches: values, metadata })),
            Answer::Names(names) => {
                let named = core::mem::take(names).into_iter().zip(values).zip(&signature.fetch_at);
                let tensors = named.filter(|(_, at)| !at.repeated).map(|(pair, _)| pair).collect();
                Ok(Response::RunStep(RunStepResponse { tensors, metadata, error: None }))
            }
        }
    }

    fn partition_graphs(&self, spec: &RunSpec) -> Vec<crate::service::GraphSpec> {
        let version = self.ticket.session.graph();
        partition_graphs(&version.graph, spec, &self.ticket.session.devices, &|node| version.placement.device_of(node))
    }
}

/// A call that must wait: for a compilation that another call does, or for steps that end.
pub struct Wait {
    pub(super) cancel: Vec<(Arc<StepControl>, Status)>,
    pub(super) until: Option<Time>,
    /// What must open, each with this call's place among its waiters.
    pub(super) latches: Vec<(Arc<Latch>, Option<usize>)>,
    pub(super) then: Then,
}

/// How a waiting call goes on.
pub(super) enum Then {
    /// The same request again, with its deadline.
    Retry(Request, Option<Time>),
    /// This reply.
    Reply(Response),
}

impl Wait {
    /// The steps to cancel at once, with the reason. Empty the second time.
    pub fn take_cancellations(&mut self) -> Vec<(Arc<StepControl>, Status)> {
        core::mem::take(&mut self.cancel)
    }

    /// When to go on even if what was waited for has not come.
    pub fn until(&self) -> Option<Time> {
        self.until
    }

    /// Ready when what is waited for has come.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Each is asked, so that the last to open wakes the call.
        let pending =
            self.latches.iter_mut().filter_map(|(latch, place)| latch.poll(cx, place).is_pending().then_some(()));
        if pending.count() == 0 { Poll::Ready(()) } else { Poll::Pending }
    }
}
