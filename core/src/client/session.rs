//! A session as its client sees it.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Waker};

use super::connection::{Client, strings, wrong_kind};
use super::{Callable, Outputs, PartialRun};
use crate::Status;
use crate::device::DeviceAttributes;
use crate::service::{
    CallableOptions, CloseSessionRequest, ExtendSessionRequest, GraphSpec, MakeCallableRequest, PartialRunSetupRequest,
    Request, Response, RunMetadata, RunOptions, RunStepRequest, RunStepResponse,
};
use crate::sync::Mutex;
use crate::tensor::Tensor;

/// An open session. Clones are the same session, and any number of runs may be under way at once.
///
/// [`Session::close`] it when done. When the last clone is dropped without that, a close is begun but not awaited: enough
/// for a master in the same process; over a wire the session may stay until the master collects it.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    handle: String,
    version: Mutex<i64>,
    closed: AtomicBool,
}

impl Session {
    pub(super) fn new(client: Client, handle: String, version: i64) -> Session {
        Session {
            inner: Arc::new(Inner { client, handle, version: Mutex::new(version), closed: AtomicBool::new(false) }),
        }
    }

    /// The name that the master gave the session.
    pub fn handle(&self) -> &str {
        &self.inner.handle
    }

    /// The version of the graph after the extensions made here.
    pub fn graph_version(&self) -> i64 {
        *self.inner.version.lock()
    }

    /// Feeds tensors, runs the targets, answers the fetches.
    ///
    /// # Errors
    /// NOT_FOUND for unknown names, INVALID_ARGUMENT for names that cannot be, a kernel's own error, and any that the
    /// channel answers.
    pub async fn run(&self, feeds: &[(&str, &Tensor)], fetches: &[&str], targets: &[&str]) -> Result<Outputs, Status> {
        Ok(self.run_with(feeds, fetches, targets, RunOptions::default()).await?.0)
    }

    /// As [`Session::run`] with options, and with what they ask to be told of the run.
    ///
    /// # Errors
    /// As [`Session::run`]; DEADLINE_EXCEEDED when the options' timeout passes.
    pub async fn run_with(
        &self,
        feeds: &[(&str, &Tensor)],
        fetches: &[&str],
        targets: &[&str],
        options: RunOptions,
    ) -> Result<(Outputs, RunMetadata), Status> {
        let response = self.run_step(feeds, fetches, targets, options, "").await?;
        Ok((Outputs::new(response.tensors, fetches)?, response.metadata))
    }

    /// As [`Session::run`], setting `outputs` in the order of `fetches`. The old tensors are let go first, so that their
    /// memory serves again.
    ///
    /// # Errors
    /// As [`Session::run`]; INVALID_ARGUMENT when there are fewer outputs than fetches.
    pub async fn run_into(
        &self,
        feeds: &[(&str, &Tensor)],
        fetches: &[&str],
        targets: &[&str],
        outputs: &mut [Tensor],
    ) -> Result<(), Status> {
        let_go(outputs, fetches.len())?;
        let fetched = self.run(feeds, fetches, targets).await?;
        for (output, name) in outputs.iter_mut().zip(fetches) {
            *output = fetched.tensor(name)?.clone();
        }
        Ok(())
    }

    /// Prepares a run: names are resolved once, and feeds and fetches are positional from then on.
    ///
    /// # Errors
    /// As [`Session::run`] for names; UNIMPLEMENTED for device entries.
    pub async fn callable(&self, options: CallableOptions) -> Result<Callable, Status> {
        let (feeds, fetches) = (options.feeds.len(), options.fetches.len());
        let request = MakeCallableRequest { session_handle: self.inner.handle.clone(), options, request_id: self.id() };
        match self.call(Request::MakeCallable(request)).await? {
            Response::MakeCallable(response) => Ok(Callable::new(self.clone(), response.handle, feeds, fetches)),
            _ => Err(wrong_kind()),
        }
    }

