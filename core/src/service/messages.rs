//! Requests and responses of the ten calls of TensorFlow's MasterService, in native types.

use alloc::string::String;
use alloc::vec::Vec;

pub use crate::device::DeviceAttributes;
use crate::graph::{Function, NodeSpec, Versions};
use crate::status::Code;
use crate::tensor::Tensor;

/// A call.
#[derive(Clone, Debug)]
pub enum Request {
    /// Opens a session.
    CreateSession(CreateSessionRequest),
    /// Adds nodes to a session's graph.
    ExtendSession(ExtendSessionRequest),
    /// Declares a partial run.
    PartialRunSetup(PartialRunSetupRequest),
    /// Runs a step, or a part of a partial run.
    RunStep(RunStepRequest),
    /// Ends a session.
    CloseSession(CloseSessionRequest),
    /// Lists devices.
    ListDevices(ListDevicesRequest),
    /// Closes all sessions and empties containers.
    Reset(ResetRequest),
    /// Prepares a run.
    MakeCallable(MakeCallableRequest),
    /// Runs a prepared run.
    RunCallable(RunCallableRequest),
    /// Forgets a prepared run.
    ReleaseCallable(ReleaseCallableRequest),
}

/// The answer to a call, of the same kind.
#[derive(Clone, Debug)]
pub enum Response {
    /// To [`Request::CreateSession`].
    CreateSession(CreateSessionResponse),
    /// To [`Request::ExtendSession`].
    ExtendSession(ExtendSessionResponse),
    /// To [`Request::PartialRunSetup`].
    PartialRunSetup(PartialRunSetupResponse),
    /// To [`Request::RunStep`].
    RunStep(RunStepResponse),
    /// To [`Request::CloseSession`].
    CloseSession,
    /// To [`Request::ListDevices`].
    ListDevices(ListDevicesResponse),
    /// To [`Request::Reset`].
    Reset,
    /// To [`Request::MakeCallable`].
    MakeCallable(MakeCallableResponse),
    /// To [`Request::RunCallable`].
    RunCallable(RunCallableResponse),
    /// To [`Request::ReleaseCallable`].
    ReleaseCallable,
}

/// The kinds of call, numbered for frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say all: TensorFlow's")]
pub enum Method {
    CreateSession = 0,
    ExtendSession = 1,
    PartialRunSetup = 2,
    RunStep = 3,
    CloseSession = 4,
    ListDevices = 5,
    Reset = 6,
    MakeCallable = 7,
    RunCallable = 8,
    ReleaseCallable = 9,
}

impl Method {
    /// All methods, by number.
    pub const ALL: [Method; 10] = [
        Method::CreateSession,
        Method::ExtendSession,
        Method::PartialRunSetup,
        Method::RunStep,
        Method::CloseSession,
        Method::ListDevices,
        Method::Reset,
        Method::MakeCallable,
        Method::RunCallable,
        Method::ReleaseCallable,
    ];

    /// The method of a number.
    pub fn from_number(number: u8) -> Option<Method> {
        Method::ALL.get(usize::from(number)).copied()
    }
}

impl Request {
    /// The kind of call.
    pub fn method(&self) -> Method {
        match self {
            Request::CreateSession(_) => Method::CreateSession,
            Request::ExtendSession(_) => Method::ExtendSession,
            Request::PartialRunSetup(_) => Method::PartialRunSetup,
            Request::RunStep(_) => Method::RunStep,
            Request::CloseSession(_) => Method::CloseSession,
            Request::ListDevices(_) => Method::ListDevices,
            Request::Reset(_) => Method::Reset,
            Request::MakeCallable(_) => Method::MakeCallable,
            Request::RunCallable(_) => Method::RunCallable,
            Request::ReleaseCallable(_) => Method::ReleaseCallable,
        }
    }
}

impl Response {
    /// The kind of call that this answers.
    pub fn method(&self) -> Method {
        match self {
            Response::CreateSession(_) => Method::CreateSession,
            Response::ExtendSession(_) => Method::ExtendSession,
            Response::PartialRunSetup(_) => Method::PartialRunSetup,
            Response::RunStep(_) => Method::RunStep,
            Response::CloseSession => Method::CloseSession,
            Response::ListDevices(_) => Method::ListDevices,
            Response::Reset => Method::Reset,
            Response::MakeCallable(_) => Method::MakeCallable,
            Response::RunCallable(_) => Method::RunCallable,
            Response::ReleaseCallable => Method::ReleaseCallable,
        }
    }
}

