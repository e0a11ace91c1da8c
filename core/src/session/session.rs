//! One session: its graph by version, its resources, and what was compiled for it.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashMap;

use super::callables::Callables;
use super::latch::Latch;
use super::lru::Lru;
use super::options::MasterOptions;
use super::partial::PartialRuns;
use super::running::Running;
use super::signature::{Named, RunSignature, Sent, SentRef};
use crate::Status;
use crate::device::DeviceSpec;
use crate::graph::{AttrValue, Graph};
use crate::host::{Host, Level, Time};
use crate::ops::Registry;
use crate::program::{CompileContext, DeviceEnv, Program, RunSpec};
use crate::resource::NodeStates;
use crate::rewrite::{ExpandOptions, PlaceOptions, Placement, expand, place};
use crate::service::{GraphSpec, SessionConfig};
use crate::sync::Mutex;
use crate::tensor::{Budget, Charge};

/// Step numbers have their top 7 bits zero, as TensorFlow's have.
pub(super) const STEP_ID_MASK: u64 = 0x01ff_ffff_ffff_ffff;

/// A session. Its graph and caches change under short locks; nothing is compiled or run under one.
pub(super) struct SessionState {
    pub(super) handle: String,
    pub(super) config: SessionConfig,
    pub(super) devices: Vec<DeviceEnv>,
    pub(super) running: Running,
    pub(super) partial_runs: PartialRuns,
    pub(super) callables: Callables,
    host: Arc<dyn Host>,
    registry: Arc<Registry>,
    specs: Arc<[DeviceSpec]>,
    states: NodeStates,
    budget: Option<Budget>,
    step_bytes_max: Option<usize>,
    function_nodes_max: usize,
    graph: Mutex<Arc<GraphVersion>>,
    runs: Mutex<Runs>,
    step_ids: AtomicUsize,
    step_id_base: u64,
}

/// What a session is made of.
pub(super) struct SessionParts {
    pub(super) handle: String,
    pub(super) config: SessionConfig,
    pub(super) devices: Vec<DeviceEnv>,
    pub(super) specs: Arc<[DeviceSpec]>,
    pub(super) host: Arc<dyn Host>,
    pub(super) step_id_base: u64,
    pub(super) now: Option<Time>,
}

/// A graph as it was after so many extensions; never changes.
pub(super) struct GraphVersion {
    /// The graph that runs, without calls of functions.
    pub(super) graph: Graph,
    /// The graph as clients gave it, where it has calls; what extensions are added to.
    source: Option<Graph>,
    pub(super) placement: Placement,
    pub(super) version: i64,
    /// Holds the bytes of the clients' graph in the session's budget.
    charges: Vec<Arc<Charge>>,
    /// Holds those of functions' bodies in it.
    _expansion: Vec<Charge>,
}

/// What was compiled.
struct Runs {
    programs: Lru<RunSpec, Arc<Program>>,
    /// Specs that are being compiled now.
    building: HashMap<RunSpec, Arc<Latch>>,
    /// Signatures by the names as they were sent.
    sent: Lru<Sent, Arc<RunSignature>>,
}

/// The outcome of looking for something compiled.
pub(super) enum Lookup<T> {
    /// It is there.
    Found(T),
    /// Somebody compiles it; look again when the latch opens.
    Busy(Arc<Latch>),
}

impl SessionState {
    /// A session on `graph`.
    ///
    /// # Errors
    /// As [`Graph::extend`], [`expand`] and [`place`]; RESOURCE_EXHAUSTED when the graph exceeds the session's budget.
    pub(super) fn new(parts: SessionParts, graph: GraphSpec, options: &MasterOptions) -> Result<SessionState, Status> {
        let SessionParts { handle, config, devices, specs, host, step_id_base, now } = parts;
        let budget = options.session_bytes_max.map(|limit| Budget::new("session", limit));
        let session = SessionState {
            handle,
            config,
            devices,
            running: Running::new(now),
            partial_runs: PartialRuns::new(options.partial_runs_max),
            callables: Callables::new(options.callables_max),
            host,
            registry: options.registry.clone(),
            specs,
            states: NodeStates::default(),
            budget,
            step_bytes_max: options.step_bytes_max,
            function_nodes_max: options.function_nodes_max,
            graph: Mutex::new(Arc::new(GraphVersion::empty())),
            runs: Mutex::new(Runs {
                programs: Lru::new(options.programs_max),
                building: HashMap::new(),
                sent: Lru::new(options.programs_max),
            }),
            step_ids: AtomicUsize::new(0),
            step_id_base,
        };
        let mut first = session.extended(&GraphVersion::empty(), graph)?;
        first.version = 0;
        *session.graph.lock() = Arc::new(first);
        Ok(session)
    }

