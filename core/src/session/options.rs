//! How a master is set up, with the limit on everything that it keeps.

use alloc::string::String;
use alloc::sync::Arc;

use crate::ops::Registry;

/// What a master offers and how much it keeps. Start from [`MasterOptions::new`] and change fields.
///
/// Worst-case memory follows from the limits: sessions × (graph + programs), each bounded by `session_bytes_max`.
#[derive(Clone)]
#[non_exhaustive]
pub struct MasterOptions {
    /// The ops that graphs may use.
    pub registry: Arc<Registry>,
    /// The job that this process is of; also the default container. `localhost` unless changed.
    pub job: String,
    /// The task of the job. 0 unless changed.
    pub task: u32,
    /// How many CPU devices to offer, `device_count` in TensorFlow; at least one. 1 unless changed.
    pub cpus: u32,
    /// Milliseconds after which an unused session is collected; a running step counts as use. A day unless changed, 0 for
    /// never.
    pub session_idle_ms_max: u64,
    /// Most sessions at once; more are refused with RESOURCE_EXHAUSTED.
    pub sessions_max: usize,
    /// Most cached programs of a session, and as many spellings of signatures; the one unused for longest goes.
    pub programs_max: usize,
    /// Most partial runs of a session that are set up and not finished; more are refused with RESOURCE_EXHAUSTED.
    pub partial_runs_max: usize,
    /// Most callables of a session; more are refused with RESOURCE_EXHAUSTED.
    pub callables_max: usize,
    /// Most request ids remembered. TensorFlow's 10,000 unless changed.
    pub request_ids_max: usize,
    /// Most bytes of a session: its graph, and what its steps allocate. `None` for no limit.
    pub session_bytes_max: Option<usize>,
    /// Most bytes that a step allocates. `None` for no limit.
    pub step_bytes_max: Option<usize>,
    /// Most nodes that function calls may add to a session's graph; a call that would add more fails with
    /// RESOURCE_EXHAUSTED where it is needed. A million unless changed, of about a kilobyte each.
    pub function_nodes_max: usize,
    /// Milliseconds that closing a session waits for its cancelled steps. 10 seconds unless changed.
    pub close_ms_max: u64,
}

impl MasterOptions {
    /// The defaults, for a server of these ops.
    pub fn new(registry: Arc<Registry>) -> MasterOptions {
        MasterOptions {
            registry,
            job: "localhost".into(),
            task: 0,
            cpus: 1,
            session_idle_ms_max: 24 * 60 * 60 * 1000,
            sessions_max: 100_000,
            programs_max: 512,
            partial_runs_max: 1024,
            callables_max: 65_536,
            request_ids_max: 10_000,
            session_bytes_max: None,
            step_bytes_max: None,
            function_nodes_max: 1 << 20,
            close_ms_max: 10_000,
        }
    }
}
