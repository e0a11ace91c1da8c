//! The calls of a master that run something, or prepare to.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::action::{Action, Answer, ReplyForm, StartStep, StepSignature, Then, Wait};
use super::callables::Callable;
use super::latch::Latch;
use super::master::Master;
use super::partial::{ContinuePartial, PartialRequest};
use super::session::{Lookup, SessionState};
use super::signature::{Canonical, RunSignature, SentRef};
use crate::Status;
use crate::host::Time;
use crate::service::{
    MakeCallableRequest, MakeCallableResponse, PartialRunSetupRequest, PartialRunSetupResponse, ReleaseCallableRequest,
    Request, Response, RunCallableRequest, RunOptions, RunStepRequest,
};
use crate::step::{Step, StepOptions};
use alloc::sync::Arc;

impl Master {
    pub(super) fn run_step(
        &self,
        mut request: RunStepRequest,
        deadline: Option<Time>,
        now: Option<Time>,
    ) -> Result<Action, Status> {
        let session = self.find_for_use(&request.session_handle, now)?;
        let RunStepRequest { feeds, fetches, targets, .. } = &request;
        let signature = match session.signature(&SentRef { feeds, fetches, targets, partial: false })? {
            Lookup::Found(signature) => signature,
            Lookup::Busy(latch) => return Ok(retry(latch, Request::RunStep(request), deadline)),
        };
        let form = form(&request);
        let fed = core::mem::take(&mut request.feeds).into_iter().zip(&signature.feed_at);
        let feeds = fed.filter_map(|((_, value), at)| Some(((*at)?, value))).collect();
        let options = self.step_options(&session, &request.options, deadline, now);
        Ok(Action::StartStep(Box::new(StartStep {
            session,
            host: self.host.clone(),
            signature: StepSignature::Run(signature),
            feeds,
            options,
            run_options: request.options,
            answer: Answer::Names(request.fetches),
            form,
        })))
    }

    pub(super) fn partial_run_setup(
        &self,
        request: PartialRunSetupRequest,
        deadline: Option<Time>,
    ) -> Result<Action, Status> {
        let session = self.find(&request.session_handle)?;
        let PartialRunSetupRequest { feeds, fetches, targets, .. } = &request;
        let signature = match session.signature(&SentRef { feeds, fetches, targets, partial: true })? {
            Lookup::Found(signature) => signature,
            Lookup::Busy(latch) => return Ok(retry(latch, Request::PartialRunSetup(request), deadline)),
        };
        let options = self.step_options(&session, &RunOptions::default(), None, None);
        let step = Step::new(signature.program.clone(), StepOptions { deadline: None, ..options });
        let partial_run_handle = session.partial_runs.insert(signature, step)?;
        Ok(Action::Reply(Ok(Response::PartialRunSetup(PartialRunSetupResponse { partial_run_handle }))))
    }

    pub(super) fn continue_partial_run(
        &self,
        request: RunStepRequest,
        deadline: Option<Time>,
        now: Option<Time>,
    ) -> Result<Action, Status> {
        let session = self.find_for_use(&request.session_handle, now)?;
        let form = form(&request);
        let run = session.partial_runs.find(&request.partial_run_handle)?;
        let deadline = run_deadline(&session, &request.options, deadline, now);
        let (indices, last) = run.admit(request.feeds, &request.fetches)?;
        let place = session.running.begin(run.control().clone())?;
        let request =
            PartialRequest { handle: request.partial_run_handle, names: request.fetches, indices, last, deadline };
        let request = ContinuePartial::new(session, run, request, self.host.clone(), place);
        Ok(Action::ContinuePartial(Box::new(request), form))
    }

    pub(super) fn make_callable(
        &self,
        request: MakeCallableRequest,
        deadline: Option<Time>,
        now: Option<Time>,
    ) -> Result<Action, Status> {
        let session = self.find_for_use(&request.session_handle, now)?;
        match self.callable(&session, &request)? {
            Lookup::Busy(latch) => Ok(retry(latch, Request::MakeCallable(request), deadline)),
            Lookup::Found(callable) => {
                let handle = session.callables.insert(callable)?;
                Ok(Action::Reply(Ok(Response::MakeCallable(MakeCallableResponse { handle }))))
            }
        }
    }