    /// Declares a run that is fed and fetched in pieces.
    ///
    /// # Errors
    /// As [`Session::run`] for names.
    pub async fn partial_run(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<PartialRun, Status> {
        let request = PartialRunSetupRequest {
            session_handle: self.inner.handle.clone(),
            feeds: strings(feeds),
            fetches: strings(fetches),
            targets: strings(targets),
            request_id: self.id(),
        };
        match self.call(Request::PartialRunSetup(request)).await? {
            Response::PartialRunSetup(response) => Ok(PartialRun::new(self.clone(), response.partial_run_handle)),
            _ => Err(wrong_kind()),
        }
    }

    /// Adds nodes and functions to the graph, all or nothing. Of several extensions at once one wins.
    ///
    /// # Errors
    /// ABORTED when the graph was extended by somebody else; INVALID_ARGUMENT and NOT_FOUND for what is wrong with the
    /// nodes.
    pub async fn extend(&self, graph: GraphSpec) -> Result<(), Status> {
        let request = ExtendSessionRequest {
            session_handle: self.inner.handle.clone(),
            graph,
            current_graph_version: self.graph_version(),
        };
        match self.call(Request::ExtendSession(request)).await? {
            Response::ExtendSession(response) => {
                *self.inner.version.lock() = response.new_graph_version;
                Ok(())
            }
            _ => Err(wrong_kind()),
        }
    }

    /// The devices that the session's nodes may be on.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the master does not know the session any more.
    pub async fn list_devices(&self) -> Result<Vec<DeviceAttributes>, Status> {
        self.inner.client.devices(self.inner.handle.clone()).await
    }

    /// Ends the session for all its clones; steps that run are cancelled.
    ///
    /// # Errors
    /// ABORTED when the master does not know the session any more.
    pub async fn close(&self) -> Result<(), Status> {
        self.inner.closed.store(true, Ordering::Relaxed);
        match self.call(self.inner.close_request()).await? {
            Response::CloseSession => Ok(()),
            _ => Err(wrong_kind()),
        }
    }

    pub(super) async fn run_step(
        &self,
        feeds: &[(&str, &Tensor)],
        fetches: &[&str],
        targets: &[&str],
        options: RunOptions,
        partial_run_handle: &str,
    ) -> Result<RunStepResponse, Status> {
        let request = RunStepRequest {
            session_handle: self.inner.handle.clone(),
            feeds: feeds.iter().map(|&(name, value)| (name.into(), value.clone())).collect(),
            fetches: strings(fetches),
            targets: strings(targets),
            options,
            partial_run_handle: partial_run_handle.into(),
            store_errors_in_response_body: false,
            request_id: self.id(),
        };
        match self.call(Request::RunStep(request)).await? {
            Response::RunStep(RunStepResponse { error: Some((code, message)), .. }) => Err(Status::new(code, message)),
            Response::RunStep(response) => Ok(response),
            _ => Err(wrong_kind()),
        }
    }

    pub(super) fn call(&self, request: Request) -> crate::service::CallFuture {
        self.inner.client.call(request)
    }

    /// Begins a call and does not wait for it.
    pub(super) fn begin(&self, request: Request) {
        if !self.inner.closed.load(Ordering::Relaxed) {
            begin(&self.inner.client, request);
        }
    }

    pub(super) fn id(&self) -> i64 {
        self.inner.client.request_id()
    }
}

/// Lets go of the first `wanted` outputs.
///
/// # Errors
/// INVALID_ARGUMENT when there are fewer.
pub(super) fn let_go(outputs: &mut [Tensor], wanted: usize) -> Result<(), Status> {
    if outputs.len() < wanted {
        return Err(Status::invalid_argument(format_args!("{wanted} fetches do not fit {} outputs", outputs.len())));
    }
    outputs.iter_mut().for_each(|output| *output = Tensor::default());
    Ok(())
}

fn begin(client: &Client, request: Request) {
    // The answer, if it comes at once, is of no interest.
    let _ = client.call(request).as_mut().poll(&mut Context::from_waker(Waker::noop()));
}

impl Inner {
    fn close_request(&self) -> Request {
        Request::CloseSession(CloseSessionRequest { session_handle: self.handle.clone() })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !*self.closed.get_mut() {
            begin(&self.client, self.close_request());
        }
    }
}