    /// The graph as it is now.
    pub(super) fn graph(&self) -> Arc<GraphVersion> {
        self.graph.lock().clone()
    }

    /// Adds to the graph, all or nothing; answers the new version.
    ///
    /// # Errors
    /// ABORTED when the version is not the one `expected`, also when another extension comes first; as
    /// [`SessionState::new`].
    pub(super) fn extend(&self, graph: GraphSpec, expected: i64) -> Result<i64, Status> {
        let stale = |current: i64| {
            Status::aborted(format_args!("Current version is {current} but caller expected {expected}."))
        };
        let base = self.graph();
        if base.version != expected {
            return Err(stale(base.version));
        }
        let next = Arc::new(self.extended(&base, graph)?);
        let mut current = self.graph.lock();
        if current.version != expected {
            return Err(stale(current.version));
        }
        let version = next.version;
        let replaced = core::mem::replace(&mut *current, next);
        drop(current);
        drop(replaced);
        Ok(version)
    }

    /// The version that follows `base`. Works on a copy, so that whoever compiles against `base` is not disturbed and an
    /// error changes nothing.
    fn extended(&self, base: &GraphVersion, spec: GraphSpec) -> Result<GraphVersion, Status> {
        let mut charges = base.charges.clone();
        if let Some(budget) = &self.budget {
            charges.push(Arc::new(budget.charge(graph_bytes(&spec))?));
        }
        let mut graph = base.source.as_ref().unwrap_or(&base.graph).clone();
        graph.extend(&self.registry, spec.nodes, spec.functions, spec.versions)?;
        let options = ExpandOptions { nodes_max: self.function_nodes_max, budget: self.budget.as_ref() };
        let (graph, source, expansion) = match expand(&graph, &self.registry, options)? {
            Some(expanded) => (expanded.graph, Some(graph), expanded.charges),
            None => (graph, None, Vec::new()),
        };
        let options =
            PlaceOptions { allow_soft_placement: self.config.allow_soft_placement, local_task: self.specs.first() };
        // Nodes of functions have other numbers in each version; names stay.
        let moved = source.is_some().then(|| base.placement.renumbered(&base.graph, &graph));
        let placement = place(&graph, &self.specs, moved.as_ref().unwrap_or(&base.placement), options)?;
        if self.config.log_device_placement {
            for (id, node) in graph.iter().filter(|(_, node)| base.graph.find(&node.name).is_none()) {
                let device = self.devices.get(placement.device_of(id)).map_or("", |d| &*d.name);
                self.host.log(Level::Info, format_args!("{}: ({}): {device}", node.name, node.op.name));
            }
        }
        Ok(GraphVersion { graph, source, placement, version: base.version + 1, charges, _expansion: expansion })
    }

    /// The signature of a request: from the cache, or compiled here.
    ///
    /// # Errors
    /// As [`Canonical::new`] and [`Program::compile`]. Errors are not remembered.
    pub(super) fn signature<F: Named>(&self, sent: &SentRef<'_, F>) -> Result<Lookup<Arc<RunSignature>>, Status> {
        if let Some(found) = self.runs.lock().sent.get(sent) {
            return Ok(Lookup::Found(found.clone()));
        }
        let canonical = sent.canonical()?;
        let program = match self.program(&canonical.spec)? {
            Lookup::Found(program) => program,
            Lookup::Busy(latch) => return Ok(Lookup::Busy(latch)),
        };
        let mut signature = RunSignature::new(program, canonical);
        if sent.partial {
            signature = signature.with_dependencies(&self.graph().graph);
        }
        let signature = Arc::new(signature);
        let gone = self.runs.lock().sent.insert(sent.to_owned(), signature.clone());
        drop(gone);
        Ok(Lookup::Found(signature))
    }