    /// What a callable's options compile to.
    ///
    /// # Errors
    /// UNIMPLEMENTED for device entries; as [`SessionState::program`].
    pub(super) fn callable(
        &self,
        session: &SessionState,
        request: &MakeCallableRequest,
    ) -> Result<Lookup<Callable>, Status> {
        let options = &request.options;
        if options.device_entries > 0 {
            return Err(Status::unimplemented(
                "CallableOptions::feed_devices and CallableOptions::fetch_devices to configure feeding/fetching tensors \
                 to/from device memory is not yet supported for remote sessions.",
            ));
        }
        let feeds: Vec<&str> = options.feeds.iter().map(|name| name.as_str()).collect();
        let connections = &options.tensor_connections;
        let canonical = Canonical::new(&feeds, &options.fetches, &options.targets, connections, false)?;
        Ok(match session.program(&canonical.spec)? {
            Lookup::Busy(latch) => Lookup::Busy(latch),
            Lookup::Found(program) => Lookup::Found(Callable {
                signature: RunSignature::new(program, canonical),
                options: options.run_options.clone(),
            }),
        })
    }

    pub(super) fn run_callable(
        &self,
        request: RunCallableRequest,
        deadline: Option<Time>,
        now: Option<Time>,
    ) -> Result<Action, Status> {
        let session = self.find_for_use(&request.session_handle, now)?;
        let callable = session.callables.find(request.handle)?;
        let wanted = callable.signature.feed_at.len();
        if request.feeds.len() < wanted {
            return Err(Status::invalid_argument(format_args!(
                "callable {} takes {wanted} feeds, {} are given",
                request.handle,
                request.feeds.len()
            )));
        }
        // Surplus feeds are ignored, as TensorFlow does.
        let fed = request.feeds.into_iter().zip(&callable.signature.feed_at);
        let feeds = fed.filter_map(|(value, at)| Some(((*at)?, value))).collect();
        let options = self.step_options(&session, &callable.options, deadline, now);
        Ok(Action::StartStep(Box::new(StartStep {
            session,
            host: self.host.clone(),
            feeds,
            options,
            run_options: callable.options.clone(),
            signature: StepSignature::Callable(callable),
            answer: Answer::Positions,
            form: ReplyForm::Status,
        })))
    }

    pub(super) fn release_callable(
        &self,
        request: &ReleaseCallableRequest,
        now: Option<Time>,
    ) -> Result<Response, Status> {
        let session = self.find(&request.session_handle)?;
        // A session that closes meanwhile has released it already.
        let _ = session.running.touch(now);
        session.callables.release(request.handle);
        Ok(Response::ReleaseCallable)
    }

    fn step_options(
        &self,
        session: &SessionState,
        run: &RunOptions,
        deadline: Option<Time>,
        now: Option<Time>,
    ) -> StepOptions {
        StepOptions {
            host: self.host.clone(),
            budget: session.step_budget(),
            deadline: run_deadline(session, run, deadline, now),
            step_id: session.next_step_id(),
            trace: run.full_trace,
        }
    }
}

/// When a run must end: after its own timeout, or the session's where it has none, and not after the call's deadline.
fn run_deadline(session: &SessionState, run: &RunOptions, call: Option<Time>, now: Option<Time>) -> Option<Time> {
    let timeout = [run.timeout_in_ms, session.config.operation_timeout_in_ms].into_iter().find(|&ms| ms > 0);
    let own = timeout.and_then(|ms| Some(now?.plus_millis(u64::try_from(ms).ok()?)));
    match (own, call) {
        (Some(own), Some(call)) => Some(own.min(call)),
        (own, call) => own.or(call),
    }
}

fn form(request: &RunStepRequest) -> ReplyForm {
    if request.store_errors_in_response_body { ReplyForm::Body } else { ReplyForm::Status }
}

fn retry(latch: Arc<Latch>, request: Request, deadline: Option<Time>) -> Action {
    Action::Wait(Box::new(Wait {
        cancel: Vec::new(),
        until: deadline,
        latches: alloc::vec![(latch, None)],
        then: Then::Retry(request, deadline),
    }))
}