/// A GraphDef in native form.
#[derive(Clone, Debug, Default)]
pub struct GraphSpec {
    /// The nodes.
    pub nodes: Vec<NodeSpec>,
    /// The function library.
    pub functions: Vec<Function>,
    /// The versions.
    pub versions: Versions,
}

impl From<Vec<NodeSpec>> for GraphSpec {
    /// Nodes without functions, of no particular version.
    fn from(nodes: Vec<NodeSpec>) -> GraphSpec {
        GraphSpec { nodes, ..GraphSpec::default() }
    }
}

/// The fields of ConfigProto that change what a master does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionConfig {
    /// Variables and other resources of this session are its own and die with it.
    pub isolate_session_state: bool,
    /// Devices that do not exist are replaced by ones of the same task.
    pub allow_soft_placement: bool,
    /// Placements are logged.
    pub log_device_placement: bool,
    /// Asked for, and refused as TensorFlow's master does.
    pub use_per_session_threads: bool,
    /// Number of `session_inter_op_thread_pool` entries; any is refused as TensorFlow's master does.
    pub session_inter_op_thread_pools: usize,
    /// Partial names of the devices that the session may use; all when empty.
    pub device_filters: Vec<String>,
    /// Default of a run's timeout in milliseconds; 0 for none.
    pub operation_timeout_in_ms: i64,
}

/// Opens a session on a graph.
#[derive(Clone, Debug, Default)]
pub struct CreateSessionRequest {
    /// The graph; may be empty.
    pub graph: GraphSpec,
    /// The configuration.
    pub config: SessionConfig,
    /// The master's address as the client sees it.
    pub target: String,
}

/// The new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSessionResponse {
    /// An opaque, unguessable name.
    pub session_handle: String,
    /// The version of its graph, 0.
    pub graph_version: i64,
}

/// Adds nodes; all or nothing.
#[derive(Clone, Debug, Default)]
pub struct ExtendSessionRequest {
    /// The session.
    pub session_handle: String,
    /// Nodes and functions to add.
    pub graph: GraphSpec,
    /// The version that the client believes the graph to have.
    pub current_graph_version: i64,
}

/// The graph was extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendSessionResponse {
    /// The new version.
    pub new_graph_version: i64,
}

/// Declares what a partial run will feed, fetch and run.
#[derive(Clone, Debug, Default)]
pub struct PartialRunSetupRequest {
    /// The session.
    pub session_handle: String,
    /// Names of tensors that will be fed.
    pub feeds: Vec<String>,
    /// Names of tensors that will be fetched.
    pub fetches: Vec<String>,
    /// Names of nodes to run.
    pub targets: Vec<String>,
    /// Detects repeated requests; 0 for no check.
    pub request_id: i64,
}

/// The declared partial run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialRunSetupResponse {
    /// The name that RunStep takes.
    pub partial_run_handle: String,
}

/// The fields of RunOptions that a master honours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Milliseconds until the step fails with DEADLINE_EXCEEDED; 0 for the session's default.
    pub timeout_in_ms: i64,
    /// Whether statistics of every node are wanted (FULL_TRACE).
    pub full_trace: bool,
    /// Whether the graphs that ran are wanted.
    pub output_partition_graphs: bool,
}

/// Runs a step.
#[derive(Clone, Debug, Default)]
pub struct RunStepRequest {
    /// The session.
    pub session_handle: String,
    /// Tensors to feed, by name.
    pub feeds: Vec<(String, Tensor)>,
    /// Names of tensors to fetch.
    pub fetches: Vec<String>,
    /// Names of nodes to run.
    pub targets: Vec<String>,
    /// Options.
    pub options: RunOptions,
    /// A declared partial run that this is a part of; empty for a whole step.
    pub partial_run_handle: String,
    /// Errors are answered in the response's body.
    pub store_errors_in_response_body: bool,
    /// Detects repeated requests; 0 for no check.
    pub request_id: i64,
}

