//! The client itself: a channel and what every call over it shares.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Session;
use crate::Status;
use crate::device::DeviceAttributes;
use crate::host::Host;
use crate::service::{
    CallOptions, Channel, CreateSessionRequest, GraphSpec, ListDevicesRequest, Request, ResetRequest, Response,
    SessionConfig,
};

/// A client of a master. Clones share the channel.
#[derive(Clone)]
pub struct Client {
    channel: Arc<dyn Channel>,
    host: Option<Arc<dyn Host>>,
    options: CallOptions,
}

impl Client {
    /// A client that calls over `channel`, without a timeout.
    pub fn new(channel: Arc<dyn Channel>) -> Client {
        Client { channel, host: None, options: CallOptions::default() }
    }

    /// Gives every call a fresh random id, so that a master refuses a request that a transport delivers twice.
    #[must_use]
    pub fn with_request_ids(mut self, host: Arc<dyn Host>) -> Client {
        self.host = Some(host);
        self
    }

    /// Ends every call after so many milliseconds with DEADLINE_EXCEEDED; `None` for never. Sessions keep what the
    /// client had when it made them.
    #[must_use]
    pub fn with_timeout_ms(mut self, timeout_ms: Option<u64>) -> Client {
        self.options = CallOptions { timeout_ms };
        self
    }

    /// Opens a session on a graph, which may be empty.
    ///
    /// # Errors
    /// INVALID_ARGUMENT and NOT_FOUND for what is wrong with the graph, and any that the channel answers.
    pub async fn create_session(&self, graph: GraphSpec, config: SessionConfig) -> Result<Session, Status> {
        let request = CreateSessionRequest { graph, config, target: String::new() };
        match self.call(Request::CreateSession(request)).await? {
            Response::CreateSession(r) => Ok(Session::new(self.clone(), r.session_handle, r.graph_version)),
            _ => Err(wrong_kind()),
        }
    }

    /// The devices of the master's cluster.
    ///
    /// # Errors
    /// Any that the channel answers.
    pub async fn list_devices(&self) -> Result<Vec<DeviceAttributes>, Status> {
        self.devices(String::new()).await
    }

    /// Empties containers, the default one when none is named, and closes **all** sessions of the master.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for an illegal name, and any that the channel answers.
    pub async fn reset(&self, containers: &[&str]) -> Result<(), Status> {
        let request = ResetRequest { containers: strings(containers), device_filters: Vec::new() };
        match self.call(Request::Reset(request)).await? {
            Response::Reset => Ok(()),
            _ => Err(wrong_kind()),
        }
    }

    pub(super) async fn devices(&self, session_handle: String) -> Result<Vec<DeviceAttributes>, Status> {
        match self.call(Request::ListDevices(ListDevicesRequest { session_handle })).await? {
            Response::ListDevices(list) => Ok(list.local_devices.into_iter().chain(list.remote_devices).collect()),
            _ => Err(wrong_kind()),
        }
    }

    /// Makes a call; dropping the future cancels it.
    pub(super) fn call(&self, request: Request) -> crate::service::CallFuture {
        self.channel.call(request, self.options)
    }

    /// A fresh id for a request, 0 for none.
    pub(super) fn request_id(&self) -> i64 {
        let mut bytes = [0; 8];
        match &self.host {
            Some(host) if host.entropy(&mut bytes) => i64::from_le_bytes(bytes),
            _ => 0,
        }
    }
}

pub(super) fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.into()).collect()
}

/// The answer to a response that does not belong to its request.
#[cold]
pub(super) fn wrong_kind() -> Status {
    Status::internal("the master answered with a response of another kind than the request")
}
