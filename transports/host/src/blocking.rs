//! The client in blocking form: each call parks the calling thread until it is answered.
//!
//! Not for use inside an executor's task, see [`block_on`].

use crate::block_on;
use runstep::Status;
use runstep::client;
use runstep::device::DeviceAttributes;
use runstep::service::{CallableOptions, Channel, GraphSpec, RunMetadata, RunOptions, SessionConfig};
use runstep::tensor::Tensor;
use std::sync::Arc;

pub use runstep::client::Outputs;

/// [`runstep::client::Client`], blocking.
#[derive(Clone)]
pub struct Client(client::Client);

/// [`runstep::client::Session`], blocking.
#[derive(Clone)]
pub struct Session(client::Session);

/// [`runstep::client::Callable`], blocking.
pub struct Callable(client::Callable);

/// [`runstep::client::PartialRun`], blocking.
pub struct PartialRun(client::PartialRun);

impl From<client::Client> for Client {
    fn from(client: client::Client) -> Client {
        Client(client)
    }
}

impl Client {
    /// As [`client::Client::new`].
    pub fn new(channel: Arc<dyn Channel>) -> Client {
        Client(client::Client::new(channel))
    }

    /// As [`client::Client::create_session`].
    ///
    /// # Errors
    /// As there.
    pub fn create_session(&self, graph: GraphSpec, config: SessionConfig) -> Result<Session, Status> {
        block_on(self.0.create_session(graph, config)).map(Session)
    }

    /// As [`client::Client::list_devices`].
    ///
    /// # Errors
    /// As there.
    pub fn list_devices(&self) -> Result<Vec<DeviceAttributes>, Status> {
        block_on(self.0.list_devices())
    }

    /// As [`client::Client::reset`].
    ///
    /// # Errors
    /// As there.
    pub fn reset(&self, containers: &[&str]) -> Result<(), Status> {
        block_on(self.0.reset(containers))
    }
}

impl Session {
    /// The async form.
    pub fn as_async(&self) -> &client::Session {
        &self.0
    }

    /// As [`client::Session::run`].
    ///
    /// # Errors
    /// As there.
    pub fn run(&self, feeds: &[(&str, &Tensor)], fetches: &[&str], targets: &[&str]) -> Result<Outputs, Status> {
        block_on(self.0.run(feeds, fetches, targets))
    }

    /// As [`client::Session::run_with`].
    ///
    /// # Errors
    /// As there.
    pub fn run_with(
        &self,
        feeds: &[(&str, &Tensor)],
        fetches: &[&str],
        targets: &[&str],
        options: RunOptions,
    ) -> Result<(Outputs, RunMetadata), Status> {
        block_on(self.0.run_with(feeds, fetches, targets, options))
    }

    /// As [`client::Session::run_into`].
    ///
    /// # Errors
    /// As there.
    pub fn run_into(
        &self,
        feeds: &[(&str, &Tensor)],
        fetches: &[&str],
        targets: &[&str],
        outputs: &mut [Tensor],
    ) -> Result<(), Status> {
        block_on(self.0.run_into(feeds, fetches, targets, outputs))
    }

    /// As [`client::Session::callable`].
    ///
    /// # Errors
    /// As there.
    pub fn callable(&self, options: CallableOptions) -> Result<Callable, Status> {
        block_on(self.0.callable(options)).map(Callable)
    }

    /// As [`client::Session::partial_run`].
    ///
    /// # Errors
    /// As there.
    pub fn partial_run(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<PartialRun, Status> {
        block_on(self.0.partial_run(feeds, fetches, targets)).map(PartialRun)
    }

    /// As [`client::Session::extend`].
    ///
    /// # Errors
    /// As there.
    pub fn extend(&self, graph: GraphSpec) -> Result<(), Status> {
        block_on(self.0.extend(graph))
    }

    /// As [`client::Session::list_devices`].
    ///
    /// # Errors
    /// As there.
    pub fn list_devices(&self) -> Result<Vec<DeviceAttributes>, Status> {
        block_on(self.0.list_devices())
    }

    /// As [`client::Session::close`].
    ///
    /// # Errors
    /// As there.
    pub fn close(&self) -> Result<(), Status> {
        block_on(self.0.close())
    }
}

impl Callable {
    /// As [`client::Callable::run`].
    ///
    /// # Errors
    /// As there.
    pub fn run(&self, feeds: &[Tensor]) -> Result<Vec<Tensor>, Status> {
        block_on(self.0.run(feeds))
    }

    /// As [`client::Callable::run_into`].
    ///
    /// # Errors
    /// As there.
    pub fn run_into(&self, feeds: &[Tensor], outputs: &mut [Tensor]) -> Result<(), Status> {
        block_on(self.0.run_into(feeds, outputs))
    }

    /// As [`client::Callable::release`].
    ///
    /// # Errors
    /// As there.
    pub fn release(self) -> Result<(), Status> {
        block_on(self.0.release())
    }
}

impl PartialRun {
    /// As [`client::PartialRun::run`].
    ///
    /// # Errors
    /// As there.
    pub fn run(&self, feeds: &[(&str, &Tensor)], fetches: &[&str]) -> Result<Outputs, Status> {
        block_on(self.0.run(feeds, fetches))
    }
}