/// What a step fetched.
#[derive(Clone, Debug, Default)]
pub struct RunStepResponse {
    /// The fetched tensors under the names of the request.
    pub tensors: Vec<(String, Tensor)>,
    /// What was asked for in the options.
    pub metadata: RunMetadata,
    /// With `store_errors_in_response_body`: the error's code and message; `None` for success.
    pub error: Option<(Code, String)>,
}

/// Measurements of a step.
#[derive(Clone, Debug, Default)]
pub struct RunMetadata {
    /// Statistics by device, when a full trace was asked for.
    pub step_stats: Vec<DeviceStats>,
    /// The graphs that ran, one a device, when asked for.
    pub partition_graphs: Vec<GraphSpec>,
}

/// The nodes that ran on a device.
#[derive(Clone, Debug, Default)]
pub struct DeviceStats {
    /// The device's full name.
    pub device: String,
    /// One entry a node run.
    pub nodes: Vec<NodeStats>,
}

/// One run of one node.
#[derive(Clone, Debug, Default)]
pub struct NodeStats {
    /// The node.
    pub name: String,
    /// Its op.
    pub op: String,
    /// Microseconds since the Unix epoch at the start.
    pub start_micros: u64,
    /// Nanoseconds that the kernel took.
    pub run_nanos: u64,
    /// Dtype and shape of each output that is still at hand.
    pub outputs: Vec<(crate::tensor::DType, crate::tensor::Shape)>,
}

/// Ends a session.
#[derive(Clone, Debug, Default)]
pub struct CloseSessionRequest {
    /// The session.
    pub session_handle: String,
}

/// Lists the devices of a session, or of the server.
#[derive(Clone, Debug, Default)]
pub struct ListDevicesRequest {
    /// The session; empty for the server's own.
    pub session_handle: String,
}

/// Devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListDevicesResponse {
    /// Devices of the master's process.
    pub local_devices: Vec<DeviceAttributes>,
    /// Devices of other tasks.
    pub remote_devices: Vec<DeviceAttributes>,
}

/// Closes all sessions and empties containers.
#[derive(Clone, Debug, Default)]
pub struct ResetRequest {
    /// Containers to empty; the default one when the list is empty.
    pub containers: Vec<String>,
    /// Partial names of the devices to reset; all when empty.
    pub device_filters: Vec<String>,
}

/// Prepares a run whose feeds and fetches are positional.
#[derive(Clone, Debug, Default)]
pub struct MakeCallableRequest {
    /// The session.
    pub session_handle: String,
    /// What to run.
    pub options: CallableOptions,
    /// Detects repeated requests; 0 for no check.
    pub request_id: i64,
}

/// What a callable runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallableOptions {
    /// Names of tensors to feed, in order.
    pub feeds: Vec<String>,
    /// Names of tensors to fetch, in order.
    pub fetches: Vec<String>,
    /// Names of nodes to run.
    pub targets: Vec<String>,
    /// Options of every run.
    pub run_options: RunOptions,
    /// Tensors that replace others: (from, to).
    pub tensor_connections: Vec<(String, String)>,
    /// Number of `feed_devices` and `fetch_devices` entries; any is refused as TensorFlow's master does.
    pub device_entries: usize,
}

/// The prepared run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MakeCallableResponse {
    /// Its number within the session.
    pub handle: i64,
}

/// Runs a prepared run.
#[derive(Clone, Debug, Default)]
pub struct RunCallableRequest {
    /// The session.
    pub session_handle: String,
    /// The callable.
    pub handle: i64,
    /// Tensors to feed, in the callable's order.
    pub feeds: Vec<Tensor>,
    /// Detects repeated requests; 0 for no check.
    pub request_id: i64,
}

/// What a callable fetched.
#[derive(Clone, Debug, Default)]
pub struct RunCallableResponse {
    /// The fetched tensors, in the callable's order.
    pub fetches: Vec<Tensor>,
    /// What was asked for in the options.
    pub metadata: RunMetadata,
}

/// Forgets a prepared run.
#[derive(Clone, Debug, Default)]
pub struct ReleaseCallableRequest {
    /// The session.
    pub session_handle: String,
    /// The callable.
    pub handle: i64,
}
