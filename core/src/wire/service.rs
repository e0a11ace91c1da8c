//! The names of all calls, as gRPC paths.

/// MasterService: what clients call.
pub mod master {
    /// Makes a session of a graph.
    pub const CREATE_SESSION: &str = "/tensorflow.MasterService/CreateSession";
    /// Adds nodes to a session's graph.
    pub const EXTEND_SESSION: &str = "/tensorflow.MasterService/ExtendSession";
    /// Prepares a run that is fed and fetched in pieces.
    pub const PARTIAL_RUN_SETUP: &str = "/tensorflow.MasterService/PartialRunSetup";
    /// Runs a step, or a piece of a partial run.
    pub const RUN_STEP: &str = "/tensorflow.MasterService/RunStep";
    /// Ends a session.
    pub const CLOSE_SESSION: &str = "/tensorflow.MasterService/CloseSession";
    /// Lists devices.
    pub const LIST_DEVICES: &str = "/tensorflow.MasterService/ListDevices";
    /// Drops containers and closes all sessions.
    pub const RESET: &str = "/tensorflow.MasterService/Reset";
    /// Compiles a signature once.
    pub const MAKE_CALLABLE: &str = "/tensorflow.MasterService/MakeCallable";
    /// Runs a compiled signature.
    pub const RUN_CALLABLE: &str = "/tensorflow.MasterService/RunCallable";
    /// Drops a compiled signature.
    pub const RELEASE_CALLABLE: &str = "/tensorflow.MasterService/ReleaseCallable";
}

/// WorkerService: what masters and other workers call.
pub mod worker {
    /// Tells the worker's devices.
    pub const GET_STATUS: &str = "/tensorflow.WorkerService/GetStatus";
    /// Opens the worker's side of a session.
    pub const CREATE_WORKER_SESSION: &str = "/tensorflow.WorkerService/CreateWorkerSession";
    /// Closes the worker's side of a session.
    pub const DELETE_WORKER_SESSION: &str = "/tensorflow.WorkerService/DeleteWorkerSession";
    /// Hands a partition to the worker.
    pub const REGISTER_GRAPH: &str = "/tensorflow.WorkerService/RegisterGraph";
    /// Drops a partition.
    pub const DEREGISTER_GRAPH: &str = "/tensorflow.WorkerService/DeregisterGraph";
    /// Runs a partition as part of a step.
    pub const RUN_GRAPH: &str = "/tensorflow.WorkerService/RunGraph";
    /// Forgets the tensors of a step.
    pub const CLEANUP_GRAPH: &str = "/tensorflow.WorkerService/CleanupGraph";
    /// Drops containers.
    pub const CLEANUP_ALL: &str = "/tensorflow.WorkerService/CleanupAll";
    /// Takes a tensor that a step sends.
    pub const RECV_TENSOR: &str = "/tensorflow.WorkerService/RecvTensor";
    /// Confirms that a tensor arrived.
    pub const MARK_RECV_FINISHED: &str = "/tensorflow.WorkerService/MarkRecvFinished";
    /// Turns the log of calls on or off, and fetches it.
    pub const LOGGING: &str = "/tensorflow.WorkerService/Logging";
    /// Takes a profile.
    pub const TRACING: &str = "/tensorflow.WorkerService/Tracing";
}

/// All calls of both services.
pub const METHODS: [&str; 22] = [
    master::CREATE_SESSION,
    master::EXTEND_SESSION,
    master::PARTIAL_RUN_SETUP,
    master::RUN_STEP,
    master::CLOSE_SESSION,
    master::LIST_DEVICES,
    master::RESET,
    master::MAKE_CALLABLE,
    master::RUN_CALLABLE,
    master::RELEASE_CALLABLE,
    worker::GET_STATUS,
    worker::CREATE_WORKER_SESSION,
    worker::DELETE_WORKER_SESSION,
    worker::REGISTER_GRAPH,
    worker::DEREGISTER_GRAPH,
    worker::RUN_GRAPH,
    worker::CLEANUP_GRAPH,
    worker::CLEANUP_ALL,
    worker::RECV_TENSOR,
    worker::MARK_RECV_FINISHED,
    worker::LOGGING,
    worker::TRACING,
];