    /// The program of a canonical spec: from the cache, or compiled here, by one caller at a time.
    ///
    /// # Errors
    /// As [`Program::compile`].
    pub(super) fn program(&self, spec: &RunSpec) -> Result<Lookup<Arc<Program>>, Status> {
        let mut runs = self.runs.lock();
        if let Some(program) = runs.programs.get(spec) {
            return Ok(Lookup::Found(program.clone()));
        }
        if let Some(latch) = runs.building.get(spec) {
            return Ok(Lookup::Busy(latch.clone()));
        }
        let latch = Arc::new(Latch::default());
        runs.building.insert(spec.clone(), latch.clone());
        drop(runs);
        let _building = Building { session: self, spec, latch };
        let version = self.graph();
        let context = CompileContext {
            graph: &version.graph,
            devices: &self.devices,
            device_of: &|node| version.placement.device_of(node),
            states: &self.states,
            host: &self.host,
        };
        let program = Arc::new(Program::compile(spec, &context)?);
        let gone = self.runs.lock().programs.insert(spec.clone(), program.clone());
        drop(gone);
        Ok(Lookup::Found(program))
    }

    /// Forgets everything compiled, set up or prepared.
    pub(super) fn clear(&self) {
        let mut runs = self.runs.lock();
        let gone = (runs.programs.take(), runs.sent.take());
        drop(runs);
        drop(gone);
        self.partial_runs.clear();
        self.callables.clear();
    }

    /// The number of a new step: unique within the process as far as random numbers are.
    pub(super) fn next_step_id(&self) -> u64 {
        let number = self.step_ids.fetch_add(1, Ordering::Relaxed) as u64;
        self.step_id_base.wrapping_add(number) & STEP_ID_MASK
    }

    /// The memory limit of a new step.
    pub(super) fn step_budget(&self) -> Option<Budget> {
        match (self.step_bytes_max, &self.budget) {
            (Some(limit), Some(session)) => Some(session.within("step", limit)),
            (Some(limit), None) => Some(Budget::new("step", limit)),
            (None, session) => session.clone(),
        }
    }

    /// The number of cached programs and of cached signatures.
    pub(super) fn cached(&self) -> (usize, usize) {
        let runs = self.runs.lock();
        (runs.programs.len(), runs.sent.len())
    }
}

/// While it lives the spec is being compiled; its end, whatever the reason, lets others try.
struct Building<'a> {
    session: &'a SessionState,
    spec: &'a RunSpec,
    latch: Arc<Latch>,
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.session.runs.lock().building.remove(self.spec);
        self.latch.open();
    }
}

impl GraphVersion {
    fn empty() -> GraphVersion {
        GraphVersion {
            graph: Graph::new(),
            source: None,
            placement: Placement::default(),
            version: -1,
            charges: Vec::new(),
            _expansion: Vec::new(),
        }
    }
}

/// Bytes that a graph holds, about: what is charged to the session for it.
fn graph_bytes(spec: &GraphSpec) -> usize {
    /// A node with its edges and attributes, measured on 64 bits and rounded up.
    const NODE: usize = 512;
    fn value_bytes(value: &AttrValue) -> usize {
        match value {
            AttrValue::Tensor(tensor) => tensor.num_bytes(),
            AttrValue::Str(text) => text.len(),
            AttrValue::List(values) => values.iter().fold(0, |sum: usize, v| sum.saturating_add(32 + value_bytes(v))),
            _ => 0,
        }
    }
    let nodes = spec.nodes.iter().chain(spec.functions.iter().flat_map(|f| &f.nodes));
    nodes.fold(0, |sum, node| {
        let attrs = node.attrs.iter().fold(0usize, |sum, (_, value)| sum.saturating_add(value_bytes(value)));
        sum.saturating_add(NODE).saturating_add(attrs)
    })
}
